"""Peers that mix by any matrix of a class: every certificate, spoiled ones, and matrices of the class that are run."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedspec.errors import ParameterError
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.afga.claims import exchange_numbers
from fedspec_proofs.afga.claims.class_factors import TABLE
from fedspec_proofs.engines.worst_case.attained import Attained
from fedspec_proofs.engines.worst_case.forms import basis
from fedspec_proofs.worst_cases.one_round import MU
from fedspec_proofs.worst_cases.spectral import Mixed, directions, of_class, unknown

pytestmark = pytest.mark.long

ROWS = TABLE.rows()


def drawn(rng: np.random.Generator, n: int, low: float, high: float) -> Any:
    """A symmetric doubly stochastic matrix with eigenvalues in the interval, most often at its ends."""
    while True:
        ways = np.linalg.qr(np.column_stack([np.ones(n), rng.normal(size=(n, n - 1))]))[0]
        sizes = np.where(rng.random(n - 1) < 0.7, rng.choice([low, high], n - 1), rng.uniform(low, high, n - 1))
        W = (ways * np.array([1.0, *sizes])) @ ways.T
        if W.min() >= 0:
            return (W + W.T) / 2


@pytest.mark.slow
def test_matrices_of_the_class_obey_its_inequalities_and_others_do_not() -> None:
    rng = np.random.default_rng(0)

    def largest(low: float, high: float) -> Fraction:
        n, r, worst = 3, Mixed("k-gt", "-1/4", "1/2", 1, "1/4", n=3), Fraction(-1)
        for _ in range(20):
            W = np.vectorize(lambda c: Fraction(float(c)), otypes=[object])(drawn(rng, n, low, high))
            A, M = rng.integers(-9, 10, (2, n, 2)), unknown(n)
            for t in range(2):
                _ = M @ np.array([[basis(f"a{t}.{i}")] for i in range(n)], dtype=object)
            vectors = {f"a{t}.{i}": tuple(map(Fraction, map(int, A[t, i]))) for t in range(2) for i in range(n)}
            for t in range(2):
                off = W @ A[t].astype(object) - A[t].astype(object).sum(0) / Fraction(n)
                vectors |= {f"W{t}.{i}": tuple(off[i]) for i in range(n - 1)}
            found = Attained(vectors, {})
            worst = max(worst, *(found.of(q) for q in of_class(r, M.mixed).values()))
        return worst

    assert largest(-0.25, 0.5) < 1e-9
    assert largest(0.6, 0.7) > 1


@pytest.mark.slow
def test_exchanges_that_are_run_fall_as_certified_and_come_near() -> None:
    """Quadratics and matrices of two, three and four clients, in one coordinate, x* = 0."""
    rng, near = np.random.default_rng(0), []
    for row in ROWS:
        one, bound, largest = TABLE.asked(row), float(Fraction(row["bound"])), 0.0
        low, high = float(Fraction(one.low)), float(Fraction(one.high))
        for n in (2, 3, 4):
            r, P = replace(one, n=n), np.array(one.P, float)
            mean, off = np.full((n, n), 1 / n), np.eye(n) - 1 / n
            Q = np.block([[P[0, 0] * mean + P[1, 1] * off, P[1, 2] * off], [P[1, 2] * off, P[2, 2] * off]]) / n
            # c of sum zero: what spans it.
            span = np.block([[np.eye(n), np.zeros((n, n - 1))], [np.zeros((n, n)), np.linalg.qr(off)[0][:, : n - 1]]])
            for _ in range(25):
                curves = np.where(rng.random(n) < 0.8, rng.choice([float(MU), 1.0], n), rng.uniform(float(MU), 1, n))
                clients = QuadraticClients(curves.reshape(n, 1, 1), np.zeros((n, 1))).clients
                W = drawn(rng, n, low, high)
                ended = [r.mixed(e[:n, None], e[n:, None], clients, W) for e in span.T]
                M = np.array([np.concatenate(e) for e in ended], float).T
                P_n = span.T @ Q @ span
                largest = max(largest, np.linalg.eigvals(np.linalg.solve(P_n, M.T @ Q @ M)).real.max())
        assert largest <= bound + 1e-7
        near.append(largest / bound)
    assert min(near) > 0.7 and sum(n > 0.99 for n in near) > len(near) / 2, near


def test_a_class_is_no_better_than_a_matrix_of_it() -> None:
    """Two peers with (3/4, 1/4) have the eigenvalue 1/2; both tables round up."""
    given = {
        (r["algorithm"], r["tau"], r["eta_l"]): r["bound"]
        for r in exchange_numbers.TABLE.rows()
        if r["W"][0] == ["3/4", "1/4"]
    }
    for row in (row for row in ROWS if row["high"] == "1/2"):
        assert Fraction(row["bound"]) >= Fraction(given[row["algorithm"], row["tau"], row["eta_l"]]) - Fraction(1, 1000)


def test_more_than_two_stacks_and_what_is_no_interval_are_refused() -> None:
    with pytest.raises(ParameterError, match="4 stacks"):
        Mixed("diging", "0", "1/2", 2, "1/4").state()
    with pytest.raises(ParameterError, match=r"eigenvalues in \[1/2, 0\]"):
        Mixed("led", "1/2", "0", 1, "1/4").state()
    assert len({*directions()}) == len(directions()) and (0, 1) in directions() and (1, 0) in directions()
