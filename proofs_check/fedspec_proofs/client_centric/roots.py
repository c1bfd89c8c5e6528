"""A_5: how much the preconditioner falls in a round, and what CC-FedAdam does to that."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import CLIENT_CENTRIC, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.client_centric.combine import all_proved
from fedspec_proofs.client_centric.descent import assumed, round_searched
from fedspec_proofs.client_centric.steps import Round, increments
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.search import Sides


def root_step(draw: Draw, server: str) -> tuple[Any, Any, Any, Any, Any]:
    p, q, delta = (np.array([draw(name)], dtype=object) for name in ("p", "q", "Delta"))
    v, gamma = np.array([draw("v")], dtype=object), draw("gamma")
    return p[0], q[0], delta[0], v[0], increments(server, p, v, delta, gamma=gamma)[0]


def _scalar(draw: Draw, server: str) -> Statement:
    """The A_5 lemma: the root grows by at most |Delta|, hence a falls by at most |Delta| a_t a_(t+1)."""
    p, q, delta, v, after = root_step(draw, server)
    gamma, eps, size = draw("gamma"), draw("eps"), draw("size")
    own = {"v <= v_hat": v <= p * p, "0 <= v": v >= 0} if server == "ams" else {}
    given = {
        "roots": p >= 0,
        "new root": q >= 0,
        "its square": q * q == after,
        "size": size >= 0,
        "|Delta|": size * size == delta * delta,
        "eps > 0": eps > 0,
        **own,
    }
    if server != "adagrad":
        given |= {"gamma >= 0": gamma >= 0, "gamma < 1": gamma < 1}
    sharp = {"sharp": (q - p) ** 2 <= (1 - gamma) * size**2} if server == "ams" else {}
    return Statement(
        given,
        {
            "grows": q >= p,
            "by at most |Delta|": q - p <= size,
            "a falls": (q - p) * eps**2 <= size * (p + eps) * (q + eps),
            **sharp,
        },
    )


def _triples(rng: np.random.Generator) -> dict[str, Fraction]:
    """p^2 + Delta^2 = q^2; the rule itself takes roots."""
    (s,), (root, eps) = exact.rationals(rng, 1, low=0, high=3, denominators=(4, 5)), exact.rationals(rng, 2, low=1)
    delta = 2 * s * root / (1 - s**2)
    return {"p": root, "q": root * (1 + s**2) / (1 - s**2), "Delta": delta, "size": abs(delta), "eps": eps}


def maxima(rng: np.random.Generator) -> dict[str, Fraction]:
    """v so that gamma v + (1 - gamma) Delta^2 is a square, or below v_hat."""
    (p, delta, eps), (gamma, s) = (
        exact.rationals(rng, 3, low=1),
        exact.rationals(rng, 2, low=1, high=1, denominators=(2, 3, 4)),
    )
    q = p + (delta - p) * s if delta > p else p
    v = (q**2 - (1 - gamma) * delta**2) / gamma if delta > p else p**2 * s
    return {"p": p, "q": q, "Delta": delta, "size": delta, "eps": eps, "gamma": gamma, "v": v}


ROOTS = {
    "roots": "the old root is not negative",
    "new root": "nor is the new one",
    "its square": "the new root is that of the rule's second moment",
    "size": "|Delta| is not negative",
    "|Delta|": "its square is Delta^2",
    "eps > 0": "eps is positive",
    "v <= v_hat": "CC-FedAMS: v_hat is at least v",
    "0 <= v": "CC-FedAMS: v is not negative",
    "gamma >= 0": "CC-FedAMS: 0 <= gamma",
    "gamma < 1": "CC-FedAMS: gamma < 1",
}


@claim(
    "client-centric.a-5-roots",
    statement="0 <= sqrt(v_hat_(t+1)) - sqrt(v_hat_t) <= |Delta_t| for CC-FedAdagrad and CC-FedAMS (there even <= "
    "sqrt(1 - gamma) |Delta_t|), so that a_t - a_(t+1) <= |Delta_t| / eps^2",
    source=Source(CLIENT_CENTRIC, "step of A_5 (L641-652)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=ROOTS,
)
def a_5_roots() -> Finding:
    """Each coordinate by itself, through the servers' rules, any gamma in [0, 1); L641 leaves sqrt(v_t) + eps out."""
    return all_proved(
        decide(lambda draw: _scalar(draw, "adagrad"), sample=_triples),
        decide(lambda draw: _scalar(draw, "ams"), sample=maxima, instances=40),
    )


@claim(
    "client-centric.a-5",
    statement="A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source=Source(CLIENT_CENTRIC, "bound of A_5 (L635-659, L765)"),
    engine=Engine.SEARCH,
    verdict=Verdict.NOT_CONTRADICTED,
    assumptions=assumed("v_0, gradient"),
)
def a_5() -> Finding:
    """One round of CC-FedAdagrad in fractions. Without v_0 >= eps^2 the constant is eta G / eps^2.

    The conversion of L656 has no G; L765 and L976, which use the bound, do.
    """
    return round_searched("v_0, gradient", _a_5)


def _a_5(r: Round, factor: Fraction = Fraction(1, 4)) -> Sides:
    return r.g @ (r.eta * (r.a - r.before) * r.delta), factor * r.eta * r.G / r.eps**2 * (r.delta @ r.delta)
