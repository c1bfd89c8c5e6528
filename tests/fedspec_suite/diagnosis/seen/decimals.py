"""Whether a subject is the claimed rule to some decimals, however large its numbers are, as sums in fixed point are."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from math import floor, log10

import numpy as np

from fedspec.arith import Array
from fedspec.errors import FedspecError
from fedspec_suite.diagnosis.cases.resized import scaled
from fedspec_suite.measure.bench import THRESHOLD, Bench
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.verdict import Beyond, Deviates, Undecided

CLAIMED = "the claimed rule, to "
"""How the sentence begins."""

FEWEST = 3
"""Decimals below which nothing is said: a wrong rule may be as near."""

SMALL, LARGE = (2.0**-30, 2.0**-20, 2.0**-10, 1.0), 2.0**10
"""What the samples are multiplied by."""

GROWS = 16
"""By how much an error may be larger where the numbers are larger by :data:`LARGE`."""

SEVERAL = 8
"""Numbers that must be off by more than rounding."""


def absolutely(bench: Bench, samples: Sequence[Scenario]) -> str:
    """A sentence on how many decimals of every model are right; empty unless the error is as large in all sizes.

    The error of a wrong rule grows with the numbers, or has one sign; that of rounding to some place does neither.
    """
    by = {factor: _errors(bench, [scaled(s, factor) for s in samples]) for factor in (*SMALL, LARGE)}
    if any(errors is None for errors in by.values()):
        return ""
    off = {factor: errors[errors != 0] for factor, errors in by.items() if errors is not None}
    small = np.concatenate([off[factor] for factor in SMALL])
    most = float(np.abs(small).max(initial=0.0))
    if len(small) < SEVERAL or not 0.1 < float((small > 0).mean()) < 0.9 or not most < 10.0**-FEWEST / 2:
        return ""
    if float(np.abs(off[LARGE]).max(initial=0.0)) > GROWS * most:
        return ""
    return f"{CLAIMED}{floor(-log10(2 * most))} decimals absolutely"


def _errors(bench: Bench, cases: Sequence[Scenario]) -> Array | None:
    """By how much each number of the models is off, 0 if rounding may be why; None if one is not finite."""
    found = [np.zeros(0)]
    for s in cases:
        try:
            found += _of_case(bench, s)
        except (Undecided, SubjectError, Beyond, Deviates, FedspecError):
            continue
    errors = np.concatenate(found)
    return errors if np.isfinite(errors).all() else None


def _of_case(bench: Bench, s: Scenario) -> Iterator[Array]:
    info = np.finfo(s.case.dtype)
    for got, want in zip(bench.play(copy.deepcopy(s)), bench.expect(s), strict=True):
        bounds, wanted = bounds_of(want["x"]), np.array([float(v) for v in want["x"]])
        error = np.asarray(got["x"], dtype=float) - wanted
        allowed = THRESHOLD * (float(info.eps) * bounds + float(info.tiny))
        yield np.where(np.abs(error) <= allowed, 0.0, error)
