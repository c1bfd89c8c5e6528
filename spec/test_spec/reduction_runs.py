"""Runs of a reduction's two sides in exact arithmetic, on decimals and on symbols, for the tests of the graph."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

import hypothesis
import numpy as np
from hypothesis import HealthCheck, Phase
from hypothesis import strategies as st

from fedspec.arith import Array, digits
from fedspec.catalogue import CATALOGUE, Program
from fedspec.contract import Begin, Offer, Quadratics, Round
from fedspec.errors import InexactError
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.reference import SUBJECT
from fedspec_properties.reductions import Edge
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of

CLOSE = Decimal("1e-45")
"""Largest distance of two runs on 50-digit decimals, relative to the largest number of an answer, or to 1."""


def offers_of(edge: Edge) -> Iterator[Offer]:
    """Every reading of the source that allows what the edge asks of the options, at every level of the edge."""
    source = CATALOGUE[edge.source]
    for level in edge.levels:
        for reading in source.readings_at(level):
            if all(reading.fixes.get(n, v) == v for n, v in edge.options.items()):
                free = {n: v for n, v in edge.options.items() if n not in reading.fixes}
                yield Offer(edge.source, level, reading.name, free)


@dataclass(frozen=True)
class Drawn:
    """A scenario of the source, as drawn and under the restriction."""

    raw: Scenario
    s: Scenario


def drawn(edge: Edge, offer: Offer, count: int, small: bool = False) -> list[Drawn]:
    """Draw that many scenarios, the same at every run."""
    setting = setting_of(offer)
    out: list[Drawn] = []

    @st.composite
    def cases(draw: st.DrawFn) -> Drawn:
        raw: Scenario = draw(scenarios(setting, **_sizes(setting, edge.draw, small)))
        if small:
            raw = _one_coordinate(raw)
        return Drawn(raw, edge.narrow(draw, setting, raw))

    @hypothesis.seed(0)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(cases())
    def collect(case: Drawn) -> None:
        out.append(case)

    # There is no database; without this Hypothesis reads the source of the function, to find its cases in one.
    collect._hypothesis_internal_database_key = None  # type: ignore[attr-defined]
    collect()
    return out


def _sizes(setting: Setting, wanted: Mapping[str, Any], small: bool) -> dict[str, Any]:
    """The sizes that scenarios are drawn with: those of the edge, and where small is wanted as low as that leaves."""
    if not small:
        return dict(wanted)
    arrivals = isinstance(setting.algorithm.run, Program) and setting.algorithm.run.event == "arrival"
    sizes = {"clients": (1, 2), "rounds": (2, 4) if arrivals else (1, 2)}
    if setting.level == "client":
        sizes = {"steps": (1, 2), "rounds": (1, 2) if "steps" in wanted else (1, 1)}
    for name, (low, high) in ((n, wanted[n]) for n in sizes if n in wanted):
        sizes[name] = (low, max(low, min(high, sizes[name][1])))
    return {**wanted, **sizes}


def _one_coordinate(s: Scenario) -> Scenario:
    """The scenario on the first coordinate of its first block, with at most two local steps."""
    first = next(iter(s.case.x0))
    one = (1, 1) if CATALOGUE[s.case.algorithm].has(Fact.MATRICES) else (1,)
    peers = s.case.problem is not None and s.case.x0[first].size != s.case.problem.e.shape[1] and len(s.case.x0) == 1

    def cut(blocks: Mapping[str, Array]) -> dict[str, Array]:
        a = blocks[first]
        return {first: a[:, :1] if peers else a.reshape(-1)[:1].reshape(one)}

    events: list[Any] = []
    for e in s.events:
        if isinstance(e, Round):
            e = replace(e, steps=tuple(min(tau, 2) for tau in e.steps), noise=e.noise[:1])
        elif hasattr(e, "g"):
            e = replace(e, g=cut(e.g))
        elif hasattr(e, "messages"):
            e = replace(e, messages=tuple(replace(m, delta=cut(m.delta)) for m in e.messages))
        elif isinstance(e, Begin):
            e = Begin(cut(e.x))
        events.append(e)
    problem = s.case.problem
    if problem is not None:
        problem = Quadratics(problem.H[:, :1, :1], problem.e[:, :1], problem.examples, problem.f)
    return Scenario(replace(s.case, x0=cut(s.case.x0), problem=problem), tuple(events))


def answers(s: Scenario) -> list[Array]:
    """The specification's models, one after each event."""
    session = SUBJECT.start(s.case)
    return [np.asarray(session.step(e)["x"]) for e in s.events]


def both(edge: Edge, s: Scenario, number: Number) -> Iterator[tuple[Array, Array]]:
    """The models of source and target after each event of the source, in the arithmetic that ``number`` makes."""
    here = in_arithmetic(s, number)
    there = in_arithmetic(edge.carry(here), number)
    models = [flatten(here.case.x0), *(edge.back(here, x) for x in answers(there))]
    for k, x in enumerate(answers(here)):
        at = edge.at(here, k)
        if not isinstance(here.events[k], Begin) and at is not None:
            yield x, models[at + 1]


def in_arithmetic(s: Scenario, number: Number) -> Scenario:
    """The scenario with its floats, which are exact, as numbers of another kind."""
    made: Scenario = mapped(s, lambda path, v: number(Fraction(v)) if isinstance(v, float) else v)
    return replace(made, case=replace(made.case, dtype="object"))


def agrees(edge: Edge, s: Scenario) -> tuple[bool, str]:
    """True if the two sides agree, in fractions if they can, and the arithmetic of the comparison."""
    try:
        return _agrees_exactly(edge, s), "fractions"
    except InexactError:
        return _agrees_on_decimals(edge, s), "decimals"


def _agrees_exactly(edge: Edge, s: Scenario) -> bool:
    for x, y in both(edge, s, Fraction):
        assert all(isinstance(v, Fraction | int) for v in (*x, *y)), f"{edge.id} leaves exact arithmetic: {x}, {y}"
        if list(x) != list(y):
            return False
    return True


def _agrees_on_decimals(edge: Edge, s: Scenario) -> bool:
    with digits():
        for x, y in both(edge, s, _decimal):
            assert all(isinstance(v, Decimal | int) for v in (*x, *y)), f"{edge.id} leaves decimals: {x}, {y}"
            largest = max(abs(v) for v in (*x, *y, Decimal(1)))
            if len(x) != len(y) or max(abs(a - b) for a, b in zip(x, y, strict=True)) > CLOSE * largest:
                return False
    return True


def _decimal(q: Fraction) -> Decimal:
    return Decimal(q.numerator) / Decimal(q.denominator)


Path = tuple[str, ...]
Number = Callable[[Fraction], Any]


def mapped(value: Any, f: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Record with every number replaced, by its place: in arrays, hyper-parameters, problem, events."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{x.name: mapped(getattr(value, x.name), f, (*path, x.name)) for x in fields(value)})
    if isinstance(value, Mapping):
        return {name: mapped(inner, f, (*path, str(name))) for name, inner in value.items()}
    if isinstance(value, tuple):
        return tuple(mapped(inner, f, (*path, str(j))) for j, inner in enumerate(value))
    if isinstance(value, np.ndarray):
        out = np.empty(value.shape, dtype=object)
        for place in np.ndindex(value.shape):
            number = value[place]
            out[place] = f((*path, *map(str, place)), float(number) if isinstance(number, np.floating) else number)
        return out
    return f(path, value)


def numbers_in(value: Any) -> dict[Path, Any]:
    """Every number of a record by where it stands."""
    out: dict[Path, Any] = {}
    mapped(value, out.setdefault)
    return out
