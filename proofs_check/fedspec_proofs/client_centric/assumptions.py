"""Assumptions 1 to 4: which of the toy problems meet them, and which do not."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from fedspec.arith import Vector
from fedspec.problems.heavy_tailed import student_2
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import CLIENT_CENTRIC, Dropped, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.problems import Clients, flat, huber, through
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.expectation import mean, signs
from fedspec_proofs.engines.search import Inequality, searched
from fedspec_proofs.piecewise import Piecewise

FAR = 1000


def _quadratic(draw: Draw) -> Statement:
    """One quadratic in the basis of its eigenvectors, at two points."""
    a, c, L, x, y = draw("a"), draw("c"), draw("L"), draw("x", 2), draw("y", 2)
    (gradient,) = _unchecked(np.array([[[a, a * 0], [a * 0, c]]], dtype=object))
    apart, moved = gradient(0, x) - gradient(0, y), x - y
    return Statement(
        {"first": a * a <= L * L, "second": c * c <= L * L}, {"Lipschitz": apart @ apart <= L * L * (moved @ moved)}
    )


def _unchecked(H: Any) -> tuple[Any, ...]:
    # The record compares H with its transpose, which z3 reals cannot answer.
    problem = object.__new__(QuadraticClients)
    object.__setattr__(problem, "H", H)
    object.__setattr__(problem, "e", H[:, 0] * 0)
    return problem.clients


def _sample(rng: np.random.Generator) -> dict[str, Fraction]:
    a, c = exact.rationals(rng, 2)
    return {"a": a, "c": c, "L": max(abs(a), abs(c))}


@claim(
    "client-centric.assumption-1",
    statement="A quadratic client is L-smooth as soon as no curvature is larger than L in absolute value",
    source=Source(CLIENT_CENTRIC, "ours, an instance of Assumption 1 (L203)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d = 2",
    assumptions={"first": "the first eigenvalue is at most L in absolute value", "second": "so is the second"},
)
def smooth() -> Finding:
    """Two dimensions, in the basis of the eigenvectors (lengths do not depend on it), any two points; also concave."""
    return decide(_quadratic, sample=_sample)


def _clients(choose: Choose) -> tuple[Clients, Vector, Vector]:
    def slope() -> Piecewise:
        kind = choose.of("huber", "flat", "kinked")
        if kind == "flat":
            return flat(choose.whole(-3, 3))
        if kind == "huber":
            return huber(Fraction(choose.whole(-3, 3)), choose.whole(1, 3), choose.of(1, 2, Fraction(1, 2)))
        xs = sorted({choose.rational(-4, 4, 2) for _ in range(4)})
        return through(*((x, choose.rational(-3, 3, 2)) for x in xs))

    n, d = choose.whole(1, 3), choose.whole(1, 2)
    clients = Clients(tuple(tuple(slope() for _ in range(d)) for _ in range(n)), choose.of(Fraction(0), Fraction(1, 2)))
    return clients, choose.array(d, low=-8, high=8), choose.array(d, low=-8, high=8)


CONSTANTS = ("L^2", "G^2", "sigma_l^2", "sigma_g^2", "every client's sigma_g^2")


def _constants(scale: Any) -> Inequality[tuple[Clients, Vector, Vector]]:
    """All four assumptions at two random points, with the constants that the ledger's clients are given."""

    def sides(instance: tuple[Clients, Vector, Vector], spoiled: str = "") -> Any:
        clients, x, y = instance
        L2, G2, noise, apart2, each = (scale * (Fraction(9, 10) if name == spoiled else 1) for name in CONSTANTS)
        moved = x - y
        for i in range(clients.n):
            apart = clients.oracle(i)(0, x) - clients.oracle(i)(0, y)
            yield apart @ apart, L2 * clients.smoothness**2 * (moved @ moved)
            noisy = [clients.oracle(i, s)(0, x) for _, s in signs(1)]
            yield max(g @ g for g in noisy), G2 * clients.bound**2
            centre = clients.oracle(i)(0, x)
            yield (
                mean(_square, [(p, clients.oracle(i, s)(0, x) - centre) for p, s in signs(1)]),
                noise * clients.local_variance,
            )
        yield sum(clients.deviations(x)) / clients.n, apart2 * clients.global_variance
        yield max(clients.deviations(x)), each * clients.per_client_variance

    def smaller(name: str) -> Any:
        return lambda instance: sides(instance, name)

    return Inequality(_clients, {"kinks": lambda i: True}, sides, {f"{n} less a tenth": smaller(n) for n in CONSTANTS})


