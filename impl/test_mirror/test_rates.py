"""Rates by round and by client in a run: the specification's with them, in every way, and the same when resumed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror import support
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule, specified
from test_mirror.support import HYPER, classes, ended, resumed
from torch import nn
from torch.optim import lr_scheduler as torchs

from fedspec.catalogue import Algorithm, find
from fedspec.contract import Offer
from fedspec.domains import DOMAINS
from fedspec.errors import FedspecError, ParameterError, PlanError, UnknownNameError
from fedspec.given import VARYING
from fedspec.plan import Arrival, Plan
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity
from fedspec_torch import CheckpointError, Federation, arrivals, by_round, cohorts, exchanges, resume, simulate
from fedspec_torch.judged.subject import SUBJECT
from fedspec_torch.run.rates import Rated, numbers_of

pytestmark = pytest.mark.table(10)

ROUNDS = 4

SHARED = {
    "vrl-sgd": {"eta_l"},
    "scaffnew": {"eta_l"},
    "slowmo": {"eta_l"},
    "fedcm": {"eta_l"},
    "mofedsam": {"eta_l"},
    "mifa": {"eta_l"},
    "q-fedavg": {"eta_l"},
    "feddyn": {"mu"},
    "fedpd": {"mu"},
    **{r.id: {"eta_l"} for r in TRAINABLE if r.id.startswith("fednova")},
}
"""Hyper-parameters that the server reads too, so that one value is for all."""


def own(row: Algorithm) -> dict[str, Callable[..., float]]:
    """Every number of a row that varies: rates that fall, and where that may be, other ones for each client."""
    numbers = [n for n in VARYING if n in hyper(row)]
    each = {n for n in numbers if DOMAINS[n].of_clients and row.event != "exchange" and n not in SHARED.get(row.id, ())}
    by_round: dict[str, Callable[..., float]] = {n: lambda r, n=n: HYPER[n] * 0.75**r for n in numbers}
    by_client = {n: lambda r, i, n=n: HYPER[n] * 0.75**r / (1 + i % 3) for n in each}
    return {**by_round, **by_client}


@pytest.mark.parametrize("algorithm", ["fedblended", "fednova-alg2"])
def test_clients_of_every_strategy_have_their_own_rates(algorithm: str) -> None:
    check_rates(find(algorithm))


@pytest.mark.table(1)
@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_a_run_is_the_specification_with_the_rates_of_each_round_and_client(row: Algorithm) -> None:
    check_rates(row)


def check_rates(row: Algorithm) -> None:
    federation, H, e = quadratic()
    rates = own(row)
    assert rates
    others: dict[str, Any] = {n: v for n, v in hyper(row).items() if n not in rates}
    run = ended(row.id, federation, plan=schedule(row), rounds=ROUNDS, rates=rates, **others)
    want = specified(row, run, H, e)
    assert np.allclose(run.x.numpy(), want, rtol=1e-9, atol=1e-11)
    plain = ended(row.id, quadratic()[0], plan=schedule(row), rounds=ROUNDS, **hyper(row))
    assert not np.allclose(plain.x.numpy(), want, rtol=1e-3)


@pytest.mark.table(1)
@pytest.mark.parametrize("variant", ["engine stacked", "engine looped singly", "engine in two shards"])
@pytest.mark.parametrize("algorithm", ["fednova", "scaffold", "cc-fedadam", "cafga"])
def test_the_engine_keeps_the_laws_of_rates(algorithm: str, variant: str) -> None:
    row = find(algorithm)
    level: Any = "trace" if row.event in ("exchange", "arrival") else "round"
    rates: Any = "rounds" if level == "trace" else "clients"
    solver = {"solver": "momentum"} if "solver" in row.options else {}
    offer = Offer(row.id, level, row.readings[0].name, solver, dtypes=("float64",), rates=rates, variant=variant)
    found = judge_offer(InProcess(SUBJECT), offer, law="rates-*", cases=2)
    assert found and conclude(found)[0] is Conformity.CONFORMS, found


def task() -> tuple[nn.Module, list[tuple[torch.Tensor, torch.Tensor]]]:
    return support.chain(6, 7, 3, seed=0), classes((9,) * 5, 6)


def chain(way: str | None = None) -> Federation:
    module, data = task()
    return Federation(module, nn.functional.cross_entropy, data, way=way)


def cosine(r: int) -> float:
    return 0.5 * (1 + math.cos(math.pi * r / 8))


def by_hand(rate: Callable[[int, int], float], rounds: int) -> torch.Tensor:
    """FedAvg in a plain loop on the caller's own module: full batches, three steps."""
    module, data = task()
    x = nn.utils.parameters_to_vector(module.parameters()).detach()
    for r in range(rounds):
        ends = []
        for i, (inputs, labels) in enumerate(data):
            nn.utils.vector_to_parameters(x.clone(), module.parameters())
            step = torch.optim.SGD(module.parameters(), lr=rate(r, i))
            for _ in range(3):
                step.zero_grad()
                nn.functional.cross_entropy(module(inputs), labels).backward()  # type: ignore[no-untyped-call]
                step.step()
            ends.append(nn.utils.parameters_to_vector(module.parameters()).detach().clone())
        x = torch.stack(ends).mean(0)
    return x


