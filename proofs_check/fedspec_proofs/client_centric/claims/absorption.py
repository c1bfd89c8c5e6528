"""Gradients at delayed models: in how many rounds a version is used, and the rate that absorbs them."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.algorithms.cc_fedsgd import CCFedSGD, cc_fedsgd, init
from fedspec.plan import Arrival, Setup
from fedspec.population import downloaded
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.client_centric.kit import every_size, term_sums
from fedspec_proofs.client_centric.kit.every_size import prove_each
from fedspec_proofs.client_centric.kit.problems import Clients, huber
from fedspec_proofs.client_centric.kit.regimes import H
from fedspec_proofs.client_centric.kit.term_sums import added_up
from fedspec_proofs.engines import Choose, Inequality, exact, searched
from fedspec_proofs.kit.adding import confirmed


def _hits(delays: tuple[int, ...]) -> int:
    """Number of uses of the most used version, when round t begins from the version delays[t] ago."""
    versions: list[Any] = [np.array([t], dtype=object) for t in range(len(delays))]
    begun = [downloaded(versions[: t + 1], delay)[0] for t, delay in enumerate(delays)]
    return max(begun.count(s) for s in range(len(delays)))


@claim(
    "client-centric.hits",
    statement="sum_t |grad f(x_(t - tau_t))|^2 <= tau sum_t |grad f(x_t)|^2 over t < T, as if every version were begun "
    "from in at most tau rounds",
    source="absorbing the delayed gradients (L1072, second inequality)",
    severity=Severity.CONSTANT,
)
def hits() -> Finding:
    """A version is used in at most tau + 1 rounds: its own round and tau later rounds. K = 1, n = m = 1."""
    delays, client = (0, 1), Clients(((huber(0, 1),),))
    h = CCFedSGD(buffer=1, eta_l=exact.number("1/8"), eta=exact.number(4))
    state = init(h, exact.vector(1), Setup((1,), {"w": (1,)}))
    late, now = Fraction(0), Fraction(0)
    for delay in delays:
        for x, squares in ((downloaded(state.versions, delay), "late"), (state.versions[-1], "now")):
            g = client.gradient(x)
            late, now = (late + g @ g, now) if squares == "late" else (late, now + g @ g)
        state, _ = cc_fedsgd(h, state, [client.oracle(0)], Arrival(0, 1, delay))
    return refutation(
        instance="tau = 1, T = 2, f'(x) = x on [-1, 1], x_0 = 1, CC-FedSGD with eta = 4, eta_l = 1/8: round 0 begins "
        "from x_0 at once, round 1 from x_0 with delay 1",
        conditions={
            "tau_t <= tau": max(delays) <= 1,
            "eta_l <= 1 / (8 K L)": 8 * client.smoothness * h.eta_l <= 1,
            "x_0 is begun from twice": _hits(delays) == 2,
        },
        left=late,
        right=1 * now,
    )


@claim(
    "client-centric.hits-repaired",
    statement="Every version x_s is begun from in at most tau + 1 rounds, so that tau + 1 stands in the place of tau, "
    "and in as many as that for some delays: all plans of six rounds with tau <= 3",
    source="ours: absorbing the delayed gradients (L1072), corrected",
    engine=Engine.EXACT,
    sizes="six rounds, tau <= 3, one client",
    assumptions={"delays": "tau_t <= tau"},
)
def hits_repaired() -> Finding:
    """All delays of up to 6 rounds with tau <= 3, one client; in general only rounds s .. s + tau can use x_s."""
    worst = {}
    for tau in range(4):
        plans = product(*(range(min(t, tau) + 1) for t in range(6)))
        worst[tau] = max(map(_hits, plans))
    holds = all(most == tau + 1 for tau, most in worst.items())
    free = _hits((0, 1, 2, 3))
    return Finding(
        Verdict.PROVED if holds else Verdict.REFUTED,
        f"most uses by tau: {worst}",
        {"delays": Dropped(free > 1, f"delays 0, 1, 2, 3 where tau = 0 is said: {free} uses")},
    )


@dataclass(frozen=True)
class Absorption:
    """Squared gradients by round, with weights a_t eps in (0, 1], delays and constants; L = 1.

    Attributes:
        squares: |grad f(x_t)|^2.
        weights: a_t eps.
        delays: tau_t, the same for all clients.
        tau, K, eta_l, eps: as in the theorem.
    """

    squares: tuple[Fraction, ...]
    weights: tuple[Fraction, ...]
    delays: tuple[int, ...]
    tau: int
    K: int
    eta_l: Fraction
    eps: Fraction


def _absorption(choose: Choose) -> Absorption:
    T, K = choose.whole(1, 5), choose.whole(1, 3)
    tau = choose.whole(0, 3)
    steep = choose.of(
        Fraction(1, 8), Fraction(1, 12), Fraction(1, 16), Fraction(1, 22), Fraction(1, 31), Fraction(1, 4)
    )
    return Absorption(
        squares=tuple(choose.of(Fraction(1), Fraction(0), Fraction(1, 2)) for _ in range(T)),
        weights=tuple(choose.of(Fraction(1, 2), Fraction(1), Fraction(1, 2), Fraction(1, 8)) for _ in range(T)),
        delays=tuple(min(t, choose.whole(0, 3)) for t in range(T)),
        tau=tau,
        K=K,
        eta_l=steep / K,
        eps=choose.of(Fraction(1), Fraction(1, 2), Fraction(1, 16), Fraction(4)),
    )


COMMON = {
    "delays": lambda a: max(a.delays) <= a.tau,
    "local rate": lambda a: 8 * a.K * a.eta_l <= 1,
    "horizon": lambda a: min(a.weights) >= Fraction(1, 2),
}


RATE = {"delay rate": lambda a: 120 * a.eps * a.tau * (a.K * a.eta_l) ** 2 <= 1}


RATE_REPAIRED = {"delay rate": lambda a: 240 * (a.tau + 1) * (a.K * a.eta_l) ** 2 <= 1}


def _sides(a: Absorption) -> tuple[Any, Any]:
    """Both sides of L1069-1073 times eps / (eta eta_l), the negative terms on the right."""
    late = sum(a.squares[t - s] for t, s in enumerate(a.delays))
    rest = sum((w / 2 - Fraction(1, 8)) * g for w, g in zip(a.weights, a.squares, strict=True))
    return 30 * (a.K * a.eta_l) ** 2 * late, rest


def _absorbing(repaired: bool) -> Inequality[Absorption]:
    return Inequality(_absorption, {**COMMON, **(RATE_REPAIRED if repaired else RATE)}, lambda a: [_sides(a)])


@claim(
    "client-centric.delay-rate",
    statement="If eta_l <= 1 / (sqrt(120 eps tau) K_max L), the term with the delayed gradients is absorbed: the sum "
    "of (30 eta eta_l^3 L^2 / eps) K^2 |grad f(x_(t - tau))|^2 - (eta eta_l / 2) a_t |grad f(x_t)|^2 is at most "
    "-(eta eta_l / (8 eps)) sum |grad f(x_t)|^2",
    source="second condition on eta_l (L228, L1066-1073)",
    severity=Severity.CONSTANT,
    assumptions={
        "delays": "tau_(t,i) <= tau",
        "local rate": "eta_l <= 1 / (8 K L)",
        "delay rate": "eta_l <= 1 / (sqrt(120 eps tau) K_max L)",
        "horizon": "eta_l <= eps / (sqrt(T) G)",
        "H": "H_1 eta_l^2 + H_2 eta_l <= eps^2",
    },
)
def delay_rate() -> Finding:
    """Units: eps doesn't belong in the rate; 120 should be 240, tau tau + 1; for tau = 0 it requires nothing.

    One round without delay is enough: v_0 = 0, so a_0 = 1 / eps, the best that a_0 can be.
    """
    one = Absorption((Fraction(1),), (Fraction(1),), (0,), 1, 1, Fraction(1, 8), Fraction(1, 2))
    left, right = _sides(one)
    hundredth: Any = Fraction(1, 100)
    server: Any = SimpleNamespace(eta=hundredth, eta_l=one.eta_l, eps=one.eps, L=1, G=1, C=0, tau=one.tau)
    return refutation(
        instance="T = 1, K = L = 1, tau = 1, eta_l = 1/8, eps = 1/2, v_0 = 0, |grad f(x_0)| = 1 = G",
        conditions={
            "eta_l <= 1 / (8 K L)": COMMON["local rate"](one),
            "eta_l <= 1 / (sqrt(120 eps tau) K L)": RATE["delay rate"](one),
            "eta_l <= eps / (sqrt(T) G)": one.eta_l <= one.eps,
            "delays at most tau": COMMON["delays"](one),
            "H_1 eta_l^2 + H_2 eta_l <= eps^2 with eta = 1/100, beta = 0": H(server) <= one.eps**2,
        },
        left=left,
        right=right,
    )


@claim(
    "client-centric.delay-rate-repaired",
    statement="It is absorbed if 240 (tau + 1) L^2 K_max^2 eta_l^2 <= 1",
    source="ours: second condition on eta_l (L228, L1066-1073), corrected",
    extent=Extent.WHOLE,
    assumptions={
        "delays": "tau_(t,i) <= tau",
        "local rate": "eta_l <= 1 / (8 K L), which the new condition implies",
        "horizon": "a_t >= 1 / (2 eps)",
        "delay rate": "240 (tau + 1) L^2 K_max^2 eta_l^2 <= 1",
    },
)
def delay_rate_repaired() -> Finding:
    """A delay is one of tau + 1 lags, and the terms s rounds ago sum to at most all terms.

    Searched: up to five rounds, all clients with one delay; the same instances that break the printed condition.
    """
    lines = prove_each(every_size.one_more_round, every_size.one_more_lag, sample=every_size.on_the_line)
    looked = searched(_absorbing(True), 4000, drop=1500, least=50)
    return confirmed([*lines, added_up(absorbed=term_sums.absorbed)], looked, 4000)
