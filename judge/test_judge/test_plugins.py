"""Algorithms in files of their own: every command works on them, and what cannot be taken is refused by name."""

from __future__ import annotations

import json
import os
import re
import shutil
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_judge.support import FEW, ROOT, SUBJECTS, python, with_own

from fedspec_suite.laws import LAWS

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

FED_AGREE = ROOT / "examples" / "fed_agree.py"

fedspec = partial(with_own, cases=FEW)
"""The judging command, with few cases; the outcome matters here, not the smallest case."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what `fedspec new` writes."""
    folder = tmp_path_factory.mktemp("own")
    done = with_own("new", "fed-mean", cwd=folder)
    assert done.code == 0, done.err
    assert "fedspec show fed-mean --plugin fed_mean.py" in done.out
    return folder


def test_what_is_written_is_shown_judged_and_drawn(written: Path) -> None:
    plugin = ("--plugin", "fed_mean.py")
    shown = with_own("show", "fed-mean", "--all", *plugin, cwd=written)
    assert "m = beta m + (1 - beta) Delta" in shown.out and "fed-mean.step" in shown.out
    # Weights are code of fedspec: the properties are asked once.
    checked = with_own(
        "check", "spec", "--only", "fed-mean/server", "--profile", "quick", "--json", *plugin, cwd=written
    )
    asked = [{o["law"] for o in row["obligations"]} for row in json.loads(checked.out)]
    assert "unrolled" in asked[0] and asked[1] == asked[2] == {law for law in asked[1] if law in LAWS}
    listed = with_own(*plugin, "list", "--json", cwd=written)
    assert "fed-mean" in {row["id"] for row in json.loads(listed.out)}
    drawn = with_own("graph", "--of", "fed-mean", "--format", "json", *plugin, cwd=written)
    assert [(e["source"], e["target"]) for e in json.loads(drawn.out)] == [("fed-mean", "fedavg")]
    why = json.loads(with_own("laws", "--why", "fed-mean", "--json", *plugin, cwd=written).out)
    reasons = {(row["law"], row["level"]): row["why_not"] for row in why}
    assert reasons["unrolled", "server"] == reasons["mean", "server"] == reasons["fed-mean-is-fedavg", "round"] == ""
    said = "its row says no Fact.JOINT (adaptive clients under an adaptive server)"
    assert reasons["joint-history", "round"].startswith(said)


KINDS = {
    "server": ("server round", "the average is a sum", {"unrolled"}),
    "solver": ("client", "u = rho u + g", {"unrolled", "my-solver-is-sgd"}),
    "clients": ("round", "u_i = rho u_i + Delta_i", {"affine-round", "my-clients-is-fedavg"}),
    "gossip": ("trace", "M = rho M + G", {"peers-unrolled", "my-gossip-is-dsgd"}),
    "late": ("trace", "v = beta v + Delta", {"arrivals-unrolled", "arrivals-telescope", "my-late-is-fedbuff"}),
}
"""By the kind: the levels of its offers, what its first mistake is called, and laws that are no text of the rule."""


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_conforms_as_it_is_written_and_its_mistake_is_named(kind: str, tmp_path: Path) -> None:
    levels, said, laws = KINDS[kind]
    name = f"my-{kind}"
    assert with_own("new", name, "--kind", kind, cwd=tmp_path).code == 0
    more = ("--only", name, "--profile", "quick", "--jobs", "1", "--json", "--plugin", f"my_{kind}.py")
    both = fedspec("check", "spec", f"mutant:{name}-undamped", *more, cwd=tmp_path)
    assert both.code == 1, both.err
    right, wrong = ([r for r in json.loads(both.out) if f"({v}" in r["subject"]] for v in ("spec", "mutant"))
    assert {(r["level"], r["verdict"]) for r in right} == {(level, "conforms") for level in levels.split()}
    # What is printed knows the file, too.
    assert all(r["command"].endswith(f"--plugin my_{kind}.py") for r in right)
    assert laws <= {o["law"] for o in right[0]["obligations"] if o["status"] == "pass"}
    assert all(said in r["nearest"] for r in wrong)


FOLLOWS = ("--profile", "quick", "--law", "follows-*", "--jobs", "1")
"""Options by which a mirror is judged on ``follows-*`` alone; other tests have the rule's other laws."""