EACH = torch.rand(4, 5, generator=torch.Generator().manual_seed(0)) / 2 + 0.1

RATES: dict[str, Any] = {
    "by round": cosine,
    "by client": lambda r, i: 0.5 * cosine(r) / (1 + i % 2),
    "an array": np.linspace(0.5, 0.1, 4),
    "a tensor of clients": EACH,
}


@pytest.mark.parametrize(
    ("way", "rate"),
    [
        *((way, rate) for way in (None, "compiled", "layered", "stacked", "vmapped") for rate in [*RATES][:2]),
        *(("looped", rate) for rate in RATES),
    ],
)
def test_every_way_takes_the_rate_of_its_round_and_client(way: str | None, rate: str) -> None:
    rates = {"eta_l": RATES[rate]}
    run = ended("fedavg", chain(way), plan=cohorts(None, steps=3), rounds=4, rates=rates, eta=1.0)
    numbers = numbers_of("eta_l", RATES[rate], 4, 5)
    want = by_hand(numbers.of, 4)
    assert torch.allclose(run.x, want, rtol=1e-9, atol=1e-11)


def test_late_clients_have_the_rates_of_the_round_in_which_they_began() -> None:
    plan = Rated(arrivals(largest_delay=3), (numbers_of("eta_l", lambda r, i: 1 + r + 100 * i, 9, 5),))
    plan = replace(plan, rates=(*plan.rates, numbers_of("eta", lambda r: 2.0 + r, 9, 5)))
    assert plan.said(Arrival(4, 1, 2), 7) == {"eta_l": 406.0, "eta": 9.0} and plan.largest_delay == 3
    assert plan.said(Plan((3, 1), (1, 1), (1, 1)), 2) == {"eta_l": (303.0, 103.0), "eta": 4.0}


@pytest.mark.parametrize("rate", [cosine, lambda r, i: 0.5 * cosine(r) / (1 + i)])
def test_a_saved_run_goes_on_bit_for_bit_with_the_same_rates_and_no_others(rate: Any, tmp_path: Path) -> None:
    def begun() -> Any:
        return simulate(
            "scaffold", chain("stacked"), plan=cohorts(3, steps=2), rounds=6, rates={"eta_l": rate}, eta=1.0
        )

    file = tmp_path / "run"
    resumed(begun, file, chain("stacked"), 3, rates={"eta_l": rate})
    for others, words in (
        (None, "eta_l was by round, but rates now gives none"),
        ({"eta_l": lambda r: 0.9 * cosine(r)}, r"eta_l was \S+ in round 0.*, but rates now gives \S+; resume with"),
        ({"eta_l": rate, "eta": cosine}, "eta was one number, but rates now gives by round"),
    ):
        with pytest.raises(CheckpointError, match=words):
            resume(file, chain("stacked"), rates=others)


@pytest.mark.parametrize(
    ("algorithm", "rates", "error", "words"),
    [
        ("fedavg", {"beta": cosine}, UnknownNameError, "beta of fedavg can't vary .* these can: eta, eta_l"),
        ("fedadam", {"beta1": cosine, "eta_l": cosine}, UnknownNameError, "beta1 of fedadam can't vary"),
        ("fedavg", {"eta_l": [0.1, 0.2]}, ParameterError, r"shape \(2,\); give one of shape \[4\] or \[4, 5\]"),
        ("fedavg", {"eta_l": np.ones((4, 3))}, ParameterError, r"shape \(4, 3\)"),
        ("fedavg", {"eta_l": "fast"}, ParameterError, "got 'fast'; give a function or an array"),
        ("fedavg", {"eta_l": lambda r, i, j: 1}, ParameterError, "give a function of the round, or of the round and"),
        ("fedavg", {"eta_l": lambda r: None}, ParameterError, "eta_l in round 0: .* return one number"),
        ("fedavg", {"eta_l": lambda r: -1}, ParameterError, "eta_l: got -1"),
        ("fedavg", {"eta_l": lambda r: 1 - r}, ParameterError, "rates: round 1: hyper: eta_l: got 0"),
        (
            "fedavg",
            {"eta_l": lambda r, i: 1 - i * r / 4},
            ParameterError,
            "rates: round 1: hyper, participant 4: eta_l",
        ),
        ("fedavg", {"eta_l": cosine, "eta": lambda r, i: 1}, ParameterError, "eta is given for each client, but it is"),
        ("dsgd", {"eta_l": lambda r, i: 1}, ParameterError, "but clients that mix have one for all"),
        ("fednova", {"eta_l": lambda r, i: 1}, ParameterError, "but the server reads eta_l too"),
        ("fednova", {"eta_l": cosine, "rho": lambda r: 0.5}, ParameterError, "rho: got 0.5, which plays no part"),
    ],
)
def test_rates_that_are_none_are_refused(algorithm: str, rates: Any, error: type[Exception], words: str) -> None:
    plan: Any = exchanges() if algorithm == "dsgd" else cohorts(None)
    others: dict[str, Any] = {n: v for n, v in hyper(find(algorithm)).items() if n not in rates}
    with pytest.raises(error, match=words):
        ended(algorithm, chain("looped"), plan=plan, rounds=4, rates=rates, **others)


