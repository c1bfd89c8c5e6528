"""Work of one of several ranks in test_sharded.py and on GPUs: python -m test_use.sharded FOLDER BACKEND RANK SIZE."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from test_mirror.federations import hyper, quadratic, schedule
from test_mirror.ranked import codes_of, error_of
from torch import Tensor, nn
from torch.distributed.checkpoint.state_dict import (
    get_model_state_dict,
    get_optimizer_state_dict,
    set_model_state_dict,
    set_optimizer_state_dict,
)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import fully_shard

from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import sqrt
from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec_torch import simulate
from fedspec_torch.federation.federation import on
from fedspec_use import replicas
from fedspec_use.replicas import exchange
from fedspec_use.torch import Local, Server

ROUNDS, STEPS = 4, 3
INNER = {"eta_l": 0.05, "beta1": 0.9, "beta2": 0.95, "eps": 1e-3, "wd": 0.1}
OUTER = {"eta": 0.7, "beta": 0.9}


def normed() -> Algorithm:
    """FedAvg's row with a server that divides the average change by its length."""

    def server(h: Any, x: Any, messages: Any) -> Any:
        delta = aggregate(messages, h.weights, x)
        return x + delta / sqrt(1 + (delta * delta).sum()), {}

    row = CATALOGUE["fedavg"]
    return replace(row, id="normed", run=replace(row.run, server=server))  # type: ignore[type-var]


