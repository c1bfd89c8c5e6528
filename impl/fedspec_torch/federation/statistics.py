"""Running statistics of norms, which are no parameters: what becomes of them in a round is a named reading.

They move with every call and no gradient depends on them, so that an algorithm does not know of them. Papers leave them
out; implementations differ, mostly unsaid.
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
    """Treatment of the participants' running statistics."""

    AVERAGED = "averaged"
    """Sent and averaged as the models are by FedAvg, by sample sizes: b = sum_i n_i b_i / sum_i n_i."""

    KEPT = "kept"
    """Never sent: each client goes on with its own (SiloBN, Andreux et al. 2020). FedBN keeps the norms' scale and
    shift as well."""

    LAST = "last"
    """Statistics of the last participant, as if one module is lent to one client after another."""

    RECOMPUTED = "recomputed"
    """Thrown away; where the model is evaluated or given out, they are those of one pass of it over all examples of
    the last participants together. So variances between clients count, which a mean of variances leaves out."""


@dataclass(frozen=True, eq=False)
class Moving:
    """The running statistics of clients during a round.

    Attributes:
        begun: [b] what clients begin with who have none of their own.
        own: [b] of clients who have.
        now: [b] of those who were trained.
    """

    begun: Tensor
    own: Mapping[int, Tensor] = field(default_factory=dict)
    now: dict[int, Tensor] = field(default_factory=dict)
    _step: dict[int, int] = field(default_factory=dict)

    def of(self, who: Sequence[int]) -> Tensor:
        """[n, b] those of some clients, in memory of their own."""
        return torch.stack([self.now.get(i, self.own.get(i, self.begun)) for i in who])

    @contextmanager
    def tried(self) -> Iterator[None]:
        """Afterwards nothing has moved: what is measured is not trained."""
        now, step = dict(self.now), dict(self._step)
        yield
        self.now.clear()
        self._step.clear()
        self.now.update(now)
        self._step.update(step)

    def moved(self, who: Sequence[int], k: int, rows: Tensor) -> None:
        """Keep what a call at step k has left; of several gradients at one step the first moves them."""
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
    """The statistics of the server, and those that clients keep, after a round.

    Args:
        reading: what becomes of them.
        begun: [b] the server's before.
        own: of clients who keep theirs.
        now: of those who were trained.
        who: the participants in their order.
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
    """[b] what a common model is evaluated with: the server's, or the mean of all clients' own by sample sizes.

    Clients that never took part have what they began with.
    """
    if not own:
        return begun
    rest = sum(n) - sum(n[i] for i in own)
    return mean([begun, *(own[i] for i in sorted(own))], [rest, *(n[i] for i in sorted(own))])


def mean(rows: Sequence[Tensor], weights: Sequence[int]) -> Tensor:
    """[b] sum_i w_i rows_i / sum_i w_i, in the order in which they are given."""
    total = torch.zeros_like(rows[0])
    for row, weight in zip(rows, weights, strict=True):
        total += weight / sum(weights) * row
    return total


def check_reading(reading: object) -> Reading:
    """A reading by its name.

    Raises:
        PlanError: there is no reading of that name.
    """
    try:
        return Reading(str(reading))
    except ValueError as error:
        raise PlanError(f"statistics: got {reading!r}; known: {', '.join(Reading)}") from error
