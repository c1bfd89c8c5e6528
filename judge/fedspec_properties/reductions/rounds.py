"""Rounds under a restriction, and edges at their level: what the files of reductions share about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec_properties.reductions.edge import Edge, told
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FIRST = {"rounds": (1, 1)}
ALONE = {"clients": (1, 1)}
EVERYONE = {"everyone": True}


def to(algorithm: str, options: dict[str, str] | None = None, **hyper: Any) -> Callable[[Scenario], Scenario]:
    """The same run in another algorithm's words."""
    return lambda s: told(s, algorithm, options=options, hyper=hyper)


def plans(s: Scenario, **columns: Any) -> Scenario:
    """Every round with other columns: each a function of the round."""
    events = (replace(e, **{n: of(e) for n, of in columns.items()}) if isinstance(e, Round) else e for e in s.events)
    return replace(s, events=tuple(events))


def equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every round has one number of steps for all."""
    return plans(s, steps=lambda e: (draw(st.integers(1, 4)),) * len(e.steps))


def single_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every client takes one step a round."""
    return plans(s, steps=lambda e: (1,) * len(e.steps))


def of_rounds(
    *,
    id: str,
    source: str,
    target: str,
    when: str,
    cited: str,
    carry: Callable[[Scenario], Scenario] | None = None,
    **more: Any,
) -> Edge:
    """An edge at level round, told in the target's words unless it says how."""
    return Edge(
        id=id, source=source, target=target, when=when, cited=cited, level="round", carry=carry or to(target), **more
    )
