"""Plot of a deviation: a stem and a dot for each round, drawn as SVG without a library."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fedspec_suite.measure.verdict import Course
from fedspec_suite.report.html import Html, tag

WIDE, HIGH = 360.0, 168.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 8.0, 12.0, 38.0
"""Margins around the plot, with room for the tick labels."""

FAR = 50.0
"""Ratio of the greatest to the least deviation above which the axis is logarithmic."""


def picture(c: Course) -> Html:
    """Draw the plot as SVG; an error within the rounding bound is a ring on the axis."""
    seen = [_drawn(off) for off, allowed in zip(c.off, c.allowed, strict=True) if off > allowed]
    log = bool(seen) and max(seen) > FAR * min(seen)
    low, high, ticks = _axis(seen or [1.0], log)
    parts = [_grid(_up(t, low, high, log), f"{t:.3g}") for t in ticks]
    zero = HIGH - BOTTOM
    many = len(c.off)
    across = [LEFT + (WIDE - LEFT - RIGHT) * (k + 0.5) / many for k in range(many)]
    for x, off, allowed in zip(across, c.off, c.allowed, strict=True):
        if off > allowed:
            y = _up(_drawn(off), low, high, log)
            parts.append(tag("path", class_="stem", d=f"M{x:.1f} {zero:.1f}V{y:.1f}"))
            parts.append(tag("circle", class_="off", cx=f"{x:.1f}", cy=f"{y:.1f}", r="4.5"))
        else:
            parts.append(tag("circle", class_="within", cx=f"{x:.1f}", cy=f"{zero:.1f}", r="4"))
    every = math.ceil(many / 10)
    for k in range(0, many, every):
        parts.append(tag("text", c.where[k].rpartition(" ")[2], class_="x", x=f"{across[k]:.1f}", y=f"{zero + 17:.1f}"))
    parts.append(tag("text", _kind(c), class_="x", x=f"{(LEFT + WIDE - RIGHT) / 2:.1f}", y=f"{HIGH - 4:.1f}"))
    base = tag("path", class_="axis", d=f"M{LEFT} {zero:.1f}H{WIDE - RIGHT}")
    return tag("svg", base, parts, class_="course", viewBox=f"0 0 {WIDE:g} {HIGH:g}", role="img", aria_label=words(c))


def words(c: Course) -> str:
    """Return the caption of the plot, a sentence."""
    right = [where for where, off, allowed in zip(c.where, c.off, c.allowed, strict=True) if not off > allowed]
    seen = [off for off, allowed in zip(c.off, c.allowed, strict=True) if off > allowed]
    kind = _kind(c)
    if not seen:
        return f"{c.quantity} is off by no more than rounding allows in {len(right)} {kind}s"
    least, most = f"{min(seen):.3g}", f"{max(seen):.3g}"
    sizes = f"by {least}" if least == most else f"by {least} to {most}"
    which = f"in {len(seen)} of {len(c.off)} {kind}s" if right else f"in each of {len(c.off)} {kind}s"
    return f"{c.quantity} is off {sizes} {which}; rounding allows {max(c.allowed):.1g}"


def _drawn(off: float) -> float:
    """Clip a deviation to a range whose logarithms are finite."""
    return min(max(off, 1e-300), 1e300)


def _kind(c: Course) -> str:
    return c.where[0].rpartition(" ")[0] or "event"


def _grid(y: float, said: str) -> Html:
    return Html(
        tag("path", class_="grid", d=f"M{LEFT} {y:.1f}H{WIDE - RIGHT}")
        + tag("text", said, class_="y", x=f"{LEFT - 6}", y=f"{y + 4:.1f}")
    )


def _up(value: float, low: float, high: float, log: bool) -> float:
    scale = math.log10 if log else float
    share = (scale(value) - scale(low)) / (scale(high) - scale(low))
    return HIGH - BOTTOM - share * (HIGH - BOTTOM - TOP)


def _axis(seen: Sequence[float], log: bool) -> tuple[float, float, list[float]]:
    """The ends of the axis, and round numbers on it: from zero, or over powers of ten."""
    most = max(seen)
    if not log:
        step = 10.0 ** math.floor(math.log10(most / 2))
        step *= next(m for m in (5, 2, 1) if most / (step * m) >= 2)
        return 0.0, most * 1.08, [step * k for k in range(math.floor(most / step) + 1)]
    # The least stands above the axis, where what rounding explains is.
    first, last = math.floor(math.log10(0.9 * min(seen))), math.ceil(math.log10(most))
    every = math.ceil((last - first) / 5)
    return 10.0**first, 10.0**last, [10.0**k for k in range(first, last + 1, every)]
