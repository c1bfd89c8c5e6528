"""What the mirror has of an algorithm: its functions, batched over clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedspec.hyper import Hyper
from fedspec.plan import Setup
from fedspec_torch.arith import Vector


@dataclass(frozen=True)
class Program:
    """The functions of an algorithm whose clients remember, adapt, talk to each other or arrive late."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector, Setup], Any]
    step: Callable[..., tuple[Any, dict[str, Any]]]
    """From its hyper-parameters, its state, the clients and a plan; or any arrivals that fit one buffer."""