@pytest.mark.outside
@pytest.mark.parametrize("kind", KINDS)
def test_the_mirror_vectors_and_mutants_of_each_kind(kind: str, tmp_path: Path) -> None:
    name, own = f"my-{kind}", ("--plugin", f"my_{kind}.py")
    assert with_own("new", name, "--kind", kind, cwd=tmp_path).code == 0
    judged = fedspec("check", "torch", "--only", name, *FOLLOWS, *own, cwd=tmp_path)
    assert judged.code == 0, judged.out + judged.err
    drawn = with_own("vectors", "make", name, "--folder", "vectors", *own, cwd=tmp_path)
    assert drawn.code == 0 and any((tmp_path / "vectors").rglob("*.json")), drawn.err
    asked = with_own("mutants", "run", f"{name}-*", *own, cwd=tmp_path)
    assert asked.code == 0 and "2 of 2 killed by a law that does not read the rule" in asked.out
    if kind != "solver":
        done = with_own("simulate", name, "--rounds", "2", *own, cwd=tmp_path)
        assert done.code == 0 and (tmp_path / "out/simulate.json").is_file(), done.err


def test_what_is_written_is_styled_like_fedspec(tmp_path: Path) -> None:
    for kind in KINDS:
        assert with_own("new", f"a-{kind}", "--kind", kind, cwd=tmp_path).code == 0
    for asked in (("check",), ("format", "--check")):
        done = python("-m", "ruff", *asked, "--config", str(ROOT / "pyproject.toml"), ".", cwd=tmp_path)
        assert done.returncode == 0, done.stdout


NEW = (ROOT / "judge/fedspec_suite/cli/own_server.txt").read_text(encoding="utf-8")
for mark, word in (("NAME", "own"), ("RULE", "own_step"), ("RECORD", "Own"), ("TITLE", "Own")):
    NEW = NEW.replace(f"<{mark}>", word)


def changed(old: str, new: str) -> str:
    assert old in NEW, old
    return NEW.replace(old, new, 1)


