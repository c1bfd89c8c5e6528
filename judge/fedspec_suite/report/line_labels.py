"""Labels of plotted lines, placed at the lines' ends if there is room."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from jaxtyping import Float

from fedspec_suite.report.styles import Style

PAD = 12.0
"""Points between the end of a line and its label."""

GAP = 1.5
"""Points between labels in a column."""

LEAST = 0.4
"""Smallest share of a panel's width that must remain for its lines."""

FULL = 0.65
"""Greatest share of a panel's height that a column of labels may take; with more labels, ``label`` gives up."""

FAR = 0.35
"""Greatest distance of a label from its line's end, as a share of the panel's width."""

WINDOWS = 20
"""Number of steps by which a column of labels may move up or down to cover fewer points of lines."""

ROOM = 4
"""Largest number of steps by which a panel grows above or below its lines so that labels cover no lines."""

FINE = 2.0
"""Spacing in points at which lines are sampled to detect overlaps."""

Points: TypeAlias = Float[np.ndarray, "names 2"]


@dataclass(frozen=True)
class End:
    """End point of a line in data coordinates, with the line's name and style."""

    x: float
    y: float
    name: str
    style: Style


def placed(
    ends: Points, sizes: Points, low: float, high: float, pad: float = PAD, lines: Points | None = None
) -> Points | None:
    """Place labels so that no two overlap; return the left-middle point of each, or None if there is no room.

    Names whose lines end side by side stand in a column right of them all, in the order of the ends, between ``low``
    and ``high``, and as near to their ends as that allows, in least squares. A column is moved up or down as a whole
    where less of it lies over lines then.

    Args:
        ends: [names, 2] right ends of the lines, across and up.
        sizes: widths and heights of the names.
        low: the least height of an edge of a name.
        high: the greatest.
        pad: between an end and the name right of it.
        lines: points of all lines, near to each other.
    """
    found = np.empty_like(ends)
    for column in _columns(ends[:, 0], sizes[:, 0], pad):
        order = column[np.argsort(ends[column, 1], kind="stable")]
        heights = sizes[order, 1]
        room = high - low - heights.sum()
        if heights.sum() > FULL * (high - low):
            return None
        found[order, 0] = ends[column, 0].max() + pad
        best = np.inf
        for least, most in _windows(low, high, room):
            found_here = found[order].copy()
            found_here[:, 1] = _packed(ends[order, 1], heights, least, most)
            over = 0 if lines is None else _over(found_here, sizes[order], lines)
            if over < best:
                best, found[order] = over, found_here
            if not over:
                break
    return found


def _packed(
    ends: Float[np.ndarray, " names"], heights: Float[np.ndarray, " names"], low: float, high: float
) -> Float[np.ndarray, " names"]:
    """The heights of names in a column between two, as near to their ends as can be."""
    from sklearn.isotonic import isotonic_regression

    # How far the middle of each is above `low` where all below it are packed: what exceeds it must not fall.
    packed = low + np.cumsum(heights) - heights / 2
    room = high - low - heights.sum()
    return np.asarray(packed + isotonic_regression(ends - packed, y_min=0, y_max=max(room, 0)))


def _windows(low: float, high: float, room: float) -> list[tuple[float, float]]:
    """Ranges of heights for a column: the whole panel first, then smaller and smaller parts of it."""
    steps = [room * k / WINDOWS for k in range(1, WINDOWS + 1)]
    return [(low, high), *(window for step in steps for window in ((low + step, high), (low, high - step)))]


def _over(at: Points, sizes: Points, lines: Points) -> int:
    """Count the points of lines under names."""
    left, middle = at[:, None, 0], at[:, None, 1]
    width, half = sizes[:, None, 0], sizes[:, None, 1] / 2
    x, y = lines[None, :, 0], lines[None, :, 1]
    return int(((x >= left) & (x <= left + width) & (abs(y - middle) < half)).sum())


def _columns(x: Float[np.ndarray, " names"], widths: Float[np.ndarray, " names"], pad: float) -> list[Any]:
    """Group names into columns: names whose lines end before another column would begin, from left to right."""
    columns: list[list[int]] = []
    for i in np.argsort(x, kind="stable"):
        columns.append([int(i)])
        while len(columns) > 1 and x[columns[-2]].max() + pad + widths[columns[-2]].max() + pad > x[columns[-1]].min():
            columns[-2:] = [columns[-2] + columns[-1]]
    return [np.array(column) for column in columns]


