"""Lemma 5: the mean of q draws, its expectation and its second moment."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.mixing.sampling import sampled_weights
from fedspec.readings import SampledWeights
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.formulas import every
from fedspec_proofs.fednova.lemma_3 import Point, dissimilar, point
from fedspec_proofs.fednova.sampling import SIZES, samples, shares


def _moments(m: int, q: int, *, independent: bool = True) -> Body:
    """(165), and E|mean z|^2 = (1 - 1/q) |z_p|^2 + (1/q) sum p_i |z_i|^2."""

    def body(draw: Draw) -> Iterable[Any]:
        p, z = shares(draw, m), draw("z", m)
        drawn = samples(p, q, True) if independent else ((p_i, (i,) * q) for i, p_i in enumerate(p))
        first = second = 0
        for chance, who in drawn:
            centre = (
                sampled_weights(p[list(who)], clients=m, sampled_weights=SampledWeights.WITH_REPLACEMENT) @ z[list(who)]
            )
            first, second = first + chance * centre, second + chance * centre**2
        yield first - sum(p * z)
        share = rational(1, q)
        yield second - (1 - share) * sum(p * z) ** 2 - share * sum(p * z**2)

    return body


@claim(
    "fednova.lemma-5-moments",
    statement="E[mean of z_(l_j)] = sum p_i z_i, and E|mean of z_(l_j)|^2 = (1 - 1/q) |sum p_i z_i|^2 + (1/q) sum p_i "
    "|z_i|^2",
    source=Source(FEDNOVA, "Lemma 5, eq. (165) (L883); the second moment is ours"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="up to three clients and draws, d = 1",
    assumptions={"independent": "the q draws are independent"},
)
def both_moments() -> Finding:
    """Every sample is enumerated; one coordinate, of which the squared norm is a sum. Without the assumption one draw
    is taken q times."""
    bodies = {f"m = {m}, q = {q}": _moments(m, q) for m, q in SIZES}
    return identities(
        bodies, without={"independent": {"m = 2, q = 2": _moments(2, 2, independent=False)}}, instances=10
    )


def _parts(p: Any, u: Any, g: Any, s: Any) -> tuple[Any, Any, Any, Any]:
    """The exact second moment of z = u + g for s = 1/q, what (166) has of u and |grad F|^2, and squares."""
    moment = (1 - s) * sum(p * (u + g)) ** 2 + s * sum(p * (u + g) ** 2)
    centre, spread = sum(p * u), sum(p * u**2) - sum(p * u) ** 2
    squares = (
        s * sum(p * (u - g) ** 2)
        + (1 - s) * ((centre - sum(p * g)) ** 2 + 2 * spread)
        + sum(p * u**2)
        + (1 + 2 * s) * sum(p * g) ** 2
        + s * sum(p * g**2)
    )
    return moment, 3 * sum(p * u**2) + 3 * sum(p * g) ** 2, 3 * s * sum(p * g**2), squares


def _split(m: int) -> Body:
    """The second moment and the squares make up 3 sum p_i u_i^2 + 3 |grad F|^2 + (3/q) sum p_i g_i^2."""

    def body(draw: Draw) -> Iterable[Any]:
        p, u, g, s = shares(draw, m), draw("u", m), draw("g", m), draw("s", positive=True)
        moment, near, spread, squares = _parts(p, u, g, s)
        yield moment + squares - near - spread

    return body


def _concludes(draw: Draw) -> Statement:
    """(166) from that: the squares have weights that are not negative, and Assumption 3 bounds sum p_i g_i^2."""
    moment, near, mean2, second, squares = (draw(n) for n in ("moment", "near", "mean2", "second", "squares"))
    s, beta2, kappa2 = draw("s"), draw("beta2"), draw("kappa2")
    signs = [squares >= 0, s > 0]
    return Statement(
        {
            "dissimilar": second <= beta2 * mean2 + kappa2,
            "weights": every(*signs),
            "independent": moment + squares == near + 3 * s * second,
        },
        {"(166)": moment <= near + 3 * s * (beta2 * mean2 + kappa2)},
    )


def _close(rng: np.random.Generator) -> dict[str, Fraction]:
    """Real gradients of three clients, q in 1..5, and kappa^2 the smallest for beta^2 = 1."""
    p = exact.vector(*(rational(int(n)) for n in rng.integers(1, 9, size=3)))
    p, u, g, s = p / sum(p), exact.rationals(rng, 3), exact.rationals(rng, 3), rational(1, int(rng.integers(1, 6)))
    moment, near, _, squares = _parts(p, u, g, s)
    second, mean2 = sum(p * g**2), sum(p * g) ** 2
    named = {"moment": moment, "near": near, "second": second, "mean2": mean2, "squares": squares, "s": s}
    return {**named, "beta2": rational(1), "kappa2": second - mean2}


LEMMA_5 = {
    "dissimilar": "sum p_i |g_i|^2 <= beta^2 |sum p_i g_i|^2 + kappa^2 (Assumption 3 for the weights p)",
    "weights": "p_i >= 0 and they sum to one",
    "independent": "the q draws are independent, so that the second moment is that of fednova.lemma-5-moments",
}


@claim(
    "fednova.lemma-5",
    statement="E|mean of z_(l_j)|^2 <= 3 sum p_i |z_i - grad F_i|^2 + 3 |grad F|^2 + (3/q) (beta^2 |grad F|^2 + "
    "kappa^2)",
    source=Source(FEDNOVA, "Lemma 5, eq. (166) (L883)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="two and three clients, d = 1",
    assumptions=LEMMA_5,
)
def second_moment() -> Finding:
    """The right side less the exact second moment is a sum of squares with weights that are not negative (an identity,
    by sympy for two and three clients and any q), up to Assumption 3 (by z3). One coordinate, of which both sides are
    sums; the identity has the same form for any m.
    """
    squares = identities({f"m = {m}": _split(m) for m in (2, 3)})
    rest = decide(_concludes, sample=_close)
    proved = squares.verdict is Verdict.PROVED and rest.verdict is Verdict.PROVED
    words = f"{squares.evidence}\n{rest.evidence}"
    return Finding(Verdict.PROVED if proved else Verdict.UNKNOWN, words, rest.dropped, rest.second)


def _wider(choose: Choose) -> tuple[Point, Any, int]:
    x = point(choose)
    z = x.g + choose.array(*x.g.shape, low=-2, high=2, denominator=2) if choose.of(False, True) else x.g
    return x, z, choose.of(1, 2, 5)


def _bound(factor: Any = 1) -> Inequality[tuple[Point, Any, int]]:
    def sides(instance: tuple[Point, Any, int]) -> Iterable[Sides]:
        x, z, q = instance
        p, share = x.w, rational(1, q)
        centre, mean_g = p @ z, p @ x.g
        second = (1 - share) * (centre @ centre) + share * sum(p_i * (z_i @ z_i) for p_i, z_i in zip(p, z, strict=True))
        apart = sum(p_i * ((z_i - g_i) @ (z_i - g_i)) for p_i, z_i, g_i in zip(p, z, x.g, strict=True))
        yield (
            second,
            {
                "z - grad F": factor * 3 * apart,
                "grad F": factor * 3 * (mean_g @ mean_g),
                "beta^2": factor * 3 * share * x.beta2 * (mean_g @ mean_g),
                "kappa^2": factor * 3 * share * x.kappa2,
            },
        )

    return Inequality(_wider, {"dissimilar": lambda i: dissimilar(i[0])}, sides)


@claim(
    "fednova.lemma-5-beyond",
    statement="Eq. (166) for up to five clients and three coordinates",
    source=Source(FEDNOVA, "Lemma 5, eq. (166) (L883)"),
    engine=Engine.SEARCH,
    verdict=Verdict.CHECKED,
    assumptions={"dissimilar": LEMMA_5["dissimilar"]},
)
def beyond() -> Finding:
    """An adversary chooses gradients, z_i, p and q; the second moment is exact."""
    return searched(_bound(), 500, drop=200)


@false("fednova.lemma-5-third", of=beyond, statement="Eq. (166) with 1 for all three threes")
def third() -> Finding:
    """The same search."""
    return searched(_bound(rational(1, 3)), 500, drop=0)
