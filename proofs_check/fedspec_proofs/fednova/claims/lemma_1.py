"""Lemma 1: FedAvg on F_i = |x - e_i|^2 / 2, at fixed rates and in the limit eta -> 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from fedspec.algorithms import fedavg
from fedspec.algorithms.fedavg import FedAvg
from fedspec.client.sgd import sgd
from fedspec.linear import eye
from fedspec.plan import Message
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.claim import Dropped, Engine, Finding, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Statement, all_proved, curried, decide, every, exact, several
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.claims.limits import blank
from fedspec_proofs.fednova.claims.small_rate import iso, small
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.fednova.kit.settings import Setting
from fedspec_proofs.solvers import sympy


@curried
def _unequal(draw: Draw, steps: tuple[int, ...], *, mixed: bool = False) -> Iterable[Any]:
    """Eq. (29) as a fixed point of FedAvg's round, and its difference from eq. (30), times their denominators."""
    e = draw("e", 2)
    drawn = draw("eta", positive=True)
    eta: Any = drawn / 97 if isinstance(drawn, Fraction) else drawn
    first, *_ = blank()
    H = first.H + 0 * eta
    if mixed:
        H[1, 0, 0] = H[1, 0, 0] * 2
    s = Setting(FedAvg(eta_l=eta), replace(first, H=H, e=e.reshape(2, 1)), steps, (1, 1))
    r = [1 - (1 - eta) ** tau for tau in steps]
    limit = (r[0] * e[0] + r[1] * e[1]) / (r[0] + r[1])
    yield s.round(e[:1] * 0 + limit)[0] - limit


@claim(
    "fednova.eq-29",
    statement="For H_i = I, p_i = 1/m FedAvg's fixed point is sum [1-(1-eta)^tau_i] e_i / sum [1-(1-eta)^tau_i], "
    "whatever eta and tau_i",
    source="eq. (29) (L381), in the proof of Lemma 1 (L70)",
    sizes="up to three clients, d = 2",
    assumptions={"curvature": "H_i = I for both clients"},
)
def finite_rate() -> Finding:
    """Proof for every tau_i by induction over a local step; then the round, from the changes it yields. For 0 < eta < 1
    the fixed point attracts, by ``fednova.lemma-1``.

    Beside it whole rounds, for two clients of one coordinate and four pairs of tau up to 4; without the assumption H =
    (1, 2)."""
    bodies = {f"tau = {steps}": _unequal(steps) for steps in ((1, 2), (2, 3), (1, 4), (3, 3))}
    bodies |= {"from n to n + 1 steps": nearer} | {f"round, m = {m}": partial(mean_round, m=m) for m in (1, 2, 3)}
    return identities(bodies, without={"curvature": {"tau = (1, 2)": _unequal((1, 2), mixed=True)}})


def nearer(draw: Draw) -> Iterable[Any]:
    """A local step from e + B (x - e), B = (1 - eta)^n, leads to e + (1 - eta) B (x - e)."""
    eta, B, x, e = draw("eta", positive=True), draw("B"), draw("x", 2), draw("e", 2)
    H = np.stack([eye(np.array([[eta, eta], [eta, eta]], dtype=object))])
    now = e + B * (x - e)
    (g,) = QuadraticClients(H, e[None]).clients
    yield from sgd(now, g(0, now), eta_l=eta) - (e + (1 - eta) * B * (x - e))


def mean_round(draw: Draw, m: int) -> Iterable[Any]:
    """Server step for changes -r_i (x - e_i), r_i = 1 - (1 - eta)^tau_i: x' - x~ = (1 - mean r) (x - x~)."""
    x, e, r = draw("x", 2), draw("e", m, 2), draw("r", m, positive=True)
    messages = [Message(delta=-r_i * (x - e_i), examples=1, steps=1, a_norm=1) for r_i, e_i in zip(r, e, strict=True)]
    after, _ = fedavg.server(FedAvg(eta_l=1), x, messages)
    limit = r @ e / sum(r)
    yield from after - limit - (1 - sum(r) / m) * (x - limit)


def slow_down(draw: Draw) -> Iterable[Any]:
    """r_n = 1 - (1 - eta)^n is eta q_n with q_(n+1) = (1 - eta) q_n + 1, a polynomial in eta that is n at eta = 0."""
    eta, q = draw("eta", positive=True), draw("q")
    yield 1 - (1 - eta) * (1 - eta * q) - eta * ((1 - eta) * q + 1)


def _attracts(draw: Draw) -> Statement:
    """0 < B <= 1 for B = (1 - eta)^n; r = 1 - B of (0, 1] for n >= 1; the mean of one more of them is in (0, 1]."""
    eta, B, k, mean_r, r = several(draw, "eta, B, k, mean_r, r")
    so_far = [B > 0, B <= 1, k >= 1, mean_r > 0, mean_r <= 1, r > 0, r <= 1]
    more = (k * mean_r + r) / (k + 1)
    return Statement(
        {"rate": every(eta > 0, eta < 1), "so far": every(*so_far)},
        {
            "power": every((1 - eta) * B > 0, (1 - eta) * B <= 1),
            "1 - (1 - eta)^(n+1) is in (0, 1]": every(1 - (1 - eta) * B > 0, 1 - (1 - eta) * B <= 1),
            "the mean is in (0, 1]": every(more > 0, more <= 1),
        },
    )


