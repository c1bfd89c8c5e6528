"""Private averages as claims: DP-FedAvg's estimators and noise by hand, and mistakes with names."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import named
from test_judge.test_chain import Clipping, rounds
from test_judge.test_schedules import judged

from fedspec.arith import Array
from fedspec.averaging import Sent, delivered, delivery
from fedspec.catalogue import find
from fedspec.contract import Case, Claim, ClientMessage, Info, Messages, Round
from fedspec.errors import ContractError, PlanError
from fedspec.params import flatten, unflatten
from fedspec.plan import Messages as Inbox
from fedspec.reference import SUBJECT
from fedspec_suite.measure.setting import setting_of, with_reading

CLAIM = ("clip-norm 1", "weight-cap 3", "divisor 2", "noise 0.5")


class Private:
    """DP-FedAvg by hand; ``how`` has one deviation."""

    def __init__(self, messages: tuple[str, ...] = CLAIM, weights: str = "examples", how: str = "") -> None:
        self.info = Info("mine", "1", (Claim("fedavg", "server", "", {"weights": weights}, messages=messages),))
        self.how, self.weights, self.words = how, weights, dict(link.split() for link in messages if " " in link)

    def start(self, case: Case) -> Any:
        x = [flatten(case.x0)]

        def step(e: Messages) -> dict[str, Any]:
            x.append((x[-1] + case.hyper["eta"] * self.average(e, case).astype(case.dtype)).astype(case.dtype))
            return {"x": unflatten(x[-1], case.x0)}

        return SimpleNamespace(step=step)

    def average(self, e: Messages, case: Case) -> Array:
        how, n = self.how, np.array([m.weight for m in e.messages], dtype=float)
        get = lambda name, default: float(self.words.get(name, default))  # noqa: E731
        S, z = get("clip-norm", np.inf), np.array(e.noise)
        rows = [flatten(m.delta).astype(float) for m in e.messages]
        w = {"uniform": np.ones(len(n)), "examples": n}.get(self.weights, np.array([m.steps for m in e.messages]))
        if "weight-cap" in self.words and how != "no cap":
            w = n / max(get("weight-cap", 1), n.max() if how == "largest count" else 0)
            w = np.minimum(w, 1)
        by = w if how == "weighed first" else np.ones(len(w))
        counted = [a.ndim > 1 or how != "norm of matrices" for a in case.x0.values()]
        k = np.concatenate([np.full(a.size, float(c)) for a, c in zip(case.x0.values(), counted, strict=True)])
        rows = [r * min(1.0, S / max(float(np.linalg.norm(b * k * r)), 1e-300)) for b, r in zip(by, rows, strict=True)]
        D = get("divisor", w.sum())
        if "divisor-at-least" in self.words:
            D = max(get("divisor-at-least", 0), len(n) if how == "at least messages" else w.sum())
        if how == "weights of participants":
            D = w.sum()
        mean = sum(a * r for a, r in zip(w, rows, strict=True)) / D
        if "mean-clip-norm" in self.words and how != "no clip of the mean":
            mean = mean * min(1.0, get("mean-clip-norm", 1) / max(np.linalg.norm(mean), 1e-300))
        if "noise" in self.words and how != "no noise":
            over = get("divisor", get("divisor-at-least", len(n)))
            over = D if how == "noise over the divisor in use" else over
            size = get("noise", 0) * S / over
            size = {
                "squared": size**2,
                "undivided": size * over,
                "participants": size * over / len(n),
                "root": size * over / over**0.5,
                "root of blocks": size / len(case.x0) ** 0.5,
                "without clip": size / S,
            }.get(how, size)
            if how == "on the model":
                return np.asarray(mean + size * z / case.hyper["eta"])
            mean = mean + size * z
        return np.asarray(mean)


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("messages", "weights"),
    [
        (CLAIM, "examples"),
        (("clip-norm 1", "weight-cap 3", "divisor-at-least 2", "noise 0.5"), "examples"),
        (("clip-norm 0.5", "noise 1"), "uniform"),
        (("divisor 10",), "uniform"),
        (("divisor 4",), "steps"),
        (("mean-clip-norm 0.25",), "examples"),
    ],
)
def test_a_private_average_by_hand_conforms(messages: tuple[str, ...], weights: str) -> None:
    result = judged(Private(messages, weights))
    assert result.verdict == "conforms", (result.first_deviation, result.nearest)


class Noisy(Clipping):
    """FedAvg at level round by hand, with noise of multiplier 0.5 for changes of norm 0.01."""

    def step(self, event: Round) -> dict[str, Any]:
        super().step(event)
        noise = self.h["eta"] * 0.005 / len(event.steps) * np.array(event.noise)
        self.x = (self.x + noise).astype(self.dtype)
        return {"x": self.x}


def test_the_server_of_a_round_adds_noise_too() -> None:
    # Gradients are clipped to 0.25 first: a larger bound of changes would never be reached.
    short = lambda d: d * min(1, 0.01 / max(float(np.linalg.norm(d)), 1e-300))  # noqa: E731
    result = judged(rounds(0.25, messages=("clip-norm 0.01", "noise 0.5"), route=short, method=Noisy))
    assert result.verdict == "conforms", (result.first_deviation, result.unseen)


MISTAKES = {
    "no cap": "messages are not weighted by min(n / 3, 1)",
    "weights of participants": "yours: b_i = min(1, c / ||Delta_i||) p_i, wanted: b_i = ",
    "no noise": "messages are not given noise 0.7",
    "squared": "yours: noise = (s^2 c^2 / D^2) z",
    "undivided": "yours: noise = (s c) z, wanted: noise = (s c / D) z",
    "participants": "yours: noise = (s c / M) z",
    "root": "yours: noise = (s c / sqrt(D)) z",
    "without clip": "yours: noise = (s / D) z",
    "weighed first": "yours: b_i = min(c / ||Delta_i||, min(n_i / w, 1)) / D",
    "at least messages": "min(n_i / w, 1) / max(M, D), wanted: ",
    "root of blocks": "yours: noise = (s c / (D sqrt(blocks))) z, wanted: noise = (s c / D) z",
    "largest count": "yours: b_i = min(1, c / ||Delta_i||) (n_i / max(max(n_j), w) / D), wanted: ",
    "norm of matrices": "yours: b_i = min(1, c / ||matrices of Delta_i||) (min(n_i / w, 1) / D), wanted: ",
    "on the model": "the noise is added to the model, not to the mean change",
}


class PrivateYogi(Private):
    """FedYogi on the private average by hand, which it shows: a model alone doesn't tell the average."""

    def start(self, case: Case) -> Any:
        # The average comes as the only message of the specification's server, which changes nothing of it.
        inner = SUBJECT.start(replace(case, messages=()))

        def step(e: Messages) -> Any:
            mean = unflatten(self.average(e, case).astype(case.dtype), case.x0)
            return inner.step(replace(e, messages=(replace(e.messages[0], delta=mean, weight=1),), noise=()))

        return SimpleNamespace(step=step)


