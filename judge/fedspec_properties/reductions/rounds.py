"""Rounds under a restriction, and edges by it: what the files of reductions share about them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from hypothesis import strategies as st

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Arrival, Round
from fedspec_properties.reductions.edge import Edge, reduces
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

in_rounds = partial(reduces, levels=("round",))
"""An edge of rounds that does not hold of a server alone."""

ALONE: dict[str, Any] = {"clients": (1, 1)}
"""Cases of one client."""


def plans(s: Scenario, **columns: Any) -> Scenario:
    """Every round with other columns: each a function of the round."""
    events = (replace(e, **{n: of(e) for n, of in columns.items()}) if isinstance(e, Round) else e for e in s.events)
    return replace(s, events=tuple(events))


def equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every round has one number of steps for all."""
    return plans(s, steps=lambda e: (draw(st.integers(1, 4)),) * len(e.steps))


def single_steps(s: Scenario) -> Scenario:
    """Every client takes one step a round."""
    return plans(s, steps=lambda e: (1,) * len(e.steps))


def in_groups(s: Scenario, size: int) -> Scenario:
    """Every so many arrivals as the round of who arrives."""
    arrivals = [e for e in s.events if isinstance(e, Arrival)]
    groups = [arrivals[k : k + size] for k in range(0, len(arrivals), size)]
    rounds = (Round(tuple(a.client for a in group), tuple(a.steps for a in group)) for group in groups)
    return replace(s, events=tuple(rounds))


def begins(source: str, target: str, cited: str, so: str = "", roots: bool = False, **named: Any) -> Edge:
    """An edge of the first round, when the source does not remember anything yet."""
    edge = reduces(source, target, cited, levels=("round",), roots=roots).named(f"{source}-begins-as-{target}")
    return edge.under(f"it is the first round{so}", rounds=(1, 1), **named)


def alone(source: str, target: str, cited: str, so: str = "", **named: Any) -> Edge:
    """An edge of cases with one client."""
    edge = reduces(source, target, cited, levels=CATALOGUE[source].levels[-1:]).named(f"{source}-alone-is-{target}")
    return edge.under(f"there is one client{so}", **ALONE, **named)
