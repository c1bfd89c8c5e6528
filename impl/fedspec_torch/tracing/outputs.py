"""Results of a block's clients after their traced steps, written over vectors that are no longer needed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any

import torch
from torch import Tensor

from fedspec_torch.arith import Stack
from fedspec_torch.local.block_results import Numbers
from fedspec_torch.local.blocks import Block
from fedspec_torch.plan import neighbours
from fedspec_torch.tracing.expressions import Expression
from fedspec_torch.tracing.passes import at_once, operated, run
from fedspec_torch.tracing.programs import Ref, Stage, compiled
from fedspec_torch.tracing.tape import Tape, UnrecordedError
from fedspec_torch.tracing.tracer import Text, expressions, parts_of


@dataclass(frozen=True)
class Ending:
    """Plan for computing the results after the last step.

    Attributes:
        read: the block's vectors, beside y, that the results depend on.
        names: the block's vectors that are returned, by name; a result that is no such vector is computed.
        after: for each number of steps, the vector that holds the value of a node.
        stages: for each number of steps, the stage that computes the returned vectors; None: the operators run one by
            one.
    """

    read: tuple[str, ...]
    names: tuple[str, ...]
    after: Mapping[int, Mapping[int, str]]
    stages: Mapping[int, Stage | None]


def ending(tape: Tape, texts: Mapping[int, Text], after: Mapping[int, Mapping[int, str]]) -> Ending:
    """Plan how to compute the texts' results from the vectors that remain after their steps."""
    nodes = {tau: [*expressions(text.made)] for tau, text in texts.items()}
    read: set[str] = set()
    for tau, known in after.items():
        args = [arg for node in tape.cone(nodes[tau], known) for arg in tape.arguments(node)]
        read |= {known[node] for node in (*nodes[tau], *args) if node in known}
    free, names = ["y", *sorted(read - {"y"})], list[str]()
    held = [{after[tau].get(each[p]) for tau, each in nodes.items()} for p in range(len(nodes[min(nodes)]))]
    # What is returned as it is keeps its place.
    stay = {p: some.pop() for p, some in enumerate(held) if len(some) == 1}
    places: dict[int, str] = {}
    for p, slot in stay.items():
        if slot in free:
            places[p] = slot
            free.remove(slot)
    for p in range(len(held)):
        names.append(places.get(p) or (free.pop(0) if free else f"o{p}"))
    stages = {tau: _stage(tape, each, after[tau], names) for tau, each in nodes.items()}
    return Ending(tuple(sorted(read - {"y"})), tuple(names), after, stages)


def _stage(tape: Tape, nodes: Sequence[int], after: Mapping[int, str], names: Sequence[str]) -> Stage | None:
    known: dict[int, Ref] = {node: ("slot", slot) for node, slot in after.items()}
    for node in tape.cone(nodes, known):
        kind, *args = tape.nodes[node]
        if kind in ("rows", "x"):
            known[node] = ("slot", f"{kind}{''.join(map(str, args))}")
    try:
        stage = compiled(tape, known, dict(zip(names, nodes, strict=True)))
    except UnrecordedError:
        return None
    return None if stage.reductions else stage


@dataclass(frozen=True, eq=False)
class Leaves:
    """Values of the leaves of a trace for some clients.

    Attributes:
        tape: the trace of the text.
        who: the clients' numbers.
        x: the models from which the clients begin.
        more: further arguments by name, in columns.
    """

    tape: Tape
    who: Sequence[int]
    x: Stack
    more: Mapping[str, Any]

    def rows(self, tensor: int, some: slice) -> Stack:
        """Return some clients' rows of a stack."""
        who = list(self.who[some])
        return self.tape.tensors[tensor][neighbours(who) or who]

    def values(self, nodes: Sequence[int], known: Mapping[int, Tensor], some: slice) -> list[Any]:
        """Compute nodes for some clients from known ones: stacks, or vectors and numbers that all clients share."""
        found: dict[int, Any] = dict(known)
        for node in self.tape.cone(nodes, known):
            kind, *args = self.tape.nodes[node]
            match kind:
                case "x":
                    found[node] = self.x[some]
                case "column":
                    found[node] = self.more[args[0]][some]
                case "rows":
                    found[node] = self.rows(args[0], some)
                case "counts":
                    found[node] = self.tape.tensors[args[0]][list(self.who[some])][:, None]
                case "vector":
                    found[node] = self.tape.tensors[args[0]]
                case "number" | "constant":
                    found[node] = args[0]
                case "pow":
                    found[node] = found[args[0]] ** found[args[1]]
                case "cast":
                    found[node] = found[args[0]].to(self.tape.dtype)
                case _:
                    inputs = [found[arg] for arg in args]
                    wide = (x for x in inputs if isinstance(x, Tensor) and x.dtype == torch.float64)
                    found[node] = operated(kind, inputs, next(wide, self.x))
        # What is known may be written over before it is read again.
        return [found[node].clone() if node in known else found[node] for node in nodes]

    def columns(self, nodes: Sequence[int], some: slice) -> list[Tensor]:
        """Compute nodes that are one number for each client, as columns."""
        # What is made of common vectors alone is one number.
        return [value.reshape(-1, 1).expand(len(self.who[some]), 1) for value in self.values(nodes, {}, some)]


