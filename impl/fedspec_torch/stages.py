"""Local runs that are recorded, in stages: what is computed between one gradient and the next, and what is kept.

After the gradient at step k a stage writes the vector at which the next one is taken over the last one, and what later
stages read to vectors of its own: which these are is seen, since the whole run is recorded before anything is computed.
A vector that nobody reads any more is written over. Stages of one structure differ in their numbers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from math import inf
from typing import Any, TypeAlias

from fedspec_torch.expressions import Expression, Tape, UnrecordedError, arguments, recording

Ref: TypeAlias = tuple[str, Any]
"""What an instruction reads: the result of another one, a vector of the block by name, one that all clients have in
common, or a number."""


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
    """A program with its numbers, and with the places of its common vectors among the tape's tensors."""

    program: Program
    numbers: tuple[float, ...]
    vectors: tuple[int, ...]


@dataclass(frozen=True)
class Text:
    """What a client does in tau steps.

    Attributes:
        asked: where the gradient at each step is taken.
        gradients: those gradients.
        made: what is returned, with expressions in it.
    """

    asked: tuple[int, ...]
    gradients: tuple[int, ...]
    made: Any


@dataclass(frozen=True)
class Stages:
    """The stages of all steps.

    Attributes:
        stages: of each step.
        begins: the vectors that are there before the first step, the nodes whose values are written to them, and what
            is then done with them.
        after: which vector holds the value of a node once so many steps are done.
        rates: where every step begins with y - rate g, and nothing else in it reads g, the rates.
    """

    stages: tuple[Stage | None, ...]
    begins: Mapping[str, tuple[int, Stage | None]]
    after: tuple[Mapping[int, str], ...]
    rates: tuple[float, ...] | None


def text_of(tape: Tape, client: Callable[..., Any], start: int, tau: int, more: Mapping[str, Any]) -> Text:
    """What a client's text does in tau steps from a node.

    Raises:
        UnrecordedError: it asks for gradients otherwise than at step 0, 1, ..., tau - 1, each at one place.
    """
    asked: list[int] = []
    found: list[int] = []

    def gradient(k: Any, x: Any) -> Expression:
        if type(x) is not Expression or type(k) is not int or not 0 <= k <= len(asked):
            raise UnrecordedError(f"the gradient at step {k!r}")
        if k == len(asked):
            asked.append(x.number)
            found.append(tape.add("gradient", k, x.number))
        elif asked[k] != x.number:
            raise UnrecordedError("two gradients at one step")
        return Expression(tape, found[k])

    with recording(tape) as someone:
        made = client(someone, Expression(tape, start), gradient, tau, **more)
    if len(asked) != tau:
        raise UnrecordedError(f"{len(asked)} gradients in {tau} steps")
    return Text(tuple(asked), tuple(found), made)


def levels(tape: Tape) -> list[int]:
    """Of every node, how many gradients must be known before it is."""
    found: list[int] = []
    for number, node in enumerate(tape.nodes):
        if node[0] == "gradient":
            found.append(node[1] + 1)
        else:
            found.append(max((found[arg] for arg in arguments(tape, number)), default=0))
    return found


def again(tape: Tape, level: Sequence[int], nodes: Sequence[int], asked: Sequence[int]) -> set[int]:
    """What a stage may compute again, of the next model and of one vector at most, rather than read it.

    That vector is kept instead: rho u is no more than u. So what is kept is alike from step to step.
    """
    roots, same = dict[int, set[int]](), numeric(tape, nodes)
    for node in nodes:
        here = asked[level[node]] if 0 < level[node] < len(asked) else -1
        if level[node] and node not in asked and tape.nodes[node][0] != "gradient":
            args = [arg for arg in arguments(tape, node) if level[arg] and arg != here]
            found = set[int]().union(*(roots.get(arg, {arg}) for arg in args))
            # What a vector begins with stands for one that changes.
            given = any(
                tape.nodes[arg][0] == "gradient" or (arg in same and tape.nodes[arg][0] != "number")
                for arg in arguments(tape, node)
            )
            if not given and len(found) < 2 and all(level[arg] == level[node] for arg in (*args, *found)):
                roots[node] = found
    return {*roots}


