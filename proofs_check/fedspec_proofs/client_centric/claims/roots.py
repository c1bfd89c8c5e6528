"""Term A_5: the preconditioner's decrease in a round; and footnote 3, for the other servers."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from fedspec_proofs.claim import Extent, Finding, Verdict, claim, refutation
from fedspec_proofs.client_centric.kit.steps import increments
from fedspec_proofs.engines import Draw, Statement, all_proved, decide, exact, several


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
    """Draw v so that gamma v + (1 - gamma) Delta^2 is a square, or below v_hat."""
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
    source="step of A_5 (L641-652)",
    extent=Extent.WHOLE,
    assumptions=ROOTS,
)
def a_5_roots() -> Finding:
    """Per coordinate, through the servers' rules, any gamma in [0, 1); L641 leaves sqrt(v_t) + eps out."""
    parts = {
        "CC-FedAdagrad": decide(lambda draw: _scalar(draw, "adagrad"), sample=_triples),
        "CC-FedAMS": decide(lambda draw: _scalar(draw, "ams"), sample=maxima, instances=40),
    }
    return all_proved(parts)


OWN = {"v <= v_hat": "v_t <= v_hat_t", "gamma >= 0": "0 <= gamma", "gamma < 1": "gamma < 1"}
"""Assumptions of :func:`bounded_fall` for CC-FedAMS."""

PARTS = {
    "old root": "v_hat_t >= eps^2",
    "new root": "the new root is not negative",
    "its square": "and that of the rule's v_hat",
    "size": "|Delta_t| is not negative",
    "|Delta|": "and its square is Delta_t^2",
    "gradient": "|grad f(x_t)| <= G",
    "gradient too": "and minus it, too",
    "eps > 0": "eps is positive",
}
"""Assumptions of :func:`bounded_fall` for both servers."""


def _grown(draw: Draw, server: str) -> Statement:
    """The root grows, by at most |Delta_t|."""
    p, q, delta, v, after = root_step(draw, server)
    eps, gamma, size = draw("eps"), draw("gamma"), draw("size")
    own = {"v <= v_hat": v <= p * p, "gamma >= 0": gamma >= 0, "gamma < 1": gamma < 1}
    return Statement(
        {
            "old root": p >= eps,
            "new root": q >= 0,
            "its square": q * q == after,
            "size": size >= 0,
            "|Delta|": size * size == delta * delta,
            "eps > 0": eps > 0,
            **(own if server == "ams" else {}),
        },
        {"grows": q >= p, "by at most |Delta_t|": q - p <= size},
    )


def _factors(draw: Draw) -> Statement:
    """Write rise = q - p: A_5's numerator is at most G Delta^2, and its denominators at least 2 eps each."""
    p, eps, delta, size, g, G, rise = several(draw, "p, eps, Delta, size, g, G, rise")
    return Statement(
        {
            "old root": p >= eps,
            "size": size >= 0,
            "|Delta|": size * size == delta * delta,
            "gradient": g <= G,
            "gradient too": -g <= G,
            "eps > 0": eps > 0,
            "part 1": rise >= 0,
            "part 1 too": rise <= size,
        },
        {
            "numerator": -g * delta * rise <= G * delta * delta,
            "it is not negative": G * delta * delta >= 0,
            "denominators": (p + eps) * (p + rise + eps) >= 4 * eps * eps,
        },
    )


def _product(draw: Draw) -> Statement:
    """X 4 eps^2 <= Y W from X <= Y, Y >= 0 and W >= 4 eps^2."""
    X, Y, W, E = draw("X"), draw("Y"), draw("W"), draw("4 eps^2")
    return Statement({"X <= Y": X <= Y, "Y >= 0": Y >= 0, "W >= E": W >= E, "E >= 0": E >= 0}, {"A_5": X * E <= Y * W})


