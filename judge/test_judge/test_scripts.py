"""The suite from a script, from pytest and from a shell: ``check_subject``, the plugin, the help and completion."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from datetime import date
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written
from test_judge.support import ROOT, inside, py, python
from test_judge.test_project import strangers

sys.path.insert(0, str(Path(__file__).with_name("subjects")))

import right
import wrong

import fedspec_suite
from fedspec.contract import Answer, Case, ClientMessage, Event, Offer
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite import DoesNotConform, check_adapter, check_subject
from fedspec_suite.cli.manual import COMMANDS, loaded
from fedspec_suite.judge.capsules.codec import encoded
from fedspec_suite.judge.runner import PROFILES, judge_offer
from fedspec_suite.measure.in_process import InProcess, unaliased
from fedspec_suite.measure.verdict import Status

pytestmark = pytest.mark.table(1)

pytest_plugins = ["pytester"]

FEW: dict[str, Any] = {"only": "fedavg/server/mcmahan-2017", "law": "follows-x"}


def test_a_right_object_conforms() -> None:
    assert check_subject is check_adapter
    # Scripts of yesterday call the adapter the subject.
    for (result,) in (check_adapter(right.fedavg, **FEW), check_adapter(subject=right.fedavg, **FEW)):
        assert (result.verdict, result.passed, result.command) == ("asked in part", 1, "")
    with pytest.raises(FedspecError, match="adapter: missing"):
        check_adapter(**FEW)


def test_a_wrong_object_raises_what_the_command_prints() -> None:
    with pytest.raises(AssertionError) as raised:
        check_subject(wrong.uniform, **FEW)
    assert isinstance(raised.value, DoesNotConform) and len(raised.value.results) == 1
    said = str(raised.value)
    assert said.startswith("1 of 1 claim does not conform.\n\n  Uniform 1 fedavg: weights = uniform")
    assert "\x1b" not in said and "profile quick, seed 0" in said


def test_an_object_that_writes_into_its_input_is_found_out() -> None:
    subject, (offer,) = InProcess(wrong.in_place, copies=True), wrong.in_place.info.offers
    (o,) = judge_offer(subject, offer, law="inputs", cases=2)
    assert o.status is Status.FAIL and o.deviation is not None and "changed in place" in o.deviation.note
    # The judge's own case is not touched.
    before = encoded(o.case)
    session = subject.start(o.case.case)
    for event in o.case.events:
        session.step(event)
    assert encoded(o.case) == before


def reusing(case: Case) -> Any:
    """The specification, which shows SCAFFOLD's c in one array, written anew in every round."""
    inner, c = SUBJECT.start(case), list[Any]()

    def step(event: Event) -> Answer:
        answer = inner.step(event)
        c[:] = c or [np.zeros_like(answer["c"])]
        c[0][:] = answer["c"]
        return {**answer, "c": c[0]}

    return SimpleNamespace(step=step)


def test_an_object_may_write_into_what_it_has_answered() -> None:
    offer = Offer("scaffold", "server", "karimireddy-2020", intermediates=("delta", "c"))
    (result,) = check_subject(written(offer, reusing), law="follows-*")
    assert result.said.startswith("follows x, delta, c in quick cases; ") and result.passed == 6


@pytest.mark.slow
def test_an_object_breaks_no_law_but_the_one_about_its_input() -> None:
    """Two halves of a client send one array, which is none of the subject's business."""
    with pytest.raises(DoesNotConform) as raised:
        check_subject(wrong.in_place, law="inputs,client-split,follows-x")
    (result,) = raised.value.results
    assert {o.law for o in result.obligations if o.status is Status.FAIL} == {"inputs"}, str(raised.value)


def test_what_changes_hands_is_copied_array_by_array() -> None:
    shared = np.arange(3.0)
    given = {"x": shared, "parts": (shared, [shared]), "t": 2, "message": ClientMessage(0, {"w": shared}, 1, 1, 1)}
    copied = unaliased(given)
    assert repr(copied) == repr(given)
    arrays = [copied["x"], copied["parts"][0], copied["parts"][1][0], copied["message"].delta["w"]]
    assert not any(np.shares_memory(a, b) for a, b in combinations([shared, *arrays], 2))


def test_a_name_runs_in_a_process_of_its_own() -> None:
    (result,) = check_subject(py("right:fedavg"), **FEW)
    assert result.command.startswith("fedspec check ")


def test_expected_failures_are_no_exceptions_until_they_expire(tmp_path: Path) -> None:
    path = tmp_path / "e.toml"
    path.write_text('[[expect]]\noffer = "fedavg"\nreason = "uniform"\nuntil = 2027-01-01\n')
    (result,) = check_subject(wrong.uniform, **FEW, expect=path, today=date(2027, 1, 1))
    assert (result.verdict, result.excused) == ("fails as expected", 1)
    with pytest.raises(DoesNotConform, match="expired on 2027-01-01"):
        check_subject(right.fedavg, **FEW, expect=path, today=date(2027, 1, 2))


