"""The machine: its hardware and versions, and its speed limits, measured in the same run as the benchmarks."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import torch

import fedspec


def described() -> dict[str, Any]:
    """Return processor, cores, memory, system and package versions."""
    return {
        "processor": _first("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(int((_first("/proc/meminfo", "MemTotal") or "0 kB").split()[0]) / 2**20, 1),
        "system": platform.platform(),
        "gpu": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
        "python": platform.python_version(),
        "versions": {"fedspec": fedspec.__version__, "numpy": np.__version__, "torch": torch.__version__},
        "load_before": round(os.getloadavg()[0], 2),
    }


def _first(file: str, key: str) -> str:
    try:
        lines = Path(file).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ""
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), "")


def wait(device: torch.device) -> None:
    """Wait until the device has finished its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], object], *, device: torch.device, least: float = 0.2, repeats: int = 7) -> float:
    """Return the median seconds of a call, over ``repeats`` repetitions of about ``least`` seconds in total, after a
    warm-up.
    """
    work()
    wait(device)
    begun = time.perf_counter()
    work()
    wait(device)
    once = max(time.perf_counter() - begun, 1e-7)
    calls = max(1, round(least / repeats / once))
    found = []
    for _ in range(repeats):
        begun = time.perf_counter()
        for _ in range(calls):
            work()
        wait(device)
        found.append((time.perf_counter() - begun) / calls)
    return median(found)


def limits(device: str = "cpu", cores: int = 1) -> dict[str, float]:
    """Measure upper limits of speed: a large matrix product, copies, and NumPy's weighted sum of 100 rows."""
    torch.set_num_threads(cores)
    place = torch.device(device)
    n = 1024 if place.type == "cpu" else 8192
    a, b, c = (torch.rand(n, n, device=place) for _ in range(3))
    found = {"mm_gflops": 2 * n**3 / seconds(lambda: torch.mm(a, b, out=c), device=place) / 1e9}
    for name, d in (("copy_gbs", 10**7), ("copy_cached_gbs", 2 * 10**5)):
        x, y = (torch.rand(d, device=place) for _ in range(2))
        found[name] = 8 * d / seconds(partial(y.copy_, x), device=place) / 1e9
    rows, w = np.random.default_rng(0).random((100, 200_000), dtype=np.float32), np.full(100, 0.01, np.float32)
    found["gemv_ms"] = 1e3 * seconds(lambda: w @ rows, device=torch.device("cpu"))
    return found
