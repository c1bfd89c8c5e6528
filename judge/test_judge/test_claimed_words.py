"""Mistakes in the words of a claim that nobody listed: clips, averages, noise, decays and schedules are written out."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import deviates, named, written

from fedspec.arith import Array
from fedspec.contract import Begin, Case, Event, Offer
from fedspec.params import flatten

Step = Callable[[Any, Event], None]


def own(offer: Offer, move: Step) -> Any:
    """A subject whose step of one event moves ``x``, a flat model."""

    def start(case: Case) -> Any:
        state = SimpleNamespace(case=case, x=flatten(case.x0), t=0)

        def step(event: Event) -> dict[str, Any]:
            move(state, event)
            state.t += not isinstance(event, Begin)
            return {"x": state.x.astype(case.dtype)}

        return SimpleNamespace(step=step)

    return written(offer, start)


def clipped(word: str, clip: Callable[[Array, Array], Array]) -> Any:
    """SGD at level client whose gradient passes a function of it and the model."""

    def step(state: Any, e: Any) -> None:
        if isinstance(e, Begin):
            state.x = flatten(e.x)
            return
        rate = state.case.hyper["eta_l"] if e.eta_l is None else e.eta_l
        state.x = state.x - rate * clip(flatten(e.g), state.x)

    return own(Offer("sgd", "client", gradients=(word,)), step)


def scheduled(said: str, factor: Callable[[int], float]) -> Any:
    """FedAvg at level server with a rate of its own making."""

    def step(state: Any, e: Any) -> None:
        p = np.array([m.weight for m in e.messages]) / sum(m.weight for m in e.messages)
        delta = sum(p_i * flatten(m.delta) for p_i, m in zip(p, e.messages, strict=True))
        state.x = state.x + state.case.hyper["eta"] * factor(state.t) * delta

    return own(Offer("fedavg", "server", schedules={"eta": said}), step)


def averaged(messages: tuple[str, ...], b: Callable[[Array], Array]) -> Any:
    """FedAvg's server, which multiplies the changes as they come by a function of the numbers of examples."""

    def step(state: Any, e: Any) -> None:
        rows = np.array([flatten(m.delta) for m in e.messages])
        state.x = state.x + state.case.hyper["eta"] * (b(np.array([m.weight for m in e.messages], float)) @ rows)

    return own(Offer("fedavg", "server", messages=messages), step)


def short(delta: Array, c: float = 0.6) -> Array:
    return delta * min(1.0, c / max(float(np.linalg.norm(delta)), 1e-300))


def capped(n: Array) -> Array:
    return np.minimum(n / 3, 1)


def private(
    b: Callable[[Array, Array], Array] = lambda w, n: w / 2.5,
    noise: Callable[[Array, int], Array] = lambda z, M: 0.7 * 0.6 / 2.5 * z,
    clip: Callable[[Array, Any], Array] = lambda delta, state: short(delta),
    cap: Callable[[Array], Array] = capped,
) -> Any:
    """FedAvg's server with a private average, of which one part may differ."""

    def step(state: Any, e: Any) -> None:
        n = np.array([m.weight for m in e.messages], float)
        rows = np.array([clip(flatten(m.delta), state) for m in e.messages])
        state.x = state.x + state.case.hyper["eta"] * (b(cap(n), n) @ rows + noise(np.array(e.noise), len(n)))

    words = ("clip-norm 0.6", "weight-cap 3", "divisor 2.5", "noise 0.7")
    return own(Offer("fedavg", "server", messages=words), step)


def length(g: Array) -> float:
    return float(np.linalg.norm(g))


CLIP, COSINE = "clip-norm 0.7", "cosine/round period=5 floor=0.1"

