"""Outer steps of packages on PyPI: speedtronic 2.0.0, blt-trainer 0.3.6, and PyTorch's post-local SGD.

``fedspec check examples/found/packaged_outer.py:Speedtronic``, with the package installed; also ``Blt``, ``Torch``

Speedtronic  ``average_deltas`` and ``NesterovOuterOptimizer``; it keeps momentum in float32
Blt          ``compute_param_delta``, ``average_deltas`` and ``apply_outer_delta_update``
Torch        ``PostLocalSGDOptimizer`` over ``PeriodicModelAverager(period=1)``: eta = 1 and beta = 0

What carries files between machines is left out: here every worker sees what all others bring.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import beside
import torch
from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
from torch.distributed.optim import PostLocalSGDOptimizer

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer


def _state(model: Model) -> dict[str, torch.Tensor]:
    return {name: p.detach().clone() for name, p in model.named_parameters()}


def Speedtronic() -> Outer:
    """Adapter of speedtronic's DumbDiLoCo."""
    version = beside.published("speedtronic", "2.0.0", "speedtronic", "speedtronic.distributed")
    tensors, its = (import_module(f"speedtronic.distributed.{name}") for name in ("tensors", "outer"))

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        server = _state(model)
        made = its.NesterovOuterOptimizer(server, h["eta"], h["beta"])

        def ends() -> None:
            local.step()
            sent = workers.gather(tensors.compute_pseudo_gradient(server, _state(model)))
            made.step(server, tensors.average_deltas(sent))
            model.load_state_dict(server)

        return ends

    return Outer("speedtronic", version, [(offer(dtypes=("float32",)), diloco)])


def Blt() -> Outer:
    """Adapter of blt-trainer's manager of outer steps, with and without Nesterov momentum."""
    version = beside.published("blt-trainer", "0.3.6", "blt_trainer")
    its = import_module("blt_trainer.diloco")

    def made(nesterov: bool) -> Any:
        def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
            server, momentum = _state(model), {}  # type: ignore[var-annotated]

            def ends() -> None:
                local.step()
                mean = its.average_deltas(workers.gather(its.compute_param_delta(server, _state(model))))
                its.apply_outer_delta_update(server, mean, momentum, h["eta"], h["beta"], nesterov)
                its.copy_params_(dict(model.named_parameters()), server)

            return ends

        return diloco

    heavy = offer("heavy-ball", variant="plain")
    return Outer("blt-trainer", version, [(offer(variant="nesterov"), made(True)), (heavy, made(False))])


def Torch() -> Outer:
    """Adapter of PyTorch's post-local SGD after its warm-up, when it averages models."""

    def averaging(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            averager = PeriodicModelAverager(period=1, warmup_steps=0, process_group=object())  # type: ignore[arg-type]
        return PostLocalSGDOptimizer(local, averager).step

    # Whether a worker belongs to a group is asked of a group that is made by torchrun.
    torch.distributed._rank_not_in_group = lambda group: False  # type: ignore[attr-defined]
    made = Outer("torch", torch.__version__, [(offer(fixed={"eta": 1.0, "beta": 0.0}), averaging)])
    return made
