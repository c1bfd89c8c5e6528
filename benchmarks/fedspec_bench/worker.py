"""Process that runs one implementation: ``python -I worker.py JOB``, with one JSON object a line in and out.

    {"cmd": "rounds", "count": 3}   ->  {"seconds": [...], "cpu": [...]}
    {"cmd": "end", "model": FILE}   ->  {"setup_bytes": ..., "peak_bytes": ..., "notes": {...}}

It is pinned, and told how many threads to use, before anything is imported that starts some.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import time
from pathlib import Path
from typing import Any, TextIO

THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


def pinned(cores: int) -> None:
    """Pin this process and its children to its last ``cores`` cores, with one thread for each."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    os.environ.update(dict.fromkeys(THREADS, str(cores)))


STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(name: str) -> int:
    """Return a line of /proc/self/status in bytes; without /proc, the peak memory since the process began."""
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def memory_held() -> int:
    """Return the memory in use, and reset the peak.

    Making the data takes more for a moment than rounds do: without this, rounds would seem to need nothing.
    """
    if REFERENCES.exists():
        REFERENCES.write_text("5")
    return memory("VmRSS")


def own_channel() -> TextIO:
    """Reserve standard output for answers, and send packages' output to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def rounds(trainer: Any, count: int) -> dict[str, Any]:
    """Train some rounds, and return the seconds and CPU seconds of each."""
    answer: dict[str, Any] = {"seconds": [], "cpu": []}
    for _ in range(count):
        cpu, begun = time.process_time(), time.perf_counter()
        trainer.round()
        answer["seconds"].append(time.perf_counter() - begun)
        answer["cpu"].append(time.process_time() - cpu)
    return answer


def main() -> None:
    """Set the job up, then answer commands until "end"."""
    out = own_channel()
    told = json.loads(sys.argv[1])
    pinned(told["cores"])
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
    import numpy as np

    from fedspec_bench.job import Job

    trainer = importlib.import_module(f"fedspec_bench.peers.{told['peer']}.peer").start(Job(**told))
    begun_with = memory_held()
    print(json.dumps({"versions": trainer.versions}), file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        if asked["cmd"] == "rounds":
            answer = rounds(trainer, asked["count"])
        else:
            answer = {"setup_bytes": begun_with, "peak_bytes": memory("VmHWM"), "notes": getattr(trainer, "notes", {})}
            np.save(asked["model"], trainer.model())
        print(json.dumps(answer), file=out, flush=True)
        if asked["cmd"] == "end":
            break
    # Some packages leave threads and processes behind that nobody waits for.
    out.close()
    getattr(trainer, "close", lambda: None)()
    os._exit(0)


if __name__ == "__main__":
    main()