AHEAD: list[tuple[Any, str]] = [
    ([0.5, 0.25, 0.0, 0.0], r"eta_l in round 2 is 0\.0; eta_l is the client .* must be > 0; .* fewer rounds"),
    (torch.linspace(1, 0, 4), r"eta_l in round 3 is 0\.0"),
    ([0.5, math.nan, 0.1, 0.1], "eta_l in round 1 is nan"),
    ([0.5, math.inf, 0.1, 0.1], "eta_l in round 1 is inf"),
    ([[0.5] * 5, [0.5] * 5, [0.5, 0.5, -1, 0.5, 0.5], [0.5] * 5], r"eta_l in round 2, client 2 is -1\.0"),
    (by_round.cosine(0.5, 3), r"eta_l in round 3 is 0\.0 by cosine\(0\.5, 3, 0\.0\); .* \(a cosine has least=\.\.\.\)"),
    (by_round.warm_up(2, by_round.steps(0.5, [3], 0.0)), r"eta_l in round 3 is 0\.0 by warm_up\(2, steps\(0\.5, "),
]


@pytest.mark.parametrize(("rate", "words"), AHEAD)
def test_a_rate_that_can_be_read_is_refused_before_the_first_round(rate: Any, words: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"plan": cohorts(None), "eta": 1.0}
    with pytest.raises(ParameterError, match=words):
        simulate("fedavg", chain("looped"), **asked, rounds=4, rates={"eta_l": rate})


def test_a_rate_that_nobody_can_read_ahead_is_refused_in_its_round() -> None:
    rates = {"eta_l": lambda r: 1 - r / 2}
    run = simulate("fedavg", chain("looped"), plan=cohorts(None), rounds=4, rates=rates, eta=1.0)
    with pytest.raises(ParameterError, match=r"rates: round 2: hyper: eta_l: got 0\.0; eta_l is the client"):
        list(run)
    assert len(run.history) == 2 and run.whole


def test_a_cosine_is_long_enough_for_its_own_rounds_and_no_more(tmp_path: Path) -> None:
    rates, file = {"eta_l": by_round.cosine(0.5, 4)}, tmp_path / "run"
    run = ended("fedavg", chain("looped"), rounds=4, rates=rates, eta=1.0)
    run.save(file)
    assert len(resume(file, chain("looped"), rates=rates)) == 0
    with pytest.raises(ParameterError, match=r"round 4 is 0\.0"):
        resume(file, chain("looped"), rates=rates, rounds=5)
    # Of a run that is to go on for ever not every round is looked at.
    ever = {"eta_l": by_round.cosine(0.5, 4, 0.1)}
    assert len(simulate("fedavg", chain("looped"), plan=cohorts(None), rounds=10**9, rates=ever, eta=1.0)) == 10**9


def test_a_rate_is_given_once() -> None:
    with pytest.raises(ParameterError, match="eta_l is also given as one number"):
        simulate("fedavg", chain(), plan=cohorts(None), rates={"eta_l": cosine}, eta_l=0.1, eta=1.0)


def test_a_plan_of_the_users_own_may_say_them_itself() -> None:
    class Falling:
        def events(self, algorithm: Any, h: Any, setup: Any, x: Any, round: int) -> Any:
            return (Plan(tuple(range(5)), (3,) * 5, setup.examples, hyper={"eta_l": cosine(round)}),)

    run = ended("fedavg", chain("stacked"), plan=Falling(), rounds=4, eta_l=1.0, eta=1.0)
    assert torch.allclose(run.x, by_hand(lambda r, i: cosine(r), 4), rtol=1e-9, atol=1e-11)
    with pytest.raises(PlanError, match=r"hyper.tau"):
        Plan((0,), (1,), (1,), hyper={"tau": 1.0})


SCHEDULERS: dict[str, tuple[Callable[[int], float], Callable[[Any], Any], int]] = {
    "exponential": (by_round.exponential(0.3, 0.9), lambda o: torchs.ExponentialLR(o, 0.9), 12),
    "steps": (by_round.steps(0.3, [3, 7], 0.5), lambda o: torchs.MultiStepLR(o, [3, 7], 0.5), 12),
    "cosine": (by_round.cosine(0.3, 10, 0.05), lambda o: torchs.CosineAnnealingLR(o, 10, 0.05), 11),
    "warm-up": (by_round.warm_up(4, 0.3), lambda o: torchs.LinearLR(o, 0.25, 1.0, 3), 12),
}


@pytest.mark.parametrize("name", SCHEDULERS)
def test_rates_by_round_are_those_of_torchs_own_schedulers(name: str) -> None:
    ours, scheduler, rounds = SCHEDULERS[name]
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


def test_rates_that_are_made_alike_are_equal() -> None:
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
