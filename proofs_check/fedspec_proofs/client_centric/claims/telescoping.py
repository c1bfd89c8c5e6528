"""Decreases of the preconditioner a_t = 1 / (sqrt(v_hat_t) + eps): sums over the rounds, in two norms."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from fedspec.arith import sqrt
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Second, Verdict, claim
from fedspec_proofs.client_centric.kit.steps import increments, moments
from fedspec_proofs.engines import Formulas, Induction, exact, real
from fedspec_proofs.solvers import z3

ROUNDS = 6


CHANGES = (15, 0, 0, 0)
"""Changes for CC-FedAdam with gamma = 1/4 from v_0 = 1; the roots are then 1, 13, 13/2, 13/4, 13/8."""


@dataclass(frozen=True)
class Fallen:
    """Variables of one coordinate: root p of v_hat, v (CC-FedAMS), a, sums of |decreases| and of their squares."""

    p: Any
    v: Any
    a: Any
    sum1: Any
    sum2: Any


def _induction(server: str) -> Induction[Fallen]:
    p, v, a, a_0, eps, delta, q, after, gamma = (
        real(n) for n in ("p", "v", "a", "a_0", "eps", "Delta", "q", "a_next", "gamma")
    )
    fall = real("fall")

    def new(s: Fallen) -> tuple[Any, Any]:
        root, v, change = (np.array([one], dtype=object) for one in (s.p, s.v, delta))
        after_v, after_hat = moments(server, root, v, change, gamma=gamma)
        return after_v[0], after_hat[0]

    state = Fallen(p, v, a, real("S1"), real("S2"))
    inputs: Formulas = {
        "v_hat's new root": z3.And(q >= 0, q * q == new(state)[1]),
        "a_next = 1 / (q + eps)": after * (q + eps) == 1,
        "fall = |a - a_next|": z3.And(fall >= 0, z3.Or(fall == a - after, fall == after - a)),
        "eps > 0": eps > 0,
        "0 <= gamma < 1": z3.And(gamma >= 0, gamma < 1),
    }

    def step(s: Fallen) -> Fallen:
        return Fallen(q, new(s)[0], after, s.sum1 + fall, s.sum2 + fall * fall)

    def invariant(s: Fallen) -> Formulas:
        return {
            "roots": z3.And(s.p >= 0, s.v <= s.p * s.p),
            "a (p + eps) = 1": z3.And(s.a * (s.p + eps) == 1, eps > 0),
            "sum of falls = a_0 - a_t": s.sum1 == a_0 - s.a,
            "sum of squares <= a_0^2 - a_t^2": s.sum2 <= a_0**2 - s.a**2,
        }

    zero = real("z") * 0
    first = Fallen(p, p * p, a, zero, zero)
    start = {"a_0 (p + eps) = 1": z3.And(p >= 0, eps > 0, a_0 == a, a * (p + eps) == 1)}
    held = invariant(first)
    return Induction(
        first,
        state,
        step,
        inputs,
        lambda s: {k: z3.Implies(z3.And(*start.values()), f) for k, f in held.items()} if s is first else invariant(s),
        lambda before, later: {"a falls": later.a <= before.a},
    )


def path(rng: np.random.Generator, rounds: int) -> tuple[list[Fraction], list[Fraction]]:
    """Roots of CC-FedAdagrad's v in a run with Pythagorean changes, and these changes."""
    roots, changes = [exact.rationals(rng, 1, low=1, high=3)[0]], []
    for _ in range(rounds):
        (s,) = exact.rationals(rng, 1, low=-3, high=3, denominators=(4, 5))
        delta = 2 * s * roots[-1] / (1 - s**2)
        q = roots[-1] * (1 + s**2) / (1 - s**2)
        if increments("adagrad", exact.vector(roots[-1]), exact.vector(0), exact.vector(delta))[0] != q**2:
            raise ValueError(f"path: the rule's new v must be {q}^2 by construction, but isn't")
        roots.append(q)
        changes.append(delta)
    return roots, changes


@claim(
    "client-centric.telescoping",
    statement="For CC-FedAdagrad and CC-FedAMS, sum_t |a_t - a_(t+1)|_1 = |a_0|_1 - |a_T|_1 and sum_t |a_t - "
    "a_(t+1)|^2 "
    "<= |a_0|^2 - |a_T|^2, hence at most d / (2 eps) and d / (4 eps^2) if v_0 >= eps^2",
    source="sums of the falls (L844-884)",
    engine=Engine.SMT,
    extent=Extent.WHOLE,
    assumptions={"monotone": "v_hat never falls", "v_0": "v_0 >= eps^2, for the bounds with eps"},
)
def telescoping() -> Finding:
    """Induction over rounds for one coordinate; coordinates add up. Any T, any changes, any gamma in [0, 1)."""
    answers = [(server, *_induction(server).prove(timeout_ms=5000)) for server in ("adagrad", "ams")]
    evidence = "\n".join(f"{server}: base {base.outcome}, step {step.outcome}" for server, base, step in answers)
    rng, runs = exact.generator(), 0
    for _ in range(60):
        eps = exact.rationals(rng, 1, low=1)[0]
        a = [1 / (p + eps) for p in path(rng, ROUNDS)[0]]
        falls = [abs(b - c) for b, c in pairwise(a)]
        if sum(falls) != a[0] - a[-1] or sum(f * f for f in falls) > a[0] ** 2 - a[-1] ** 2:
            return Finding(Verdict.UNKNOWN, f"{evidence}\nfractions disagree: {a}")
        runs += 1
    proved = all(base and step for _, base, step in answers)
    adam = _adam()
    late = 1 / (Fraction(0) + 1) - 1 / (Fraction(3) + 1)
    return Finding(
        Verdict.PROVED if proved else Verdict.UNKNOWN,
        evidence,
        {
            "monotone": Dropped(adam[0] > adam[1], f"CC-FedAdam, as in its own claim: {adam[0]} > {adam[1]}"),
            "v_0": Dropped(late > Fraction(1, 2), "eps = 1, v_0 = 0, Delta = 3: one fall of 3/4 > 1 / (2 eps)"),
        },
        Second(Engine.EXACT, runs, f"runs of CC-FedAdagrad over {ROUNDS} rounds with rational roots"),
    )


def _adam() -> tuple[Fraction, Fraction, Fraction]:
    """CC-FedAdam on the same changes with eps = 1: sum of |falls|, d / (2 eps), and the smallest root."""
    roots = [exact.vector(1)]
    for change in CHANGES:
        v = increments("adam", roots[-1], roots[-1] ** 2, exact.vector(change), gamma=Fraction(1, 4))
        # Exact: the arithmetic refuses a root that is not rational.
        roots.append(sqrt(v))
    a = [1 / (p[0] + 1) for p in roots]
    return sum((abs(b - c) for b, c in pairwise(a)), Fraction(0)), Fraction(1, 2), min(p[0] for p in roots)
