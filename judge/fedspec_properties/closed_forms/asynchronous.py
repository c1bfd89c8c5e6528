"""Asynchronous algorithms in closed form: on quadratics, the model after each arrival as a sum over all arrivals.

x_i - x_mu = -eta_l (I + B + ... + B^(K-1)) (H_i x_mu - e_i),    B = I - eta_l (H_i + mu I)
x_T = x_0 + eta sum_t m_t / (sqrt(v_t) + eps),    m_t = (1 - beta1) sum_s beta1^(t-s) Delta_s, ...
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.catalogue import find
from fedspec.contract import Arrival
from fedspec.linear import eye
from fedspec.params import flatten
from fedspec_properties.closed_forms import plugin_tables
from fedspec_properties.closed_forms.adaptive import Numbers, Options, direction
from fedspec_properties.closed_forms.sums import average, decayed, total
from fedspec_suite.measure.scenario import Scenario, problem_of

Change = Callable[[Arrival, Array], Array]


def buffer_of(s: Scenario) -> int:
    """Return the number of updates for which the server of a scenario waits."""
    return int(s.case.hyper.get("buffer", 1))


def local_run(H: Array, e: Array, steps: int, h: Numbers) -> tuple[Array, Array]:
    """Return S H and S e: a client's change is S e - S H x_mu, with S = eta_l (I + B + ... + B^(K-1))."""
    one = eye(H)
    B = one - h["eta_l"] * (H + h.get("mu", 0) * one)
    powers = [one]
    for _ in range(steps - 1):
        powers.append(powers[-1] @ B)
    S = h["eta_l"] * total(powers)
    return S @ H, S @ e


def change_on(s: Scenario) -> Change:
    """Return the function that computes an arrival's change from the version that its client downloaded."""
    problem = problem_of(s)

    def change(e: Arrival, x_mu: Array) -> Array:
        SH, Se = local_run(problem.H[e.client], problem.e[e.client], e.steps, s.case.hyper)
        moved: Array = Se - SH @ x_mu
        return moved

    return change


def discount(s: Scenario, delay: int) -> Any:
    """Return the discount s(u) of an update with the given delay, computed by logarithms."""
    h, o = s.case.hyper, s.case.options
    u = delay + (o.get("age") == "literal")
    match o.get("staleness"):
        case "polynomial":
            return Decimal(1 + u) ** (Decimal(-h["twice_a"]) / 2)
        case "hinge" if u > h.get("hinge_b", 0):
            return 1 / (1 + h["hinge_a"] * (u - h["hinge_b"]))
    return 1


def step(rows: Sequence[Array], h: Numbers, o: Options) -> Array:
    """Return the direction of the server's step, given all aggregates so far: plain, with momentum, or adaptive."""
    if "beta" in h:
        v = np.asarray(average(h["beta"], rows))
        return v if o["momentum_sum"] == "average" else v / (1 - h["beta"])
    if "beta1" not in h:
        return rows[-1]
    kind = "amsgrad" if "maximum_start" in o else "adam" if "beta2" in h else "adagrad"
    return direction(kind, rows, h, o, h["tau"] if "tau" in h else h["eps"])


def _along(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    moved: Array = h.get("eta", 1) * step(past, h, o)
    return moved


def _delayed(past: Sequence[Array], h: Numbers, o: Options) -> Array:
    """The last move of delayed Nesterov from all changes: the momentum is a sum over the means of whole blocks."""
    N, c = int(h["N"]), h["c"]
    over = len(past) % N
    means = [total(past[k : k + N]) / N for k in range(0, len(past) - over, N)]
    active = c if over else 1 - (N - 1) * c
    moved: Array = h["eta"] * (past[-1] / N + (active * h["beta"] * decayed(h["beta"], means) if means else 0))
    return moved


def _slowed(past: Sequence[Array], late: int, h: Numbers, o: Options) -> Array:
    """FADAS's last move: AMSGrad's, at a rate that the latest update of the last buffer has shortened."""
    eta_t = h["eta"]
    if late > h["tau_c"]:
        # The smaller of eta and 1 / tau_max by what is the larger of their product and 1.
        eta_t = h["eta"] / (late if o["slowing"] == "over-delay" else max(1, late * h["eta"]))
    moved: Array = eta_t * direction("amsgrad", past, h, {**o, "epsilon": "outside"}, h["eps"])
    return moved


Move = Callable[[Any, Any, Any], Any]

_ADAPTIVE = ("cc-fedadagrad", "cc-fedadam", "cc-fedams")
MOVES: dict[str, Move] = dict.fromkeys(("cc-fedavg", "cc-fedsgd", "cc-fedavgm", *_ADAPTIVE, "fedbuff"), _along)
"""Last move of a server with a buffer, from the means of all buffers so far."""

AT_ONCE: dict[str, Move] = {"delayed-nesterov": _delayed}
"""Last move of a server that uses each change on arrival, from all changes so far."""

LATE: dict[str, Callable[[Any, int, Any, Any], Any]] = {"fadas": _slowed}
"""Last move of a server with a buffer, from the means so far and the largest delay in the last buffer."""

MIXES = ("fedasync",)
"""Algorithms that mix each arriving model into the server's instead of averaging changes."""


@cache
def moves() -> dict[str, Move]:
    """Return the moves of fedspec's algorithms, and of plugins whose events are arrivals."""
    return (
        MOVES
        | AT_ONCE
        | {name: move for name, move in plugin_tables.table("STEPS").items() if find(name).event == "arrival"}
    )


def known() -> list[str]:
    """Return the algorithms that have a closed form here."""
    return [*moves(), *LATE, *MIXES]


def models(s: Scenario, change: Change) -> list[Array]:
    """Return the model after each arrival of a scenario; ``change`` computes a client's change."""
    h, o = s.case.hyper, s.case.options
    move, slowed = moves().get(s.case.algorithm), LATE.get(s.case.algorithm)
    versions, out = [flatten(s.case.x0)], []
    waiting: list[Array] = []
    rows: list[Array] = []
    shares: list[Any] = []
    delays: list[int] = []
    for e in s.events:
        assert isinstance(e, Arrival)
        x_mu = versions[-1 - e.delay]
        moved = change(e, x_mu)
        delays.append(e.delay)
        if not move and not slowed:
            rows.append(x_mu + moved)
            shares.append(h["mix"] * discount(s, e.delay))
            left = [math.prod(1 - a for a in shares[t:]) for t in range(len(shares) + 1)]
            arrived = [a * p * row for a, p, row in zip(shares, left[1:], rows, strict=True)]
            versions.append(left[0] * versions[0] + total(arrived))
        else:
            waiting.append(moved / e.steps if o.get("normalise") == "per-step" else discount(s, e.delay) * moved)
            if len(waiting) == buffer_of(s):
                rows.append(total(waiting) / len(waiting))
                waiting, m = [], buffer_of(s)
                latest = [max(delays[k * m : (k + 1) * m]) for k in range(len(rows))]
                moved = total(
                    slowed(rows[:t], latest[t - 1], h, o) if slowed else move(rows[:t], h, o) if move else 0
                    for t in range(1, len(rows) + 1)
                )
                versions.append(versions[0] + moved)
        out.append(versions[-1])
    return out
