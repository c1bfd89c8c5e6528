"""What the ranks of a run have to agree on: where it begins, how gradients are computed, and the loss of a round."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from math import nan
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedspec_torch.choosing import IN_PLACE, Choice
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
    mine = {"initial model": digest([x.tobytes()])} | fingerprint(federation) | {"run": told}
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
    if shards.ranks.size > 1:
        # Each would measure whole runs on its own blocks, and come to other last bits than the rest.
        choices = {size: replace(choice, run=choice.run or same_run(choice)) for size, choice in choices.items()}
    if choices:
        federation.choices.update(dict.fromkeys(range(64), choices[max(choices)]) | choices)


def same_run(choice: Choice) -> str:
    """How all ranks take whole runs with that way to the gradients."""
    return choice.name if choice.name == "compiled" else IN_PLACE


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
        "loss": getattr(federation.loss, "__qualname__", type(federation.loss).__qualname__),
        "loss's own numbers": digest(own_numbers(federation.loss)),
        "module's digest": digest([re.sub("0x[0-9a-f]+", "", repr(federation.model)).encode()]),
        "module's own numbers": digest(own_numbers(federation.model)),
        "data's digest": sampled(federation),
    }


SAMPLED = 64
"""How many clients' data are looked at to tell one federation from another."""


def sampled(federation: Federation) -> str | None:
    """A digest of the first and last examples of some clients; None where a function makes them when they are asked."""
    data = federation.data
    if callable(data):
        return None
    some = data[:: max(1, len(data) // SAMPLED)]
    ends = (part[k].detach().reshape(-1).cpu() for pair in some for part in pair for k in (0, -1))
    return digest(end.view(torch.uint8).numpy().tobytes() for end in ends)


def own_numbers(value: Any, depth: int = 6) -> Iterator[bytes]:
    """What a module or a loss computes with beside the parameters that are trained.

    Frozen parameters, buffers, numbers in attributes; of a function those that its text, its defaults, its closure and
    its module's globals hold.
    """
    match value:
        case _ if depth == 0:
            return
        case Tensor() | np.ndarray():
            array = value.detach().cpu().numpy() if isinstance(value, Tensor) else value
            yield f"{array.dtype} {array.shape}".encode()
            yield np.ascontiguousarray(array).tobytes()
        case None | bool() | int() | float() | complex() | str() | bytes() | torch.dtype():
            yield repr(value).encode()
        case Mapping():
            for key, entry in value.items():
                yield repr(key).encode()
                yield from own_numbers(entry, depth - 1)
        case list() | tuple():
            for entry in value:
                yield from own_numbers(entry, depth - 1)
        case nn.Module():
            tensors = {**dict(value.named_parameters()), **dict(value.named_buffers())}
            yield from own_numbers({n: t for n, t in tensors.items() if not t.requires_grad})
            for name, part in value.named_modules():
                yield name.encode()
                yield from own_numbers({n: v for n, v in vars(part).items() if not n.startswith("_")}, depth - 1)
        case partial():
            yield from own_numbers((value.func, value.args, value.keywords), depth - 1)
        case MethodType():
            yield from own_numbers((value.__self__, value.__func__), depth - 1)
        case FunctionType():
            code, cells = value.__code__, value.__closure__ or ()
            seen = [value.__globals__[n] for n in code.co_names if isinstance(value.__globals__.get(n), NUMBERS)]
            held = [cell.cell_contents for cell in cells]
            yield from own_numbers((code.co_consts, value.__defaults__, value.__kwdefaults__, held, seen), depth - 1)
        case _ if hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
            yield from own_numbers(vars(value), depth - 1)


NUMBERS = (int, float, complex, Tensor, np.ndarray)
"""Of what a function's module holds, these; others are functions and modules with names of their own."""


def digest(pieces: Iterable[bytes]) -> str:
    """Of some bytes, short."""
    found = sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()[:16]


def first_losses(clients: Training, ranks: Ranks) -> dict[int, float]:
    """The loss of the first minibatch of every client of all ranks that computed one, by the clients' numbers."""
    given: Any = clients.losses.values()
    on_device = Tensor in {*map(type, given)}
    values = torch.stack([*given]).double().tolist() if on_device else given
    found = dict(zip(clients.losses, values, strict=True))
    return {i: loss for some in ranks.told(found) for i, loss in sorted(some.items())}


def mean_loss(losses: Mapping[int, float], examples: Sequence[int]) -> float:
    """The mean of clients' losses, weighted by their sample sizes; NaN: there are none."""
    if not losses:
        return nan
    who = sorted(losses)
    return float(np.average([losses[i] for i in who], weights=[examples[i] for i in who]))
