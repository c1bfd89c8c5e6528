"""Texts of clients that are recorded, or are not, and what they come to on blocks and one by one in NumPy."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from test_mirror.support import dyadic
from torch import Tensor

from fedspec.arith import maximum, minimum, norm, sqrt, where_shorter, zeros
from fedspec.client.momentum import begin, nesterov
from fedspec.plan import Plan
from fedspec.population import each
from fedspec_torch.population import Batched

N, D = 6, 7


class Some:
    """Clients whose gradients are no more than vectors times the model, in NumPy or torch."""

    def __init__(self, torch_: bool) -> None:
        a, b = dyadic(1, N, D) / 4 + 0.75, dyadic(2, N, D)
        self.a: Any = torch.tensor(a) if torch_ else a
        self.b: Any = torch.tensor(b) if torch_ else b
        self.asked: list[int] = []

    def __len__(self) -> int:
        return N

    def __getitem__(self, i: int) -> Any:
        return lambda k, x: self.a[i] * x * (1 + k / 8) - self.b[i]

    def oracle(self, who: Sequence[int]) -> Any:
        def gradient(k: int, x: Tensor) -> Tensor:
            self.asked.append(k)
            # The same memory at every call, as the federation's.
            return room[: len(x)].copy_(self.a[list(who)[: len(x)]] * x * (1 + k / 8) - self.b[list(who)[: len(x)]])

        room = torch.empty(len(who), D, dtype=torch.float64)
        return gradient


def both(text: Callable[[Any, Any], Any], steps: tuple[int, ...], block: int = 3) -> tuple[Any, Any, Some]:
    """Results of a text for all participants on blocks, and one by one in NumPy; the text is made from c and c_i."""
    plan = Plan((4, 0, 1, 5, 2)[: len(steps)], steps, (1,) * len(steps))
    c, c_i, x = dyadic(3, D), dyadic(4, N, D), dyadic(5, D)
    clients = Some(torch_=True)
    at_once = Batched(clients, block)
    got = each(text(torch.tensor(c), torch.tensor(c_i)), at_once, plan, torch.tensor(x))
    return got, each(text(c, c_i), Some(torch_=False), plan, x), clients


def same(got: Any, want: Any) -> None:
    """Both agree to the last bits."""
    if isinstance(want, tuple) and not isinstance(got, Tensor):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
    else:
        np.testing.assert_allclose(np.asarray(got), np.asarray(want), rtol=1e-12, atol=1e-12)


OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b / 4,
    "max": maximum,
    "min": minimum,
    "half": lambda a, b: a / 2,
    "root": lambda a, b: sqrt(a**2 + 1),
    "square": lambda a, b: a**2 / 8,
    "neg": lambda a, b: -a,
}
"""Operators that no number of their arguments breaks; a second operand may be a number."""


def drawn(seed: int) -> Callable[[Any, Any], Any]:
    """A text drawn at random: vectors that change from step to step, and whichever of them are returned."""
    rng = random.Random(seed)
    pool = ["y", "g", "x", "c", "c_i", "u", "v", "last"]
    lines = [
        (rng.choice([*OPERATORS]), rng.choice(pool), rng.choice([*pool, 0.5, -0.25])) for _ in range(rng.randint(1, 6))
    ]
    targets = [rng.choice(["u", "v", "t"]) for _ in lines]
    out = [rng.choice(["y", "u", "v", "x", "c_i", "last", "g"]) for _ in range(rng.randint(1, 3))]

    def text(c: Any, c_i: Any) -> Any:
        def client(i: Any, x: Any, gradient: Any, tau: int) -> Any:
            now: dict[str, Any] = {"y": x, "x": x, "c": 1 * x + c - x, "c_i": c_i[i], "u": zeros(x), "v": zeros(x) + 1}
            now |= {"last": x, "t": x, "g": x}
            for k in range(tau):
                now["g"] = 1.0 * gradient(k, now["y"])
                for (kind, a, b), target in zip(lines, targets, strict=True):
                    now[target] = OPERATORS[kind](now[a], now[b] if isinstance(b, str) else b)
                now["last"], now["y"] = now["y"], now["y"] - 0.125 * (now["g"] + now["u"] / (k + 2)) + now["t"] / 16
            return tuple(now[name] + 0 for name in out) if len(out) > 1 else now[out[0]] - x

        return client

    return text


def text(client: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """From the tensors c and c_i to the text of a client that has them in its closure."""
    return lambda c, c_i: lambda i, x, gradient, tau: client(c, c_i, i, x, gradient, tau)


@text
def scaffold_like(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """A plain step with a correction, and two results that have much in common."""
    y = x
    for k in range(tau):
        y = y - 0.125 * (gradient(k, y) - c_i[i] + c)
    return y - x, c_i[i] - c - (y - x) / (0.125 * tau)


@text
def proximal(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """A pull to where the client begins."""
    y = x
    for k in range(tau):
        y = y - 0.125 * (gradient(k, y) + 0.5 * (y - x))
    return y


@text
def look_ahead(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """A rule of the specification, on a record."""
    state = begin(x)
    for k in range(tau):
        state = nesterov(state, gradient(k, state.x) + c_i[i], eta_l=0.125, rho=0.5)
    return state


@text
def by_own_steps(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """The rate depends on how many steps there are: those who take two do not begin as those who take four."""
    y = x
    for k in range(tau):
        y = y - 0.125 / tau * gradient(k, y)
    return (y - x) * c


@text
def clipped(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """The length of the whole change is taken once the steps are done."""
    y = x
    for k in range(tau):
        y = y - 0.125 * gradient(k, y)
    return (y - x) / maximum(norm(y - x), 1.0)


@text
def in_lengths(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """Lengths that are known before the first step: a number for each client, and one that all have in common."""
    y, s = x, norm(c_i[i])
    for k in range(tau):
        y = y - 0.125 * gradient(k, y) / (s + norm(x))
    return y, s * y, norm(x) * c


@text
def by_length(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """A step is not taken where it is short."""
    y = x
    for k in range(tau):
        g = gradient(k, y)
        y = y - 0.125 * where_shorter(g, 0.5, 0 * g, g)
    return y


TEXTS = [scaffold_like, proximal, look_ahead, by_own_steps, clipped, in_lengths, by_length]


@text
def adagrad_like(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """Roots in every step, and a length in the end."""
    y, v = x, zeros(x)
    for k in range(tau):
        g = gradient(k, y) + c - c_i[i]
        v = v + g**2
        y = y - 0.125 * g / sqrt(v + 0.25)
    return y, (y - x) / maximum(norm(y - x), 1.0)


@text
def looking(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """Text with a branch on the sign of a number."""
    y = x
    for k in range(tau):
        g = gradient(k, y)
        y = y - (0.125 if float(g.sum()) < 1e9 else 1) * g
    return y


@text
def twice(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """Two gradients at each step."""
    y = x
    for k in range(tau):
        g = 1 * gradient(k, y)
        y = y - 0.125 * (g - gradient(k, x) + c)
    return y


@text
def elsewhere(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """The first gradient of a recording is where the clients begin, and here it is not."""
    y = x + c_i[i] / 4
    for k in range(tau):
        y = y - gradient(k, y) / 8
    return y


@text
def with_its_length(c: Any, c_i: Any, i: Any, x: Any, gradient: Any, tau: int) -> Any:
    """A length is returned, which is no vector."""
    y = x
    for k in range(tau):
        y = y - 0.125 * gradient(k, y)
    return y, norm(y)