def _part_2(rng: np.random.Generator) -> dict[str, Fraction]:
    (eps, G), (a, b, c) = exact.rationals(rng, 2, low=1), exact.rationals(rng, 3, low=0, high=1, denominators=(1, 2, 3))
    delta = 2 * a + b
    return {"eps": eps, "p": eps + a, "Delta": delta, "size": delta, "rise": delta * c, "G": G, "g": G * (1 - 2 * b)}


def bounded_fall(server: str) -> Finding:
    """A_5 <= (eta G / (4 eps^2)) |Delta_t|^2 in one coordinate, proved in three parts; coordinates add up.

    With eta = 1, A_5 = -g Delta (q - p) / ((p + eps) (q + eps)). The rule's root grows by at most |Delta|; numerator
    and denominators are bounded from that; then they are multiplied.
    """
    sample = maxima if server == "ams" else _triples
    parts = {
        "root": decide(lambda draw: _grown(draw, server), sample=sample, instances=40),
        "factors": decide(_factors, sample=_part_2, instances=40),
        "product": decide(_product),
    }
    # What one part shows is no assumption of the whole.
    return all_proved(parts, {**PARTS, **OWN})


@claim(
    "client-centric.a-5",
    statement="A_5 = eta <grad f(x_t), (a_(t+1) - a_t) Delta_t> <= (eta G / (4 eps^2)) |Delta_t|^2 for CC-FedAdagrad "
    "with v_0 >= eps^2, a_t = 1/(sqrt(v_hat_t) + eps): with the G of L765, which L656 leaves out",
    source="bound of A_5 (L635-659, L765)",
    extent=Extent.WHOLE,
    assumptions=PARTS,
)
def a_5() -> Finding:
    """Without v_0 >= eps^2 the constant is eta G / eps^2. L765 and L976, which use the bound, contain the G."""
    return bounded_fall("adagrad")


@claim(
    "client-centric.footnote-3",
    statement="The bound of A_5 in the proof holds for CC-FedAdam as well: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source="ours, about footnote 3 (L264), which says that similar results are easily had",
    verdict=Verdict.REFUTED,
)
def footnote_3() -> Finding:
    """CC-FedAdam's v may decrease, so that a_(t+1) - a_t > 0 and A_5 is of first order in Delta_t.

    A bound of another form may exist: what is refuted is this step, which uses that v_hat does not fall (L659).
    """
    eps, G, gamma, t = Fraction(1), Fraction(1), Fraction(1, 4), Fraction(1, 100)
    # v = 16 becomes 4 + 3 Delta^2 / 4, a square for this Delta.
    delta = exact.vector(4 * t / (Fraction(3, 4) - t**2))
    p, q = exact.vector(4), 2 + t * delta
    after = increments("adam", p, p, delta, gamma=gamma)
    a, a_next = 1 / (p + eps), 1 / (q + eps)
    return refutation(
        instance=f"d = 1, eps = G = eta = eta_l = 1, gamma = 1/4, v_t = 16, Delta_t = {delta[0]}, grad f(x_t) = 1",
        conditions={
            "v_t >= eps^2": all(one >= eps for one in p),
            "|Delta_t| <= eta_l G": all(abs(one) <= G for one in delta),
            "the root is that of CC-FedAdam's rule": bool(all(after == q**2)),
        },
        left=(a_next - a) @ delta,
        right=G / (4 * eps**2) * (delta @ delta),
    )


@claim(
    "client-centric.footnote-3-repaired",
    statement="The bound of A_5 carries over to CC-FedAMS: A_5 <= (eta G / (4 eps^2)) |Delta_t|^2",
    source="ours: footnote 3 (L264), for CC-FedAMS only",
    extent=Extent.PART,
    assumptions={**PARTS, **OWN},
)
def footnote_3_repaired() -> Finding:
    """Repeat the proof of CC-FedAdagrad: A_5 needs only that the root increases, and by at most |Delta_t|."""
    return bounded_fall("ams")
