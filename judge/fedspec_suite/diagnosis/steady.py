"""Test of a variant whose rounding bound is useless: perturb the inputs and compare the changes of the models.

A quotient by a length that is zero at first, which only the computing code knows to be zero, has no bound in running
numbers. Code that computes the same quotient still gives the same numbers, and nudging the inputs by some roundings
changes these numbers as little.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fedspec.arith import Array
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.bench import HOPELESS
from fedspec_suite.measure.scenario import Scenario

NUDGES = (8, 24)
"""Perturbations of the inputs, in units of epsilon."""

ROUNDINGS = 64
"""Tolerance in roundings, beyond several times the change that the perturbations cause."""


def models(v: Variant, s: Scenario) -> list[Array]:
    """Return a variant's models after all events, in floating point; empty if it cannot run."""
    return [np.asarray(answer["x"], dtype=float).reshape(-1) for answer in v.answers(s)]


def steady(v: Variant, s: Scenario, got: Sequence[Array]) -> list[Array]:
    """Return masks, per event, of the coordinates that equal the variant's up to rounding and perturbation."""
    plain, eps = models(v, s), float(np.finfo(s.case.dtype).eps)
    moved = [models(v, other) for other in _nudged(s, eps)]
    out = []
    for k, x in enumerate(got):
        if not plain or not all(moved):
            out.append(np.zeros(x.shape, bool))
            continue
        spread = np.max([np.abs(other[k] - plain[k]) for other in moved], axis=0)
        size = float(np.abs(plain[k]).max(initial=eps))
        allowed = 4 * spread + ROUNDINGS * eps * size
        out.append((np.abs(x - plain[k]) <= allowed) & (allowed <= HOPELESS * size))
    return out


def _nudged(s: Scenario, eps: float) -> Iterator[Scenario]:
    for n in NUDGES:
        down = 1 - n * eps
        hyper = {name: a * down if isinstance(a, float) else a for name, a in s.case.hyper.items()}
        # In turn up and down, so that no ratio of two coordinates stays.
        x0 = {
            b: a * (1 + n * eps * (-1) ** np.arange(a.size).reshape(a.shape)).astype(a.dtype)
            for b, a in s.case.x0.items()
        }
        yield replace(s, case=replace(s.case, hyper=hyper, x0=x0))
