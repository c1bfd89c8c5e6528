"""Plain torch loop: one client after another, ``nn.Module``, autograd, ``torch.optim.SGD``."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fedspec_bench.algorithms import HYPER
from fedspec_bench.job import Job
from fedspec_bench.peers.torch_optim.adaptive import AdaGrad, Sm3
from fedspec_bench.peers.torch_optim.networks import module, put, trained
from fedspec_bench.workloads import Array


class Loop:
    """Trainer that loops over the clients."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.cores)
        torch.backends.cudnn.allow_tf32 = False
        self.work, self.device = job.work, torch.device(job.device)
        self.versions = {"torch": torch.__version__}
        self.server = module(self.work).to(self.device)
        self.client = module(self.work).to(self.device)
        self.h = HYPER[job.algorithm](self.work)
        adaptive = job.algorithm == "fedada2"
        self.served = AdaGrad(*(self.h[name] for name in ("eta", "beta1", "tau", "v0"))) if adaptive else None
        inputs, targets = (torch.from_numpy(part).to(self.device) for part in self.work.data)
        self.batches = [
            list(zip(x.split(self.work.batch), y.split(self.work.batch), strict=True))
            for x, y in zip(inputs, targets, strict=True)
        ]

    def optimizer(self) -> Any:
        """Return a new optimiser for a client."""
        if self.served:
            return Sm3(trained(self.client), self.h["eta_l"], self.h["eps"])
        return torch.optim.SGD(self.client.parameters(), lr=self.work.eta_l)

    def round(self) -> None:
        """Train a copy of the server's model at every client, and average the copies."""
        steps = self.work.steps
        assert isinstance(steps, int)
        total: dict[str, Tensor] = {}
        for batches in self.batches:
            self.client.load_state_dict(self.server.state_dict())
            optimizer = self.optimizer()
            for k in range(steps):
                inputs, targets = batches[k % len(batches)]
                optimizer.zero_grad()
                nn.functional.cross_entropy(self.client(inputs), targets).backward()
                optimizer.step()
            for name, value in self.client.state_dict().items():
                total[name] = total[name].add_(value) if name in total else value.clone()
        before = nn.utils.parameters_to_vector(trained(self.server)).detach() if self.served else None
        self.server.load_state_dict({name: value / len(self.batches) for name, value in total.items()})
        if self.served and before is not None:
            mean = nn.utils.parameters_to_vector(trained(self.server)).detach()
            put(self.server, self.served(before, mean - before))
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def model(self) -> Array:
        """Return the server's model."""
        found: Array = nn.utils.parameters_to_vector(trained(self.server)).detach().cpu().numpy()
        return found


def start(job: Job) -> Loop:
    """Make the modules and the batches."""
    return Loop(job)
