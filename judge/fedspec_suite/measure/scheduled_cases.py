"""Cases whose events change hyper-parameters, for subjects whose user can set them per round or per client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.catalogue import Program
from fedspec.contract import Event, Gradient, Quadratics, Round
from fedspec.domains import DOMAINS
from fedspec.errors import ParameterError
from fedspec.given import VARYING
from fedspec.reference import SUBJECT
from fedspec_suite.measure.case_parts import case
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.hyper_pools import Pick, draw_hypers
from fedspec_suite.measure.scenario import Scenario, saying
from fedspec_suite.measure.setting import Setting

FACTORS = (0.25, 0.5, 1.0)
"""Factors of the rates in local steps; a product of two factors stays within the domain."""

TIMES: dict[str, tuple[float, ...]] = {
    "eta": (0.25, 0.5, 2.0),
    "eta_l": (0.25, 0.5, 2.0),
    "mu": (0.5, 0.0, 2.0),
    "rho": (0.5, 0.0, 1.0),
    "gamma": (0.25, 0.5, 1.0),
}
"""Factors of the hyper-parameters that events set: smaller and larger where the domain allows both, and zero."""

STORED = dict.fromkeys(VARYING, FACTORS)
"""Factors of the hyper-parameters that events of stored vectors set."""

_NOT, _FOR_ALL, _FOR_EACH = 0, 1, 2


def of_rounds(setting: Setting) -> tuple[str, ...]:
    """Return the hyper-parameters that an event may set to new values."""
    return tuple(n for n in VARYING if setting.varies and n in setting.numbers and n not in setting.fixed)


@cache
def of_clients(setting: Setting) -> tuple[str, ...]:
    """Return the hyper-parameters that a round may set per client; the server may not read them."""
    if setting.varies != "clients":
        return ()
    run, takes, H = setting.algorithm.run, setting.takes, np.ones((2, 1, 1))
    h = draw_hypers(lambda pool: pool[0], setting)
    one = case(setting, {"w": np.ones((1, 1) if setting.matrices else 1)}, h, Quadratics(H, H[:, 0], np.ones(2)))
    strategies = tuple(map(str, run.strategies[:1])) * 2 if "strategies" in takes and isinstance(run, Program) else ()
    plain = Round(
        (0, 1),
        (1, 1),
        strategies,
        noise=(0.0,) if "noise" in takes else (),
        draws=((0.5,),) * 2 if "draws" in takes else (),
    )

    def taken(name: str) -> bool:
        try:
            SUBJECT.start(replace(one, dtype="float64")).step(replace(plain, hyper={name: (h[name],) * 2}))
        except ParameterError:
            return False
        return True

    return tuple(n for n in of_rounds(setting) if DOMAINS[n].of_clients and taken(n))


def varied(setting: Setting, s: Scenario, pick: Pick, times: Mapping[str, tuple[float, ...]] = TIMES) -> Scenario:
    """Set new values of hyper-parameters in some events, if the subject's user may set them.

    Args:
        setting: the setting of the claim.
        s: the case.
        pick: draws from a pool.
        times: factors of the case's own value, by hyper-parameter.
    """
    if setting.each_rate:
        return scheduled(s, pick)
    if not setting.varies:
        return s

    def number(name: str, k: int) -> float:
        return (s.case.hyper[name] or 0.5) * times[name][k % len(times[name])]

    def event(e: Event) -> Event:
        hyper: dict[str, Any] = {}
        for name in of_rounds(setting):
            each = isinstance(e, Round) and name in of_clients(setting)
            how = pick((_NOT, _FOR_ALL, _FOR_EACH, _FOR_EACH) if each else (_NOT, _FOR_ALL, _FOR_ALL))
            first = int(pick((0, 1, 2)))
            if how == _FOR_EACH and isinstance(e, Round):
                # No two neighbours have the same.
                hyper[name] = tuple(number(name, first + k) for k in range(len(e.participants)))
            elif how == _FOR_ALL:
                hyper[name] = number(name, first)
        return saying(e, hyper)

    return replace(s, events=tuple(map(event, s.events)))


def scheduled(s: Scenario, pick: Pick) -> Scenario:
    """Give every local step its own rate; the very first step keeps the case's rate."""
    events: list[Event] = []
    for e in s.events:
        if isinstance(e, Gradient):
            factor = 1.0 if not events else float(pick((*FACTORS, 2.0)))
            e = replace(e, eta_l=float(s.case.hyper["eta_l"]) * factor)
        events.append(e)
    return replace(s, events=tuple(events))


@st.composite
def varied_scenarios(draw: st.DrawFn, setting: Setting, clients: tuple[int, int] = (2, 4)) -> Scenario:
    """Draw small cases whose events change hyper-parameters; a seeded generator draws the new values."""
    everyone = {} if setting.level == "server" else {"everyone": draw(st.booleans())}
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    s: Scenario = draw(scenarios(setting, clients=clients, **everyone))
    return varied(setting, s, lambda pool: pool[int(rng.integers(len(pool)))])
