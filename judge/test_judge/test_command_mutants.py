"""The command ``fedspec mutants``: what it lists, shows, prints, writes and refuses, and the threads beside defects."""

from __future__ import annotations

import re
from collections import Counter
from datetime import date

import pytest
from test_judge.support import inside

from fedspec_suite.mutants import MUTANTS, Mutant, Thread

REFUSED = [
    (("show", "fedyogi-signs"), ("'fedyogi-signs'", "nearest: fedyogi-sign", "fedspec mutants list")),
    (("list", "nobody-*"), ("'nobody-*'", "fedspec mutants list")),
    (("list", "--of", "fedyogy"), ("'fedyogy'", "nearest: fedyogi")),
    (("run", "nobody-*"), ("'nobody-*'", "fedspec mutants list")),
    (("run", "sgd-uphill", "nobody"), ("'nobody'", "fedspec mutants list")),
    (("run", "sgd-uphill", "--law", "gravity"), ("'gravity'", "fedspec laws")),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids="-".join)
def test_refuses_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    inside("mutants", *arguments).refused(*words)


def test_refuses_no_jobs() -> None:
    assert inside("mutants", "run", "sgd-uphill", "--jobs", "0").code == 2


def test_lists_the_mutants_of_an_algorithm_and_of_a_pattern() -> None:
    rows = inside("mutants", "list", "--of", "fedyogi", "--json").rows
    assert [row["id"] for row in rows] == [m.id for m in MUTANTS.values() if "fedyogi" in m.algorithms]
    some = inside("mutants", "list", "*-sign", "--of", "fedyogi", "--json").rows
    assert [row for row in rows if row["id"].endswith("-sign")] == some != []


@pytest.mark.slow
def test_lists_every_mutant() -> None:
    rows = inside("mutants", "list", "--json").rows
    assert [row["id"] for row in rows] == list(MUTANTS)
    row = next(row for row in rows if row["id"] == "proximal-anchor-moves")
    assert row["words"] == MUTANTS["proximal-anchor-moves"].words
    assert row["equation"] == "proximal-sgd.step" and row["algorithms"] == ["proximal-sgd", "fedprox"]
    listed = inside("mutants", "list", "--details").out
    assert all(re.search(rf"^{re.escape(name)} ", listed, re.MULTILINE) for name in MUTANTS)


@pytest.mark.slow
@pytest.mark.parametrize("words", [("mutants", "list"), ("laws",)])
def test_a_line_ends_at_the_width_and_is_whole_with_details(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = inside(*words, "--details").out.splitlines()
    for width in (60, 80):
        monkeypatch.setenv("COLUMNS", str(width))
        cut = inside(*words).out.splitlines()
        assert max(map(len, cut)) == width < max(map(len, whole))
        for line, long in zip(cut, whole, strict=True):
            assert line == long or (line.endswith("...") and len(long) > width and long.startswith(line[:-3]))


def test_shows_the_edit_and_how_to_see_who_notices() -> None:
    said = inside("mutants", "show", "fedyogi-sign").out
    assert said.startswith("fedyogi-sign: the sign of Yogi's update is reversed\n")
    assert "breaks: fedyogi.v, in fedspec.server.yogi.yogi" in said
    (thread,) = MUTANTS["fedyogi-sign"].seen
    assert f"seen: {thread.link}, read {thread.read}\n      {thread.says}\n" in said
    assert re.findall(r"^([-+] .*)", said, re.MULTILINE) == [
        "-     v = state.v - (1 - beta2) * u**2 * sign(state.v - u**2)",
        "+     v = state.v - (1 - beta2) * u**2 * sign(u**2 - state.v)",
    ]
    assert said.rstrip().endswith("who notices: fedspec mutants run fedyogi-sign")
    assert "under: start = first-gradient" in inside("mutants", "show", "dampened-second-gradient").out
    assert "lives: its session" in inside("mutants", "show", "momentum-not-reset").out
    assert inside("mutants", "show", "fedyogi-sign", "--json").rows[0]["id"] == "fedyogi-sign"


@pytest.mark.slow
def test_runs_and_prints_a_line_each() -> None:
    ran = inside("mutants", "run", "nesterov-*", "--jobs", "1")
    assert ran.code == 0, ran.err
    *lines, empty, last = ran.out.splitlines()
    names = sorted(n for n in MUTANTS if n.startswith("nesterov-"))
    assert [line.split()[0] for line in lines] == names and not empty
    assert all("follows-" in line and " killed by " in line for line in lines)
    assert f"{len(names)} of {len(names)} killed by a law that does not read the rule" in last


@pytest.mark.slow
def test_a_survivor_is_named_and_ends_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    lame = Mutant(
        id="lame",
        words="nothing",
        algorithms=("sgd",),
        rule="fedspec.client.sgd.sgd",
        old="eta_l * g",
        new="(eta_l * g)",
    )
    monkeypatch.setitem(MUTANTS, "lame", lame)
    ran = inside("mutants", "run", "lame", "--jobs", "1")
    assert ran.code == 1
    assert "lame  no law kills it; unexplained" in ran.out
    assert "0 of 1 killed" in ran.out


CITED = [(m, thread) for m in MUTANTS.values() for thread in m.seen]
LINK = re.compile(r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/\d+")


@pytest.mark.parametrize(("mutant", "thread"), CITED, ids=[f"{m.id}: {t.link}" for m, t in CITED])
def test_a_thread_was_opened_and_is_restated(mutant: Mutant, thread: Thread) -> None:
    assert LINK.fullmatch(thread.link), "a discussion that anybody can open"
    assert re.fullmatch(r"[A-Z].{30,}[^.]\.", thread.says) and ". " not in thread.says, "one sentence"
    assert len(thread.says.split()) <= 25
    assert thread.says.lower().rstrip(".") not in mutant.words, "what the thread says, not what the mutant does"
    assert date.fromisoformat(thread.read) >= date(2026, 11, 23)


def test_some_are_cited_and_no_restatement_serves_two() -> None:
    assert len(CITED) >= 10
    assert max(Counter(thread.says for _, thread in CITED).values()) == 1
    assert max(Counter((m.id, thread.link) for m, thread in CITED).values()) == 1


@pytest.mark.slow
def test_the_list_shows_them() -> None:
    listed = {row["id"]: row["seen"] for row in inside("mutants", "list", "--json").rows}
    for m, thread in CITED:
        assert {"link": thread.link, "says": thread.says, "read": thread.read} in listed[m.id]
    assert sum(map(len, listed.values())) == len(CITED)