BROKEN = {
    "domain": (
        changed("    beta: Scalar\n", "    beta: Scalar\n    shrink: Scalar = 1\n"),
        "row 'own': hyper: 'shrink' has no domain and is no option; before the record write declare('shrink', ",
    ),
    "capitals": (changed('id="own"', 'id="Own"'), "use lower-case letters, digits and single hyphens"),
    "comma": (changed('not whole",)', 'not whole")'), "traps: got a str; want a tuple"),
    "level": (changed('levels=("server", "round")', 'levels=("rounds",)'), "levels: got 'rounds'; known: client, "),
    "readings": (changed("readings=(Reading", "readings=() and (Reading"), "readings: the tuple is empty"),
    "rule": (changed("@rule\n", ""), "rules: own_step is no rule; put @rule (fedspec.rules) above it"),
    "base": (changed("class Own(Hyper):", "class Own:"), "hyper: Own is no frozen dataclass derived from"),
    "denial": (
        changed("denies={}", 'denies={"client-splitt": ""}'),
        "denies 'client-splitt', neither a fact nor a law",
    ),
    "usual": (changed("denies={}", 'usual={"betta": 1}'), "usual: 'betta' is none of its hyper-parameters"),
    "dimension": (changed("denies={}", 'dimensions={"betta": 1}'), "dimensions: 'betta' is none of its hyper-param"),
    "cost": (changed('up="m d"', 'up="m dd"'), "'dd' is no symbol; known: d, p, n, m, k, tau"),
    "cost-formula": (changed('up="m d"', 'up="m d)"'), "costs: up is 'm d)': ')' stands where"),
    "cost-divisor": (changed('up="m d"', 'up="d / m"'), "costs: up is 'd / m': 'm' stands where a number above 0"),
    "target": (changed('target="fedavg"', 'target="fedvag"'), "none is called 'fedvag'; nearest: fedavg"),
    "restriction": (changed('values={"beta"', 'values={"betta"'), "the Reduction of own to fedavg names betta, which"),
    "edit": (changed('old="(1 - beta) * delta"', 'old="delta * delta"'), "found 0 times"),
    "edit-twice": (
        # The last part of an equation stands in the docstring, too.
        changed('old="(1 - beta) * delta"', 'old="beta"'),
        "docstring included",
    ),
    "no-edit": (changed('new="delta"', 'new="(1 - beta) * delta"'), "has equal old and new texts"),
    "edit-syntax": (changed('new="delta"', 'new="delta *"'), "the text of mistake own-undamped cannot be run"),
    "steps": (
        changed('STEPS = {"own"', 'STEPS = {"one"'),
        "STEPS of own.py has an entry for 'one', but the file has no such row",
    ),
    "steps-arguments": (
        changed("past: Any, h: Any, o: Any", "past: Any, h: Any"),
        "it is called with past, h, o: too many",
    ),
    "steps-kind": (
        changed("STEPS = {", "MAPS = {"),
        "no law reads this table for such an algorithm; its second route is ",
    ),
    "unlisted": (
        changed("return own_step(state, delta, **h.of(own_step))", "return State(x=state.x + delta, m=state.m)"),
        "own_step prints own.m, but no row uses own_step",
    ),
    "family": (changed("Family.SERVERS", "'servers'"), "family: got 'servers'; want one of Family.LOCAL_SOLVERS"),
    "fixes": (changed("(Reading(", "(Reading(fixes={'weihgts': 'uniform'}, "), "fixes 'weihgts'; its options: weights"),
    "leaves": ("raise SystemExit(3)\n", "line 1: SystemExit: 3"),
    "no-file": (None, "there is no file"),
    "no-row": ("x = 1\n", "defines no ROW"),
    "no-algorithm": ("ROW = 1\n", "is of type int; want Algorithm"),
    "taken": (
        "from dataclasses import replace\nfrom fedspec.algorithms.fedavg import ROW\n",
        "as fedspec does; rename",
    ),
    "syntax": ("def\n", "SyntaxError"),
    "raises": ("\n\n1 / 0\n", "line 3: ZeroDivisionError"),
    "mistake": (
        "from dataclasses import replace\nfrom fedspec.algorithms.fedavg import ROW as R\n"
        "ROW = replace(R, id='other', aliases={})\nMUTANTS = (1,)\n",
        "MUTANTS of own.py holds 1; want fedspec_suite.own.Mistake",
    ),
    "edge": (
        "from dataclasses import replace\nfrom fedspec.algorithms.fedavg import ROW as R\n"
        "ROW = replace(R, id='other', aliases={})\nEDGES = (1,)\n",
        "EDGES of own.py holds 1; want fedspec_suite.own.Reduction",
    ),
    "number": (
        "from fedspec.domains import COUNT, Parameter, declare\ndeclare('eta', Parameter(COUNT, 'depth'))\n",
        "eta: already means server learning rate, > 0; a name has one meaning, so rename yours",
    ),
    "drawn": (
        "from fedspec.domains import Domain, Parameter, declare\n"
        "declare('share', Parameter(Domain('in (0, 1/3)', lambda x: 0 < 3 * x < 1), 'share'))\n",
        "share: fedspec can't draw a number in (0, 1/3); its domain must be one of POSITIVE, NONNEGATIVE, DECAY, ",
    ),
}


EXTRAPOLATES = """
from dataclasses import replace
from fedspec.facts import Fact
ROW = replace(ROW, facts=(Fact.EXTRAPOLATING, Fact.ISOTROPIC))
STEPS = {}
"""


def test_a_fact_asks_for_no_second_route_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(NEW + EXTRAPOLATES, encoding="utf-8")
    why = json.loads(with_own("laws", "--why", "own", "--plugin", "own.py", "--json", cwd=tmp_path).out)
    asked = {law["law"] for law in why if law.get("why")}
    assert "turns" in asked and not {"of-several", "unrolled"} & asked


def test_a_number_without_a_usual_value_is_shown_and_asked_for(tmp_path: Path) -> None:
    """A name of one's own in the place of rho: ``show`` has none for it, and ``simulate`` says how to give one."""
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=tmp_path).code == 0
    file = tmp_path / "my_gossip.py"
    text = file.read_text(encoding="utf-8").replace("rho", "laziness")
    declared = 'declare("laziness", Parameter(DECAY, "how lazy"))\n\n\n@dataclass(frozen=True)'
    text = text.replace("@dataclass(frozen=True)", declared, 1)
    text = text.replace(
        "from fedspec.entry", "from fedspec.domains import DECAY, Parameter, declare\nfrom fedspec.entry"
    )
    file.write_text(text, encoding="utf-8")
    shown = with_own("show", "my-gossip", "--all", "--plugin", "my_gossip.py", cwd=tmp_path)
    assert shown.code == 0 and re.search(r"laziness +in \[0, 1\) +none +how lazy", shown.out), shown.out
    asked = with_own("simulate", "my-gossip", "--rounds", "1", "--plugin", "my_gossip.py", cwd=tmp_path)
    said = " ".join(asked.err.split())
    assert asked.code == 2 and "laziness: not given, and my-gossip has no usual value for it" in said, asked.err
    assert "--set laziness=..." in said and "usual={'laziness': ...}" in said


