"""Programs: what is computed between one gradient and the next, elementwise, without the numbers that differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from fedspec_torch.tracing.tape import Tape, UnrecordedError

Ref: TypeAlias = tuple[str, Any]
"""Operand of an instruction: the result of another one, a vector of the block or of all clients, or a number."""


@dataclass(frozen=True)
class Program:
    """The structure of a stage.

    Attributes:
        instructions: an operator and what it reads; the last ones' results are what is written.
        outs: the vectors of the block that are written, and what is written to them.
        vectors: how many vectors that all clients have in common are read.
        numbers: how many numbers are.
    """

    instructions: tuple[tuple[str, tuple[Ref, ...]], ...]
    outs: tuple[tuple[str, Ref], ...]
    vectors: int
    numbers: int

    @property
    def names(self) -> tuple[str, ...]:
        """The vectors of the block that are read or written."""
        read = [value for _, refs in self.instructions for kind, value in refs if kind == "slot"]
        copied = [value for _, (kind, value) in self.outs if kind == "slot"]
        return tuple(dict.fromkeys([*(name for name, _ in self.outs), *read, *copied]))


@dataclass(frozen=True)
class Stage:
    """A program with its numbers, and with the places of its common vectors among the tape's tensors.

    A number may be one of each client: those who take unequal numbers of steps, put together.
    """

    program: Program
    numbers: tuple[float | tuple[float, ...], ...]
    vectors: tuple[int, ...]

    @staticmethod
    def of_each(stages: Sequence[Stage]) -> Stage:
        """Stages of one program, one for each client, as one."""
        numbers = zip(*(stage.numbers for stage in stages), strict=True)
        return replace(stages[0], numbers=tuple(each[0] if len({*each}) == 1 else each for each in numbers))


def compiled(tape: Tape, known: Mapping[int, Ref], outs: Mapping[str, int]) -> Stage:
    """Compile a stage that computes some nodes from known ones."""
    instructions: list[tuple[str, tuple[Ref, ...]]] = []
    numbers, vectors, refs = list[float](), list[int](), dict(known)

    def ref(node: int) -> Ref:
        if node in refs:
            return refs[node]
        # Every place has a number of its own, since two that are equal may not be so at another step.
        numbers.append(tape.nodes[node][1])
        return ("number", len(numbers) - 1)

    for node in tape.by_use(outs.values(), refs):
        kind, *args = tape.nodes[node]
        if kind == "vector":
            if args[0] not in vectors:
                vectors.append(args[0])
            refs[node] = ("vector", vectors.index(args[0]))
        elif kind in ("rows", "column", "gradient", "x", "sum", "max", "never"):
            raise UnrecordedError(f"{kind} in a step")
        elif kind not in ("number", "constant"):
            instructions.append((kind, tuple(map(ref, args))))
            refs[node] = ("temporary", len(instructions) - 1)
    ends = {slot: ref(node) for slot, node in outs.items()}
    written = tuple((slot, end) for slot, end in ends.items() if end != ("slot", slot))
    return Stage(Program(tuple(instructions), written, len(vectors), len(numbers)), tuple(numbers), tuple(vectors))
