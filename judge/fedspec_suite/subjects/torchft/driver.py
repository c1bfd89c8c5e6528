"""Driver of torchft's DiLoCo, in any version, with a stand-in for its manager that needs no network."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import signature
from typing import Any

import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Make, Model, Rounds, sgd


class Gathered(workers.Done):
    """Finished ``allgather``."""

    def __init__(self, tensors: list[torch.Tensor]) -> None:
        self.tensors = tensors

    def wait(self, *_: Any) -> Any:
        """Return one tensor per worker."""
        return self.tensors


class Manager:
    """Stand-in for torchft's manager: it commits every step; its replicas are the workers of this process."""

    _use_async_quorum = False

    def __init__(self) -> None:
        self.committed = 0

    def allreduce(self, tensor: torch.Tensor, should_quantize: bool = False) -> workers.Done:
        """Replace the tensor by the workers' mean."""
        return workers.all_reduce(tensor, torch.distributed.ReduceOp.AVG)

    def allgather(self, tensor: torch.Tensor) -> Gathered:
        """Collect the tensor of each worker."""
        return Gathered(workers.gather(tensor.detach().clone()))

    def should_commit(self) -> bool:
        """Return True and count the step."""
        self.committed += 1
        return True

    def current_step(self) -> int:
        """Return the number of committed steps, by which torchft chooses the next fragment."""
        return self.committed

    def nothing(self, *_: Any) -> None:
        """Ignore calls that only matter if workers come and go."""

    errored = start_quorum = register_state_dict_fn = allow_state_dict_read = disallow_state_dict_read = nothing


def entered(diloco: Any, local: torch.optim.Optimizer) -> None:
    """Register DiLoCo's hooks at the local optimiser; take a step with gradient 0 if the first only synchronises."""
    if hasattr(diloco.__enter__(), "_should_recover"):
        for p in local.param_groups[0]["params"]:
            p.grad = torch.zeros_like(p)
        local.step()


def whole(DiLoCo: Any) -> Make:
    """Return a constructor of DiLoCo that synchronises the whole model after one local step per round."""
    fragments = "model_fragments" in signature(DiLoCo).parameters

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        entered(DiLoCo(Manager(), [model] if fragments else model, local, sgd(model, h), sync_every=1), local)
        return local.step

    return diloco


def in_two(DiLoCo: Any, shared: bool) -> Make:
    """Return a constructor of DiLoCo with two fragments (the first block, the others), each synchronised once a round.

    The first fragment makes its change in the first local step. The second makes half of its change in either. So each
    outer step sees the whole change of its fragment and nothing else.

    Args:
        DiLoCo: the class.
        shared: one outer optimiser for both fragments, not one each.
    """

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        first, *others = model.blocks
        fragments = [torch.nn.ParameterList(blocks) for blocks in ([first], others) if blocks]
        outside = sgd(model, h) if shared else [sgd(f, h) for f in fragments]
        entered(DiLoCo(Manager(), fragments, local, outside, sync_every=len(fragments)), local)

        def ends() -> None:
            # The outer optimiser takes the gradients away after its step.
            halves = [p.grad / 2 for p in others]
            for p, half in zip(others, halves, strict=True):
                p.grad = half.clone()
            local.step()
            if others:
                first.grad = torch.zeros_like(first)
                for p, half in zip(others, halves, strict=True):
                    p.grad = half.clone()
                local.step()

        return ends

    return diloco
