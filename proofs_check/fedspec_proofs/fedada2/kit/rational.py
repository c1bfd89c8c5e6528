"""Fractions for rules, and second moments whose roots, which the step reads, may be irrational.

On fractions a server's rule is run on numerals of z3, whose roots stay unevaluated, and the moment is read back.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fedspec.arith import Vector
from fedspec.server.adagrad import Adaptive
from fedspec_proofs.engines.reals import constants
from fedspec_proofs.engines.smt import number

F: Any = Fraction
"""Makes a fraction from a whole number, two whole numbers, or a string such as ``"1/3"``."""


def second_moment(rule: Callable[..., Adaptive], v: Vector, delta: Vector, **rates: Any) -> Vector:
    """Second moment v after one step of the rule with mean change delta; no momentum, rate 1."""
    fractions = all(isinstance(q, Fraction) for q in (*v, *delta))
    before, change = (constants(v), constants(delta)) if fractions else (v, delta)
    one = Fraction(1)
    state = Adaptive(x=change * 0, m=change * 0, v=before, t=0)
    after = rule(state, change, eta=one, beta1=one * 0, tau=one, **rates).v
    if not fractions:
        return after
    out = delta * 0
    for j, value in enumerate(after):
        out[j] = number(value)
    return out
