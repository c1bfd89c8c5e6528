"""Line styles of algorithms in plots; the algorithm's id determines the style, so that all plots agree.

``styles.toml`` has a colour and dashes for the rows of the catalogue that are trained. What is not there, such as an
own algorithm, gets a marker too, which none of these has; so it is never taken for one of them.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import Any

MARKERS = "os^vDPX*"
"""Markers of own algorithms, by matplotlib's names."""

READABLE = 4.5
"""Contrast ratio that WCAG 2.2 requires of text (success criterion 1.4.3)."""


@dataclass(frozen=True)
class Style:
    """Style of a plotted line.

    Attributes:
        colour: as #rrggbb.
        dashes: lengths of strokes and gaps, in widths of the line; none: it is solid.
        marker: marker that stands on the line now and then; none: "".
    """

    colour: str
    dashes: tuple[float, ...] = ()
    marker: str = ""

    @property
    def line(self) -> dict[str, Any]:
        """Arguments for matplotlib's ``plot``."""
        return {
            "color": self.colour,
            "linestyle": (0, self.dashes) if self.dashes else "-",
            "marker": self.marker or None,
        }

    @property
    def ink(self) -> str:
        """Colour for text on white: the line's colour, darkened if its contrast is too small."""
        return darkened(self.colour, READABLE)


def style_of(algorithm: str) -> Style:
    """Return the line style of an algorithm, which depends only on its id.

    Ids that are not in the table share 7 colours, 8 dashes and 8 markers: two of them are alike once in 448 times.
    """
    table = _table()
    if algorithm in table["lines"]:
        colour, dashes = table["lines"][algorithm]
        return Style(table["colours"][colour], tuple(table["dashes"][dashes]))
    colours, all_dashes = [*table["colours"].values()], [*table["dashes"].values()]
    # Python's own hash differs from one process to the next.
    number = int.from_bytes(sha256(algorithm.encode()).digest(), "big")
    number, first = divmod(number, len(colours))
    number, second = divmod(number, len(all_dashes))
    return Style(colours[first], tuple(all_dashes[second]), MARKERS[number % len(MARKERS)])


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(files("fedspec_suite.report").joinpath("styles.toml").read_text(encoding="utf-8"))


def darkened(colour: str, contrast: float) -> str:
    """Return the colour, darkened to the given contrast on white: (1 + 0.05) / (Y + 0.05), with luminance Y."""
    light = [_linear(int(colour[i : i + 2], 16) / 255) for i in (1, 3, 5)]
    luminance = sum(part * share for part, share in zip(light, (0.2126, 0.7152, 0.0722), strict=True))
    most = 1.05 / contrast - 0.05
    if luminance <= most:
        return colour
    # Rounded down, since rounding up would give a little less contrast.
    return "#" + "".join(f"{int(255 * _encoded(part * most / luminance)):02x}" for part in light)


def _linear(part: float) -> float:
    """Convert an sRGB component to linear light (IEC 61966-2-1)."""
    return part / 12.92 if part <= 0.04045 else float(((part + 0.055) / 1.055) ** 2.4)


def _encoded(light: float) -> float:
    """The inverse."""
    return 12.92 * light if light <= 0.0031308 else float(1.055 * light ** (1 / 2.4) - 0.055)