def layouts(size: int) -> list[tuple[int, int]]:
    """Replicas, and shards of each."""
    return [(size // shards, shards) for shards in (1, 2, 4) if size % shards == 0]


def model(seed: int = 0) -> nn.Sequential:
    """Parameters of 7 and 3 rows: ranks hold unequal parts, and one of four ranks has none of the 3."""
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).double()


def loss(module: nn.Module, t: int, i: int, k: int, rows: slice = slice(None), device: str = "cpu") -> Tensor:
    """Loss of replica i at local step k of round t, on some rows of its minibatch."""
    drawn = torch.Generator().manual_seed(100 * t + 10 * i + k)
    inputs, targets = (torch.randn(4, d, generator=drawn, dtype=torch.float64)[rows].to(device) for d in (5, 3))
    return nn.functional.mse_loss(module(inputs), targets)


def weights(count: int) -> list[float] | None:
    """Weights of the replicas: unequal ones for two, none for other numbers."""
    return [1.0, 3.0] if count == 2 else None


def flat(params: Sequence[Tensor]) -> Tensor:
    """Whole parameters in one vector."""
    whole = (p.full_tensor() if hasattr(p, "full_tensor") else p for p in params)
    return torch.cat([p.detach().reshape(-1).cpu() for p in whole])


class Worker:
    """A replica's shards, its inner optimiser and the outer one."""

    def __init__(self, mesh: DeviceMesh, device: str, own: bool = False, seed: int = 0) -> None:
        self.mesh, self.device = mesh, device
        self.replica, self.shard = mesh["replica"].get_local_rank(), mesh["shard"].get_local_rank()
        self.shards, self.module = mesh["shard"].size(), model(seed).to(device)
        # A replica on one rank needs no FSDP.
        if self.shards > 1:
            for part in (self.module[0], self.module[2], self.module):
                fully_shard(part, mesh=mesh["shard"])
        self.params = [*self.module.parameters()]
        adamw = {"betas": (INNER["beta1"], INNER["beta2"]), "eps": INNER["eps"], "weight_decay": INNER["wd"]}
        self.inner: Any = torch.optim.AdamW(self.params, lr=INNER["eta_l"], **adamw)  # type: ignore[arg-type]
        if own:
            self.inner = Local(self.params, "adamw", **INNER)
        self.outer = Server(self.params, "diloco", **OUTER)

    def round(self, t: int) -> None:
        """Local steps, the exchange, and the outer step."""
        server = [p.detach().clone() for p in self.params]
        for k in range(STEPS):
            self.inner.zero_grad()
            loss(self.module, t, self.replica, k, slice(self.shard, None, self.shards), self.device).backward()
            self.inner.step()
        given = weights(self.mesh["replica"].size())
        more = {} if given is None else {"weight": given[self.replica]}
        exchange(self.params, server, self.mesh["replica"].get_group(), **more)
        self.outer.step()

    def state(self) -> dict[str, Any]:
        """All that a run needs to go on; the two optimisers' states have the same names, so each has its place."""
        both = {"inner": self.inner, "outer": self.outer}
        optimisers = {name: get_optimizer_state_dict(self.module, one) for name, one in both.items()}
        return {"model": get_model_state_dict(self.module), **optimisers}

    def load(self, state: dict[str, Any]) -> None:
        """Go on from a state."""
        set_model_state_dict(self.module, state["model"])
        set_optimizer_state_dict(self.module, self.inner, state["inner"])
        set_optimizer_state_dict(self.module, self.outer, state["outer"])


def trained(mesh: DeviceMesh, device: str, folder: Path, own: bool = False) -> dict[str, Any]:
    """Models after each round, the momentum in the end, and the model of a run that was saved and loaded half-way."""
    worker = Worker(mesh, device, own)
    # Each replica has moments of its own, so each has a folder.
    place = {"checkpoint_id": folder / f"{own}-{worker.replica}-of-{mesh['replica'].size()}"}
    place |= {"process_group": mesh["shard"].get_group()}
    models = []
    for t in range(ROUNDS):
        worker.round(t)
        models.append(flat(worker.params))
        if t == 1:
            dcp.save(worker.state(), **place)
    again = Worker(mesh, device, own, seed=1)
    state = again.state()
    dcp.load(state, **place)
    again.load(state)
    for t in range(2, ROUNDS):
        again.round(t)
    v = flat([worker.outer.state[p]["v"] for p in worker.params])
    return {"models": models, "v": v, "resumed": flat(again.params)}


def refused(mesh: DeviceMesh, device: str) -> dict[str, str]:
    """Messages of refusals on shards, by case."""
    worker = Worker(mesh, device)
    params, group = worker.params, mesh["replica"].get_group()
    server = [p.detach().clone() for p in params]
    numbers = {"beta1": 0.9, "beta2": 0.9, "eps": 0.1, "lam": 0.1}
    bad = 1.0 if worker.replica < mesh["replica"].size() - 1 else -1.0
    return {
        "norm": error_of(lambda: Server(params, normed(), eta=1.0)),
        "layers": error_of(lambda: Local(params, "lamb", lr=0.1, **numbers)),
        "group": error_of(lambda: exchange(params, server, mesh["shard"].get_group())),
        "default": error_of(lambda: exchange(params, server)),
        "weight": error_of(lambda: exchange(params, server, group, weight=bad)),
        "zero": error_of(lambda: exchange(params, server, group, weight=0.0)),
        "fewer": error_of(lambda: exchange(params, server[1:], group)),
    }


def partial(mesh: DeviceMesh, device: str) -> Tensor:
    """Model after a server step from gradients of which each rank holds a summand."""
    from torch.distributed.tensor import DTensor, Partial

    worker = Worker(mesh, device)
    for p in worker.params:
        half = torch.full(p.shape, 0.5, dtype=p.dtype, device=device)
        p.grad = DTensor.from_local(half, p.device_mesh, [Partial()])  # type: ignore[attr-defined]
    worker.outer.step()
    return flat(worker.params)


SIMULATED = ("fedavg", "dsgd", "fedasync")
"""Rows whose ranks add, exchange and gather."""


def simulated(name: str, shards: int, device: str) -> Tensor:
    """Model after two rounds of a row, on however many ranks there are."""
    row = CATALOGUE[name]
    federation = on(quadratic(batch_size=3, way="looped")[0], device)
    run = simulate(row, federation, plan=schedule(row), rounds=2, shards=shards, **hyper(row))
    list(run)
    return run.x.cpu()


def main(folder: Path, backend: str, rank: int, size: int) -> None:
    """All layouts in one go; each rank writes what came out."""
    torch.set_num_threads(1)
    device = "cuda" if "nccl" in backend else "cpu"
    if device == "cuda":
        torch.cuda.set_device(rank)
    dist.init_process_group(backend, init_method=f"file://{folder / 'group'}", rank=rank, world_size=size)
    out: dict[str, Any] = {}
    for count, shards in layouts(size):
        mesh = init_device_mesh(device, (count, shards), mesh_dim_names=("replica", "shard"))
        out[f"{count} x {shards}"] = trained(mesh, device, folder)
        if (count, shards) == layouts(size)[1]:
            with patch.object(replicas, "BUCKET", 20):
                out["own"] = trained(mesh, device, folder, own=True)
            out["partial"] = partial(mesh, device)
            out["refused"] = refused(mesh, device)
    out["simulated"] = {name: simulated(name, size, device) for name in SIMULATED}
    torch.save(out, folder / f"rank-{rank}")
    dist.destroy_process_group()


def started(folder: Path, backend: str, size: int) -> list[dict[str, Any]]:
    """Results that each of several processes writes."""
    # They begin in another folder, where relative paths of the caller lead nowhere.
    path = os.pathsep.join(filter(None, sys.path))
    commands = [["test_use.sharded", str(folder), backend, str(r), str(size)] for r in range(size)]
    assert codes_of(commands, PYTHONPATH=path) == [0] * size
    return [torch.load(folder / f"rank-{r}", weights_only=True) for r in range(size)]


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
