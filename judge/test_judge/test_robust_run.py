"""Subject that fails among others: a line for each, the report whole, an exit code for the error."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from test_judge.support import Ran, fedspec, hostile, inside, judging, py
from test_judge.work import doubled, lost

from fedspec.reference import SUBJECT
from fedspec_suite.judge import runner
from fedspec_suite.judge.plan import Started
from fedspec_suite.judge.runner import PROFILES
from fedspec_suite.judge.worker_pool import run_tasks

pytestmark = pytest.mark.table(1)

QUICK = ("--profile", "quick", "--jobs", "1")
SOME = (*QUICK, "--law", "follows-x", "--limit", "5")
GOOD = hostile("right")


def among(bad: str, *arguments: str) -> tuple[Ran, list[dict[str, Any]]]:
    ran = inside("check", GOOD, bad, GOOD, *(arguments or SOME), "--json")
    return ran, ran.rows


def middle(ran: Ran, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The line between two that pass."""
    assert [r["verdict"] for r in rows] == ["asked in part", "error", "asked in part"]
    assert ran.code == 2 and "Traceback" not in ran.err
    return rows[1]


OPENED = [
    (hostile("info-list"), "reply.info: got a list; want an object"),
    (hostile("offers-object"), "claims: got an object; want a list"),
    (hostile("name-number"), "name: got 7; want a string"),
    (hostile("offer-words"), "dtypes: got 'float64'; want a list"),
    (hostile("fixed-huge"), "fixed.eta: got a whole number of 1329 bits"),
    (py("odd:no_comma"), "a tuple of one claim ends in a comma"),
    (py("odd:numbered"), "version: got 1.0; want a string"),
    ("nowhere.py:it", "there is no file nowhere.py"),
    ("cmd:/no/such/program", "check the command"),
    ("cmd: ", "names no command"),
    (py("odd:no_offer"), "claims nothing"),
    (py("odd:no_offers"), "has no attribute 'no_offers'; its adapters: "),
]


@pytest.mark.parametrize(("bad", "says"), [pytest.param(*row, id=row[1]) for row in OPENED])
def test_a_subject_that_cannot_be_opened_is_a_line(bad: str, says: str) -> None:
    row = middle(*among(bad))
    assert says in row["first_deviation"]
    assert (row["subject"], row["passed"], row["required"]) == (bad, 0, 1)
    assert row["command"].startswith("fedspec check ")


def test_if_none_can_be_opened_the_first_says_why() -> None:
    inside("check", "py:nowhere.py:it", hostile("name-number"), *SOME).refused("nowhere.py")


ANSWERED = [
    ("x-words", "answer.x.w[0]: got 'one'; want a number"),
    ("x-none", "answer.x: got null; want an object or a number, or one of the words nan, inf, -inf"),
    ("x-huge", "a whole number of 1329 bits"),
    ("x-long", "answer.x.w: got "),
    ("dtype-number", "answer.dtype: got 64; want a string or null"),
    ("no-object", "answer: got 'x'; want an object"),
    ("deep", "not a JSON object"),
    ("deep-enough", "nested more than 32 times"),
    ("not-utf-8", "not a JSON object"),
    ("ok-word", "not a JSON object with 'ok'"),
    ("error-object", "reply.error: got an object; want a string"),
    ("error-markup", r"[/x] \x1b[31m :smile: \ud800"),
    ("closes-stdout", "closed its standard output"),
    ("closes-stdin", "closed its standard input"),
    ("dies-in-latin-1", "exited (code 3) before it answered: kein Ger\ufffdt"),
]


@pytest.mark.parametrize(("fault", "says"), ANSWERED)
def test_an_answer_that_is_none_is_an_error(fault: str, says: str) -> None:
    row = middle(*among(hostile(fault)))
    assert says in row["first_deviation"], row["first_deviation"]
    assert len(row["first_deviation"]) < 700


def test_an_offer_that_cannot_be_judged_is_a_line_beside_the_others() -> None:
    ran = inside("check", hostile("one-bad-offer"), *SOME, "--json")
    assert [(r["algorithm"], r["verdict"]) for r in ran.rows] == [("fedbest", "error"), ("fedavg", "asked in part")]
    assert "'fedbest'" in ran.rows[0]["first_deviation"] and ran.code == 2


def test_offers_that_shrink_between_two_handshakes(tmp_path: Path) -> None:
    others = GOOD, hostile("dtype-sometimes")
    ran = inside("check", *others, hostile("shrinks", str(tmp_path / "times")), *SOME, "--json")
    assert [r["verdict"] for r in ran.rows] == ["asked in part"] * 3 + ["error"]
    assert "not the same as when it was first started" in ran.rows[3]["first_deviation"]


def test_the_first_subjects_are_started_once(tmp_path: Path) -> None:
    started = tmp_path / "times"
    ran = inside("check", hostile("shrinks", str(started)), *SOME, "--json")
    assert "error" not in {r["verdict"] for r in ran.rows} and started.read_text() == "x"


def test_where_processes_share_the_work_no_subject_waits_in_this_one() -> None:
    """The plan may go on while others judge, as where environments are made."""
    ended: list[str] = []
    started, stacks = Started(2), {name: ExitStack() for name in "abc"}
    for name, stack in stacks.items():
        stack.callback(ended.append, name)
    started.keep("a", SUBJECT, stacks["a"])
    started.end()
    started.keep("b", SUBJECT, stacks["b"])
    assert ended == ["a"]
    stacks["b"].close()
    assert ended == ["a", "b"]


