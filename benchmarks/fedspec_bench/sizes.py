"""Time and memory of every algorithm over the number of parameters, with a gradient that costs almost nothing.

Each client's loss is c_i ||x||^2 / 2, two clients take one step, and processor time is taken on one thread. What grows
faster than the parameters, or takes many passes over memory, is then no arithmetic of a model.

``python -m fedspec_bench.sizes 1e4 1e6`` measures, each case in a process of its own, and continues after an interrupt.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE, LocalSolver, Method, Program, find
from fedspec.entry import Algorithm
from fedspec.plan import Setup
from fedspec.usual import usual
from fedspec.varying import stepped
from fedspec_bench.machine import described
from fedspec_torch import Federation, arrivals, cohorts, exchanges, resume, simulate
from fedspec_torch.run.arguments import hyper_of
from fedspec_torch.run.runs import Run

CLIENTS, SIDE = 2, 100
FEW: dict[str, dict[str, float]] = {"krum": {"f": 0}, "multi-krum": {"f": 0, "keep": 1}, "centred-clipping": {}}
"""Hyper-parameters that are valid for two clients."""

SCHEDULES: dict[str, Any] = {
    "round": cohorts(None),
    "exchange": exchanges(),
    "arrival": arrivals(),
}


class Quadratic(nn.Module):
    """Module whose loss on an example c is c ||x||^2 / 2; its gradient is one pass over the model."""

    def __init__(self, d: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        for name, shape in shapes(d).items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape)))

    def forward(self, c: Tensor) -> Tensor:
        """Return the loss of each example."""
        squares = torch.stack([torch.linalg.vector_norm(x) ** 2 for x in self.parameters()])
        return c[:, 0] * squares.sum() / 2


def shapes(d: int) -> dict[str, tuple[int, int]]:
    """Return the shapes of a wide and a tall matrix with d entries together."""
    return {"wide": (SIDE, d // (2 * SIDE)), "tall": (d // (2 * SIDE), SIDE)}


def hyper_parameters(row: Algorithm, d: int) -> dict[str, Any]:
    """Return a row's usual hyper-parameters; sparsification keeps a hundredth of the coordinates."""
    numbers = {**usual(row, None, {}), **FEW.get(row.id, {})}
    return numbers | ({"kept": d // 100} if "kept" in numbers else {}) | ({"buffer": 2} if "buffer" in numbers else {})


Taken = Iterator[tuple[str, Callable[[], Any]]]


def of_specification(row: Algorithm, d: int) -> Taken:
    """Yield the steps to time on NumPy arrays: init, and rounds."""
    run, h, x = (
        row.run,
        hyper_of(row, None, hyper_parameters(row, d)),
        np.random.default_rng(0).standard_normal(d, np.float32),
    )
    setup = Setup((1,) * CLIENTS, shapes(d))
    clients = [Valued(np.float32(i + 1)) for i in range(CLIENTS)]
    start = np.tile(x, CLIENTS) if "peers" in row.takes else x
    held: list[Any] = []

    def init() -> None:
        held.append(run.init(h, start) if isinstance(run, Method) else run.init(h, start, setup))  # type: ignore[union-attr]

    def step(number: int) -> None:
        events = SCHEDULES[row.event or "round"].events(row, h, setup, torch.from_numpy(x[:1]).expand(d), number)
        events = tuple(plain(event) for event in events)
        if isinstance(run, Method):
            held[0] = run_round(h, held[0], clients, events[0], local=run.local, norm=run.norm, server=run.server).state
        elif isinstance(run, Program):
            held[0] = stepped(run.step, h, held[0], clients, *events)[0]

    yield "init", init
    for number in range(2):
        yield f"round {number}", partial(step, number)


class Valued:
    """Client with gradient c x and loss c |x|^2 / 2."""

    def __init__(self, c: np.float32) -> None:
        self.c = c

    def __call__(self, k: int, x: Any) -> Any:
        """Return the gradient at x."""
        return self.c * x

    def value(self, x: Any) -> Any:
        """Return the loss at x."""
        return float(self.c * (x @ x) / 2)


def plain(event: Any) -> Any:
    """Convert the event's mixing matrix to a NumPy array."""
    return replace(event, mixing=event.mixing.numpy()) if hasattr(event, "mixing") else event


def of_mirror(row: Algorithm, d: int) -> Taken:
    """Yield the steps to time in fedspec_torch: init, rounds, saving and resuming."""
    fed = Federation(
        Quadratic(d),
        lambda output, target: output.mean(),
        [(torch.full((1, 1), i + 1.0), torch.zeros(1)) for i in range(CLIENTS)],
    )
    held: list[Any] = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "run.pt"
        schedule = SCHEDULES[row.event or "round"]
        yield "init", lambda: held.append(simulate(row, fed, plan=schedule, rounds=4, **hyper_parameters(row, d)))
        for number in range(3):
            yield f"round {number}", partial(Run.step, held[0])
        yield "save", lambda: held[0].save(file)
        held.clear()
        yield "resume", lambda: held.append(resume(file, fed))


WHERE = {"spec": "specification", "mirror": "mirror"}

KINDS: dict[str, Callable[[Algorithm, int], Taken]] = {"spec": of_specification, "mirror": of_mirror}


def memory(name: str) -> int:
    """Return a line of /proc/self/status in bytes: VmRSS (now) or VmHWM (peak since the last reset)."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(name))


def measure(kind: str, name: str, d: int, most: int) -> dict[str, Any]:
    """Measure in a forked process each step's seconds, and its peak memory in units of a model."""
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        os.close(reads)
        resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        found: dict[str, Any] = {}
        try:
            before = memory("VmRSS")
            for step, work in KINDS[kind](find(name), d):
                # Linux forgets the peak.
                Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
                began = time.process_time()
                work()
                found[step] = round(time.process_time() - began, 4)
                found[f"{step} models"] = round((memory("VmHWM") - before) / (4 * d), 2)
        except BaseException as error:
            found["error"] = f"{type(error).__name__}: {str(error)[:200]}"
        os.write(writes, json.dumps(found).encode())
        os._exit(0)
    os.close(writes)
    with os.fdopen(reads) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    return json.loads(told) if told else {"error": "killed"}


def table(known: dict[str, Any]) -> str:
    """Format the slowest rows of each step at the largest size that all rows have, and how times grow."""
    cases = {tuple(key.split()): found for key, found in known.items()}
    counts = Counter(int(d) for *_, d in cases)
    small, large = sorted(d for d, n in counts.items() if n == max(counts.values()))[-2:]
    lines = [
        f"| step | in | median, ns a parameter | largest, ns a parameter | growth from {small:.0e} to {large:.0e} |",
        "| --- | --- | --- | --- | --- |",
    ]
    for kind, steps in (("spec", ("init", "round 1")), ("mirror", ("init", "round 2", "save", "resume"))):
        for step in steps:
            found = sorted(
                ((case[step], name) for (k, name, d), case in cases.items() if (k, int(d)) == (kind, large)),
                reverse=True,
            )
            grown = median(s / max(cases[kind, name, str(small)][step], 1e-4) for s, name in found)
            worst = ", ".join(f"`{name}` {1e9 * s / large:.0f}" for s, name in found[:4])
            middle = 1e9 * median(s for s, _ in found) / large
            lines.append(f"| {step.split()[0]} | {WHERE[kind]} | {middle:.1f} | {worst} | {grown:.1f} times |")
    machine = described()
    versions = f"torch {torch.__version__}, NumPy {np.__version__}"
    said = f"{datetime.now(UTC):%Y-%m-%d}, one core of {machine['processor']}, {versions}, processor time"
    most = max(map(int, counts))
    single = [(n, case) for (kind, n, d), case in cases.items() if kind == "mirror" and int(d) == most > large]
    if single:
        steps_told = "round, s | save, s | resume, s | round, models"
        lines += ["", f"| mirror, {most:.0e} parameters | {steps_told} | round from {large:.0e} |"]
        lines += ["| --- | --- | --- | --- | --- | --- |"]
    for n, case in single:
        shown = (f"{case[step]:.1f}" for step in ("round 2", "save", "resume", "round 2 models"))
        grown = case["round 2"] / cases["mirror", n, str(large)]["round 2"]
        lines.append(f"| `{n}` | {' | '.join(shown)} | {grown:.1f} times |")
    return "\n".join([f"Measured on {said}.", "", *lines, ""])


def main() -> None:
    """Measure the cases that aren't measured yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=float, help="numbers of parameters")
    parser.add_argument("--only", default="*", help="ids of algorithms, a pattern; several with commas")
    parser.add_argument("--kind", default=",".join(KINDS), help="spec, mirror or both, with a comma")
    parser.add_argument("--gib", type=float, default=8, help="the most memory that a case may take")
    parser.add_argument("--out", type=Path, default=Path("out/sizes.json"), help="what has been measured")
    parser.add_argument("--publish", action="store_true", help="write the table to docs/benchmarks.md")
    told = parser.parse_args()
    torch.set_num_threads(1)
    known = json.loads(told.out.read_text()) if told.out.exists() else {}
    for name in ("fedavg", "fedada2", "fedamsgrad"):
        # Imports and compiling are done before processes are forked.
        for _, work in of_mirror(find(name), 2 * SIDE**2):
            work()
    for d in map(int, told.sizes):
        for name, row in CATALOGUE.items():
            if isinstance(row.run, LocalSolver) or not any(fnmatch(name, p) for p in told.only.split(",")):
                continue
            for kind in told.kind.split(","):
                key = f"{kind} {name} {d}"
                if key in known:
                    continue
                known[key] = measure(kind, name, d, int(told.gib * 2**30))
                told.out.parent.mkdir(exist_ok=True)
                told.out.write_text(json.dumps(known, indent=1))
                print(time.strftime("%H:%M:%S"), key, known[key].get("error", ""), file=sys.stderr, flush=True)
    text = table(known)
    print(text)
    if told.publish:
        # Not before: cases are measured in forks of this process.
        from fedspec_proofs.worst_cases.tabled import write_sections

        page = Path(__file__).resolve().parents[2] / "docs/benchmarks.md"
        write_sections({"sizes": f"\n{text}\n"}, page)


if __name__ == "__main__":
    main()
