"""Page section of ``make scale``: two plots and a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PICTURES = {
    "rate": (ROOT / "docs/pictures/scale-steps.svg", "client-steps a second over the loop's"),
    "bytes": (ROOT / "docs/pictures/scale-memory.svg", "peak memory over the loop's"),
}
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
"""Okabe and Ito's colour palette."""

SEEN = 10**6
"""Parameters of all clients together above which the models, not the process, dominate memory."""


def ratio(row: dict[str, Any], what: str) -> float | None:
    """Return fedspec_torch's figure over the loop's; None if the row is void, or too small for memory to count."""
    if row["void"] or (what == "bytes" and row["parameters"] * row["clients"] < SEEN):
        return None
    return float(row["ours"][what] / max(row["loop"][what], 1))


def draw_panels(rows: Sequence[dict[str, Any]], what: str, label: str, file: Path) -> None:
    """Plot ratios over parameters: a panel for each algorithm, a line for each number of clients."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    algorithms = [*dict.fromkeys(row["algorithm"] for row in rows)]
    numbers = sorted({row["clients"] for row in rows})
    figure = Figure(figsize=(2.5 * len(algorithms) + 1, 3), layout="constrained")
    axes = figure.subplots(1, len(algorithms), sharey=True, squeeze=False)[0]
    for axis, algorithm in zip(axes, algorithms, strict=True):
        for n, colour in zip(numbers, COLOURS, strict=False):
            of = {
                row["parameters"]: ratio(row, what)
                for row in rows
                if (row["algorithm"], row["clients"]) == (algorithm, n)
            }
            seen = sorted((d, share) for d, share in of.items() if share)
            if seen:
                axis.plot(
                    *zip(*seen, strict=True), "o-", color=colour, label=f"{n:,} client{'s' * (n > 1)}", markersize=3
                )
        axis.axhline(1, color="gray", linewidth=0.8)
        axis.set(title=algorithm, xscale="log", yscale="log", xlabel="parameters")
    axes[0].set_ylabel(label)
    # A line has its name once, whichever panels it is in.
    named = {name: line for axis in axes for line, name in zip(*axis.get_legend_handles_labels(), strict=True)}
    figure.legend(named.values(), named.keys(), loc="outside right center")
    with mpl.rc_context({"svg.hashsalt": "fedspec"}):
        figure.savefig(file, metadata={"Date": None, "Creator": None})


def table(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return lines of a table: ratios of client-steps, and of memory if it counts, for each algorithm."""
    algorithms = [*dict.fromkeys(row["algorithm"] for row in rows)]
    of = {(row["parameters"], row["clients"], row["algorithm"]): row for row in rows}

    def told(row: dict[str, Any] | None) -> str:
        if row is None:
            return ""
        steps, memory = ratio(row, "rate"), ratio(row, "bytes")
        return "void" if steps is None else f"{steps:.2g}" + (f", {memory:.2g}" if memory else "")

    lines = [f"| parameters | clients | {' | '.join(algorithms)} |", "|---|---|" + "---|" * len(algorithms)]
    for d, n in sorted({(d, n) for d, n, _ in of}):
        lines.append(f"| {d:,} | {n:,} | {' | '.join(told(of.get((d, n, a))) for a in algorithms)} |")
    return lines


def publish(rows: Sequence[dict[str, Any]]) -> None:
    """Write the plots, and the section of docs/benchmarks.md, from the rows of a CPU."""
    from fedspec_bench.machine import described
    from fedspec_proofs.worst_cases.tabled import write_sections

    machine, rows = described(), [row for row in rows if row["device"] == "cpu"]
    for what, (file, label) in PICTURES.items():
        draw_panels(rows, what, label, file)
    dates = sorted({row["date"] for row in rows})
    torch = ", ".join(sorted({row["torch"] for row in rows}))
    where = f"{machine['processor']}, one core of {machine['cores']}, {machine['memory_gib']} GiB"
    lines = [
        f"Measured on {' and '.join(dates)}: {where}; fedspec {machine['versions']['fedspec']}, torch {torch}.",
        "",
    ]
    text = "\n".join([*lines, *table(rows)])
    write_sections({"scale": f"\n{text}\n\n"}, ROOT / "docs/benchmarks.md")