def label(figure: Any, ends: Mapping[Any, Sequence[End]], size: float) -> bool:
    """Place labels at the ends of the lines of each axes and fix the layout; return False, unchanged, without room.

    Args:
        figure: figure of matplotlib, with a layout engine that makes room for labels beside axes.
        ends: by axes.
        size: size of the letters, in points.
    """
    texts = {axes: [_text(axes, end, size) for end in some] for axes, some in ends.items()}
    engine = figure.get_layout_engine()
    # Names make axes narrower, which moves the ends.
    for _ in range(2):
        engine.execute(figure)
        if not all(_move(axes, some, texts[axes]) for axes, some in ends.items()):
            break
    else:
        engine.execute(figure)
        columns = max(axes.get_subplotspec().colspan.stop for axes in ends)
        wide = all(axes.get_window_extent().width * columns >= LEAST * figure.bbox.width for axes in ends)
        if wide and all(_move(axes, some, texts[axes]) for axes, some in ends.items()):
            _make_room(ends, texts)
            figure.set_layout_engine("none")
            for axes, some in ends.items():
                for end, text in zip(some, texts[axes], strict=True):
                    _join(figure, axes, end, text)
            return True
    for text in (text for some in texts.values() for text in some):
        text.remove()
    return False


def _text(axes: Any, end: End, size: float) -> Any:
    # Where a name stands on a line it can be read all the same.
    # A rim around each letter would make an SVG five times as large.
    white = {"boxstyle": "square,pad=0", "facecolor": "white", "edgecolor": "none", "alpha": 0.7}
    look = {"va": "center", "color": end.style.ink, "size": size, "bbox": white, "annotation_clip": False}
    return axes.annotate(end.name, (end.x, end.y), (PAD, 0), textcoords="offset points", **look)


def _move(axes: Any, ends: Sequence[End], texts: Sequence[Any]) -> bool:
    """Move the names of one axes to their places, if there is room."""
    at, sizes, frame = _measured(axes, ends, texts)
    found = placed(at, sizes, frame[0], frame[1], lines=_points(axes))
    if found is None or (found - at)[:, 0].max() > FAR * frame[2] + PAD:
        return False
    for text, offset in zip(texts, found - at, strict=True):
        text.set_position(offset)
    return True


def _measured(axes: Any, ends: Sequence[End], texts: Sequence[Any]) -> tuple[Points, Points, tuple[float, ...]]:
    """Ends, sizes of names, edges and width of the panel: all in points, which no resolution changes."""
    scale = 72 / axes.figure.dpi
    at = axes.transData.transform([(end.x, end.y) for end in ends]) * scale
    # Letters are a little higher at some resolutions than at others.
    sizes = np.array([text.get_window_extent().size for text in texts]) * scale + (0, GAP)
    frame = axes.get_window_extent()
    return at, sizes, (frame.y0 * scale, frame.y1 * scale, frame.width * scale)


def _points(axes: Any) -> Points:
    """Points of all lines of a panel, near to each other, in points."""
    found = []
    for line in axes.get_lines():
        at = axes.transData.transform(line.get_xydata()) * 72 / axes.figure.dpi
        along = np.concatenate([[0.0], np.hypot(*np.diff(at, axis=0).T).cumsum()])
        some = np.arange(0, along[-1] + FINE, FINE)
        found.append(np.stack([np.interp(some, along, at[:, 0]), np.interp(some, along, at[:, 1])], 1))
    return np.concatenate(found)


def _lies_over(axes: Any, ends: Sequence[End], texts: Sequence[Any]) -> bool:
    """True if a name overlaps a line."""
    at, sizes, _ = _measured(axes, ends, texts)
    return _over(at + [text.get_position() for text in texts], sizes, _points(axes)) > 0


def _make_room(ends: Mapping[Any, Sequence[End]], texts: Mapping[Any, Sequence[Any]]) -> None:
    """Make panels a little higher where that keeps names off lines; those side by side remain alike."""
    rows: dict[int, list[Any]] = {}
    for axes in ends:
        rows.setdefault(axes.get_subplotspec().rowspan.start, []).append(axes)
    for row in rows.values():
        made = [_higher(axes, ends[axes], texts[axes]) for axes in row]
        if any(made):
            limits = [axes.get_ylim() for axes in row]
            for axes in row:
                axes.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
                _move(axes, ends[axes], texts[axes])


def _higher(axes: Any, ends: Sequence[End], texts: Sequence[Any]) -> bool:
    """If names overlap lines, make a panel a little higher above or below, if that helps."""
    limits = axes.get_ylim()
    scale = axes.yaxis.get_transform()
    low, high = scale.transform(limits)
    for above in (True, False):
        for k in range(ROOM + 1):
            if not _lies_over(axes, ends, texts):
                return bool(k) or not above
            more = (high - low) * k / 20
            axes.set_ylim(*scale.inverted().transform((low, high + more) if above else (low - more, high)))
            _move(axes, ends, texts)
    if helps := not _lies_over(axes, ends, texts):
        return helps
    axes.set_ylim(*limits)
    _move(axes, ends, texts)
    return False


def _join(figure: Any, axes: Any, end: End, text: Any) -> None:
    """A thin line from an end to its name, which may stand elsewhere."""
    from matplotlib.lines import Line2D

    # An arrow of matplotlib's would be cut where it meets the name, which takes seconds for a picture.
    first = axes.transData.transform((end.x, end.y))
    last = first + (np.array(text.get_position()) - (2, 0)) * figure.dpi / 72
    across, up = figure.transFigure.inverted().transform([first, last]).T
    figure.add_artist(Line2D(across, up, color=end.style.colour, linewidth=0.8))
