"""The weighted mean of the clients' changes."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from fedspec.errors import PlanError, ShapeError, WeightError
from fedspec.readings import Weighting
from fedspec_torch.arith import Scalar, Stack, Stream, Vector, Weights, numbers


def shares(examples: Sequence[Scalar], like: Vector, weighting: Weighting = Weighting.EXAMPLES) -> Weights:
    """The weights p_i of the participants: n_i / sum of n_j, or 1 / number of participants.

    Raises:
        PlanError: nobody takes part.
        WeightError: a sample size is negative or not a number, or all are zero.
    """
    if not examples:
        raise PlanError("messages: nobody takes part in this round; a server step needs at least one client")
    for i, n in enumerate(examples):
        if not n >= 0:
            raise WeightError(f"weight: client message {i} has {n}; sample sizes are numbers >= 0")
    counts = [1.0] * len(examples) if weighting is Weighting.UNIFORM else examples
    if not sum(counts) > 0:
        raise WeightError(f"weight: the sample sizes {list(examples)} add up to {sum(counts)}; one must be positive")
    p = numbers(counts, like)
    return p / p.sum()


def check_shares(p: Weights) -> None:
    """Refuse weights that are negative or do not sum to one.

    Raises:
        WeightError: so it is.
    """
    entries = p.tolist()
    for i, share in enumerate(entries):
        if not share >= 0:
            raise WeightError(f"p: entry {i} is {share}; weights are >= 0")
    total = sum(entries)
    if not abs(total - 1) <= 4 * len(entries) * torch.finfo(p.dtype).eps:
        remedy = "divide by the sum (fedspec_torch.mixing.weighted.shares)"
        raise WeightError(f"p: {entries} sums to {total}, not to 1; {remedy}")


def mix(w: Weights, rows: Stack | Stream) -> Vector:
    """The sum of w_i times row i, for a stack or for blocks of its rows; the blocks are not kept.

    Raises:
        ShapeError: there is not one row for each weight.
    """
    blocks = [rows] if isinstance(rows, Tensor) else rows
    total: Vector | None = None
    end = 0
    for block in blocks:
        start, end = end, end + len(block)
        if end > len(w):
            break
        total = w[start:end] @ block if total is None else total.addmv_(block.T, w[start:end])
    if total is None or end != len(w):
        raise ShapeError(f"mix: {len(w)} weights for {end} or more rows; give one weight for each row")
    return total


def weighted_mean(deltas: Stack | Stream, p: Weights) -> Vector:
    """The aggregate of the clients' changes.

        Delta = sum_i p_i Delta_i                  fedavg.delta

    Raises:
        WeightError: p is negative somewhere or does not sum to one.

    Source: FedNova, eq. (2) (L52).
    """
    check_shares(p)
    return mix(p, deltas)
