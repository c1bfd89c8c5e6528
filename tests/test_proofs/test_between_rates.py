"""That no rate is better: functions of every interval, a loop by hand at rates of it, and what is spoiled."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.synchronous import model, run_round
from fedspec.catalogue import CATALOGUE
from fedspec.plan import Plan
from fedspec_proofs.fednova.claims import best_rates
from fedspec_proofs.fednova.claims.best_rates import ASKED, LOCAL, best, piece_of
from fedspec_proofs.fednova.claims.round_numbers import rows as numbers
from fedspec_proofs.worst_cases.between_rates import (
    Piece,
    ended,
    method_of,
    same_at_every_rate,
    wrong_with,
    wrong_with_one,
)
from fedspec_proofs.worst_cases.one_round import MU, OTHERS

pytestmark = pytest.mark.long

ROWS = best_rates.rows()
CELLS = best_rates.cells(ROWS)
PIECES = [row for row in ROWS if row["vectors"]]

Numbers = tuple[Fraction, ...]


def dot(a: Numbers, b: Numbers) -> Fraction:
    return sum((p * q for p, q in zip(a, b, strict=True)), Fraction(0))


def less(a: Numbers, c: Fraction, b: Numbers) -> Numbers:
    return tuple(p - c * q for p, q in zip(a, b, strict=True))


def said(row: dict[str, Any]) -> str:
    return f"{'-'.join(map(str, row['steps']))}-zeta2={row['zeta2']}-from-{row['low']}".replace("/", "_")


def weights(steps: Sequence[int]) -> list[Fraction]:
    """FedNova's, of the clients' changes: the mean number of steps over their own, shared by all."""
    return [Fraction(sum(steps), len(steps)) / (len(steps) * tau) for tau in steps]


@pytest.mark.table(1)
@pytest.mark.parametrize(("steps", "zeta2"), CELLS, ids=lambda c: str(c).replace("/", "_"))
def test_every_rate_is_covered_and_the_number_is_near_that_of_the_best(steps: tuple[int, ...], zeta2: Fraction) -> None:
    cell = CELLS[steps, zeta2]
    assert wrong_with(cell.pieces, cell.least) == ""
    bound = Fraction(best(numbers(), steps, zeta2)["bound"])
    assert cell.least <= bound <= cell.least * Fraction(1011, 1000) + Fraction(1, 1000)
    assert "come nearer" in wrong_with(cell.pieces, bound) or "ends at" in wrong_with(cell.pieces, bound)


def test_all_cells_of_the_table_are_there() -> None:
    assert [*CELLS] == ASKED


@pytest.mark.table(10)
@pytest.mark.parametrize("row", PIECES, ids=said)
def test_a_loop_by_hand_ends_as_far_at_rates_of_the_interval(row: dict[str, Any]) -> None:
    """In fractions: steps of the stored gradients, and each pair of points against the class, typed once more."""
    low, high, w = Fraction(row["low"]), Fraction(row["high"]), weights(row["steps"])
    at = {name: tuple(map(Fraction, v)) for name, v in row["vectors"].items()}
    for eta in (low, (low + high) / 2, high):
        c, total = low / eta, at["x"]
        slopes = [tuple(c * p for p in at["s0"]), tuple(-c * p for p in at["s0"])]
        assert sum(dot(s, s) for s in slopes) / 2 <= Fraction(row["zeta2"]) and dot(at["x"], at["x"]) <= 1
        for i, slope in enumerate(slopes):
            y = at["x"]
            points = [((Fraction(0),) * len(y), slope, c * Fraction(row["values"][f"F{i}.f0"]))]
            for k in range(1, row["steps"][i] + 1):
                g = tuple(c * p for p in at[f"F{i}.g{k}"])
                points.append((y, g, c * Fraction(row["values"][f"F{i}.f{k}"])))
                y = less(y, eta, g)
            total = tuple(a + w[i] * (b - x) for a, b, x in zip(total, y, at["x"], strict=True))
            for (x1, g1, f1), (x2, g2, f2) in permutations(points, 2):
                # f - mu |x|^2 / 2 is convex with gradients that are Lipschitz with constant 1 - mu.
                h1, h2 = less(g1, MU, x1), less(g2, MU, x2)
                e1, e2 = f1 - MU * dot(x1, x1) / 2, f2 - MU * dot(x2, x2) / 2
                apart = less(h1, Fraction(1), h2)
                assert e1 >= e2 + dot(h2, less(x1, Fraction(1), x2)) + dot(apart, apart) / (2 * (1 - MU))
        assert dot(total, total) >= Fraction(row["least"])


@pytest.mark.parametrize("steps", LOCAL)
def test_parabolas_end_where_their_closed_form_has_them(steps: tuple[int, ...]) -> None:
    """1 - the weighted sum of 1 - (1 - c eta)^tau, by the rule with an open rate and by the rule at numbers."""
    run: Any = CATALOGUE[method_of(steps)].run
    how = {"local": run.local, "norm": run.norm, "server": run.server}
    x, plan = np.array([Fraction(1)], dtype=object), Plan((0, 1), steps, (1, 1))
    for c in (MU, Fraction(1)):
        p = ended(steps, c)
        for eta in map(Fraction, ("1/7", "5/4", "20/11", "3")):
            exact = 1 - sum(w * (1 - (1 - c * eta) ** tau) for w, tau in zip(weights(steps), steps, strict=True))
            assert sum(a * eta**k for k, a in enumerate(p)) == exact
            others = {n: Fraction(v) for n, v in OTHERS[method_of(steps)].items()}
            h, clients = run.hyper(eta_l=eta, **others), [lambda k, y, c=c: c * y] * 2
            assert model(run_round(h, run.init(h, x), clients, plan, **how).state) == exact


@pytest.mark.parametrize("steps", LOCAL)
def test_the_rule_takes_the_same_steps_at_every_rate(steps: tuple[int, ...]) -> None:
    assert same_at_every_rate(steps)


MIDDLE = [row for row in ROWS if (row["steps"][0], row["zeta2"]) == (2, "1")]


def spoiled(k: int, **of: Any) -> list[Piece]:
    rows = json.loads(json.dumps(MIDDLE))
    rows[k] |= of
    return [piece_of(row) for row in rows]


def test_what_is_spoiled_is_refused() -> None:
    least, row = Fraction(MIDDLE[0]["least"]), MIDDLE[3]
    assert not wrong_with(spoiled(3), least)
    assert "come nearer" in wrong_with(spoiled(3), least + Fraction(1, 100))
    assert "ends at" in wrong_with_one(piece_of(row), least + Fraction(1, 100))
    for name in row["vectors"]:
        moved = [str(Fraction(c) * Fraction(11, 10) + Fraction(1, 50)) for c in row["vectors"][name]]
        assert wrong_with(spoiled(3, vectors={**row["vectors"], name: moved}), least)
        assert "there is no" in wrong_with(
            spoiled(3, vectors={n: v for n, v in row["vectors"].items() if n != name}), least
        )
    for name, f in row["values"].items():
        assert wrong_with(spoiled(3, values={**row["values"], name: str(Fraction(f) + Fraction(1, 10))}), least)
    wider = str(Fraction(row["high"]) + Fraction(1, 20))
    assert "does not hold" in wrong_with(spoiled(3, high=wider), least)
    assert "gap" in wrong_with(spoiled(3, high=str((Fraction(row["low"]) + Fraction(row["high"])) / 2)), least)
    assert "no functions of the class" in wrong_with_one(piece_of({**row, "high": row["low"]}), least)
    assert "several questions" in wrong_with(spoiled(3, zeta2="1/4"), least)
    assert wrong_with(spoiled(3, low="1/100"), least)
    first, last = MIDDLE[0], MIDDLE[-1]
    assert "come nearer" in wrong_with(spoiled(0, high=str(Fraction(first["high"]) * 2)), least)
    assert "come nearer" in wrong_with(spoiled(-1, low=str(Fraction(last["low"]) / 2)), least)
    assert "0 to infinity" in wrong_with(spoiled(0, low="1/100"), least)
    assert "0 to infinity" in wrong_with(spoiled(-1, high="3"), least)
    assert "0 to infinity" in wrong_with([], least)