def test_a_usage_error_is_none_of_the_subject() -> None:
    with pytest.raises(FedspecError, match="'slow'"):
        check_subject(right.fedavg, profile="slow")
    with pytest.raises(AttributeError, match="no attribute 'nobody'"):
        _ = fedspec_suite.nobody


def test_importing_the_suite_and_its_plugin_is_light() -> None:
    code = "import sys, fedspec_suite, fedspec_suite.plugin; print(sorted({m.partition('.')[0] for m in sys.modules}))"
    heavy = {"numpy", "hypothesis", "rich", "typer", "fedspec"}
    out = python("-c", code).stdout
    assert "'pytest'" in out and not [name for name in heavy if f"'{name}'" in out]


def run_pytest(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """pytest in a folder of its own, with nothing of this project's configuration."""
    (folder / "pytest.ini").write_text("[pytest]\n")
    here = ("-c", "pytest.ini", "--rootdir", ".", "--noconftest", "-p", "no:cacheprovider", "-rA")
    # Pages of a terminal of any width have the same words.
    return python("-m", "pytest", *here, "--pyargs", "fedspec_suite", *arguments, cwd=folder, env={"COLUMNS": "200"})


def run_inside(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in this process, which has imported the judge already."""
    pytester.makeini("[pytest]")
    here = ("-c", "tox.ini", "--rootdir", ".", "--noconftest", "-p", "no:cacheprovider", "-rA")
    return pytester.runpytest_inprocess(*here, "--pyargs", "fedspec_suite", *arguments)


def test_the_plugin_is_registered_and_inert(pytester: pytest.Pytester) -> None:
    body = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert body["project"]["entry-points"]["pytest11"] == {"fedspec": "fedspec_suite.plugin"}
    ran = run_inside(pytester, "--collect-only", "-q")
    assert ran.ret == 5 and "no tests" in str(ran.stdout)


EXPECT = """
[[expect]]
offer = "fedavg"
law = "client-order"
reason = "a known one"

[[expect]]
offer = "fedavg"
law = "follows-x"
dtype = "float32"
reason = "the sign (#7)"
"""


@pytest.mark.slow
def test_a_wrong_example_under_pytest(tmp_path: Path) -> None:
    text = (ROOT / "examples/mine.py").read_text(encoding="utf-8")
    (tmp_path / "mine.py").write_text(text.replace("+ self.h", "- self.h"))
    (tmp_path / "e.toml").write_text(EXPECT)
    laws = ("--fedspec-law", "follows-*", "--fedspec-law", "cl*[ar]")
    ran = run_pytest(tmp_path, "--fedspec-impl", "py:mine.py:Adapter", *laws, "--fedspec-expect", "e.toml", "-n", "2")
    assert ran.returncode == 1, ran
    row = "fedavg/server/mcmahan-2017::"
    outcomes = {(who, how) for how, who in re.findall(r"^([A-Z]+) (fedavg\S+|expect\S+)", ran.stdout, re.M)}
    assert outcomes == {
        (f"{row}follows-x/float64", "FAILED"),
        (f"{row}follows-x/float32", "XFAIL"),
        (f"{row}client-order/float64", "PASSED"),
        (f"{row}client-order/float32", "PASSED"),
        ("expect::1", "FAILED"),
        ("expect::2", "PASSED"),
    }
    assert "skipped: the adapter doesn't return delta" in ran.stdout
    assert (
        re.search(r"fedavg/server, round 1, eta=\S+; fedavg.step; got\[", ran.stdout)
        and "expected: the sign (#7)" in ran.stdout
    )
    assert "nearest known: the change is subtracted at fedavg.step" in ran.stdout
    assert "\nfedavg.step\n  yours:  x = x - eta Delta\n  wanted: x = x + eta Delta\n" in ran.stdout
    assert "again: fedspec check mine.py:Adapter --only fedavg/server --law follows-x --profile quick" in ran.stdout
    assert "expect: e.toml:2 (entry 1): everything that it excuses passes now (2 checks)" in ran.stdout
    assert "Traceback" not in ran.stdout and "one_by_one.py" not in ran.stdout


def test_the_right_example_under_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROFILES, "quick", 2)
    reference = f"py:{ROOT / 'examples/mine.py'}:Adapter"
    ran = run_inside(pytester, "--fedspec-impl", reference, "--fedspec-law", "[cf][lo]*[xar]")
    ran.assert_outcomes(passed=4, skipped=2)
    assert ran.ret == 0 and "skipped: the adapter doesn't return delta" in str(ran.stdout)


def test_what_a_stranger_says_counts_nowhere(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under pytest, and in a script: each would fail if it read the file of expected failures that it names."""
    path = pytester.path / "pyproject.toml"
    path.write_text('[tool.fedspec]\nplugins = ["none.py"]\n[tool.fedspec.check]\nexpect = "none.toml"\n')
    strangers(path, monkeypatch)
    ran = run_inside(pytester, "--fedspec-impl", py("right:fedavg"), "-q", "--collect-only")
    assert ran.ret == 0 and "fedavg/round" in str(ran.stdout) and "none" not in str(ran.stdout)
    assert check_subject(py("right:fedavg"), only="fedavg/round", law="follows-x")


def test_what_the_project_says_counts_under_pytest(pytester: pytest.Pytester) -> None:
    said = '[tool.fedspec.check]\nlaw = ["follows-x"]\nonly = ["*/round"]\nexpect = "none.toml"\n'
    (pytester.path / "pyproject.toml").write_text(said)
    ran = run_inside(pytester, "--fedspec-impl", py("right:fedavg"))
    assert ran.ret == 2 and "cannot read" in str(ran.stdout) and "none.toml" in str(ran.stdout)
    (pytester.path / "none.toml").write_text("")
    ran = run_inside(pytester, "--fedspec-impl", py("right:fedavg"), "-q", "--collect-only")
    assert re.findall(r"^fedavg\S+", str(ran.stdout), re.M) == ["fedavg/round/mcmahan-2017::follows-x/float64"]
    ran = run_inside(
        pytester, "--fedspec-impl", py("right:fedavg"), "--fedspec-only", "fedavg/server", "--collect-only", "-q"
    )
    assert {name.split("::")[0] for name in re.findall(r"^fedavg\S+", str(ran.stdout), re.M)} == {
        "fedavg/server/mcmahan-2017"
    }


def test_a_zero_that_is_refused_costs_one_test(pytester: pytest.Pytester) -> None:
    laws = ("--fedspec-law", "follows-x", "--fedspec-law", "repeats", "--fedspec-law", "far-numbers")
    ran = run_inside(pytester, "--fedspec-impl", py("odd:no_zero"), *laws)
    ran.assert_outcomes(passed=2, failed=1)
    words = 'which nonzero=("mu",) declares; all that is asked later is asked without it'
    assert words in str(ran.stdout)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nobody",), "unknown 'nobody'"),
        (("py:nowhere.py:it",), "there is no file nowhere.py"),
        (("spec", "--fedspec-only", "fedbest"), "matches 'fedbest'"),
        (("spec", "--fedspec-profile", "slow"), "unknown 'slow'"),
        (("spec", "--fedspec-law", "nolaw"), "none is called 'nolaw'"),
        (("spec", "--fedspec-expect", "no.toml"), "cannot read no.toml"),
    ],
)
def test_what_cannot_be_judged_is_one_line(arguments: tuple[str, ...], says: str, pytester: pytest.Pytester) -> None:
    ran = run_inside(pytester, "--fedspec-impl", *arguments)
    assert ran.ret == 2 and says in str(ran.stdout) and "Traceback" not in str(ran.stdout)


