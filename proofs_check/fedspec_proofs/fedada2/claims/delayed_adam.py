"""Appendix E: Adam with delayed updates, Lemma 28 and Corollary 27."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from fedspec.algorithms import fedadaadam
from fedspec.client.admu import admu, begin
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Severity, Verdict, claim, refutation
from fedspec_proofs.engines import Choose, Inequality, Sides, enclosure, exact, searched
from fedspec_proofs.fedada2.claims.blended import constants, gamma_1, of_theorem_25
from fedspec_proofs.fedada2.claims.derivation import derived
from fedspec_proofs.fedada2.kit import runs
from fedspec_proofs.fedada2.kit.bounds import Constants, Setting
from fedspec_proofs.fedada2.kit.conditions import LOCAL, PRINTED, lipschitz, ramp
from fedspec_proofs.fedada2.kit.local_runs import MET, WORDS, Local, admu_change, drawn
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.fedada2.kit.three_clients import rates, setting, unmoved
from fedspec_proofs.fedada2.kit.typed import Typed
from fedspec_proofs.kit.adding import confirmed, in_setting

LEMMA = "Lemma 28 (L1448)"
COROLLARY = "Corollary 27 (L1435)"


def _run(gradient: Callable[[Any], Any], K: int, **more: Any) -> tuple[list[Any], list[Any]]:
    """Models of one client on the line, from 0, and the gradients it used; m_0 = v_0 = 0, the default."""
    state = begin(exact.vector(0))
    xs, g = [state.x[0]], []
    for _ in range(K):
        used = gradient(state.x)
        state = admu(state, used, **more)
        g.append(used[0])
        xs.append(state.x[0])
    return xs, g


@claim(
    "fedada2.lemma-28",
    statement="|Delta_i| <= |Xi| (eta_l K sqrt(sum_r beta1^(2n-2r)/beta2^(n-r)) + K G eta_l (1 - beta1^K)/eps) for "
    "Algorithm 8",
    source=LEMMA,
    severity=Severity.FALSE_RESULT,
    assumptions=LOCAL,
)
def lemma() -> Finding:
    """The algorithm's box divides the first moment by 1 - beta1^k, the proof does not.

    The gradients are those of a smooth convex function at the models of the run: full-batch clients are meant as well.
    """
    beta1, beta2, eps, eta_l, G = F(9, 10), F(999, 1000), F(1, 1000), F(1), F(1)
    eps_s, L, first = F(1, 10**4), F(1100), F(1, 10**6)

    def gradient(x: Any) -> Any:
        return ramp(x, L, first)

    rates_ = {"eta_l": eta_l, "beta1": beta1, "beta2": beta2, "eps": eps, "eps_s": eps_s}
    K = z = 2
    xs, g = _run(gradient, K, z=z, **rates_)
    return refutation(
        instance="d = 1, K = z = 2, beta1 = 9/10, beta2 = 999/1000, eps = 1/1000, eps_s = 10^-4, eta_l = Xi = 1, from "
        f"x = 0 with the full-batch gradient max(-1, min(1, 1100 x + 10^-6)) of a convex F: {g[0]}, then {g[1]}",
        conditions={
            "Assumption 1: F is 1100-smooth (z3); the bound has no L": lipschitz(gradient, L),
            "Assumption 2: |F'| <= G = 1 at both models": max(map(abs, g)) <= G,
            "no step falls into the dead zone": min(abs(b - a) for a, b in pairwise(xs)) >= eta_l * eps_s,
            "n = ceil(K/z) = 1, so that the root is 1": -(-K // z) == 1,
        },
        left=abs(xs[-1]),
        right=eta_l * K + K * G * eta_l * (1 - beta1**K) / eps,
        again=2 + 2 * F(19, 100) * 1000,
    )


def _changes(bound: Callable[[Local], float]) -> Inequality[Local]:
    def sides(c: Local) -> Iterable[Sides]:
        return ((float(change), bound(c)) for change in admu_change(c))

    return Inequality(drawn(longest=6, v0=False), MET, sides)


@claim(
    "fedada2.lemma-28-repaired",
    statement="|Delta_i| <= |Xi| eta_l K G/eps for Algorithm 8 with m_0 = v_0 = 0, the default (d = 1, 2; K up to 6)",
    source=LEMMA,
    verdict=Verdict.CHECKED,
    extent=Extent.PART,
    assumptions=WORDS,
)
def lemma_repaired() -> Finding:
    """The corrected first moment is a mean of gradients, hence at most G, and every denominator is at least eps.

    Equality: gradients of 0 at every update and of G elsewhere, with beta1 = 0.
    """
    return searched(_changes(lambda c: abs(float(c.scale)) * float(c.eta_l * c.K * c.G / c.eps)), 800)


@claim(
    "fedada2.corollary-27",
    statement="The bound of Theorem 20 with gamma1, alpha1, Psi3 and Psi4 of Corollary 27 holds for Algorithm 8",
    source=COROLLARY,
    severity=Severity.FALSE_RESULT,
    assumptions={**PRINTED, "eps_w < Xi <= B": "the weights", "1 <= Kbar <= K": "local steps"},
)
def corollary() -> Finding:
    """Adam with K = 1 takes AdaGrad's step, so the three clients of Theorem 20 leave the model where it is."""
    beta1, beta2, low, B = F(1, 2), F(3, 4), F(1, 2), F(1)
    h = fedadaadam.FedAdaAdam(**rates(), beta1_l=beta1, beta2_l=beta2)
    s = setting(h)
    root = s.G * enclosure.sqrt_above(1 - beta2) + s.eps
    gamma1 = s.eta_l * low * (1 - beta1) / root
    alpha1 = low * (1 - beta1) / (root * (s.K + 1) ** 2)
    drift = (1 - beta1 ** (2 * s.K)) * s.K * B**2 / (2 * alpha1 * s.tau * s.eps**2)
    phi = s.eta_l * s.K + s.K * s.G * s.eta_l * (1 - beta1**s.K) / s.eps
    more = {"Xi = 1 <= B and Xi > eps_w = 1/2": low < 1 <= B, "Kbar = K^- = K = 1": setting(h).K == 1}
    words = "clients' beta1 = 1/2, beta2 = 3/4, Xi = B = 1, eps_w = 1/2; Phi1 with Phi_0"
    # K (1 + G (1 - beta1)/eps); eps_w (1 - beta1)/(G sqrt(1 - beta2) + eps); (1 - beta1^2)/(2 alpha1), 1/alpha1 = 24.
    again = Typed(phi=3 / 2, gamma=1 / 6, factor=3 / 4 * 24 / 2)
    return unmoved(fedadaadam.step, h, Constants(phi, gamma1, drift), more, words, again, scales=(F(1),) * 3)


