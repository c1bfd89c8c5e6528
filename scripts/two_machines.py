"""Test four ranks on two simulated machines (network namespaces) when one rank is killed, stopped or disconnected.

    sudo .venv/bin/python scripts/two_machines.py [none|kill|stop|down ...]

Needs Linux, root and iproute2. ``none``: nothing happens, and all end with the model of one process. ``kill``: rank 3
gets SIGKILL. ``stop``: it gets SIGSTOP. ``down``: the link of its machine goes down, and nothing is closed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

CASES = ("none", "kill", "stop", "down")
TIMEOUT = 20.0
"""Timeout of the process group in seconds."""
ROUNDS = {"none": 20}
HOSTS = (("fedspec-a", "fsa", "10.213.7.1"), ("fedspec-b", "fsb", "10.213.7.2"))
"""Namespace, network device and address of each simulated machine."""


def train(rounds: int) -> None:
    """Train one rank's part of a SCAFFOLD run on eight clients; :func:`last_lines` reads its first and last line."""
    import torch
    import torch.distributed as dist
    from torch import nn

    from fedspec_torch import Federation, cohorts, simulate

    if "RANK" in os.environ:
        dist.init_process_group("gloo", timeout=timedelta(seconds=TIMEOUT))
    torch.manual_seed(0)
    drawn = torch.Generator().manual_seed(1)

    def some(width: int) -> Any:
        return torch.rand(8, width, generator=drawn, dtype=torch.float64)

    data = [(some(5), some(1)) for _ in range(8)]
    fed = Federation(nn.Linear(5, 1).double(), nn.functional.mse_loss, data, batch_size=4, way="looped")
    run = simulate("scaffold", fed, plan=cohorts(6, steps=3), rounds=rounds, eta_l=0.1, eta=1.0, shards=4)
    print("READY", flush=True)
    since = time.monotonic()
    try:
        for _ in run:
            since = time.monotonic()
            time.sleep(0.05)
    except Exception as error:
        print(f"after {time.monotonic() - since:.1f} s: {type(error).__name__}: {error}", flush=True)
        raise SystemExit(3) from error
    print(f"ended with {run.x.numpy().tobytes().hex()[:16]}...", flush=True)


def ip(*words: str) -> None:
    """Run iproute2's ``ip``."""
    subprocess.run(["ip", *words], check=True)


@contextmanager
def machines() -> Iterator[None]:
    """Context with two network namespaces and a link between them."""
    (a, va, _), (b, vb, _) = HOSTS
    ip("link", "add", va, "type", "veth", "peer", "name", vb)
    try:
        for space, device, address in HOSTS:
            ip("netns", "add", space)
            ip("link", "set", device, "netns", space)
            ip("-n", space, "addr", "add", f"{address}/24", "dev", device)
            ip("-n", space, "link", "set", device, "up")
            ip("-n", space, "link", "set", "lo", "up")
        yield
    finally:
        for space in (a, b):
            subprocess.run(["ip", "netns", "delete", space], check=False)


def last_lines(case: str) -> list[str]:
    """Run a case, and return the last line that each rank printed."""
    ranks: list[subprocess.Popen[str]] = []
    for number in range(4):
        space, device, _ = HOSTS[number // 2]
        told: dict[str, Any] = {"RANK": number, "WORLD_SIZE": 4, "LOCAL_RANK": number % 2, "LOCAL_WORLD_SIZE": 2}
        told |= {"MASTER_ADDR": HOSTS[0][2], "MASTER_PORT": 29541, "GLOO_SOCKET_IFNAME": device}
        env = os.environ | {"OMP_NUM_THREADS": "1"} | {name: str(value) for name, value in told.items()}
        words = [sys.executable, __file__, "train", str(ROUNDS.get(case, 10**6))]
        words = ["ip", "netns", "exec", space, *words]
        ranks.append(subprocess.Popen(words, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True))
    for rank in ranks:
        assert rank.stdout and rank.stdout.readline() == "READY\n"
    time.sleep(2)
    # What `ip netns exec` starts has its process id.
    if case in ("kill", "stop"):
        subprocess.run(["kill", f"-{case.upper()}", str(ranks[3].pid)], check=True)
    if case == "down":
        ip("-n", HOSTS[1][0], "link", "set", HOSTS[1][1], "down")
    said = []
    for number, rank in enumerate(ranks):
        if case == "stop" and number == 3:
            rank.kill()
        try:
            out, _ = rank.communicate(timeout=6 * TIMEOUT)
            said.append((out.strip().splitlines() or ["nothing, as it is gone"])[-1])
        except subprocess.TimeoutExpired:
            said.append(f"nothing in {6 * TIMEOUT:g} s")
            rank.kill()
    return said


def main() -> None:
    """Run the requested cases."""
    if sys.argv[1:2] == ["train"]:
        train(int(sys.argv[2]))
        return
    for case in sys.argv[1:] or CASES:
        with machines():
            for rank, words in enumerate(last_lines(case)):
                print(f"{case}: rank {rank}: {words}", flush=True)
    print("one process: ", end="", flush=True)
    subprocess.run([sys.executable, __file__, "train", str(ROUNDS["none"])], check=True)


if __name__ == "__main__":
    main()
