"""The rounds of Fed-LAMB and Fed-AMS from every gradient so far, without a recursion of the moments.

    m_i = sum over s <= k of w_s g_s,   v_i = start v_0 + sum over s <= k of w_s g_s^2,
    v_hat = max(v_0, the means sent in all rounds before),   x_i = x - eta_l (sum of all its steps).

It shares no code with the rules.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import prod
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec.params import flatten
from fedspec_suite.measure.running import Running
from fedspec_suite.measure.scenario import Scenario

Log = list[tuple[int, Array]]
"""A client's gradients, each with the t of its bias correction."""


def total(terms: Sequence[Any]) -> Any:
    """The sum of at least one term."""
    return sum(terms[1:], start=terms[0])


def root(a: Any) -> Any:
    """The square root of a running number, or of each of a vector."""
    return np.array([x.sqrt() for x in a], dtype=object) if isinstance(a, np.ndarray) else a.sqrt()


def each_layer(s: Scenario) -> list[slice]:
    """Where the blocks of a scenario's model lie in its flat view."""
    ends = np.cumsum([0, *(prod(a.shape) for a in s.case.x0.values())]).tolist()
    return [slice(a, b) for a, b in itertools.pairwise(ends)]


def _average(beta: Any, log: Log, power: int, in_place: bool, start: Any) -> Any:
    """The weighted sum of all gradients (power 1) or of their squares (power 2), and of the start."""
    weight, terms = Running(1), []
    for t, g in reversed(log):
        weight = weight / (1 - beta**t) if in_place else weight
        terms.append((1 - beta) * weight * g**power)
        weight = weight * beta
    return total([*terms, weight * start])


def length_factor(length: Any, h: Mapping[str, Any], o: Mapping[str, str]) -> Any:
    """phi(||x||) of Fed-LAMB."""
    if o["phi"] == "clip":
        return length.maximum(h["phi_m"]).minimum(h["phi_M"])
    return length if o["phi"] == "identity" else Running(1)


def _direction(p: Any, x: Array, s: Scenario) -> Any:
    h, o = s.case.hyper, s.case.options
    if s.case.algorithm == "fed-ams":
        return p
    q = p + h["lam"] * x
    if o["normalisation"] == "none":
        return q
    parts = []
    for at in each_layer(s):
        size = total([c * c for c in q[at]])
        u = q[at] / root(size) if size.value else q[at]
        parts.append(u * length_factor(root(total([c * c for c in x[at]])), h, o))
    return np.concatenate(parts)


def rounds(s: Scenario) -> Iterator[tuple[Array, Array]]:
    """The model and v_hat after every round of a scenario of running numbers."""
    h, o, problem = s.case.hyper, s.case.options, s.case.problem
    assert problem is not None
    x = flatten(s.case.x0)
    in_place = o["bias_correction"] == "in-place"
    means, logs = [x * 0 + h["v0"]], dict[int, Log]()
    for e in s.events:
        assert isinstance(e, Round)
        below = root(reduce(np.frompyfunc(Running.maximum, 2, 1), means)) + h["eps"]
        ends, sent = [], []
        for i, steps in zip(e.participants, e.steps, strict=True):
            log = list(logs.get(i, [])) if o["memory"] == "carried" else []
            before, moves = len(log) if o["exponent"] == "global" else 0, [x * 0]
            for k in range(1, steps + 1):
                here = x - h["eta_l"] * total(moves)
                seen = x if o["gradient"] == "stale" else here
                g = np.array(
                    [total(list(row * seen)) - e_j for row, e_j in zip(problem.H[i], problem.e[i], strict=True)]
                )
                log.append((before + k, g))
                m = _average(h["beta1"], log, 1, in_place, x * 0)
                m = m / (1 - h["beta1"] ** (before + k)) if o["bias_correction"] == "moments" else m
                moves.append(_direction(m / below, here, s))
            logs[i] = log
            ends.append(x - h["eta_l"] * total(moves))
            v = _average(h["beta2"], log, 2, in_place, h["v0"])
            sent.append(v / (1 - h["beta2"] ** (before + steps)) if o["sent"] == "corrected" else v)
        n = len(ends) if o["averaged"] == "participants" else len(problem.H)
        x = total(ends) / n
        means.append(total(sent) / n)
        yield x, reduce(np.frompyfunc(Running.maximum, 2, 1), means)
