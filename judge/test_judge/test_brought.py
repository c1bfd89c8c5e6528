"""Commands, subjects and options that other distributions bring: found by entry points, missed in one line."""

from __future__ import annotations

from importlib.metadata import entry_points

import pytest
from test_judge.support import python

from fedspec_suite import extensions
from fedspec_suite.cli.manual import COMMANDS

ALONE = """
from fedspec_suite import extensions
extensions.installed = lambda group: {}
from fedspec_suite.cli.start import main
main()
"""
"""The command as it is where the suite is installed alone."""

BLOCKED = """
import sys
sys.modules |= dict.fromkeys(["z3", "sympy", "mpmath", "clarabel", "scipy", "dp_accounting", "torch", "matplotlib"])
from fedspec_suite.cli.start import main
main()
"""


def test_all_that_other_distributions_bring_is_there() -> None:
    there = {
        (group, point.name)
        for group in (extensions.COMMANDS, extensions.SUBJECTS, extensions.SHOW)
        for point in entry_points(group=group)
    }
    assert there == extensions.OURS.keys()
    assert {name for group, name in there if group == extensions.COMMANDS} == {
        n for n, c in COMMANDS.items() if not c.where
    }


@pytest.mark.table(3)
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "simulate fedavg",
            "simulate: it comes with fedspec-torch, which is not installed; pip install './impl[simulate]'",
        ),
        ("reproduce", "reproduce: it comes with fedspec-torch, which is not installed; pip install './impl[simulate]'"),
        (
            "claims show x",
            "claims: it comes with fedspec-proofs, which is not installed; pip install './proofs_check[solvers]'",
        ),
        ("worst-case --help", "worst-case: it comes with fedspec-proofs, which is not installed"),
        (
            "show fedavg --mirror",
            "show --mirror: it comes with fedspec-torch, which is not installed; pip install './impl'",
        ),
    ],
)
def test_what_is_not_installed_is_missed_in_one_line(words: str, says: str) -> None:
    ran = python("-c", ALONE, *words.split())
    assert ran.returncode == 2 and not ran.stdout, ran
    assert ran.stderr.startswith(f"fedspec: {says}") and ran.stderr.count("\n") == 1, ran


def test_a_subject_that_is_not_installed_is_missed() -> None:
    ran = python("-c", ALONE, "check", "torch", "--profile", "quick")
    assert ran.returncode == 2 and "adapter: torch: it comes with fedspec-torch" in ran.stdout + ran.stderr, ran


def test_the_help_says_all_commands_wherever_they_are_from() -> None:
    assert "  simulate " in python("-c", ALONE, "--help").stdout


@pytest.mark.table(1)
@pytest.mark.parametrize("words", ["claims --json", "claims --paper fednova", "claims show fednova.theorem-1"])
def test_the_ledger_is_read_without_a_solver(words: str) -> None:
    ran = python("-c", BLOCKED, *words.split())
    assert ran.returncode == 0 and "fednova" in ran.stdout.lower() and not ran.stderr, ran


def test_evidence_says_which_solver_is_missing() -> None:
    ran = python("-c", BLOCKED, "claims", "run", "fednova.theorem-1")
    assert (
        ran.returncode == 2 and "claims run: it needs sympy and z3; pip install './proofs_check[solvers]'" in ran.stderr
    )
