"""Sums for closed forms, over numbers of any type; and the numbers to which weights are proportional."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import Any, TypeVar

import numpy as np

from fedspec.arith import Array, maximum, sqrt
from fedspec_suite.measure.scenario import Scenario

E = TypeVar("E")


def total(terms: Iterable[Any]) -> Any:
    """Return the sum of at least one term."""
    first, *others = terms
    return sum(others, start=first)


def decayed(beta: Any, rows: Sequence[Any]) -> Any:
    """Return the sum over s = 1 .. T of beta^(T-s) row_s."""
    return total(beta ** (len(rows) - s) * row for s, row in enumerate(rows, 1))


def average(beta: Any, rows: Sequence[Any], start: Any = None) -> Any:
    """Return beta^T start + (1 - beta) sum over s = 1 .. T of beta^(T-s) row_s; without a start, from zero."""
    T = len(rows)
    past = [(1 - beta) * beta ** (T - s) * row for s, row in enumerate(rows, 1)]
    return total(past if start is None else [beta**T * start, *past])


def largest(rows: Iterable[Array]) -> Array:
    """Return the elementwise maximum."""
    return reduce(maximum, rows)


def length(x: Array) -> Any:
    """Return the Euclidean length."""
    return sqrt(total(a * a for a in x))


def each(values: Iterable[Any]) -> Array:
    """Return a vector of these numbers."""
    return np.array(list(values), dtype=object)


def exactly(x: Array) -> Array:
    """Convert floats to fractions."""
    return np.asarray(np.vectorize(lambda v: Fraction(float(v)), otypes=[object])(x))


def counts(options: Mapping[str, str], examples: Sequence[Any], steps: Sequence[int]) -> list[Any]:
    """Return a number per participant to which its weight is proportional: its examples, its local steps, or 1."""
    kinds = {"examples": examples, "steps": [Fraction(tau) for tau in steps], "uniform": [Fraction(1)] * len(examples)}
    return list(kinds[options.get("weights", "examples")])


def events_of(kind: type[E], s: Scenario) -> list[E]:
    """Return the events of a scenario, all of which must have the given type."""
    events: list[E] = [e for e in s.events if isinstance(e, kind)]
    assert len(events) == len(s.events)
    return events
