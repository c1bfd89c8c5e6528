"""Rates by round are those of torch's own schedulers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.optim import lr_scheduler as torchs

from fedspec.errors import FedspecError
from fedspec_torch import by_round

CASES: dict[str, tuple[Callable[[int], float], Callable[[Any], Any], int]] = {
    "exponential": (by_round.exponential(0.3, 0.9), lambda o: torchs.ExponentialLR(o, 0.9), 12),
    "steps": (by_round.steps(0.3, [3, 7], 0.5), lambda o: torchs.MultiStepLR(o, [3, 7], 0.5), 12),
    "cosine": (by_round.cosine(0.3, 10, 0.05), lambda o: torchs.CosineAnnealingLR(o, 10, 0.05), 11),
    "warm-up": (by_round.warm_up(4, 0.3), lambda o: torchs.LinearLR(o, 0.25, 1.0, 3), 12),
}


@pytest.mark.parametrize("name", CASES)
def test_they_are_torchs(name: str) -> None:
    ours, scheduler, rounds = CASES[name]
    optimiser = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.3)
    theirs = scheduler(optimiser)
    for r in range(rounds):
        assert ours(r) == pytest.approx(optimiser.param_groups[0]["lr"], rel=1e-12)
        optimiser.step()
        theirs.step()


def test_a_cosine_stays_at_its_end_and_a_warm_up_goes_on() -> None:
    assert by_round.cosine(0.3, 4, 0.1)(4) == pytest.approx(0.1)
    assert by_round.cosine(0.3, 4, 0.1)(9) == pytest.approx(0.1)
    both = by_round.warm_up(2, by_round.steps(0.4, [3], 0.5))
    assert [both(r) for r in range(5)] == pytest.approx([0.2, 0.4, 0.4, 0.2, 0.2])


def test_those_that_are_made_alike_are_equal() -> None:
    for name, (make, other) in {
        "steps(0.3, (3, 7), 0.5)": (lambda: by_round.steps(0.3, [3, 7], 0.5), by_round.steps(0.3, [3, 6], 0.5)),
        "warm_up(4, cosine(0.3, 9, 0.1))": (
            lambda: by_round.warm_up(4, by_round.cosine(0.3, 9, 0.1)),
            by_round.warm_up(4, 0.3),
        ),
    }.items():
        assert repr(make()) == name and make() == make() != other


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: by_round.exponential(-0.1, 0.9), r"rate: got -0\.1; give a finite number of at least 0"),
        (lambda: by_round.steps(0.1, [3], float("nan")), "factor: got nan"),
        (lambda: by_round.cosine(0.1, 0), "rounds: got 0; it falls over at least one round"),
        (lambda: by_round.warm_up(0, 0.1), "rounds: got 0; it rises over at least one round"),
        (lambda: by_round.warm_up(2, -0.1), r"then: got -0\.1"),
    ],
)
def test_numbers_that_are_no_rates_are_refused(make: Callable[[], Any], words: str) -> None:
    with pytest.raises(FedspecError, match=words):
        make()