def _rate_below_one(rng: np.random.Generator) -> dict[str, Fraction]:
    eta, n, r = (int(v) for v in rng.integers(1, 8, size=3))
    near = rational(eta, 8)
    return {"eta": near, "B": (1 - near) ** n, "k": rational(n), "mean_r": rational(eta, 7), "r": rational(r, 7)}


@claim(
    "fednova.lemma-1",
    statement="F_i = |x - e_i|^2 / 2, p_i = 1/m: FedAvg converges at every rate of (0, 1), and its limit tends to sum "
    "tau_i e_i / sum tau_i, the minimiser of sum tau_i F_i, as eta -> 0",
    source="Lemma 1 (L70), whose sufficiently small rate is the limit eta -> 0 of eq. (30) (L385)",
    engine=Engine.SYMBOLIC,
    sizes="up to three clients, d = 2",
    assumptions={"small": "eta -> 0", "rate": "0 < eta < 1"},
)
def every_tau() -> Finding:
    """Proof for every tau_i. The round is x' - x~ = (1 - mean r) (x - x~), x~ = sum r_i e_i / sum r_i, r_i = 1 - (1
    - eta)^tau_i (``fednova.eq-29``); the mean of the r_i is in (0, 1] for any number of clients; r_i = eta q_i, q_i
    polynomials in eta that are tau_i at 0. Counterexamples: eta = 1/4 and eta = 5/2.
    """
    bodies: dict[str, Body] = {"from n to n + 1 steps": nearer, "q_(n+1)": slow_down}
    bodies |= {f"round, m = {m}": partial(mean_round, m=m) for m in (1, 2, 3)}
    parts = {
        "the round": identities(bodies),
        "it attracts": decide(_attracts, sample=_rate_below_one, ablate=False),
        "the minimiser": identities({f"m = {m}": partial(_weighted_mean, m=m) for m in (1, 2, 3)}),
    }
    near, far = iso(FedAvg(eta_l=rational(1, 4)), (1, 2)), iso(FedAvg(eta_l=rational(5, 2)), (1, 3))
    M = far.linear_part(exact.vector(0))[0, 0]
    dropped = {
        "small": Dropped(near.limit()[0] != rational(2, 3), f"eta = 1/4, e = (0, 1), tau = (1, 2): {near.limit()[0]}"),
        "rate": Dropped(abs(M) >= 1, f"eta = 5/2, tau = (1, 3): the factor of a round is {M}"),
    }
    return replace(all_proved(parts, ()), dropped=dropped)


def _weighted_mean(draw: Draw, m: int) -> Iterable[Any]:
    """sum tau_i e_i / sum tau_i less the minimiser of sum tau_i F_i."""
    tau, e = draw("tau", m, positive=True), draw("e", m, 2)
    H = np.stack([eye(np.array([[tau[0]] * 2] * 2, dtype=object))] * m)
    yield from tau @ e / sum(tau) - QuadraticClients(H, e).minimiser(tau)


@claim(
    "fednova.lemma-1-fixed-rate",
    statement="Lemma 1 read at one rate: for some eta > 0, however small, FedAvg's limit is sum tau_i e_i / sum tau_i",
    source="ours, about Lemma 1 (L70), which its proof shows for the limit eta -> 0, eq. (30) (L385)",
    verdict=Verdict.REFUTED,
    assumptions={
        "objective": "F_i = |x - e_i|^2 / 2, p_i = 1/m, eq. (3)",
        "exact": "the gradients are exact and every client takes part",
        "rate": "eta is one small number and does not tend to zero",
    },
)
def not_at_a_fixed_rate() -> Finding:
    """Counterexample: only the limit as eta -> 0 is that point (eq. (30), which holds); no fixed rate gives it.

    The limit is (2 - eta) / (3 - eta) for e = (0, 1), tau = (1, 2), which differs from 2/3 by eta / (3 (3 - eta)). Ten
    rates are run; the double limit is ``fednova.limit-small-rate``.
    """
    rates = [rational(1, 10**k) for k in range(10)]
    settings = [iso(FedAvg(eta_l=eta), (1, 2)) for eta in rates]
    limits = [s.limit()[0] for s in settings]
    formula = all(2 - 3 * x == eta / (3 - eta) for x, eta in zip(limits, rates, strict=True))
    return refutation(
        instance="F_i = (x - e_i)^2 / 2, e = (0, 1), tau = (1, 2), eta = 1, 1/10, ..., 10^-9, everybody takes "
        "part, gradients are exact; the distance at the last",
        conditions={
            "H = 1 and p = 1/2 for both, eq. (3)": all(
                (s.problem.H == 1).all() and (s.shares() == rational(1, 2)).all() for s in settings
            ),
            "each limit is a fixed point of the round": all((s.round(s.limit()) == s.limit()).all() for s in settings),
            "and attracts: |M| < 1": all(abs(s.linear_part(exact.vector(0))[0, 0]) < 1 for s in settings),
            "2/3 less the limit is eta / (3 (3 - eta)) at every one": formula,
            "and so at every rate: the limit is (2 - eta) / (3 - eta), eta a symbol": sympy.cancel(
                iso(FedAvg(eta_l=small()), (1, 2)).limit()[0] - (2 - small()) / (3 - small())
            )
            == 0,
        },
        left=rational(2, 3) - limits[-1],
        right=rational(0),
        relation="=",
    )
