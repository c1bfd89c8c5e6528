"""Ranges of the inputs of cases: the least and greatest value of each quantity, which a verdict reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any, TypeAlias

import numpy as np

from fedspec.contract import Arrival, Begin, Event, Exchange, Gradient, Messages, Round
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.scenario import Scenario, said_by

Extent: TypeAlias = dict[str, tuple[float, float]]
"""Least and greatest value of each quantity, by its name."""

COUNTED = ("coordinates", "blocks", "axes", "rounds", "clients", "steps", "delay", "examples")
"""Quantities that are counts; other names are hyper-parameters, or ``magnitude``, that of the nonzero numbers."""


def extent_of(s: Scenario) -> Extent:
    """Return the ranges of one scenario."""
    found: Extent = {}
    for name, value in (*_of_case(s), *_of_events(s.events)):
        widen(found, {name: (value, value)})
    return found


def widen(extent: Extent, other: Mapping[str, tuple[float, float]]) -> None:
    """Widen an extent, in place, so that it covers another."""
    for name, (least, greatest) in other.items():
        low, high = extent.get(name, (least, greatest))
        extent[name] = (min(low, least), max(high, greatest))


def in_words(extent: Extent) -> str:
    """Format ranges: "1 to 1000 coordinates, 1 to 50 rounds"; hyper-parameters by name, at the end."""
    counted = [_counted(extent[name], name) for name in COUNTED if name in extent]
    if "magnitude" in extent:
        counted.append(f"numbers of {_span(*extent['magnitude'], '.2g')}")
    others = sorted(name for name in extent if name not in COUNTED and name != "magnitude")
    return ", ".join([*counted, *(f"{name} {_span(*extent[name], 'g')}" for name in others)])


FAR = {"rounds": "rounds", "clients": "clients", "coordinates": "parameters"}
"""Counted quantities that grow without bound in use, with their names in a verdict."""


def covered(extent: Extent) -> str:
    """Format the sizes of cases: "1 to 50 rounds, 1 to 50 clients, 1 to 971 parameters"; empty without cases."""
    return ", ".join(_counted(extent[name], words) for name, words in FAR.items() if name in extent)


def _counted(span: tuple[float, float], name: str) -> str:
    return f"{_span(*span, '.10g')} {name if span[1] != 1 else 'axis' if name == 'axes' else name.removesuffix('s')}"


def _span(low: float, high: float, form: str) -> str:
    return f"{low:{form}}" if low == high else f"{low:{form}} to {high:{form}}"


USUAL: Extent = {
    "coordinates": (1, 24),
    "axes": (0, 2),
    "rounds": (1, 9),
    "clients": (1, 5),
    "steps": (1, 6),
    "delay": (0, 3),
    "examples": (1, 9),
    "magnitude": (0.125, 12),
}
"""Ranges of the small cases; their hyper-parameters come from the pools."""


def beyond(s: Scenario) -> str:
    """Format the inputs of a scenario that exceed those of small cases, for example "65 coordinates, tau = 0"."""
    said = []
    for name, (least, greatest) in extent_of(s).items():
        low, high = USUAL.get(name, (least, greatest))
        edges = [v for v, out in ((least, least < low), (greatest, greatest > high)) if out]
        if name == "delay" and edges:
            said.append(f"a delay of {edges[-1]:g}")
        elif name in COUNTED and edges:
            said.append(f"{' to '.join(f'{v:.10g}' for v in edges)} {name}")
        elif edges:
            said.append(f"numbers of {' to '.join(f'{v:.3g}' for v in edges)}")
    said += [f"{n} = {v:g}" for n, v in s.case.hyper.items() if n in POOLS and v not in POOLS[n]]
    if any((np.asarray(a, dtype=float) * 64 % 1).any() for a in s.case.x0.values()):
        said.append("full mantissas")
    return ", ".join(said)


def _of_case(s: Scenario) -> Iterator[tuple[str, float]]:
    model = list(s.case.x0.values())
    # Where there is no server, a row is a model.
    peers = s.case.problem is not None and s.case.level == "trace" and model[0].ndim == 2 and len(model) == 1
    yield "coordinates", sum(a.size for a in model) // (len(model[0]) if peers else 1)
    yield "blocks", len(model)
    yield from (("axes", a.ndim - peers) for a in model)
    yield from _magnitudes(model)
    yield from ((name, float(value)) for name, value in s.case.hyper.items())
    if s.case.problem is not None:
        yield "clients", len(s.case.problem.e)
        yield from (("examples", float(n)) for n in s.case.problem.examples)
        yield from _magnitudes([s.case.problem.e])


def _of_events(events: Iterable[Event]) -> Iterator[tuple[str, float]]:
    rounds = 0
    for kind, some in groupby(events, type):
        group: list[Any] = list(some)
        if kind is Gradient:
            rounds += 1
            yield "steps", len(group)
        elif kind is not Begin:
            rounds += len(group)
        for event in group:
            yield from _of_event(event)
    yield "rounds", rounds


def _of_event(event: Event) -> Iterator[tuple[str, float]]:
    for name, said in said_by(event).items():
        yield from ((name, float(number)) for number in (said if isinstance(said, tuple) else (said,)))
    match event:
        case Gradient(g=g, eta_l=eta_l):
            if eta_l is not None:
                yield "eta_l", float(eta_l)
            yield from _magnitudes(g.values())
        case Messages(messages=messages):
            yield "clients", len(messages)
            for m in messages:
                yield "steps", m.steps
                yield "examples", float(m.weight)
                yield from _magnitudes(m.delta.values())
        case Round(steps=steps):
            yield from (("steps", k) for k in steps)
        case Exchange(computing=computing):
            yield "steps", len(computing)
        case Arrival(steps=k, delay=delay):
            yield "steps", k
            yield "delay", delay


def _magnitudes(arrays: Iterable[Any]) -> Iterator[tuple[str, float]]:
    for a in arrays:
        size = np.abs(np.asarray(a, dtype=float))
        there = size[size > 0]
        if there.size:
            yield "magnitude", float(there.min())
            yield "magnitude", float(size.max())
