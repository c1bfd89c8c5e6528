"""The weighted mean of the clients' changes."""

from __future__ import annotations

from collections.abc import Sequence

from fedspec.arith import Scalar, Stack, Vector, Weights, has_values, numbers, slack
from fedspec.domains import all_nonnegative, check_steps, is_number, require_sizes
from fedspec.errors import PlanError, WeightError
from fedspec.population import weigh
from fedspec.readings import Shares, Weighting, choice
from fedspec.rules import rule


def shares(
    examples: Sequence[Scalar],
    like: Vector,
    weighting: Weighting | Shares = Weighting.EXAMPLES,
    steps: Sequence[int] = (),
) -> Weights:
    """The weights p_i of the participants: n_i / sum of n_j, 1 / number of participants, or tau_i / sum of tau_j.

    Raises:
        PlanError: there is no participant, or clients are weighted by steps and a participant has no number of steps >=
            1.
        WeightError: a sample size is negative or not a number, or all are zero.
        UnknownNameError: no weighting has that name.
    """
    weighting = choice(Weighting, "weights", weighting)
    if not len(examples):
        raise PlanError("messages: no client takes part in this round; a server step needs at least one client")
    require_sizes("weight: client message", examples)
    if weighting == Weighting.STEPS:
        check_tallied(examples, steps)
    counted = {Weighting.UNIFORM: [1] * len(examples), Weighting.STEPS: steps}
    counts = numbers(counted.get(Weighting(weighting), examples), like)
    total = sum(counts.tolist()) if has_values(counts) else sum(counts)
    if is_number(total) and not total > 0:
        raise WeightError(f"weight: the sample sizes {list(examples)} add up to {total}; one must be positive")
    p: Weights = counts / total
    return p


def check_tallied(examples: Sequence[Scalar], steps: Sequence[int]) -> None:
    """Raise PlanError unless each client has a number of local steps >= 1, by which clients are weighted.

    Raises:
        PlanError: a client has no number of steps, or one that isn't a whole number >= 1.
    """
    if len(steps) != len(examples):
        raise PlanError(f"steps: {len(steps)} step counts for {len(examples)} clients; give one for each")
    for tau in steps:
        check_steps(tau)


def check_shares(p: Weights) -> None:
    """Raise WeightError unless weights are >= 0 and sum to one: exactly for rationals, else up to rounding.

    Raises:
        WeightError: a weight is negative, or the weights don't sum to one.
    """
    if not has_values(p):
        return
    entries = p.tolist()
    for i, share in enumerate(() if all_nonnegative(entries) else entries):
        if is_number(share) and not share >= 0:
            raise WeightError(f"p: entry {i} is {share}; weights are >= 0")
    total = sum(entries)
    if is_number(total) and not abs(total - 1) <= slack(p):
        raise WeightError(f"p: {entries} sums to {total}, not to 1; divide by the sum (fedspec.mixing.weighted.shares)")


def check_parts(p: Weights, *, repeats: bool = False) -> None:
    """Raise WeightError if a share in all clients is above one, or their sum is and no client comes twice.

    Raises:
        WeightError: a share exceeds one, or the sum of the shares does although no client comes twice.
    """
    if not has_values(p):
        return
    entries = p.tolist()
    for what, part in [*((f"entry {i}", p_i) for i, p_i in enumerate(entries)), ("the sum", sum(entries))]:
        if is_number(part) and not part <= 1 + slack(p) and not (repeats and what == "the sum"):
            raise WeightError(f"p: {what} is {part} of {entries}; shares in all clients add up to at most 1")


@rule
def weighted_mean(deltas: Stack, p: Weights) -> Vector:
    """Weighted mean of the clients' changes.

        Delta = sum_i p_i Delta_i                  fedavg.delta

    Raises:
        WeightError: a weight p is negative, or their sum isn't one.

    Source: FedNova, eq. (2) (L52).
    """
    check_shares(p)
    return weigh(p, deltas)
