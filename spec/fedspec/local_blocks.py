"""Clients of a round that train blocks of their own beside the blocks that they share with the server.

    y = (x, own_i);  y_i = local(y, tau_i);  Delta_i = y_i - y in the shared blocks;  own_i = y_i in the local blocks

A kept block begins every round at the server's value: own_i is then that of x0. Source: ``fedspec.parts``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from fedspec.arith import Array, Scalar, Vector
from fedspec.contract import Case
from fedspec.params import flatten
from fedspec.parts import places, shared
from fedspec.plan import Plan
from fedspec.population import Client, Clients, one_by_one
from fedspec.varying import Making, Own


class OwnBlocks(Own):
    """Population of clients that run one after another, each from its own model.

    Attributes:
        copies: blocks of each client that has trained before, by the client's number.
        after: the same after the round; kept blocks are again the server's.
    """

    copies: Mapping[int, Vector]
    after: dict[int, Vector]
    at: Sequence[int]
    mine: Sequence[int]
    first: Vector
    still: Array

    def __init__(self, clients: Clients, case: Case, copies: Mapping[int, Vector]) -> None:
        super().__init__(clients, self.around, None)
        moved, kept = [n for n in case.x0 if n in case.parts], [n for n in case.parts if case.parts[n] == "kept"]
        at, mine = places(case, [*shared(case)]), places(case, moved)
        first = flatten(case.x0)[mine]
        still = np.isin(mine, places(case, kept))
        vars(self).update(copies=copies, after=copy(copies), at=at, mine=mine, first=first, still=still)

    def whole(self, x: Vector, own: Vector) -> Vector:
        """Model of a client: the shared blocks x, and the client's own blocks."""
        return np.concatenate([x, own])[np.argsort([*self.at, *self.mine])]

    def around(self, client: Client) -> Client:
        """Wrap a client's work so that it begins at the client's model and returns changes of the shared blocks."""

        def run(i: int, x: Vector, gradient: Any, tau: int) -> Vector:
            y = self.whole(x, self.after.get(i, self.first))
            change: Vector = client(i, y, gradient, tau)
            self.after[i] = np.where(self.still, self.first, (y + change)[self.mine])
            moved: Vector = change[self.at]
            return moved

        return run

    def each(self, client: Client, plan: Plan, x: Vector) -> Any:
        """Run the client of every participant and return the changes of the shared blocks."""
        return one_by_one([self.around(client)] * len(plan.steps), self.clients, plan, x)

    def owning(self, own: Making, h: Any) -> Own:
        """Wrap the clients so that each has its own hyper-parameters."""
        return Own(self.clients, lambda h_i: self.around(own(h_i)), h)

    def values(self, S: Sequence[int], x: Vector) -> Sequence[Scalar]:
        """Losses of the clients in S, each at the client's model before the round."""
        oracles: Any = self.clients
        return [oracles[i].value(self.whole(x, self.copies.get(i, self.first))) for i in S]