def _adam_clients(choose: Choose, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    h = fedadaadam.FedAdaAdam(**common, beta1_l=choose.of(F(1, 2), F(0)), beta2_l=choose.of(F(3, 4), F(1, 2)))
    return h, {"scales": choose.of(F(1), F(1, 2))}


def _adam_constants(case: runs.Case, s: Setting) -> Constants:
    """Adam in the relaxed rule of Theorem 25: a = 1 - beta1, A = 1, m = eps, M = G + eps."""
    w = case.who.scales[0]
    return constants(s, a=1 - case.h.beta1_l, A=F(1), m=s.eps, M=s.G + s.eps, low=w, high=w)


SETTING = {
    "weights": "Xi- < Xi_i < Xi+ for the weights of the clients' changes, Xi- > 0",
    "start": "m_0 = v_0 = 0 on the clients, corrected moments",
    **runs.steps_of("1 to K steps"),
    **runs.SETTING_WORDS,
}


@claim(
    "fedada2.corollary-27-repaired",
    statement="The bound of Theorem 25, with D and L^2, holds for Algorithm 8: a = 1 - beta1, A = 1, m = eps, M = G "
    "+ eps, with m_0 = v_0 = 0, so that gamma_1 = eta_l Xi- (1 - beta1)/(G + eps)",
    source=COROLLARY,
    engine=Engine.SYMBOLIC,
    extent=Extent.PART,
    assumptions={**runs.WORDS, **runs.DRIFT_WORDS, **SETTING},
    chain="theorem-20-assembly lemma-26 theorem-25-strategies-relaxed gamma-lower",
)
def corollary_repaired() -> Finding:
    """The constants of Corollary 27 belong to uncorrected moments; those of Theorem 25 apply to corrected ones."""
    looked = searched(runs.inequality(runs.drawn(_adam_clients), _adam_constants, printed=False), 400, drop=150)
    looked = replace(looked, dropped={**looked.dropped, **_broken()})
    return confirmed([*derived(of_theorem_25), *gamma_1()], in_setting(looked, SETTING), 400)


def _broken() -> dict[str, Dropped]:
    """Start at a large second moment, with a small weight; Xi- = Xi+ = 1 all the same."""

    def own(case: runs.Case, s: Setting) -> Constants:
        return constants(s, a=F(1), A=F(1), m=s.eps, M=s.G + s.eps, low=F(1), high=F(1))

    h = fedadaadam.FedAdaAdam(**runs.SLOW, beta1_l=F(0), beta2_l=F(1, 2))
    far = replace(h, v0_l=F(10**12))
    return {
        **runs.dawdling(h, own, scales=(F(1),)),
        "start": runs.astray(far, "the client's v_0 = 10^12", own, scales=(F(1),)),
        "weights": runs.astray(h, "the client's weight is 10^-6, Xi- = 1", own, scales=(F(1, 10**6),)),
    }
