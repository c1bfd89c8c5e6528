"""Participants come in any order, one without examples may be the first, and numbers vary from event to event.

The wrong subjects run the specification on events that differ from those they are given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Begin, Case, Claim, Event, Gradient, Messages, Round
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import conclude, judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Conformity

pytestmark = pytest.mark.table(4)

Change = Callable[[Any, Event], Event]


def changed(offer: Claim, change: Change) -> Any:
    """The specification, to which each event is told differently."""

    def start(case: Case) -> Any:
        session: Any = SUBJECT.start(case)
        take = session.step
        session.step = lambda event: take(change(session, event))
        return session

    return written(offer, start)


def by_position(session: Any, e: Event) -> Event:
    """The k-th participant uses the memory, and the data, of the client that came k-th in the first round."""
    if not isinstance(e, Round):
        return e
    first = session.__dict__.setdefault("order", e.participants)
    data = dict(zip(first, e.participants, strict=True))
    problem = session.problem
    session.clients = [problem.clients[data[i]] for i in range(len(problem.clients))]
    session.examples = session.case.problem.examples[[data[i] for i in range(len(problem.clients))]]
    return replace(e, participants=first)


def first_counts(session: Any, e: Event) -> Event:
    if not isinstance(e, Messages) or e.messages[0].weight:
        return e
    return replace(e, messages=(replace(e.messages[0], weight=1), *e.messages[1:]))


def first_rate_is_the_case_s(session: Any, e: Event) -> Event:
    begins = session.__dict__.get("begins", True)
    session.__dict__["begins"] = isinstance(e, Begin)
    return replace(e, eta_l=session.case.hyper["eta_l"]) if isinstance(e, Gradient) and begins else e


def bounded_by_the_case(name: str) -> Change:
    """An event can make the number smaller, but not larger."""

    def bounded(session: Any, e: Event) -> Event:
        if name not in (said := getattr(e, "hyper", {})):
            return e
        most = session.case.hyper[name]
        return replace(e, hyper={**said, name: np.minimum(said[name], most).tolist()})

    return bounded


def zero_is_no_number(session: Any, e: Event) -> Event:
    return replace(e, hyper={n: v for n, v in e.hyper.items() if v}) if isinstance(e, Round) else e


def outliers_are_left_out(session: Any, e: Event) -> Event:
    if not isinstance(e, Messages):
        return e
    sizes = [max(float(np.abs(a).max(initial=0)) for a in m.delta.values()) for m in e.messages]
    kept = [m for m, size in zip(e.messages, sizes, strict=True) if size <= 30 * np.median(sizes)]
    return replace(e, messages=tuple(kept or e.messages))


def claim(algorithm: str, level: Any, **more: Any) -> Claim:
    return Claim(algorithm, level, CATALOGUE[algorithm].readings[0].name, dtypes=("float64",), **more)


WRONG: list[tuple[Claim, Change]] = [
    *((claim(a, "round"), by_position) for a in ("vrl-sgd", "fedpd", "ef21", "streaming-diloco")),
    (claim("fedavg", "server"), first_counts),
    (claim("fedavg", "server"), outliers_are_left_out),
    (claim("sgd", "client", rates="each"), first_rate_is_the_case_s),
    (claim("adam", "client", rates="each"), first_rate_is_the_case_s),
    (claim("fedavgm", "server", rates="rounds"), bounded_by_the_case("eta")),
    (claim("fedavg", "round", rates="clients"), bounded_by_the_case("eta_l")),
    (claim("fedprox", "round", rates="rounds"), zero_is_no_number),
]


@pytest.mark.parametrize(("offer", "change"), WRONG, ids=lambda v: getattr(v, "algorithm", getattr(v, "__name__", "")))
def test_it_matters(offer: Claim, change: Change) -> None:
    for how, verdict in ((change, Conformity.DOES_NOT), (lambda session, e: e, Conformity.CONFORMS)):
        laws = "follows-x,far-rounds,far-clients,edge*,rates*,varied*"
        found = judge_offer(InProcess(changed(offer, how)), offer, law=laws, profile="quick")
        assert conclude(found)[0] is verdict
