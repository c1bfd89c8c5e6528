"""Edits that no rule's text suggests at first sight, each beside the same mistake written by hand on the samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from test_judge.test_other_ways import called, known_at

from fedspec.arith import Array
from fedspec.contract import Begin, Exchange, Gradient
from fedspec.params import flatten, layers, shapes
from fedspec_suite.diagnosis.search import LIKELY
from fedspec_suite.diagnosis.steady import models
from fedspec_suite.measure.scenario import Scenario

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def mixed_moments(s: Scenario) -> Iterator[Array]:
    """Decentralised Adam that mixes its first moment too."""
    p, h = s.case.problem, s.case.hyper
    assert p
    (X,) = (np.array(a) for a in s.case.x0.values())
    m, v, v_hat = 0 * X, 0 * X, 0 * X
    for e in s.events:
        assert isinstance(e, Exchange)
        for _ in e.computing:
            g = np.stack([H @ x - b for H, x, b in zip(p.H, X, p.e, strict=True)])
            m = h["beta1"] * m + (1 - h["beta1"]) * g
            v = h["beta2"] * v + (1 - h["beta2"]) * g * g
            v_hat = h["beta3"] * v_hat + (1 - h["beta3"]) * np.maximum(v_hat, v)
            X = e.mixing @ X - h["eta_l"] * m / (np.sqrt(v_hat) + h["eps"])
            m = e.mixing @ m
        yield X.ravel()


def stale_direction(s: Scenario) -> Iterator[Array]:
    """AdaGrad with a delay, in which a step between two updates goes where the last one went."""
    h, x = s.case.hyper, flatten(s.case.x0)
    v, u, t = 0 * x + h["v0"], 0 * x, 0
    for e in s.events:
        if isinstance(e, Begin):
            x, v, t = flatten(e.x), 0 * x + h["v0"], 0
        else:
            assert isinstance(e, Gradient)
            if t // h["epoch"] % h["z"] == 0:
                v = v + flatten(e.g) ** 2
                u = flatten(e.g) / (np.sqrt(v) + h["eps"])
            t += 1
            if np.linalg.norm(u) >= h["eps_s"]:
                x = x - (h["eta_l"] if e.eta_l is None else e.eta_l) * u
        yield x


def clipped_ratio(s: Scenario) -> Iterator[Array]:
    """LAMB whose trust ratio is at most 1."""
    h, x = s.case.hyper, flatten(s.case.x0)
    m, v, t = 0 * x, 0 * x, 0
    for e in s.events:
        if isinstance(e, Begin):
            x, m, v, t = flatten(e.x), 0 * x, 0 * x, 0
        else:
            assert isinstance(e, Gradient)
            g, t = flatten(e.g), t + 1
            m = h["beta1"] * m + (1 - h["beta1"]) * g
            v = h["beta2"] * v + (1 - h["beta2"]) * g * g
            r = m / (1 - h["beta1"] ** t) / (np.sqrt(v / (1 - h["beta2"] ** t)) + h["eps"])
            x, old = x.copy(), x
            for l in layers(shapes(s.case.x0)):
                q = r[l] + h["lam"] * old[l]
                length, own = np.linalg.norm(q), np.linalg.norm(old[l])
                ratio = min(1.0, own / length) if length else 0.0
                x[l] = old[l] - (h["eta_l"] if e.eta_l is None else e.eta_l) * ratio * q
        yield x


WRITTEN: dict[str, tuple[str, Callable[[Scenario], Iterator[Array]]]] = {
    "m is mixed by W too, after each step": ("dadam/trace/nazari-2019", mixed_moments),
    "u is computed only where due(t, z, epoch), and stays what it was elsewhere": (
        "agdu/client/fedada2",
        stale_direction,
    ),
    "the length of x_l is that of q where it is longer in": ("lamb/client/you-2020", clipped_ratio),
}


@pytest.mark.parametrize("words", WRITTEN)
def test_it_does_what_is_written(words: str) -> None:
    offer, by_hand = WRITTEN[words]
    known = known_at(offer)
    edit = called(known, words)
    shown = 0
    for s in known.samples:
        with np.errstate(all="ignore"):
            want, claimed, got = list(by_hand(s)), models(known.claimed, s), models(edit, s)
        if len(got) != len(want) or not np.isfinite(want).all():
            continue
        assert all(np.allclose(a, b, rtol=1e-7, atol=1e-12) for a, b in zip(got, want, strict=True))
        shown += not all(np.allclose(a, b, rtol=1e-9) for a, b in zip(got, claimed, strict=True))
    assert shown > 1


def test_a_delay_in_epochs_shows_on_the_samples() -> None:
    """An epoch of which the first step alone updates is another thing than an epoch of one step."""
    known = known_at("fedadaadagrad/round/fedada2")
    first = called(known, "the first step alone of epoch counts")
    ignored = next(v for v in known.variants if v.words == "the delay counts steps")
    pairs = [(a, b) for s in known.samples for a, b in zip(models(first, s), models(ignored, s), strict=True)]
    assert not all(np.allclose(a, b) for a, b in pairs)


def test_one_number_of_steps_for_all_is_looked_for_with_another_mistake() -> None:
    known = known_at("vrl-sgd/round/own-steps")
    assert called(known, "the largest of tau stands for each").rank < LIKELY
    assert called(known, "the largest of x stands for each in numbers").rank >= LIKELY
