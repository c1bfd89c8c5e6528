"""Fractions for rules, and second moments whose roots, which the step reads, may be irrational.

On fractions a rule is run on numerals of z3, whose roots stay unevaluated, and the moments are read back.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.server.adagrad import Adaptive
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.engines.reals import constants
from fedspec_proofs.engines.smt import number

F: Any = Fraction
"""Makes a fraction from a whole number, two whole numbers, or a string such as ``"1/3"``."""


def second_moment(rule: Callable[..., Any], v: Vector, delta: Vector, **rates: Any) -> Vector:
    """Second moment v after one step of the rule with mean change delta; no momentum, rate 1."""
    state = Adaptive(x=delta * 0, m=delta * 0, v=v, t=0)
    moment: Vector = on_numerals(rule, state, delta, eta=F(1), beta1=F(0), tau=F(1), **rates).v
    return moment


def on_numerals(rule: Callable[..., Any], state: Any, g: Vector, **rates: Any) -> Any:
    """State after a step of the rule; if all is fractions, an irrational entry, such as a model's, is 0 in it."""
    vectors = {name: value for name, value in vars(state).items() if isinstance(value, np.ndarray)}
    if not all(isinstance(q, Fraction) for v in (*vectors.values(), g) for q in v):
        return rule(state, g, **rates)
    after = rule(replace(state, **{name: constants(v) for name, v in vectors.items()}), constants(g), **rates)
    return replace(after, **{name: vector(*(number(q) or 0 for q in getattr(after, name))) for name in vectors})
