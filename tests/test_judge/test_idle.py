"""Hyper-parameters that a subject ignores are told before another algorithm is named."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.contract import Answer, Case, Event, Messages, Offer, Session, SubjectInfo
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.identify import identify, in_words
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.seen.idle import idle, without_effect
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import Setting, setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


class Averages:
    """A server that adds the mean change at a rate of its own, whatever else it is offered as."""

    def __init__(self, algorithm: str, reading: str, rate: str = "", odd: bool = False, **more: Any) -> None:
        offer = Offer(algorithm, "server", reading, dtypes=("float64",), **more)
        self.info = SubjectInfo("mine", "1", (offer,))
        self.rate, self.odd = rate, odd

    def start(self, case: Case) -> Session:
        return _Session(self, case)


class _Session:
    def __init__(self, subject: Averages, case: Case) -> None:
        self.x, self.case, self.subject = dict(case.x0), case, subject

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Messages)
        sizes = np.array([float(m.weight) for m in event.messages])
        shares = sizes / sizes.sum() if self.case.options["weights"] == "examples" else 1 / len(sizes) + 0 * sizes
        rate = self.case.hyper[self.subject.rate] if self.subject.rate else 1.0
        for name in self.x:
            mean: Any = sum(p * m.delta[name] for p, m in zip(shares, event.messages, strict=True))
            self.x[name] = self.x[name] + rate * (np.arctan(mean) if self.subject.odd else mean)
        return {"x": self.x}


def words(subject: Averages) -> str:
    setting = setting_of(subject.info.offers[0])
    return in_words(identify(bench_of(Inside(subject), subject.info.offers[0], setting), setting), True)


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (Averages("fedavgm", "hsu-2019"), "eta and beta have no effect: plain fedavg with eta = 1 ("),
        (Averages("fedavgm", "hsu-2019", options={"weights": "uniform"}), "eta and beta have no effect: plain fedavg"),
        (
            Averages("fedadam", "reddi-2021", "eta"),
            "beta1, beta2, tau and v0 have no effect: plain fedavg (",
        ),
        (
            Averages("fedadam", "reddi-2021", fixed={"beta1": 0.5, "tau": 0.125}),
            "eta, beta2 and v0 have no effect: plain fedavg with eta = 1 (",
        ),
        # It has a name of its own.
        (Averages("fedavg", "mcmahan-2017"), "eta is ignored (taken as 1) ("),
    ],
)
def test_what_has_no_effect_is_said_before_another_algorithm(subject: Averages, said: str) -> None:
    told = words(subject)
    assert told.startswith(said) and "; or " not in told and "fednova" not in told


def test_it_is_said_where_nothing_has_a_name() -> None:
    assert "eta and beta have no effect" in words(Averages("fedavgm", "hsu-2019", odd=True))


def known(subject: Any, offer: Offer) -> tuple[Setting, tuple[str, ...]]:
    setting = setting_of(offer)
    bench, there = bench_of(Inside(subject), offer, setting), known_of(setting)
    given = {k: bench.play(s) for k, s in enumerate(there.samples)}
    return setting, idle(setting, there, given, bench.play)


@pytest.mark.parametrize(
    ("algorithm", "level"), [("fedadam", "server"), ("admu", "client"), ("fedasync", "trace"), ("fed-lamb", "round")]
)
def test_all_numbers_of_the_specification_have_one(algorithm: str, level: str) -> None:
    offer = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (algorithm, level))
    assert known(SUBJECT, offer)[1] == ()


class Deaf:
    """The specification, told other numbers than its user gives."""

    def __init__(self, offer: Offer, told: Mapping[str, float]) -> None:
        self.info, self.told = replace(SUBJECT.info, offers=(offer,)), told

    def start(self, case: Case) -> Session:
        return SUBJECT.start(replace(case, hyper={**case.hyper, **self.told}))


@pytest.mark.parametrize("names", [("beta2",), ("eps", "z"), ("v0", "m0")])
def test_those_that_are_not_heard_have_none(names: tuple[str, ...]) -> None:
    offer = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == ("admu", "client"))
    heard: dict[str, float] = {"beta2": 0.5, "eps": 0.25, "z": 2, "v0": 1.0, "m0": 1.0}
    setting, found = known(Deaf(offer, {n: heard[n] for n in names}), offer)
    assert set(found) == set(names) & set(setting.numbers)


def test_numbers_that_are_not_heard_are_listed_in_a_sentence() -> None:
    assert without_effect(("eta",)) == "eta has no effect"
    assert without_effect(("eta", "beta", "tau")) == "eta, beta and tau have no effect"
