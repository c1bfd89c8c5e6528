"""Effect of v_0 on the preconditioner: two lines of the proof that contradict each other, and valid bounds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import Engine, Extent, Finding, Second, Verdict, claim, refutation
from fedspec_proofs.client_centric.claims.telescoping import path
from fedspec_proofs.client_centric.kit.steps import increments, moments, rooted
from fedspec_proofs.engines import Draw, Statement, decide, exact, real
from fedspec_proofs.engines.smt import Formulas, Induction, Proof, every
from fedspec_proofs.solvers import z3


@claim(
    "client-centric.v-0",
    statement="The bounds that the proof uses of v_hat go together: with v_hat_0 >= eps^2 (L659) and eta_l <= eps / "
    "(sqrt(T) G), v_hat_t <= T eta_l^2 G^2 (L707, L1063)",
    source="ours, about L659 against L707 and L1063",
    verdict=Verdict.REFUTED,
)
def conflict() -> Finding:
    """The second line assumes v_0 = 0. Both hold only if v_hat stays at eps^2 and eta_l = eps / (sqrt(T) G)."""
    eps, eta_l, G, T = Fraction(1), Fraction(1, 2), Fraction(1), 2
    v_0 = exact.vector(1)
    after = increments("adagrad", v_0, v_0, v_0 * 0)
    moved = rooted(
        "adagrad", exact.vector(0), exact.vector(0), exact.vector("1/2"), exact.vector("5/4"), eta=1, beta=0, eps=eps
    )
    return refutation(
        instance="CC-FedAdagrad, eps = 1, v_0 = 1, T = 2, G = 1, eta_l = 1/2, first change 0 (any other "
        "makes v larger)",
        conditions={
            "v_0 >= eps^2": bool(all(v_0 >= eps**2)),
            "eta_l <= eps / (sqrt(T) G)": T * (eta_l * G) ** 2 <= eps**2,
            "another change makes v larger": bool(moved.v[0] > after[0]),
        },
        left=after[0],
        right=T * (eta_l * G) ** 2,
    )


@dataclass(frozen=True)
class Grown:
    """Variables of one coordinate: v, v_hat and the number of rounds."""

    v: Any
    v_hat: Any
    t: Any


def growth(server: str) -> Induction[Grown]:
    """Induction for v_0 <= v_hat <= v_0 + t D^2 (CC-FedAdagrad) or v_0 <= v_hat <= M (CC-FedAMS), D = eta_l G."""
    v_0, D, M, delta, gamma, t, v, p = (real(n) for n in ("v_0", "D", "M", "Delta", "gamma", "t", "v", "p"))

    def step(s: Grown) -> Grown:
        like = [np.array([one], dtype=object) for one in (s.v, delta)]
        # v_hat is given by its root to the rule's helper.
        after_v, after_hat = moments(server, np.array([p], dtype=object), *like, gamma=gamma)
        return Grown(after_v[0], after_hat[0], s.t + 1)

    domain: Formulas = {
        "|Delta_t| <= D": delta * delta <= D * D,
        "0 <= gamma < 1": z3.And(gamma >= 0, gamma < 1),
        "v_0 >= 0": v_0 >= 0,
        "M = max(v_0, D^2)": z3.And(v_0 <= M, M >= D * D, z3.Or(v_0 == M, M == D * D)),
        "v_hat has a root": p >= 0,
    }

    def invariant(s: Grown) -> Formulas:
        above = s.v_hat <= v_0 + s.t * D * D if server == "adagrad" else z3.And(s.v_hat <= M, s.v <= s.v_hat)
        return {"v_0 <= v_hat": s.v_hat >= v_0, "above": above, "t >= 0": s.t >= 0}

    zero = real("z") * 0
    first = Grown(v_0, v_0, zero)
    state = Grown(v, p * p, t)
    return Induction(
        first,
        state,
        step,
        domain,
        lambda s: (
            {k: z3.Implies(z3.And(*domain.values()), f) for k, f in invariant(s).items()}
            if s is first
            else invariant(s)
        ),
        lambda before, after: {"never falls": after.v_hat >= before.v_hat},
    )


def _between(draw: Draw, upper: Fraction) -> Statement:
    """Step from the bounds of v_hat to those of sqrt(v_hat) + eps, for v_0 = 0 and for v_0 = eps^2."""
    p, eps, D2 = draw("p"), draw("eps"), draw("T D^2")
    zero, square = p * p <= D2, p * p <= eps * eps + D2
    return Statement(
        {"eps > 0": eps > 0, "root": p >= 0, "horizon": eps * eps >= D2},
        {
            "v_0 = 0": _if(zero, every(p + eps >= eps, p + eps <= 2 * eps)),
            "v_0 = eps^2": _if(every(square, p * p >= eps * eps), every(p + eps >= 2 * eps, p + eps <= upper * eps)),
        },
    )


def _if(a: Any, b: Any) -> Any:
    return z3.Implies(a, b) if isinstance(a, z3.ExprRef) or isinstance(b, z3.ExprRef) else bool(not a or b)


@claim(
    "client-centric.v-0-repaired",
    statement="With eta_l <= eps / (sqrt(T) G), eps <= sqrt(v_hat_t) + eps <= 2 eps for v_0 = 0, and 2 eps "
    "<= sqrt(v_hat_t) "
    "+ eps <= (29/12) eps for v_0 = eps^2, t <= T: all step sizes lie within a factor 2 of each other",
    source="ours: L659, L707 and L1063, corrected",
    extent=Extent.WHOLE,
    assumptions={"eps > 0": "eps is positive", "root": "roots are not negative", "horizon": "T eta_l^2 G^2 <= eps^2"},
)
def between() -> Finding:
    """CC-FedAdagrad: v_hat_t <= v_0 + t eta_l^2 G^2; CC-FedAMS: v_hat_t <= max(v_0, eta_l^2 G^2). By induction over
    rounds.
    """
    answers = [proof for server in ("adagrad", "ams") for proof in growth(server).prove(timeout_ms=5000)]
    rng = exact.generator()
    for _ in range(40):
        roots, changes = path(rng, 5)
        D2 = max(c * c for c in changes)
        if not all(roots[0] ** 2 <= q**2 <= roots[0] ** 2 + t * D2 for t, q in enumerate(roots)):
            return Finding(Verdict.UNKNOWN, f"fractions disagree: {roots}")
    found = decide(lambda draw: _between(draw, Fraction(29, 12)))
    if not all(answers):
        return Finding(Verdict.UNKNOWN, "\n".join(map(str, answers)))
    second = Second(Engine.EXACT, (found.second.instances if found.second else 0) + 40, "fractions; runs of 5 rounds")
    return Finding(found.verdict, f"{outcomes(answers)}\n{found.evidence}", found.dropped, second)


def outcomes(answers: list[Proof]) -> str:
    return "; ".join(f"{'/'.join(a.claims)}: {a.outcome}" for a in answers)
