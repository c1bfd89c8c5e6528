"""The command ``fedspec mutants``: what it lists, shows, prints, writes and refuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from test_judge.support import fedspec, inside

from fedspec_suite.cli import mutants
from fedspec_suite.kills import stored
from fedspec_suite.laws import LAWS
from fedspec_suite.mutants import MUTANTS, Mutant

REFUSED = [
    (("show", "fedyogi-signs"), ("'fedyogi-signs'", "nearest: fedyogi-sign", "fedspec mutants list")),
    (("list", "nobody-*"), ("'nobody-*'", "fedspec mutants list")),
    (("list", "--of", "fedyogy"), ("'fedyogy'", "nearest: fedyogi")),
    (("run", "nobody-*"), ("'nobody-*'", "fedspec mutants list")),
    (("run", "sgd-uphill", "nobody"), ("'nobody'", "fedspec mutants list")),
    (("run", "sgd-uphill", "--law", "gravity"), ("'gravity'", "fedspec laws")),
    (("run", "sgd-uphill", "--stale"), ("stale", "leave out patterns")),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids="-".join)
def test_refuses_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    inside("mutants", *arguments).refused(*words)


def test_refuses_no_jobs_and_a_folder_for_a_file(tmp_path: Path) -> None:
    assert inside("mutants", "run", "sgd-uphill", "--jobs", "0").code == 2
    inside("mutants", "run", "sgd-uphill", "--jobs", "1", "--out", str(tmp_path)).refused("out", str(tmp_path))


def test_lists_the_mutants_of_an_algorithm_and_of_a_pattern() -> None:
    rows = inside("mutants", "list", "--of", "fedyogi", "--json").rows
    assert [row["id"] for row in rows] == [m.id for m in MUTANTS.values() if "fedyogi" in m.algorithms]
    some = inside("mutants", "list", "*-sign", "--of", "fedyogi", "--json").rows
    assert [row for row in rows if row["id"].endswith("-sign")] == some != []


def test_lists_every_mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    rows = inside("mutants", "list", "--json").rows
    assert [row["id"] for row in rows] == list(MUTANTS)
    row = next(row for row in rows if row["id"] == "proximal-anchor-moves")
    assert row["words"] == MUTANTS["proximal-anchor-moves"].words
    assert row["equation"] == "proximal-sgd.step" and row["algorithms"] == ["proximal-sgd", "fedprox"]
    assert "unrolled" in row["killed_by"] and "follows-x" in row["killed_by_reading_the_rule"]
    listed = inside("mutants", "list").out
    assert all(re.search(rf"^{re.escape(name)} ", listed, re.MULTILINE) for name in MUTANTS)


def test_shows_the_edit_and_who_kills_it() -> None:
    said = inside("mutants", "show", "fedyogi-sign").out
    assert said.startswith("fedyogi-sign: the sign of Yogi's update is reversed\n")
    assert "breaks: fedyogi.v, in fedspec.server.yogi.general_yogi" in said
    (thread,) = MUTANTS["fedyogi-sign"].seen
    assert f"seen: {thread.link}, read {thread.read}\n      {thread.says}\n" in said
    assert re.findall(r"^([-+] .*)", said, re.MULTILINE) == [
        "-     v = state.v - (1 - beta2) * square * sign(state.v - square)",
        "+     v = state.v - (1 - beta2) * square * sign(square - state.v)",
    ]
    without = re.search(r"^killed by, without reading it: (.*)$", said, re.MULTILINE)
    assert without and {LAWS[law].reads_rule for law in without[1].split(", ")} == {False}
    assert "under: start = first-gradient" in inside("mutants", "show", "dampened-second-gradient").out
    assert "lives: its session" in inside("mutants", "show", "momentum-not-reset").out
    assert inside("mutants", "show", "fedyogi-sign", "--json").rows[0]["id"] == "fedyogi-sign"


def test_says_where_the_stored_matrix_is_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    old = MUTANTS["sgd-uphill"]
    monkeypatch.setitem(MUTANTS, old.id, replace(old, new="x + 2 * eta_l * g"))
    assert "has changed since; fedspec mutants run sgd-uphill --store" in inside("mutants", "show", old.id).out
    monkeypatch.setitem(MUTANTS, "newcomer", replace(old, id="newcomer"))
    assert "not in the stored matrix; fedspec mutants run newcomer --store" in inside("mutants", "show", "newcomer").out


def test_runs_and_prints_the_matrix(tmp_path: Path) -> None:
    out = tmp_path / "deep" / "matrix.json"
    ran = fedspec("mutants", "run", "nesterov-*", "--jobs", "1", "--out", str(out))
    assert ran.code == 0, ran.err
    printed = ran.out.splitlines()
    head = next(line for line in printed if line.startswith("mutant "))
    left = head.index("other") + len("other  ")
    legend = {m[2]: int(m[1]) for m in re.finditer(r"^ +(\d+)  (\S+) +\d+ +\d+", ran.out, re.MULTILINE)}
    record = json.loads(out.read_text())
    assert [row["id"] for row in record["mutants"]] == sorted(n for n in MUTANTS if n.startswith("nesterov-"))
    for row in record["mutants"]:
        (asked,) = row["offers"].values()
        cells = next(line for line in printed if line.startswith(row["id"]))[left:].ljust(len(legend))
        assert {law: cells[n - 1] for law, n in legend.items()} == {
            law: "#" if law in asked["killed"] else "." if law in asked["survived"] else " " for law in legend
        }
    assert (
        f"{len(record['mutants'])} mutants, {len(record['mutants'])} killed by a law that does not read the rule"
        in ran.out
    )


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
    assert "lame: no law kills it; unexplained" in ran.out
    assert "1 mutants, 0 killed" in ran.out
    assert f"  rate: kills {next(n for n, line in stored.load().lines.items() if 'rate' in line.killed)} and" in ran.out


def test_store_renews_only_what_was_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored, "PATH", tmp_path / "matrix.json")
    few = ("--law", "follows-x", "--law", "unrolled", "--jobs", "1", "--store", "--json")
    assert inside("mutants", "run", "dampened-stale", *few).code == 0
    first = stored.load()
    assert set(first.lines) == {"dampened-stale"} and first.lines["dampened-stale"].killed == ("follows-x", "unrolled")
    assert inside("mutants", "run", "decayed-once", *few).code == 0
    second = stored.load()
    assert set(second.lines) == {"dampened-stale", "decayed-once"}
    assert second.lines["dampened-stale"] == first.lines["dampened-stale"]


def test_stale_renews_only_what_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of another edit is asked again, and the file is then to the byte what it was."""
    whole = stored.load()
    monkeypatch.setattr(stored, "PATH", tmp_path / "matrix.json")
    stored.save(replace(whole, lines={**whole.lines, "dampened-stale": stored.Line("0", 0, ())}))
    ran = inside("mutants", "run", "--stale", "--jobs", "1", "--store", "--json")
    others = {row["id"] for row in ran.rows} - {"dampened-stale"}
    assert not others, "renew the matrix first: fedspec mutants run --stale --store"
    assert ran.code == 0 and len(ran.rows) == 1
    assert (tmp_path / "matrix.json").read_text() == stored.text(whole)
    ran = inside("mutants", "run", "--stale", "--jobs", "1")
    assert (ran.code, ran.out.strip()) == (0, "nothing has changed since it was stored")
    # A law that has changed is asked about everybody.
    stored.save(replace(whole, laws={**whole.laws, "rate": "0"}))
    assert mutants._stale() == [(list(MUTANTS), ["rate"])]
