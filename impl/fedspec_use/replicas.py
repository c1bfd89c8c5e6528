"""Exchange between replicas whose parameters may be shards, as ``fully_shard`` makes them.

A replica is a model that one rank holds, or several ranks in shards. The ranks that hold the same shard of every
replica form a group, and exchange that shard.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from fedspec.errors import ParameterError, PlanError, ShapeError
from fedspec_torch.arith import Vector

BUCKET = 2**25
"""Numbers that are sent at a time; a larger parameter is sent alone."""


def local(p: Tensor) -> Tensor:
    """Return the part of a parameter that this rank holds; it shares the parameter's memory."""
    part: Tensor = p.to_local() if hasattr(p, "to_local") else p
    return part.detach()


def is_sharded(p: Tensor) -> bool:
    """True if other ranks hold other parts of the parameter."""
    places = enumerate(getattr(p, "placements", ()))
    return any(not place.is_replicate() and p.device_mesh.size(dim) > 1 for dim, place in places)  # type: ignore[attr-defined]


def flat(parts: Iterable[Tensor]) -> Vector:
    """Flatten the parts that this rank holds into a vector, in float32 at least."""
    vector = torch.cat([local(p).reshape(-1) for p in parts])
    return vector if vector.dtype == torch.float64 else vector.float()


@torch.no_grad()
def exchange(params: Iterable[Tensor], server: Iterable[Tensor], group: Any = None, weight: float = 1.0) -> None:
    """Put the server's model minus the mean of the replicas' models into ``.grad``, and the server's model into params.

    So a step of an outer optimiser over the same parameters is the server's step, and each replica goes on from there:
    x - sum_i n_i x_i / sum_i n_i, in one all-reduce for each bucket of parameters. All ranks must call it.

    Args:
        params: the replica's parameters after its local steps.
        server: the model before the local steps, a copy of each parameter; it may be in the host's memory.
        group: the process group of the ranks with the same shard of each replica; None: all ranks.
        weight: n_i, the same on all ranks of a replica.

    Raises:
        ShapeError: ``server`` belongs to other parameters.
        PlanError: the group has ranks that hold other shards of the same replica.
        ParameterError: on all ranks, if a weight is not a number >= 0, or all are 0.
    """
    pairs = _pairs([*params], [*server])
    _check_group([p for p, _ in pairs], group)
    for some in _buckets(pairs):
        trained, before = zip(*some, strict=True)
        x = flat(b.to(p.device) for p, b in some)
        # The last number adds up the weights. NaN for a bad one, so that no rank waits for one that has raised.
        sums = torch.cat([x - flat(trained), x.new_ones(1)]).mul_(weight if weight >= 0 else torch.nan)
        dist.all_reduce(sums, group=group)
        total = float(sums[-1])
        if not 0 < total < torch.inf:
            raise ParameterError(f"weight: the replicas' weights add up to {total}; give each a number >= 0, not all 0")
        change, at = sums[:-1].div_(total), 0
        for p, b in zip(trained, before, strict=True):
            part, end = local(p), at + local(p).numel()
            p.grad = torch.empty_like(p, requires_grad=False)
            local(p.grad).copy_(change[at:end].view(part.shape))
            part.copy_(local(b))
            at = end


def _pairs(params: Sequence[Tensor], server: Sequence[Tensor]) -> list[tuple[Tensor, Tensor]]:
    ours, theirs = ([local(p).shape for p in some] for some in (params, server))
    if ours != theirs:
        raise ShapeError(
            f"server: got {len(theirs)} tensors for {len(ours)} parameters, or other shapes; give a copy of each "
            "parameter, from before the local steps; if a model that fully_shard divides ran without a backward pass, "
            "call its reshard() first"
        )
    return list(zip(params, server, strict=True))


def _check_group(params: Sequence[Tensor], group: Any) -> None:
    own = {*dist.get_process_group_ranks(group)}
    for p in filter(is_sharded, params):
        if len(shared := own & {*p.device_mesh.mesh.flatten().tolist()}) > 1:  # type: ignore[attr-defined]
            raise PlanError(
                f"group: its ranks {sorted(shared)} hold other shards of the same replica; give the group of the ranks "
                'with the same shard, such as mesh["replica"].get_group()'
            )


def _buckets(pairs: Sequence[tuple[Tensor, Tensor]]) -> Iterator[list[tuple[Tensor, Tensor]]]:
    """Divide parameters into lists of at most BUCKET numbers, in order."""
    some: list[tuple[Tensor, Tensor]] = []
    for pair in pairs:
        if some and sum(local(p).numel() for p, _ in [*some, pair]) > BUCKET:
            yield some
            some = []
        some.append(pair)
    if some:
        yield some
