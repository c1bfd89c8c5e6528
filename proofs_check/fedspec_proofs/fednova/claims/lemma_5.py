"""Lemma 5: expectation and second moment of the mean of q draws."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.mixing.sampling import sampled_weights
from fedspec.readings import SampledWeights
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.engines import Draw, Statement, all_proved, curried, decide, every, exact, several, with_replacement
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.fednova.claims.sampling import SIZES
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.fednova.kit.responses import shares


@curried
def _moments(draw: Draw, m: int, q: int, *, independent: bool = True) -> Iterable[Any]:
    """(165), and E|mean z|^2 = (1 - 1/q) |z_p|^2 + (1/q) sum p_i |z_i|^2."""
    p, z = shares(draw, m), draw("z", m)
    drawn = with_replacement(p, q) if independent else ((p_i, (i,) * q) for i, p_i in enumerate(p))
    first = second = 0
    for chance, who in drawn:
        centre = (
            sampled_weights(p[list(who)], clients=m, sampled_weights=SampledWeights.WITH_REPLACEMENT) @ z[list(who)]
        )
        first, second = first + chance * centre, second + chance * centre**2
    yield first - sum(p * z)
    share = rational(1, q)
    yield second - (1 - share) * sum(p * z) ** 2 - share * sum(p * z**2)


@claim(
    "fednova.lemma-5-moments",
    statement="E[mean of z_(l_j)] = sum p_i z_i, and E|mean of z_(l_j)|^2 = (1 - 1/q) |sum p_i z_i|^2 + (1/q) sum p_i "
    "|z_i|^2",
    source="Lemma 5, eq. (165) (L883); the second moment is ours",
    extent=Extent.PART,
    assumptions={"independent": "the q draws are independent, each l_j is i with chance p_i"},
)
def both_moments() -> Finding:
    """Proof by induction over the draws, in inner products; then for all samples of up to three clients.

    Without the assumption one draw is taken q times.
    """
    bodies = {f"m = {m}, q = {q}": _moments(m, q) for m, q in SIZES}
    return identities(
        {"any q": _one_more_draw, **bodies},
        without={"independent": {"m = 2, q = 2": _moments(2, 2, independent=False)}},
        instances=10,
    )


def _one_client(draw: Draw) -> Iterable[Any]:
    """A client's share of sum p_i |u_i + g_i|^2 + sum p_i |u_i - g_i|^2 = 2 sum p_i |u_i|^2 + 2 sum p_i |g_i|^2, and
    of sum p_i |u_i - c|^2 = sum p_i |u_i|^2 - |c|^2 >= 0, c = sum p_i u_i (and for the g_i)."""
    p, u, g, c = draw("p", positive=True), draw("u", 3), draw("g", 3), draw("c", 3)
    yield p * ((u + g) @ (u + g)) + p * ((u - g) @ (u - g)) - 2 * p * (u @ u) - 2 * p * (g @ g)
    yield p * ((u - c) @ (u - c)) - p * (u @ u) + 2 * ((p * u) @ c) - p * (c @ c)


def _one_more_draw(draw: Draw) -> Iterable[Any]:
    """E|z_1 + ... + z_q|^2 = q X + q (q - 1) G, X = sum p_i |z_i|^2 and G = |sum p_i z_i|^2: from q to q + 1 draws.

    The new one is independent: it adds 2 <q sum p_i z_i, sum p_i z_i> + X. Over q^2 it is that of
    ``fednova.lemma-5-moments``.
    """
    q, X, G = draw("q", positive=True), draw("X"), draw("G")
    yield q * X + q * (q - 1) * G + 2 * q * G + X - (q + 1) * X - (q + 1) * q * G
    share = 1 / q
    yield (q * X + q * (q - 1) * G) / q**2 - (share * X + (1 - share) * G)


def _concludes(draw: Draw) -> Statement:
    """(166) for z = u + g, from inner products: U = sum p_i |u_i|^2, S = sum p_i |g_i|^2, X and Y the same sums for u
    +- g, uu, ug, gg the products of the means of u and g, s = 1/q."""
    U, S, X, Y, uu, ug, gg = several(draw, "U, S, X, Y, uu, ug, gg")
    s, beta2, kappa2, moment = several(draw, "s, beta2, kappa2, moment")
    signs = [X + Y == 2 * U + 2 * S, uu >= 0, gg >= 0, uu - 2 * ug + gg >= 0, s > 0, s <= 1, beta2 >= 1, kappa2 >= 0]
    return Statement(
        {
            "dissimilar": beta2 * gg + kappa2 >= S,
            "weights": every(gg <= S, Y >= 0, uu <= U),
            "signs": every(*signs),
            "independent": moment == (1 - s) * (uu + 2 * ug + gg) + s * X,
        },
        {"(166)": moment <= 3 * U + 3 * gg + 3 * s * (beta2 * gg + kappa2)},
    )


def _close(rng: np.random.Generator) -> dict[str, Fraction]:
    """Real gradients of three clients, q in 1..5, and kappa^2 the smallest for beta^2 = 1."""
    p = exact.vector(*(rational(int(n)) for n in rng.integers(1, 9, size=3)))
    p, u, g, s = p / sum(p), exact.rationals(rng, 3), exact.rationals(rng, 3), rational(1, int(rng.integers(1, 6)))
    X, Y, U, S = (sum(p * v**2) for v in (u + g, u - g, u, g))
    uu, ug, gg = sum(p * u) ** 2, sum(p * u) * sum(p * g), sum(p * g) ** 2
    named = {"X": X, "Y": Y, "U": U, "S": S, "uu": uu, "ug": ug, "gg": gg, "s": s}
    return {**named, "beta2": rational(1), "kappa2": S - gg, "moment": (1 - s) * (uu + 2 * ug + gg) + s * X}


LEMMA_5 = {
    "dissimilar": "sum p_i |g_i|^2 <= beta^2 |sum p_i g_i|^2 + kappa^2, beta^2 >= 1 and kappa^2 >= 0 (Assumption 3 "
    "for the weights p)",
    "weights": "p_i >= 0 and they sum to one",
    "independent": "the q draws are independent, each l_j is i with chance p_i",
}


@claim(
    "fednova.lemma-5",
    statement="E|mean of z_(l_j)|^2 <= 3 sum p_i |z_i - grad F_i|^2 + 3 |grad F|^2 + (3/q) (beta^2 |grad F|^2 + "
    "kappa^2)",
    source="Lemma 5, eq. (166) (L883)",
    extent=Extent.PART,
    assumptions=LEMMA_5,
)
def second_moment() -> Finding:
    """Proof for any number of clients, draws and coordinates; only inner products are used.

    The second moment of the mean of q draws, by induction over q; sums over the clients by one client's share of them;
    and (166) from these and Assumption 3 (by z3).
    """
    parts = {
        "one more draw": identities({"any q": _one_more_draw}),
        "one client's share": identities({"d = 3": _one_client}),
        "(166)": decide(_concludes, sample=_close),
    }
    return all_proved(parts, LEMMA_5)
