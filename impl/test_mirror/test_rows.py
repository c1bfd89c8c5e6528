"""A stack whose rows are in shards is a stack: whatever is done to it gives what the plain one gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper, quadratic, schedule
from test_mirror.support import ended

from fedspec.arith import concatenate, constant, maximum, put, sqrt, stack, where_less, zeros
from fedspec.errors import PlanError
from fedspec.mixing.gossip import global_mean, gossip
from fedspec.mixing.topology import ring
from fedspec_torch import cohorts, simulate
from fedspec_torch.ranks.processes import Ranks
from fedspec_torch.ranks.rows import Rows
from fedspec_torch.ranks.sharded import spread
from fedspec_torch.ranks.shards import Shards

pytestmark = pytest.mark.table(10)

N, D = 7, 5
SHARDS = Shards(N, 3)
X = torch.randn(N, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
x, w = X[0] + 1, torch.linspace(0.1, 0.9, N, dtype=torch.float64)
W: Any = torch.tensor(ring(N))

OF_A_STACK: dict[str, Callable[[Any], Any]] = {
    "each entry": lambda X: sqrt(maximum(0.5 * X - x, 0) ** 2 + 1) / 3 - 1 / (X**2 + 1),
    "two stacks": lambda X: where_less(X, X * X, X + 2, -X),
    "a number a row": lambda X: X / (0.5 * w[:, None]),
    "a plain stack": lambda X: X - torch.arange(N * D).reshape(N, D),
    "rows that are chosen": lambda X: X[[5, 0, 3]] * 2,
    "one row": lambda X: X[2] + X[-1],
    "some rows": lambda X: sum(X[1:], start=X[0]),
    "rows in turn": lambda X: stack([row * 2 for row in X]),
    "new rows": lambda X: put(X, [6, 1], X[[2, 3]] + 1),
    "one new row": lambda X: put(X, [4], X[[4]] + 1),
    "new rows, in the order of others": lambda X: put(X, [1, 2], X[[2, 1]]),
    "new rows that are plain": lambda X: put(X, [6, 1, 0], torch.zeros(3, D, dtype=torch.float64)),
    "a mean": lambda X: X.sum(axis=0) / len(X) + X.mean(0),
    "a weighted mean": lambda X: w @ X,
    "gossip": lambda X: gossip(X, W),
    "gossip of some": lambda X: gossip(X[[6, 4, 1]], torch.tensor(ring(3))),
    "a mean for all": global_mean,
    "constants": lambda X: zeros(X) + constant(0.5, X),
    "columns": lambda X: concatenate([X[:, :2], X[:, 2:] * 2]),
    "end to end": lambda X: (X * 2).reshape(-1) + 1,
    "end to end and back": lambda X: X.reshape(-1).reshape(N, -1).mean(0),
    "what nobody has written out": lambda X: torch.sort(X, 0).values.cumsum(0),
    "a product from the right": lambda X: X @ X[:D].T,
}


@pytest.mark.parametrize("name", OF_A_STACK)
def test_rows_in_shards_are_a_stack(name: str) -> None:
    f = OF_A_STACK[name]
    before = X.clone()
    got, want = f(spread(X, SHARDS)), f(X)
    assert got.shape == want.shape and got.dtype == want.dtype
    assert torch.allclose(got.gathered() if isinstance(got, Rows) else got, want, rtol=1e-14, atol=1e-15)
    assert torch.equal(X, before)


def test_what_is_done_to_each_row_leaves_it_where_it_is() -> None:
    names = ("each entry", "two stacks", "a number a row", "new rows", "gossip", "constants", "rows that are chosen")
    for name in names:
        assert isinstance(OF_A_STACK[name](spread(X, SHARDS)), Rows), name


@pytest.mark.parametrize(("clients", "count", "ranks"), [(7, 3, 1), (6, 4, 4), (10, 8, 3), (2, 5, 4), (1000, 7, 5)])
def test_every_client_is_in_one_shard_and_every_shard_on_one_rank(clients: int, count: int, ranks: int) -> None:
    members = tuple(("here", r) for r in range(ranks))
    all_of_them = [Shards(clients, count, Ranks(r, members)) for r in range(ranks)]
    assert [s for one in all_of_them for s in one.held] == list(range(count))
    assert [i for one in all_of_them for i in one.mine] == list(range(clients))
    for one in all_of_them:
        assert {one.rank(one.of(i)) for i in one.mine} <= {one.ranks.rank}
    assert max(map(len, (one.mine for one in all_of_them))) <= -(-clients // count) * -(-count // ranks)


def test_fewer_shards_than_ranks_are_refused() -> None:
    with pytest.raises(PlanError, match=r"shards: got 2 for 3 ranks; every rank .* ask for 3 or more"):
        Shards(9, 2, Ranks(0, (("here", 1),) * 3))
    with pytest.raises(PlanError, match="shards: got 0"):
        simulate("fedavg", quadratic()[0], plan=cohorts(None), shards=0, eta_l=0.1)


@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_shards_change_nothing_but_roundings(row: Any) -> None:
    ends = []
    for count in (1, 3):
        federation, *_ = quadratic(batch_size=3, way="looped")
        begun = federation.x0.clone()
        ends.append(ended(row.id, federation, plan=schedule(row), shards=count, **hyper(row)).x)
        assert torch.equal(federation.x0, begun)
    assert np.allclose(*map(np.asarray, ends), rtol=1e-9, atol=1e-11)


def test_what_would_be_written_into_a_copy_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="cumsum_"):
        spread(X, SHARDS).cumsum_(0)
