"""Schedules that an implementation makes: torch's schedulers as the second route, and mistakes that get names."""

from __future__ import annotations

import cmath
import math
import pickle
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from test_judge.by_hand import Clients, adaptive, subject
from test_judge.diagnosing import named, written
from torch.optim import lr_scheduler as lr

from fedspec.client.sgd import sgd
from fedspec.contract import Begin, Case, Gradient, Offer
from fedspec.errors import ContractError, ParameterError
from fedspec.reference import SUBJECT
from fedspec.schedules import schedule_of
from fedspec_suite.api import DoesNotConform, check_subject
from fedspec_suite.measure.resting_rates import check_rests
from fedspec_suite.measure.setting import check_offer, find, setting_of, with_reading

Rate = Callable[[list[float], int], float]
SCHEDULERS: dict[str, Callable[[Any, float], lr.LRScheduler]] = {
    "step/round period=3 factor=0.5": lambda o, eta: lr.StepLR(o, 3, 0.5),
    "exponential/round factor=0.9": lambda o, eta: lr.ExponentialLR(o, 0.9),
    "linear/round period=4 floor=0.25": lambda o, eta: lr.LinearLR(o, 1, 0.25, 4),
    "cosine-unclamped/round period=20 floor=0.1": lambda o, eta: lr.CosineAnnealingLR(o, 20, 0.1 * eta),
    "warm-up/round period=5": lambda o, eta: lr.LinearLR(o, 1 / 5, 1, 4),
    "warm-up-from-zero/round period=4": lambda o, eta: lr.LambdaLR(o, lambda t: [0, 0.25, 0.5, 0.75, 1][min(t, 4)]),
    "linear/round period=3 floor=0": lambda o, eta: lr.LinearLR(o, 1, 0, 3),
    "cosine-unclamped/round period=4 floor=0": lambda o, eta: lr.CosineAnnealingLR(o, 4),
    "polynomial/round period=6 power=0.9": lambda o, eta: lr.PolynomialLR(o, 6, 0.9),
    # A point on a quarter of the circle turns by the same angle each time.
    "quarter-cosine/round period=8 floor=0.25": lambda o, eta: lr.LambdaLR(
        o, lambda t: 0.25 + 0.75 * (cmath.exp(0.0625j * math.pi) ** t).real if t < 8 else 0.25
    ),
    # 1 / r grows by 1 / (r_0 T) each time.
    "inverse/round period=3": lambda o, eta: lr.MultiplicativeLR(
        o, lambda t: 1 / (1 + o.param_groups[0]["lr"] / eta / 3)
    ),
    "inverse-sqrt/round": lambda o, eta: lr.LambdaLR(o, lambda t: (1 + t) ** -0.5),
    "table/round values=1,1,0.5,0.5,0.25": lambda o, eta: lr.MultiStepLR(o, [2, 4], 0.5),
}


def torch_rates(make: Callable[[Any, float], lr.LRScheduler], rounds: int, eta: float = 0.5) -> list[float]:
    optimiser = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=eta)
    scheduler, rates = make(optimiser, eta), []
    for _ in range(rounds):
        rates.append(float(scheduler.get_last_lr()[0]))
        optimiser.step()
        scheduler.step()
    return rates


@pytest.mark.parametrize("said", SCHEDULERS)
def test_a_shape_is_the_scheduler_that_its_page_names(said: str) -> None:
    factor = schedule_of(said).factor
    rates = torch_rates(SCHEDULERS[said], 50)
    assert [0.5 * factor(t) for t in range(50)] == pytest.approx(rates, rel=1e-12, abs=1e-15)


def test_a_cosine_stays_at_its_floor() -> None:
    factor, rates = schedule_of(COSINE).factor, torch_rates(SCHEDULERS[UNCLAMPED], 50)
    assert [0.5 * factor(t) for t in range(50)] == pytest.approx([rates[min(t, 20)] for t in range(50)], rel=1e-12)


def server(
    said: str,
    rate: Rate = lambda rates, t: rates[t],
    rounds: int = 60,
    kept: tuple[str, ...] = (),
    more: int = 0,
    **moves: Any,
) -> Any:
    """FedAvgM whose rate is a list made by torch; ``rate`` gives it the rate of round t. If it's saved, it is so with
    what is kept, and with so many more rounds."""
    offer = Offer("fedavgm", "server", options={"weights": "examples"}, schedules={"eta": said}, resumes=bool(kept))

    def begin(s: Any) -> None:
        s.rates = getattr(s, "rates", None) or torch_rates(SCHEDULERS[said], rounds, s.eta)
        s.eta = rate(s.rates, s.t - 1)

    def start(case: Case) -> Any:
        session = adaptive("fedavgm", **{"delta": mean, "begin": begin, **moves}).start(case)
        s = session.state
        session.save = lambda: pickle.dumps({n: getattr(s, n) + more * (n == "t") for n in kept})
        session.restore = lambda saved: vars(s).update(pickle.loads(saved))
        return session

    return written(offer, start)


