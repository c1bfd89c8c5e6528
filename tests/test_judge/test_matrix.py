"""The kill matrix: it can be repeated, the stored one is current, and nothing in it is left open without a reason."""

from __future__ import annotations

import functools
import inspect
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from test_judge.support import fedspec

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.reference import SUBJECT
from fedspec.rules import PLAIN
from fedspec_suite.kills import asking, fingerprints, matrix, stored
from fedspec_suite.kills.stored import KEPT, SURVIVORS
from fedspec_suite.laws import LAWS, symmetries
from fedspec_suite.laws.asked import both, where
from fedspec_suite.laws.closed_forms import fedams_code
from fedspec_suite.laws.reductions import synchronous
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import MUTANTS, Mutant, Mutated, original, texts, written
from fedspec_suite.report.kills import table

STORED = stored.load()
SAMPLE = random.Random(5).sample(sorted(MUTANTS), 10 if os.environ.get("FEDSPEC_PROFILE") == "soak" else 1)

MOMENTUM = "fedspec.client.momentum.momentum"


def noticed(**more: str) -> Mutant:
    """An edit of local momentum that is no edit, unless told otherwise."""
    edit = {"id": "noticed", "words": "", "algorithms": ("momentum",), "rule": MOMENTUM}
    return Mutant(**{**edit, "old": "rho * state.u + g", "new": "(rho * state.u + g)", **more})  # type: ignore[arg-type]


def cells(name: str, number: int) -> asking.Asked:
    """What becomes of one mutant on one offer."""
    return asking.ask(number, [name], tuple(LAWS), seed=0, count=4)[name]


def test_what_changes_nothing_survives_every_law(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, "noticed", noticed())
    row = matrix.run(["noticed"], cases=4).rows[0]
    (asked,) = row.offers.values()
    assert not row.killed and {"follows-x", "unrolled", "repeats"} <= set(row.survived)
    assert sorted([*asked.survived, *(law for laws in asked.not_asked.values() for law in laws)]) == sorted(LAWS)


def test_a_law_that_does_not_apply_is_not_asked() -> None:
    (number,) = asking.offers_of(MUTANTS["momentum-stale"])
    reasons = {law: why for why, laws in cells("momentum-stale", number).not_asked.items() for law in laws}
    assert reasons["client-order"] == "is about level server"
    assert reasons["follows-v"] == "momentum has no v"


def test_a_rule_that_does_not_run_is_not_asked() -> None:
    server, round_ = (
        next(i for i in asking.offers_of(MUTANTS["proximal-sign"]) if SUBJECT.info.offers[i].level == level)
        for level in ("server", "round")
    )
    assert set(cells("proximal-sign", server).not_asked) >= {"the edited function does not run here"}
    assert not cells("proximal-sign", server).killed
    assert "follows-x" in cells("proximal-sign", round_).killed


def test_a_mutant_that_raises_is_not_counted_as_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MUTANTS, "noticed", noticed(new="g.no_such_thing"))
    asked = cells("noticed", asking.offers_of(MUTANTS["noticed"])[0])
    assert not asked.killed and not asked.survived
    assert any("no_such_thing" in why for why in asked.not_asked)


