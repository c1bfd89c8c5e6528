"""Lemma F.5, eq. (76), which splits noise from gradients."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.arith import Array, Vector
from fedspec.mixing import topology
from fedspec.plan import Exchange
from fedspec_proofs.afga import bounds
from fedspec_proofs.afga.network import EXACT, hyper
from fedspec_proofs.afga.nonconvex import Well
from fedspec_proofs.claim import AFGA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.expectation import mean, signs
from fedspec_proofs.engines.identities import identities
from fedspec_proofs.engines.search import Inequality
from fedspec_proofs.refutation import refutation


@dataclass(frozen=True)
class Alone:
    """One client s log(1 + x^2)/2 from x, with noise of plus or minus one."""

    s: Any
    x: Any
    eta_l: Any
    steps: int


def _alone(choose: Choose) -> Alone:
    steps, s = choose.whole(1, 3), choose.of(F(-1), F(1), F(-2), F(3))
    return Alone(s, choose.rational(-2, 2, 2), choose.of(F(1), F(1, 2)) / (8 * steps * abs(s)), steps)


def _split(one: Alone) -> tuple[Any, Any]:
    """E|sum of stochastic gradients|^2, and the two parts that eq. (76) makes of it, through the algorithm."""
    f, x, W = Well(one.s, F(0)), exact.vector(one.x), topology.complete(1, EXACT)
    plan = Exchange((0,), ((0,),) * one.steps, W)
    h = hyper(one.eta_l)

    def sums(coins: tuple[int, ...]) -> Array:
        seen: list[Vector] = []

        def slope(t: int, at: Vector) -> Vector:
            seen.append(f.slope(at))
            return seen[-1] + coins[t]

        delta, _ = cafga.change(h, x, np.stack([x]), [slope], plan)
        return exact.vector((delta[0] / one.eta_l) ** 2, sum(coins) ** 2, sum(s[0] for s in seen) ** 2)

    whole, noise, slopes = mean(sums, signs(one.steps))
    return whole, noise + slopes


@claim(
    "afga.eq-76",
    statement="E|sum_t (noise_t + grad f_i(x^i_t))|^2 = E|sum_t noise_t|^2 + E|sum_t grad f_i(x^i_t)|^2",
    source=Source(AFGA, "Lemma F.5, eq. (76), third equality (L3821-3859)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def eq_76() -> Finding:
    """The second gradient is taken where the first noise led: on a concave piece the two pull together, so that the
    left side is larger, and the inequality that the proof needs fails as well.
    """
    one = Alone(F(1), F(2), F(1, 16), 2)
    whole, parts = _split(one)
    f = Well(one.s, F(0))
    found = refutation(
        instance="one client f = log(1 + x^2)/2 from x_r = 2, where it is concave, noise of plus or minus 1, I = 2, "
        "eta_l = 1/16; over eta_l^2",
        conditions={
            "4.1: |f''| <= 1 = L": f.L == 1,
            "4.2: sigma = 1": mean(lambda coin: coin[0] ** 2, signs(1)) == 1,
            "4.3: |f' + noise| <= 3/2 = G": F(3, 2) == f.G + 1,
            "eta_l <= 1/(8IL)": one.eta_l * 16 * f.L <= 1,
            "f is bounded below, by 0": one.s >= 0,
        },
        left=whole,
        right=parts,
    )
    return bounds.also_by_search(found, Inequality(_alone, {}, lambda one: [_split(one)]), 200)


@claim(
    "afga.eq-76-repaired",
    statement="E|sum_t (noise_t + grad_t)|^2 <= 2 E|sum_t noise_t|^2 + 2 E|sum_t grad_t|^2, in every outcome and "
    "coordinate by coordinate: the difference is |sum_t noise_t - sum_t grad_t|^2",
    source=Source(AFGA, "ours, for eq. (76) (L3821-3859); eq. (74) has a factor of 2 in front of it already"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    repairs="afga.eq-76",
)
def eq_76_repaired() -> Finding:
    """The two sums are any two numbers, whatever depends on what."""

    def body(draw: Draw) -> list[Any]:
        noise, slopes = draw("noise"), draw("slopes")
        return [2 * noise**2 + 2 * slopes**2 - (noise + slopes) ** 2 - (noise - slopes) ** 2]

    return identities({"one coordinate": body})
