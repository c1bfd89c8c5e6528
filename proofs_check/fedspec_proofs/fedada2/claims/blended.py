"""Theorem 25, blended optimisation, and Lemma 26: false as printed, and a bound under the relaxed rule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms import fedblended
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Severity, claim
from fedspec_proofs.engines import Choose, Draw, Statement, all_proved, decide, every, exact, several
from fedspec_proofs.engines.search import Inequality, Sides, searched
from fedspec_proofs.fedada2.claims.derivation import derived, fits_gamma, symbols
from fedspec_proofs.fedada2.claims.strategies import Local2, bounds, local, steps
from fedspec_proofs.fedada2.kit import runs
from fedspec_proofs.fedada2.kit.bounds import Constants, Setting
from fedspec_proofs.fedada2.kit.conditions import PRINTED
from fedspec_proofs.fedada2.kit.problems import BALANCED
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.fedada2.kit.three_clients import rates, setting, unmoved
from fedspec_proofs.fedada2.kit.typed import Typed
from fedspec_proofs.kit.adding import confirmed, in_setting

THEOREM = "Theorem 25 (L1189)"
LEMMA = "Lemma 26 (L1213)"


@claim(
    "fedada2.lemma-26",
    statement="|Delta_i| <= eta_l Xi+ K (K + 1) A G/(2 m) in every coordinate, for every strategy of the (relaxed) "
    "rule",
    source=LEMMA,
    extent=Extent.WHOLE,
    assumptions={"bounded": "Assumption 2: |g| <= G"},
)
def lemma_26() -> Finding:
    """Induction over a step's gradients and over the steps; confirmed by a search through the specification's solvers.

    It is loose, (K + 1)/2 times what one weight a step gives. The bound on the server's step is that of Lemma 16 with
    this Phi_1.
    """
    return confirmed(lemma_26_parts(), searched(_changes(1.0), 800), 800)


def lemma_26_parts() -> tuple[Finding, ...]:
    """Proofs of the two inductions."""
    return decide(_one_more_gradient, sample=_same_sign, ablate=False), decide(_one_more_step, ablate=False)


def _one_more_gradient(draw: Draw) -> Statement:
    """|sum_(l <= n) a_l g_l| <= n A G, from n to n + 1."""
    total, n, a, A, g, G = several(draw, "sum, n, a, A, g, G")
    given = {
        "so far": every(n >= 0, total <= n * A * G, -total <= n * A * G),
        "weights": every(a >= 0, a <= A),
        "|g| <= G": every(g <= G, -g <= G),
    }
    after = total + a * g
    return Statement(given, {"(n + 1) A G": every(after <= (n + 1) * A * G, -after <= (n + 1) * A * G)})


def _one_more_step(draw: Draw) -> Statement:
    """|sum_(q <= p) s_q/theta_q| <= p (p + 1) A G/(2 m), from p to p + 1, where |s_q| <= q A G."""
    total, p, s, theta, m, AG = several(draw, "sum, p, s, theta, m, A G")
    given = {
        "so far": every(p >= 0, 2 * m * total <= p * (p + 1) * AG, -2 * m * total <= p * (p + 1) * AG),
        "the step": every(s <= (p + 1) * AG, -s <= (p + 1) * AG),
        "theta >= m > 0": every(theta >= m, m > 0),
    }
    after = 2 * m * (total + s / theta)
    top = (p + 1) * (p + 2) * AG
    return Statement(given, {"(p + 1) (p + 2) A G/(2 m)": every(after <= top, -after <= top)})


def _same_sign(rng: np.random.Generator) -> dict[str, Fraction]:
    n, a, g = (F(int(rng.integers(0, 5))) for _ in range(3))
    return {"n": n, "a": a, "A": a, "g": g, "G": g, "sum": n * a * g}


def _changes(factor: float) -> Inequality[Local2]:
    def sides(s: Local2) -> Iterable[Sides]:
        _, A, m = bounds(s)
        K = len(s.g)
        total = sum(float(moved[0]) for moved in steps(s.strategy, s.h, s.g))
        yield s.w * abs(total), factor * s.eta_l * s.w * K * (K + 1) * A * s.G / (2 * m)

    return Inequality(local, {"bounded": lambda s: bool(max(abs(s.g)) <= s.G)}, sides)


def constants(s: Setting, *, a: Any, A: Any, m: Any, M: Any, low: Any, high: Any) -> Constants:
    """Constants of Theorem 25 (L1189), where low and high are Xi- and Xi+."""
    alpha1 = low * a / (s.K * (s.K + 1) * M)
    C = high**2 * s.K * (s.K + 1) * A**2 / (2 * alpha1 * s.tau * m**2)
    phi = s.eta_l * high * s.K * (s.K + 1) * A * s.G / (2 * m)
    return Constants(phi, s.eta_l * low * a / M, C)


@claim(
    "fedada2.theorem-25",
    statement="The bound of Theorem 20 with C, gamma1 and alpha1 of Theorem 25 holds for Algorithm 5",
    source=THEOREM,
    severity=Severity.FALSE_RESULT,
    assumptions={
        **PRINTED,
        "update rule": "the strategies' steps have the form of L1193, m <= theta <= M and 0 < a <= a_l <= A",
        "1 <= K(O) <= K": "local steps",
        "Xi- < w < Xi+": "the strategies' weights",
    },
    chain="theorem-25-sgd theorem-25-adagrad theorem-25-adam lemma-26 l882 l922 eq-11 lemma-22 lemma-21",
)
def theorem_25() -> Finding:
    """All clients run AdaGrad for one step, which satisfies the printed rule: a_1 = 1, theta_1 = |g_1| + eps."""
    h = fedblended.FedBlended(**rates(), beta1_l=F(0), beta2_l=F(0))
    a, m, M, low, high, w = F(1), F(1), F(2), F(1, 2), F(2), F(1)
    k = constants(setting(h), a=a, A=a, m=m, M=M, low=low, high=high)
    slopes = [abs(client(0, exact.vector(0))[0]) for client in BALANCED.clients]
    return unmoved(
        fedblended.step,
        h,
        k,
        {
            "1 <= K(O) <= K = 1": setting(h).K == 1,
            f"0 < {low} = Xi- < w = {w} < Xi+ = {high}": 0 < low < w < high,
            "m = eps <= theta = |g| + eps <= M = G + eps": m == h.eps
            and all(m <= slope + h.eps <= M for slope in slopes)
            and setting(h).G + h.eps == M,
        },
        f"all with AdaGrad, w = {w}",
        # Lemma 26: Xi+ K (K+1) A G/(2 m); Xi- a/M; C with 1/alpha1 = K (K+1) M/(Xi- a) = 8.
        Typed(phi=2, gamma=1 / 4, factor=2**2 * 2 * 8 / 2),
        strategies=("adagrad",) * 3,
        scales=(w,) * 3,
    )


def _strategies(choose: Choose, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    h = fedblended.FedBlended(**common, beta1_l=choose.of(F(1, 2), F(0)), beta2_l=choose.of(F(3, 4), F(1, 2)))
    return h, {"strategies": choose.of("adagrad", "sgd", "adam"), "scales": choose.of(F(1), F(1, 2))}


def blended_constants(case: runs.Case, s: Setting) -> Constants:
    """Constants of the strategy that all clients run, with Xi- and Xi+ arbitrarily close to its weight."""
    strategy, w = case.who.strategies[0], case.who.scales[0]
    eps, G = case.h.eps, s.G
    if strategy == "sgd":
        return constants(s, a=F(1), A=F(1), m=F(1), M=F(1), low=w, high=w)
    top = float(s.K) ** 0.5 * float(G) + float(eps) if strategy == "adagrad" else float(G + eps)
    least = F(1) if strategy == "adagrad" else 1 - case.h.beta1_l
    return constants(s, a=least, A=F(1), m=eps, M=F(top), low=w, high=w)


def _smallest_weight(draw: Draw) -> Statement:
    """w (a_(p,p) + the a of older gradients)/theta_p >= Xi- a/M, times theta_p M."""
    w, newest, older, theta, low, a, M = several(draw, "w, a_(p,p), older, theta, Xi-, a, M")
    given = {
        "weights": every(w >= low, low > 0, newest >= a, a > 0, older >= 0),
        "theta": every(theta > 0, theta <= M),
    }
    return Statement(given, {"a step": w * (newest + older) * M >= low * a * theta})


def _one_more_weight(draw: Draw) -> Statement:
    """Step from k steps to k + 1, and from some of a round's clients to one more."""
    total, k, least, step = several(draw, "sum, k, least, step")
    mean, one, share, fewest = several(draw, "mean, one, share, K^-")
    given = {
        "so far": every(total >= k * least, mean >= fewest * least),
        "one more": every(step >= least, one >= fewest * least),
        "share": every(share >= 0, share <= 1),
    }
    shown = {
        "(k + 1) times": total + step >= (k + 1) * least,
        "in the mean": (1 - share) * mean + share * one >= fewest * least,
    }
    return Statement(given, shown)


