"""Blocks that aren't trained or averaged like the rest of a model: the words of ``Claim.parts``, by block.

    local       each client keeps its own block, continues from it in its next round, and never sends it
    kept        the block is sent with each change, and the server keeps its own value
    frozen      nobody trains the block: no gradient, decay, norm or momentum touches or counts it
    tied NAME   the block is one parameter with block NAME; its gradient is the sum of the gradients of both uses

For example, ``Claim("fedavg", "round", parts={"head": "local"})`` claims personal heads.

A case with parts is the ordinary case of a smaller model: with E z + c the model of parameters z, where E repeats tied
blocks and c holds the others, a client's gradient is E' grad F(E z + c). At level round a local block moves with its
client's solver, so each client trains the shared blocks and its own; the server sees the shared ones.

External: no paper's equation; FedPer and FedBN have local blocks, and torch sums the gradients of tied weights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from fedspec.arith import Array, Vector
from fedspec.contract import Begin, Blocks, Case, Event, Gradient, Messages, Quadratics, Round, Session
from fedspec.errors import ContractError
from fedspec.params import flatten, layers, shapes, unflatten

__all__ = ["WORDS", "PartsSession", "check_words", "grown", "places", "shared", "shrunk", "smaller", "ties"]

WORDS = ("local", "kept", "frozen")
"""Words of a block, beside ``tied NAME``."""


def check_words(parts: Mapping[str, str], where: str = "parts") -> None:
    """Raise an error if a block has an unknown word, or is tied to itself or to a block that has a word.

    Raises:
        ContractError: a block's word is invalid; the message names the block.
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
    """Blocks without a word, of a model of the case (``x0`` by default): the blocks in the server's state."""
    return {name: a for name, a in (case.x0 if x is None else x).items() if name not in case.parts}


def smaller(case: Case) -> Case:
    """Case of the parameters alone; at level round it has local and kept blocks too, with their words."""
    moved = {n: said for n, said in case.parts.items() if case.level == "round" and said in ("local", "kept")}
    x0 = {name: a for name, a in case.x0.items() if name in moved or name not in case.parts}
    return replace(case, x0=x0, problem=case.problem and _restricted(case.problem, case, [*x0]), parts=moved)


def places(case: Case, names: Sequence[str]) -> list[int]:
    """Coordinates of some blocks in the flat model."""
    at = dict(zip(case.x0, layers(shapes(case.x0)), strict=True))
    return [j for name in names for j in range(at[name].start, at[name].stop)]


def _restricted(p: Quadratics, case: Case, names: Sequence[str]) -> Quadratics:
    """Objectives F_i(E z + c) of the parameters z: E' H E, E' (e - H c) and f + c' H c / 2 - e' c."""
    H, e, f = p.H.copy(), p.e.copy(), p.f
    tied = {one: other for one, other in ties(case.parts).items() if one in case.x0}
    for one, other in tied.items():
        rows, at = places(case, [one]), places(case, [other])
        H[:, at] += H[:, rows]
        H[:, :, at] += H[:, :, rows]
        e[:, at] += e[:, rows]
    if tied:
        # The order of a sum rounds.
        H = (H + H.swapaxes(1, 2)) / 2
    still = [name for name in case.x0 if name not in names and name not in tied]
    if still:
        c, at = flatten({name: case.x0[name] for name in still}), places(case, still)
        pull = H[:, :, at] @ c
        f = f if f is None else f + pull[:, at] @ c / 2 - e[:, at] @ c
        e = e - pull
    stay = places(case, names)
    return replace(p, H=H[:, stay][:, :, stay], e=e[:, stay], f=f)


def shrunk(event: Event, case: Case) -> Event:
    """Event for the case of the parameters: gradients of tied blocks are added up, and other blocks left out."""
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
            sent = (replace(m, delta=fewer(m.delta), control=m.control and fewer(m.control)) for m in messages)
            return replace(event, messages=tuple(sent))
        case Round(noise=noise, draws=draws) if noise or draws:
            at = places(case, names)
            some = tuple(tuple(u[j] for j in at) for u in draws)
            return replace(event, noise=tuple(noise[j] for j in at) if noise else (), draws=some)
    return event


def grown(x: Vector, case: Case) -> Vector:
    """Whole model from its shared blocks: tied blocks are equal, and all remaining blocks are copied from x0."""
    own, tied = unflatten(x, shared(case)), ties(case.parts)
    return flatten({name: own.get(tied.get(name, name), a) for name, a in case.x0.items()})


class PartsSession:
    """Session of a case with parts: it wraps a session of the smaller case and has the attributes of this one."""

    def __init__(self, case: Case, inner: Any) -> None:
        vars(self).update(whole=case, inner=inner)

    @classmethod
    def begun(cls, case: Case, begin: Callable[[Case], Session]) -> Session:
        """Start a session of a case; ``begin`` starts a session of an ordinary case."""
        return cls(case, begin(smaller(case))) if case.parts else begin(case)

    def step(self, event: Event) -> dict[str, Any]:
        """Take an event in the session within, and return its answer with the whole model."""
        answer = vars(self)["inner"].step(shrunk(event, vars(self)["whole"]))
        return {**answer, "x": grown(answer["x"], vars(self)["whole"])}

    def __getattr__(self, name: str) -> Any:
        return getattr(vars(self)["inner"], name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(vars(self)["inner"], name, value)
