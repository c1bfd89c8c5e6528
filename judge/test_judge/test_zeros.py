"""A zero that a subject refuses costs it that value, not its row."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, offer_of, written
from test_judge.support import fedspec, py
from test_judge.test_schedules import judged

from fedspec.contract import Answer, Case, Event, Messages, Offer, Session
from fedspec.reference import SUBJECT
from fedspec_suite.judge.obligations import OneByOne
from fedspec_suite.judge.refused_zeros import refused
from fedspec_suite.judge.request import Request
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.declared_limits import broken_limit, with_zero, zeros
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Result, Status
from fedspec_suite.report.partial_conformance import refusal
from fedspec_suite.report.sentences import head
from fedspec_suite.vectors.checker import judged as vectors_say
from fedspec_suite.vectors.store import load


def refusing(offer: Offer, *names: str, below: float = 0.0, wrong: bool = False) -> Any:
    """The specification, but for values that it does not take."""

    def start(case: Case) -> Any:
        for name in names:
            if case.hyper.get(name, 1.0) <= below:
                raise ValueError(f"{name} must be positive")
        inner = SUBJECT.start(case)

        def step(event: Event) -> Answer:
            if isinstance(event, Messages) and "weight" in names and not all(m.weight for m in event.messages):
                raise ValueError("no samples")
            answer = inner.step(event)
            x: Any = answer["x"]
            return {**answer, "x": -x if wrong and x.dtype == np.float32 else x}

        return SimpleNamespace(step=step)

    return written(offer, start)


LAWS = "follows-*,far-numbers,repeats,zero-weight"
CLAIMS = [
    ("momentum", "client", "", "rho"),
    ("fedasync", "trace", "xie-2019-hinge", "hinge_a"),
    ("lamb", "client", "", "lam"),
    ("fedavg", "server", "", "weight"),
]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(("algorithm", "level", "reading", "name"), CLAIMS)
def test_the_rest_is_judged_and_counted(algorithm: str, level: str, reading: str, name: str) -> None:
    offer = offer_of(algorithm, level, reading)
    r = judged(refusing(offer, name), LAWS)
    (lost,) = [o for o in r.obligations if o.status is not Status.PASS and o.status is not Status.SKIP]
    assert (lost.law, lost.status) == (f"takes-zero-{name}", Status.ERROR)
    assert (r.verdict, r.passed, r.required) == ("error", r.required - 1, r.required) and r.passed >= 5
    assert f'nonzero=("{name}",) declares; without it {r.passed} of {r.passed} pass' in head(r)
    declared = judged(refusing(replace(offer, nonzero=(name,)), name), LAWS)
    assert (declared.verdict, declared.passed) == ("asked in part", r.passed)


@pytest.mark.slow
def test_what_is_wrong_in_one_type_and_refuses_is_told_both() -> None:
    r = judged(refusing(offer_of("momentum", "client"), "rho", wrong=True), "follows-*,far-numbers")
    assert r.verdict == "does not conform" and "; refuses rho = 0 (ValueError: rho must be positive" in head(r)


@pytest.mark.parametrize(
    ("names", "below", "fixed", "found"),
    [
        (("lam", "beta1"), 0.0, {}, {"lam", "beta1"}),
        (("lam",), 0.0, {"lam": 0.5}, set()),
        # It refuses everything: zero is not what is wrong.
        (("eta_l",), 10.0, {}, set()),
        ((), 0.0, {}, set()),
    ],
)
def test_what_is_refused(names: tuple[str, ...], below: float, fixed: Mapping[str, float], found: set[str]) -> None:
    offer = offer_of("lamb", "client", fixed=fixed)
    assert refused(InProcess(refusing(offer, *names, below=below)), offer).keys() == found


def test_zeros_that_the_claim_forbids_are_not_asked() -> None:
    """Reddi's Adam asks v_0 >= tau^2, so that v_0 = 0 would need tau = 0."""
    offer = offer_of("fedadam", "server", "reddi-2021")
    assert refused(InProcess(refusing(offer, "v0", "beta1")), offer).keys() == {"beta1"}


