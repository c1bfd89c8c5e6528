"""FedAda2's local solvers as sums over the steps of a round that update the preconditioner.

v_k = v_0 + sum over r <= ceil(k/z) of g_((r-1)z+1)^2,   m_hat_k = mean of g_1 .. g_k with weights beta1^(k-s), ...
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fedspec.arith import Array, sqrt
from fedspec_properties.closed_forms.adaptive import Numbers, Options
from fedspec_properties.closed_forms.sums import each, total

Sets = Sequence[Sequence[int]]

AVERAGING = {"admu", "sm3-adam"}
"""Solvers with momentum and exponential averages; the other solvers sum squares."""

NAMES = {"agdu", "sm3-i-delayed", "sm3-ii-delayed", *AVERAGING}


def updating(steps: int, z: int, epoch: int) -> list[int]:
    """List the steps, from 0, that update the preconditioner: those of every z-th epoch."""
    return [k for e in range(0, steps, z * epoch) for k in range(e, min(e + epoch, steps))]


def _spread(nu: Array, sets: Sets) -> Array:
    """Min over the sets that hold j of the largest nu in the set."""
    return each(min(max(nu[i] for i in S) for S in sets if j in S) for j in range(len(nu)))


def _powers(beta: Any, n: int) -> list[Any]:
    """beta^(n-1), ..., beta, 1."""
    return [beta**e for e in reversed(range(n))]


def second_moment(name: str, rows: Sequence[Array], sets: Sets, h: Numbers, idle: str = "carried") -> Array:
    """Return the second moment whose root divides the step, given all gradients of a round so far."""
    z, epoch = h.get("z", 1), h.get("epoch", 1)
    at = updating(len(rows), z, epoch)
    squares = [rows[k] * rows[k] for k in at]
    n, start = len(squares), rows[0] * 0 + h.get("v0", 0)
    if name in AVERAGING:
        weights = _powers(h["beta2"], n)
        if name == "admu":
            past = total(w * q for w, q in zip(weights, squares, strict=True))
            return np.asarray((past + h["beta2"] ** n * start / (1 - h["beta2"])) / total(weights))
        nu = start
        for q in squares:
            nu = h["beta2"] * _spread(nu, sets) + q
        return np.asarray(nu / total(weights))
    if name == "agdu":
        return np.asarray(total([start, *squares]))
    if name == "sm3-i-delayed":
        mu = [h.get("v0", 0) + total(max(q[j] for j in S) for q in squares) for S in sets]
        return each(min(m for m, S in zip(mu, sets, strict=True) if j in S) for j in range(len(start)))
    nu = start
    if idle == "reset" and z > 1:
        # What came before the last pause is forgotten.
        squares = [q for k, q in zip(at, squares, strict=True) if k // (z * epoch) == at[-1] // (z * epoch)]
        nu = start if at[-1] < epoch else start * 0
    for q in squares:
        nu = _spread(nu, sets) + q
    between = at[-1] != len(rows) - 1
    return _spread(nu, sets) if idle == "recomputed" and between else nu


def first_moment(rows: Sequence[Array], beta1: Any, forgotten: int, m0: Any = 0) -> Array:
    """Average the gradients with weights beta1^(k-s), m_0 for what came before; ``forgotten`` rows count as zeros."""
    weights = _powers(beta1, len(rows))
    kept = [w * g for w, g in zip(weights, rows, strict=True)][forgotten:]
    start = 0 if forgotten else beta1 ** len(rows) * m0 / (1 - beta1)
    return np.asarray((total(kept) + start) / total(weights))


def steps(name: str, rows: Sequence[Array], sets: Sets, h: Numbers, o: Options) -> list[Array]:
    """Return the direction of each step of a round, without the factor eta_l; 0 in the dead zone."""
    out, forgotten = [], 0
    for k in range(1, len(rows) + 1):
        past = rows[:k]
        v = second_moment(name, past, sets, h, o.get("idle", "carried"))
        m = first_moment(past, h["beta1"], forgotten, h.get("m0", 0)) if name in AVERAGING else past[-1]
        u = m / (sqrt(v) + h["eps"])
        if total(x * x for x in u) < h["eps_s"] * h["eps_s"]:
            if o.get("dead_zone") == "momentum":
                forgotten = k
            else:
                u = u * 0
        out.append(u)
    return out
