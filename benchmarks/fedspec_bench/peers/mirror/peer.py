"""fedspec_torch: a run of ``fedspec_torch.simulate``.

Variants: "" takes whichever way to the gradients the federation measures as fastest; ``any-module`` has the same layers
in a module that it cannot look into, so that the ways that are written out do not apply; any other is a way by name.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fedspec_bench.algorithms import HYPER, schedule
from fedspec_bench.job import Job
from fedspec_bench.peers.torch_optim.networks import module
from fedspec_bench.workloads import Array
from fedspec_torch import Federation, simulate


class Opaque(nn.Module):
    """Module that hides its layers, so that gradient methods that compute the layers themselves don't apply."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the output of the hidden module."""
        output: Tensor = self.inner(inputs)
        return output


class Mirror:
    """Trainer that runs ``fedspec_torch.simulate``."""

    def __init__(self, job: Job) -> None:
        torch.set_num_threads(job.cores)
        torch.backends.cudnn.allow_tf32 = False
        work, device = job.work, torch.device(job.device)
        self.versions = {"torch": torch.__version__}
        model: nn.Module = module(work).to(device)
        inputs, targets = (torch.from_numpy(part).to(device) for part in work.data)
        data: Any = list(zip(inputs, targets, strict=True))
        self.federation = Federation(
            Opaque(model) if job.variant == "any-module" else model,
            nn.functional.cross_entropy,
            data,
            batch_size=work.batch,
            shuffled=False,
            way=None if job.variant in ("", "any-module") else job.variant,
        )
        hyper = HYPER[job.algorithm](work)
        self.run = simulate(job.algorithm, self.federation, plan=schedule(job), rounds=10**9, **hyper)
        self.device = device

    def round(self) -> None:
        """Run one round, and wait for the GPU."""
        self.run.step()
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    @property
    def notes(self) -> dict[str, Any]:
        """Chosen gradient methods by block size, each with the reason."""
        return {"ways": {str(2**size): f"{c.name}: {c.why}" for size, c in self.federation.choices.items()}}

    def model(self) -> Array:
        """Return the model after the last round."""
        found: Array = self.run.x.cpu().numpy()
        return found


def start(job: Job) -> Mirror:
    """Make the federation and the run."""
    return Mirror(job)
