"""On quadratic clients a local step and an exchange are one affine map of all models: as explicit matrices, exactly.

    X -> A X + b,   A = (W x I) (I - eta_l D_S H),   b = (W x I) eta_l D_S e

with X the models one under the other, D_S the projector on the clients that compute and x the Kronecker product.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Exchange, Quadratics
from fedspec.facts import Fact
from fedspec.linear import eye
from fedspec_suite.measure.scenario import Scenario, problem_of


def zeros(*shape: int) -> Array:
    """Fractions, all zero."""
    return np.full(shape, Fraction(0), dtype=object)


def unit(n: int) -> Array:
    """The identity matrix."""
    return eye(zeros(n, n))


def stacked(matrix: Array, d: int) -> Array:
    """The Kronecker product with the identity on d coordinates."""
    return np.asarray(np.kron(matrix, unit(d)))


def descent(problem: Quadratics, S: Sequence[int], eta_l: Any) -> tuple[Array, Array]:
    """I - eta_l D_S H and eta_l D_S e."""
    n, d = problem.e.shape
    A, b = unit(n * d), zeros(n * d)
    for i in S:
        own = slice(i * d, (i + 1) * d)
        A[own, own] = A[own, own] - eta_l * problem.H[i]
        b[own] = eta_l * problem.e[i]
    return A, b


def mixings(s: Scenario, e: Exchange, n: int) -> Iterator[Array]:
    """The matrix [n, n] of each local step's exchange."""
    for S in e.computing:
        if "senders" not in find(s.case.algorithm).takes:
            yield e.mixing
            continue
        who = e.senders if s.case.options["sampling"] == "round" else S
        W = unit(n)
        W[np.ix_(who, who)] = e.mixing
        yield W


def steps(s: Scenario, e: Exchange) -> Iterator[tuple[Array, Array]]:
    """The affine maps of an exchange's local steps."""
    problem, o = s.case.problem, s.case.options
    assert problem is not None
    n, d = problem.e.shape
    for t, (S, W) in enumerate(zip(e.computing, mixings(s, e, n), strict=True)):
        if find(s.case.algorithm).has(Fact.EXACT_MEAN) and t == len(e.computing) - 1:
            W = zeros(n, n) + Fraction(1, n)
        (A, b), K = descent(problem, S, s.case.hyper["eta_l"]), stacked(W, d)
        match o.get("order", "adapt-then-combine"):
            case "adapt-then-combine":
                yield K @ A, K @ b
            case "gradient-at-combined":
                yield A @ K, b
            case _:
                yield K + A - unit(n * d), b


def exchanged(s: Scenario, e: Exchange, start: Array) -> tuple[Array, Array]:
    """All models after an exchange, as a matrix times what ``start`` is multiplied by, and an offset."""
    A, b = start, zeros(len(start))
    for A_t, b_t in steps(s, e):
        A, b = A_t @ A, A_t @ b + b_t
    return A, b


def votes(s: Scenario, e: Exchange) -> Array:
    """What each client's change counts in Delta."""
    problem = problem_of(s)
    n = len(problem.e)
    clusters = e.clusters or (tuple(range(n)),)
    sizes = s.case.options.get("cluster_weights") == "sizes"
    c = zeros(n)
    for V in clusters:
        sending = [i for i in e.senders if i in V]
        for i in sending:
            c[i] = (Fraction(len(V), n) if sizes else Fraction(1, len(clusters))) / len(sending)
    return c