def compute_outputs(
    end: Ending, texts: Mapping[int, Text], leaves: Leaves, tau: Sequence[int], held: dict[str, Tensor]
) -> Any:
    """Compute the results of clients, which are in descending order of steps.

    Args:
        end: the plan for computing the results.
        texts: the trace for each number of steps.
        leaves: the values of the trace's leaves.
        tau: each client's number of steps.
        held: the block's vectors that the results depend on.
    """
    d = leaves.x.shape[1]
    for name in end.names:
        if name not in held:
            held[name] = torch.empty_like(held["y"])
    few = max(1, at_once(leaves.x) // max(1, d))
    for _, alike in groupby(range(len(tau)), key=lambda row: kind(end.stages[tau[row]], tau[row])):
        rows = [*alike]
        for begin in range(rows[0], rows[-1] + 1, few):
            some = slice(begin, min(begin + few, rows[-1] + 1))
            here = {name: v[some] for name, v in held.items()}
            stages = [stage for t in tau[some] if (stage := end.stages[t])]
            if given := sorted({node for stage in stages for node in stage.given}):
                each = zip(*(column.flatten().tolist() for column in leaves.columns(given, some)), strict=True)
                stages = [s.known(dict(zip(given, own, strict=True))) for s, own in zip(stages, each, strict=True)]
            if not stages:
                known = {node: here[slot] for node, slot in end.after[tau[begin]].items() if slot in here}
                nodes = [*expressions(texts[tau[begin]].made)]
                for name, value in zip(end.names, leaves.values(nodes, known, some), strict=True):
                    here[name].copy_(value) if isinstance(value, Tensor) else here[name].fill_(value)
            elif stages[0].program.outs:
                stage, many = Stage.of_each(stages), some.stop - some.start
                here |= dict(stacks(stage, leaves, some))
                block = Block(many, many, ((slice(0, d), (d,)),), False, here.__getitem__)
                run(stage, block, here, leaves.tape.tensors)
    groups = [(t, [*some]) for t, some in groupby(tau)]
    made = [texts[t].made for t, _ in groups]
    return put_together(made, [len(rows) for _, rows in groups], iter([held[name] for name in end.names]))


def kind(stage: Stage | None, tau: int) -> object:
    """Return the key of clients whose results are computed together: their program, else their number of steps."""
    return (stage.program, stage.vectors) if stage else tau


def stacks(stage: Stage, leaves: Leaves, some: slice) -> Iterator[tuple[str, Tensor]]:
    """Yield a stage's input stacks by name: the initial models, and rows of the text's stacks."""
    for name in stage.program.names:
        if name == "x":
            yield name, leaves.x[some]
        elif name.startswith("rows"):
            yield name, leaves.rows(int(name.removeprefix("rows")), some)


def put_together(made: Sequence[Any], sizes: Sequence[int], out: Iterator[Tensor]) -> Any:
    """Join the results of groups of clients: vectors are taken from ``out``, differing numbers become Numbers."""
    first = made[0]
    if isinstance(first, Expression):
        return next(out)
    parts = parts_of(first)
    if parts is None:
        each = Numbers(number for number, size in zip(made, sizes, strict=True) for _ in range(size))
        return first if len(made) == 1 else each
    of = [parts_of(one) or () for one in made]
    joined = [put_together([one[j] for one in of], sizes, out) for j in range(len(parts))]
    if isinstance(first, tuple):
        return tuple(joined)
    return replace(first, **dict(zip((f.name for f in fields(first)), joined, strict=True)))
