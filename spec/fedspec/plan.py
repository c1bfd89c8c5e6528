"""Plans and messages: the randomness of a round as data, and what travels from client to server."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fedspec.arith import Scalar, Vector
from fedspec.errors import PlanError
from fedspec.mixing.accumulation import check_steps

Oracle: TypeAlias = Callable[[int, Vector], Vector]
"""The gradient that a client sees at local step k = 0, 1, ... at the point x."""


@dataclass(frozen=True)
class Plan:
    """One synchronous round: who takes part, how many local steps each, how many examples each holds.

    Raises:
        PlanError: nobody takes part, a client appears twice, the lengths differ, or a number of steps is below 1.
    """

    participants: tuple[int, ...]
    steps: tuple[int, ...]
    examples: tuple[Scalar, ...]

    def __post_init__(self) -> None:
        if not self.participants:
            raise PlanError("participants: nobody takes part; a round needs at least one client")
        if len({len(self.participants), len(self.steps), len(self.examples)}) != 1:
            raise PlanError(
                f"plan: {len(self.participants)} participants, {len(self.steps)} step counts and "
                f"{len(self.examples)} sample sizes; give one of each for every participant"
            )
        if len(set(self.participants)) != len(self.participants):
            raise PlanError(f"participants: {self.participants} names a client twice; name each once")
        for tau in self.steps:
            check_steps(tau)

    def check_clients(self, clients: Sequence[object]) -> None:
        """Refuse a plan that names a client that does not exist.

        Raises:
            PlanError: so it does.
        """
        for i in self.participants:
            if not 0 <= i < len(clients):
                raise PlanError(f"participants: client {i} is not one of 0..{len(clients) - 1}")


@dataclass(frozen=True)
class Message:
    """What a client sends after its local steps.

    Attributes:
        delta: its change, local model minus the model it started from (it points downhill).
        examples: its sample size n_i.
        steps: its number of local steps tau_i.
        a_norm: ||a_i||_1 of its solver; tau_i for plain SGD.
    """

    delta: Vector
    examples: Scalar
    steps: int
    a_norm: Scalar
