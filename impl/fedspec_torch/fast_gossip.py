"""Gossip in two stacks: gradients and steps a block of clients at a time, mixing along the links of a sparse graph.

As the text has it every exchange makes two to eight stacks anew, and computes all clients' gradients at once.

One exchange of 100 clients x 2e5 on a ring in float32 took one core of a Xeon 17 ms, 1.15 times a copy of the stack,
and as a product with the whole matrix 46 ms; one core of an EPYC, with torch 2.13.0 and beside other work, 2.7 to 3.0
times a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from fedspec.algorithms import afga
from fedspec.algorithms.exchanges import check_one_set, check_rows, check_senders
from fedspec.mixing.gossip import check_mixing
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Exchange
from fedspec.population import Clients, gradients
from fedspec.readings import Sampling
from fedspec.server.amsgrad import AmsGrad
from fedspec_torch.arith import Stack
from fedspec_torch.plan import neighbours
from fedspec_torch.population import default_block

ROWS = 8
"""Rows of the matrix that are multiplied at once."""

COLUMNS = 2**16
"""Coordinates of the models at a time, so that the neighbours' are still in the cache when they are read again."""


@dataclass(frozen=True)
class Links:
    """A mixing matrix as products of a few rows with runs of neighbours.

    Attributes:
        whole: the matrix.
        runs: rows, columns and entries of each product; None where they would be half of the matrix or more.
    """

    whole: Any
    runs: tuple[tuple[slice, tuple[tuple[slice, Any], ...]], ...] | None

    def times(self, X: Any, out: Any) -> Any:
        """W X, written to another stack."""
        if self.runs is None:
            return torch.mm(self.whole, X, out=out)
        for begin in range(0, X.shape[1], COLUMNS):
            part, to = X[:, begin : begin + COLUMNS], out[:, begin : begin + COLUMNS]
            for rows, ((first, W), *rest) in self.runs:
                torch.mm(W, part[first], out=to[rows])
                for columns, W in rest:
                    to[rows].addmm_(W, part[columns])
        return out


def links(plan: Exchange, n: int) -> Links:
    """The products that the mixing matrix of n clients takes.

    Raises:
        MixingError: it is not doubly stochastic.
        ShapeError: it has other rows.
    """
    W: Any = plan.mixing
    check_mixing(W)
    check_rows(plan, n)
    held, runs, cells = W.cpu().numpy() != 0, [], 0
    for begin in range(0, len(held), ROWS):
        rows = slice(begin, min(begin + ROWS, len(held)))
        columns = list(together(np.flatnonzero(held[rows].any(0)).tolist()))
        cells += sum(c.stop - c.start for c in columns) * (rows.stop - rows.start)
        runs.append((rows, tuple((c, W[rows, c]) for c in columns)))
    return Links(W, tuple(runs) if 2 * cells < held.size and W.device.type == "cpu" else None)


def together(numbers: list[int]) -> Iterator[slice]:
    """Increasing numbers as runs of consecutive ones."""
    begin = end = numbers[0]
    for number in numbers[1:]:
        if number != end + 1:
            yield slice(begin, end + 1)
            begin = number
        end = number
    yield slice(begin, end + 1)


def change(h: Any, x: Any, clients: Clients, plan: Exchange) -> Any:
    """:func:`fedspec.algorithms.afga.change`."""
    X, W = x.repeat(len(clients), 1), links(plan, len(clients))
    other = torch.empty_like(X)
    for t, S in enumerate(plan.computing):
        descend(h.eta_l, X, clients, list(S), t)
        X, other = W.times(X, other), X
    return mean_change(X, x, list(plan.senders))


def change_adapted(h: afga.AdaptedAfga, x: Any, clients: Clients, plan: Exchange) -> Any:
    """:func:`fedspec.algorithms.afga.change_adapted`, with rows for those alone who ever compute or send."""
    sets = [list(plan.senders if h.sampling is Sampling.ROUND else S) for S in plan.computing]
    who = sorted({*plan.senders}.union(*sets))
    place, W = {i: r for r, i in enumerate(who)}, links(plan, len(sets[0] if sets else plan.senders))
    X = x.repeat(len(who), 1)
    mixed = X.new_empty(len(plan.mixing), len(x))
    for t, S in enumerate(sets):
        check_rows(plan, len(S))
        rows = [place[i] for i in S]
        descend(h.eta_l, X, clients, S, t, rows)
        if rows == list(range(len(X))):
            X, mixed = W.times(X, mixed), X
        else:
            X[rows] = W.times(X[rows], mixed)
    return mean_change(X, x, [place[i] for i in plan.senders])


def mean_change(X: Stack, x: Any, rows: list[int]) -> Any:
    """:func:`fedspec.algorithms.afga.mean_change` of rows that nobody needs any more."""
    deltas = (X if rows == list(range(len(X))) else X[rows]).sub_(x)
    return weighted_mean(deltas, shares([1] * len(rows), x))


def descend(eta_l: float, X: Stack, clients: Clients, S: list[int], t: int, rows: list[int] | None = None) -> None:
    """One step of SGD of some clients, a block at a time; their rows are those of their numbers, or these."""
    size = default_block(X[0])
    places = S if rows is None else rows
    for begin in range(0, len(S), size):
        some, at = S[begin : begin + size], places[begin : begin + size]
        together = neighbours(at)
        models = X[together or at]
        models.sub_(gradients(clients, some, t, models), alpha=eta_l)
        if together is None:
            X[at] = models


def step(h: afga.Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.afga.step`."""
    check_senders(plan)
    return afga.serve(h, state, change(h, state.x, clients, plan))


def step_adapted(
    h: afga.AdaptedAfga, state: AmsGrad, clients: Clients, plan: Exchange
) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.afga.step_adapted`."""
    check_senders(plan)
    if h.sampling is Sampling.ROUND:
        check_one_set(plan)
    return afga.serve(h, state, change_adapted(h, state.x, clients, plan))


def in_one_set(h: afga.Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.afga.gossip_fedamsgrad`."""
    check_one_set(plan)
    return step(h, state, clients, plan)
