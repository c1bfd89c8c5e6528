"""After Lemma 1: local steps that are drawn anew in every round, alike for all clients."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import sympy

from fedspec.algorithms.fedavg import FedAvg
from fedspec_proofs.claim import FEDNOVA, Dropped, Engine, Finding, Second, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.expectation import mean
from fedspec_proofs.fednova.bounds import rational
from fedspec_proofs.fednova.limit_numbers import iso
from fedspec_proofs.fednova.small_rate import ETA
from fedspec_proofs.refutation import refutation


def _coin_maps(eta: Any) -> list[tuple[Fraction, tuple[Any, Any]]]:
    """M and b of a round x' = M x + b for each outcome, tau_i being 1 or 2 by a coin, e = (-1, 1)."""
    maps = []
    for steps in product((1, 2), repeat=2):
        s = iso(FedAvg(eta_l=eta), steps, (-1, 1))
        b = s.round(exact.vector(0))[0]
        maps.append((rational(1, 4), (s.round(exact.vector(1))[0] - b, b)))
    return maps


def _settled(maps: list[tuple[Fraction, tuple[Any, Any]]]) -> tuple[Any, Any]:
    """Mean and variance of the model that such rounds settle to."""
    M, b = mean(lambda m: m[0], maps), mean(lambda m: m[1], maps)
    centre = b / (1 - M)
    second = (2 * mean(lambda m: m[0] * m[1], maps) * centre + mean(lambda m: m[1] ** 2, maps)) / (
        1 - mean(lambda m: m[0] ** 2, maps)
    )
    return centre, second - centre**2


@claim(
    "fednova.iid-steps",
    statement="As eta -> 0, where Lemma 1's gap stays, a gap to the minimiser stays as well when the tau_i are drawn "
    "anew, alike for all clients",
    source=Source(FEDNOVA, "ours, about the words after Lemma 1 (L76), read for eta -> 0 as Lemma 1 is"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def no_gap_on_average() -> Finding:
    """The mean of the model tends to the minimiser itself, and its variance to 0 with eta, as Lemma 1's gap does not.
    At a fixed eta the variance does not vanish, so that the words are right about one rate.

    tau_i is 1 or 2 with equal chance for each client and round, e = (-1, 1); all four outcomes of a round are run, and
    the stationary mean and variance solved for. Beside it the gap of Lemma 1 for fixed tau = (1, 2), squared.
    """
    rates = [rational(1, 10**k) for k in range(1, 7)]
    settled = [_settled(_coin_maps(eta)) for eta in rates]
    fixed = [iso(FedAvg(eta_l=eta), (1, 2), (-1, 1)).limit()[0] ** 2 for eta in rates]
    return refutation(
        instance="F_i = (x - e_i)^2/2, e = (-1, 1), p = 1/2; claimed: at eta = 10^-6 E|x - x*|^2 is no less than a "
        "thousandth of what it is with fixed tau = (1, 2)",
        conditions={
            "the mean of the model is the minimiser at every rate": all(centre == 0 for centre, _ in settled),
            "the variance is at most eta at every rate": all(
                v <= eta for (_, v), eta in zip(settled, rates, strict=True)
            ),
            "with fixed steps the gap stays above 1/10 of its square": all(g > rational(1, 100) for g in fixed),
        },
        left=settled[-1][1],
        right=fixed[-1] / 1000,
        relation=">=",
    )


@claim(
    "fednova.iid-steps-repaired",
    statement="F_i = (x - e_i)^2 / 2, e = (-1, 1), each tau_i 1 or 2 by a coin in every round: the mean of the model "
    "tends to the minimiser, and its variance to at most eta, at every rate of (0, 1)",
    source=Source(FEDNOVA, "ours, in place of the words after Lemma 1 (L76)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"alike": "the tau_i have the same law for all clients"},
    repairs="fednova.iid-steps",
)
def vanishes_on_average() -> Finding:
    """All four outcomes of a round are run with eta a symbol; the stationary mean and variance are solved for.

    The mean is 0 identically; E M and E M^2 are below 1 and the variance is below eta, all of them rational in eta,
    whose differences have no root in (0, 1) (Sturm). Again at eta = 1/32, ..., 31/32 in fractions.
    """
    maps = _coin_maps(ETA)
    centre, square = _settled(maps)
    M, MM = mean(lambda m: m[0], maps), mean(lambda m: m[0] ** 2, maps)
    below = [1 - M, 1 + M, 1 - MM, ETA - square]
    inside = [_positive_inside(sympy.together(q)) for q in below]
    again = [(_settled(_coin_maps(rational(k, 32))), rational(k, 32)) for k in range(1, 32)]
    agreed = sum(c == 0 and 0 < v <= eta for (c, v), eta in again)
    held = sympy.cancel(centre) == 0 and all(inside) and agreed == len(again)
    unlike = iso(FedAvg(eta_l=rational(1, 10**6)), (1, 2), (-1, 1)).limit()[0]
    words = f"mean 0; variance {sympy.factor(sympy.cancel(square))}"
    other = Dropped(unlike > rational(1, 10), f"tau_1 is 1 and tau_2 is 2: {float(unlike):.3f} at eta = 10^-6")
    second = Second(Engine.EXACT, agreed, "rates at which the four outcomes are run in fractions")
    return Finding(Verdict.PROVED if held else Verdict.REFUTED, words, {"alike": other}, second)


def _positive_inside(q: Any) -> bool:
    """Whether a rational function of eta is positive on (0, 1): at 1/2, and without a zero or a pole inside."""
    parts = [sympy.Poly(part, ETA) for part in sympy.fraction(sympy.cancel(q))]
    ends = [sympy.Poly(ETA, ETA), sympy.Poly(ETA - 1, ETA)]
    for k, part in enumerate(parts):
        for end in ends:
            while part.rem(end).is_zero:
                part = part.quo(end)
        parts[k] = part
    return all(part.count_roots(0, 1) == 0 for part in parts) and bool(q.subs(ETA, sympy.Rational(1, 2)) > 0)
