"""What the ranks of a run have to agree on: where it begins, how gradients are computed, and the loss of a round."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import torch

from fedspec_torch.federation import Federation
from fedspec_torch.population import default_block
from fedspec_torch.ranks import RankError, Ranks, here
from fedspec_torch.shards import Shards
from fedspec_torch.training import Training


def divided(federation: Federation, count: int | None, block: int | None, told: Any) -> Shards | None:
    """The shards of a federation on the ranks that there are; None: it is one, on one rank.

    Args:
        federation: what is divided.
        count: how many shards; None: one for each rank.
        block: how many clients are trained at once.
        told: what else the ranks have to agree on.

    Raises:
        PlanError: there are fewer shards than ranks.
        RankError: the ranks do not begin alike.
    """
    ranks = here()
    shards = Shards(len(federation), ranks.size if count is None else count, ranks)
    if ranks.size > 1:
        check_alike(federation, told, ranks)
        if not federation.way:
            take_one_way(federation, shards, block)
    return shards if shards.count > 1 else None


def check_alike(federation: Federation, told: Any, ranks: Ranks) -> None:
    """Refuse ranks that would train different things.

    Raises:
        RankError: what differs, and where.
    """
    x = federation.x0.cpu().view(torch.uint8).numpy()
    mine = fingerprint(federation) | {"run": told, "initial model": sha256(x.tobytes()).hexdigest()[:16]}
    for q, theirs in enumerate(ranks.told(mine)):
        for what, there in theirs.items():
            if mine[what] != there:
                raise RankError(
                    f"{what}: {mine[what]} on rank {ranks.rank}, {there} on rank {q}; "
                    f"make model, data and run alike on all ranks, from the same seeds"
                )


def take_one_way(federation: Federation, shards: Shards, block: int | None) -> None:
    """Have all ranks compute gradients in the way that rank 0 finds fastest on its first clients."""
    if shards.ranks.rank == 0 and not federation.choices and shards.mine:
        who = shards.mine[: block or default_block(federation.x0)]
        federation.oracle(who)(0, federation.x0.repeat(len(who), 1))
    choices = shards.ranks.said(federation.choices)
    if choices:
        federation.choices.update(dict.fromkeys(range(64), choices[max(choices)]) | choices)


def fingerprint(federation: Federation) -> dict[str, Any]:
    """What has to be the same of a federation for a run to go on."""
    x = federation.x0
    return {
        "parameters": {name: list(shape) for name, shape in federation.network.shapes.items()},
        "dtype": str(x.dtype),
        "clients": len(federation),
        "examples": int(sum(federation.pool.examples)),
        "batch_size": federation.batch_size,
        "seed": federation.seed,
        "shuffled": federation.shuffled,
        "precision": federation.precision,
    }


def mean_loss(clients: Training, ranks: Ranks) -> float | None:
    """The mean of the first losses of all ranks' clients, weighted by their sample sizes; None: nobody computed any."""
    found: dict[int, float] = {}
    if clients.losses:
        found = dict(zip(clients.losses, torch.stack([*clients.losses.values()]).double().tolist(), strict=True))
    found = {i: loss for some in ranks.told(found) for i, loss in some.items()}
    if not found:
        return None
    who = sorted(found)
    examples = torch.tensor([clients.federation.pool.examples[i] for i in who], dtype=torch.float64)
    losses = torch.tensor([found[i] for i in who], dtype=torch.float64)
    return float((examples * losses).sum() / examples.sum())
