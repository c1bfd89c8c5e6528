"""Threads of the compiled loops: they share clients and change no bit; and memory between steps."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.test_compiled import SIZES

from fedspec_torch import cohorts, compiling, resume, simulate

pytestmark = pytest.mark.skipif(bool(compiling.missing_packages()), reason="pip install './impl[fast]'")


def test_threads_share_clients_and_change_no_bit(threads: Any) -> None:
    case = replace(SIZES["three layers"], tau=(9, 2, 2, 1))
    ends = []
    for count in (1, 2, 3):
        threads(count)
        ends.append(case.trained("compiled"))
    for models, losses in ends[1:]:
        assert (models == ends[0][0]).all() and (losses == ends[0][1]).all()


@pytest.mark.parametrize(("way", "then"), [("compiled", [2, 1, 1]), ("layered", [2, 2, 2])])
def test_torch_lends_its_threads_to_loops_that_train_everybody(
    way: str, then: list[int], threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads(2)
    run = simulate("fedavg", SIZES["three layers"].federation(way, torch.float32), plan=cohorts(3, steps=2), eta_l=0.5)
    seen, after = [], type(run)._after

    def noted(self: Any, *args: Any) -> Any:
        seen.append((torch.get_num_threads(), compiling.threads()))
        return after(self, *args)

    monkeypatch.setattr(type(run), "_after", noted)
    for _ in range(3):
        run.step()
        assert torch.get_num_threads() == 2
    assert seen == [(count, 2) for count in then]


def test_lent_threads_come_back_when_a_round_breaks_off(threads: Any) -> None:
    threads(3)
    with pytest.raises(ZeroDivisionError), compiling.lent():
        assert (torch.get_num_threads(), compiling.threads()) == (1, 3)
        with compiling.lent():
            assert (torch.get_num_threads(), compiling.threads()) == (1, 3)
        assert (torch.get_num_threads(), compiling.threads()) == (1, 3)
        _ = 1 / 0
    assert (torch.get_num_threads(), compiling.threads()) == (3, 3)


def test_a_saved_run_goes_on_with_the_same_threads(tmp_path: Path, threads: Any) -> None:
    threads(2)
    case = SIZES["three layers"]
    run = simulate("fedavg", case.federation("compiled", torch.float32), plan=cohorts(3, steps=2), rounds=4, eta_l=0.5)
    run.step()
    assert run.lends
    run.save(tmp_path / "run.pt")
    again = resume(tmp_path / "run.pt", case.federation("compiled", torch.float32))
    assert again.lends
    list(run), list(again)
    assert (run.x == again.x).all()


STEPS = """
import resource, sys
import torch
from fedspec_torch.gradients import heap

if sys.argv[1:]:
    print(heap.keep_freed_memory(), end=" ")

def step():
    return sum(float(part.sum()) for part in [torch.ones(25_000) for _ in range(160)])

step()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(50):
    step()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 50)
"""


def faults(*asked: str, **told: str) -> list[str]:
    """Output of a process: whether it keeps memory, if asked, and its page faults in a step."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    command = [sys.executable, "-c", STEPS, *asked]
    return subprocess.run(command, env={**inherited, **told}, capture_output=True, text=True, check=True).stdout.split()


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another libc keeps memory by other rules")
@pytest.mark.slow
def test_sixteen_megabytes_in_pieces_are_not_fetched_anew() -> None:
    (plain,) = faults()
    said, kept = faults("kept")
    assert said == "True" and float(kept) < 10 < float(plain) / 10
