"""Pictures as SVG: the neighbours of an algorithm, what the trials of a recipe came to."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import median

from markupsafe import Markup, escape

ROW, BOX, HIGH = 34, 190, 24
"""Sizes in the picture of neighbours: from line to line, and of a box."""


def neighbours(middle: str, above: Mapping[str, str], below: Mapping[str, str], within: Mapping[str, str]) -> Markup:
    """An algorithm between those that it is a case of, on the right, and its own cases, on the left.

    Args:
        middle: the algorithm.
        above: algorithms that it becomes under a restriction, each with the restriction.
        below: algorithms that become it under a restriction, each with the restriction.
        within: the address of each.
    """
    # Two that are each other's cases stand on both sides.
    tall = max(len(above), len(below), 1) * ROW + 8
    x = {"below": 4, "middle": 264, "above": 524}
    y = tall / 2

    def box(at: float, height: float, name: str, how: str) -> str:
        inner = (
            f'<rect x="{at}" y="{height - HIGH / 2:g}" width="{BOX}" height="{HIGH}" rx="5"/>'
            f'<text x="{at + BOX / 2:g}" y="{height + 4:g}">{escape(name)}</text>'
        )
        if name == middle:
            return f'<g class="here">{inner}</g>'
        return f'<a href="{escape(within[name])}"><title>{escape(how)}</title>{inner}</a>'

    def line(x0: float, y0: float, x1: float, y1: float) -> str:
        bend = (x0 + x1) / 2
        return f'<path d="M{x0:g} {y0:g}C{bend:g} {y0:g} {bend:g} {y1:g} {x1:g} {y1:g}" marker-end="url(#tip)"/>'

    parts = []
    for side, names in (("below", below), ("above", above)):
        first = y - (len(names) - 1) * ROW / 2
        for k, (name, how) in enumerate(names.items()):
            at = first + k * ROW
            end = (x["below"] + BOX, at, x["middle"] - 3, y)
            if side == "above":
                end = (x["middle"] + BOX, y, x["above"] - 3, at)
            parts += [line(*end), box(x[side], at, name, how)]
    words = f"{middle}: on the left its special cases, {len(below)}; on the right what it is one of, {len(above)}"
    return Markup(
        f'<svg class="graph" viewBox="0 0 718 {tall:g}" width="718" height="{tall:g}" role="group" '
        f'aria-label="{escape(words)}"><defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        f'markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z"/></marker></defs>'
        f"{''.join(parts)}{box(x['middle'], y, middle, '')}</svg>"
    )


def dots(rows: Sequence[tuple[str, Sequence[float]]], words: str, *, log: bool) -> Markup:
    """A line for each trial, on which each seed is a dot and the median a stroke.

    Args:
        rows: the name of each trial, and its values that are finite.
        words: name of the values, for the label of the picture.
        log: True if the axis is logarithmic.
    """
    left, right, row = 190.0, 690.0, 26
    values = [v for _, some in rows for v in some]
    scale = math.log10 if log else float
    low, high = scale(min(values)), scale(max(values))
    if high == low:
        low, high = low - abs(low or 1) / 2, high + abs(high or 1) / 2
    spare = (high - low) * 0.04
    low, high = low - spare, high + spare

    def at(value: float) -> float:
        return left + (scale(value) - low) / (high - low) * (right - left)

    tall = row * len(rows) + 34
    parts = []
    for tick in _ticks(low, high, log):
        x = at(tick)
        parts.append(f'<path class="grid" d="M{x:.1f} 4V{tall - 30}"/>')
        parts.append(f'<text class="tick" x="{x:.1f}" y="{tall - 16}">{tick:.4g}</text>')
    for k, (name, some) in enumerate(rows):
        y = row * k + 18
        parts.append(f'<text class="name" x="{left - 12}" y="{y + 4}">{escape(name)}</text>')
        parts += [f'<circle cx="{at(v):.1f}" cy="{y}" r="4.5"/>' for v in some]
        if some:
            middle = at(median(some))
            parts.append(f'<path class="median" d="M{middle:.1f} {y - 9}V{y + 9}"/>')
    parts.append(f'<text class="tick" x="{(left + right) / 2}" y="{tall - 1}">{escape(words)}</text>')
    return Markup(
        f'<svg class="dots" viewBox="0 0 710 {tall + 4}" width="710" height="{tall + 4}" role="img" '
        f'aria-label="{escape(words)}, by trial; the table below has the numbers">{"".join(parts)}</svg>'
    )


def _ticks(low: float, high: float, log: bool) -> list[float]:
    """Round numbers along an axis."""
    if log:
        whole = [10.0**k for k in range(math.ceil(low), math.floor(high) + 1)]
        if len(whole) > 1:
            return whole[:: max(1, len(whole) // 6)]
        return [10**low * (10 ** (high - low)) ** part for part in (0.1, 0.5, 0.9)]
    step = 10 ** math.floor(math.log10((high - low) / 2))
    step *= next(m for m in (5, 2, 1) if (high - low) / (step * m) >= 2)
    return [round(k * step, 12) for k in range(math.ceil(low / step), math.floor(high / step) + 1)]


SIGNS = {"<=": "≤", ">=": "≥", "=": "=", "<": "<", ">": ">"}


def sides(left: float, right: float, sign: str) -> Markup:
    """Both sides of a counterexample as bars from one zero."""
    low, high = min(0.0, left, right), max(0.0, left, right)
    zero, end = 150.0, 520.0

    def at(value: float) -> float:
        return zero + (value - low) / ((high - low) or 1) * (end - zero)

    parts = []
    for k, (name, value) in enumerate((("left side", left), ("right side", right))):
        y = 8 + 30 * k
        x, long = min(at(0), at(value)), abs(at(value) - at(0))
        parts.append(f'<text class="name" x="{zero - 12}" y="{y + 15}">{name}</text>')
        parts.append(f'<rect class="side{k}" x="{x:.1f}" y="{y}" width="{max(long, 1.5):.1f}" height="20" rx="2"/>')
        parts.append(f'<text x="{end + 10}" y="{y + 15}">{value:.6g}</text>')
    parts.append(f'<path d="M{at(0):.1f} 2V64"/>')
    words = f"left side {left:.6g}, right side {right:.6g}; claimed: left {sign} right, which is false"
    return Markup(
        f'<svg class="sides" viewBox="0 0 640 66" width="640" height="66" role="img" aria-label="{escape(words)}">'
        f"{''.join(parts)}</svg>"
    )
