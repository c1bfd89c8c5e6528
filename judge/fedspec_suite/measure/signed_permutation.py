"""Signed permutations of the coordinates, for cases that test whether an implementation treats one specially."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Event, Round
from fedspec_suite.measure.scenario import Scenario, with_blocks


@dataclass(frozen=True)
class Renaming:
    """Signed permutation: new coordinate j is old coordinate order[j] times signs[j]."""

    order: Array
    signs: Array

    def vector(self, a: Array) -> Array:
        """Permute the last axis of a vector, or of a row per client."""
        return np.asarray(a[..., self.order] * self.signs.astype(a.dtype))

    def scenario(self, s: Scenario) -> Scenario:
        """Permute the model, objectives and events of a scenario."""

        def event(e: Event) -> Event:
            if not isinstance(e, Round):
                return e
            return replace(e, draws=tuple(tuple(u[j] for j in self.order) for u in e.draws))

        there = transformed(s, self.vector)
        return replace(there, events=tuple(map(event, there.events)))


def transformed(s: Scenario, vector: Callable[[Array], Array]) -> Scenario:
    """Apply a linear map of the last axis to the model, objectives and events of a scenario."""

    def blocks(of: Mapping[str, Array]) -> dict[str, Array]:
        return {name: vector(a) for name, a in of.items()}

    def event(e: Event) -> Event:
        if isinstance(e, Round) and e.noise:
            return replace(e, noise=tuple(vector(np.array(e.noise)).tolist()))
        return with_blocks(e, blocks)

    problem = s.case.problem
    if problem is not None:
        rows = vector(problem.H)
        problem = replace(problem, H=vector(rows.transpose(0, 2, 1)), e=vector(problem.e))
    return Scenario(replace(s.case, x0=blocks(s.case.x0), problem=problem), tuple(map(event, s.events)))
