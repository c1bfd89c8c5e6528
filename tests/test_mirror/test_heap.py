"""What a step frees is there for the next one, without the system's help, unless a person has told glibc otherwise."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc keeps memory by other rules"),
    pytest.mark.slow,
    pytest.mark.table(1),
]

STEPS = """
import resource, sys
import torch
from fedspec_torch.gradients import heap

if sys.argv[1:]:
    print(heap.kept(), end=" ")

def step():
    return sum(float(part.sum()) for part in [torch.ones(25_000) for _ in range(160)])

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 50)
"""


def faults(*asked: str, **told: str) -> list[str]:
    """What a process prints: whether it keeps memory, where that is asked for, and its page faults in a step."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", STEPS, *asked]
    return subprocess.run(command, env={**inherited, **told}, capture_output=True, text=True, check=True).stdout.split()


def test_sixteen_megabytes_in_pieces_are_not_fetched_anew() -> None:
    (plain,) = faults()
    said, kept = faults("kept")
    assert said == "True" and float(kept) < 10 < float(plain) / 10
