"""Proof of Lemma 15 in one dimension, where SM3 has one set: size of a local step, and sum of the steps.

At an update v' is at least v_0 + s + g^2, s the sum of the squares at earlier updates, so that the step's square is at
most eta_l^2 g^2/(eps^2 + s + g^2); these shares add up to a logarithm (Lemma 22, sharper), and the steps to the root
of n times their squares. Between updates a step is at most eta_l G/(sqrt(v_0) + eps). And v never passes
v_0 + n G^2, which Lemma 17 has as v_0 + d K G^2 in Theorem 20.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedspec.client.sm3_delayed import DelayedSm3, sm3_ii_delayed
from fedspec.covers import Cover
from fedspec_proofs.claim import Finding
from fedspec_proofs.engines import Draw, Statement, curried, decide, every, roots, several
from fedspec_proofs.fedada2.kit.rational import F
from fedspec_proofs.kit.balls import one_more_term

LINE = Cover(((0,),), 1)


@curried
def _step(draw: Draw, *, update: bool) -> Statement:
    """A step of Algorithm 2 from mu = v >= v_0 + s, v_0 = r_0^2, at an update or between updates; the dead zone too."""
    x, g, v = draw("x", 1), draw("g", 1), draw("v", 1)
    eta, eps, eps_s, G, r0, s, c = several(draw, "eta, eps, eps_s, G, r0, s, c")
    if isinstance(eta, F) and min(eta, eps) <= 0:
        raise ValueError(f"eta_l, eps: got {eta} and {eps}; the rule needs both > 0")
    with roots() as known:
        before = DelayedSm3(x=x, mu=v, nu=v, t=0 if update else 1)
        after = sm3_ii_delayed(before, g, LINE, eta_l=eta, eps=eps, z=2, eps_s=eps_s)
    moved, added = (after.x - x)[0], g[0] ** 2 if update else 0 * s
    given = {
        "rates": every(eta > 0, eps > 0, eps_s >= 0, r0 >= 0),
        "roots": every(*known),
        "v >= v_0 + s": every(s >= 0, v[0] >= r0 * r0 + s),
        "v <= v_0 + c, c = n G^2": v[0] <= r0 * r0 + c,
        "|g| <= G": every(g[0] <= G, -g[0] <= G),
    }
    share = {"(x' - x)^2 <= eta_l^2 g^2/(eps^2 + s + g^2)": moved**2 * (eps**2 + s + added) <= eta**2 * added}
    length = {"|x' - x| <= eta_l G/(r_0 + eps)": every(*(q * (r0 + eps) <= eta * G for q in (moved, -moved)))}
    again = {"mu' = v' >= v_0 + s'": every(after.mu[0] == after.nu[0], after.nu[0] >= r0 * r0 + s + added)}
    most = {"v' <= v_0 + c'": after.nu[0] <= r0 * r0 + c + (G**2 if update else 0)}
    return Statement(given, {**(share if update else length), **again, **most})


def _squares(rng: np.random.Generator) -> dict[str, Fraction]:
    """A second moment with a rational root after the step, at an update and between."""
    k = F(int(rng.integers(1, 5)), 2)
    given = {"g_0": 3 * k, "v_0": 16 * k * k, "r0": k, "s": k * k, "c": 16 * k * k, "G": 4 * k}
    return {**given, "eps_s": F(int(rng.integers(0, 3)), 4)}


def parts() -> list[Finding]:
    """Proofs by z3 of both kinds of steps, and of the inequality that adds them up."""
    steps = [decide(_step(update=update), sample=_squares, ablate=False) for update in (True, False)]
    return [*steps, decide(one_more_term, ablate=False)]
