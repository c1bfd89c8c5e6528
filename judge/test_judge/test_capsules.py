"""Capsules: every case that a law draws comes back to the bit, a failure plays again, and so does the script."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_judge.capsule_failures import failed, of_mutant
from test_judge.diagnosing import written
from test_judge.results import result
from test_judge.support import ROOT, fedspec, inside, py, python, standalone

from fedspec import with_buffers
from fedspec.catalogue import find as find_algorithm
from fedspec.contract import Offer, SubjectInfo
from fedspec.errors import ContractError, FedspecError
from fedspec.reference import SUBJECT
from fedspec.serve import load
from fedspec_suite.cli.check import Capsules
from fedspec_suite.judge.capsules import replay
from fedspec_suite.judge.capsules.codec import decoded, encoded
from fedspec_suite.judge.capsules.file_format import Capsule, Failure, read, stem
from fedspec_suite.judge.capsules.replay import Outcome, replay_capsule
from fedspec_suite.judge.capsules.writer import CapsuleFiles, capsule
from fedspec_suite.judge.runner import REQUIREMENT, judge_offer
from fedspec_suite.laws import Law, all_laws
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status

LINES = 40
"""Largest number of lines of a script of a small case, so that it is read at a glance."""


def with_options(algorithm: str, options: dict[str, str]) -> Iterator[Offer]:
    """The readings of an algorithm that leave these options open."""
    for reading in find_algorithm(algorithm).readings_at("round"):
        offer = Offer(algorithm, "round", reading.name, options)
        with suppress(FedspecError):
            setting_of(offer)
            yield offer


_NOVA = {"tau_eff_choice": "weighted-norm", "nova_weights": "implied", "solver": "proximal"}
_SINGLE = {"cover": "singletons", "client": "adam", "server": "adagrad", "idle": "carried"}

OFFERS = (
    *SUBJECT.info.offers,
    # What the specification does not offer, and what laws are about.
    *(o for name, options in (("fednova", _NOVA), ("fedada2", _SINGLE)) for o in with_options(name, options)),
    *(replace(o, rates="each") for o in SUBJECT.info.offers if o.level == "client" and o.algorithm in {"sgd", "adam"}),
    *with_buffers.SUBJECT.info.offers,
)
SETTINGS = [setting_of(o) for o in OFFERS]

EXAMPLE = ROOT / "examples/mine.py"
FEW = ("--profile", "quick", "--jobs", "1", "--law", "follows-x")


def exact(value: Any) -> Any:
    """A value with every type and every bit."""
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        return name, str(value.dtype), value.shape, value.tobytes()
    if is_dataclass(value):
        return name, [exact(getattr(value, f.name)) for f in fields(value)]
    if isinstance(value, dict):
        return name, [(k, exact(v)) for k, v in value.items()]
    if isinstance(value, list | tuple):
        return name, [exact(v) for v in value]
    return name, value.hex() if isinstance(value, float) else repr(value)


def comes_back(case: Any) -> bool:
    return bool(exact(decoded(json.loads(json.dumps(encoded(case))), "case")) == exact(case))


def asked_of(law: Law) -> Iterator[Offer]:
    found = [o for o, s in zip(OFFERS, SETTINGS, strict=True) if not law.why_not(s, o.intermediates, concurrent=True)]
    # Some laws are asked only of an offer that declares it.
    more = (replace(o, resumes=True, faults={"nan": "skips"}) for o in OFFERS if not found and o.level == "server")
    return iter(found or [o for o in more if not law.why_not(setting_of(o), o.intermediates, concurrent=True)])


@pytest.mark.slow
def test_a_case_of_every_law_comes_back_to_the_bit() -> None:
    wrong = []
    for k, law in enumerate(all_laws().values()):
        offers = list(asked_of(law))
        if not offers:
            wrong.append(law.id)
            continue
        dtype = ("float64", "float32")[k % 2]
        wrong += [
            law.id
            for offer in offers[k % len(offers) :][:1]
            if not comes_back(draw_cases(law.cases(setting_of(offer, dtype)), 2, seed=1)[-1])
        ]
    assert not wrong


@pytest.mark.parametrize(
    "value", [Fraction(-1, 3), slice(1, None, 2), -0.0, float("inf"), 5e-324, (), [], {}, None, True]
)
def test_what_a_case_could_hold_comes_back(value: Any) -> None:
    assert comes_back(value)


@pytest.mark.parametrize("value", [{1, 2}, object(), np.zeros(2, dtype=object), np.float64(1), Status.PASS, 1j])
def test_what_no_case_holds_is_refused(value: Any) -> None:
    with pytest.raises(ContractError, match="which capsules can't store"):
        encoded(value)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a wrong adapter, the right one and the capsule of the wrong one."""
    folder = tmp_path_factory.mktemp("capsules")
    text = EXAMPLE.read_text(encoding="utf-8")
    (folder / "mine.py").write_text(text.replace("+ self.h", "- self.h"))
    (folder / "right.py").write_text(text)
    more = ("--capsules", "kept", "--report", "report.jsonl", "--details")
    ran = fedspec("check", "py:mine.py:Adapter", *FEW, *more, cwd=folder, cases=4, explained=False)
    assert ran.code == 1, ran.err
    (folder / "said.txt").write_text(ran.out)
    return folder


