"""The command line: what it refuses and how, what it prints for programs, and that it can be repeated."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from test_judge.support import FEW, MAIN, SUBJECTS, check, fedspec, inside, py, python, standalone

from fedspec import __version__

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

KNOWN = "known"

REFUSED = [
    (("check", "nobody"), ("'nobody'", "spec", "py:", "optax")),
    (("check", "spec", "--only", "fedbest"), ("'fedbest'", "ALGORITHM/LEVEL")),
    (("check", "spec", "--profile", "slow"), ("'slow'", "quick")),
    (("check", "spec", "--law", "gravity"), ("'gravity'", "fedspec laws")),
    (("check", "mutant:fedyogi-signs"), ("'fedyogi-signs'", "fedyogi-sign,")),
    (("check", "py:nowhere.py:it"), ("nowhere.py", "path")),
    (("check", "py:no_such_module:it"), ("no_such_module", "installed")),
    (("check", "py:adapter"), ("'adapter'", "module:attribute")),
    (("check", py("right:nobody")), ("'nobody'",)),
    (("check", py("odd:no_info")), ("info", "start")),
    (("check", py("odd:explodes")), ("no licence",)),
    (("check", "cmd:/no/such/program"), ("/no/such/program", "check the command")),
    (("check", py("odd:algorithm")), ("'fedbest'", "nearest: fedsam, fedexp, fedatt", "`fedspec list`")),
    (("check", py("odd:level")), ("'planet'", "client, server, round")),
    (("check", py("odd:wrong_level")), ("'client'", KNOWN, "server, round")),
    (("check", py("odd:reading")), ("'konecny-2016'", KNOWN, "mcmahan-2017")),
    (("check", py("odd:option")), ("'colour'", KNOWN, "weights")),
    (("check", py("odd:option_value")), ("'heavy'", KNOWN, "uniform")),
    (("check", py("odd:contradiction")), ("'inside'", "'outside'", "claim another reading")),
    (("check", py("odd:intermediate")), ("'m'", KNOWN, "delta")),
    (("check", py("odd:fixed")), ("'temperature'", KNOWN, "tau")),
    (("check", py("odd:fixed_negative"), "--law", "follows-x"), ("tau", "-1", ">= 0")),
    (("check", py("odd:no_offer")), ("nothing",)),
    (("show", "flwr"), ("show: flwr is a package", "`fedspec check flwr --profile quick`")),
    (("show", "fedbest"), ("'fedbest'", "nearest: fedsam, fedexp, fedatt", "`fedspec list`")),
    (("smoke", "nobody"), ("'nobody'", "spec")),
    (("smoke", "cmd:/no/such/program"), ("/no/such/program",)),
    (("smoke", py("odd:algorithm")), ("'fedbest'", "nearest: fedsam, fedexp, fedatt", "`fedspec list`")),
    (("identify", "cmd:/no/such/program"), ("/no/such/program",)),
    (("check", py("odd:fixed_word"), "--law", "follows-x"), ("tau", "'small'")),
    (("check", py("odd:no_dtype")), ("dtypes",)),
    (("check", py("odd:strange_dtype")), ("'bfloat16'", "float32")),
    (("check", "cmd:'unbalanced"), ("unbalanced",)),
    (("check", py("odd:nonzero_unknown"), "--law", "dtype"), ("'temperature'",)),
    (("check", py("odd:blocks_unknown"), "--law", "dtype"), ("'two'",)),
    (("check", "spec", "--law", "dtype", "--only", "sgd", "--limit", "-1"), ("limit",)),
    (("check", py("odd:silent"), "--law", "follows"), ("follows", "fedspec laws")),
    (("check", py("odd:silent"), "--only", "fedavg"), ("fedavg", "claims: fedadam/server/reddi-2021")),
    # What offers claim of rates, buffers and limits, and of servers without their clients.
    (("check", py("rated:clients_at_server")), ("rates", "fedavg", "'clients'", "level round")),
    (("check", py("rated:fixed")), ("rates", "fedavg", "none of its numbers varies")),
    (("check", py("rated:fixed_rate")), ("rates", "momentum", "its rate is fixed", "leave it out")),
    (("check", py("rated:each_at_server")), ("rates", "fedavg", "level server", "leave it out")),
    (("check", py("rated:word")), ("rates", "'some'", "one, each")),
    (("check", py("carrying:at_round")), ("buffers", "level round", "leave them out")),
    (("check", py("carrying:half")), ("buffers", "statistics and counters")),
    (("check", py("carrying:unknown")), ("'largest' of statistics", "averaged, uniform")),
    (("check", py("limited:lone")), ("participation", "adagrad", "level client", "leave it out")),
    (("check", py("limited:late")), ("participation", "fedbuff", "leave it out")),
    (("check", py("limited:vector")), ("blocks", "fedavg", "level round", "reshape")),
    (("check", py("limited:peers")), ("blocks", "dsgd", "reshape")),
    (("check", py("limited:often")), ("participation", "'mostly'", "any, all")),
    (("check", py("served:weighted")), ("'weighted'", "level 'server'", "known there: karimireddy-2020, option-1")),
    (("check", py("served:clients_too")), ("intermediates", "'c_i'", "known: delta, c")),
]


def name_of(arguments: tuple[str, ...]) -> str:
    return "-".join(a.rpartition("/")[2] for a in arguments)


@pytest.mark.table(10)
@pytest.mark.parametrize(("arguments", "words"), [pytest.param(*row, id=name_of(row[0])) for row in REFUSED])
def test_refuses_in_one_line(arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    extra = ("--profile", "quick") if arguments[0] == "check" and "--profile" not in arguments else ()
    inside(*arguments, *extra).refused(*words)


@pytest.mark.parametrize("arguments", [("check",), ("check", "spec", "--jobs", "x"), ("nothing",)])
def test_usage_errors_are_2(arguments: tuple[str, ...]) -> None:
    ran = inside(*arguments)
    assert ran.code == 2 and "Usage" in ran.err and "Traceback" not in ran.err


@pytest.mark.parametrize("arguments", [("list",), ("show", "fedadam"), ("laws",)])
def test_lists_are_lists_of_objects_with_ids(arguments: tuple[str, ...]) -> None:
    ran = inside(*arguments, "--json")
    assert ran.code == 0
    ids = [row["id"] for row in ran.rows]
    assert ids and len(set(ids)) == len(ids)
    assert inside(*arguments).code == 0


def test_smoke_plays_every_offer() -> None:
    ran = fedspec("smoke", py("right:fedavg"), "--json")
    assert ran.code == 0
    assert [(r["algorithm"], r["level"], r["works"]) for r in ran.rows] == [
        ("fedavg", "server", True),
        ("fedavg", "server", True),
        ("fedavg", "round", True),
    ]
    assert all(r["id"] and r["subject"] == "FedAvg" for r in ran.rows)


def test_smoke_marks_the_numbers_that_differ() -> None:
    wrong, right = "py:examples/my_fedadam.py:Adapter", py("right:fedavg")
    ran = inside("smoke", wrong)
    assert "x [1.206193✗," in ran.out and "1.449708✗" not in ran.out and "✗ differs from" in ran.out
    assert (ran.code, [row["differs"] for row in inside("smoke", wrong, "--json").rows]) == (0, [{"x": [0, 1]}])
    assert "✗" not in inside("smoke", right).out
    assert [row["differs"] for row in inside("smoke", right, "--json").rows] == [{}] * 3


def test_smoke_says_which_rates_an_offer_takes() -> None:
    assert "rates=rounds" in inside("smoke", py("rated:rounds")).out
    assert "rates=" not in inside("smoke", "py:examples/fedadam_server.py:ADAPTER").out


def test_smoke_goes_on_after_a_subject_that_cannot_be_asked() -> None:
    ran = fedspec("smoke", "cmd:/no/such/program", py("odd:algorithm"), py("right:fedavg"), "--json")
    assert ran.code == 2
    assert [(r["algorithm"], r["works"]) for r in ran.rows[:2]] == [("", False), ("fedbest", False)]
    assert "/no/such/program" in ran.rows[0]["answer"] and "'fedbest'" in ran.rows[1]["answer"]
    assert [r["works"] for r in ran.rows[2:]] == [True] * 3


def test_smoke_says_what_does_not_work() -> None:
    ran = fedspec("smoke", py("wrong:raises"), "--json")
    assert ran.code == 2
    (row,) = ran.rows
    assert not row["works"] and "no kernel" in row["answer"]


KEYS = {
    "id",
    "subject",
    "version",
    "algorithm",
    "level",
    "reading",
    "options",
    "verdict",
    "exercised",
    "passed",
    "required",
    "first_deviation",
    "nearest",
    "nearest_data",
    "notes",
    "obligations",
    "command",
}


def test_report_and_json_say_the_same(tmp_path: Path) -> None:
    report = tmp_path / "out" / "report.jsonl"
    ran = check(py("right:fedavg"), "--law", "follows-x", "--report", str(report))
    assert ran.code == 0
    lines = [json.loads(line) for line in report.read_text(encoding="utf-8").splitlines()]
    assert lines == ran.rows
    assert len(lines) == 3
    for row in lines:
        assert set(row) >= KEYS
        assert all(o["id"] == f"{o['law']}/{o['dtype']}" for o in row["obligations"])


def with_hash_seed(seed: int, *arguments: str) -> str:
    done = python(*arguments, env={"PYTHONHASHSEED": str(seed)}, timeout=900)
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("implementation", "law"),
    [(py("right:fedadam"), "m*"), (py("wrong:from_momentum"), "follows-*"), (standalone(), "follows-x")],
)
def test_the_same_seed_gives_the_same_bytes(implementation: str, law: str) -> None:
    arguments = (
        "-c",
        MAIN,
        "check",
        implementation,
        "--law",
        law,
        "--profile",
        "quick",
        "--jobs",
        "1",
        "--json",
        "--seed",
        "5",
    )
    first, second = (with_hash_seed(s, *arguments) for s in (1, 2))
    assert first == second and json.loads(first)


TWO_DIFFERENCES = """
from types import SimpleNamespace
import numpy as np
from fedspec.contract import Gradient
from fedspec_suite.measure.verdict import Deviates
from fedspec_suite.laws.relations import same_bits
bench, s = SimpleNamespace(equation_of=str), SimpleNamespace(events=[Gradient({})])
run = lambda number: [{n: np.array([number]) for n in ("u", "m", "v", "v_hat", "x")}]
try:
    same_bits(bench, s, run(1.0), run(2.0), "differs")
