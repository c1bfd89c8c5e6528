"""Pictures of docs/ as figures: the caption is text of the page, and panels stack on narrow screens."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from fedspec_site.writing import ROOT, Source


@dataclass(frozen=True)
class Picture:
    """Positions of a picture's panels, in any unit.

    Attributes:
        width: width of the picture.
        panels: left, top, width and height of each panel.
        across: panels that stand side by side.
        axis: width of the axis at the left that all panels share; 0 if each has its own.
    """

    width: float
    panels: tuple[tuple[float, float, float, float], ...]
    across: int
    axis: float = 0


SCALE = Picture(972, (*((36.85 + 164.46 * k, 0, 164.46, 216) for k in range(5)), (859, 55, 113, 102)), 6, 36.85)
PICTURES = {
    "worst-cases": Picture(792, ((22, 0, 388, 331.2), (410, 0, 388, 331.2)), 2, 22),
    "scale-steps": SCALE,
    "scale-memory": SCALE,
    "benchmarks": Picture(1440, ((0, 30, 481, 402), (481, 30, 480, 402), (961, 30, 479, 402)), 3),
    "simulate": Picture(1350, ((0, 0, 703, 456), (703, 0, 647, 456), (0, 456, 703, 472), (703, 456, 647, 472)), 2),
}
"""Panels of each picture, by file name without suffix."""


def figure(source: Source, file: Path, words: str, to: str) -> str:
    """Return a picture as an HTML figure with a caption; every panel shows its part of the file.

    Args:
        source: the built sources, to which the file is copied unchanged.
        file: the picture.
        words: its caption.
        to: its address on the page.
    """
    source.copy(f"_extra/{file.relative_to(ROOT)}", file)
    one = PICTURES[file.stem]
    parts = Markup()
    for k, (x, y, wide, high) in enumerate(one.panels):
        legend = bool(one.axis) and high != one.panels[0][3]
        if one.axis and not legend:
            parts += _part(one, to, (0, y, one.axis, high), "axis again" if k else "axis")
        parts += _part(one, to, (x, y, wide, high), "legend" if legend else "", "" if k else words)
    columns = [f"{wide:g}fr" for wide in (one.axis, *(wide for _, _, wide, _ in one.panels[: one.across])) if wide]
    made = Markup(
        '<figure class="panels"><div style="--wide:{};--narrow:{}">{}</div><figcaption>{}</figcaption></figure>'
    ).format(" ".join(columns), " ".join(columns[: 1 + bool(one.axis)]), parts, words[0].upper() + words[1:])
    return f"\n\n```{{raw}} html\n{made}\n```\n\n"


def _part(one: Picture, to: str, part: tuple[float, float, float, float], name: str, words: str = "") -> Markup:
    """A part of the file: a window with the picture behind it."""
    x, y, wide, high = part
    return Markup(
        '<span class="panel {}" style="aspect-ratio:{:g}/{:g}"><img src="{}" alt="{}" '
        'style="width:{:.2f}%;left:{:.2f}%;top:{:.2f}%"></span>'
    ).format(name, wide, high, to, words, 100 * one.width / wide, -100 * x / wide, -100 * y / high)
