"""Adaptive steps as sums over all inputs so far: AdaGrad, Adam, Yogi and AMSGrad, at a server or a client.

m_T = (1 - beta1) sum over s of beta1^(T-s) Delta_s
AdaGrad   v_T = v_0 + sum over s of Delta_s^2
Adam      v_T = beta2^T v_0 + (1 - beta2) sum over s of beta2^(T-s) Delta_s^2
AMSGrad   the largest of Adam's v_1 .. v_T
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fedspec.arith import Array, maximum, sqrt
from fedspec_properties.closed_forms.sums import average, each, largest, total

Numbers = Mapping[str, Any]
Options = Mapping[str, str]

AMSGRAD = "amsgrad"
"""Kind of second moment that AFGA's servers use."""


def second_moment(kind: str, rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return the second moment whose root divides the step, bias-corrected if the options say so."""
    squares = [row * row for row in _squared(rows, h, o)]
    beta2, start = h.get("beta2", 0), rows[0] * 0 + h.get("v0", 0)
    fix = [1 - beta2**s if o.get("bias_correction") == "moments" else 1 for s in range(1, len(rows) + 1)]
    v: Array
    match kind:
        case "adagrad":
            v = total([start, *squares])
        case "yogi":
            v = start
            for q in squares:
                v = each(
                    a - (1 - beta2) * s if a > s else a + (1 - beta2) * s if a < s else a
                    for a, s in zip(v, q, strict=True)
                )
            v = v / fix[-1]
        case "adam":
            v = average(beta2, squares, start) / fix[-1]
        case _:
            past = [average(beta2, squares[:s], start) for s in range(1, len(rows) + 1)]
            if o.get("maximum_start") == "v0":
                past.append(start)
            if o.get("maximum_of") == "after-correction":
                v = largest(x / f for x, f in zip(past, fix, strict=True))
            else:
                v = largest(past) / fix[-1]
    return v


def _squared(rows: Sequence[Array], h: Numbers, o: Options) -> Sequence[Array]:
    if o.get("second_moment") != "momentum":
        return rows
    return [average(h.get("beta1", 0), rows[:s]) for s in range(1, len(rows) + 1)]


def direction(kind: str, rows: Sequence[Array], h: Numbers, o: Options, small: Any) -> Array:
    """Return m / (sqrt(v) + eps) of the last step, given all inputs so far, with ``small`` for eps."""
    T, beta1, beta2 = len(rows), h.get("beta1", 0), h.get("beta2", 0)
    v = second_moment(kind, rows, h, o)
    rate: Any = 1
    if o.get("bias_correction") == "moments":
        rate = 1 / (1 - beta1**T)
    elif o.get("bias_correction") == "step":
        rate = sqrt(1 - beta2**T) / (1 - beta1**T)
    if kind == "ams-option-1":
        below = sqrt(maximum(v, small))
    elif kind == "ams-option-2" or o.get("epsilon") == "inside":
        below = sqrt(v + small)
    else:
        below = sqrt(v) + small
    step: Array = rate * average(beta1, rows) / below
    return step
