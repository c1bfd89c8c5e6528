"""The picture of a comparison: loss and accuracy against rounds, and against what is sent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

PANELS = (
    ("round", "test_loss", "rounds", "test loss"),
    ("round", "accuracy", "rounds", "test accuracy"),
    ("floats_sent", "test_loss", "floats sent", "test loss"),
    ("floats_sent", "accuracy", "floats sent", "test accuracy"),
)


def draw(runs: Sequence[dict[str, Any]], title: str, file: Path) -> None:
    """Write the picture: a line for each algorithm, its mean over seeds, in a band from the least to the greatest."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    names = list(dict.fromkeys(r["algorithm"] for r in runs))
    colours = mpl.colormaps["tab10"].colors if len(names) <= 10 else mpl.colormaps["tab20"].colors  # type: ignore[attr-defined]
    figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
    for ax, (across, up, x_label, y_label) in zip(axes.flat, PANELS, strict=True):
        for number, name in enumerate(names):
            # Two algorithms may draw one line: the dashes of the second let the first be seen.
            colour, dashes = colours[number % len(colours)], ("-", (0, (4, 2)))[number % 2]
            lines = [_line(r["rounds"], across, up) for r in runs if r["algorithm"] == name]
            # A run that ended early ends the line of its algorithm.
            shortest = min(len(x) for x, _ in lines)
            x, ys = lines[0][0][:shortest], np.array([y[:shortest] for _, y in lines])
            ax.plot(x, ys.mean(0), label=name, color=colour, linestyle=dashes, linewidth=1.4)
            if len(ys) > 1:
                ax.fill_between(x, ys.min(0), ys.max(0), color=colour, alpha=0.15, linewidth=0)
        ax.set_xlabel(x_label)
        ax.set_ylabel(y_label)
        ax.grid(alpha=0.25)
        if across == "floats_sent":
            ax.set_xscale("log")
        if up == "test_loss":
            ax.set_yscale("log")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=min(5, len(names)), frameon=False)
    seeds = len({r["seed"] for r in runs})
    figure.suptitle(title + (f"; {seeds} seeds, mean and range" if seeds > 1 else ""), fontsize=11)
    figure.savefig(file, dpi=120)
    pyplot.close(figure)


def _line(rounds: Sequence[dict[str, Any]], across: str, up: str) -> tuple[Any, Any]:
    known = [r for r in rounds if r[up] is not None]
    return np.array([r[across] + (across == "round") for r in known]), np.array([r[up] for r in known])