@pytest.mark.parametrize(("algorithm", "name"), [("lamb", "lam"), ("admu", "eps_s"), ("admu", "v0")])
def test_a_declared_zero_is_in_no_case(algorithm: str, name: str) -> None:
    offer = offer_of(algorithm, "client")
    before = draw_cases(scenarios(setting_of(offer)), 40, 0)
    after = draw_cases(scenarios(setting_of(replace(offer, nonzero=(name,)))), 40, 0)
    assert any(name in zeros(s) for s in before) and not any(name in zeros(s) for s in after)
    assert name not in zeros(plain_scenario(setting_of(replace(offer, nonzero=(name,)))))
    zero = with_zero(after[0], name)
    assert broken_limit(replace(offer, nonzero=(name,)), zero) == f"{name} = 0 is refused" and not broken_limit(
        offer, zero
    )


@pytest.mark.parametrize("level", ["server", "round"])
def test_a_client_without_examples(level: str) -> None:
    cases = draw_cases(scenarios(setting_of(offer_of("fedavg", level))), 12, 0)
    assert not any("weight" in zeros(s) for s in cases)
    found = [with_zero(s, "weight") for s in cases]
    assert any("weight" in zeros(s) for s in found)
    # Never all of them.
    for s in found:
        sent = [[m.weight for m in e.messages] for e in s.events if isinstance(e, Messages)]
        held = [] if s.case.problem is None else [s.case.problem.examples.tolist()]
        assert all(any(some) for some in (*sent, *held))


def by_vectors(subject: Any) -> Result:
    (offer,) = subject.info.offers
    (stored,) = load(algorithms=[offer.algorithm])
    return vectors_say(*benched(subject), stored)


def test_vectors_say_which_value_and_the_rest_is_played() -> None:
    offer = offer_of("lamb", "client", "you-2020")
    r = by_vectors(refusing(offer, "lam"))
    (lost,) = [o for o in r.obligations if o.status not in {Status.PASS, Status.SKIP}]
    assert (lost.law, r.verdict, r.passed) == ("takes-zero-lam", "error", r.required - 1) and r.passed > 1
    assert f'nonzero=("lam",) declares; without it {r.passed} of {r.passed} pass' in head(r)
    declared = by_vectors(refusing(replace(offer, nonzero=("lam",)), "lam"))
    assert (declared.verdict, declared.passed) == ("conforms", r.passed)


@pytest.mark.slow
def test_one_obligation_of_several_asked_one_by_one_has_the_value() -> None:
    offer = offer_of("momentum", "client", dtypes=("float64",))
    request = Request(("it",), law="follows-*,repeats,far-numbers", profile="quick")
    asking = OneByOne(request, "it", InProcess(refusing(offer, "rho")), 0)
    found = {row: asking.ask(*row) for row in asking.rows}
    lost = [row for row, o in found.items() if o.status not in {Status.PASS, Status.SKIP}]
    assert lost == [asking.refusing] and {o.status for o in found.values()} >= {Status.PASS, Status.ERROR}
    assert asking.refused is not None
    words = r'refuses rho = 0 \(ValueError: rho must be positive \(\S+, line \d+\)\), which nonzero=\("rho",\) declares'
    assert re.match(words, refusal(asking.refused).replace("adapter: ", ""))


@pytest.mark.slow
def test_the_command_says_which_value() -> None:
    ran = fedspec("check", py("odd:no_zero"), "--profile", "quick", "--jobs", "1", "--law", "follows-*,far-numbers")
    assert ran.code == 2 and ran.out.startswith("1 of 1 claim refuses a zero.\n"), ran
    assert 'nonzero=("mu",)' in " ".join(ran.out.split())


def one_block(case: Case) -> Session:
    """The specification, which takes a model of a single block alone."""
    (_,) = case.x0
    return SUBJECT.start(case)


def test_a_subject_of_a_single_block_is_judged_on_single_blocks_and_told_to_say_so() -> None:
    offer = offer_of("fedavg", "round")
    r = judged(written(offer, one_block), "follows-x")
    (lost,) = [o for o in r.obligations if o.status is Status.ERROR]
    assert (lost.law, r.verdict, r.passed) == ("takes-blocks", "error", r.required - 1)
    assert 'which blocks="one" declares; without it 2 of 2 pass' in head(r)
    declared = judged(written(replace(offer, blocks="one"), one_block), "follows-x")
    assert (declared.verdict, declared.passed) == ("asked in part", 2)