def names(folder: Path) -> tuple[str, str]:
    """The capsule and the script of the one offer that was judged."""
    row = json.loads((folder / "report.jsonl").read_text())
    assert not {"made", "case"} & {*row, *row["obligations"][0]}
    return row["capsule"], row["script"]


def play(folder: Path, *, packages: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the script in the capsule's folder, with no other packages than those of a folder if one is given."""
    _, text = names(folder)
    return python(*["-S"] * bool(packages), text, cwd=folder, env={"PYTHONPATH": str(packages)} if packages else {})


def numpy_only(folder: Path) -> Path:
    """A folder that has NumPy and no other package."""
    folder.mkdir()
    for path in (there := Path(np.__file__).parent, there.with_name("numpy.libs")):
        if path.exists():
            (folder / path.name).symlink_to(path)
    return folder


@pytest.mark.slow
def test_a_failure_plays_again(folder: Path) -> None:
    name, _ = names(folder)
    ran = fedspec("replay", name, "py:mine.py:Adapter", "--json", cwd=folder)
    assert ran.code == 1
    assert [r["outcome"] for r in ran.rows] == [Outcome.SAME] * 2
    right = fedspec("replay", name, "py:right.py:Adapter", "--json", cwd=folder)
    assert (right.code, {r["outcome"] for r in right.rows}) == (0, {Outcome.PASSES})


@pytest.mark.slow
def test_another_wrong_number_is_told(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((folder / "mine.py").read_text().replace("- self.h", "- 3 * self.h"))
    ran = inside("replay", str(folder / names(folder)[0]), f"py:{tmp_path}/mine.py:Adapter", "--details")
    assert ran.code == 1 and ran.out.count("still fails, with another number") == 2
    assert "now: fedavg.step" in ran.out and "event 1: client " in ran.out and "answer: x = {" in ran.out


def test_the_script_needs_no_fedspec_and_exits_1_until_it_is_mended(folder: Path, tmp_path: Path) -> None:
    _, text = names(folder)
    lines = (folder / text).read_text().splitlines()
    assert len(lines) <= LINES and max(map(len, lines)) <= 110
    # The case, the wanted number and its equation stand in the text itself.
    assert {"import numpy as np", "# wanted, fedavg.step: x = x + eta Delta"} <= {*lines}
    assert "ClientMessage(client=0, delta={'w': np.array([" in "".join(lines) and ".json" not in "".join(lines)
    ran = play(folder)
    assert ran.returncode == 1 and ran.stdout.startswith("x[0]: got ") and not ran.stderr, ran
    # Nor does the adapter, which imports the names of the contract.
    alone = numpy_only(tmp_path / "alone")
    without = play(folder, packages=alone)
    assert (without.returncode, without.stdout) == (1, ran.stdout), without.stderr
    shutil.copytree(folder, tmp_path / "mended")
    adapter = (folder / "mine.py").read_text()
    (tmp_path / "mended/mine.py").write_text(adapter.replace("- self.h", "+ self.h"))
    assert play(tmp_path / "mended", packages=alone).returncode == 0
    # Or that has none, and gets plain namespaces.
    session = adapter.partition("class Adapter:")[0].replace("from fedspec.contract import", "NOTHING = ''  #")
    subject = "class Adapter:\n    def start(self, case):\n        return Session(case)\n"
    (tmp_path / "mended/mine.py").write_text(session + subject)
    without = play(tmp_path / "mended", packages=alone)
    assert (without.returncode, without.stdout) == (1, ran.stdout), without.stderr


def test_the_script_finds_the_only_adapter_of_a_file(tmp_path: Path) -> None:
    text, adapter = EXAMPLE.read_text(encoding="utf-8"), tmp_path / "uphill.py"
    adapter.write_text(text.replace("+ self.h", "- self.h"))
    subject = InProcess(load(str(adapter)))
    offers = subject.info.offers
    made = capsule("py:uphill.py", subject, 0, offers, [failed(subject, offers[0], "follows-x")])
    kept = Capsules(tmp_path).keep(result(made=made))
    (tmp_path / "report.jsonl").write_text(json.dumps({**kept.record(), "obligations": [{}]}))
    assert play(tmp_path).returncode == 1
    adapter.write_text(text)
    assert play(tmp_path).returncode == 0


@pytest.mark.slow
def test_the_script_of_a_command_speaks_json_lines(tmp_path: Path) -> None:
    right = Path(standalone().partition(" ")[2].strip("'")).read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(right.replace("x + self.h", "x - self.h"))
    asked = (*FEW, "--only", "fedavg", "--capsules", "kept", "--report", "report.jsonl")
    assert fedspec("check", f"cmd:{sys.executable} mine.py", *asked, cwd=tmp_path, cases=4).code == 1
    assert len((tmp_path / names(tmp_path)[1]).read_text().splitlines()) <= LINES
    again = play(tmp_path)
    assert again.returncode == 1 and ": got " in again.stdout and not again.stderr, again
    (tmp_path / "mine.py").write_text(right)
    assert play(tmp_path).returncode == 0


@pytest.mark.table(1)
@pytest.mark.parametrize("name", ["momentum_client", "fednova_round", "gossip_trace", "async_trace"])
def test_the_script_builds_the_records_of_every_level(name: str, tmp_path: Path) -> None:
    text = EXAMPLE.with_name(f"{name}.py").read_text(encoding="utf-8")
    adapter = tmp_path / f"uphill_{name}.py"
    adapter.write_text(re.sub(r'(self\.)?h\["eta_l"\]', r"-\g<0>", text))
    subject = InProcess(load(f"{adapter}:ADAPTER"))
    offers = subject.info.offers
    made = capsule(f"py:{adapter.name}:ADAPTER", subject, 0, offers, [failed(subject, offers[0], "follows-x")])
    kept = Capsules(tmp_path).keep(result(made=made))
    (tmp_path / "report.jsonl").write_text(json.dumps({**kept.record(), "obligations": [{}]}))
    again, packages = play(tmp_path), numpy_only(tmp_path / "packages")
    assert again.returncode == 1 and ": got " in again.stdout and not again.stderr, again
    without = play(tmp_path, packages=packages)
    assert (without.returncode, without.stdout) == (1, again.stdout), without.stderr
    adapter.write_text(text)
    assert play(tmp_path).returncode == 0 and play(tmp_path, packages=packages).returncode == 0


def test_verdict_and_details_name_the_files(folder: Path) -> None:
    (name, text), said = names(folder), (folder / "said.txt").read_text()
    assert said.count(f"again: fedspec replay {name} mine.py:Adapter\n") == 2
    assert said.count(f"again: python {text}\n") == 2


def test_what_conforms_has_no_capsule(tmp_path: Path) -> None:
    ran = inside("check", py("right:fedavg"), *FEW, "--only", "fedavg/round", "--capsules", str(tmp_path), "--json")
    assert (ran.code, ran.rows[0]["capsule"], list(tmp_path.iterdir())) == (0, "", [])


@pytest.mark.table(1)
def test_what_fails_as_expected_has_none_and_no_folder_is_made(tmp_path: Path) -> None:
    (tmp_path / "e.toml").write_text('[[expect]]\noffer = "fedavg/server"\nreason = "known"\n')
    asked = (
        *FEW,
        "--only",
        "fedavg/server",
        "--capsules",
        str(tmp_path / "kept"),
        "--expect",
        str(tmp_path / "e.toml"),
    )
    ran = inside("check", py("wrong:zero"), *asked)
    assert ran.code == 0 and "fails as expected" in ran.out and not (tmp_path / "kept").exists()


def test_a_folder_that_cannot_be_made_is_refused_before_the_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    inside("check", "spec", *FEW, "--capsules", str(tmp_path / "file/kept")).refused("capsules", "another folder")


def test_a_folder_that_is_gone_is_said_once(tmp_path: Path) -> None:
    kept = Capsules(tmp_path / "kept")
    made = result(made=CapsuleFiles("mine-1", {"capsule": 1}, "print()\n", ""))
    assert kept.keep(made).capsule == str(tmp_path / "kept/mine-1.json") and not kept.failure
    shutil.rmtree(tmp_path / "kept")
    assert [kept.keep(made).capsule, kept.keep(made).script, kept.keep(made).made] == ["", "", None]
    assert kept.failure.startswith(f"capsules: cannot write into {tmp_path / 'kept'} (No such file")


def test_a_script_that_is_none_any_more_is_taken_away(tmp_path: Path) -> None:
    kept = Capsules(tmp_path)
    kept.keep(result(made=CapsuleFiles("mine-1", {"capsule": 1}, "print()\n", "")))
    kept.keep(result(made=CapsuleFiles("mine-1", {"capsule": 1}, "", "no single number shows what is wrong")))
    assert [p.name for p in tmp_path.iterdir()] == ["mine-1.json"]


def stored(body: dict[str, Any], folder: Path) -> Capsule:
    path = folder / "capsule.json"
    path.write_text(json.dumps(body))
    return read(path)


@pytest.mark.parametrize(
    ("mutant", "law", "algorithm"),
    [
        ("fedyogi-sign", "follows-v", "fedyogi"),
        ("fednova-vr-sign", "follows-c-i", "fednova-vr"),
        ("gossip-transposed", "follows-x", "afga"),
        ("adagrad-stale", "unrolled", "adagrad"),
    ],
)
def test_the_failures_of_mutants_play_again_and_the_rule_has_none(
    mutant: str, law: str, algorithm: str, tmp_path: Path
) -> None:
    subject, offer, made = of_mutant(mutant, law, algorithm)
    kept = stored(made.body, tmp_path)
    assert kept.offer == offer and kept.failures and made.script
    assert {r.outcome for r in replay_capsule(kept, subject)} == {Outcome.SAME}
    right = replay_capsule(kept, InProcess(SUBJECT))
    assert {r.outcome for r in right} == {Outcome.PASSES}, [r.reason for r in right]


REDDI = Offer("fedadam", "server", "reddi-2021", fixed={"v0": 0.0})


def test_a_requirement_is_looked_up_in_the_offer_of_today(tmp_path: Path) -> None:
    obligations = judge_offer(InProcess(written(REDDI, SUBJECT.start)), REDDI, law=REQUIREMENT)
    made = capsule("py:x.py:it", InProcess(written(REDDI, SUBJECT.start)), 0, (REDDI,), obligations)
    assert made is not None and not made.script and "number" in made.why_not
    kept = stored(made.body, tmp_path)
    assert [r.outcome for r in replay_capsule(kept, written(REDDI, SUBJECT.start))] == [Outcome.SAME]
    assert [r.outcome for r in replay_capsule(kept, written(replace(REDDI, fixed={}), SUBJECT.start))] == [
        Outcome.PASSES
    ]


def test_a_law_that_is_asked_no_more_leaves_its_case_to_the_rule(tmp_path: Path) -> None:
    subject, _, made = of_mutant("fedyogi-sign", "follows-x", "fedyogi")
    kept = stored(made.body, tmp_path)
    (first, *_) = kept.failures
    old = replace(kept, failures=(replace(first, law="unanimous", case=(first.case, first.case)),))
    assert [r.outcome for r in replay_capsule(old, InProcess(SUBJECT))] == [Outcome.PASSES]
    assert [r.outcome for r in replay_capsule(old, subject)] == [Outcome.SAME]


def test_what_cannot_be_decided_says_why(tmp_path: Path) -> None:
    _, offer, made = of_mutant("fedyogi-sign", "follows-x", "fedyogi")
    kept = stored(made.body, tmp_path)
    (first, *_) = kept.failures
    odd = replace(first, case=(first.case, 3))
    asked = replace(kept, failures=(replace(first, law="gravity"), odd, first))
    found = replay_capsule(asked, InProcess(SUBJECT))
    assert [r.outcome for r in found] == [Outcome.UNKNOWN, Outcome.OPEN, Outcome.PASSES]
    assert "none that the law draws today" in found[1].reason
    assert replay.exit_code(found) == 3
    half = replay_capsule(kept, written(replace(offer, dtypes=("float32",)), SUBJECT.start))
    assert half[0].reason == "float64 is no longer claimed"
    pinned = replay_capsule(kept, written(replace(offer, fixed={"beta1": 0.125}), SUBJECT.start))
    assert "beta1 is fixed at 0.125, the case has" in pinned[0].reason
    with pytest.raises(ContractError, match="does not claim fedyogi/server"):
        replay_capsule(kept, written(REDDI, SUBJECT.start))


def test_the_exit_code_is_that_of_the_worst() -> None:
    failure = Failure("follows-x", "float64", None)
    outcomes = [Outcome.PASSES, Outcome.OPEN, Outcome.SILENT, Outcome.OTHER]
    codes = [replay.exit_code([replay.ReplayResult(failure, o) for o in outcomes[:n]]) for n in range(1, 5)]
    assert codes == [0, 3, 2, 1]


def test_the_page_names_the_file_that_is_written() -> None:
    offer = Offer("fedavg", "server", "mcmahan-2017", {"weights": "examples"})
    name = stem("wrong.py", SubjectInfo("mine", "0.1", (offer,)), offer, (offer,), 0)
    page = (EXAMPLE.parents[1] / "docs/in-your-ci.md").read_text(encoding="utf-8")
    assert page.count(f"kept/{name}.json") == 2 and page.count(f"python kept/{name}.py") == 1


def test_names_are_stable_and_tell_twins_apart() -> None:
    info = SubjectInfo("A/../b \u202e", "1", (REDDI, REDDI))
    both = [stem("py:a.py:it", info, REDDI, info.offers, k) for k in (0, 1)]
    assert both == [stem("py:a.py:it", info, REDDI, info.offers, k) for k in (0, 1)] and len(set(both)) == 2
    assert all(name.isascii() and not set(name) & set("/ :\\") and not name.startswith(".") for name in both)
