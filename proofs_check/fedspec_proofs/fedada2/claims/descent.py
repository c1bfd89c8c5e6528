"""Valid steps of the proof of Theorem 20: change of the server's denominator, Young's inequality, gamma_r."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from math import sqrt

import numpy as np

from fedspec.client.sm3_delayed import begin, sm3_ii_delayed
from fedspec.server.adagrad import adagrad
from fedspec_proofs.claim import Dropped, Extent, Finding, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Inequality, Sides, Statement, decide, every, searched, several
from fedspec_proofs.fedada2.kit.local_runs import HELD, HELD_WORDS, MET, WORDS, Local, drawn
from fedspec_proofs.fedada2.kit.rational import F, second_moment
from fedspec_proofs.fedada2.kit.sm3_inductions import any_cover
from fedspec_proofs.kit.adding import confirmed


def _denominators(draw: Draw) -> Statement:
    """A round of the server from v_(t-1) = a^2 to v_t = b^2; a and b are the roots."""
    a, b, tau, delta = draw("a", 1), draw("b", 1), draw("tau"), draw("delta", 1)
    (v,) = second_moment(adagrad, a * a, delta)
    (left,), (right,), (change,) = a, b, delta
    given = {
        "roots": every(left >= 0, right >= 0, right * right == v),
        "v_(t-1) >= tau^2": left >= tau,
        "tau > 0": tau > 0,
    }
    shown = {
        "tau v_t (b - a) <= Delta_t^2 (a + tau) (b + tau)": tau * v * (right - left)
        <= change * change * (left + tau) * (right + tau),
        "half of it would do": 2 * tau * v * (right - left) <= change * change * (left + tau) * (right + tau),
        "(b + tau) (a + b) >= v_t + tau^2": (right + tau) * (left + right) >= v + tau * tau,
    }
    return Statement(given, shown)


def _roots(rng: np.random.Generator) -> Mapping[str, Fraction]:
    n, scale = int(rng.integers(2, 9)), F(1, int(rng.integers(1, 5)))
    a, delta, b = scale * (n * n - 1), scale * 2 * n, scale * (n * n + 1)
    return {"a_0": a, "delta_0": delta, "b_0": b, "tau": a / int(rng.integers(1, 4))}


@claim(
    "fedada2.l882",
    statement="|1/(sqrt(v_t) + tau) - 1/(sqrt(v_(t-1)) + tau)| <= Delta_t^2 / (tau v_t), by "
    "(sqrt(v_t) + tau)(sqrt(v_(t-1)) + sqrt(v_t)) >= v_t + tau^2",
    source="bound of T_(1,r) in the proof of Theorem 20 (L882-887)",
    extent=Extent.WHOLE,
    assumptions={
        "roots": "a and b are the roots of the second moments before and after",
        "v_(t-1) >= tau^2": "the server's second moment starts at tau^2 or above",
        "tau > 0": "the server's stabiliser",
    },
)
def denominators() -> Finding:
    """v_t is from the server's step; T_(1,r) is this difference times |Delta_r| <= Phi_1 and |grad f| <= G.

    Half of the right side would do, and with it half of Psi5 in Theorem 20.
    """
    return decide(_denominators, sample=_roots)


def _young(draw: Draw) -> Statement:
    u, w, alpha, gamma, eta_l, K = several(draw, "u, w, alpha, gamma, eta_l, K")
    given = {
        "alpha > 0": alpha > 0,
        "alpha = gamma/(2 eta_l K)": every(eta_l > 0, K > 0, 2 * eta_l * K * alpha == gamma),
    }
    shown = {
        "u w <= alpha u^2/2 + w^2/(2 alpha)": u * w <= alpha * u * u / 2 + w * w / (2 * alpha),
        "-gamma + eta_l alpha K/2 = -(3/4) gamma": -gamma + eta_l * alpha * K / 2 == -3 * gamma / 4,
    }
    return Statement(given, shown)


def _young_sample(rng: np.random.Generator) -> Mapping[str, Fraction]:
    alpha, eta_l, K = (F(int(rng.integers(1, 9)), 4) for _ in range(3))
    return {"alpha": alpha, "eta_l": eta_l, "K": K, "gamma": 2 * eta_l * K * alpha}


@claim(
    "fedada2.l906",
    statement="Young's inequality with alpha_r = gamma_r/(2 eta_l K) leaves -(3/4) gamma_r of -gamma_r",
    source="proof of Theorem 20 (L906-915)",
    extent=Extent.WHOLE,
    assumptions={"alpha > 0": "alpha_r may be any positive number", "alpha = gamma/(2 eta_l K)": "the choice made"},
)
def young() -> Finding:
    """Per coordinate: gamma_r and alpha_r are vectors, though the text writes them as numbers."""
    found = decide(_young, sample=_young_sample)
    u = w = F(1)
    alpha = F(-1)
    fails = u * w > alpha * u**2 / 2 + w**2 / (2 * alpha)
    dropped = {**found.dropped, "alpha > 0": Dropped(fails, "u = w = 1, alpha = -1: 1 > -1")}
    return Finding(found.verdict, found.evidence, dropped, found.second)


def ends(draw: Draw) -> Statement:
    """Lower bounds of w, and of q with v_(t-1) <= vt_0 + T Phi1^2: both decrease in their roots."""
    a, top, add = draw("root"), draw("largest root"), draw("stabiliser")
    given = {"roots": every(a >= 0, top >= 0, a * a <= top * top), "stabiliser > 0": add > 0}
    return Statement(given, {"1/(root + stabiliser) >= its lower end": 1 / (a + add) >= 1 / (top + add)})


def _terms(c: Local) -> list[float]:
    """1 / (sqrt(v_p) + eps) at every step and coordinate of Algorithm 2."""
    x = np.zeros(c.g.shape[1])
    state, out = begin(x, c.cover, v0=float(c.v0)), []
    for row in c.g.astype(float):
        state = sm3_ii_delayed(state, row, c.cover, eta_l=1.0, eps=float(c.eps), z=c.z, idle=c.idle)
        out += [1 / (sqrt(v) + float(c.eps)) for v in state.nu]
    return out


@claim(
    "fedada2.l901",
    statement="eta_l K / (sqrt(v_0 + d K G^2) + eps) <= gamma_r <= eta_l K / (sqrt(v_0) + eps)",
    source="proof of Theorem 20 (L902)",
    extent=Extent.WHOLE,
    assumptions={**WORDS, **HELD_WORDS},
    chain="l752-carried lemma-17-sharper",
)
def gamma() -> Finding:
    """Per step and coordinate, which implies the mean over clients and the sum over steps.

    v_0 <= v_k(j) <= v_0 + n G^2 for any cover, and 1/(root + eps) falls as the root rises.

    The factor d is not needed, see ``fedada2.lemma-17-sharper``.
    """

    def sides(c: Local, squares: float = 1.0, start: float = 1.0) -> Iterable[Sides]:
        d = c.g.shape[1]
        least = 1 / (sqrt(start * c.v0 + squares * d * c.K * c.G**2) + float(c.eps))
        for term in _terms(c):
            yield least, term
            yield term, 1 / (sqrt(c.v0 / start) + float(c.eps))

    spoiled = {"half of d K G^2": lambda c: sides(c, squares=0.5), "v_0 halved, doubled": lambda c: sides(c, start=0.5)}
    looked = searched(Inequality(drawn(), {**MET, **HELD}, sides, spoiled), 500)
    return confirmed((any_cover(), decide(ends, ablate=False, instances=10)), looked, 500)


@claim(
    "fedada2.eq-15",
    statement="Eq. (15), with (v_0 + eps)^2 for the (sqrt(v_0) + eps)^2 of eq. (12), follows from it: "
    "1/(sqrt(v_0) + eps)^2 <= 1/(v_0 + eps)^2 (a slip: Theorem 20 has the root)",
    source="ours, about eq. (15) (L1026)",
    verdict=Verdict.REFUTED,
)
def lost_root() -> Finding:
    """The bound holds only for v_0 <= 1, including the default v_0 = 0; the theorem itself has the root."""
    v0, root, eps = F(4), F(2), F(1)
    return refutation(
        instance="v_0 = 4, eps = 1",
        conditions={"v_0 >= 0 and eps > 0": v0 >= 0 and eps > 0, "2 is the root of v_0": root**2 == v0},
        left=1 / (root + eps) ** 2,
        right=1 / (v0 + eps) ** 2,
    )
