"""Lemma 3: how far the gradient of the surrogate is from that of the objective."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fednova.bounds import chi_squared, rational

LEMMA = {
    "dissimilar": "sum w_i |g_i|^2 <= beta^2 |sum w_i g_i|^2 + kappa^2 (Assumption 3 at the point)",
    "positive": "w_i > 0",
    "sums": "p and w sum to one",
}


def _parts(p: Any, w: Any, g: Any) -> tuple[Any, Any, Any, Any, Any]:
    """|grad F - grad F~|^2, chi^2, sum w_i |g_i - mean|^2, the squares that Cauchy-Schwarz drops, and the mean."""
    mean, u = sum(w * g), (p - w) / w
    v = g - mean
    pairs = [(i, j) for j in range(len(w)) for i in range(j)]
    squares = sum(w[i] * w[j] * (u[i] * v[j] - u[j] * v[i]) ** 2 for i, j in pairs)
    return sum((p - w) * g) ** 2, chi_squared(p, w), sum(w * v**2), squares, mean


def _lagrange(m: int, *, sums: bool = True) -> Body:
    """chi^2 V = |grad F - grad F~|^2 + squares, and V = sum w_i g_i^2 - mean^2, for gradients of one coordinate."""

    def body(draw: Draw) -> Iterable[Any]:
        p, w, g = draw("p", m, positive=True), draw("w", m, positive=True), draw("g", m)
        if sums:
            p[-1], w[-1] = 1 - sum(p[:-1]), 1 - sum(w[:-1])
        difference, chi2, V, squares, mean = _parts(p, w, g)
        yield chi2 * V - difference - squares
        yield V - (sum(w * g**2) - mean**2)

    return body


def _one_client(draw: Draw) -> Iterable[Any]:
    """What one client adds to the sums: w |v - theta u S|^2 with u = (p - w) / w, and w |g - G|^2.

    Summed over any number of clients: V - 2 theta S.S + theta^2 chi^2 |S|^2 for S = sum (p_i - w_i) v_i, and sum w_i
    |g_i|^2 - |G|^2 for G = sum w_i g_i; S is grad F - grad F~, since the p_i - w_i sum to zero.
    """
    p, w, theta = draw("p", positive=True), draw("w", positive=True), draw("theta")
    v, S, G = draw("v", 3), draw("S", 3), draw("G", 3)
    apart = v - theta * (p - w) / w * S
    yield (
        w * (apart @ apart) - w * (v @ v) + 2 * theta * ((p - w) * (v @ S)) - theta**2 * chi_squared([p], [w]) * (S @ S)
    )
    g = v + G
    yield w * (v @ v) - w * (g @ g) + 2 * w * (g @ G) - w * (G @ G)


def _concludes(draw: Draw) -> Statement:
    """Lemma 3 from these sums at theta = 1 / chi^2; ``apart`` is |grad F - grad F~|^2."""
    apart, chi2, V, theta, mean2 = (draw(n) for n in ("apart", "chi2", "V", "theta", "mean2"))
    beta2, kappa2 = draw("beta2"), draw("kappa2")
    square = V - 2 * theta * apart + theta**2 * chi2 * apart
    return Statement(
        {
            "dissimilar": V + mean2 <= beta2 * mean2 + kappa2,
            "positive": every(square >= 0, chi2 >= 0, apart >= 0),
            "sums": theta * chi2 == 1,
        },
        {"Lemma 3": apart <= chi2 * ((beta2 - 1) * mean2 + kappa2)},
    )


@claim(
    "fednova.lemma-3",
    statement="|grad F - grad F~|^2 <= chi^2(p||w) [(beta^2 - 1) |grad F~|^2 + kappa^2]",
    source=Source(FEDNOVA, "Lemma 3 (L643)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=LEMMA,
)
def any_clients() -> Finding:
    """Any number of clients, and of coordinates, of which only inner products occur.

    sum w_i |v_i - theta u_i S|^2 >= 0 is a sum over the clients whose single summands are expanded (an identity of one
    client, by sympy); at theta = 1 / chi^2 it is Cauchy-Schwarz, and Lemma 3 follows from that and Assumption 3 (by
    z3). Where chi^2 = 0 all u_i are 0, and with them the left side.

    Beside it the whole sums for m = 2, 3, 4 in one coordinate: the two sides of Cauchy-Schwarz differ by squares with
    weights w_i w_j.
    """
    squares = identities(
        {f"m = {m}": _lagrange(m) for m in (2, 3, 4)}, without={"sums": {"m = 2": _lagrange(2, sums=False)}}
    )
    parts = {
        "m clients": squares,
        "one client's share": identities({"d = 3": _one_client}),
        "Lemma 3": decide(_concludes, sample=_met),
    }
    return all_proved(parts, LEMMA)


def _met(rng: np.random.Generator) -> dict[str, Fraction]:
    """Real gradients and weights of three clients, with kappa^2 the smallest for beta^2 = 1."""
    p, w = (exact.vector(*(rational(int(n)) for n in rng.integers(1, 9, size=3))) for _ in range(2))
    p, w, g = p / sum(p), w / sum(w), exact.rationals(rng, 3)
    difference, chi2, V, _, mean = _parts(p, w, g)
    named = {"apart": difference, "chi2": chi2, "V": V, "mean2": mean**2, "theta": 1 / chi2 if chi2 else rational(0)}
    return {**named, "beta2": rational(1), "kappa2": V}
