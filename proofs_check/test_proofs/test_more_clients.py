"""A number proved for two clients of a kind is that of any number of them; for one of a kind it may be smaller."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedspec.errors import ParameterError
from fedspec_proofs.engines.worst_case.proof import flaw
from fedspec_proofs.fednova.claims.round_numbers import TABLE
from fedspec_proofs.worst_cases.more_clients import among, many
from fedspec_proofs.worst_cases.one_round import Round, problem_of
from fedspec_proofs.worst_cases.search.one_round import largest
from fedspec_proofs.worst_cases.tabled import proof_of

pytestmark = pytest.mark.table(1)

ROWS = TABLE.rows()


def row(algorithm: str, steps: tuple[int, ...], eta_l: str, zeta2: int = 0) -> dict[str, Any]:
    asked = (algorithm, list(steps), eta_l, zeta2)
    return next(r for r in ROWS if (r["algorithm"], r["steps"], r["eta_l"], r["zeta2"]) == asked)


@pytest.mark.long
@pytest.mark.parametrize("algorithm", ["fedavg", "fedprox"])
def test_the_program_finds_one_number_for_any_number_of_clients(algorithm: str) -> None:
    """Without any multipliers: n = 2, 3, 5, 10 in floats."""
    found = [largest(Round(algorithm, (2,) * n, "1/2", 1)) for n in (2, 3, 5, 10)]
    assert found == pytest.approx([found[0]] * 4, abs=1e-6)
    # One client has its minimiser where all have it, so that there is no unlikeness.
    assert largest(Round(algorithm, (2,), "1/2", 1)) < found[0] - 1e-2


@pytest.mark.long
def test_one_of_a_kind_may_come_nearer_than_more_of_it() -> None:
    ends = [largest(Round("fednova", steps, "1", 1)) for steps in ((1, 3), (1, 1, 3, 3), (1, 1, 1, 3, 3, 3))]
    assert ends[0] < ends[1] - 0.08 and ends[1] == pytest.approx(ends[2], abs=1e-6)


@pytest.mark.parametrize(
    ("found", "n"),
    [
        (row("fedavg", (2, 2), "1/2", 1), 7),
        (row("fedprox", (1, 1), "1", 1), 3),
        (row("scaffold", (2, 2), "1/2"), 4),
        (row("feddyn", (2, 2), "1/2"), 3),
        (row("fednova", (1, 1, 3, 3), "1/4", 1), 6),
        (row("scaffold", (1, 1, 3, 3), "1"), 6),
    ],
    ids=lambda case: f"{case['algorithm']} {case['steps']}" if isinstance(case, dict) else str(case),
)
def test_multipliers_are_divided_and_nothing_else(found: dict[str, Any], n: int) -> None:
    proof, bound = proof_of(found), Fraction(found["bound"])
    more, divided = among(TABLE.asked(found), proof, n)
    assert len(more.steps) == n and not flaw(problem_of(more, bound), divided)
    # As many to each client as before, or a thousandth less: they prove it no longer.
    share = Fraction(n, len(found["steps"]))
    whole = {name: c * share if name.startswith("F") else c for name, c in divided.items()}
    assert flaw(problem_of(more, bound), whole)
    assert flaw(problem_of(more, bound - Fraction(1, 20)), divided)


@pytest.mark.parametrize("steps", [(2, 2), (1, 1, 3, 3)])
def test_a_form_says_of_copies_what_it_says_of_the_clients(steps: tuple[int, ...]) -> None:
    """Means and mean squares over each kind are those of the clients, so that the sum that falls is the same."""
    r = TABLE.asked(row("scaffold", steps, "1/2"))
    more, _ = among(r, {}, 3 * len(steps))
    u = np.array([Fraction(k * k % 7 - 3, k + 1) for k in range(1 + len(steps))])
    copied = np.concatenate([u[:1], np.repeat(u[1:], 3)])
    assert copied @ np.array(more.P) @ copied == u @ np.array(r.P) @ u


def test_one_of_a_kind_and_parts_of_clients_are_refused() -> None:
    assert not many(Round("fednova", (1, 3), "1/4")) and many(Round("fednova", (1, 1, 3, 3), "1/4"))
    for steps, n in (((1, 3), 4), ((1, 1, 3, 3), 6 + 1), ((2, 2), 1), ((1, 1, 3, 3), 2)):
        with pytest.raises(ParameterError, match="needs two clients or more"):
            among(replace(Round("fednova", (2, 2), "1/4"), steps=steps), {}, n)
