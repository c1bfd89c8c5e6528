"""Both sides of the theorems, printed and repaired, on an instance."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import sqrt

import numpy as np

from fedspec.arith import norm
from fedspec_proofs.engines.search import Sides
from fedspec_proofs.fed_lamb.kit import bounds
from fedspec_proofs.fed_lamb.kit.climbs import Climb


def printed(c: Climb) -> Iterator[Sides]:
    """Theorem 1 as eq. (4) has it."""
    yield c.mean(c.squares), float(bounds.theorem_1(c.constants))


def printed_third(c: Climb) -> Iterator[Sides]:
    """Theorem 3 as eq. (22) has it, with the cst of L808."""
    k = c.constants
    yield c.mean(lambda run: c.squares(run, 0.5)), float(bounds.theorem_3(k, k.L_bar))


def summed(c: Climb, rate: float = 1.0, squared: bool = True) -> Iterator[Sides]:
    """The repaired theorems: lengths, and both squares by M. ``rate`` spoils the term with alpha."""
    right = {**c.per_layer, "rate": rate * c.per_layer["rate"]}
    yield c.mean(c.lengths), right
    if squared:
        yield c.mean(c.squares), _times(c.steepest / sqrt(c.constants.v0), right, "squares: ")
        yield c.mean(lambda run: c.squares(run, 0.5)), _times(c.steepest, right, "squares, root: ")


def _times(factor: float, terms: Mapping[str, float], line: str = "") -> dict[str, float]:
    return {f"{line}{name}": factor * value for name, value in terms.items()}


def converted(c: Climb) -> Iterator[Sides]:
    """The repaired corollary: the gradient itself, by V^2 >= ||sqrt(v_hat)||."""
    yield c.mean(lambda run: c.squares(run, 0.0)), _times(c.root * c.steepest, c.per_layer)


def descended(c: Climb, by_least: bool = False) -> Iterator[Sides]:
    """One round of one outcome: how far f falls, with the errors of the gradients that were taken.

    ``by_least`` spoils the factor of the errors: phi_m in place of phi_M.
    """
    k = c.constants
    for run in c.runs:
        for before, after, taken in zip(run.states, run.states[1:], run.taken, strict=False):
            g = c.problem.gradient(before.x)
            scaled, at = g / np.sqrt(before.v_hat), before.layers
            progress = k.alpha * k.T * k.phi_m * sqrt(k.v0) * sum(norm(scaled[where]) for where in at)
            errors = sum(norm(g[w] - one[w]) for row in taken for one in row for w in at) / len(taken)
            bend = k.alpha**2 * k.T**2 * k.phi_M**2 / 2 * k.L_bar
            change = c.problem.value(after.x) - c.problem.value(before.x)
            scale = k.phi_m if by_least else k.phi_M
            yield float(change + progress), {"errors": float(2 * k.alpha * scale * errors), "rate": float(bend)}
