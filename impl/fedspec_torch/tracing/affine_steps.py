"""Local steps that are affine in the gradient, split into y - rate g and a rest that doesn't depend on g."""

from __future__ import annotations

from collections.abc import Sequence

from fedspec_torch.tracing.tape import Tape


def split(tape: Tape, end: int, g: int, y: int) -> float | None:
    """Return the rate r if a step is s y - r s g plus terms without y or g, with s >= 1/2; else None."""
    slopes: dict[int, tuple[float, float] | None] = {g: (0.0, 1.0), y: (1.0, 0.0)}
    for node in tape.cone([end], slopes) if end >= 0 else ():
        kind, *args = tape.nodes[node]
        if kind == "gradient":
            return None
        of = [slopes[arg] for arg in tape.arguments(node)]
        numbers = [tape.nodes[arg][1] if tape.nodes[arg][0] == "number" else None for arg in args] if of else []
        slopes[node] = slope(kind, of, numbers) if of else (0.0, 0.0)
    found = slopes.get(end)
    return -found[1] / found[0] if found and found[0] >= 0.5 and found[1] < 0 else None


def slope(
    kind: str, of: Sequence[tuple[float, float] | None], numbers: Sequence[float | None]
) -> tuple[float, float] | None:
    """Return the coefficients of y and g in an operator's result; None if it isn't affine in them."""
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


def without(tape: Tape, end: int, g: int, y: int) -> int:
    """Return the node that equals ``end`` with g set to 0."""
    found: dict[int, int] = {g: -1, y: y}
    for node in tape.cone([end], found):
        kind, *args = tape.nodes[node]
        new = [found[arg] for arg in tape.arguments(node)]
        if -1 not in new:
            found[node] = node if new == args or not new else tape.node(kind, *new)
        elif kind == "add":
            found[node] = max(new)
        elif kind == "sub":
            found[node] = new[0] if new[1] < 0 else tape.node("neg", new[1])
        else:
            # Times, or by, a number.
            found[node] = -1
    return found[end]
