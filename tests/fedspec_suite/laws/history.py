"""The steps of FedAda2's local solvers from the whole history of a round: sums over the steps that update.

    v_k = v_0 + sum over r <= ceil(k/z) of g_((r-1)z+1)^2,   m_hat_k = mean of g_1 .. g_k with weights beta1^(k-s), ...

They share no code with the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec_suite.measure.running import Running

Sets = Sequence[Sequence[int]]

ADAPTIVE = {"admu", "sm3-adam"}
"""Those with momentum and averages; the others sum."""

DELAYED = {"agdu", "sm3-i-delayed", "sm3-ii-delayed", *ADAPTIVE}


def _sum(terms: Sequence[Any]) -> Any:
    return sum(terms[1:], start=terms[0])


def _each(f: Callable[[int], Any], d: int) -> Array:
    return np.array([f(j) for j in range(d)], dtype=object)


def _spread(nu: Array, sets: Sets) -> Array:
    """min over the sets that hold j of the largest nu in the set."""
    return _each(lambda j: min(max(nu[i] for i in S) for S in sets if j in S), len(nu))


def _powers(beta: Any, n: int) -> list[Any]:
    """beta^(n-1), ..., beta, 1."""
    return [beta**e for e in reversed(range(n))]


def second_moment(
    name: str, rows: Sequence[Array], sets: Sets, h: Mapping[str, Any], idle: str = "carried", z: int = 1
) -> Array:
    """What the step divides by the root of, after all gradients of a round so far."""
    squares = [g * g for g in rows[::z]]
    n, v0 = len(squares), h.get("v0", Running(0))
    start = v0 if isinstance(v0, np.ndarray) else _each(lambda j: v0, len(rows[0]))
    if name in ADAPTIVE:
        weights = _powers(h["beta2"], n)
        total = _sum(weights)
        if name == "admu":
            past = _sum([w * q for w, q in zip(weights, squares, strict=True)])
            return np.asarray((past + h["beta2"] ** n * start / (1 - h["beta2"])) / total)
        nu = start
        for q in squares:
            nu = h["beta2"] * _spread(nu, sets) + q
        return np.asarray(nu / total)
    if name == "agdu":
        return np.asarray(_sum([start, *squares]))
    if name == "sm3-i-delayed":
        mu = [v0 + _sum([max(q[j] for j in S) for q in squares]) for S in sets]
        return _each(lambda j: min(m for m, S in zip(mu, sets, strict=True) if j in S), len(start))
    if idle == "reset" and z > 1:
        return np.asarray(squares[-1] + start if n == 1 else squares[-1])
    nu = start
    for q in squares:
        nu = _spread(nu, sets) + q
    between = (len(rows) - 1) % z != 0
    return _spread(nu, sets) if idle == "recomputed" and between else nu


def first_moment(rows: Sequence[Array], beta1: Any, forgotten: int) -> Array:
    """The mean of the gradients with weights beta1^(k-s); the first ``forgotten`` count as zeros."""
    weights = _powers(beta1, len(rows))
    kept = [w * g for w, g in zip(weights, rows, strict=True)][forgotten:]
    return np.asarray(_sum(kept) / _sum(weights))


def steps(name: str, rows: Sequence[Array], sets: Sets, h: Mapping[str, Any], o: Mapping[str, str]) -> list[Array]:
    """What each step of a round takes eta_l of; 0 where the dead zone holds the model."""
    out, forgotten = [], 0
    for k in range(1, len(rows) + 1):
        past = rows[:k]
        v = second_moment(name, past, sets, h, o.get("idle", "carried"), h["z"])
        m = first_moment(past, h["beta1"], forgotten) if name in ADAPTIVE else past[-1]
        u = m / (np.array([x.sqrt() for x in v], dtype=object) + h["eps"])
        if _sum([x * x for x in u]) < h["eps_s"] * h["eps_s"]:
            if o.get("dead_zone") == "momentum":
                forgotten = k
            else:
                u = u * 0
        out.append(u)
    return out