def _at_least(rng: np.random.Generator) -> dict[str, Fraction]:
    low, a, theta, least, k = (F(int(rng.integers(1, 9)), 4) for _ in range(5))
    given = {"w": 2 * low, "Xi-": low, "a_(p,p)": a, "a": a, "older": low, "theta": theta, "M": theta + low}
    given |= {"least": least, "k": k, "sum": k * least, "step": 2 * least, "K^-": k, "mean": k * least}
    return given | {"one": 2 * k * least, "share": F(int(rng.integers(0, 5)), 4)}


RULE = {
    "weights": "the relaxed rule: a_(p,p) >= a > 0 and 0 <= a_(p,l) <= A; Xi- < w < Xi+ for the weight w of a client's "
    "change, Xi- > 0",
    "theta": "its denominators: 0 < m <= theta_p <= M",
}


@claim(
    "fedada2.gamma-lower",
    statement="gamma_r, eta_l times the mean over clients of w sum_p sum_(l <= p) a_(p,l)/theta_p, is at least eta_l "
    "K^- Xi- a/M in every coordinate, K^- >= 1 the fewest steps of anybody drawn: at least eta_l Xi- a/M",
    source="ours: gamma_1 of Theorem 25 (L1189) and of Corollaries 27 and 29 (L1435, L1547)",
    assumptions=RULE,
)
def gamma_lower() -> Finding:
    """Proof by the newest gradient of a step alone, then by induction over steps and clients."""
    bodies = {"a step": _smallest_weight, "one more": _one_more_weight}
    return all_proved({name: decide(body, sample=_at_least) for name, body in bodies.items()}, RULE)


