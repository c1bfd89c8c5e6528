"""Results as a Markdown page: the machine, the targets, and every row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from fedspec_bench.networks import NETWORKS
from fedspec_bench.rows import Row
from fedspec_bench.targets import TARGETS, Results


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Format a Markdown table."""
    widths = [max(map(len, column)) for column in zip(head, *lines, strict=True)]
    rows = [head, ["-" * w for w in widths], *lines]
    return "\n".join("| " + " | ".join(c.ljust(w) for c, w in zip(r, widths, strict=True)) + " |" for r in rows)


def targets(results: Results, *, measured: bool = False) -> str:
    """Format the table of targets: measure, target, measured value, met or not; all, or only measured ones."""
    lines = [t.line(results) for t in TARGETS]
    return markdown(("measure", "target", "measured", ""), [x for x in lines if not measured or x[3] != "-"])


def cells(row: Row, results: Results) -> tuple[str, ...]:
    """Format a row of the results table."""
    name, steps = f"{row.job.name}{' (2 cores)' if row.job.cores > 1 else ''}", row.job.work.steps
    algorithm = row.job.algorithm + (f", K_i in {steps[0]}..{steps[1]}" if isinstance(steps, tuple) else "")
    if not row.counts:
        return (
            name,
            algorithm,
            "-",
            "-",
            "-",
            "-",
            f"{'error' if row.error else 'void'}: {row.error or row.void}",
        )
    assert row.loss is not None
    rate = f"{row.rate / 1e3:.3g} k" if row.rate > 1000 else f"{row.rate:.0f}"
    gflops = row.rate * row.job.work.flops / 1e9
    here = row.job.device == results.device and gflops > 0
    share = f"{100 * gflops / results.limit('mm_gflops', row.job.cores):.0f} %" if here else "-"
    added = (row.peak_bytes - row.setup_bytes) / 2**20
    said = f"quartiles {100 * row.spread:.0f} % apart" + (", disturbed" if row.disturbed else "")
    if row.job.workload in NETWORKS and row.job.peer != "flower":
        said += f"; first round {row.begun:.1f} more"
    return name, algorithm, rate, share, f"{row.loss:.6f}", f"{added:.0f}", said


def titles(rows: Sequence[tuple[str, Row]]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the rows of each workload and group, in order."""
    found: dict[str, list[Row]] = {}
    for title, row in rows:
        found.setdefault(f"{row.job.workload.upper()}, {title}", []).append(row)
    yield from found.items()


HEAD = ("implementation", "algorithm", "client-steps/s", "of torch.mm", "loss", "MiB added", "")


PICTURE = "![client-steps a second of all implementations](pictures/benchmarks.png)"


def sections(machine: dict[str, Any], date: str, results: Results, rows: Sequence[tuple[str, Row]]) -> dict[str, str]:
    """Return the page sections of a run: real modules, and layers with everything else, if measured."""
    found = {}
    for name in ("modules", "layers"):
        real = name == "modules"
        groups = [g for g in results.groups if (g[0].job.workload in NETWORKS) == real]
        if groups:
            own = replace(results, groups=groups, micro={} if real else results.micro)
            some = [(title, row) for title, row in rows if (row.job.workload in NETWORKS) == real]
            found[name] = ("" if real else f"{PICTURE}\n\n") + page(machine, date, own, some)
    return found


def page(machine: dict[str, Any], date: str, results: Results, rows: Sequence[tuple[str, Row]]) -> str:
    """Format all tables of a run as Markdown."""
    where = f"{machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB"
    where += f"; ours on {machine['gpu']}" if results.device != "cpu" else ""
    versions = ", ".join(f"{name} {v}" for name, v in machine["versions"].items())
    parts = [
        f"Measured on {date}: {where}; {versions}; load before the run {machine['load_before']}.",
        targets(results, measured=True),
    ]
    for title, some in titles(rows):
        parts += [f"### {title}", markdown(HEAD, [cells(row, results) for row in some])]
    if not any(row.job.work.flops for _, row in rows):
        return "\n\n".join(parts) + "\n"
    limits = [
        (
            cores,
            *(
                f"{results.limit(name, int(cores)):.4g}"
                for name in ("mm_gflops", "copy_gbs", "copy_cached_gbs", "gemv_ms")
            ),
        )
        for cores in results.limits
    ]
    parts += [
        "### The machine",
        markdown(("cores", "torch.mm GFLOP/s", "copy GB/s", "copy in cache GB/s", "GEMV ms"), limits),
    ]
    single = [(name, key, f"{value:.4g}") for name, found in results.micro.items() for key, value in found.items()]
    parts += ["### Single operations", markdown(("", "", "measured"), single)]
    return "\n\n".join(parts) + "\n"
