"""Plot of a comparison: a grid of panels (quantity by horizontal axis), a line and a band for each algorithm."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from fedspec_suite.report import line_labels
from fedspec_suite.report.styles import style_of
from fedspec_train.report import captions
from fedspec_train.report.curves import AGAINST, PANELS, Curve, Run, curve

WIDTH = {1: 6.0, 2: 9.0, 3: 12.0}
"""Width of a picture in inches, by its number of columns."""

LETTERS = 12.2
"""Font size: 18 pt if two columns fill a slide 13.33 inches wide, 8.8 pt if they fill 6.5 inches of a page."""

SMALL, SPACING, MARGIN = 9.0, 1.2, 8.0
"""Font size of the caption in points, its line height in font sizes, and the margin in points."""

HEIGHT = 3.1
"""Height of a row of panels, in inches."""

HANDLE = 4.0
"""Length of a legend's line samples in font sizes: long enough to tell dashes apart."""

DPI = 150

LOSSES = ("loss", "test_loss", "clients_loss")
"""Panels in which ratios matter, so that their axis may be logarithmic."""

KINDS = (".png", ".svg", ".pdf")
"""Suffixes of picture files."""


def draw(
    runs: Sequence[Run],
    task: Mapping[str, Any],
    file: Path,
    *,
    against: Sequence[str] = ("rounds", "floats"),
    panels: Sequence[str] = ("test_loss", "accuracy"),
    tuned: Collection[str] = (),
    falling: Collection[str] = LOSSES,
) -> None:
    """Write the plot, as PNG, SVG or PDF by the file's suffix.

    Args:
        runs: the runs, in the form of the record; runs of one algorithm differ in their seeds.
        task: the settings that all runs share, in the form of the record.
        file: the file to write.
        against: names in AGAINST, a column of panels for each.
        panels: names in PANELS or of metrics, a row of panels for each.
        tuned: the algorithms whose settings were chosen for this task; the caption marks other algorithms.
        falling: the panels with a logarithmic axis if their values span orders of magnitude; shares, like most metrics,
            have none.
    """
    import matplotlib as mpl

    figure = drawn(runs, task, against=against, panels=panels, tuned=tuned, falling=falling)
    # The same bytes for the same numbers; letters in a PDF that journals take and programs can search.
    kinds: dict[str, dict[str, None]] = {".svg": {"Date": None, "Creator": None}, ".pdf": {"CreationDate": None}}
    with mpl.rc_context({"svg.hashsalt": "fedspec", "pdf.fonttype": 42}):
        figure.savefig(file, dpi=DPI, metadata=kinds.get(file.suffix.lower(), {}))


def drawn(
    runs: Sequence[Run],
    task: Mapping[str, Any],
    *,
    against: Sequence[str],
    panels: Sequence[str],
    tuned: Collection[str],
    falling: Collection[str] = LOSSES,
) -> Any:
    """Return the plot as a matplotlib figure."""
    # Without pyplot, which would choose a backend for the whole program.
    from matplotlib.figure import Figure

    of: dict[str, list[Run]] = {}
    for run in runs:
        of.setdefault(run["algorithm"], []).append(run)
    width = WIDTH.get(len(against), 4.0 * len(against))
    # Of 72 points an inch 68, since letters on pixels are a little wider than those that are measured.
    told = captions.wrapped(captions.caption(task, of, against, tuned, panels), SMALL, 68 * width - 2 * MARGIN)
    below = _below(told)
    figure = Figure(figsize=(width, HEIGHT * len(panels) + below), layout="constrained", facecolor="white")
    _keep_below(figure, below)
    ends = _panels(figure, of, against, panels, tuned, falling)
    if ends and not line_labels.label(figure, ends, LETTERS):
        _legend(figure, ends, below)
    left, lower = MARGIN / 72 / width, MARGIN / 72 / figure.get_figheight()
    figure.text(left, lower, told, size=SMALL, linespacing=SPACING, color="#333333", in_layout=False)
    return figure


