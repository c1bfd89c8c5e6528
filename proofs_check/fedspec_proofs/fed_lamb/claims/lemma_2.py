"""Lemma 2: from the mean of the gradients to the gradient at the mean. Fed-LAMB, eq. (3) (L213) and L538-551."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import State
from fedspec.arith import Stack, Vector
from fedspec.plan import Oracle
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.claim import Extent, Finding, Severity, Verdict, claim, false, refutation
from fedspec_proofs.engines import Draw, Inequality, Sides, all_refuted, curried, identities
from fedspec_proofs.fed_lamb.claims import lemma_1
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import Problem, along, vector
from fedspec_proofs.fed_lamb.kit.rounds import (
    HALF,
    F,
    as_in_proofs,
    begin,
    lamb,
    local_models,
    noiseless,
    one_round,
    squared,
)
from fedspec_proofs.fed_lamb.kit.shared import H1, H2, H4, SETTING
from fedspec_proofs.fed_lamb.kit.walks import Walk, beside, checked, plain, pulled
from fedspec_proofs.kit.piecewise import Piecewise, huber
from fedspec_proofs.words import as_text

TRIES = 800


def at_locals(problem: Problem, models: Iterable[Vector]) -> Vector:
    """Mean 1/n sum_i f_i'(x_i) at local models: the second of the paper's two definitions (L675)."""
    rows = [along(row, x) for row, x in zip(problem.parts, models, strict=True)]
    mean: Vector = np.stack(rows).sum(axis=0) / len(rows)
    return mean


@curried
def _young(draw: Draw, factor: int = 1) -> Iterable[Any]:
    x, y = draw("x", 1), draw("y", 1)
    return [squared(x) - squared(y) / 2 + factor * squared(x - y) - 2 * squared(x - y / 2)]


@claim(
    "fed-lamb.l-546",
    statement="||x||^2 - ||y||^2/2 + ||x - y||^2 = 2 ||x - y/2||^2, so that ||x||^2 >= ||y||^2/2 - ||x - y||^2, by "
    "coordinate",
    source="Lemma 2, first display of its proof (L546)",
    extent=Extent.WHOLE,
)
def young() -> Finding:
    """Young's inequality as an identity with a square; both sides are sums over coordinates."""
    return identities({"one coordinate": _young()})


@false("fed-lamb.false-l-546", of=young, statement="The same with twice the last term")
def _false_young() -> Finding:
    return identities({"one coordinate": _young(2)})


@dataclass(frozen=True)
class Forked:
    """Two equal clients with noise, after a step with an outcome that separates them.

    f' is -1, 1/2, 1 at -9/10, 0, 9/10 and linear between; noise is 1 or -1 with equal chances; from 0, alpha = 9/10.
    """

    problem: Problem
    h: FedLamb
    start: State
    models: Stack
    mean: Vector

    @property
    def constants(self) -> Constants:
        """Constants of the bounds."""
        h = self.h
        return Constants(M=F(2), alpha=h.eta_l, beta2=h.beta2, L_bar=F(5, 3), n=F(2), v0=h.v0)

    @property
    def conditions(self) -> dict[str, bool]:
        """Printed assumptions, each with True if it holds."""
        f, k = self.problem.whole[0], self.constants
        return {
            "H1: L = 5/3": self.problem.lipschitz == (k.L_bar,),
            "H2: both clients have the gradient of f in the mean, the noise is 1 or -1": sum(NOISE) == 0
            and self.problem.parts[0] == self.problem.parts[1],
            "H2: no outcome exceeds M = 2": f.largest + max(NOISE) <= k.M,
            "H3: the variance 1 is below sigma^2 = 5/4": sum(xi**2 for xi in NOISE) / 2 < F(5, 4),
            "H4: phi_m = phi_M = 1": self.h.phi is Phi.CONSTANT,
            **as_in_proofs(self.h),
            "v_hat = v0 = 1": self.start.v_hat[0] == self.h.v0 == 1,
        }


NOISE = (F(1), F(-1))
FORKED = (
    "two clients alike, f' = -1, 1/2, 1 at -9/10, 0, 9/10 and linear between, noise 1 or -1 with equal chances, the "
    "outcome (1, -1) from 0; alpha = 9/10, beta1 = 0, beta2 = 999/1000, v0 = 1"
)


def _noisy(problem: Problem, xi: F) -> Oracle:
    return lambda k, x: problem.gradient(x) + xi


def forked() -> Forked:
    """Make the instance: local models are -9/10 and 9/10 with f' = -1 and 1; at their mean 0, f' is 1/2."""
    alpha = F(9, 10)
    problem = Problem(((Piecewise((-alpha, F(0), alpha), (F(-1), HALF, F(1))),),) * 2, (1,))
    h = lamb(eta_l=alpha, beta2=F(999, 1000))
    clients = [_noisy(problem, xi) for xi in NOISE]
    start = begin(h, vector([F(0)]), 2)
    return Forked(problem, h, start, local_models(h, start, clients, 1), one_round(h, start, clients).x)


