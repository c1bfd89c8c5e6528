"""Plot of the benchmarks page: client-steps per second of every implementation, one panel for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedspec_bench.networks import NETWORKS
from fedspec_bench.rows import Row


def draw(rows: Sequence[Row], file: Path) -> None:
    """Write the plot: FedAvg on one core, with a logarithmic axis."""
    import matplotlib

    matplotlib.use("svg" if file.suffix == ".svg" else "agg")
    from matplotlib import pyplot, ticker

    shown = [row for row in rows if row.counts and row.job.algorithm == "fedavg" and row.job.cores == 1]
    of: dict[str, list[Row]] = {}
    for row in shown:
        if not row.job.changes and row.job.workload not in NETWORKS:
            of.setdefault(row.job.workload, []).append(row)
    if not of:
        return
    figure, axes = pyplot.subplots(1, len(of), figsize=(4 * len(of), 3.6), squeeze=False, layout="constrained")
    for axis, (work, some) in zip(axes[0], of.items(), strict=True):
        some = sorted({row.job.name: row for row in some}.values(), key=lambda row: row.rate)
        colours = ["tab:orange" if row.job.peer == "mirror" else "tab:gray" for row in some]
        axis.barh([row.job.name for row in some], [row.rate for row in some], color=colours)
        axis.set(xscale="log", title=f"{work.upper()}, d = {some[0].job.work.d}", xlabel="client-steps/s")
        narrow = some[-1].rate < 100 * some[0].rate
        axis.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5) if narrow else (1,)))
        axis.xaxis.set_major_formatter(ticker.EngFormatter(sep=""))
        axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    figure.suptitle("FedAvg, cohort 100, K = 10, b = 32, one core")
    figure.savefig(file, dpi=120)
    pyplot.close(figure)
