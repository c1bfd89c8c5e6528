"""Liveness of a trace's values: the stage that first reads each, and the last stage for which it must be kept."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

from fedspec_torch.tracing.tape import Tape


def levels(tape: Tape) -> list[int]:
    """Return for each node the number of gradients that must be known before it."""
    found: list[int] = []
    for number, node in enumerate(tape.nodes):
        if node[0] == "gradient":
            found.append(node[1] + 1)
        else:
            found.append(max((found[arg] for arg in tape.arguments(number)), default=0))
    return found


def again(tape: Tape, level: Sequence[int], nodes: Sequence[int], asked: Sequence[int]) -> set[int]:
    """Return nodes that a stage may recompute from the next model and at most one vector instead of reading them.

    That vector is kept instead: rho u is no more than u. So what is kept is alike from step to step.
    """
    roots, same = dict[int, set[int]](), numeric(tape, nodes)
    for node in nodes:
        here = asked[level[node]] if 0 < level[node] < len(asked) else -1
        if level[node] and node not in asked and tape.nodes[node][0] != "gradient":
            args = [arg for arg in tape.arguments(node) if level[arg] and arg != here]
            found = set[int]().union(*(roots.get(arg, {arg}) for arg in args))
            # What a vector begins with stands for one that changes.
            given = any(
                tape.nodes[arg][0] == "gradient" or (arg in same and tape.nodes[arg][0] != "number")
                for arg in tape.arguments(node)
            )
            if not given and len(found) < 2 and all(level[arg] == level[node] for arg in (*args, *found)):
                roots[node] = found
    return {*roots}


def numeric(tape: Tape, nodes: Sequence[int]) -> set[int]:
    """Return nodes that depend on numbers alone; at another step such a value may be a vector."""
    found: set[int] = set()
    for node in nodes:
        args = tape.arguments(node)
        if tape.nodes[node][0] in ("number", "constant") or (args and all(arg in found for arg in args)):
            found.add(node)
    return found


def lives(
    tape: Tape, level: Sequence[int], whole: Sequence[int], asked: Sequence[int], results: set[int]
) -> tuple[dict[int, float], dict[int, float]]:
    """Return for each node the first stage that reads it, and the last for which it is kept (results: infinity)."""
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
        for arg in () if kind == "gradient" else tape.arguments(node):
            used[arg] |= when
    return {node: min(used[node], default=inf) for node in whole}, last
