"""Several rounds at once and one after another: certificates, spoiled ones, and rounds that are run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from test_proofs.scripts import PAGE, script

from fedspec_proofs.fednova.claims import round_numbers
from fedspec_proofs.fednova.claims.round_numbers import by_round
from fedspec_proofs.fednova.claims.several_rounds import TABLE, at_once, chains
from fedspec_proofs.worst_cases.one_round import MU
from fedspec_proofs.worst_cases.search.any_rounds import worst_case
from fedspec_proofs.worst_cases.several_rounds import Several

pytestmark = [pytest.mark.long, pytest.mark.table(1)]

ROWS = TABLE.rows()


def test_a_link_that_begins_elsewhere_is_refused() -> None:
    linked = [row for row in ROWS if row["link"]]
    assert {len(ends) for ends in chains(linked).values()} == {8}
    with pytest.raises(ValueError, match="a link must be one round"):
        chains([linked[0], *linked[2:]])
    with pytest.raises(ValueError, match="a link must be one round"):
        chains([{**linked[0], "start": "1/2"}, *linked[1:]])


def test_one_round_is_the_number_of_the_table_of_rounds_and_rounds_at_once_are_no_worse_than_chains() -> None:
    once, linked, there = at_once(ROWS), chains(ROWS), by_round(round_numbers.TABLE.rows())
    shared = 0
    for ((algorithm, steps, eta_l, zeta2), R), bound in once.items():
        end = linked[algorithm, steps, eta_l, zeta2][R - 1]
        assert bound <= end + Fraction(1, 1000), "a thousandth is rounding"
        if R == 1 and (row := there.get((algorithm, steps, eta_l, zeta2))):
            assert abs(bound - Fraction(row["bound"])) <= Fraction(1, 1000)
            shared += 1
    assert shared >= 6


def ran(algorithm: str, steps: tuple[int, ...], eta: float, rounds: int, h: Any, s: Any, x: Any) -> list[float]:
    """|x_r|^2 after each round, by hand: clients h_i x^2 / 2 + s_i x in each coordinate."""
    n, out = len(steps), []
    w = [1.0] * n if algorithm == "fedavg" else [sum(steps) / n / tau for tau in steps]
    for _ in range(rounds):
        change = 0.0
        for i, tau in enumerate(steps):
            y = x
            for _ in range(tau):
                y = y - eta * (h[i] * y + s[i])
            change = change + w[i] * (y - x) / n
        x = x + change
        out.append(float(x @ x))
    return out


def test_rounds_of_quadratics_stay_within_and_come_near() -> None:
    rng, near = np.random.default_rng(0), []
    once, linked = at_once(ROWS), chains(ROWS)
    for (algorithm, steps, eta_l, zeta2), ends in linked.items():
        most = np.zeros(8)
        for _ in range(400):
            h = rng.choice([float(MU), 0.5, 1.0], (2, 2))
            s = rng.normal(size=(2, 2))
            s -= s.mean(axis=0)
            s *= np.sqrt(2 * float(zeta2) / (s**2).sum())
            x = rng.normal(size=2)
            most = np.maximum(most, ran(algorithm, steps, float(Fraction(eta_l)), 8, h, s, x / np.linalg.norm(x)))
        assert all(most <= np.array(ends, float) + 1e-9)
        for (*key, R), bound in (((*k, R), b) for (k, R), b in once.items()):
            if tuple(key) == (algorithm, steps, eta_l, zeta2):
                assert most[R - 1] <= float(bound) + 1e-9
                near.append(most[R - 1] / float(bound))
    assert max(near) > 0.9, near


def test_a_power_of_one_round_is_no_bound() -> None:
    """By functions that the program finds: the rule runs on them in fractions, and so do steps by hand."""
    asked = Several("fedavg", (2, 2), "1/2", Fraction(1), 2)
    found = worst_case(asked.asked)
    assert found.attained and found.reached
    power = at_once(ROWS)[("fedavg", (2, 2), "1/2", Fraction(1)), 1] ** 2
    assert power < Fraction(759, 1000) < found.reached <= at_once(ROWS)[("fedavg", (2, 2), "1/2", Fraction(1)), 2]
    at, x = found.attained.vectors, np.array(found.attained.vectors["x"], dtype=object)
    for r in range(2):
        y = [x, x]
        for k in range(2):
            # Both clients are asked at the same x first; the gradients are numbered as they are asked for.
            y = [z - np.array(at[f"F{i}.g{1 + 2 * r + k}"], dtype=object) / 2 for i, z in enumerate(y)]
        x = (y[0] + y[1]) / 2
    assert x @ x == found.reached


def test_the_page_prints_what_is_certified() -> None:
    made = script("worst_rounds")
    assert made.table(ROWS) in PAGE
    assert [TABLE.asked(row) for row in ROWS if not row["link"]] == [*made.table_rounds()]
