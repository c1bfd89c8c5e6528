"""Blocks that aren't trained or averaged like the rest of a model: the words of ``Claim.parts``, by block.

    local       each client keeps its own block, continues from it in its next round, and never sends it
    kept        the block is sent with each change, and the server keeps its own value
    frozen      nobody trains the block: no gradient, decay, norm or momentum touches or counts it
    tied NAME   the block is one parameter with block NAME; its gradient is the sum of the gradients of both uses

For example, personal heads, and an embedding that is the output layer too::

    Claim("fedavg", "round", parts={"head": "local"})
    Claim("adam", "client", parts={"head": "tied embedding"})

A case with parts is the ordinary case of a smaller model: with E z + c the model of parameters z, where E repeats tied
blocks and c holds the others, a client's gradient is E' grad F(E z + c). At level round a local block moves with its
client's solver, so each client trains the shared blocks and its own; the server sees the shared ones.

External: no paper's equation; FedPer and FedBN have local blocks, and torch sums the gradients of tied weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from fedspec.arith import Array, Scalar, Vector
from fedspec.contract import Begin, Blocks, Case, Event, Gradient, Messages, Quadratics, Round, Session
from fedspec.errors import ContractError
from fedspec.params import flatten, layers, shapes, unflatten
from fedspec.plan import Plan
from fedspec.population import Client, Clients, one_by_one
from fedspec.varying import Making, Own

__all__ = ["WORDS", "Apart", "Whole", "check_words", "shared", "shrunk", "smaller", "ties"]

WORDS = ("local", "kept", "frozen")
"""Words of a block, beside ``tied NAME``."""


def check_words(parts: Mapping[str, str], where: str = "parts") -> None:
    """Raise an error if a word of a block is unknown, or a block is tied to none that has no word.

    Raises:
        ContractError: it is.
    """
    for name, said in parts.items():
        word, _, other = said.partition(" ")
        if said not in WORDS and (word != "tied" or not other):
            raise ContractError(
                f"{where}: block {name} has {said!r}; write one of {', '.join(WORDS)}, or 'tied' and a block, as in "
                f"'tied embedding'"
            )
        if other in parts:
            raise ContractError(
                f"{where}: block {name} is tied to {other}, which has the word {parts[other]!r}; tie it to another "
                f"block that has no word"
            )


def ties(parts: Mapping[str, str]) -> dict[str, str]:
    """Tied blocks, each with the block that it is one parameter with."""
    return {name: said.partition(" ")[2] for name, said in parts.items() if said.startswith("tied ")}


def shared(case: Case, x: Blocks | None = None) -> dict[str, Array]:
    """The blocks without a word, of a model of the case (its first by default): those of every answer's ``x``."""
    return {name: a for name, a in (case.x0 if x is None else x).items() if name not in case.parts}


def _moved(case: Case) -> tuple[str, ...]:
    """Blocks that clients train and the server does not, at level round."""
    return tuple(n for n, said in case.parts.items() if case.level == "round" and said in ("local", "kept"))


def smaller(case: Case) -> Case:
    """The case of the parameters; at level round it keeps the blocks that are local or kept, with their words."""
    moved = _moved(case)
    x0 = {name: a for name, a in case.x0.items() if name in moved or name not in case.parts}
    problem = case.problem and _restricted(case.problem, case, [*x0])
    return replace(case, x0=x0, problem=problem, parts={name: case.parts[name] for name in moved if name in x0})


def _places(case: Case, names: Sequence[str]) -> list[int]:
    """Coordinates of some blocks in the flat model."""
    at = dict(zip(case.x0, layers(shapes(case.x0)), strict=True))
    return [j for name in names for j in range(at[name].start, at[name].stop)]