def numeric(tape: Tape, nodes: Sequence[int]) -> set[int]:
    """What is computed of numbers alone: from step to step it may become a vector."""
    found: set[int] = set()
    for node in nodes:
        args = arguments(tape, node)
        if tape.nodes[node][0] in ("number", "constant") or (args and all(arg in found for arg in args)):
            found.add(node)
    return found


def expressions(made: Any) -> Iterator[int]:
    """The nodes in what a text returns."""
    if isinstance(made, Expression):
        yield made.number
    for part in parts_of(made) or ():
        yield from expressions(part)


def parts_of(made: Any) -> tuple[Any, ...] | None:
    """The parts of a tuple or record; None: it is neither."""
    if isinstance(made, tuple):
        return made
    if is_dataclass(made) and not isinstance(made, type):
        return tuple(getattr(made, f.name) for f in fields(made))
    return None


def staged(tape: Tape, text: Text, steps: int) -> Stages:
    """The stages of the first few steps of a text; of all of them, its results are what is kept.

    Raises:
        UnrecordedError: a step does more than what is elementwise.
    """
    level, results = levels(tape), {*expressions(text.made)}
    whole, asked = cone(tape, [*text.asked, *results], {}), places(text, steps, levels(tape))
    first, last = lives(tape, level, whole, text.asked, results)

    def is_kept(node: int, after: int) -> bool:
        kind = tape.nodes[node][0]
        never = kind in ("vector", "number") or (kind == "constant" and first[node] > 0)
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


def lives(
    tape: Tape, level: Sequence[int], whole: Sequence[int], asked: Sequence[int], results: set[int]
) -> tuple[dict[int, float], dict[int, float]]:
    """The first stage that reads each node, and the last one for which it is kept; a result is kept to the end."""
    same, may = numeric(tape, whole), again(tape, level, whole, asked)
    used: dict[int, set[int]] = {node: set() for node in whole}
    last = dict.fromkeys(whole, -1.0)
    for node in reversed(whole):
        kind, own = tape.nodes[node][0], level[node] - 1
        later = {stage for stage in used[node] if stage > own + (node in asked)}
        when = {own}
        if not level[node]:
            # Of numbers alone nothing is kept but what they begin with.
            when = used[node] if node in same else set()
            last[node] = max(used[node], default=-1) if kind == "constant" or node not in same else -1
        elif node in results:
            last[node] = inf
        elif node in may and later == {own + 1}:
            when = used[node]
        elif later:
            last[node] = max(later)
        for arg in () if kind == "gradient" else arguments(tape, node):
            used[arg] |= when
    return {node: min(used[node], default=inf) for node in whole}, last


def places(text: Text, steps: int, level: Sequence[int]) -> list[int]:
    """Where the gradients of the first few steps are taken, and what the last of them leaves.

    It is read off the step after it where there is one, else off what is returned; -1: nothing is.
    """
    asked = [*text.asked[: steps + 1]]
    if len(asked) == steps:
        asked.append(next((node for node in expressions(text.made) if level[node] == steps), -1))
    return asked


