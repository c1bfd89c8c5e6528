"""Theorem 3: FedNova with local steps that change from round to round, w = p.

As printed it has one tau_eff, and then the bound holds as printed. Where FedNova's own tau_eff^(t) = sum p_i
||a_i^(t)||_1 changes with the steps, what holds has averages over the rounds weighted by tau_eff^(t).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fedspec.algorithms.fednova import FedNova
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver, TauEff
from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import by_hand, exact, moments
from fedspec_proofs.fednova.claims.own_tau_eff import Rounds, fails_as_printed, weighted
from fedspec_proofs.fednova.claims.theorem_1 import ONE, bound_over_rounds, far, thrown, two_unlike
from fedspec_proofs.fednova.kit.bounds import (
    Constants,
    gap,
    gradient,
    least_kappa,
    mixed,
    printed,
    tau_eff,
    theorem_1,
    theorem_1_rates,
)
from fedspec_proofs.fednova.kit.runs import ASSUMPTIONS, SCHEDULES, bound, rate
from fedspec_proofs.fednova.kit.settings import Setting, record_of

THEOREM = {
    **ASSUMPTIONS,
    "w = p": "FedNova's own weights, so that F~ = F",
    "weights": "averages over the rounds have the weights tau_eff^(t), which are equal where tau_eff is one",
}


def _mixed(order: tuple[int, ...], tau_eff_choice: TauEff = TauEff.WEIGHTED_NORM) -> tuple[Any, Any]:
    """Both sides for two unlike clients with noise, whose rounds alternate between steps (1, 2), (3, 1), (2, 2)."""
    problem = QuadraticClients(exact.vector(1, 2).reshape(2, 1, 1), exact.vector(0, 2).reshape(2, 1))
    h = record_of(FedNova, eta_l=ONE / 32, tau_eff=2 * ONE, tau_eff_choice=tau_eff_choice)
    kinds = [Setting(h, problem, steps, (1, 1)) for steps in ((1, 2), (3, 1), (2, 2))]
    p, eta, sigma2 = kinds[0].shares(), rate(kinds[0]), ONE / 4
    beta2 = 2 * ONE
    kappa2 = least_kappa(problem, p, beta2)
    maps = [moments.affine(s.round, 1, sum(s.steps)) for s in kinds]
    H, e = mixed(p, problem.H), -mixed(p, problem.e)
    now = moments.start(exact.vector(2))
    rounds: Rounds = []
    for k in order:
        assert all(theorem_1_rates(printed(kinds[k]), eta=eta, L=2 * ONE, beta2=beta2))
        rounds.append((tau_eff(kinds[k]), moments.second_moment(now, H, e)))
        now = moments.push(maps[k], now, sigma2)
    lengths = [length for length, _ in rounds]
    each = [printed(kinds[k]) for k in order]

    def averaged(name: str) -> Any:
        return sum(n * getattr(c, name) for n, c in zip(lengths, each, strict=True)) / sum(lengths)

    c = Constants(averaged("A"), averaged("B"), averaged("C"), sum(lengths) / len(order))
    start = gap(problem, p, exact.vector(2))
    right = theorem_1(c, gap=start, eta=eta, L=2 * ONE, sigma2=sigma2, kappa2=kappa2, m=2, T=len(order))
    return weighted(rounds), right


def _runs() -> Finding:
    """The bound at runs with FedNova's own tau_eff^(t), and with one for all rounds."""
    orders = ((0, 1, 2) * 16, (0,) * 24 + (1,) * 24, (2, 1) * 32)
    sides = [_mixed(order, choice) for order in orders for choice in (TauEff.WEIGHTED_NORM, TauEff.FIXED)]
    largest = max(float(left / right) for left, right in sides)
    words = f"{len(sides)} runs of two clients whose steps change, exact moments: largest left/right {largest:.3g}"
    return Finding(Verdict.CHECKED if largest <= 1 else Verdict.REFUTED, words)


def _slow() -> Setting:
    """A client with F = x^2/2, one local step at eta = 1/4."""
    problem = QuadraticClients(exact.vector(1).reshape(1, 1, 1), exact.vector(0).reshape(1, 1))
    return Setting(FedNova(eta_l=ONE / 4), problem, (1,), (1,))


def _without() -> dict[str, Dropped]:
    """Instances of Theorem 1, whose equal rounds have w = p, and the instances of this file."""
    claimed = bound(SCHEDULES, printed)
    still = replace(thrown(), s=_slow(), x=exact.vector(0), variance=ONE, sigma2=0 * ONE)
    found = {
        "smooth": by_hand(claimed, "smooth", "one client, eta = 1, tau_eff = 4, L said 1/8", far(L=ONE / 8)),
        "variance": by_hand(claimed, "variance", "one client from its minimum with noise, sigma said 0", still),
        "dissimilar": by_hand(claimed, "dissimilar", "two clients, kappa^2 said 0", two_unlike(Solver.SGD)),
        "rate": by_hand(claimed, "rate", "one client, one step at eta L = 1, tau_eff = 4", far()),
        "drift": by_hand(claimed, "drift", "one client, two steps at eta L = 4, tau_eff = 1/8", thrown()),
    }
    plain = fails_as_printed.body()
    words = f"with plain averages: {plain.evidence.splitlines()[0]}"
    return {**found, "w = p": _at_rest(), "weights": Dropped(plain.verdict is Verdict.REFUTED, words)}


def _at_rest() -> Dropped:
    """Weights of FedAvg, at whose fixed point the gradient of F doesn't vanish, for any number of rounds."""
    problem = QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(0, 2).reshape(2, 1))
    h = FedNova(eta_l=ONE / 64, nova_weights=NovaWeights.IMPLIED)
    s = Setting(h, problem, (1, 4), (1, 1))
    x, p, T = s.limit(), s.shares(), 10**6
    slope, c = gradient(problem, p, x), printed(s)
    kappa2 = least_kappa(problem, p, ONE)
    right = theorem_1(c, gap=gap(problem, p, x), eta=rate(s), L=ONE, sigma2=0 * ONE, kappa2=kappa2, m=2, T=T)
    rates = all(theorem_1_rates(c, eta=rate(s), L=ONE, beta2=ONE))
    stays = (s.round(x) == x).all()
    left = slope @ slope
    words = f"w of eq. (6), tau = (1, 4), eta = 1/64, T = {T}: |grad F|^2 = {float(left):.4g} > {float(right):.4g}"
    return Dropped(bool(left > right and rates and stays), words)


@claim(
    "fednova.theorem-3",
    statement="FedNova, w = p, with SGD, decayed rates or momentum; steps, rates of decay and tau_eff^(t) change from "
    "round to round: (147) with averages over the rounds weighted by tau_eff^(t); as printed, with plain averages, "
    "where tau_eff is one. FedProx is not covered, and the rate O(1/sqrt(m tau~ T)), its constants hidden, is not "
    "derived",
    source="Theorem 3 (L208) as eq. (147) (L817)",
    extent=Extent.PART,
    assumptions=THEOREM,
    chain="rounds-assembly",
)
def holds_for_changing_steps() -> Finding:
    """Proof by chaining the rounds of Theorem 1: the bound of each round doesn't depend on the other rounds.

    Held to runs of two clients with three kinds of rounds.
    """
    return bound_over_rounds(replace(_runs(), dropped=_without()))