except Deviates as broken:
    print(broken.deviation.equation)
"""


def test_the_first_of_two_differences_is_always_the_same() -> None:
    assert len({with_hash_seed(s, "-c", TWO_DIFFERENCES) for s in range(4)}) == 1


def test_another_seed_draws_other_cases() -> None:
    def ratios(seed: str) -> list[Any]:
        (row,) = check(py("right:fedadam"), "--only", "*/server", "--law", "[fu]*", "--seed", seed).rows
        return [o["ratio"] for o in row["obligations"]]

    assert ratios("0") != ratios("1")


@pytest.mark.parametrize(
    "arguments",
    [
        (py("right:fedavg"), "--law", "follows-x", "--seed", "3", "--limit", "7.5"),
        (py("wrong:from_momentum"), "--law", "follows-*"),
        (standalone(), "--law", "r*"),
        (py("interfaces:both"), "--law", "follows-x"),
    ],
)
@pytest.mark.table(2)
def test_the_printed_command_gives_its_line_again(arguments: tuple[str, ...]) -> None:
    for row in check(*arguments).rows:
        program, *again = shlex.split(row["command"])
        assert program == "fedspec"
        ran = fedspec(*again, "--json", cases=FEW)
        assert ran.rows == [row]


def test_details_hold_the_traceback_of_a_subject() -> None:
    ran = fedspec("check", py("wrong:raises"), "--law", "follows-x", "--profile", "quick", "--details")
    assert ran.code == 2
    assert "Traceback (most recent call last):" in ran.out and "in step\n" in ran.out
    assert ran.out.count("RuntimeError: no kernel for this device\n") == 1


def test_an_adapter_beside_the_user_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        f"import sys; sys.path.insert(0, {str(SUBJECTS)!r})\nfrom right import fedavg as it\n"
    )
    law = ("--only", "fedavg/round", "--law", "follows-x")
    assert check("py:mine.py:it", *law, cwd=tmp_path).code == 0
    assert check("py:mine:it", *law, cwd=tmp_path).code == 0


@pytest.mark.parametrize("columns", ["200", "80"])
def test_the_summary_says_why_and_details_what_was_asked(columns: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    ran = fedspec("check", py("wrong:uniform"), "--law", "follows-x", "--profile", "quick", "--details")
    assert ran.code == 1
    assert "does not conform" in ran.out and "0/1" in ran.out
    summary = " ".join(ran.out.partition("reading claimed")[0].split())
    assert summary.startswith("1 of 1 claim does not conform.")
    assert "weights = uniform at fedavg.delta" in summary and "; first seen in round 1: x[" in summary
    assert "fedavg.step round 1" in " ".join(ran.out.split())
    assert "1 of 1 check decided on " in ran.out
    assert "--law follows-x" in ran.out


def test_the_version_is_said_with_what_runs_it() -> None:
    ran = inside("--version")
    assert (ran.code, ran.out.split()[1]) == (0, __version__)
    assert f"NumPy {np.__version__}" in ran.out and ran.out.count("\n") == 1
