"""The process that runs one implementation: ``python -I worker.py JOB`` with one JSON object a line in and out.

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
    """Keep this process, and all that it starts, on the last cores that it may use; one thread for each."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])
    os.environ.update(dict.fromkeys(THREADS, str(cores)))


STATUS, REFERENCES = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def memory(name: str) -> int:
    """A line of what Linux says of this process's memory, in bytes; elsewhere the most that it ever held."""
    if not STATUS.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    (line,) = (line for line in STATUS.read_text().splitlines() if line.startswith(f"{name}:"))
    return int(line.split()[1]) * 1024


def memory_held() -> int:
    """The memory that it holds now; from here on the most that it holds is counted anew.

    Making the data takes more for a moment than rounds do: without this, rounds would seem to need nothing.
    """
    if REFERENCES.exists():
        REFERENCES.write_text("5")
    return memory("VmRSS")


def own_channel() -> TextIO:
    """Standard output for answers alone; whatever a package prints goes to standard error."""
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return channel


def rounds(trainer: Any, count: int) -> dict[str, Any]:
    """Train some rounds, each timed by itself."""
    answer: dict[str, Any] = {"seconds": [], "cpu": []}
    for _ in range(count):
        cpu, begun = time.process_time(), time.perf_counter()
        trainer.round()
        answer["seconds"].append(time.perf_counter() - begun)
        answer["cpu"].append(time.process_time() - cpu)
    return answer


def main() -> None:
    """Set the job up, then answer until told to end."""
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
