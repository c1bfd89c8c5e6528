"""Schedules of learning rates that no claim says are written out, from servers and clients in NumPy and torch."""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.diagnosing import diagnosed, offer_of, written

from fedspec.contract import Begin, Case, Offer
from fedspec_suite.diagnosis.written.plays import generic_cases
from fedspec_suite.diagnosis.written.rates import shapes_of
from fedspec_suite.measure.setting import setting_of

Scheduler = Callable[[torch.optim.Optimizer], Any]
LR = torch.optim.lr_scheduler

ROUNDS: dict[str, Callable[[int], float]] = {
    "exponential/round factor=0.99": lambda t: 0.99**t,
    "inverse-sqrt/round": lambda t: 1 / math.sqrt(t + 1),
    "inverse/round period=1": lambda t: 1 / (t + 1),
    "step/round period=7 factor=0.5": lambda t: 0.5 ** (t // 7),
    "cosine/round period=20 floor=0.1": lambda t: 0.55 + 0.45 * math.cos(math.pi * min(t, 20) / 20),
    "quarter-cosine/round period=12 floor=0.1": lambda t: 0.1 + 0.9 * math.sin(math.pi * max(12 - t, 0) / 24),
    "polynomial/round period=20 power=0.9": lambda t: math.exp(0.9 * math.log(1 - t / 20)) if t < 20 else 0.0,
    "linear/round period=10 floor=0.2": lambda t: max(1 - 0.08 * t, 0.2),
    "warm-up/round period=6": lambda t: min((t + 1) / 6, 1),
    "warm-up-from-zero/round period=4": lambda t: [0, 0.25, 0.5, 0.75, 1][min(t, 4)],
}

STEPS: dict[str, Scheduler] = {
    "exponential/step factor=0.9": lambda o: LR.ExponentialLR(o, 0.9),
    "step/step period=3 factor=0.1": lambda o: LR.StepLR(o, 3, 0.1),
    "linear/step period=9 floor=0.2": lambda o: LR.LinearLR(o, 1, 0.2, 9),
    "cosine-unclamped/step period=8 floor=0.1": lambda o: LR.CosineAnnealingLR(o, 8, 0.1),
    "cosine-unclamped/step period=4 floor=0": lambda o: LR.CosineAnnealingLR(o, 4),
}


def yours(subject: Any) -> list[str]:
    return [f.names[0].get("yours", f.words) for f in diagnosed(subject).found]


def server(case: Case, rate: Callable[[int, float], float]) -> Any:
    """FedAvgM whose rate is its own."""
    x = {n: a.copy() for n, a in case.x0.items()}
    v = {n: 0 * a for n, a in x.items()}
    rounds = iter(range(1000))

    def step(event: Any) -> Any:
        eta, total = rate(next(rounds), case.hyper["eta"]), sum(m.weight for m in event.messages)
        for n, a in x.items():
            v[n] = case.hyper["beta"] * v[n] + sum(m.weight / total * m.delta[n] for m in event.messages)
            x[n] = a + eta * v[n]
        return {"x": {**x}}

    return SimpleNamespace(step=step)


@pytest.mark.table(2)
@pytest.mark.parametrize("schedule", [*ROUNDS])
def test_a_shape_is_read_off_its_factors(schedule: str) -> None:
    assert schedule in shapes_of(np.array([ROUNDS[schedule](t) for t in range(24)]), "server")


@pytest.mark.table(1)
@pytest.mark.parametrize("schedule", STEPS)
def test_a_shape_is_read_off_the_rates_of_torch(schedule: str) -> None:
    optimizer = torch.optim.SGD([torch.zeros(1)], 1.0)
    scheduler, s = STEPS[schedule](optimizer), list[float]()
    for _ in range(24):
        s.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    assert schedule in shapes_of(np.array(s), "client")
    s[5] *= 1.001
    assert not [*shapes_of(np.array(s), "client")]


@pytest.mark.slow
@pytest.mark.parametrize("schedule", [*ROUNDS][2:4] + [*ROUNDS][-1:])
def test_the_schedule_of_a_server(schedule: str) -> None:
    offer = offer_of("fedavgm", "server", "hsu-2019", dtypes=("float64",), intermediates=())
    subject = written(offer, lambda case: server(case, lambda t, eta: eta * ROUNDS[schedule](t)))
    assert yours(subject) == [f'eta has the schedule "{schedule}"']


@pytest.mark.slow
def test_a_schedule_of_no_shape_is_printed_as_numbers() -> None:
    offer = offer_of("fedavgm", "server", "hsu-2019", dtypes=("float64",), intermediates=())
    d = diagnosed(written(offer, lambda case: server(case, lambda t, eta: eta / (1 + t * t))), further=False)
    assert "eta is multiplied by 1, 0.5, 0.2, 0.1, 0.05882 in rounds 1 to 5" in d.seen


@pytest.mark.slow
def test_a_rate_that_is_wrong_by_one_factor_is_no_schedule() -> None:
    offer = offer_of("fedavgm", "server", "hsu-2019", dtypes=("float64",), intermediates=())
    subject = written(offer, lambda case: server(case, lambda t, eta: eta * eta))
    assert not any("schedule" in words for words in yours(subject))


@pytest.mark.slow
def test_the_schedule_of_a_client() -> None:
    schedule = "step/step period=3 factor=0.1"

    def start(case: Case) -> Any:
        parameters = {n: torch.tensor(a) for n, a in case.x0.items()}
        optimizer = torch.optim.SGD([*parameters.values()], case.hyper["eta_l"])
        scheduler = STEPS[schedule](optimizer)

        def step(event: Any) -> Any:
            for n, p in parameters.items():
                if isinstance(event, Begin):
                    p.data = torch.tensor(event.x[n])
                else:
                    p.grad = torch.tensor(event.g[n])
            if not isinstance(event, Begin):
                optimizer.step()
                scheduler.step()
            return {"x": {n: p.detach().numpy().copy() for n, p in parameters.items()}}

        return SimpleNamespace(step=step)

    offer = offer_of("sgd", "client", dtypes=("float64",), intermediates=())
    assert f'eta_l has the schedule "{schedule}"' in yours(written(offer, start))


def test_cases_of_one_setting_are_kept_by_their_lengths() -> None:
    """Short and long cases are drawn for one setting; whichever comes first is not taken for the other."""
    claimed = setting_of(Offer("fedavgm", "server", "hsu-2019"))
    lengths = [{len(s.events) for s in generic_cases(claimed, **more)} for more in ({}, {"rounds": (24, 24)}, {})]
    assert lengths[1] == {24} and lengths[0] == lengths[2] and lengths[0] <= {4, 5}
