"""``make scale``: fedspec_torch compared with a plain torch loop, over numbers of parameters and clients; each row is
stored once measured.

A row is an algorithm, a number of parameters and one of clients. Its figures are client-steps a second of processor
(on a GPU: a second) and the most memory that training took, of both. It is void if the two end with other losses.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from math import isqrt
from pathlib import Path
from typing import Any

from fedspec_bench.rows import TOLERANCE
from fedspec_bench.worker import memory, memory_held, pinned

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "benchmarks/results/scale.jsonl"
PARAMETERS = (10**4, 10**5, 10**6, 10**7, 2 * 10**7, 10**8, 10**9)
CLIENTS = (1, 10, 100, 1000, 10**4, 10**5, 10**6)
MOST = {"cpu": (2e7, 1e4, 1e8), "gpu": (1e9, 1e3, 1e9)}
"""Default largest sizes of the rows: parameters, clients, and parameters of all clients together."""
SHORT = 300
"""Seconds after which no new row is begun on a GPU, so that the last one ends within six minutes."""
STEPS, BATCH, POOL = 4, 8, 64
"""Local steps of a client, examples in a minibatch, and number of different client data sets, which clients share."""
FEATURES, CLASSES = 64, 10


def cells(largest: float, most: float, at_once: float, *, by_clients: bool = False) -> Iterator[tuple[str, int, int]]:
    """Yield algorithm, parameters and clients of each row: small products first, or few clients first."""
    from fedspec_bench.scale_loops import LOOPS

    sizes = [(d, n) for d in PARAMETERS for n in CLIENTS if d <= largest and n <= most and d * n <= at_once]
    for d, n in sorted(sizes, key=lambda size: (size[1] if by_clients else size[0] * size[1], size)):
        for algorithm in LOOPS:
            yield algorithm, d, n


def steps_of(algorithm: str, n: int) -> list[int]:
    """Return each client's number of local steps; FedNova's are unequal."""
    return [STEPS + (-1) ** i * 2 * (algorithm == "fednova" and n > 1) for i in range(n)]


def perceptron(d: int, device: str) -> Any:
    """Build a perceptron with two hidden layers of equal width and about d parameters, on its device."""
    import torch

    width = (isqrt((FEATURES + CLASSES + 2) ** 2 + 4 * d) - FEATURES - CLASSES - 2) // 2
    torch.manual_seed(0)
    nn = torch.nn
    with torch.device(device):
        parts = nn.Linear(FEATURES, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, CLASSES)
    return nn.Sequential(*parts)


def measured(who: str, algorithm: str, d: int, n: int, device: str) -> dict[str, Any]:
    """Measure one side of a row: client-steps per second, peak bytes, and losses before and after."""
    import torch

    from fedspec_bench.scale_loops import HYPER, LOOPS, Clients
    from fedspec_torch import Federation, cohorts, for_clients, simulate

    torch.set_num_threads(1)
    module, on_gpu = perceptron(d, device), device == "cuda"
    draws = torch.Generator().manual_seed(1)
    pool = [
        tuple(part.to(device) for part in (x, (x @ rule).argmax(1)))
        for rule in [torch.randn(FEATURES, CLASSES, generator=draws)]
        for x in [torch.randn(8 * BATCH, FEATURES, generator=draws) for _ in range(min(n, POOL))]
    ]
    taus, h = steps_of(algorithm, n), HYPER[algorithm]

    def data(i: int) -> Any:
        return pool[i % POOL]

    def loss(model: Any) -> float:
        with torch.no_grad():
            each = [float(torch.nn.functional.cross_entropy(model(x), y)) for x, y in pool]
        return sum(each) / len(each)

    begun = loss(module)
    if on_gpu:
        # The row before has left memory.
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated() if on_gpu else memory_held()
    work: Any
    model: Any
    if who == "loop":
        work, model = LOOPS[algorithm](Clients(module, data, taus, BATCH), h), lambda: module
    else:
        options: Any = {"batch_size": BATCH, "examples": (8 * BATCH,) * n, "shuffled": False}
        federation = Federation(module, torch.nn.functional.cross_entropy, data, **options)
        run = simulate(algorithm, federation, plan=cohorts(None, steps=for_clients(taus)), rounds=10**9, **h)
        work, model = run.step, run.module
    clock, took = time.perf_counter if on_gpu else time.process_time, list[float]()
    for _ in range(rounds_of(d, n)):
        since = clock()
        work()
        if on_gpu:
            torch.cuda.synchronize()
        took.append(clock() - since)
    peak = (torch.cuda.max_memory_allocated() if on_gpu else memory("VmHWM")) - before
    # The first round chooses and compiles.
    return {"rate": sum(taus) / min(took[1:]), "bytes": peak, "begun": begun, "loss": loss(model())}


def rounds_of(d: int, n: int) -> int:
    """Return the number of rounds of a row: more for small rows."""
    return 8 if d * n <= 10**6 or n == 1 else 3 if d * n <= 2 * 10**7 else 2


def apart(who: str, *row: Any) -> dict[str, Any]:
    """Measure one side in a forked process, which inherits all imports.

    Raises:
        RuntimeError: it failed.
    """
    read, write = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(write, "w", encoding="utf-8") as out:
            try:
                json.dump(measured(who, *row), out)
            except BaseException as error:
                json.dump({"error": f"{type(error).__name__}: {error}"[:200]}, out)
        os._exit(0)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as told:
        text = told.read()
    os.waitpid(child, 0)
    found: dict[str, Any] = json.loads(text or '{"error": "ended without a word"}')
    if "error" in found:
        raise RuntimeError(f"{who}: {found['error']}")
    return found


def row_of(algorithm: str, d: int, n: int, device: str, side: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Measure both sides of a row, and say why it is void if it is; a process with a GPU can't be forked."""
    import torch

    row = {"algorithm": algorithm, "parameters": d, "clients": n, "device": device}
    row |= {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "torch": torch.__version__}
    try:
        ours, loop = (side(who, algorithm, d, n, device) for who in ("ours", "loop"))
    except (RuntimeError, MemoryError) as error:
        return row | {"void": str(error)}
    differs = abs(ours["loss"] - loop["loss"]) > TOLERANCE * abs(loop["begun"] - loop["loss"])
    void = f"ends with loss {ours['loss']:.6g}, the loop with {loop['loss']:.6g}" if differs else ""
    return row | {"ours": ours, "loop": loop, "void": void}


