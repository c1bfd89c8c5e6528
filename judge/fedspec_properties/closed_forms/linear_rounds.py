"""Control variates on linear objectives: every gradient is known, and a round's move is a sum over the rounds before.

g holds the clients' gradients, p their weights.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fedspec.arith import Array
from fedspec.contract import Round
from fedspec_properties.closed_forms.sums import average
from fedspec_suite.measure.scenario import Scenario


def _scaffold_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """Once a client has taken part its control variate is its gradient; before it is zero."""
    seen: set[int] = set()
    moves = []
    for e in s.events:
        assert isinstance(e, Round)
        mean = sum((p[i] * g[i] for i in seen), start=0 * g[0])
        total = sum(p[i] for i in e.participants)
        took_part = zip(e.participants, e.steps, strict=True)
        parts = (p[i] / total * tau * (mean + (i not in seen) * g[i]) for i, tau in took_part)
        moves.append(-h["eta"] * h["eta_l"] * sum(parts, start=0 * g[0]))
        seen |= set(e.participants)
    return moves


def _feddyn_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """After T_i steps in all, a client's dual variable is its gradient but for the factor (1 - eta_l mu)^T_i."""
    b, taken = 1 - h["eta_l"] * h["mu"], dict.fromkeys(range(len(g)), 0)
    moves = []
    for e in s.events:
        assert isinstance(e, Round)
        before = dict(taken)
        taken |= {i: taken[i] + tau for i, tau in zip(e.participants, e.steps, strict=True)}
        apart = sum(((b ** taken[i] - b ** before[i]) * g[i] for i in e.participants), start=0 * g[0])
        mean = sum(((b ** taken[i] - 1) * g[i] for i in taken), start=0 * g[0])
        moves.append((apart / len(e.participants) + mean / len(g)) / h["mu"])
    return moves


def _vrl_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """sum_i p_i tau_i v_i = 0, so that every round moves along sum_i p_i tau_i g_i: the bias of FedAvg, for good."""
    e = s.events[0]
    assert isinstance(e, Round)
    steps = dict(zip(e.participants, e.steps, strict=True))
    return [-h["eta_l"] * sum((p[i] * steps[i] * g[i] for i in steps), start=0 * g[0])] * len(s.events)


def _mifa_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """Who took part last with tau steps counts as tau of its gradients, in every round until it comes again."""
    steps: dict[int, int] = {}
    moves = []
    for e in s.events:
        assert isinstance(e, Round)
        steps |= dict(zip(e.participants, e.steps, strict=True))
        moves.append(-h["eta_l"] * sum((tau * g[i] for i, tau in steps.items()), start=0 * g[0]) / len(g))
    return moves


def _mime_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """M is a sum of the mean gradients of all rounds before, by powers of beta; every step of a round is the same."""
    share = 1 if s.case.options["momentum_sum"] == "sum" else 1 - h["beta"]
    moves, means = [], list[Array]()
    for e in s.events:
        assert isinstance(e, Round)
        weight = sum(p[i] for i in e.participants)
        mean = sum((p[i] / weight * g[i] for i in e.participants), start=0 * g[0])
        past = sum((h["beta"] ** (len(means) - t) * share * c for t, c in enumerate(means)), start=0 * g[0])
        lite = s.case.algorithm == "mime-lite"
        parts = zip(e.participants, e.steps, strict=True)
        steps = (p[i] / weight * tau * (share * (g[i] if lite else mean) + past) for i, tau in parts)
        moves.append(-h["eta"] * h["eta_l"] * sum(steps, start=0 * g[0]))
        means.append(mean)
    return moves


def _fedcm_moves(s: Scenario, h: Any, g: Array, p: list[Fraction]) -> list[Array]:
    """All rounds go along an average over rounds, of mean gradients or of what FedAvg would have made of each."""
    changes, moves, averages = list[Array](), [], s.case.options.get("direction") != "change"
    for e in s.events:
        assert isinstance(e, Round)
        weight = sum(p[i] for i in e.participants)
        steps = {i: p[i] / weight * tau for i, tau in zip(e.participants, e.steps, strict=True)}
        scale = h["eta_l"] * sum(steps.values()) if averages else 1
        changes.append(sum((h["eta_l"] * n / scale * g[i] for i, n in steps.items()), start=0 * g[0]))
        moves.append(-h["eta"] * scale * average(h["rho"], changes))
    return moves


MOVES: dict[str, Callable[[Scenario, Any, Array, list[Fraction]], list[Array]]] = {
    "scaffold": _scaffold_moves,
    "feddyn": _feddyn_moves,
    "vrl-sgd": _vrl_moves,
    "mifa": _mifa_moves,
    "mime-lite": _mime_moves,
    "mime": _mime_moves,
    "fedcm": _fedcm_moves,
    "mofedsam": _fedcm_moves,
}
