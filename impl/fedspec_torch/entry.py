"""What the mirror has of an algorithm: its functions, batched over clients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedspec.hyper import Hyper
from fedspec.plan import Setup
from fedspec_torch.arith import Vector
from fedspec_torch.plan import Clients


@dataclass(frozen=True)
class Program:
    """The functions of an algorithm whose clients remember, adapt, talk to each other or arrive late."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector, Setup], Any]
    step: Callable[[Any, Any, Clients, Any], tuple[Any, dict[str, Any]]]
