"""What the mirror has of an algorithm: its functions, batched over clients."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.hyper import Hyper
from fedspec.plan import Setup
from fedspec_torch.algorithms.local import local_sgd, sgd_norm
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.plan import Clients, Messages, Oracle


@dataclass(frozen=True)
class Method:
    """The functions of an algorithm with a server."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector], Any]
    server: Callable[[Any, Any, Messages], tuple[Any, dict[str, Any]]]
    local: Callable[[Any, Stack, Oracle, Sequence[int]], Stack] = local_sgd
    norm: Callable[[Any, Sequence[int]], Weights] = sgd_norm


@dataclass(frozen=True)
class Program:
    """The functions of an algorithm whose clients remember, adapt, talk to each other or arrive late."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector, Setup], Any]
    step: Callable[[Any, Any, Clients, Any], tuple[Any, dict[str, Any]]]
