"""Gossip in two stacks of models (one on a ring): blocks of clients take steps, then models mix along the links.

The specification's text allocates two to eight new stacks at every exchange, and computes all clients' gradients at
once.

An exchange must read and write every number once, as a copy of the stack does. On a ring of 100 clients x 2e5 in
float32 it took one core of an EPYC, with torch 2.13.0 and beside other work, 1.8 to 1.9 times as long: written over the
models, which are in the cache, in two passes that read two numbers and write one. Written to another stack it took 2.4
times as long as the copy, as products of eight rows with ten 2.6 to 2.8 times (1.15 times on one core of a Xeon).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

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
"""Rows of the mixing matrix in one matrix product."""

COLUMNS = 2**16
"""Model coordinates in one matrix product: few enough that neighbours' models stay in the cache until they are
reused.
"""

CACHED = 3 * 2**21
"""Bytes of all models' coordinates that are mixed along lines at a time; the results need as many bytes again."""

MOST = 5
"""Largest number of models, its own included, that a client mixes along lines: each adds a pass over memory."""

Line: TypeAlias = tuple[slice, tuple[slice, ...], tuple[Tensor, ...]]
"""Consecutive clients whose neighbours have equal offsets: their rows, the rows of each neighbour, and, for each
neighbour after the first, its share [clients, 1] in the running mean of the neighbours so far.
"""


