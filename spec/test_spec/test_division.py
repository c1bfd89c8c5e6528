"""A stabiliser of 0 beside a second moment of 0: refused with a word, wherever a rule divides, and fine elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.client.adam import adam, begin
from fedspec.client.normalised import normalised_sgd
from fedspec.contract import Begin, Event, Gradient, Level, Messages
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec.server.adagrad import adagrad, init
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

ZERO = ("eps", "tau", "v0", "v0_l", "v_hat0")
NAMED_CONVENTION = {("sm3-i", "anil-2019"), ("sm3-ii", "anil-2019")}
"""Readings in which 0/0 = 0."""


def dividing() -> Iterator[tuple[str, Level, str]]:
    """Every reading that has a stabiliser."""
    for a in CATALOGUE.values():
        for level in a.levels:
            for r in a.readings_at(level):
                if {"eps", "tau"} & set(a.numbers_under(level, a.resolve(r.name, {}))):
                    yield a.id, level, r.name


def at_rest(name: str, level: Level, reading: str) -> Scenario:
    """A scenario in which every gradient and change is 0, and with it every second moment."""
    a = CATALOGUE[name]
    s = plain_scenario(Setting(a, level, reading, a.resolve(reading, {}), "float64"))
    case = replace(s.case, hyper={**s.case.hyper, **dict.fromkeys({*ZERO} & s.case.hyper.keys(), 0.0)})
    if problem := case.problem:
        case = replace(case, problem=replace(problem, H=problem.H * 0, e=problem.e * 0))
    return Scenario(case, tuple(map(_quiet, s.events)))


def _quiet(e: Event) -> Event:
    match e:
        case Gradient(g):
            return replace(e, g={n: v * 0 for n, v in g.items()})
        case Messages(messages):
            return replace(
                e, messages=tuple(replace(m, delta={n: v * 0 for n, v in m.delta.items()}) for m in messages)
            )
    return e


def played(s: Scenario) -> Sequence[Any]:
    session = SUBJECT.start(s.case)
    with np.errstate(all="ignore"):
        return [session.step(e)["x"] for e in s.events if not isinstance(e, Begin)]


@pytest.mark.table(20)
@pytest.mark.parametrize(("name", "level", "reading"), list(dividing()))
def test_no_row_gives_nan_without_a_word(name: str, level: Level, reading: str) -> None:
    s = at_rest(name, level, reading)
    if (name, reading) in NAMED_CONVENTION:
        assert all(np.isfinite(x).all() for x in played(s))
        return
    with pytest.raises(
        ParameterError, match=r"^(eps|tau): got 0, and [\w-]+ divides by 0 at coordinate .*; give (eps|tau) > 0"
    ):
        played(s)


def test_a_stabiliser_may_be_0_where_no_second_moment_is() -> None:
    """v_0 = 4 stands in its place: a change of 0 moves nothing, and one of 0 and 3 moves by 3/2 of a root."""
    state = adagrad(init(np.zeros(2), v0=4.0), np.zeros(2), eta=1.0, beta1=0.0, tau=0.0)
    assert state.x.tolist() == [0, 0]
    assert normalised_sgd(np.zeros(2), np.array([0.0, 3.0]), eta_l=1.0, eps=0.0).tolist() == [0, -1]


def test_what_is_no_number_already_is_not_blamed_on_the_stabiliser() -> None:
    g = np.array([np.nan, 1.0])
    assert np.isnan(adam(begin(np.zeros(2)), g, eta_l=1.0, beta1=0.5, beta2=0.5, eps=0.0).x[0])


def test_the_coordinate_is_named_and_exact_numbers_say_it_themselves() -> None:
    kw: dict[str, Any] = {"beta1": 0, "beta2": 0, "eps": 0}
    with (
        pytest.raises(ParameterError, match="eps: got 0, and adam divides by 0 at coordinate 1"),
        np.errstate(all="ignore"),
    ):
        adam(begin(np.zeros(3)), np.array([1.0, 0.0, 2.0]), eta_l=1.0, **kw)
    with pytest.raises(ZeroDivisionError):
        adam(begin(np.array([F(0)])), np.array([F(0)]), eta_l=F(1), **kw)
