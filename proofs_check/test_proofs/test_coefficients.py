"""The best coefficients of a server: proofs of their numbers, functions that allow no less, rounds that are run."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedspec_proofs.fednova.claims import round_numbers
from fedspec_proofs.fednova.claims.best_coefficients import OWN, TABLE, WAYS, WHICH, wrong_with
from fedspec_proofs.fednova.claims.round_numbers import by_round
from fedspec_proofs.worst_cases.coefficients import Weighed, free, off_plane, plane_of

pytestmark = pytest.mark.table(10)

ROWS = TABLE.rows()
BEST = [row for row in ROWS if row["which"] == "free"]


def subject_of(row: dict[str, Any]) -> str:
    """The subject of a row."""
    return f"{row['which']}, eta_l = {row['eta_l']}, zeta^2 = {row['zeta2']}"


def test_those_of_algorithms_are_the_numbers_of_their_rounds() -> None:
    """Found from the coefficients here, and from the rule itself there."""
    there = by_round(round_numbers.TABLE.rows())
    both = [
        (Fraction(row["bound"]), Fraction(there[key]["bound"]))
        for row in ROWS
        if row["which"] in OWN
        and (key := (row["which"], tuple(row["steps"]), row["eta_l"], Fraction(row["zeta2"]))) in there
    ]
    assert len(both) == 16 and all(abs(a - b) <= Fraction(1, 1000) for a, b in both)


def test_more_freedom_is_never_worse() -> None:
    there = {(row["eta_l"], row["zeta2"], row["which"]): Fraction(row["bound"]) for row in ROWS}
    for eta_l, zeta2 in {key[:2] for key in there}:
        own, nova, best = (there[eta_l, zeta2, which] for which in ("fednova", "nova", "free"))
        assert best <= nova <= own


SPOILED = {
    "a smaller number": ("bound", lambda b: str(Fraction(b) - Fraction(1, 500))),
    "other coefficients": ("w", lambda w: [str(Fraction(w[0]) + 1), w[1]]),
    "a multiplier that is negative": ("proof", lambda p: {**p, next(iter(p)): "-1"}),
    "a multiplier of nothing": ("proof", lambda p: {**p, "F9 0,1": "1"}),
    "a multiplier less": ("proof", lambda p: dict(list(p.items())[1:])),
    "more that is surely lost": ("least", lambda b: str(Fraction(b) + Fraction(1, 500))),
    "a start further away": ("vectors", lambda v: {**v, "x": [str(2 * Fraction(c)) for c in v["x"]]}),
    "another gradient": ("vectors", lambda v: {**v, "F0.g1": [str(Fraction(c) + 1) for c in v["F0.g1"]]}),
    "another value": ("values", lambda v: {**v, "F0.f0": "7"}),
    "another rate": ("eta_l", lambda _: "3/8"),
    "more steps": ("steps", lambda s: [s[0], s[1], 4, 4]),
}


@pytest.mark.parametrize("how", SPOILED)
def test_a_row_that_is_spoiled_shows_nothing(how: str) -> None:
    row = next(row for row in BEST if (row["eta_l"], row["zeta2"]) == ("1/4", "1"))
    field, spoil = SPOILED[how]
    assert wrong_with({**row, field: spoil(row[field])})


def test_an_algorithms_row_needs_its_own_coefficients() -> None:
    row = next(row for row in ROWS if row["which"] == "fednova" and row["zeta2"] == "1")
    best = next(row_ for row_ in BEST if (row_["eta_l"], row_["zeta2"]) == (row["eta_l"], "1"))
    assert "not that of fednova" in wrong_with({**best, "which": "fednova"})


def test_the_plane_is_no_nearer_by_least_squares() -> None:
    """The distance of a point from a plane, against NumPy's least squares; a way twice changes nothing."""
    rng = np.random.default_rng(0)
    x, one, two = (tuple(Fraction(int(c)) for c in v) for v in rng.integers(-9, 9, (3, 4)))
    A = np.array([one, two], dtype=float).T
    w = np.linalg.lstsq(A, -np.array(x, dtype=float), rcond=None)[0]
    assert float(off_plane(x, [one, two])) == pytest.approx(float(np.sum((np.array(x, dtype=float) + A @ w) ** 2)))
    assert off_plane(x, [one, two, one]) == off_plane(x, [one, two])
    assert off_plane(x, []) == sum(c * c for c in x)


@pytest.mark.parametrize("row", BEST[::3], ids=subject_of)
def test_rounds_of_quadratics_stay_within(row: dict[str, Any]) -> None:
    """A loop by hand over random quadratics of two coordinates that obey what is said of the clients."""
    r, rng = TABLE.asked(row), np.random.default_rng(1)
    worst = 0.0
    for _ in range(300):
        curves = rng.choice([0.1, 0.3, 1.0], (len(r.steps), 2))
        slopes = rng.normal(size=(len(r.steps), 2))
        slopes -= slopes.mean(axis=0)
        size = np.sqrt((slopes**2).sum() / len(r.steps))
        slopes *= float(r.zeta2) ** 0.5 / size
        angle = rng.uniform(0, 2 * np.pi)
        x = np.array([np.cos(angle), np.sin(angle)])
        end = x.copy()
        for kind, w in zip(r.kinds, r.w, strict=True):
            for i in kind:
                y = x.copy()
                for _ in range(r.steps[i]):
                    y = y - float(r.eta_l) * (curves[i] * y + slopes[i])
                end += float(w) * (y - x)
        worst = max(worst, float(end @ end))
    assert 0 < worst <= float(Fraction(row["bound"])) + 1e-9


def test_every_way_is_made_of_steps() -> None:
    r = Weighed((1, 1, 3, 3), Fraction(1, 4), Fraction(1), ())
    assert set(WHICH) == {row["which"] for row in ROWS}
    assert WAYS["nova"](r) == ((Fraction(1), Fraction(1, 3)),)
    _, _, (first, last) = plane_of(r, free(r))
    assert {name.partition(".")[0] for name, _ in first.parts} - {"x"} == {"F0", "F1"}
    assert {name.partition(".")[0] for name, _ in last.parts} - {"x"} == {"F2", "F3"}
