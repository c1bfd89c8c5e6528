"""Agreement of the ranks of a run on the federation, the gradient method, and a round's losses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from math import nan
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec_torch.arith import bytes_of
from fedspec_torch.data.examples import Held
from fedspec_torch.data.structures import PAIR
from fedspec_torch.federation.autotune import run_of
from fedspec_torch.federation.federation import Federation
from fedspec_torch.federation.fingerprints import Piece, differing, digest, digested
from fedspec_torch.federation.training import Training
from fedspec_torch.population import default_block
from fedspec_torch.ranks.devices import check_first
from fedspec_torch.ranks.processes import RankError, Ranks, here
from fedspec_torch.ranks.shards import Shards


def shard_federation(federation: Federation, count: int | None, block: int | None, told: Any) -> Shards | None:
    """Divide a federation into shards over the ranks, after checking that ranks agree; None for a single shard.

    Args:
        federation: the federation to divide.
        count: number of shards; None: one for each rank.
        block: number of clients that are trained at once.
        told: further values on which the ranks must agree.

    Raises:
        PlanError: there are fewer shards than ranks.
        RankError: the ranks begin with different models, data or settings.
    """
    ranks = here()
    shards = Shards(len(federation), ranks.size if count is None else count, ranks)
    if ranks.size > 1:
        check_alike(federation, told, ranks)
        if not federation.way:
            take_one_way(federation, shards, block)
    return shards if shards.count > 1 else None


def check_alike(federation: Federation, told: Any, ranks: Ranks) -> None:
    """Raise an error if the ranks would train different models, data or runs.

    Raises:
        RankError: the ranks differ; the message says in what, and on which rank. Or their group can't send tensors of
            the model's device.
    """
    mine = {"initial model": digest([_bytes(federation.x0)])} | fingerprint(federation) | {"run": told}
    for q, theirs in enumerate(ranks.told(mine)):
        for what, there in theirs.items():
            if mine[what] != there:
                raise RankError(
                    f"{what}: {mine[what]} on rank {ranks.rank}, {there} on rank {q}; make model, data and run the "
                    "same on all ranks, from the same seeds"
                )
    check_first(federation.x0, ranks)


def take_one_way(federation: Federation, shards: Shards, block: int | None) -> None:
    """Make all ranks use the gradient method that rank 0 finds fastest on its first clients."""
    if shards.ranks.rank == 0 and not federation.choices and shards.mine:
        who = shards.mine[: block or default_block(federation.x0)]
        federation.oracle(who)(0, federation.x0.repeat(len(who), 1))
    choices = shards.ranks.said(federation.choices)
    if shards.ranks.size > 1:
        # Each would measure whole runs on its own blocks, and come to other last bits than the rest.
        choices = {size: replace(choice, run=choice.run or run_of(choice)) for size, choice in choices.items()}
    if choices:
        federation.choices.update(dict.fromkeys(range(64), choices[max(choices)]) | choices)


def fingerprint(federation: Federation) -> dict[str, Any]:
    """Return a federation's fingerprint, which must be equal when a run is resumed."""
    return described(federation)[0]


def described(federation: Federation) -> tuple[dict[str, Any], dict[str, dict[str, str]]]:
    """Return the fingerprint, and the parts of each digest, so that an error can name the part that differs."""
    x, (data, ends) = federation.x0, _data(federation)
    sizes = {f"client {i}": f"{federation.pool.examples[i]}" for i in _some(federation)}
    found = {
        "parameters": {name: list(shape) for name, shape in federation.network.shapes.items()},
        "dtype": str(x.dtype),
        "clients": len(federation),
        "examples": int(sum(federation.pool.examples)),
        "batch_size": federation.batch_size,
        "seed": federation.seed,
        "shuffled": federation.shuffled,
        "precision": federation.precision,
        "statistics": str(federation.statistics),
        "clip": federation.clip,
        "clip_value": federation.clip_value,
        "weight_decay": federation.weight_decay,
        "accumulate": federation.accumulate,
        "batch": f"{federation.structure}" if ends and federation.structure is not PAIR else None,
        "loss": getattr(federation.loss, "__qualname__", type(federation.loss).__qualname__),
        **federation.own.digests,
        "sizes' digest": digest(f"{n} ".encode() for n in federation.pool.examples),
        "data's digest": data,
    }
    return found, {**federation.own.parts, "sizes' digest": sizes, "data's digest": ends}


NAMED = {"sizes' digest": "examples of each client", "data's digest": "data", "module's digest": "module"}
"""Names of the digests in error messages."""


def federation_differences(found: Mapping[str, Any], federation: Federation) -> list[str]:
    """List how a federation differs from the federation of a saved run, with both values."""
    said, (ours, parts) = [], described(federation)
    for what, there in {"clip_value": None, **found["federation"]}.items():  # Earlier runs had no such option.
        here: Any = ours.get(what)
        # A function that makes the data is not asked for them here.
        unknown = what == "data's digest" and None in (here, there)
        # A module that was called already may hold what forward had left in it when the run was saved.
        if here in (there, found.get("later", {}).get(what, there)) or unknown:
            continue
        name, was = NAMED.get(what, what), found.get("parts", {}).get(what)
        if what == "parameters":
            said.append(f"{name}: {differing(there, here)}")
        elif was is not None and (words := differing(was, parts[what])):
            said.append(f"{name}: {words}")
        else:
            said.append(f"{name} was {there}, here it is {here}")
    return said


SAMPLED = 64
"""Largest number of clients whose data enter a fingerprint."""


def unlike(there: Any, here: Any) -> str:
    """Describe how two records differ, with both values."""
    if type(there) is not type(here) or not is_dataclass(there):
        return f"was {there}, here it is {here}"
    was, now = ({f.name: getattr(record, f.name) for f in fields(record)} for record in (there, here))
    return differing(was, now)


def _some(federation: Federation) -> range:
    return range(0, len(federation), max(1, len(federation) // SAMPLED))


def _data(federation: Federation) -> tuple[str | None, dict[str, str]]:
    """Digest of the first and last examples of some clients, and of each client; None for generated examples."""
    found: Any = federation.pool.leaves.__getitem__ if isinstance(federation.pool, Held) else None
    if found is None and federation.reader is not None:
        found = federation.reader.ends
    if found is None:
        return None, {}

    def pieces() -> Iterator[Piece]:
        for i in _some(federation):
            for what, part in zip(federation.structure.tensors, found(i), strict=True):
                for which, k in (("first", 0), ("last", -1)):
                    end = part[k].detach()
                    value = f"{end.tolist()}" if end.numel() == 1 else ""
                    yield f"{what.replace('targets', 'target')} of client {i}'s {which} example", value, _bytes(end)

    return digested(pieces())


def _bytes(value: Tensor) -> bytes:
    return bytes_of(value.cpu()).numpy().tobytes()


def first_losses(clients: Training, ranks: Ranks) -> dict[int, float]:
    """Return each client's loss on its first minibatch, from all ranks, by client number."""
    given: Any = clients.losses.values()
    on_device = Tensor in {*map(type, given)}
    values = torch.stack([*given]).double().tolist() if on_device else given
    found = dict(zip(clients.losses, values, strict=True))
    return {i: loss for some in ranks.told(found) for i, loss in sorted(some.items())}


def mean_loss(losses: Mapping[int, float], examples: Sequence[int]) -> float:
    """Return the mean of the clients' losses, weighted by their sample sizes; NaN without a loss."""
    if not losses:
        return nan
    who = sorted(losses)
    return float(np.average([losses[i] for i in who], weights=[examples[i] for i in who]))