def _panels(
    figure: Any,
    of: Mapping[str, Sequence[Run]],
    against: Sequence[str],
    panels: Sequence[str],
    tuned: Collection[str],
    falling: Collection[str],
) -> dict[Any, list[line_labels.End]]:
    """Draw all panels; the ends of the lines of each that has some."""
    edges = captions.band(max(map(len, of.values())))
    ends = {}
    grid = figure.subplots(len(panels), len(against), squeeze=False)
    for row, panel in zip(grid, panels, strict=True):
        for axes, name in zip(row, against, strict=True):
            found = {a: curve(some, name, panel, edges) for a, some in of.items()}
            known = {a: c for a, c in found.items() if c is not None}
            if known:
                ends[axes] = [_line(axes, a, c, captions.name(a, of, tuned)) for a, c in known.items()]
            else:
                axes.text(0.5, 0.5, "nobody has such numbers", transform=axes.transAxes, ha="center", size=LETTERS)
            _axes(axes, [*known.values()], name, panel, may_fall=panel in falling)
    return ends


def _legend(figure: Any, ends: Mapping[Any, Sequence[line_labels.End]], below: float) -> None:
    """Put all names between the panels and the caption, and make the picture higher for them."""
    names = {line.get_label(): line for axes in ends for line in axes.get_lines()}
    width, height = figure.get_size_inches()
    columns, deep = _columns([*names], 72 * width)
    figure.set_size_inches(width, height + deep)
    _keep_below(figure, below + deep)
    place = {"loc": "upper center", "bbox_to_anchor": (0.5, (below + deep) / (height + deep)), "ncols": columns}
    more = {"fontsize": LETTERS, "handlelength": HANDLE, "frameon": False}
    figure.legend([*names.values()], [*names], **place, **more).set_in_layout(False)


def _below(told: str) -> float:
    """Height of a caption with its margins, in inches."""
    return (SMALL * 1.05 * SPACING * (told.count("\n") + 1) + 2 * MARGIN) / 72


def _keep_below(figure: Any, inches: float) -> None:
    """Keep the lower edge of the picture free for the text under the panels."""
    share = inches / figure.get_figheight()
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))


def _columns(names: Sequence[str], width: float) -> tuple[int, float]:
    """The columns of a legend that fits a width in points in as few rows as can be, and how high it is, in inches."""
    widest = max(captions.length(name, LETTERS) for name in names)
    rows = math.ceil(len(names) / max(1, int(width // (widest + LETTERS * (HANDLE + 3)))))
    return math.ceil(len(names) / rows), LETTERS * (1.6 * rows + 0.5) / 72


def _line(axes: Any, algorithm: str, c: Curve, name: str) -> line_labels.End:
    """Draw a curve, and return its end."""
    style = style_of(algorithm)
    every = max(1, len(c.x) // 8)
    axes.plot(c.x, c.y, label=name, linewidth=1.8, markersize=5, markevery=every, **style.line)
    if c.low is not None and c.high is not None:
        axes.fill_between(c.x, c.low, c.high, color=style.colour, alpha=0.15, linewidth=0)
    return line_labels.End(float(c.x[-1]), float(c.y[-1]), name, style)


def _axes(axes: Any, some: Sequence[Curve], against: str, panel: str, may_fall: bool) -> None:
    """Scales, words and ticks of a panel."""
    from matplotlib import ticker

    axes.margins(x=0.01)
    axes.set_xlabel(AGAINST[against][0], size=LETTERS)
    axes.set_ylabel(PANELS.get(panel, panel), size=LETTERS)
    if against != "rounds" and _apart([c.x[-1] for c in some], 10):
        _logarithmic(axes.set_xscale, axes.xaxis)
    if may_fall and _apart([y for c in some for y in c.y], 5):
        _logarithmic(axes.set_yscale, axes.yaxis)
    if against == "floats":
        axes.xaxis.set_major_formatter(ticker.EngFormatter())
    axes.grid(alpha=0.25)
    axes.tick_params(labelsize=LETTERS)
    axes.spines[["top", "right"]].set_visible(False)
    if axes.get_xscale() == "linear":
        axes.set_xlim(left=0)
    if against == "rounds":
        axes.xaxis.set_major_locator(ticker.MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))


def _logarithmic(scale: Callable[[str], None], axis: Any) -> None:
    """Set a logarithmic axis, with labels between the powers of ten if these are few."""
    from matplotlib import ticker

    scale("log")
    low, high = axis.get_view_interval()
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if high < 200 * low else (1,)))
    axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def _apart(values: Sequence[float], times: float) -> bool:
    """True if numbers read better on a logarithmic axis: all positive, and spread over a large factor."""
    return min(values, default=0) > 0 and max(values) >= times * min(values)
