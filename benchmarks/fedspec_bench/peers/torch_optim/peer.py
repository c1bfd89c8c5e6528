"""What a torch user writes first: one client after another, ``nn.Module``, autograd, ``torch.optim.SGD``."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fedspec_bench.job import Job
from fedspec_bench.workloads import Array, Workload


def module(work: Workload) -> nn.Sequential:
    """The model of a workload, at its start."""
    parts: list[nn.Module] = []
    for inputs, outputs in work.layers:
        parts += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*parts[:-1])
    # The parameters become views of the vector, so each module needs one of its own.
    nn.utils.vector_to_parameters(torch.from_numpy(work.start).clone(), model.parameters())
    return model


class Loop:
    """The loop over the clients."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.cores)
        self.work, self.device = job.work, torch.device(job.device)
        self.versions = {"torch": torch.__version__}
        self.server = module(self.work).to(self.device)
        self.client = module(self.work).to(self.device)
        inputs, targets = (torch.from_numpy(part).to(self.device) for part in self.work.data)
        self.batches = [
            list(zip(x.split(self.work.batch), y.split(self.work.batch), strict=True))
            for x, y in zip(inputs, targets, strict=True)
        ]

    def round(self) -> None:
        """Every client trains a copy of the server's model; the mean of the copies is the new one."""
        steps = self.work.steps
        assert isinstance(steps, int)
        total: dict[str, Tensor] = {}
        for batches in self.batches:
            self.client.load_state_dict(self.server.state_dict())
            optimizer = torch.optim.SGD(self.client.parameters(), lr=self.work.eta_l)
            for k in range(steps):
                inputs, targets = batches[k % len(batches)]
                optimizer.zero_grad()
                nn.functional.cross_entropy(self.client(inputs), targets).backward()
                optimizer.step()
            for name, value in self.client.state_dict().items():
                total[name] = total[name].add_(value) if name in total else value.clone()
        self.server.load_state_dict({name: value / len(self.batches) for name, value in total.items()})
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def model(self) -> Array:
        """The server's model."""
        found: Array = nn.utils.parameters_to_vector(self.server.parameters()).detach().cpu().numpy()
        return found


def start(job: Job) -> Loop:
    """Make module and batches."""
    return Loop(job)
