"""Stages of a traced local run: the computation between two gradients, and the vectors kept from stage to stage.

After the gradient at step k a stage writes the vector at which the next one is taken over the last one, and what later
stages read to vectors of its own: which these are is seen, since the whole run is recorded before anything is computed.
A vector that nobody reads any more is written over. Stages of one structure differ in their numbers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from fedspec_torch.tracing.affine_steps import split, without
from fedspec_torch.tracing.liveness import levels, lives
from fedspec_torch.tracing.programs import Ref, Stage, compiled
from fedspec_torch.tracing.tape import Tape
from fedspec_torch.tracing.tracer import Text, expressions


@dataclass(frozen=True)
class Stages:
    """Compiled stages of all local steps.

    Attributes:
        stages: the stages of each step.
        begins: the vectors that exist before the first step, the nodes whose values they hold, and the operation that
            follows.
        after: for each number of steps done, the vector that holds the value of a node.
        rates: the learning rates, if every step begins with y - rate g and reads g nowhere else; else None.
    """

    stages: tuple[Stage | None, ...]
    begins: Mapping[str, tuple[int, Stage | None]]
    after: tuple[Mapping[int, str], ...]
    rates: tuple[float, ...] | None


def staged(tape: Tape, text: Text, steps: int) -> Stages:
    """Compile the first ``steps`` steps of a text to stages that keep what later stages and the results need.

    Raises:
        UnrecordedError: a step has an operation that isn't elementwise.
    """
    level, results = levels(tape), {*expressions(text.made)}
    whole, asked = tape.cone([*text.asked, *results], {}), places(text, steps, levels(tape))
    first, last = lives(tape, level, whole, text.asked, results)

    def is_kept(node: int, after: int) -> bool:
        kind = tape.nodes[node][0]
        never = kind in ("vector", "number") or (kind == "constant" and first[node] > 0) or tape.is_given(node)
        return not never and last[node] > max(after, 0 if node == asked[0] else -1)

    computed = [node for node in whole if level[node]]
    known_first = (n for n in whole if not level[n] and is_kept(n, -1))
    holds: dict[int, str] = {n: f"v{j}" for j, n in enumerate(known_first)}
    begins, after, stages = {slot: n for n, slot in holds.items()}, list[Mapping[int, str]]([{}]), list[Stage]()
    free, count = list[str](), len(holds)
    for k in range(steps):
        known: dict[int, Ref] = {n: ("slot", slot) for n, slot in holds.items()}
        known |= {text.gradients[k]: ("slot", "g"), asked[k]: ("slot", "y")}
        left = {n: slot for n, slot in holds.items() if is_kept(n, k)}
        free = sorted({*free, *(slot for n, slot in holds.items() if n not in left)})
        outs = {"y": asked[k + 1]} if asked[k + 1] >= 0 else {}
        for n in computed:
            if level[n] <= k + 1 and n not in left and n != asked[k + 1] and is_kept(n, k):
                if not free:
                    free, count = [f"v{count}"], count + 1
                left[n] = slot = free.pop(0)
                outs[slot] = n
        stages.append(compiled(tape, known, outs))
        holds = left
        after.append({**{n: slot for n, slot in holds.items() if level[n]}, asked[k + 1]: "y"})
    return Stages(tuple(s if s.program.outs else None for s in stages), begun(tape, begins), tuple(after), None)


def places(text: Text, steps: int, level: Sequence[int]) -> list[int]:
    """Return the nodes at which the first ``steps`` gradients are taken, and the node of the model after them.

    The place is read from the next step if there is one, else from the results; -1: none.
    """
    asked = [*text.asked[: steps + 1]]
    if len(asked) == steps:
        asked.append(next((node for node in expressions(text.made) if level[node] == steps), -1))
    return asked


def rated(tape: Tape, text: Text, steps: int) -> Stages | None:
    """Compile steps of the form y - rate g plus a rest without g, so that gradients aren't stored; None if they aren't.

    The rest of a step doesn't depend on g, and parts that are equal in all steps are computed before the first step.
    """
    asked, rates, ends = places(text, steps, levels(tape)), list[float](), list[int]()
    for k in range(steps):
        rate = split(tape, asked[k + 1], text.gradients[k], asked[k])
        if not rate:
            return None
        rates.append(rate)
        ends.append(without(tape, asked[k + 1], text.gradients[k], asked[k]))
    alike: set[int] | None = None
    for y, end in zip(asked, ends, strict=False):
        moved = {y}
        for node in (between := tape.cone([end], {y: 0})):
            if any(arg in moved for arg in tape.arguments(node)):
                moved.add(node)
        # Where the clients begin stays too, though at the first step it is y.
        alike = {y, *between} - (moved - {y}) if alike is None else alike & {*between} - moved
    held: dict[int, str] = {}
    for y, end in zip(asked, ends, strict=False):
        for node in tape.cone([end], dict.fromkeys(alike or (), 0) | {y: 0}):
            for arg in tape.arguments(node):
                known = tape.nodes[arg][0] in ("vector", "number", "constant") or tape.is_given(arg)
                if arg != y and arg in (alike or ()) and not known:
                    held.setdefault(arg, f"v{len(held)}")
    slots: dict[int, Ref] = {node: ("slot", slot) for node, slot in held.items()}
    stages = [compiled(tape, {**slots, y: ("slot", "y")}, {"y": e}) for y, e in zip(asked, ends, strict=False)]
    after = ({}, *({node: "y"} for node in asked[1:]))
    return Stages(
        tuple(s if s.program.outs else None for s in stages),
        begun(tape, {slot: node for node, slot in held.items()}),
        after,
        tuple(rates),
    )


def begun(tape: Tape, nodes: Mapping[str, int]) -> dict[str, tuple[int, Stage | None]]:
    """Return for each initial vector its node, or its source rows and the stage that computes it in place."""
    found: dict[str, tuple[int, Stage | None]] = {}
    for slot, node in nodes.items():
        inner = tape.cone([node], {})
        read = [leaf for leaf in inner if tape.nodes[leaf][0] in ("rows", "x") or tape.is_given(leaf)]
        alone = len(read) == 1 and tape.nodes[read[0]][0] in ("rows", "x") and node not in read
        found[slot] = (read[0], compiled(tape, {read[0]: ("slot", slot)}, {slot: node})) if alone else (node, None)
    return found