def test_a_mistake_that_no_second_route_could_show_may_say_so(tmp_path: Path) -> None:
    silent = NEW.replace("STEPS = {", "UNREAD = {").replace("EDGES = (", "UNASKED = (")
    for survives, code, said in (("", 1, "unexplained; a second route (STEPS, MOVES or MAPS)"), ("why", 0, "; why\n")):
        text = silent.replace('        new="delta",', f'        new="delta",\n        survives="{survives}",')
        (tmp_path / "own.py").write_text(text, encoding="utf-8")
        done = with_own("mutants", "run", "own-undamped", "--law", "follows-x", "--plugin", "own.py", cwd=tmp_path)
        assert done.code == code and said in done.out, done.out


@pytest.mark.parametrize(
    ("by", "said"),
    [
        ("", ["p_i = n_i / the sum of the n_j of those that take part"]),
        (', "uniform"', ["p_i = 1 / the number of the changes that are averaged"]),
        (', "steps", plan.steps', []),
    ],
)
def test_a_note_on_weights_says_those_of_the_row(by: str, said: list[str], tmp_path: Path) -> None:
    assert with_own("new", "my-clients", "--kind", "clients", cwd=tmp_path).code == 0
    file = tmp_path / "my_clients.py"
    text = file.read_text(encoding="utf-8").replace(
        "shares(plan.examples, state.x", f"shares(plan.examples, state.x{by}"
    )
    file.write_text(text, encoding="utf-8")
    (row,) = json.loads(with_own("show", "my-clients", "--json", "--plugin", "my_clients.py", cwd=tmp_path).out)
    assert [note for note in row["notes"] if note.startswith("p_i")] == said


@pytest.mark.parametrize("name", ["q_i", "w_i", "p_i"])
def test_no_note_defines_what_the_row_defines(name: str, tmp_path: Path) -> None:
    """And none speaks of layers because a norm is called as LAMB's."""
    assert with_own("new", "my-clients", "--kind", "clients", cwd=tmp_path).code == 0
    file = tmp_path / "my_clients.py"
    text = re.sub(r"\bu_i\b", name, file.read_text(encoding="utf-8"))
    text = text.replace(
        f"(1 - rho) Delta_i          my-clients.{name}", f"(1 - rho) q / ||q||          my-clients.{name}"
    )
    file.write_text(text, encoding="utf-8")
    (row,) = json.loads(with_own("show", "my-clients", "--json", "--plugin", "my_clients.py", cwd=tmp_path).out)
    assert any("q / ||q||" in e["text"] for e in row["equations"])
    assert not [note for note in row["notes"] if note.startswith((name, "x and q", "q / "))]


def test_equations_of_capitals_are_shown(tmp_path: Path) -> None:
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=tmp_path).code == 0
    shown = with_own("show", "my-gossip", "--all", "--plugin", "my_gossip.py", cwd=tmp_path)
    assert "my-gossip.M" in shown.out
    (row,) = json.loads(
        with_own("mutants", "show", "my-gossip-undamped", "--json", "--plugin", "my_gossip.py", cwd=tmp_path).out
    )
    assert row["equation"] == "my-gossip.M"


FEDAVG_INSTEAD = """
import numpy as np
from fedspec.contract import Offer, SubjectInfo

class Session:
    def __init__(self, case):
        self.x = {n: a.copy() for n, a in case.x0.items()}

    def step(self, e):
        for n in self.x:
            self.x[n] = self.x[n] + sum(m.delta[n] for m in e.messages) / len(e.messages)
        return {"x": self.x}

class Subject:
    info = SubjectInfo("plain", "1", (Offer("fed-agree", "server", "made-up"),))
    start = Session
"""