@dataclass(frozen=True)
class Lines:
    """Mixing matrix as runs of consecutive clients with equal neighbour offsets; memory is read in order.

    Attributes:
        all: the lines (:data:`Line`) of all clients.
        away: [n, 1] the weight with which each client moves from its own model to the mean of its neighbours' models.
    """

    all: tuple[Line, ...]
    away: Tensor

    def times(self, X: Any, out: Any) -> Any:
        """Write W X to ``out``, which may be X itself."""
        size = max(1, CACHED // (len(X) * X.element_size()))
        means = X.new_empty(len(X), min(size, X.shape[1]))
        for part, to in zip(X.split(size, 1), out.split(size, 1), strict=True):
            mean = means[:, : part.shape[1]]
            for rows, (first, *others), parts in self.all:
                found = part[first] if others else mean[rows].copy_(part[first])
                for other, share in zip(others, parts, strict=True):
                    found = torch.lerp(found, part[other], share, out=mean[rows])
            torch.lerp(part, mean, self.away, out=to)
        return out


@dataclass(frozen=True)
class Links:
    """Mixing matrix stored as lines, as small products with runs of consecutive columns, or as one dense matrix.

    Attributes:
        whole: the dense matrix.
        runs: rows, columns and entries of each small product; None if these would contain half of the matrix or more.
        lines: runs of clients with equal neighbour offsets; None if there would be many runs.
    """

    whole: Any
    runs: tuple[tuple[slice, tuple[tuple[slice, Any], ...]], ...] | None
    lines: Lines | None

    def mixed(self, X: Any, spare: Any) -> tuple[Any, Any]:
        """Return W X, written over X if the matrix has lines, and a stack that may be overwritten, or None."""
        if self.lines:
            return self.lines.times(X, X), spare
        return self.times(X, torch.empty_like(X) if spare is None else spare), X

    def times(self, X: Any, out: Any) -> Any:
        """Write W X to ``out``, a stack other than X."""
        if self.lines:
            return self.lines.times(X, out)
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
    """Choose how to multiply by the mixing matrix of n clients: lines, small products, or one product.

    Raises:
        MixingError: the matrix isn't doubly stochastic.
        ShapeError: the matrix doesn't have n rows and n columns.
    """
    W: Any = plan.mixing
    check_mixing(W)
    check_rows(plan, n)
    held, runs, cells = W.cpu().numpy() != 0, [], 0
    if W.device.type == "cpu" and (lines := lines_of(W, held)):
        return Links(W, None, lines)
    for begin in range(0, len(held), ROWS):
        rows = slice(begin, min(begin + ROWS, len(held)))
        columns = list(consecutive_runs(np.flatnonzero(held[rows].any(0)).tolist()))
        cells += sum(c.stop - c.start for c in columns) * (rows.stop - rows.start)
        runs.append((rows, tuple((c, W[rows, c]) for c in columns)))
    return Links(W, tuple(runs) if 2 * cells < held.size and W.device.type == "cpu" else None, None)


def lines_of(W: Any, held: Any) -> Lines | None:
    """Return the matrix as lines; None if it needs many, or a client has no neighbour or MOST or more."""
    n = len(held)
    far = [[j - i for j in np.flatnonzero(row).tolist() if j != i] for i, row in enumerate(held)]
    begins = [i for i in range(n) if not i or far[i] != far[i - 1]]
    if not all(far) or max(map(len, far)) >= MOST or sum(len(far[i]) for i in begins) > n:
        return None
    found, away = [], []
    for begin, end in zip(begins, [*begins[1:], n], strict=True):
        others = tuple(slice(begin + k, end + k) for k in far[begin])
        entries = torch.stack([W.diagonal(k)[min(begin, begin + k) :][: end - begin, None] for k in far[begin]])
        sums = entries.cumsum(0)
        found.append((slice(begin, end), others, tuple(entries[1:] / sums[1:])))
        away.append(sums[-1])
    return Lines(tuple(found), torch.cat(away))


def consecutive_runs(numbers: list[int]) -> Iterator[slice]:
    """Yield the runs of consecutive integers of an increasing list as slices."""
    begin = end = numbers[0]
    for number in numbers[1:]:
        if number != end + 1:
            yield slice(begin, end + 1)
            begin = number
        end = number
    yield slice(begin, end + 1)


def change(h: Any, x: Any, clients: Clients, plan: Exchange) -> Any:
    """:func:`fedspec.algorithms.afga.change` in two stacks."""
    X, W = x.repeat(len(clients), 1), links(plan, len(clients))
    spare = None
    for t, S in enumerate(plan.computing):
        descend(h.eta_l, X, clients, list(S), t)
        X, spare = W.mixed(X, spare)
    return mean_change(X, x, list(plan.senders))


def change_adapted(h: afga.AdaptedAfga, x: Any, clients: Clients, plan: Exchange) -> Any:
    """:func:`fedspec.algorithms.afga.change_adapted`, with rows only for clients that compute or send."""
    sets = [list(plan.senders if h.sampling is Sampling.ROUND else S) for S in plan.computing]
    who = sorted({*plan.senders}.union(*sets))
    place, W = {i: r for r, i in enumerate(who)}, links(plan, len(sets[0] if sets else plan.senders))
    X = x.repeat(len(who), 1)
    spare = None
    for t, S in enumerate(sets):
        check_rows(plan, len(S))
        rows = [place[i] for i in S]
        descend(h.eta_l, X, clients, S, t, rows)
        if rows == list(range(len(X))):
            X, spare = W.mixed(X, spare)
        else:
            X[rows], spare = W.mixed(X[rows], spare)
    return mean_change(X, x, [place[i] for i in plan.senders])


def mean_change(X: Stack, x: Any, rows: list[int]) -> Any:
    """:func:`fedspec.algorithms.afga.mean_change`; overwrites X."""
    deltas = (X if rows == list(range(len(X))) else X[rows]).sub_(x)
    return weighted_mean(deltas, shares([1] * len(rows), x))


def descend(eta_l: float, X: Stack, clients: Clients, S: list[int], t: int, rows: list[int] | None = None) -> None:
    """Take an SGD step at the clients in S, block by block; the model of S[k] is row rows[k], else row S[k]."""
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
    """:func:`fedspec.algorithms.afga.step` in two stacks."""
    check_senders(plan)
    return afga.serve(h, state, change(h, state.x, clients, plan))


def step_adapted(
    h: afga.AdaptedAfga, state: AmsGrad, clients: Clients, plan: Exchange
) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.afga.step_adapted` in two stacks."""
    check_senders(plan)
    if h.sampling is Sampling.ROUND:
        check_one_set(plan)
    return afga.serve(h, state, change_adapted(h, state.x, clients, plan))


def in_one_set(h: afga.Afga, state: AmsGrad, clients: Clients, plan: Exchange) -> tuple[AmsGrad, dict[str, Any]]:
    """:func:`fedspec.algorithms.afga.gossip_fedamsgrad` in two stacks."""
    check_one_set(plan)
    return step(h, state, clients, plan)
