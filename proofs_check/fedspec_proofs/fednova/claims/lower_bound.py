"""Lemma 4: FedAvg attains the error floor of Theorem 2 on two quadratics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from fedspec.algorithms.fedavg import FedAvg
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Verdict, claim
from fedspec_proofs.engines import Draw, exact, identities, symbolic
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.symbolic import normal_form, vanishes
from fedspec_proofs.fednova.claims.lemma_1 import mean_round, nearer, slow_down
from fedspec_proofs.fednova.kit.bounds import chi_squared, gradient, least_kappa, rational
from fedspec_proofs.fednova.kit.settings import Setting
from fedspec_proofs.solvers import sympy

STEPS = ((1, 2), (2, 1), (1, 3), (2, 3), (1, 5))

HALF = rational(1, 2)


def _problem(a: Any) -> QuadraticClients:
    """F_1 = (x - a)^2 / 2, F_2 = (x + a)^2 / 2."""
    e = np.array([[a], [-a]], dtype=object)
    return QuadraticClients((e * 0 + 1).reshape(2, 1, 1), e)


def _weights(steps: tuple[int, ...]) -> Any:
    """W_i = tau_i / (tau_1 + tau_2), by the rule."""
    p, tau = exact.vector(HALF, HALF), exact.vector(*steps)
    return general_weights(p, tau, NovaWeights.IMPLIED)


def _limit_squared(a: Any, eta: Any, steps: tuple[int, ...]) -> Any:
    """|grad F|^2 at FedAvg's fixed point."""
    s = Setting(FedAvg(eta_l=eta), _problem(a), steps, (1, 1))
    slope = gradient(s.problem, s.shares(), s.limit())
    return slope @ slope


def _at_zero() -> Iterator[tuple[tuple[int, ...], Any]]:
    """The limit of |grad F|^2 as eta -> 0, by eta = 0 in the reduced fraction, less chi^2 kappa^2."""
    eta, a = sympy.Symbol("eta", positive=True), sympy.Symbol("a", real=True)
    for steps in STEPS:
        w = _weights(steps)
        above, below = sympy.fraction(normal_form(_limit_squared(a, eta, steps)))
        assert below.subs(eta, 0) != 0
        floor = chi_squared((HALF, HALF), w) * least_kappa(_problem(a), w, 1)
        yield steps, (above / below).subs(eta, 0) - floor


@claim(
    "fednova.lemma-4",
    statement="F_1 = (x-a)^2/2, F_2 = (x+a)^2/2, p = 1/2: as eta -> 0 FedAvg's limit has |grad F|^2 = chi^2(p||w) "
    "kappa^2, kappa^2 the smallest for beta^2 = 1, for every tau_1, tau_2",
    source="Lemma 4 (L683), eqs. (114)-(120)",
    extent=Extent.WHOLE,
    assumptions={"rate": "eta -> 0"},
)
def floor_attained() -> Finding:
    """Proof: the limit a (r_1 - r_2) / (r_1 + r_2), r_i = 1 - (1 - eta)^tau_i, tends to a (tau_1 - tau_2) / (tau_1 +
    tau_2) for every tau (as in ``fednova.lemma-1``); its square is chi^2 kappa^2, an identity in tau_1, tau_2 and a. w
    and kappa^2 depend on tau, as in the lemma, with constant 1. Also whole rounds for five pairs of tau.

    kappa^2 is that of these weights. For kappa^2 = a^2, which serves all weights, the ratio is 4 w_1 w_2 and tends to 0
    with w_1: Omega in the lemma is not uniform then.
    """
    general = identities({"the floor": _floor, "a local step": nearer, "q_(n+1)": slow_down, "a round": _round})
    if general.verdict is not Verdict.PROVED:
        return general
    rng, wrong = generator(), []
    for steps, difference in _at_zero():
        if vanishes([difference], rng).zero is not True:
            wrong.append(f"tau = {steps}: {difference}")
    if wrong:
        return Finding(Verdict.REFUTED, "\n".join(wrong))
    count = 0
    for steps in STEPS:
        for a in exact.rationals(rng, 4, low=1):
            w = _weights(steps)
            floor = chi_squared((HALF, HALF), w) * least_kappa(_problem(a), w, 1)
            far, near = (floor - _limit_squared(a, rational(1, 10**k), steps) for k in (6, 9))
            count += 0 < near < far < floor / 1000
    finite = rational(1, 4)
    at, w = _limit_squared(rational(1), finite, (1, 2)), _weights((1, 2))
    floor = chi_squared((HALF, HALF), w) * least_kappa(_problem(rational(1)), w, 1)
    return Finding(
        Verdict.PROVED if count == 4 * len(STEPS) else Verdict.UNKNOWN,
        f"{general.evidence}\ntau in {STEPS}, a symbolic: equality; {count} fractions near it",
        {"rate": Dropped(at < floor, f"eta = 1/4, tau = (1, 2), a = 1: {at} is below {floor}")},
        Second(Engine.EXACT, count, "values of a at which the fixed point's gradient nears the floor with eta"),
    )


def _floor(draw: Draw) -> Iterable[Any]:
    """(a (tau_1 - tau_2) / (tau_1 + tau_2))^2 less chi^2 kappa^2; kappa^2 is what sum w_i |grad F_i - grad F~|^2 is at
    every x."""
    a, tau, x = draw("a"), draw("tau", 2, positive=True), draw("x", 1)
    half = half_of(draw)
    problem, w = _problem(a), general_weights(tau * 0 + half, tau, NovaWeights.IMPLIED)
    centre = gradient(problem, w, x)
    rows = zip(w, (c(0, x) for c in problem.clients), strict=True)
    kappa2 = sum(w_i * ((g - centre) @ (g - centre)) for w_i, g in rows)
    limit = a * (tau[0] - tau[1]) / (tau[0] + tau[1])
    slope = gradient(problem, tau * 0 + half, x * 0 + limit)
    yield slope @ slope - chi_squared((half, half), w) * kappa2


def _round(draw: Draw) -> Iterable[Any]:
    return mean_round(draw, m=2)


def half_of(draw: Draw) -> Any:
    """1/2 as a sympy number or a fraction, whichever ``draw`` gives."""
    return sympy.Rational(1, 2) if draw is symbolic else HALF
