"""Fed-LAMB, Fed-AMS and LAMB's steps from all gradients so far, without a recursion of the moments.

m_i = sum over s <= k of w_s g_s,   v_i = start v_0 + sum over s <= k of w_s g_s^2,
v_hat = max(v_0, the means sent in all rounds before),   x_i = x - eta_l (sum of all its steps).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from fedspec.arith import Array, maximum, minimum, sqrt
from fedspec.contract import Round
from fedspec.params import flatten, layers, shapes
from fedspec_properties.closed_forms.sums import largest, length, total
from fedspec_suite.measure.scenario import Scenario

Log = list[tuple[int, Array]]
"""Client's gradients, each with the t of its bias correction."""


def _average(beta: Any, log: Log, power: int, in_place: bool, start: Any) -> Any:
    """The weighted sum of all gradients (power 1) or of their squares (power 2), and of the start."""
    weight: Any = 1
    terms = []
    for t, g in reversed(log):
        weight = weight / (1 - beta**t) if in_place else weight
        terms.append((1 - beta) * weight * g**power)
        weight = weight * beta
    return total([*terms, weight * start])


Columns = dict[int, list[tuple[int, Array]]]
"""Client's gradients by local step t, each with the number of its round."""


def _two_index(columns: Columns, r: int, t: int, g: Array) -> tuple[Log, Log]:
    """The gradients in m_i^t and in v_i^t of round r: down the diagonal of the printed table, and along its row."""
    row = [(t, old) for _, old in columns.get(t, [])] + [(t, g)]
    diagonal, before = [(t, g)], r
    for s in range(t - 1, 0, -1):
        earlier = [(k, old) for k, old in columns.get(s, []) if k < before]
        if not earlier:
            break
        before, old = earlier[-1]
        diagonal.append((s, old))
    return diagonal[::-1], row


def length_factor(size: Any, h: Mapping[str, Any], o: Mapping[str, str]) -> Any:
    """Return phi(||x||) of Fed-LAMB."""
    if o["phi"] == "clip":
        return minimum(maximum(size, h["phi_m"]), h["phi_M"])
    return size if o["phi"] == "identity" else 1


def _direction(p: Any, x: Array, s: Scenario) -> Any:
    h, o = s.case.hyper, s.case.options
    if "normalisation" not in o:
        return p
    q = p + h["lam"] * x
    return q if o["normalisation"] == "none" else in_layers(q, x, s)


def in_layers(q: Array, x: Array, s: Scenario) -> Array:
    """Scale the direction in every layer to length phi(||x||); a zero direction stays zero."""
    parts = []
    for at in layers(shapes(s.case.x0)):
        size = length(q[at])
        if s.case.options.get("zero_layer") == "ratio-one" and not length(x[at]) > 0:
            parts.append(q[at])
            continue
        u = q[at] / size if size > 0 else q[at]
        parts.append(u * length_factor(length(x[at]), s.case.hyper, s.case.options))
    return np.concatenate(parts)


def lamb_direction(rows: Sequence[Array], x: Array, s: Scenario) -> Array:
    """Return LAMB's step divided by eta_l, from the local model and all gradients of its round."""
    h, o = s.case.hyper, s.case.options
    log, t = list(enumerate(rows, 1)), len(rows)
    in_place = o["bias_correction"] == "in-place"
    m = _average(h["beta1"], log, 1, in_place, x * 0)
    v = _average(h["beta2"], log, 2, in_place, x * 0)
    if o["bias_correction"] == "moments":
        m, v = m / (1 - h["beta1"] ** t), v / (1 - h["beta2"] ** t)
    return in_layers(m / (sqrt(v) + h["eps"]) + h["lam"] * x, x, s)


def rounds(s: Scenario) -> Iterator[tuple[Array, Array]]:
    """Yield the model and v_hat after every round of a scenario."""
    h, o, problem = s.case.hyper, s.case.options, s.case.problem
    assert problem is not None
    x = flatten(s.case.x0)
    in_place = o["bias_correction"] == "in-place"
    means, logs, tables = [x * 0 + h["v0"]], dict[int, Log](), dict[int, Columns]()
    last = {i: (x, x * 0 + h["v0"]) for i in range(len(problem.H))}
    for r, e in enumerate(s.events):
        assert isinstance(e, Round)
        below = sqrt(largest(means)) + h["eps"]
        ends, sent = [], []
        for i, steps in zip(e.participants, e.steps, strict=True):
            log = list(logs.get(i, [])) if o["memory"] == "carried" else []
            columns, squares = tables.setdefault(i, {}), log
            before, moves = len(log) if o["exponent"] == "global" else 0, [x * 0]
            for k in range(1, steps + 1):
                here = x - h["eta_l"] * total(moves)
                seen = x if o["gradient"] == "stale" else here
                g = np.array(
                    [total(list(row * seen)) - e_j for row, e_j in zip(problem.H[i], problem.e[i], strict=True)]
                )
                log.append((before + k, g))
                if o["memory"] == "two-index":
                    log, squares = _two_index(columns, r, k, g)
                    columns.setdefault(k, []).append((r, g))
                m = _average(h["beta1"], log, 1, in_place, x * 0)
                m = m / (1 - h["beta1"] ** (before + k)) if o["bias_correction"] == "moments" else m
                moves.append(_direction(m / below, here, s))
            logs[i] = log
            ends.append(x - h["eta_l"] * total(moves))
            v = _average(h["beta2"], squares, 2, in_place, h["v0"])
            sent.append(v / (1 - h["beta2"] ** (before + steps)) if o["sent"] == "corrected" else v)
            last[i] = ends[-1], sent[-1]
        if o["averaged"] == "last-sent":
            ends, sent = map(list, zip(*last.values(), strict=True))
        n = len(ends) if o["averaged"] == "participants" else len(problem.H)
        x = total(ends) / n
        means.append(total(sent) / n)
        yield x, largest(means)
