"""SVG plots: measured values of a recipe's trials, and both sides of a counterexample."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median

from markupsafe import Markup, escape


def dots(rows: Sequence[tuple[str, Sequence[float]]], words: str, *, log: bool) -> Markup:
    """Plot a row for each trial, with a dot for each seed and a line at the median.

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


def sides(left: float, right: float, sign: str) -> Markup:
    """Plot both sides of a counterexample as bars from a common zero."""
    low, high = min(0.0, left, right), max(0.0, left, right)
    long = (high - low) or 1
    bars = Markup().join(
        Markup(
            '<span>{} side</span><i class="{}" style="margin-left:{:.1f}%;width:{:.1f}%"></i><span>{:.6g}</span>'
        ).format(name, name, 100 * (min(0.0, value) - low) / long, max(100 * abs(value) / long, 0.4), value)
        for name, value in (("left", left), ("right", right))
    )
    words = f"left side {left:.6g}, right side {right:.6g}; claimed: left {sign} right, which is false"
    return Markup('<div class="sides" role="img" aria-label="{}">{}</div>').format(words, bars)
