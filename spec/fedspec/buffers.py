"""Rules of a server for buffers: arrays that models carry beside their parameters, such as BatchNorm's.

No gradient depends on buffers, so the papers of the algorithms leave them out. Codes differ; each way has a name here.
Buffers are of two kinds, by their type: *statistics* are floats, such as a running mean and variance; *counters* are
whole numbers, such as the batches seen so far. b_i are the buffers of client i, n_i its examples:

========  ====================================  ==================================================================
reading   the server's buffers after a round     source, as of the day it was read
========  ====================================  ==================================================================
averaged  sum_i n_i b_i / sum_i n_i              med-air/FedBN, mode fedavg (``federated/fed_digits.py``), statistics
uniform   sum_i b_i / M, of M participants       none; the mean of codes that weigh clients alike
kept      the old ones: nothing is sent          KarhouTam/FL-bench, issue 72 (May 2024), both kinds
first     those of the participant named first   TsingZ0/PFLlib (``system/flcore/servers/serverbase.py``), both kinds;
                                                 med-air/FedBN, mode fedavg, counters
last      those of the participant named last    none; the result of lending one module to one client after another
largest   the largest of each, counters only     TsingZ0/PFLlib, pull request 269 (July 2026, open), counters
========  ====================================  ==================================================================

The mean of counters is rounded down, so that it is a counter again. No rule here reads the model or a server's rate: a
mean of variances is never below zero, but a variance that a server's rate extrapolates may be.

External: no paper; codes and threads as named.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum

import numpy as np

from fedspec.arith import Array, Scalar
from fedspec.contract import Buffers
from fedspec.errors import PlanError, UnknownNameError, WeightError

__all__ = ["COUNTERS", "KINDS", "STATISTICS", "Reading", "after", "counts"]


class Reading(StrEnum):
    """Rule for the server's buffers after a round."""

    AVERAGED = "averaged"
    """Mean of the participants' buffers, weighted by their numbers of examples."""

    UNIFORM = "uniform"
    """Unweighted mean of the participants' buffers."""

    KEPT = "kept"
    """Clients send no buffers: the server's stay unchanged, and clients may do anything with theirs."""

    FIRST = "first"
    """Buffers of the participant that the round names first."""

    LAST = "last"
    """Buffers of the participant that the round names last."""

    LARGEST = "largest"
    """Elementwise maximum of the participants' buffers; for counters only."""


COUNTERS = tuple(Reading)
"""Readings that apply to counters."""

STATISTICS = tuple(r for r in Reading if r is not Reading.LARGEST)
"""Readings that apply to statistics."""

KINDS: dict[str, tuple[Reading, ...]] = {"statistics": STATISTICS, "counters": COUNTERS}
"""The kinds of buffers, and the readings of each."""


def counts(array: Array) -> bool:
    """True if a buffer is a counter, that is, of an integer type."""
    return array.dtype.kind in "iu"


def averaged(sent: Sequence[Array], examples: Sequence[Scalar]) -> Array:
    """Mean of the sent buffers, weighted by examples: B = sum_i n_i b_i / sum_i n_i, rounded down for counters."""
    total = sum(examples)
    if not total > 0:
        raise WeightError(f"weight: the sample sizes {list(examples)} add up to {total}; one must be positive")
    if counts(sent[0]):
        return np.asarray(sum(int(n) * b for n, b in zip(examples, sent, strict=True)) // int(total))
    return np.asarray(sum(n * b for n, b in zip(examples, sent, strict=True)) / total)


def uniform(sent: Sequence[Array], examples: Sequence[Scalar]) -> Array:
    """Unweighted mean of the M sent buffers: B = sum_i b_i / M, rounded down for counters."""
    return np.asarray(sum(sent) // len(sent) if counts(sent[0]) else sum(sent) / len(sent))


def first(sent: Sequence[Array], examples: Sequence[Scalar]) -> Array:
    """Buffer of the first participant: B = b_1."""
    return sent[0]


def last(sent: Sequence[Array], examples: Sequence[Scalar]) -> Array:
    """Buffer of the last participant: B = b_M."""
    return sent[-1]


def largest(sent: Sequence[Array], examples: Sequence[Scalar]) -> Array:
    """Elementwise maximum of the sent buffers: B = max_i b_i."""
    return np.asarray(np.max(sent, axis=0))


RULES: dict[Reading, Callable[[Sequence[Array], Sequence[Scalar]], Array]] = {
    Reading.AVERAGED: averaged,
    Reading.UNIFORM: uniform,
    Reading.FIRST: first,
    Reading.LAST: last,
    Reading.LARGEST: largest,
}
"""Functions from the sent buffers to the server's, by reading; ``kept`` has none, since clients send nothing."""


def after(
    held: Buffers,
    sent: Sequence[Buffers],
    examples: Sequence[Scalar],
    *,
    statistics: str = Reading.AVERAGED,
    counters: str = Reading.AVERAGED,
) -> dict[str, Array]:
    """Return the server's buffers after a round, under a reading for statistics and one for counters.

    Args:
        held: the server's buffers.
        sent: the buffers of each participant, under the same names and in the same shapes.
        examples: the sample size n_i of each participant.
        statistics: the reading for buffers of a floating-point type.
        counters: the reading for buffers of an integer type.

    Raises:
        PlanError: there is no participant, or a participant's buffers differ from the server's in name or shape.
        UnknownNameError: the reading of statistics, or of counters, is unknown.
        WeightError: the mean is weighted by examples, but no participant has any.
    """
    readings = {kind: known(kind, name) for kind, name in (("statistics", statistics), ("counters", counters))}
    if not sent:
        raise PlanError("messages: no client takes part in this round; a server step needs at least one client")
    for i, buffers in enumerate(sent):
        if {n: np.shape(b) for n, b in buffers.items()} != {n: np.shape(b) for n, b in held.items()}:
            raise PlanError(
                f"messages[{i}].buffers: got {list(buffers)}; give the case's buffers, {list(held)}, in their shapes"
            )
    out = {}
    for name, b in held.items():
        reading = readings["counters" if counts(b) else "statistics"]
        out[name] = b if reading is Reading.KEPT else RULES[reading]([one[name] for one in sent], examples)
    return out


def known(kind: str, name: str) -> Reading:
    """Return the reading called ``name`` for a kind of buffers.

    Raises:
        UnknownNameError: no reading for that kind of buffers has that name.
    """
    if name not in KINDS[kind]:
        raise UnknownNameError(f"buffers: unknown reading {name!r} of {kind}; known: {', '.join(KINDS[kind])}")
    return Reading(name)
