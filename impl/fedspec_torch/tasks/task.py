"""Tasks, their settings, and federations built from arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from fedspec.arith import Array
from fedspec_torch.arith import Vector
from fedspec_torch.data.examples import Examples
from fedspec_torch.federation.federation import Federation
from fedspec_torch.gradients.calls import Loss

Pair = tuple[Array, Array]
"""Inputs and targets of a client, or of the test set."""


@dataclass(frozen=True, eq=False)
class Task:
    """Federation, its test set, and its minimiser if that is known.

    Attributes:
        federation: model, loss and the clients' data.
        test: examples that no client has; if the objective is known, the examples of all clients, whose mean loss is
            the objective.
        minimiser: [d] the minimiser of sum_i p_i F_i, p_i = n_i / n; None: unknown.
    """

    federation: Federation
    test: Examples
    minimiser: Vector | None = None


@dataclass(frozen=True)
class Asked:
    """Settings of a task.

    Attributes:
        model: name of the model.
        clients: number of clients.
        alpha: alpha of the Dirichlet split by label; the smaller, the more the clients differ.
        batch_size: number of examples in a minibatch; None: all examples of the client.
        seed: seed of all random draws.
        device: device of the federation.
        mine: the clients whose data are needed; None: all clients.
        given: all settings of the data set, including the defaults.
    """

    model: str
    clients: int
    alpha: float
    batch_size: int | None
    seed: int
    device: torch.device
    mine: range | None = None
    given: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """Named data set: description, models, settings, and the function that makes its task.

    Attributes:
        words: description of the data, in one line.
        models: the models that fit the data, the default model first.
        make: function that makes the task.
        own: the settings of the data set, with their default values.
        by_label: True if examples are split by label, so that ``alpha`` has an effect.
        note: warning about the data on this machine; empty: none.
    """

    words: str
    models: tuple[str, ...]
    make: Callable[[Asked], Task]
    own: Mapping[str, Any] = field(default_factory=dict)
    by_label: bool = False
    note: Callable[[], str] = str


def federated(
    asked: Asked, module: nn.Module, loss: Loss, pairs: Sequence[Pair], dtype: torch.dtype = torch.float32
) -> Federation:
    """Build the federation of these clients, with data only of the clients in ``asked.mine`` if that is set.

    Args:
        asked: the settings of the task.
        module: the model, with its initial parameters.
        loss: the loss, a function of output and targets.
        pairs: inputs and targets of each client.
        dtype: type of the inputs, and of targets that aren't classes.
    """
    given: dict[str, Any]
    if asked.mine is None:
        given = {"data": [tensors(pair, asked.device, dtype) for pair in pairs]}
    else:
        own = {i: tensors(pairs[i], asked.device, dtype) for i in asked.mine}
        given = {"data": own.__getitem__, "examples": tuple(len(targets) for _, targets in pairs)}
    return Federation(module.to(asked.device), loss, batch_size=asked.batch_size, seed=asked.seed, **given)


def tensors(pair: Pair, device: torch.device, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
    """Convert a pair of arrays to tensors; integer arrays become int64, other arrays ``dtype``."""
    inputs, targets = pair
    whole = targets.dtype.kind in "iu"
    return (
        torch.tensor(inputs, dtype=torch.int64 if inputs.dtype.kind in "iu" else dtype, device=device),
        torch.tensor(targets, dtype=torch.int64 if whole else dtype, device=device),
    )