LEAST = ("clip-norm 0.5", "weight-cap 20", "divisor-at-least 2", "noise 0.6")
OF_YOGI = {
    "noise over the divisor in use": "yours: noise = (s c / max(D, sum(w_j))) z, wanted: noise = (s c / D) z",
    "weighed first": "yours: b_i = min(c / ||Delta_i||, min(n_i / w, 1)) / max(sum(",
    "at least messages": "min(n_i / w, 1) / max(M, D), wanted: ",
}


@pytest.mark.slow
@pytest.mark.parametrize("how", ["", *OF_YOGI])
@pytest.mark.parametrize("shown", [("delta", "m", "v"), ("m",)])
def test_an_average_is_told_from_what_is_shown_if_the_model_does_not_tell_it(shown: tuple[str, ...], how: str) -> None:
    subject = PrivateYogi(LEAST, how=how)
    claim = Claim("fedyogi", "server", "", {"weights": "examples"}, intermediates=shown, messages=LEAST)
    subject.info = replace(subject.info, claims=(claim,))
    said = named(subject) if how else judged(subject).verdict
    assert OF_YOGI.get(how, "conforms") in said, said


@pytest.mark.slow
@pytest.mark.parametrize("how", MISTAKES)
def test_a_mistake_in_a_private_average_has_a_name(how: str) -> None:
    divisor = "divisor-at-least" if how == "at least messages" else "divisor"
    said = named(Private(("clip-norm 0.3", "weight-cap 3", f"{divisor} 2.5", "noise 0.7"), how=how))
    assert MISTAKES[how] in said, said


def test_a_divisor_of_the_sum_of_weights_is_the_plain_average() -> None:
    x = np.array([[3, 4], [1, 0], [0, 2]]) * Fraction(1)
    sent, m = (
        Sent((slice(0, 2),), weighting=find("fedavg").options["weights"].EXAMPLES),
        Inbox(x, [3, 1, 2], [1] * 3, [1] * 3),
    )
    for words in (("divisor 6",), ("divisor-at-least 5",), ("divisor-at-least 6",)):
        assert (delivered(delivery(words), m, sent).deltas == x).all()
    assert delivered(delivery(("weight-cap 2",)), m, sent).examples == [1, Fraction(1, 2), 1]