def mean(s: Any) -> Any:
    return s.p @ s.rows if s.n.any() else 0 * s.x


def judged(subject: Any, law: str = "*") -> Any:
    try:
        (result,) = check_subject(subject, profile="quick", law=law)
    except DoesNotConform as failed:
        (result,) = failed.results
    return result


REACHED, FROM_ZERO = "cosine-unclamped/round period=4 floor=0", "warm-up-from-zero/round period=4"
UNCLAMPED, HALVED = "cosine-unclamped/round period=20 floor=0.1", "step/round period=3 factor=0.5"
COSINE = "cosine/round period=20 floor=0.1"
MISTAKES: dict[str, tuple[str, Rate]] = {
    "eta has no schedule": (UNCLAMPED, lambda rates, t: rates[0]),
    "the schedule of eta starts one round early": (HALVED, lambda rates, t: rates[t + 1]),
    "eta is multiplied by its schedule's factor again and again": (
        "exponential/round factor=0.9",
        lambda rates, t: rates[0] * 0.9 ** (t * (t + 1) // 2),
    ),
    'eta has the schedule "step/round period=4 factor=0.5"': (HALVED, lambda rates, t: rates[0] * 0.5 ** (t // 4)),
    'eta has the schedule "linear/round period=20 floor=0.1"': (
        UNCLAMPED,
        lambda rates, t: rates[0] * (1 - 0.9 * min(t, 20) / 20),
    ),
    'eta has the schedule "cosine/round period=20 floor=0.1"': (UNCLAMPED, lambda rates, t: rates[min(t, 20)]),
    "the floor of the schedule of eta is the rate 0.1 itself, not 0.1 eta": (
        UNCLAMPED,
        lambda rates, t: 0.1 + (rates[0] - 0.1) * (1 + math.cos(math.pi * t / 20)) / 2,
    ),
    "the schedule of eta starts one round late": (REACHED, lambda rates, t: rates[max(t - 1, 0)]),
}


@pytest.mark.table(1)
@pytest.mark.parametrize("said", [UNCLAMPED, HALVED, REACHED, FROM_ZERO])
def test_a_server_with_the_schedule_that_it_claims_conforms(said: str) -> None:
    result = judged(server(said))
    assert result.verdict == "conforms", result.first_deviation
    assert f"schedules eta={said}" in result.declared


@pytest.mark.slow
@pytest.mark.parametrize("words", MISTAKES)
def test_another_schedule_gets_a_name(words: str) -> None:
    # The checks find the cases in which some of these deviate at all.
    assert words in judged(server(*MISTAKES[words])).nearest


@pytest.mark.slow
def test_a_schedule_that_counts_messages_gets_a_name() -> None:
    result = judged(server(UNCLAMPED, rounds=400, end=lambda s: vars(s).update(t=s.t + s.M - 1)))
    assert "the schedule of eta moves once a message, not once a round" in result.nearest, result.nearest


@pytest.mark.slow
@pytest.mark.parametrize(
    ("moves", "words"),
    [
        (lambda s: abs(s.v), "yours: x = x + eta abs(v), wanted: x = x + eta v"),
        (lambda s: s.v_old, "the step uses the buffer of the round before"),
    ],
)
def test_another_mistake_gets_its_name_under_a_schedule(moves: Any, words: str) -> None:
    """It moves by the magnitude of its buffer, or of a stale one."""
    assert words in judged(server(HALVED, step=moves)).nearest


@pytest.mark.slow
def test_a_schedule_of_the_changes_gets_a_name() -> None:
    """The messages are multiplied before the buffer takes them."""
    scaled = lambda s: s.rates[s.t - 1] / s.rates[0] * mean(s)  # noqa: E731
    said = judged(server(UNCLAMPED, lambda rates, t: rates[0], delta=scaled)).nearest
    assert "the schedule of eta multiplies Delta, not eta" in said


@pytest.mark.parametrize(
    ("kept", "more", "words"),
    [
        (("x", "v", "t"), 0, ""),
        (("x", "v", "t"), -1, "after restore, the schedule doesn't count the last event"),
        (("x", "v", "t"), 1, "after restore, the schedule counts the last event twice"),
        (("x", "v"), 0, "the schedule starts again at a restore"),
        (("x",), 0, "after restore, v is at its initial value, and the schedule starts again"),
    ],
)
def test_a_schedule_that_a_restore_moves_gets_a_name(kept: tuple[str, ...], more: int, words: str) -> None:
    result = judged(server("exponential/round factor=0.9", kept=kept, more=more), "resumes")
    assert words in result.first_deviation and bool(words) is (result.verdict == "does not conform")


def local(every: str, does: str) -> Any:
    """SGD at level client, whose rate warms up: by step, by round, or by the steps of a round."""
    offer = Offer("sgd", "client", schedules={"eta_l": f"warm-up/{every} period=4"})
    return written(offer, lambda case: Steps(case, does))


@pytest.mark.table(1)
@pytest.mark.parametrize("every", ["step", "round", "step-of-round"])
@pytest.mark.parametrize("lost", [True, False])
def test_a_local_schedule_that_starts_again_at_a_restore_gets_a_name(every: str, lost: bool) -> None:
    claim = replace(local(every, every).info.claims[0], resumes=True)

    def start(case: Case) -> Any:
        session = Steps(case, every)
        state = ("x",) if lost else ("x", "steps", "round", "here")
        return SimpleNamespace(
            step=session.step,
            save=lambda: pickle.dumps({n: getattr(session, n) for n in state}),
            restore=lambda saved: vars(session).update(pickle.loads(saved)),
        )

    said = judged(written(claim, start), "resumes").first_deviation
    assert ("the schedule starts again at a restore" in said) is lost


class Steps:
    def __init__(self, case: Case, does: str, factor: Callable[[int], float] = lambda t: min(1, (t + 1) / 4)) -> None:
        self.x, self.eta, self.does, self.factor = dict(case.x0), case.hyper["eta_l"], does, factor
        self.steps = self.round = self.here = 0

    def step(self, event: Any) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.x, self.here, self.round = dict(event.x), 0, self.round + (self.steps > 0)
            return {"x": self.x}
        t = {"step": self.steps, "round": self.round, "step-of-round": self.here}[self.does]
        eta = self.eta * self.factor(t)
        self.x = {n: (a - eta * event.g[n]).astype(a.dtype) for n, a in self.x.items()}
        self.steps, self.here = self.steps + 1, self.here + 1
        return {"x": self.x}


@pytest.mark.table(1)
@pytest.mark.parametrize("every", ["step", "round", "step-of-round"])
def test_a_local_schedule_counts_what_it_claims(every: str) -> None:
    result = judged(local(every, every))
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.slow
@pytest.mark.parametrize(
    ("every", "does", "words"),
    [
        ("step", "round", "moves once a round, not once a step"),
        ("round", "step", "moves once a step, not once a round"),
        ("step", "step-of-round", "starts again in every round, not once a step"),
    ],
)
def test_a_local_schedule_that_counts_something_else_gets_a_name(every: str, does: str, words: str) -> None:
    said = named(local(every, does))
    assert words in said, said


REFUSED = {
    "cosine period=3": "SHAPE/EVERY",
    "cosines/round": "SHAPE/EVERY",
    "cosine/week period=3 floor=0.5": "SHAPE/EVERY",
    "cosine/round period=3": "takes period=... floor=...",
    "cosine/round period=0 floor=0": "positive",
    "step/round period=3 factor=0": "positive",
    "table/round values=0,0": "always 0",
    "linear/round period=3 floor=-1": "negative",
    "cosine/round period=2.5 floor=0.5": "whole number",
    "inverse-sqrt/round period=3": "takes nothing",
    "exponential/round factor=nan": "positive",
    "table/round values=1,x": "give numbers",
}


@pytest.mark.parametrize("said", REFUSED)
def test_what_is_no_schedule_is_refused(said: str) -> None:
    with pytest.raises(ContractError, match=REFUSED[said].replace(".", r"\.")):
        schedule_of(said)


@pytest.mark.parametrize(
    ("offer", "words"),
    [
        (Offer("fedavgm", "server", schedules={"beta": COSINE}), "eta"),
        (Offer("fedavgm", "server", schedules={"eta": COSINE.replace("round", "step")}), "count every round"),
        (Offer("fedavgm", "server", schedules={"eta": COSINE}, rates="rounds"), "either"),
        (Offer("fedbuff", "trace", schedules={"eta": COSINE}), "none"),
    ],
)
def test_a_claim_says_what_its_level_shows(offer: Offer, words: str) -> None:
    with pytest.raises(ContractError, match=words):
        check_offer(offer, find(offer.algorithm))


class WaitingSteps:
    """Adam at level client by torch, whose rate warms up from 0: its first step moves the moments alone."""

    def __init__(self, case: Case) -> None:
        self.h, self.t = case.hyper, 0
        self.begin(case.x0)

    def begin(self, x: Any) -> None:
        h, self.parts = self.h, {n: torch.nn.Parameter(torch.tensor(a)) for n, a in x.items()}
        self.adam = torch.optim.Adam(self.parts.values(), h["eta_l"], (h["beta1"], h["beta2"]), h["eps"])

    def step(self, event: Any) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.begin(event.x)
        else:
            self.adam.param_groups[0]["lr"] = self.h["eta_l"] * min(self.t / 3, 1)
            for name, g in event.g.items():
                self.parts[name].grad = torch.tensor(g)
            self.adam.step()
            self.t += 1
        return {"x": {n: p.detach().numpy().copy() for n, p in self.parts.items()}}


def test_a_rate_of_zero_moves_the_moments_alone() -> None:
    offer = Offer("adam", "client", schedules={"eta_l": "warm-up-from-zero/step period=3"})
    result = judged(written(offer, WaitingSteps))
    assert result.verdict == "conforms", result.first_deviation


@pytest.mark.parametrize(
    ("algorithm", "level", "reading", "options", "divides"),
    [
        ("scaffold", "round", "", {}, True),
        ("scaffold", "round", "option-1", {}, False),
        ("fednova", "round", "", {"solver": "momentum"}, True),
        ("mifa", "round", "", {}, True),
        ("slowmo", "round", "", {}, True),
        ("fedprox", "round", "", {}, False),
        ("diloco", "round", "", {}, False),
        ("lamb", "client", "", {}, False),
        ("k-gt", "trace", "", {}, True),
        ("dsgd", "trace", "", {}, False),
    ],
)
def test_a_row_that_divides_by_a_rate_takes_none_of_zero(
    algorithm: str, level: Any, reading: str, options: dict[str, str], divides: bool
) -> None:
    offer = Offer(algorithm, level, reading, options, schedules={"eta_l": FROM_ZERO})
    setting = setting_of(with_reading(offer))
    if divides:
        with pytest.raises(ContractError, match="eta_l = 0, and its rule then divides by 0"):
            check_rests(setting)
    else:
        check_rests(setting)
    check_rests(replace(setting, schedules={"eta_l": "warm-up/round period=4"}))


def test_a_claim_that_divides_by_zero_is_an_error_with_its_reason() -> None:
    claim = Offer("scaffold", "round", schedules={"eta_l": FROM_ZERO})
    assert "divides by 0; claim a floor" in judged(written(claim, SUBJECT.start)).first_deviation


def test_the_specification_rests_among_peers() -> None:
    claim = Offer("dsgd", "trace", schedules={"eta_l": "linear/round period=2 floor=0"})
    result = judged(written(claim, SUBJECT.start))
    assert result.verdict.startswith("conforms"), result.first_deviation


def test_a_rate_is_zero_by_an_event_alone() -> None:
    """A case may not begin with it."""
    case = Case("sgd", "client", "fednova", {}, "float64", {"w": np.ones(1)}, {"eta_l": 0.5})
    assert SUBJECT.start(case).step(Gradient({"w": np.ones(1)}, eta_l=0.0))["x"] == 1
    with pytest.raises(ParameterError, match="eta_l"):
        SUBJECT.start(replace(case, hyper={"eta_l": 0.0})).step(Gradient({"w": np.ones(1)}, eta_l=-0.5))
    with pytest.raises(ParameterError, match="eta_l"):
        sgd(np.ones(1), np.ones(1), eta_l=0.0)


@pytest.mark.slow
def test_a_client_that_is_one_round_late_has_a_schedule() -> None:
    offer = Offer("sgd", "client", schedules={"eta_l": "exponential/round factor=0.5"})
    late = written(offer, lambda case: Steps(case, "round", lambda t: 0.5 ** max(t - 1, 0)))
    assert "the schedule of eta_l starts one round late" in judged(late).nearest


class Prox(Clients):
    """FedProx by hand, with a local rate that halves every four rounds: of the server, or of the client's own."""

    algorithm, options = "fedprox", {"weights": "examples"}
    t = 0

    def round(self, S: list[int], T: list[int]) -> None:
        count = {i: self.last.get(i, 0) if "own" in self.does else self.t for i in S}
        ends = [
            self.local(i, tau, lambda y: self.h["mu"] * (y - self.x), 0.5 ** (count[i] // 4))
            for i, tau in zip(S, T, strict=True)
        ]
        self.last |= {i: self.last.get(i, 0) + 1 for i in S}
        self.x, self.t = self.x + self.h["eta"] * (self.shares(S) @ np.stack(ends) - self.x), self.t + 1


def prox(*does: str) -> Any:
    return judged(
        subject(Prox, *does, dtypes=("float64", "float32"), schedules={"eta_l": "step/round period=4 factor=0.5"})
    )


@pytest.mark.slow
def test_a_client_that_counts_its_own_rounds_is_told_from_the_server() -> None:
    assert prox().verdict == "conforms"
    said = prox("own").nearest
    assert said.startswith("the schedule of eta_l counts each client's own rounds, not all"), said