@claim(
    "fed-lamb.lemma-2",
    statement="||mean of f_i'(x_(r,i)) / sqrt(v)||^2 >= ||f'(x_r)/sqrt(v)||^2 / 2 - L_bar alpha^2 M^2 phi_M^2 (1 - "
    "beta2) p / v0, T = 1, with x_r the model that the round begins with (as in the proof of Lemma 1); and with x_r "
    "the mean that it ends with",
    source="Lemma 2, eq. (3) (L213) and L540",
    severity=Severity.FALSE_RESULT,
    assumptions={"H1": H1, "H2": H2, "H4": H4, "setting": SETTING},
)
def lemma_2() -> Finding:
    """Counterexamples: one client steps to the minimum; two equal clients step apart, and their gradients cancel."""
    problem, h = Problem(((huber(F(1)),),), (1,)), lamb(eta_l=F(9, 10), beta2=F(999, 1000))
    state = begin(h, vector([F(9, 10)]), 1)
    k = Constants(alpha=h.eta_l, beta2=h.beta2, L_bar=F(1))
    begun = refutation(
        instance=f"x^2/2 (a line beyond |x| = 1), one client, from x = {state.x[0]}: alpha = {h.eta_l}, beta2 = "
        f"{h.beta2}, v0 = {h.v0}",
        conditions={
            **noiseless(h, problem, k.M),
            "L_bar = 1": k.L_bar == 1,
            "v_hat of this round is v0": state.v_hat[0] == h.v0,
        },
        left=squared(at_locals(problem, local_models(h, state, problem.clients, 1))) / h.v0,
        right=squared(problem.gradient(state.x)) / h.v0 / 2 - bounds.lemma_2(k),
        again=F(9, 10) ** 2 / 2 - F(9, 10) ** 2 * F(1, 1000),
        relation=">=",
    )
    a = forked()
    ended = refutation(
        instance=f"the other reading: {FORKED}; local models {as_text(a.models[:, 0])}, mean {as_text(a.mean)}",
        conditions=a.conditions,
        left=squared(at_locals(a.problem, a.models)) / a.h.v0,
        right=squared(a.problem.gradient(a.mean)) / a.h.v0 / 2 - bounds.lemma_2(a.constants),
        relation=">=",
    )
    printed = Inequality(partial(pulled, T=1), {**HOLDS, "H2": lambda w: w.bounded_as_claimed}, _printed)
    return beside(all_refuted(begun, ended), printed, TRIES // 2)


def _gradients(w: Walk, x_r: Vector) -> tuple[Any, Any]:
    """Both squares over v_hat: half of the gradient's square at x_r, and the square of the mean of gradients."""
    v_hat = w.start.v_hat
    there, mean = w.problem.gradient(x_r), at_locals(w.problem, w.ends)
    return sum(there**2 / v_hat) / 2, sum(mean**2 / v_hat)


def _readings(w: Walk) -> tuple[Vector, Vector]:
    """x_r: the mean that the round ends with, and the model that it begins with."""
    return w.mean, w.start.x


def _printed(w: Walk) -> Iterator[Sides]:
    for x_r in _readings(w):
        left, right = _gradients(w, x_r)
        yield left, right + bounds.lemma_2(w.constants)


def _repaired(w: Walk) -> Iterator[Sides]:
    sharp = w.lipschitz**2 / w.w**2
    for x_r in _readings(w):
        left, right = _gradients(w, x_r)
        spread = sum(squared(x - x_r) for x in w.ends) / w.n
        yield left, {"gradients": right, "distances": sharp * spread}
        reach = (w.h.eta_l * w.phi_M) ** 2 * w.Lay * w.T**2
        yield left, {"gradients, with reach": right, "reach": sharp * reach}


MET = {
    "H1": "no client's gradient changes faster than Lam",
    **lemma_1.LENGTHS,
}
HOLDS = {"H1": lambda w: w.smooth_as_claimed, **lemma_1.HOLDS}


SLOPED = Problem(((huber(F(1), reach=F(20)),), (Piecewise((F(0), F(2)), (F(-1, 100), F(-1, 100))),)), (1,))
WITHOUT = {
    "H1": plain(problem=SLOPED, x=vector([F(1)]), lipschitz=F(1, 8), options=(("eta_l", F(9, 10)),)),
    "H4": plain(problem=SLOPED, x=vector([F(9)]), options=(("eta_l", F(1, 2)), ("phi", Phi.IDENTITY))),
    "normalised": plain(
        problem=SLOPED, x=vector([F(9)]), options=(("eta_l", F(1, 2)), ("normalisation", Normalisation.NONE))
    ),
}
"""Two clients: with too small a Lipschitz constant claimed, with phi(a) = a, without normalisation."""


@claim(
    "fed-lamb.lemma-2-repaired",
    statement="The same, in both readings of x_r, with (Lam^2 / v0) 1/n sum_i ||x_(r,i) - x_r||^2 taken off, hence "
    "with Lam^2 alpha^2 phi_M^2 Lay T^2 / v0; any T, lam, beta1",
    source="Lemma 2, eq. (3) (L213)",
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
    assumptions=MET,
)
def repaired() -> Finding:
    """Uses L546, the squared Lipschitz constant, v_hat >= v0 and the corrected Lemma 1."""
    return checked(Inequality(pulled, HOLDS, _repaired), TRIES, WITHOUT)
