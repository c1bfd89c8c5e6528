"""App. E: the constants of FedAvg and FedProx in closed form."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from fedspec.mixing.accumulation import accumulation
from fedspec.mixing.nova import effective_steps, general_weights
from fedspec.readings import NovaWeights, Solver, TauEff
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.bounds import (
    drift,
    rational,
    reach,
    spread,
    squares,
)
from fedspec_proofs.fednova.responses import below_one

STEPS = ((1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3))


def shares(draw: Draw, m: int) -> Any:
    """Positive weights that sum to one."""
    n = draw("n", m, positive=True)
    return n / sum(n)


def _fedavg(steps: tuple[int, ...], solver: Solver = Solver.SGD) -> Body:
    """(121)-(124) less what the accumulation vectors give."""

    def body(draw: Draw) -> Iterable[Any]:
        p = shares(draw, len(steps))
        a = [accumulation(solver, tau, rho=rational(1, 2)) for tau in steps]
        norms = p * 0 + np.array([sum(a_i) for a_i in a], dtype=object)
        w = general_weights(p, norms, NovaWeights.IMPLIED)
        length = effective_steps(p, norms, steps, TauEff.WEIGHTED_NORM)
        mean = sum(p_i * tau for p_i, tau in zip(p, steps, strict=True))
        variance = sum(p_i * tau**2 for p_i, tau in zip(p, steps, strict=True)) - mean**2
        yield length - mean
        yield spread(a, w, length) - len(steps) * sum(p_i**2 * tau for p_i, tau in zip(p, steps, strict=True)) / mean
        yield drift(a, w) - (mean - 1 + variance / mean)
        yield max(map(reach, a)) - max(steps) * (max(steps) - 1)

    return body


@claim(
    "fednova.eq-11",
    statement="FedAvg has tau_eff = E_p tau, A = m sum p_i^2 tau_i / E_p tau, B = E_p tau - 1 + var_p tau / E_p tau, "
    "C = tau_max (tau_max - 1)",
    source=Source(FEDNOVA, "eq. (11) (L181), eqs. (121)-(125) (L719-726)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"sgd": "the local solver is SGD: a_i is a vector of ones"},
)
def fedavg_constants() -> Finding:
    """Five choices of tau_i for two or three clients, every p. For p = 1/m it is (125): A = 1, and so on.

    For any tau: ||a||_1 = ||a||_2^2 = tau. Without the assumption momentum.
    """
    bodies = {f"tau = {steps}": _fedavg(steps) for steps in STEPS}
    return identities(bodies, without={"sgd": {"momentum, tau = (1, 2)": _fedavg((1, 2), Solver.MOMENTUM)}})


def _fedprox(steps: tuple[int, ...], solver: Solver = Solver.PROXIMAL) -> Body:
    """(127)-(131) less what the accumulation vectors give."""

    def body(draw: Draw) -> Iterable[Any]:
        p, alpha = shares(draw, len(steps)), below_one(draw("alpha", positive=True))
        b = 1 - alpha
        a = [accumulation(solver, tau, alpha=alpha) for tau in steps]
        norms = p * 0 + np.array([sum(a_i) for a_i in a], dtype=object)
        w, length = (
            general_weights(p, norms, NovaWeights.IMPLIED),
            effective_steps(p, norms, steps, TauEff.WEIGHTED_NORM),
        )
        r = [1 - b**tau for tau in steps]
        total = sum(p_i * r_i for p_i, r_i in zip(p, r, strict=True))
        second = [(1 - b ** (2 * tau)) / (1 - b**2) for tau in steps]
        for a_i, s_i, w_i, p_i, r_i in zip(a, second, w, p, r, strict=True):
            yield squares(a_i) - s_i
            yield w_i - p_i * r_i / total
        yield length - total / alpha
        yield spread(a, w, length) - len(steps) * alpha / total * sum(
            p_i**2 * s_i for p_i, s_i in zip(p, second, strict=True)
        )
        yield drift(a, w) - sum(p_i * r_i / total * (s_i - 1) for p_i, r_i, s_i in zip(p, r, second, strict=True))
        yield from (reach(a_i) - r_i / alpha * (r_i / alpha - 1) for a_i, r_i in zip(a, r, strict=True))

    return body


@claim(
    "fednova.eq-127",
    statement="The closed forms of w, tau_eff, A, B and of ||a_i||_1 (||a_i||_1 - 1), whose largest is C, for FedProx",
    source=Source(FEDNOVA, "eqs. (127)-(131) (L744-751)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"proximal": "the local solver is proximal SGD"},
)
def fedprox_constants() -> Finding:
    """Five choices of tau_i, every p and alpha. That (131) is at tau_max: ||a||_1 grows with tau. Without the
    assumption SGD."""
    bodies = {f"tau = {steps}": _fedprox(steps) for steps in STEPS}
    return identities(bodies, without={"proximal": {"SGD, tau = (1, 2)": _fedprox((1, 2), Solver.SGD)}}, instances=10)


def _no_pull(steps: tuple[int, ...], alpha: Any = 0) -> Body:
    """FedProx's constants at alpha = 0 less FedAvg's."""

    def body(draw: Draw) -> Iterable[Any]:
        p = shares(draw, len(steps))
        both = []
        for solver, pull in ((Solver.PROXIMAL, alpha), (Solver.SGD, 0)):
            a = [accumulation(solver, tau, alpha=p[0] * 0 + pull) for tau in steps]
            norms = p * 0 + np.array([sum(a_i) for a_i in a], dtype=object)
            w = general_weights(p, norms, NovaWeights.IMPLIED)
            length = effective_steps(p, norms, steps, TauEff.WEIGHTED_NORM)
            both.append((length, spread(a, w, length), drift(a, w), *map(reach, a)))
        yield from (x - y for x, y in zip(*both, strict=True))

    return body


@claim(
    "fednova.eq-132",
    statement="As alpha -> 0 the constants A, B, C of FedProx tend to those of FedAvg",
    source=Source(FEDNOVA, "eq. (132) (L757)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED_AT_SIZES,
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"alpha": "alpha -> 0"},
)
def no_pull() -> Finding:
    """The specification's vectors have no 0/0 at alpha = 0: they are polynomials in alpha, so that the limit of the
    closed forms, which equal them (``fednova.eq-127``), is their value at 0. Without the assumption alpha = 1/2."""
    bodies = {f"tau = {steps}": _no_pull(steps) for steps in STEPS}
    return identities(bodies, without={"alpha": {"tau = (1, 2)": _no_pull((1, 2), rational(1, 2))}})
