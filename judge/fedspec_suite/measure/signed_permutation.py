"""Signed permutations of the coordinates, for cases that test whether an implementation treats one specially."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient, Messages, Round
from fedspec_suite.measure.scenario import Scenario, sending


@dataclass(frozen=True)
class Renaming:
    """Signed permutation: new coordinate j is old coordinate order[j] times signs[j]."""

    order: Array
    signs: Array

    def vector(self, a: Array) -> Array:
        """Permute the last axis of a vector, or of a row per client."""
        return np.asarray(a[..., self.order] * self.signs.astype(a.dtype))

    def blocks(self, blocks: Mapping[str, Array]) -> dict[str, Array]:
        """Permute each block of a model, a gradient or a change."""
        return {name: self.vector(a) for name, a in blocks.items()}

    def event(self, e: Event) -> Event:
        """Permute the parts of an event that have coordinates."""
        match e:
            case Gradient(g=g):
                return Gradient(self.blocks(g))
            case Begin(x=x):
                return Begin(self.blocks(x))
            case Messages(messages=messages):
                return Messages(tuple(sending(m, self.blocks) for m in messages))
            case Round() if e.noise:
                return replace(e, noise=tuple(self.vector(np.array(e.noise)).tolist()))
            case Round() if e.draws:
                return replace(e, draws=tuple(tuple(u[j] for j in self.order) for u in e.draws))
        return e

    def scenario(self, s: Scenario) -> Scenario:
        """Permute the model, objectives and events of a scenario."""
        problem = s.case.problem
        if problem is not None:
            rows = self.vector(problem.H)
            problem = replace(problem, H=self.vector(rows.transpose(0, 2, 1)), e=self.vector(problem.e))
        case = replace(s.case, x0=self.blocks(s.case.x0), problem=problem)
        return Scenario(case, tuple(map(self.event, s.events)))