def test_the_help_has_every_command_once_and_the_exit_codes() -> None:
    said = inside("--help").out
    for name in COMMANDS.keys() - {"vectors"}:
        assert len(re.findall(rf"^  {name} ", said, re.M)) == 1, name
    assert "Exit codes:" in said and "FEDSPEC_CACHE" in said and "Examples:" in said
    assert not [line for line in said.splitlines()[1:] if len(line) > 80 or line.endswith("...")]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_says_of_a_command_what_the_command_says(name: str) -> None:
    assert loaded(name).name == name and loaded(name).get_short_help_str(200) == COMMANDS[name].words


@pytest.mark.parametrize("word", ["--help", "--version", "chekc"])
def test_the_help_imports_nothing_that_a_command_needs(word: str) -> None:
    heavy = "numpy", "hypothesis", "torch", "rich", "fedspec.catalogue", "fedspec_suite.measure.bench"
    text = f"""
import sys
from fedspec_suite.cli.start import main
try:
    main()
except SystemExit:
    print([name for name in {heavy} if name in sys.modules])
"""
    ran = python("-c", text, word)
    assert ran.stdout.splitlines()[-1] == "[]", ran


def test_shells_complete_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"COMP_WORDS": "fedspec rep", "COMP_CWORD": "1", "_FEDSPEC_COMPLETE": "complete_bash"}.items():
        monkeypatch.setenv(name, value)
    assert inside().out.split() == ["replay", "report", "reproduce"]


def test_the_example_for_actions_runs_commands_that_there_are() -> None:
    text = (ROOT / "examples/github-actions.yml").read_text(encoding="utf-8")
    options = set(re.findall(r"(--[a-z]+)", text.partition("fedspec check")[2].partition("- name")[0]))
    assert options == {"--profile", "--expect", "--capsules", "--report"}
    known = inside("check", "--help").out
    assert all(option in known for option in options)
    assert "upload-sarif" in text and "GITHUB_STEP_SUMMARY" in text and "junit.xml" in text
