"""Compression on quadratics: the change before compression comes from powers of I - eta_l H_i.

What is rounded at random is the least whole number that is not below a - u; no level is counted.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_properties.closed_forms.round_matrices import Place
from fedspec_suite.measure.scenario import Scenario, lift

PLAIN = "fedavg"
"""Algorithm with the same local steps and no compression."""


def decimal(x: Fraction) -> Decimal:
    """Convert a fraction to a decimal with the context's precision."""
    return Decimal(x.numerator) / Decimal(x.denominator)


def place(s: Scenario) -> Place:
    """Return the problem and hyper-parameters of a case as decimals."""
    exact = lift(s, decimal).case
    assert exact.problem is not None
    return Place(exact.problem, exact.hyper, exact.options, 0)


def change(z: Place, i: int, x: Array, tau: int) -> Array:
    """Return the change of client i after tau steps of SGD from x."""
    moved: Array = -(z.reach(i, tau) @ (z.problem.H[i] @ x - z.problem.e[i]))
    return moved


def to_levels(v: Array, u: Any, s: int, unit: str) -> Array:
    """Quantise a vector to multiples of 1/s of its length, or of its largest entry."""
    R = max(map(abs, v)) if unit == "largest" else sum(a * a for a in v).sqrt()
    if not R:
        return v * 0
    up = [(s * abs(a) / R - u_j).to_integral_value(ROUND_CEILING) for a, u_j in zip(v, u, strict=True)]
    return np.array([R / s * n.copy_sign(a) for n, a in zip(up, v, strict=True)], dtype=object)


def rounded_path(s: Scenario) -> list[Array]:
    """Return FedPAQ's model after each round."""
    z, x = place(s), np.array([Decimal(float(a)) for a in flatten(s.case.x0)], dtype=object)
    out = []
    for e in lift(s, decimal).events:
        assert isinstance(e, Round)
        sent = [
            to_levels(change(z, i, x, tau), u, s.case.hyper["levels"], s.case.options["unit"])
            for i, tau, u in zip(e.participants, e.steps, e.draws, strict=True)
        ]
        x = x + sum(sent) / len(sent)
        out.append(x)
    return out