def test_what_a_mutant_remembers_ends_where_it_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer kept for a session shows in its second round only; one kept for good shows in a second run."""
    for name, leak, second in (("momentum-not-reset", "session", False), ("momentum-shared", "process", True)):
        assert MUTANTS[name].leaks == leak
        killed = cells(name, asking.offers_of(MUTANTS[name])[0]).killed
        assert "round-afresh" in killed
        assert ("repeats" in killed) is second


def test_offers_are_those_that_claim_what_is_edited() -> None:
    offers = [SUBJECT.info.offers[i] for i in asking.offers_of(MUTANTS["fedadam-step-correction-late"])]
    assert {(o.algorithm, o.reading) for o in offers} == {("fedadam", "kingma-ba-step")}
    # No reading of FedAMSGrad has it: a subject claims the canonical one.
    offers = [SUBJECT.info.offers[i] for i in asking.offers_of(MUTANTS["fedamsgrad-step-correction-late"])]
    assert {(o.level, o.reading) for o in offers} == {("server", "afga"), ("round", "afga")}


def test_an_unknown_mutant_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="'nobody'"):
        matrix.run(["nobody"])


def test_every_mutant_has_a_current_line() -> None:
    stale, gone = STORED.stale_mutants(), [name for name in STORED.lines if name not in MUTANTS]
    assert not stale, f"run: {stored.RENEW}"
    assert not gone, f"run: {stored.COMMAND.format('')}"


def get_through(names: Iterable[str]) -> set[str]:
    """Those of the mutants that come to the end of some case in which their edit runs."""
    through: set[str] = set()
    on: dict[int, list[str]] = {}
    for name in names:
        for number in asking.offers_of(MUTANTS[name]):
            on.setdefault(number, []).append(name)
    for number, all_of_it in on.items():
        if left := [name for name in all_of_it if name not in through]:
            offer, setting = SUBJECT.info.offers[number], asking.offered(number)
            cases = asking.plain_cases(setting, 3, 0)
        for name in left:
            bench = Bench(Inside(Mutated(MUTANTS[name])), setting.algorithm, offer, setting.options, asking.DTYPE)
            for case in cases:
                if name not in through and asking.runs(MUTANTS[name], [case]):
                    with suppress(SubjectError), np.errstate(all="ignore"):
                        bench.play(case)
                        through.add(name)
    return through


def test_no_mutant_is_refused_wherever_it_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """A check of arguments may come later than a mutant; its line of the matrix would stay and no law be asked."""
    refused = replace(MUTANTS["fadas-mean-delay"], id="refused", new="tau_max=sum(delays) / len(delays)")
    monkeypatch.setitem(MUTANTS, "refused", refused)
    assert get_through(MUTANTS) == MUTANTS.keys() - {"refused"}


def test_every_law_was_asked() -> None:
    stale = STORED.stale_laws()
    assert not stale, f"run: {stored.RENEW}"
    assert set(STORED.laws) <= set(LAWS), f"run: {stored.COMMAND.format('')}"


def respelled(mutant: Mutant, old: str, new: str, patch: pytest.MonkeyPatch) -> str:
    """The fingerprint of a mutant whose function stood in the specification with other words."""
    before, after = texts(mutant)
    assert old in before and old in after
    patch.setattr(fingerprints, "texts", lambda _: (before.replace(old, new), after.replace(old, new)))
    return fingerprints.of_mutant(mutant)


def test_a_rule_that_changes_makes_its_mutants_stale(monkeypatch: pytest.MonkeyPatch) -> None:
    mutant = MUTANTS["fedamsgrad-step-correction-late"]
    known = fingerprints.of_mutant(mutant)
    assert known == STORED.lines[mutant.id].edit
    for old, new in (
        ("in every reading;", "under every option;"),
        ("m = beta1 * state.m", "# It decays.\n    m = beta1*state.m"),
    ):
        assert respelled(mutant, old, new, monkeypatch) == known
    assert respelled(mutant, "delta**2", "delta**3", monkeypatch) != known
    monkeypatch.setattr(fingerprints, "texts", lambda m: texts(MUTANTS["momentum-stale"]) if m is mutant else texts(m))
    assert STORED.stale_mutants() == [mutant.id]


def test_an_offer_that_comes_to_a_row_makes_its_mutants_stale() -> None:
    line = STORED.lines["momentum-stale"]
    before = replace(STORED, lines={**STORED.lines, "momentum-stale": replace(line, offers=line.offers + 1)})
    assert before.stale_mutants() == ["momentum-stale"]


@pytest.mark.parametrize(
    ("module", "old", "new", "stale"),
    [
        # A comment and a docstring change nothing; a check, what it calls and a table that it looks into do.
        (symmetries, "def _rated(", "def _rated(  # every rate\n", set()),
        (symmetries, "s: Scenario) -> None:\n    rate =", "s: Scenario) -> None:\n    'A rate.'\n    rate =", set()),
        (symmetries, "lambda k, x: 4 * x)", "lambda k, x: 5 * x)", {"rate"}),
        # How a law says whom it asks is no part of it.
        (symmetries, 'number("eta_l"),', 'number("eta_l", "eta"),', set()),
        (
            fedams_code,
            "T, squares = len(past)",
            "T, squares = 1 + len(past)",
            {"unrolled", "of-several", "constant-gradients", "memoryless"},
        ),
        (synchronous, "def _as_adam(", "def _as_adam(extra=1, *,", {"fedamsgrad-is-fedadam"}),
    ],
)
def test_a_law_that_changes_is_stale(
    module: ModuleType, old: str, new: str, stale: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = inspect.getsource
    assert source(module).count(old) == 1
    monkeypatch.setattr(inspect, "getsource", lambda m: source(m).replace(old, new) if m is module else source(m))
    monkeypatch.setattr(fingerprints, "_parsed", functools.cache(fingerprints._Module))
    assert set(STORED.stale_laws()) == stale


def test_whom_a_law_asks_is_in_its_fingerprint_and_not_how_it_says_so() -> None:
    law = LAWS["rate"]
    known = fingerprints.of_law(law)
    asked = {*fingerprints.whom(law)}
    otherwise = replace(law, applies=where(lambda setting: of_offer(setting) in asked, "it", "another reason"))
    assert fingerprints.of_law(otherwise) == known
    for one in ("momentum/client/fednova", "fedadam/server/reddi-2021"):
        assert one in asked
        other = where(lambda setting, one=one: of_offer(setting) != one, "another", one)  # type: ignore[misc]
        fewer = replace(law, applies=both(law.applies, other))
        assert fingerprints.of_law(fewer) != known


def of_offer(setting: Setting) -> str:
    """The offer of the specification that a setting is of."""

    def said(s: Setting) -> object:
        return s.algorithm.id, s.level, s.reading, s.options, s.varies

    return next(n for n, i in fingerprints.offers().items() if said(asking.offered(i)) == said(setting))


def test_offers_that_the_matrix_does_not_know_make_no_law_stale() -> None:
    gone = [name for name in STORED.offers if name.startswith("fedadam/")]
    before = [name for name in STORED.offers if name not in gone]
    law = LAWS["rate"]
    old = replace(STORED, offers=tuple(before), laws={"rate": fingerprints.of_law(law, before), "scales": "0"})
    assert gone and fingerprints.of_law(law, before) != fingerprints.of_law(law)
    assert "rate" not in old.stale_laws()
    new = stored.merged(old, matrix.Matrix(0, 12, (), ()), MUTANTS, LAWS)
    assert new.offers == tuple(fingerprints.offers()) and "rate" not in new.stale_laws()
    assert new.laws["scales"] == "0", "what was stale stays so"


def test_rows_of_a_plugin_are_in_no_fingerprint() -> None:
    said = "from fedspec_suite.laws import LAWS; print(fingerprints.of_law(LAWS['client-order']))"
    told = f"from fedspec.catalogue import ADDED; print(*ADDED); from fedspec_suite.kills import fingerprints; {said}"
    plugin = {**os.environ, "FEDSPEC_PLUGINS": str(Path(__file__).resolve().parents[2] / "examples/fed_agree.py")}
    ran = subprocess.run([sys.executable, "-c", told], env=plugin, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.split() == ["fed-agree", fingerprints.of_law(LAWS["client-order"])]


AT_EDGES = ("diloco-muon-absent-follow", "lamb-zero-layer-normalised")
"""Mutants that a comparison with the rule kills at the edges alone."""


def test_every_mutant_is_killed_twice() -> None:
    """By a law that reads the rule, and but for SURVIVORS by one that does not."""
    lines = {name: STORED.lines[name] for name in MUTANTS}
    # The matrix plays no edges: tests/test_judge/test_edge_cases.py does, where these two are killed.
    assert {name for name, line in lines.items() if not line.reading} == set(AT_EDGES)
    assert {name for name, line in lines.items() if not line.independent} == set(SURVIVORS)


def test_every_law_kills_or_has_a_reason_to_stay() -> None:
    killers = {law for line in STORED.lines.values() for law in line.killed}
    idle = set(LAWS) - killers
    assert idle == set(KEPT), f"kill nothing and are not in KEPT: {idle - set(KEPT)}; kill now: {set(KEPT) - idle}"


def test_reasons_are_of_what_there_is() -> None:
    assert set(SURVIVORS) <= set(MUTANTS) and all(SURVIVORS.values())
    assert set(KEPT) <= set(LAWS) and all(KEPT.values())


def test_ids_are_used_once() -> None:
    ids = [m.id for m in written.mutants()]
    assert len(set(ids)) == len(ids) > 600


def test_a_mutant_of_unknown_words_is_refused() -> None:
    edit = "[[adam]]\nid = 'a'\nwords = 'b'\nalgorithms = ['adam']\nold = 'c'\nnew = 'd'\n"
    (read,) = written.read(edit, "fedspec.client.adam")
    assert (read.rule, read.algorithms, read.seen) == ("fedspec.client.adam.adam", ("adam",), ())
    for wrong in (edit + "nwe = 'e'\n", edit.replace("old", "odl"), edit + "id = 'twice'\n", edit + "[[adam.seen]]\n"):
        with pytest.raises(FedspecError, match=r"edits of fedspec\.client\.adam: .*written\.py"):
            list(written.read(wrong, "fedspec.client.adam"))


def called(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """A function and all that it calls by name inside the specification."""
    seen: set[Any] = set()
    waiting = [function]
    while waiting:
        f = waiting.pop()
        body = inspect.unwrap(f)
        if f in seen or not isinstance(body, FunctionType) or not f.__module__.startswith("fedspec."):
            continue
        seen.add(f)
        waiting += [body.__globals__[n] for n in names(body.__code__) if callable(body.__globals__.get(n))]
    yield from seen


def names(code: CodeType) -> set[str]:
    inner = [names(c) for c in code.co_consts if isinstance(c, CodeType)]
    return set(code.co_names).union(*inner)


RULES = {f"{r.__module__}.{r.__qualname__}": r for a in CATALOGUE.values() for r in a.rules}


def test_every_rule_has_three_mutants() -> None:
    edited = [original(m) for m in MUTANTS.values()]
    for rule, function in RULES.items():
        # Of a rule that stands plain and in a general form, mutants edit the second, which is what runs.
        forms = [rule, *(name for name, of in PLAIN.items() if of is function)]
        parts = {part for name in forms for part in called(RULES[name])}
        assert sum(f in parts for f in edited) >= 3, rule


def test_a_file_that_is_no_matrix_is_refused(tmp_path: Path) -> None:
    for body in ("", "{}", '{"seed": 0, "cases": 1, "laws": {}, "mutants": {"a": {"edit": "b"}}}'):
        (tmp_path / "matrix.json").write_text(body)
        with pytest.raises(FedspecError, match="fedspec mutants run"):
            stored.load(tmp_path / "matrix.json")


def test_a_part_renews_its_own_lines_only(tmp_path: Path) -> None:
    known = {"adam-no-square", "momentum-stale"}
    old = stored.Stored(
        0, 12, {"gone": "0", "unrolled": "1"}, {n: stored.Line("0", 1, ("gone", "rate")) for n in (*known, "away")}
    )
    fresh = matrix.run(["momentum-stale"], cases=2)
    new = stored.merged(old, fresh, known, LAWS)
    assert set(new.lines) == known and new.lines["adam-no-square"] == old.lines["adam-no-square"]
    assert new.lines["momentum-stale"] == stored.lines(fresh)["momentum-stale"]
    assert new.laws == {"unrolled": "1"}, "a law that was asked about some mutants only is not known to the matrix"
    now = {law: fingerprints.of_law(LAWS[law]) for law in sorted(LAWS)}
    assert stored.merged(old, fresh, ["momentum-stale"], LAWS).laws == now
    stored.save(new, tmp_path / "matrix.json")
    assert stored.load(tmp_path / "matrix.json") == new
    assert len((tmp_path / "matrix.json").read_text().splitlines()) == len(new.lines) + 2


def test_a_new_law_is_asked_alone() -> None:
    old = stored.Stored(0, 12, {"rate": "0"}, {"momentum-stale": stored.Line("0", 1, ("rate", "unrolled"))})
    fresh = matrix.run(["momentum-stale"], laws=["unrolled", "mirrors"], cases=2)
    assert [set(a.killed) | set(a.survived) for a in fresh.rows[0].offers.values()] == [{"unrolled", "mirrors"}]
    new = stored.merged(old, fresh, ["momentum-stale"], LAWS)
    assert new.lines["momentum-stale"].killed == ("rate", "unrolled")
    assert list(new.laws) == ["mirrors", "rate", "unrolled"] and new.laws["rate"] == "0"


def test_the_stored_matrix_is_what_a_run_gives() -> None:
    """For a sample that stays the same; asked in processes of their own, without the tests' import hook."""
    ran = fedspec("mutants", "run", *SAMPLE, "--json", "--jobs", "2")
    assert ran.code == 0, ran.err
    assert {row["id"] for row in ran.rows} == set(SAMPLE)
    for row in ran.rows:
        line = STORED.lines[row["id"]]
        assert (tuple(row["killed"]), len(row["offers"])) == (line.killed, line.offers), row["id"]


def test_the_same_bytes_however_the_work_is_shared(tmp_path: Path) -> None:
    said = []
    for jobs in ("1", "2"):
        out = tmp_path / f"{jobs}.json"
        few = ("--law", "follows-x", "--law", "unrolled", "--law", "rate", "--jobs", jobs, "--out", str(out), "--json")
        ran = fedspec("mutants", "run", "dampened-*", "momentum-shared", *few)
        assert ran.code == 0, ran.err
        said.append((ran.out, out.read_bytes()))
    assert said[0] == said[1]
    assert len(json.loads(said[0][1])["mutants"]) == len(json.loads(said[0][0])) > 4


def test_a_mutant_of_which_nothing_can_be_asked_is_printed_all_the_same() -> None:
    """Its edit fails in every case: no law says anything of it, and it is not said to live through one."""
    printed = StringIO()
    out = Console(file=printed, width=80)
    table(matrix.Matrix(0, 12, tuple(LAWS), (matrix.Row("fails-everywhere", "", {}),)), STORED, out)
    assert "fails-everywhere: no law was asked about it" in printed.getvalue()
