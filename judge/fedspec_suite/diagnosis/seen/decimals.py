"""Test whether a subject follows the claim to a fixed number of decimals, as fixed-point arithmetic does."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from math import floor, log10

import numpy as np

from fedspec.arith import Array
from fedspec.params import flatten
from fedspec_suite.diagnosis.cases.resized import scaled
from fedspec_suite.diagnosis.diagnosis import CLAIMED
from fedspec_suite.measure.bench import THRESHOLD, UNPLAYED, Bench
from fedspec_suite.measure.running_error import bounds_of
from fedspec_suite.measure.scenario import Scenario

FEWEST = 3
"""Least number of decimals to report: with fewer, a wrong rule may be as close."""

SMALL, LARGE = (0.739 * 2.0**-30, 0.739 * 2.0**-20, 0.739 * 2.0**-10, 0.739), 0.739 * 2.0**10
"""Factors by which the samples are multiplied: powers of two would leave eighths exact in a short type."""

GROWS = 16
"""Factor by which an error may grow if the numbers grow by :data:`LARGE`."""

PARTS = 100
"""Least factor by which the error relative to the model's moves must grow as the moves become small."""

SEVERAL = 8
"""Least number of values whose errors exceed rounding."""

MOST = 0.5
"""Least share of the values of ordinary samples whose errors exceed rounding."""

CANCELLED = 1e-12
"""Largest error of larger numbers that cancel, as masks do: ordinary samples hide it."""


def absolutely(bench: Bench, samples: Sequence[Scenario]) -> str:
    """Return a sentence on the number of right decimals; empty unless the error is independent of the scale.

    The error of a wrong rule grows with the numbers, or has one sign; that of rounding to some place does neither. Nor
    does that of fewer digits, where a rule moves as far whatever it is told: it is as small a part of every move. What
    a threshold does is in few numbers, and rounding is in most.
    """
    by = {factor: _errors(bench, [scaled(s, factor) for s in samples]) for factor in (*SMALL, LARGE)}
    errors = np.concatenate([by[factor][0] for factor in SMALL])
    most, above = _most(errors), float((errors > 0).mean()) if len(errors) else 0.0
    if len(errors) < SEVERAL or not 0.1 < above < 0.9 or not most < 10.0**-FEWEST / 2:
        return ""
    if most > CANCELLED and not by[SMALL[-1]][2] >= MOST:
        return ""
    (small, little, _), (large, much, _) = by[SMALL[0]], by[LARGE]
    if not _most(large) <= GROWS * most or not _most(small) * much >= PARTS * _most(large) * little:
        return ""
    return f"{CLAIMED}{floor(-log10(2 * most))} decimals absolutely"


def _most(errors: Array) -> float:
    return float(np.abs(errors).max(initial=0.0))


def _errors(bench: Bench, cases: Sequence[Scenario]) -> tuple[Array, float, float]:
    """Errors of the models' numbers that exceed rounding, the largest move of the models, and these numbers' share."""
    found, moved, count = [np.zeros(0)], 0.0, 0
    for s in cases:
        try:
            off, far, numbers = _of_case(bench, s)
        except UNPLAYED:
            continue
        found.append(off)
        moved, count = max(moved, far), count + numbers
    errors = np.concatenate(found)
    return np.where(np.isfinite(errors), errors, np.inf), moved, len(errors) / max(1, count)


def _of_case(bench: Bench, s: Scenario) -> tuple[Array, float, int]:
    info, before = np.finfo(s.case.dtype), flatten(s.case.x0).astype(float)
    found, moved, count = [np.zeros(0)], 0.0, 0
    for got, want in zip(bench.play(copy.deepcopy(s)), bench.expect(s), strict=True):
        bounds, wanted = bounds_of(want["x"]), np.array([float(v) for v in want["x"]])
        error = np.asarray(got["x"], dtype=float) - wanted
        allowed = THRESHOLD * (float(info.eps) * bounds + float(info.tiny))
        found.append(error[~(np.abs(error) <= allowed)])
        moved, before, count = max(moved, _most(wanted - before)), wanted, count + error.size
    return np.concatenate(found), moved, count
