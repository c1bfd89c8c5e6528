"""``make bench``: run all benchmarks, print the table of targets, and write results, page and plot."""

from __future__ import annotations

import argparse
import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from fedspec.errors import ContractError
from fedspec_bench import child, table
from fedspec_bench.machine import described
from fedspec_bench.networks import WORKLOADS
from fedspec_bench.picture import draw
from fedspec_bench.rows import Row
from fedspec_bench.side_by_side import measured
from fedspec_bench.suite import groups
from fedspec_bench.targets import Results
from fedspec_suite.subjects import environments
from fedspec_suite.subjects.environments import Environment

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def say(words: str) -> None:
    """Print a progress line with the time on standard error."""
    print(f"{time.strftime('%H:%M:%S')} {words}", file=sys.stderr, flush=True)


def pythons(peers: list[str], without: set[str]) -> dict[str, str]:
    """Return each implementation's interpreter, installing its environment if needed, or "error: " and the reason."""
    found = dict.fromkeys(peers, sys.executable) | dict.fromkeys(without & {*peers}, "error: left out of this run")
    pins = {peer: HERE / "peers" / peer / "requirements.txt" for peer in peers if peer not in without}
    wanted = {peer: Environment(f"bench-{peer}", file) for peer, file in pins.items() if file.exists()}
    with environments.made(wanted.values(), say) as making:
        for peer, environment in wanted.items():
            try:
                found[peer] = str(making[environment].result())
            except ContractError as error:
                found[peer] = f"error: {str(error).splitlines()[0]}"
    return found


def single(cores: int, device: str, names: list[str]) -> dict[str, dict[str, float]]:
    """Measure the single operations; report and skip those that fail."""
    found = {}
    for name in names:
        say(f"single operations: {name}")
        try:
            found[name] = child.run(f"micro:{name}", cores=cores, device=device)
        except RuntimeError as error:
            say(f"{name}: {error}")
    return found


def main() -> None:
    """Parse the options, and run the benchmarks."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two workloads, few repetitions, in under three minutes")
    parser.add_argument("--device", default="cpu", help="where ours and the torch.optim loop run: cpu or cuda")
    parser.add_argument("--workload", action="append", help=f"only this one: {', '.join(WORKLOADS)}; repeatable")
    parser.add_argument("--group", default="", help="only groups whose title has this in it, as in the tables")
    parser.add_argument("--without", action="append", default=[], help="leave this implementation out; repeatable")
    parser.add_argument("--bare", action="store_true", help="ours, the torch.optim loop and the specification alone")
    parser.add_argument("--no-single", action="store_true", help="leave the single operations out")
    parser.add_argument("--out", type=Path, help="where results go; default: out/bench")
    parser.add_argument("--publish", action="store_true", help="write benchmarks/results and docs too")
    told = parser.parse_args()
    begun, date = time.monotonic(), datetime.now(UTC).strftime("%Y-%m-%d")
    machine = described()
    chosen = [
        group
        for group in groups(quick=told.quick, device=told.device, bare=told.bare)
        if (not told.workload or group.jobs[0].workload in told.workload) and told.group in group.title
    ]
    found = pythons(sorted({job.peer for group in chosen for job in group.jobs}), set(told.without))
    cores = sorted({job.cores for group in chosen for job in group.jobs})
    say("the machine's limits")
    limits = {str(n): [child.run("machine:limits", cores=n, device=told.device)] for n in cores}
    by_group = []
    for group in chosen:
        by_group.append(measured(group.jobs, group.effort, found, say))
        for row in by_group[-1]:
            say(f"{group.title}: {row.told()}")
    rows = [(group.title, row) for group, some in zip(chosen, by_group, strict=True) for row in some]
    names = [] if told.no_single else ["servers", "mixing", "population", "memory"]
    names += [] if told.no_single or told.quick or told.bare else ["judge"]
    micro = single(1, told.device, names)
    for n in cores:
        limits[str(n)].append(child.run("machine:limits", cores=n, device=told.device))
    results = Results(by_group, limits, micro, told.device)
    text = table.page(machine, date, results, rows)
    data: dict[str, Any] = {
        "date": date, "machine": machine, "quick": told.quick, "seconds": round(time.monotonic() - begun),
        "limits": limits, "single": micro, "rows": [{"group": title, **row.data()} for title, row in rows],
    }  # fmt: skip
    write(told.out or ROOT / "out/bench", data, text, rows)
    if told.publish:
        publish(data, table.sections(machine, date, results, rows), rows, told.device)
    print(table.targets(results))
    for title, row in rows:
        if not row.counts:
            print(f"{row.job.workload} {row.job.name} {row.job.algorithm} ({title}): {row.error or row.void}")
    say(f"{data['seconds']} s")


def write(folder: Path, data: dict[str, Any], text: str, rows: list[tuple[str, Row]]) -> None:
    """Write the JSON, the page and the plot to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (folder / "results.md").write_text(text, encoding="utf-8")
    try:
        draw([row for _, row in rows], folder / "benchmarks.png")
    except ImportError as error:
        say(f"no picture: {error}")


def publish(data: dict[str, Any], sections: dict[str, str], rows: list[tuple[str, Row]], device: str) -> None:
    """Write the results by date to benchmarks/results, and a CPU's targets to docs/benchmarks.md."""
    kept = ROOT / "benchmarks/results"
    kept.mkdir(parents=True, exist_ok=True)
    (kept / f"{data['date']}-{device}.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    (kept / f"{data['date']}-{device}.md").write_text("\n".join(sections.values()), encoding="utf-8")
    if device != "cpu":
        return
    # A machine with torch and NumPy alone gets no farther than to the files above.
    from fedspec_proofs.worst_cases.tabled import write_sections

    targets = {name: text.partition("\n### ")[0].rstrip() for name, text in sections.items()}
    write_sections({name: f"\n{text}\n\n" for name, text in targets.items()}, ROOT / "docs/benchmarks.md")
    if "layers" in sections:
        draw([row for _, row in rows], ROOT / "docs/pictures/benchmarks.png")


if __name__ == "__main__":
    main()
