"""A check for variants without a useful rounding bound: their models hold still under nudges of the inputs.

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
"""Numbers of roundings by which the inputs are changed."""

ROUNDINGS = 64
"""Number of roundings that a subject may be off by, beyond several times the change that the nudges cause."""


def models(v: Variant, s: Scenario) -> list[Array]:
    """The models after all events, in floating point; none where it cannot run."""
    return [np.asarray(answer["x"], dtype=float).reshape(-1) for answer in v.answers(s)]


def steady(v: Variant, s: Scenario, got: Sequence[Array]) -> list[Array]:
    """Masks of the models' coordinates, after each event, that equal the variant's up to roundings and nudges."""
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
