"""Running statistics of norms, which aren't parameters: named options for how a round updates them.

Running statistics change at every call and no gradient depends on them, so an algorithm doesn't cover them. Papers
leave them out; implementations differ, mostly without documentation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

import torch
from torch import Tensor

from fedspec.errors import PlanError


class Reading(StrEnum):
    """Option for the participants' running statistics after a round."""

    AVERAGED = "averaged"
    """Averaged by sample sizes, as FedAvg averages models: b = sum_i n_i b_i / sum_i n_i."""

    KEPT = "kept"
    """Never sent: each client keeps its own (SiloBN, Andreux et al. 2020). FedBN also keeps the norms' scale and
    shift.
    """

    LAST = "last"
    """Statistics of the last participant, as if the clients trained one module in turn."""

    RECOMPUTED = "recomputed"
    """Discarded; evaluation uses the statistics of one pass of the model over all examples of the last participants
    together. So the variance between clients counts, which a mean of variances leaves out.
    """


@dataclass(frozen=True, eq=False)
class Moving:
    """Running statistics of the clients during a round.

    Attributes:
        begun: [b] the initial statistics of clients that have no statistics yet.
        own: [b] statistics of each client that has kept some.
        now: [b] new statistics of each client that was trained.
    """

    begun: Tensor
    own: Mapping[int, Tensor] = field(default_factory=dict)
    now: dict[int, Tensor] = field(default_factory=dict)
    _step: dict[int, int] = field(default_factory=dict)

    def of(self, who: Sequence[int]) -> Tensor:
        """Return a copy of some clients' running statistics, [n, b]."""
        return torch.stack([self.now.get(i, self.own.get(i, self.begun)) for i in who])

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Restore all statistics on exit, since a measurement must not change them."""
        now, step = dict(self.now), dict(self._step)
        yield
        self.now.clear()
        self._step.clear()
        self.now.update(now)
        self._step.update(step)

    def moved(self, who: Sequence[int], k: int, rows: Tensor) -> None:
        """Store the statistics after local step k; of several gradient calls at one step, only the first counts."""
        for i, row in zip(who, rows, strict=True):
            if self._step.get(i, -1) < k:
                self._step[i] = k
                self.now[i] = row


def after(
    reading: Reading,
    begun: Tensor,
    own: Mapping[int, Tensor],
    now: Mapping[int, Tensor],
    who: Sequence[int],
    n: Sequence[int],
) -> tuple[Tensor, dict[int, Tensor]]:
    """Return the server's statistics after a round, and the statistics that clients keep.

    Args:
        reading: rule by which the server combines the statistics.
        begun: [b] the server's statistics before the round.
        own: statistics of clients that keep their own.
        now: new statistics of the clients that were trained.
        who: the participants, in order.
        n: sample sizes n_i of all clients.
    """
    took = [i for i in who if i in now]
    if not took:
        return begun, dict(own)
    if reading is Reading.AVERAGED:
        return mean([now[i] for i in took], [n[i] for i in took]), {}
    if reading is Reading.LAST:
        return now[took[-1]], {}
    if reading is Reading.RECOMPUTED:
        return begun, {}
    return begun, {**own, **{i: now[i] for i in took}}


def shown(begun: Tensor, own: Mapping[int, Tensor], n: Sequence[int]) -> Tensor:
    """Return the statistics [b] for evaluation: the server's, or the mean of all clients' own by sample sizes.

    Clients that never took part count with their initial statistics.
    """
    if not own:
        return begun
    rest = sum(n) - sum(n[i] for i in own)
    return mean([begun, *(own[i] for i in sorted(own))], [rest, *(n[i] for i in sorted(own))])


def mean(rows: Sequence[Tensor], weights: Sequence[int]) -> Tensor:
    """Return the weighted mean [b] sum_i w_i rows_i / sum_i w_i, added in the given order."""
    total = torch.zeros_like(rows[0])
    for row, weight in zip(rows, weights, strict=True):
        total += weight / sum(weights) * row
    return total


def check_reading(reading: object) -> Reading:
    """Return the option of that name.

    Raises:
        PlanError: no option has that name.
    """
    try:
        return Reading(str(reading))
    except ValueError as error:
        raise PlanError(f"statistics: got {reading!r}; known: {', '.join(Reading)}") from error