def rated(tape: Tape, text: Text, steps: int) -> Stages | None:
    """The same where every step begins with y - rate g: then no gradient need be written. None: they do not.

    What is left of a step knows g no more, and what is alike in all steps is computed before the first one.
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
        for node in (between := cone(tape, [end], {y: 0})):
            if any(arg in moved for arg in arguments(tape, node)):
                moved.add(node)
        alike = {*between} - moved if alike is None else alike & {*between} - moved
    held: dict[int, str] = {}
    for y, end in zip(asked, ends, strict=False):
        for node in cone(tape, [end], dict.fromkeys(alike or (), 0) | {y: 0}):
            for arg in arguments(tape, node):
                if arg in (alike or ()) and tape.nodes[arg][0] not in ("vector", "number", "constant"):
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
    """How vectors that are there before the first step are made: where one stack is read, of its rows, in place."""
    found: dict[str, tuple[int, Stage | None]] = {}
    for slot, node in nodes.items():
        inner = cone(tape, [node], {})
        read = [leaf for leaf in inner if tape.nodes[leaf][0] in ("rows", "x", "column", "sum", "max")]
        alone = len(read) == 1 and tape.nodes[read[0]][0] in ("rows", "x") and node not in read
        found[slot] = (read[0], compiled(tape, {read[0]: ("slot", slot)}, {slot: node})) if alone else (node, None)
    return found


def compiled(tape: Tape, known: Mapping[int, Ref], outs: Mapping[str, int]) -> Stage:
    """What computes some nodes from known ones."""
    instructions: list[tuple[str, tuple[Ref, ...]]] = []
    numbers, vectors, refs = list[float](), list[int](), dict(known)

    def ref(node: int) -> Ref:
        if node in refs:
            return refs[node]
        # Every place has a number of its own, since two that are equal may not be so at another step.
        numbers.append(tape.nodes[node][1])
        return ("number", len(numbers) - 1)

    for node in by_use(tape, outs.values(), refs):
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


def without(tape: Tape, end: int, g: int, y: int) -> int:
    """The node that is left of one in which g is 0."""
    found: dict[int, int] = {g: -1, y: y}
    for node in cone(tape, [end], found):
        kind, *args = tape.nodes[node]
        new = [found[arg] for arg in arguments(tape, node)]
        if -1 not in new:
            found[node] = node if new == args or not new else tape.add(kind, *new)
        elif kind == "add":
            found[node] = max(new)
        elif kind == "sub":
            found[node] = new[0] if new[1] < 0 else tape.add("neg", new[1])
        else:
            # Times, or by, a number.
            found[node] = -1
    return found[end]


def cone(tape: Tape, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
    """The nodes that these are computed from, themselves included, arguments first; not what is known."""
    found: set[int] = set()
    left = [*nodes]
    while left:
        node = left.pop()
        if node not in found and node not in known:
            found.add(node)
            left += arguments(tape, node)
    return sorted(found)


def by_use(tape: Tape, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
    """The same in the order of a walk that begins at these nodes: alike wherever the expressions are."""
    found: dict[int, None] = {}
    left = [(node, False) for node in [*nodes][::-1]]
    while left:
        node, done = left.pop()
        if done:
            found[node] = None
        elif node not in found and node not in known:
            left += [(node, True), *((arg, False) for arg in arguments(tape, node)[::-1])]
    return [*found]


def split(tape: Tape, end: int, g: int, y: int) -> float | None:
    """The rate r where a step is s y - r s g and what depends on neither, with s >= 1/2; else None."""
    slopes: dict[int, tuple[float, float] | None] = {g: (0.0, 1.0), y: (1.0, 0.0)}
    for node in cone(tape, [end], slopes) if end >= 0 else ():
        kind, *args = tape.nodes[node]
        if kind == "gradient":
            return None
        of = [slopes[arg] for arg in arguments(tape, node)]
        numbers = [tape.nodes[arg][1] if tape.nodes[arg][0] == "number" else None for arg in args] if of else []
        slopes[node] = slope(kind, of, numbers) if of else (0.0, 0.0)
    found = slopes.get(end)
    return -found[1] / found[0] if found and found[0] >= 0.5 and found[1] < 0 else None


def slope(
    kind: str, of: Sequence[tuple[float, float] | None], numbers: Sequence[float | None]
) -> tuple[float, float] | None:
    """By how much y and g enter an operator's result; None: not by a number."""
    if None in of:
        return None
    given = [pair for pair in of if pair is not None]
    if all(pair == (0, 0) for pair in given):
        return (0.0, 0.0)
    if kind in ("add", "sub"):
        sign = 1 if kind == "add" else -1
        return given[0][0] + sign * given[1][0], given[0][1] + sign * given[1][1]
    if kind == "neg":
        return -given[0][0], -given[0][1]
    if kind == "mul":
        for pair, number in ((given[0], numbers[1]), (given[1], numbers[0])):
            if number is not None:
                return pair[0] * number, pair[1] * number
    if kind == "div" and numbers[1] is not None:
        return given[0][0] / numbers[1], given[0][1] / numbers[1]
    return None