SETTING = {
    "weights": RULE["weights"],
    "theta": RULE["theta"] + "; a, A, m and M are those of fedada2.theorem-25-strategies-relaxed where v_0 = m_0 = 0 "
    "on the clients, with SGD anyhow",
    **runs.steps_of("1 to K steps"),
    **runs.SETTING_WORDS,
}


@claim(
    "fedada2.theorem-25-repaired",
    statement="Theorem 25 under the relaxed rule, the same strategy for all clients, with L^2 and D in place of L and "
    "Ltilde |Phi1|^2",
    source=THEOREM,
    engine=Engine.SYMBOLIC,
    extent=Extent.PART,
    assumptions={**runs.WORDS, **runs.DRIFT_WORDS, **SETTING},
    chain="theorem-20-assembly lemma-26 theorem-25-strategies-relaxed gamma-lower",
)
def theorem_25_repaired() -> Finding:
    """SGD, AdaGrad or Adam for all clients, any weight: Theorem 20's sum with K (K + 1)/2 gradients in a change.

    Clients with strategies of their own have it too, with a, A, m and M that hold of all.
    """
    looked = searched(runs.inequality(runs.drawn(_strategies), blended_constants, printed=False), 400, drop=150)
    looked = replace(looked, dropped={**looked.dropped, **_broken()})
    return confirmed([*derived(of_theorem_25), *gamma_1()], in_setting(looked, SETTING), 400)


def _broken() -> dict[str, Dropped]:
    """AdaGrad from a large second moment, and with a small weight; a = A = m = Xi = 1 and M = 2 all the same."""

    def own(case: runs.Case, s: Setting) -> Constants:
        return constants(s, a=F(1), A=F(1), m=F(1), M=F(2), low=F(1), high=F(1))

    h = fedblended.FedBlended(**runs.SLOW, beta1_l=F(0), beta2_l=F(0))
    far = replace(h, v0_l=F(10**12))
    who: dict[str, Any] = {"strategies": ("adagrad",)}
    return {
        **runs.dawdling(h, own, **who, scales=(F(1),)),
        "theta": runs.astray(far, "the client's v_0 = 10^12, M = 2", own, **who, scales=(F(1),)),
        "weights": runs.astray(h, "the client's weight is 10^-6, Xi- = 1", own, **who, scales=(F(1, 10**6),)),
    }


def gamma_1() -> list[Finding]:
    """Proofs that gamma_1 of Theorem 25 is eta_l Xi- a/M."""

    def least(draw: Draw, s: Any) -> Any:
        low, a, M = several(draw, "low, a, M", positive=True)
        return s.eta_l * low * a / M

    return [gamma_lower.body(), fits_gamma(of_theorem_25, least)]


def of_theorem_25(draw: Draw) -> tuple[Any, Constants, Any, Any]:
    """Symbols of Theorem 25: K (K + 1)/2 gradients per change, each with a weight of at most Xi A/m."""
    s, _ = symbols(draw)
    ends = {name: draw(name, positive=True) for name in ("a", "A", "m", "M", "low", "high")}
    return s, constants(s, **ends), s.K * (s.K + 1) / F(2), ends["high"] * ends["A"] / ends["m"]