def test_a_plain_mean_is_called_fedavg_at_the_rate_1(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(FEDAVG_INSTEAD, encoding="utf-8")
    done = with_own("identify", "py:mine.py:Subject", "--json", "--plugin", str(FED_AGREE), cwd=tmp_path)
    assert "the rule of fedavg, with eta = 1" in done.out, done.out


@pytest.mark.parametrize("name", BROKEN)
def test_what_cannot_be_taken_is_refused(name: str, tmp_path: Path) -> None:
    text, said = BROKEN[name]
    if text is not None:
        (tmp_path / "own.py").write_text(text, encoding="utf-8")
    done = with_own("list", "--plugin", "own.py", cwd=tmp_path)
    assert done.code == 2 and done.out == "", done.err
    assert said in done.err and len(done.err.splitlines()) == 1, done.err


def test_an_error_in_the_file_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(
        changed("    x = state.x + eta * m\n", "    x = state.y + eta * m\n").replace(
            '"state.x + eta * m"', '"state.y + eta * m"'
        ),
        encoding="utf-8",
    )
    done = with_own("smoke", "spec", "--json", "--plugin", "own.py", cwd=tmp_path)
    answers = {row["answer"] for row in json.loads(done.out) if row["algorithm"] == "own"}
    line = next(
        i
        for i, text in enumerate((tmp_path / "own.py").read_text().splitlines(), 1)
        if 'state.y + eta * m"' not in text and "state.y" in text
    )
    assert answers and all(f"mend the own algorithm at own.py, line {line}" in said for said in answers), answers


def test_a_pyproject_that_says_something_else_is_told(tmp_path: Path) -> None:
    """It stops the command that takes its options from there, and no other."""
    for text, says in (
        ('plugins = "own.py"', 'write plugins = ["my_algorithm.py"]'),
        ('plugin = ["own.py"]', "[tool.fedspec] has plugin; known: plugins, check"),
    ):
        (tmp_path / "pyproject.toml").write_text(f"[tool.fedspec]\n{text}\n", encoding="utf-8")
        with_own("check", "spec", cwd=tmp_path).refused(says)
        with_own("list", "--project", ".", cwd=tmp_path).refused(says)
        done = with_own("list", cwd=tmp_path)
        assert done.code == 0 and "fedavg" in done.out
        assert says in done.err and done.err.endswith("; nothing of it is used\n") and done.err.count("\n") == 1


def test_the_option_wants_a_file(tmp_path: Path) -> None:
    done = with_own("list", "--plugin", cwd=tmp_path)
    assert (done.code, done.err) == (2, "fedspec: --plugin: names no file; write --plugin my_algorithm.py\n")


def ids(*words: str, cwd: Path, **env: str) -> tuple[set[str], str]:
    done = with_own("list", "--json", *words, cwd=cwd, env=env)
    assert done.code == 0, done.err
    return {row["id"] for row in json.loads(done.out)}, done.err


def test_who_names_it(written: Path, tmp_path: Path) -> None:
    """The environment, a pyproject.toml above, which is told, and an installed package."""
    before, told = ids(cwd=tmp_path)
    assert "fed-mean" not in before and told == ""
    file = str(written / "fed_mean.py")
    assert ids(cwd=tmp_path, FEDSPEC_PLUGINS=file)[0] - before == {"fed-mean"}

    (tmp_path / "pyproject.toml").write_text(f'[tool.fedspec]\nplugins = ["{file}"]\n', encoding="utf-8")
    (within := tmp_path / "src").mkdir()
    added, told = ids(cwd=within)
    assert added - before == {"fed-mean"}
    assert told == f"fedspec: running {file}, which {tmp_path / 'pyproject.toml'} names under [tool.fedspec] plugins\n"

    installed = tmp_path / "installed"
    package = installed / "fed_mean-1.dist-info"
    package.mkdir(parents=True)
    shutil.copy(file, installed)
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: fed-mean\nVersion: 1\n", encoding="utf-8")
    (package / "entry_points.txt").write_text("[fedspec.algorithms]\nmean = fed_mean\n", encoding="utf-8")
    path = os.pathsep.join([str(installed), *filter(None, [os.environ.get("PYTHONPATH")])])
    assert ids(cwd=written, PYTHONPATH=path)[0] - before == {"fed-mean"}


def test_replay_runs_none_but_what_it_is_told_to(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("raise SystemExit('ran')\n", encoding="utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.fedspec]\nplugins = ["own.py"]\n', encoding="utf-8")
    (tmp_path / "kept.json").write_text("{}", encoding="utf-8")
    words = ("replay", "kept.json", "spec")
    for env in ({}, {"FEDSPEC_PLUGINS": "own.py"}):
        done = with_own(*words, cwd=tmp_path, env=env)
        assert done.code == 2 and "kept.json" in done.err and "ran" not in done.err
    assert "ran" in with_own(*words, "--plugin", "own.py", cwd=tmp_path).err
    assert "ran" in with_own("list", cwd=tmp_path).err


def test_new_writes_over_nothing(written: Path) -> None:
    for name, said in (
        ("fed-mean", "is there already"),
        ("fedavg", "is called 'fedavg' already"),
        ("Fed", "letters"),
        ("server", "take another"),
    ):
        done = with_own("new", name, cwd=written)
        assert done.code == 2 and said in done.err


def row() -> Any:
    from fedspec.plugins import load

    return load(str(FED_AGREE)).ROW


def test_fed_agree_by_hand() -> None:
    """Four orthogonal changes of length 2: the mean is 1/2 in each, its square 1, so the rate is 1 / (4 + eps)."""
    r = row()
    from fedspec.plan import Message

    h = r.run.hyper(eta_l=1, eps=Fraction(1, 10))
    state = r.run.init(h, np.array([Fraction(0)] * 4))
    sent = [Message(np.array([Fraction(2 * (i == j)) for j in range(4)]), 1, 1, 1) for i in range(4)]
    state, _ = r.run.server(h, state, sent)
    assert [*state.x] == [Fraction(5, 41)] * 4
    # Changes that agree are worth their mean, but for eps.
    state, _ = r.run.server(h, r.run.init(h, np.array([Fraction(0)])), [Message(np.array([Fraction(3)]), 1, 1, 1)] * 2)
    assert [*state.x] == [3 / (1 + Fraction(1, 90))]


def test_fed_agree_conforms_and_its_mistakes_do_not(tmp_path: Path) -> None:
    words = ("check", "spec", "mutant:fed-agree-sum", "--only", "fed-agree/server", "--profile", "quick", "--json")
    done = fedspec(*words, "--jobs", "1", "--plugin", str(FED_AGREE), cwd=tmp_path)
    results = json.loads(done.out)
    wrong = [r for r in results if "fed-agree-sum" in r["id"]]
    assert {r["verdict"] for r in results if r not in wrong} == {"conforms"}, done.out
    assert {r["verdict"] for r in wrong} == {"does not conform"}
    assert all("the squared norms are added up" in r["nearest"] for r in wrong)


def test_the_mirror_cites_no_test_that_does_not_run_a_row_of_ones_own(tmp_path: Path) -> None:
    for kind in ("server", "clients", "gossip"):
        assert with_own("new", "own", "--kind", kind, cwd=tmp_path).code == 0
        done = with_own("show", "own", "--mirror", "--plugin", "own.py", cwd=tmp_path)
        said = " ".join(done.out.split())
        assert "test_runs.py" not in said and "test_recorded.py" not in said, said
        assert "`fedspec check torch --only own --plugin FILE` compares it with the specification" in said
        (tmp_path / "own.py").unlink()
    ours = " ".join(with_own("show", "fedavg", "--mirror", cwd=tmp_path).out.split())
    assert "all of it together, beside the specification in NumPy: test_runs.py::" in ours


def test_a_row_is_taken_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """An object joins the catalogue, once; another one of its name is refused."""
    from dataclasses import replace

    from fedspec import catalogue
    from fedspec.errors import PluginError

    for table in ("CATALOGUE", "ALIASES", "FAMILIES"):
        monkeypatch.setattr(catalogue, table, dict(getattr(catalogue, table)))
    r = row()
    assert catalogue.find(r) is catalogue.find(r) is r
    with pytest.raises(PluginError, match="'fed-agree' is the name of"):
        catalogue.find(replace(r, title="another"))
    assert r.id in catalogue.CATALOGUE


def test_the_mirror_trains_with_it_as_the_specification_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its messages are read twice: for the mean, and for their norms."""
    import torch
    from test_mirror.kinds import LAYERS
    from test_mirror.loops import Plain, specified
    from test_mirror.test_kinds import Events

    from fedspec import catalogue
    from fedspec_torch import Federation, simulate

    monkeypatch.setattr(catalogue, "CATALOGUE", dict(catalogue.CATALOGUE))
    kind, numbers, of = LAYERS["three linear layers"], {"eta_l": 0.1, "eps": 1e-3}, row()
    federation = Federation(*kind.made(), batch_size=2, shuffled=False)
    run = simulate(of, federation, plan=Events(), rounds=3, block=2, **numbers)
    list(run)
    want = specified(Plain(kind), of, of.run.hyper(**numbers), Events(), 3)
    torch.testing.assert_close(run.x, want, rtol=1e-12, atol=1e-12)


def test_what_is_stored_in_fedspec_stays_its_own(written: Path) -> None:
    plugin = ("--plugin", "fed_mean.py")
    made = with_own("vectors", "make", "fed-mean", *plugin, cwd=written)
    assert made.code == 2 and "give a --folder" in made.err
    picks = ROOT / "judge/fedspec_suite/vectors/picks.json"
    before = picks.read_bytes()
    made = with_own("vectors", "make", "fed-mean", "--choose", "--folder", "vectors", *plugin, cwd=written)
    assert picks.read_bytes() == before
    assert made.code == 0 and (written / "vectors/fed-mean.json").exists(), made.err
    judged = with_own("vectors", "check", "spec", "--only", "fed-mean", "--folder", "vectors", *plugin, cwd=written)
    assert judged.code == 0, judged.out + judged.err


@pytest.mark.outside
def test_a_saved_run_of_an_own_algorithm_goes_on(written: Path) -> None:
    words = ("--rounds", "2", "--clients", "6", "--cohort", "3")
    plugin = ("--plugin", "fed_mean.py")
    saved = with_own("simulate", "fed-mean", *words, "--save", "a.run", "--out", "first", *plugin, cwd=written)
    assert saved.code == 0, saved.err
    gone = with_own("simulate", "fed-mean", *words, "--resume", "a.run", "--out", "second", *plugin, cwd=written)
    assert gone.code == 0, gone.err
    first, second = (json.loads((written / f"{name}.json").read_text()) for name in ("first", "second"))
    numbers = [[(r["loss"], r["test_loss"]) for r in run["runs"][0]["rounds"]] for run in (first, second)]
    assert numbers[0] == numbers[1] and len(numbers[0]) == 2
    other = with_own("simulate", "fedavg", *words, "--resume", "a.run", "--out", "third", cwd=written)
    assert other.code == 2 and "if it belongs to your own algorithm, name its file (--plugin)" in other.err


@pytest.mark.parametrize(("name", "conforms"), [("right", True), ("log1p", False), ("squares", False)])
def test_a_rule_of_exponentials_and_logarithms_is_judged(name: str, conforms: bool) -> None:
    file = SUBJECTS / "softmax.py"
    more = ("--plugin", str(file), "--profile", "quick", "--jobs", "1", "--json", "--no-name")
    ran = with_own("check", f"{file}:{name}", *more, cwd=SUBJECTS.parent)
    (row,) = json.loads(ran.out)
    assert row["verdict"] == ("conforms" if conforms else "does not conform"), row


def test_a_row_of_exponentials_and_logarithms_conforms_in_float64_and_float32() -> None:
    more = ("--only", "attended", "--plugin", str(SUBJECTS / "softmax.py"), "--profile", "quick", "--jobs", "1")
    ran = with_own("check", "spec", *more, "--json", cwd=SUBJECTS.parent)
    assert {row["verdict"] for row in json.loads(ran.out)} == {"conforms"}, ran.out


@pytest.mark.slow
def test_a_power_of_another_base_has_a_name() -> None:
    file = SUBJECTS / "softmax.py"
    more = ("--plugin", str(file), "--profile", "quick", "--jobs", "1", "--json")
    (row,) = json.loads(with_own("check", f"{file}:base_2", *more, cwd=SUBJECTS.parent).out)
    assert row["nearest"].startswith("2^(-d) stands for exp(-d)"), row["nearest"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "yours"), [("plain", "w_i = a / sum(exp(-d))"), ("longest", "w_i = a / sum(a) / max(exp(-d))")]
)
def test_weights_of_an_own_rule_are_written_out(name: str, yours: str) -> None:
    file = SUBJECTS / "softmax.py"
    more = ("--plugin", str(file), "--profile", "quick", "--jobs", "1", "--json")
    (row,) = json.loads(with_own("check", f"{file}:{name}", *more, cwd=SUBJECTS.parent).out)
    assert f"yours: {yours}, wanted: w_i = a_i / sum_j a_j at attended.w" in row["nearest"], row["nearest"]