MISTAKES: dict[str, tuple[Any, str]] = {
    "largest": (clipped(CLIP, lambda g, x: g * min(1, 0.7 / abs(g).max())), "g = g min(1, c / ||g||_inf), wanted: g ="),
    "sum": (
        clipped(CLIP, lambda g, x: g * min(1, 0.7 / abs(g).sum())),
        "g = g min(1, c / ||g||_1), wanted: g = g min(",
    ),
    "by x": (
        clipped(CLIP, lambda g, x: g * min(1, 0.7 * length(x) / length(g))),
        "g = g min(1, ||x|| c / ||g||), wanted",
    ),
    "one side": (
        clipped("clip-value 0.7", lambda g, x: np.minimum(g, 0.7)),
        "g = min(g, c), wanted: g = min(max(g, -c), c)",
    ),
    "other eps": (
        clipped("clip-norm-eps 0.7", lambda g, x: g * min(1, 0.7 / (length(g) + 1e-3))),
        "c / (||g|| + 0.001)), wanted: g = g min(1, c / (||g|| + 1e-6)), in clip-norm-eps 0.7",
    ),
    "two pi": (
        scheduled(COSINE, lambda t: 0.1 + 0.9 * (1 + math.cos(2 * math.pi * min(t / 5, 1))) / 2),
        "cos(2 pi min(t / period, 1))",
    ),
    "not halved": (
        scheduled(COSINE, lambda t: 0.1 + 0.9 * (1 + math.cos(math.pi * min(t / 5, 1)))),
        "s(t) = floor + (1 - floor) (1 + cos(pi min(t / period, 1))), wanted: ",
    ),
    "ceiling": (
        scheduled("step/round period=3 factor=0.5", lambda t: 0.5 ** math.ceil(t / 3)),
        "s(t) = factor^ceil(t / period), wanted: s(t) = factor^floor(t / period), in schedule of eta",
    ),
    "root": (
        scheduled("warm-up/round period=5", lambda t: min((t + 1) / 5, 1) ** 0.5),
        "s(t) = sqrt(min((t + 1) / period, 1)), wanted: ",
    ),
    "to the floor": (
        scheduled("linear/round period=4 floor=0.2", lambda t: max(1 - t / 4, 0.2)),
        "s(t) = max(floor, 1 - t / period), wanted: ",
    ),
    "twice the noise": (
        private(noise=lambda z, M: 2 * 0.7 * 0.6 / 2.5 * z),
        "noise = (s c 2 / D) z, wanted: noise = (s c / D) z",
    ),
    "noise by a root": (
        private(noise=lambda z, M: 0.7 * 0.6 / 2.5 / M**0.5 * z),
        "noise = (s c / (D sqrt(M))) z, wanted: ",
    ),
    "clip by x": (
        private(clip=lambda d, state: short(d, 0.6 * length(state.x))),
        "b_i = min(1, (c / ||Delta_i||) ||x||) (min(n_i / w, 1) / D), wanted: ",
    ),
    "soft cap": (private(cap=lambda n: n / (n + 3)), "b_i = min(1, c / ||Delta_i||) (n_i / (n_i + w) / D), wanted: "),
    "sum of n": (
        private(b=lambda w, n: w * w.sum() / n.sum() / 2.5),
        "b_i = min(1, c / ||Delta_i||) (sum(min(n_j / w, 1)) / sum(n_j)) (min(n_i / w, 1) / D), wanted: ",
    ),
}
"""Subjects, each with a part of its name."""


@pytest.mark.slow
@pytest.mark.parametrize("how", MISTAKES)
def test_an_unlisted_mistake_in_a_claimed_word_is_written_out(how: str) -> None:
    subject, words = MISTAKES[how]
    assert words in (said := named(subject)), said


FORGOTTEN = {
    "clip of messages": averaged(("clip-norm 1000",), lambda n: n / n.sum()),
    "cap": averaged(("weight-cap 300", "divisor 50"), lambda n: n / 300 / 50),
    "clip of gradients": clipped("clip-norm 1000", lambda g, x: g),
}


@pytest.mark.parametrize("word", FORGOTTEN)
def test_a_large_bound_that_is_forgotten_is_seen(word: str) -> None:
    """Cases are as large as the claimed bound: usual changes are no longer than 4, and usual sizes are below 10."""
    assert deviates(FORGOTTEN[word])


def test_the_average_of_a_right_server_is_no_other() -> None:
    assert "in none of the cases played" not in named(private())