@pytest.mark.parametrize("fault", ["dtype-sometimes", "stderr-flood"])
def test_what_is_harmless_conforms(fault: str) -> None:
    ran = inside("check", hostile(fault), *QUICK, "--law", "[dir]*,follows-x", "--json")
    assert (ran.code, ran.rows[0]["verdict"]) == (0, "asked in part"), ran.rows[0]["first_deviation"]


@pytest.mark.slow
def test_what_is_shown_only_sometimes_is_found_out() -> None:
    ran = inside("check", hostile("shows-sometimes"), GOOD, *QUICK, "--law", "[fr]*", "--json")
    assert [r["verdict"] for r in ran.rows] == ["does not conform", "asked in part"]


def test_a_bug_of_the_judge_is_a_line_too(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = iter((None, ZeroDivisionError("a slip"), None))
    asked = runner.judge_offer

    def slips(*given: Any, **more: Any) -> Any:
        if error := next(calls):
            raise error
        return asked(*given, **more)

    monkeypatch.setattr("fedspec_suite.judge.check.judge_offer", slips)
    row = middle(*among(GOOD))
    assert "internal error: ZeroDivisionError: a slip" in row["first_deviation"]
    assert "bug of fedspec" in row["first_deviation"]


def test_every_line_is_in_the_report_and_in_the_table(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    report.write_text("old\n")
    ran = inside("check", GOOD, hostile("name-number"), GOOD, *SOME, "--report", str(report))
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert [r["verdict"] for r in lines] == ["asked in part", "error", "asked in part"]
    # Of each in the summary and in the table.
    assert " ".join(ran.out.split()).count("follows x in quick cases") == 4 and "got 7" in ran.out
    assert ran.out.startswith("1 of 3 claims gave no answer, 2 were checked in part.")


def test_a_report_that_cannot_be_written_is_refused_before_the_work(tmp_path: Path) -> None:
    inside("check", GOOD, *SOME, "--report", str(tmp_path)).refused("report", "another file")


def test_when_the_budget_is_used_the_rest_is_not_asked() -> None:
    ran = inside("check", hostile("sleepy"), *QUICK, "--budget", "2", "--json")
    (slow,) = ran.rows
    assert (slow["verdict"], ran.code) == ("error", 2)
    unasked = [o for o in slow["obligations"] if "not asked, budget used (2 s)" in o["reason"]]
    assert len(unasked) > 3 and all(o["status"] == "error" for o in unasked)
    assert "budget used" in slow["first_deviation"] and "--budget 2" in slow["command"]
    assert slow["passed"] + len(unasked) == slow["required"]


@pytest.mark.parametrize("option", ["--budget", "--start-limit"])
@pytest.mark.parametrize("value", ["0", "-1", "nan", "inf"])
def test_limits_are_numbers_of_seconds(option: str, value: str) -> None:
    inside("check", GOOD, option, value).refused(option.removeprefix("--"), "seconds")


def test_the_limit_of_the_handshake_is_an_option(tmp_path: Path) -> None:
    slow = hostile("slow-hello", str(tmp_path / "pid"))
    inside("check", slow, *SOME, "--start-limit", "0.5").refused("no answer to 'hello' within 0.5 s")


@pytest.mark.slow
def test_an_interrupt_prints_what_is_judged_so_far(tmp_path: Path) -> None:
    report = tmp_path / "report.jsonl"
    more = ("--profile", "quick", "--law", "follows-x", "--limit", "600", "--jobs", "2", "--report", str(report))
    junit = tmp_path / "report.xml"
    judge = judging(GOOD, hostile("hangs"), *more, "--report", str(junit))
    # The second never answers.
    while judge.poll() is None and not (report.exists() and report.read_text()):
        time.sleep(0.1)
    judge.send_signal(signal.SIGINT)
    out, err = judge.communicate(timeout=60)
    assert judge.returncode == 130, err
    assert out.startswith("1 of 1 claim follows x in quick cases")
    assert "interrupted" in err and "Traceback" not in err
    assert len(Xml.fromstring(junit.read_text()).findall("testsuite")) == 1


def test_a_worker_that_dies_takes_its_own_task_only() -> None:
    results = sorted(run_tasks(doubled, lost, [0, 1, 2, 3], 2), key=str)
    assert results == [0, 1, 10, 11, 20, 30, 31, "lost 2 after 1: the judge's own process ended (exit code 9)"]


def test_a_task_may_become_known_while_others_are_done() -> None:
    """The last does when the first has ended, of which the results come first."""
    given: list[int] = []

    def late() -> Iterator[int | None]:
        yield 0
        while not given:
            yield None
        yield 3

    for result in run_tasks(doubled, lost, late(), 2):
        given.append(result)
    assert given == [0, 1, 30, 31]


def test_no_task_may_follow_when_all_are_done() -> None:
    """The last subject's environment could not be made, say, and nobody waits for idle workers."""
    given: list[int] = []

    def late() -> Iterator[int | None]:
        yield 0
        while len(given) < 2:
            yield None
        yield None

    for result in run_tasks(doubled, lost, late(), 2):
        given.append(result)
    assert given == [0, 1]


@pytest.mark.slow
def test_several_processes_say_the_same(tmp_path: Path) -> None:
    arguments = ("check", GOOD, hostile("name-number"), GOOD, "--law", "repeats", "--profile", "quick")
    one = inside(*arguments, "--jobs", "1", "--json", cases=PROFILES["quick"])
    two = fedspec(*arguments, "--jobs", "2", "--json", cwd=tmp_path)
    assert one.code == two.code == 2 and one.out == two.out
    # Nor do they leave anything in the user's folder.
    assert not list(tmp_path.iterdir())
