"""Elementwise programs: the computation between two gradients, without the numbers that change from step to step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from torch import Tensor

from fedspec_torch.tracing.tape import REDUCED, Tape, UnrecordedError

Ref: TypeAlias = tuple[str, Any]
"""Operand of an instruction: an earlier result, a vector of the block, a shared vector, or a number."""


@dataclass(frozen=True)
class Program:
    """Instructions of a stage, without its numbers.

    Attributes:
        instructions: each instruction is an operator and its arguments; the results of the last instructions are
            written.
        outs: the block's vectors that are written, and the values written to them.
        vectors: number of shared vectors that the program reads.
        numbers: number of scalars that the program reads.
    """

    instructions: tuple[tuple[str, tuple[Ref, ...]], ...]
    outs: tuple[tuple[str, Ref], ...]
    vectors: int
    numbers: int

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the block's vectors that the program reads or writes."""
        read = [value for _, refs in self.instructions for kind, value in refs if kind == "slot"]
        copied = [value for _, (kind, value) in self.outs if kind == "slot"]
        return tuple(dict.fromkeys([*(name for name, _ in self.outs), *read, *copied]))


@dataclass(frozen=True)
class Column:
    """Placeholder for a number of each client: a node of the tape."""

    node: int


Number: TypeAlias = float | tuple[float, ...] | Tensor | Column
"""Number for all clients, one for each client, or its placeholder."""


@dataclass(frozen=True)
class Reduction:
    """Number of each client, computed from vectors or numbers before a stage's program runs.

    Attributes:
        column: the column in which the number is stored.
        kind: the operator of the reduction.
        args: numbers that the operator reads; empty if it reduces a vector.
        along: program that computes, under the name ``along``, the vector to be reduced.
    """

    column: Column
    kind: str
    args: tuple[Number, ...] = ()
    along: Stage | None = None


@dataclass(frozen=True)
class Stage:
    """Program with its numbers, and with the indices of its shared vectors among the tape's tensors.

    Attributes:
        program: the instructions for each coordinate.
        numbers: numbers that the program reads.
        vectors: indices, among the tape's tensors, of the shared vectors that the program reads.
        reductions: the numbers of each client that are computed before the program runs, in order.
    """

    program: Program
    numbers: tuple[Number, ...]
    vectors: tuple[int, ...]
    reductions: tuple[Reduction, ...] = ()

    @property
    def given(self) -> set[int]:
        """Nodes of numbers that depend only on which clients run."""
        inner = [arg for r in self.reductions for arg in r.args]
        found = {number.node for number in (*self.numbers, *inner) if isinstance(number, Column)}
        found |= {node for r in self.reductions if r.along for node in r.along.given}
        return found - {r.column.node for r in self.reductions}

    def known(self, found: Mapping[int, Number]) -> Stage:
        """Return the stage with some placeholders replaced by numbers."""
        if not found:
            return self

        def now(numbers: Sequence[Number]) -> tuple[Number, ...]:
            return tuple(found.get(n.node, n) if isinstance(n, Column) else n for n in numbers)

        inner = (replace(r, args=now(r.args), along=r.along and r.along.known(found)) for r in self.reductions)
        return replace(self, numbers=now(self.numbers), reductions=tuple(inner))

    @staticmethod
    def of_each(stages: Sequence[Stage]) -> Stage:
        """Merge stages of one program, one for each client, to a single stage."""
        numbers = zip(*(stage.numbers for stage in stages), strict=True)
        return replace(stages[0], numbers=tuple(each[0] if len({*each}) == 1 else each for each in numbers))


def compiled(tape: Tape, known: Mapping[int, Ref], outs: Mapping[str, int]) -> Stage:
    """Compile a stage that computes the nodes ``outs`` from known ones."""
    columns = [node for node in tape.cone(outs.values(), known) if tape.axes[node] == 1]
    reductions = [_reduction(tape, known, node) for node in columns if tape.moved[node]]
    return replace(_elementwise(tape, known, outs), reductions=tuple(reductions))


def _reduction(tape: Tape, known: Mapping[int, Ref], node: int) -> Reduction:
    kind, *args = tape.nodes[node]
    if kind in REDUCED:
        return Reduction(Column(node), kind, along=_elementwise(tape, known, {"along": args[0]}))
    return Reduction(Column(node), kind, tuple(number(tape, arg) for arg in args))


def number(tape: Tape, node: int) -> Number:
    """Return the value of a number node, or the placeholder of a column node."""
    found: Number = Column(node) if tape.axes[node] == 1 else tape.nodes[node][1]
    return found


def _elementwise(tape: Tape, known: Mapping[int, Ref], outs: Mapping[str, int]) -> Stage:
    instructions: list[tuple[str, tuple[Ref, ...]]] = []
    numbers, vectors, refs = list[Number](), list[int](), dict(known)
    columns = {node: node for node in tape.cone(outs.values(), refs) if tape.axes[node] == 1}

    def ref(node: int) -> Ref:
        if node in refs:
            return refs[node]
        # Every place has a number of its own, since two that are equal may not be so at another step.
        numbers.append(number(tape, node))
        return ("number", len(numbers) - 1)

    for node in tape.by_use(outs.values(), {**refs, **columns}):
        kind, *args = tape.nodes[node]
        if kind == "vector":
            if args[0] not in vectors:
                vectors.append(args[0])
            refs[node] = ("vector", vectors.index(args[0]))
        elif kind in ("rows", "gradient", "x", "never"):
            raise UnrecordedError(f"{kind} in a step")
        elif kind not in ("number", "constant"):
            instructions.append((kind, tuple(map(ref, args))))
            refs[node] = ("temporary", len(instructions) - 1)
    ends = {slot: ref(node) for slot, node in outs.items()}
    written = tuple((slot, end) for slot, end in ends.items() if end != ("slot", slot))
    return Stage(Program(tuple(instructions), written, len(vectors), len(numbers)), tuple(numbers), tuple(vectors))