def test_rounding_at_random_keeps_the_mean_over_all_draws() -> None:
    words, x = delivery(("fixed-random 2",)), np.array([0.3, -0.3, 1.0, -1.125])
    us = (np.arange(1000) + 0.5) / 1000
    m = Inbox(np.tile(x, (1000, 1)), [1] * 1000, [1] * 1000, [1] * 1000)
    rows = delivered(words, m, Sent((slice(0, 4),), draws=[(u,) * 4 for u in us])).deltas
    assert set((rows * 4 % 1).ravel()) == {0.0} and abs(rows - x).max() < 0.25
    np.testing.assert_allclose(rows.mean(axis=0), x, atol=1e-3)


class AtRandom(Private):
    """FedAvg whose messages are rounded to sixteenths by their draws, or as ``how`` says."""

    def average(self, e: Messages, case: Case) -> Array:
        n = np.array([m.weight for m in e.messages], dtype=float)
        rows = []
        for m in e.messages:
            y, u = flatten(m.delta).astype(float) * 16, np.array(m.draws)
            u = np.array(e.messages[0].draws) if self.how == "shared" else u
            low = np.floor(y)
            sign = np.where(y < 0, -1, 1)
            first = np.concatenate([u[: np.size(a)] for a in m.delta.values()])
            other = {"magnitude": sign * np.floor(sign * y + u), "first draws": np.floor(y + first)}
            other |= {"nearest": np.rint(y), "nearest with draws": np.rint(y + u), "turned": low + (u < y - low)}
            other["reversed"] = low + (u < 1 - (y - low))
            rows.append(other.get(self.how, np.where(u < 1 - (y - low), low, low + 1)) / 16)
        return np.asarray(n / n.sum() @ np.array(rows))


@pytest.mark.slow
def test_messages_that_are_rounded_at_random_conform() -> None:
    result = judged(AtRandom(("fixed-random 4",)))
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ("nearest", "rounded to multiples of 2^-4, not rounded at random"),
        pytest.param("nearest with draws", "2^4 change + draw is rounded to the nearest", marks=pytest.mark.slow),
        pytest.param("reversed", "rounded up where draw < 1 - f", marks=pytest.mark.slow),
        pytest.param("turned", "2^4 change - draw is rounded up", marks=pytest.mark.slow),
        pytest.param("magnitude", "2^4 abs(change) + draw is rounded down and takes", marks=pytest.mark.slow),
        pytest.param("first draws", "each block of a message takes the message's first draws", marks=pytest.mark.slow),
        pytest.param("shared", "every message takes the draws of the first", marks=pytest.mark.slow),
    ],
)
def test_another_rounding_gets_a_name(how: str, words: str) -> None:
    said = named(AtRandom(("fixed-random 4",), how=how))
    assert words in said, said


@pytest.mark.parametrize(
    ("claim", "said"),
    [
        (Claim("fedavg", "server", messages=("noise 1",)), "put 'clip-norm c' before it"),
        (Claim("fedavg", "server", messages=("clip-norm 1", "noise 1", "divisor 2")), "put 'noise' behind it"),
        (Claim("median", "server", messages=("divisor 2",)), "no option weights"),
        (Claim("fedavg", "server", messages=("fixed-random 4.5",)), "whole number of bits"),
        (Claim("fedavg", "server", messages=("fixed-random 4",), parts={"head": "local"}), "make two claims"),
        (Claim("fedavg", "server", "", {"weights": "uniform"}, messages=("weight-cap 2",)), "weighted by uniform"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(claim: Claim, said: str) -> None:
    with pytest.raises(ContractError, match=said):
        setting_of(with_reading(claim))


def test_the_reference_asks_for_the_draws() -> None:
    hyper, x0 = {"eta": 1.0, "eta_l": 0.1}, {"w": np.zeros(2)}
    for link, said in (("noise 1", "noise: got 0 draws for 2"), ("fixed-random 4", "needs a draw in")):
        messages = ("clip-norm 1", link)
        case = Case("fedavg", "server", "", {"weights": "uniform"}, "float64", x0, hyper, messages=messages)
        with pytest.raises(PlanError, match=said):
            SUBJECT.start(case).step(Messages((ClientMessage(0, x0, 1, 1, 1),)))