def stored_rows(store: Path) -> list[dict[str, Any]]:
    """Return the rows of the store."""
    return [json.loads(line) for line in store.read_text(encoding="utf-8").splitlines()] if store.exists() else []


def key(row: dict[str, Any]) -> tuple[Any, ...]:
    """Return the algorithm, sizes and device of a row."""
    return row["algorithm"], row["parameters"], row["clients"], row["device"]


def main() -> None:
    """Parse the options, measure the missing rows, and write plots and page."""
    parser = argparse.ArgumentParser(prog="make scale", description=__doc__)
    parser.add_argument("--gpu", action="store_true", help="on a GPU, up to 1e9 parameters, in at most six minutes")
    parser.add_argument("--device", default="", help="where: cpu or cuda; --gpu on a cpu shows that the script runs")
    parser.add_argument("--parameters", type=float, help="the most")
    parser.add_argument("--clients", type=float, help="the most")
    parser.add_argument("--at-once", type=float, help="the most parameters of all clients together")
    parser.add_argument("--seconds", type=float, default=600, help="begin no row later than that")
    parser.add_argument("--store", type=Path, default=STORE, help="rows as JSON lines; those that it has stay")
    parser.add_argument("--publish", action="store_true", help="draw the store in docs too")
    told = parser.parse_args()
    pinned(1)
    device = told.device or ("cuda" if told.gpu else "cpu")
    seconds, begun = min(told.seconds, SHORT) if told.gpu else told.seconds, time.monotonic()
    given, usual = (told.parameters, told.clients, told.at_once), MOST["gpu" if told.gpu else "cpu"]
    largest, most, at_once = (given_ or usual_ for given_, usual_ in zip(given, usual, strict=True))
    done = {key(row) for row in stored_rows(told.store)}
    told.store.parent.mkdir(parents=True, exist_ok=True)
    if device == "cpu":
        import_all()
    for cell in cells(largest, most, at_once, by_clients=told.gpu):
        if (*cell, device) in done:
            continue
        if time.monotonic() - begun > seconds:
            print("time is up; the same command goes on", file=sys.stderr)
            break
        row = row_of(*cell, device, measured if told.gpu else apart)
        with told.store.open("a", encoding="utf-8") as out:
            out.write(json.dumps(row) + "\n")
        ratio = "" if row["void"] else f"{row['ours']['rate'] / row['loop']['rate']:.2f} times the loop's client-steps"
        print(f"{cell[0]} of {cell[1]:.0e} parameters, {cell[2]} clients: {row['void'] or ratio}", flush=True)
    if told.publish:
        from fedspec_bench.scale_page import publish

        publish(stored_rows(told.store))


def import_all() -> None:
    """Import and compile everything that rows need, before they are measured."""
    from fedspec_bench.scale_loops import LOOPS

    for algorithm in LOOPS:
        measured("ours", algorithm, 10**4, 2, "cpu")


if __name__ == "__main__":
    main()