def _square(v: Vector) -> Any:
    return v @ v


@claim(
    "client-centric.assumption-2",
    statement="The piecewise linear clients of this ledger meet assumptions 1 to 4 everywhere, with constants read off "
    "their kinks",
    source=Source(CLIENT_CENTRIC, "ours, instances of Assumptions 1 to 4 (L203-211)"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    assumptions={"cut off": "gradients are constant far out"},
)
def known_constants() -> Finding:
    """Up to three clients in up to two dimensions at random points; quadratics have no G and no sigma_g."""
    found = searched(_constants(1), 1500, drop=0)
    return replace(found, dropped={"cut off": _unbounded()})


def _unbounded() -> Dropped:
    """The spec's quadratic client with H = 1, and another with H = 2, farther and farther out."""
    problem = QuadraticClients(H=exact.vector(1, 2).reshape(2, 1, 1), e=exact.vector(0, 0).reshape(2, 1))
    far = [abs(problem.clients[0](0, exact.vector(FAR**k))[0]) for k in range(1, 4)]
    apart = [
        abs((c[1](0, x) - c[0](0, x))[0]) / 2
        for c in [problem.clients]
        for x in (exact.vector(FAR), exact.vector(FAR**2))
    ]
    return Dropped(
        far == [FAR, FAR**2, FAR**3] and apart == [FAR // 2, FAR**2 // 2],
        f"quadratics x^2/2 and x^2: |grad| = |x| and deviation |x|/2 at x = {FAR}, {FAR**2}",
    )


@claim(
    "client-centric.assumption-3",
    statement="The first client of the specification's heavy-tailed problem meets assumption 3 for no sigma_l: every "
    "dyadic piece [2^-(k+1), 2^-k] of its quantile's domain adds at least 1/16 to the second moment",
    source=Source(CLIENT_CENTRIC, "ours, an instance of Assumption 3 (L209)"),
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
)
def heavy_tailed() -> Finding:
    """Student's t with two degrees of freedom has no variance.

    The quantile xi(u) falls in absolute value towards u = 1/2, so on such a piece its square is at least the one at
    2^-k; the squares are exact, of sympy's roots. Sixty pieces are computed; in general (in words) a piece adds
    (1 - 2^(1-k))^2 / (4 (1 - 2^-k)), at least 1/12 for k >= 2. Which clients meet the assumption is another claim.
    """
    pieces = []
    for k in range(2, 62):
        u = sympy.Rational(1, 2**k)
        square = sympy.nsimplify(student_2(np.array([u], dtype=object))[0] ** 2)
        pieces.append(Fraction(int(square.p), int(square.q)) / 2 ** (k + 1))
    least = min(pieces)
    return Finding(
        Verdict.CHECKED if least >= Fraction(1, 16) else Verdict.REFUTED,
        f"60 pieces, the least {least}: their sum passes every bound",
    )


def _curvatures(draw: Draw, equal: bool) -> Statement:
    h, k, c, D, x = draw("h"), draw("k"), draw("c", 2), draw("D"), draw("x")
    H = np.array([[[h]], [[h if equal else k]]], dtype=object)
    e = np.array([[H[0, 0, 0] * c[0]], [H[1, 0, 0] * c[1]]], dtype=object)
    g = [(H[i] @ np.array([x], dtype=object) - e[i])[0] for i in range(2)]
    apart = (g[0] - g[1]) / 2
    return Statement({"D": h * (c[0] - c[1]) / 2 == D}, {"A4": apart * apart <= D * D})


@claim(
    "client-centric.assumption-4",
    statement="Two quadratic clients of equal curvature h meet assumption 4 with sigma_g = h |c_1 - c_2| / 2",
    source=Source(CLIENT_CENTRIC, "ours, an instance of Assumption 4 (L211)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="d = 1",
    assumptions={"D": "sigma_g = h |c_1 - c_2| / 2", "equal": "the curvatures are equal"},
)
def heterogeneity() -> Finding:
    """One dimension, every point; with unequal curvatures the deviation grows with |x|."""

    def sample(rng: np.random.Generator) -> dict[str, Fraction]:
        h, a, b = exact.rationals(rng, 3)
        return {"h": h, "c_0": a, "c_1": b, "D": h * (a - b) / 2}

    found = decide(lambda draw: _curvatures(draw, True), sample=sample)
    other = decide(lambda draw: _curvatures(draw, False), ablate=False)
    lost = Dropped(other.verdict is Verdict.REFUTED, other.evidence.replace("\n", "; "))
    return Finding(found.verdict, found.evidence, {**found.dropped, "equal": lost}, found.second)