def _restricted(p: Quadratics, case: Case, names: Sequence[str]) -> Quadratics:
    """The objectives F_i(E z + c) of the parameters z: E' H E, E' (e - H c) and f + c' H c / 2 - e' c."""
    H, e, f = p.H.copy(), p.e.copy(), p.f
    tied = {one: other for one, other in ties(case.parts).items() if one in case.x0}
    for one, other in tied.items():
        rows, at = _places(case, [one]), _places(case, [other])
        H[:, at] += H[:, rows]
        H[:, :, at] += H[:, :, rows]
        e[:, at] += e[:, rows]
    if tied:
        # The order of a sum rounds.
        H = (H + H.swapaxes(1, 2)) / 2
    still = [name for name in case.x0 if name not in names and name not in tied]
    if still:
        c, at = flatten({name: case.x0[name] for name in still}), _places(case, still)
        pull = H[:, :, at] @ c
        f = f if f is None else f + pull[:, at] @ c / 2 - e[:, at] @ c
        e = e - pull
    stay = _places(case, names)
    return replace(p, H=H[:, stay][:, :, stay], e=e[:, stay], f=f)


def shrunk(event: Event, case: Case) -> Event:
    """The event for the parameters: gradients of tied blocks added up, and other blocks left out."""
    names = [*smaller(replace(case, problem=None)).x0]

    def fewer(blocks: Blocks) -> dict[str, Array]:
        return {name: blocks[name] for name in names}

    match event:
        case Begin(x=x):
            return Begin(fewer(x))
        case Gradient(g=g):
            summed = fewer(g)
            for one, other in ties(case.parts).items():
                summed[other] = summed[other] + g[one]
            return replace(event, g=summed)
        case Messages(messages=messages):
            sent = (
                replace(m, delta=fewer(m.delta), control=None if m.control is None else fewer(m.control))
                for m in messages
            )
            return replace(event, messages=tuple(sent))
        case Round(noise=noise, draws=draws) if noise or draws:
            at = _places(case, names)
            some = tuple(tuple(u[j] for j in at) for u in draws)
            return replace(event, noise=tuple(noise[j] for j in at) if noise else (), draws=some)
    return event


def grown(x: Vector, case: Case) -> Vector:
    """The whole model: tied blocks twice, and the first value of blocks that the server does not change."""
    own = unflatten(x, shared(case))
    tied = ties(case.parts)
    return flatten({name: own.get(tied.get(name, name), a) for name, a in case.x0.items()})


class Whole:
    """Session of a case with parts: that of the smaller case within, whose attributes it has."""

    def __init__(self, case: Case, inner: Any) -> None:
        vars(self).update(whole=case, inner=inner)

    @classmethod
    def begun(cls, case: Case, begin: Callable[[Case], Session]) -> Session:
        """Start the session of a case; ``begin`` starts that of an ordinary one."""
        return cls(case, begin(smaller(case))) if case.parts else begin(case)

    def step(self, event: Event) -> dict[str, Any]:
        """Pass the event on without the blocks that the session within doesn't have, and complete its model."""
        answer = vars(self)["inner"].step(shrunk(event, vars(self)["whole"]))
        return {**answer, "x": grown(answer["x"], vars(self)["whole"])}

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["inner"], name, value)


class Apart(Own):
    """Clients that train blocks of their own beside those of the server.

        y = (x, own_i);  y_i = local(y, tau_i);  Delta_i = y_i - y in the shared blocks;  own_i = y_i in the local ones

    Attributes:
        copies: the own blocks of each client that has trained before, by its number.
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
        at, mine = _places(case, [*shared(case)]), _places(case, moved)
        first = flatten(case.x0)[mine]
        still = np.isin(mine, _places(case, kept))
        vars(self).update(copies=copies, after=copy(copies), at=at, mine=mine, first=first, still=still)

    def whole(self, x: Vector, own: Vector) -> Vector:
        """The model of a client: the shared blocks x, and its own."""
        return np.concatenate([x, own])[np.argsort([*self.at, *self.mine])]

    def around(self, client: Client) -> Client:
        """The work of a client, from its own model; what it returns are changes of the shared blocks."""

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
        """These clients, each under its own hyper-parameters."""
        return Own(self.clients, lambda h_i: self.around(own(h_i)), h)

    def values(self, S: Sequence[int], x: Vector) -> Sequence[Scalar]:
        """Losses of some clients, each at its own model before the round."""
        oracles: Any = self.clients
        return [oracles[i].value(self.whole(x, self.copies.get(i, self.first))) for i in S]
