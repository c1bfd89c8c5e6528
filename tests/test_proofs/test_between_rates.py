"""That no rate is better: functions of every interval, a loop by hand at rates of it, and what is spoiled."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE
from fedspec.plan import Plan
from fedspec_proofs.between_rates import Piece, ended, same_at_every_rate, wrong_with, wrong_with_one
from fedspec_proofs.contraction import MU
from fedspec_proofs.fednova import best_rates
from fedspec_proofs.fednova.best_rates import APART, LOCAL, best, piece_of
from fedspec_proofs.fednova.round_numbers import rows as numbers

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
    return f"K{row['steps'][0]}-zeta2={row['zeta2']}-from-{row['low']}".replace("/", "_")


@pytest.mark.parametrize(("K", "zeta2"), CELLS, ids=lambda c: str(c).replace("/", "_"))
def test_every_rate_is_covered_and_the_number_is_near_that_of_the_best(K: int, zeta2: Fraction) -> None:
    cell = CELLS[K, zeta2]
    assert wrong_with(cell.pieces, cell.least) == ""
    bound = Fraction(best(numbers(), K, zeta2)["bound"])
    assert cell.least <= bound <= cell.least * Fraction(1011, 1000) + Fraction(1, 1000)
    assert "come nearer" in wrong_with(cell.pieces, bound) or "ends at" in wrong_with(cell.pieces, bound)


def test_all_cells_of_the_table_are_there() -> None:
    assert [*CELLS] == [(K, zeta2) for K in LOCAL for zeta2 in APART]


@pytest.mark.parametrize("row", PIECES, ids=said)
def test_a_loop_by_hand_ends_as_far_at_rates_of_the_interval(row: dict[str, Any]) -> None:
    """In fractions: steps of the stored gradients, and each pair of points against the class, typed once more."""
    K, low, high = row["steps"][0], Fraction(row["low"]), Fraction(row["high"])
    at = {name: tuple(map(Fraction, v)) for name, v in row["vectors"].items()}
    for eta in (low, (low + high) / 2, high):
        c, total = low / eta, (Fraction(0),) * len(at["x"])
        slopes = [tuple(c * p for p in at["s0"]), tuple(-c * p for p in at["s0"])]
        assert sum(dot(s, s) for s in slopes) / 2 <= Fraction(row["zeta2"]) and dot(at["x"], at["x"]) <= 1
        for i, slope in enumerate(slopes):
            y = at["x"]
            points = [((Fraction(0),) * len(y), slope, c * Fraction(row["values"][f"F{i}.f0"]))]
            for k in range(1, K + 1):
                g = tuple(c * p for p in at[f"F{i}.g{k}"])
                points.append((y, g, c * Fraction(row["values"][f"F{i}.f{k}"])))
                y = less(y, eta, g)
            total = tuple(a + b / 2 for a, b in zip(total, y, strict=True))
            for (x1, g1, f1), (x2, g2, f2) in permutations(points, 2):
                # f - mu |x|^2 / 2 is convex with gradients that are Lipschitz with constant 1 - mu.
                h1, h2 = less(g1, MU, x1), less(g2, MU, x2)
                e1, e2 = f1 - MU * dot(x1, x1) / 2, f2 - MU * dot(x2, x2) / 2
                apart = less(h1, Fraction(1), h2)
                assert e1 >= e2 + dot(h2, less(x1, Fraction(1), x2)) + dot(apart, apart) / (2 * (1 - MU))
        assert dot(total, total) >= Fraction(row["least"])


@pytest.mark.parametrize("K", LOCAL)
def test_parabolas_end_where_their_closed_form_has_them(K: int) -> None:
    """(1 - c eta)^K, by the rule with an open rate and by the rule at numbers."""
    run: Any = CATALOGUE["fedavg"].run
    how = {"local": run.local, "norm": run.norm, "server": run.server}
    x, plan = np.array([Fraction(1)], dtype=object), Plan((0, 1), (K, K), (1, 1))
    for c in (MU, Fraction(1)):
        p = ended((K, K), c)
        for eta in map(Fraction, ("1/7", "5/4", "20/11", "3")):
            exact = (1 - c * eta) ** K
            assert sum(a * eta**k for k, a in enumerate(p)) == exact
            h, clients = run.hyper(eta_l=eta), [lambda k, y, c=c: c * y] * 2
            assert run_round(h, run.init(h, x), clients, plan, **how).state == exact


@pytest.mark.parametrize("K", LOCAL)
def test_the_rule_takes_the_same_steps_at_every_rate(K: int) -> None:
    assert same_at_every_rate((K, K))


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
