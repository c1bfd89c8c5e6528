"""pytorch_optimizer 4.1.0 as client solvers: set ``.grad``, call ``.step()``.

sgd                 ``SGDW(params, lr=eta_l)``
momentum            ``SGDW(params, lr=eta_l, momentum=rho)``
nesterov            ``SGDW(params, lr=eta_l, momentum=rho, nesterov=True)``
dampened            ``SGDW(params, lr=eta_l, momentum=rho, dampening=rho)``
sm3-ii, fedada2     ``SM3(params, lr=eta_l, eps=eps)``; eps: "Term added to the denominator"
sm3-ii, anil-2019   ``SM3(params, lr=eta_l)``; the default eps, 1e-30, stands for 0/0 = 0
yogi                ``Yogi(params, lr=eta_l, betas=, initial_accumulator=v0, eps=eps)``;
                    initial_accumulator: "Initial values for first and second moments"
lamb, uncorrected   ``Lamb(params, lr=eta_l, betas=, eps=eps, weight_decay=lam, weight_decouple=False)``:
                    "follows version 3 of the paper without bias correction"; ``clamp`` is infinity

SGDW's docstring gives no formula for its dampening; the definition of the same argument in
torch.optim is claimed. SM3's momentum and beta are 0, their defaults: with beta > 0 it is another
algorithm. It keeps one accumulator for each index of each axis (cover "axes") and not the per-
coordinate one, so neither is shown. Yogi's docstring names no paper and no bias correction; it
shares Adam's arguments, so the reading with both corrections is claimed. Lamb clamps the norm of
the parameters to its attribute ``clamp``, 10, which no argument sets: the adapter does, so that phi
is the identity. Its ratio is 1 where either norm is 0, so that is claimed. AMSGrad's maximum exists
only as the flag ``ams_bound`` of other optimizers, which is not offered.

No weight decay but Lamb's. The package subtracts the step: x - eta_l * direction. Parameters, gradients and
state have the dtype of the case; hyper-parameters stay Python floats; ``foreach`` is at its
default. Each block is one parameter, all in one group. A fresh optimizer on fresh parameters is
made at the start and at every ``Begin``. Shown as it stands in ``optimizer.state`` after the step:
u (momentum_buffer; absent where rho = 0), m (exp_avg), v (exp_avg_sq).
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import Any

import pytorch_optimizer as po
import torch

from fedspec.contract import Offer
from fedspec_suite.subjects.torch_optimizers import MOMENTS, Driven, Stepping, sgds


def lamb(parameters: list[torch.Tensor], h: Mapping[str, Any]) -> Any:
    """Construct Lamb without its bound on the norm of the parameters."""
    optimizer = po.Lamb(
        parameters,
        lr=h["eta_l"],
        betas=(h["beta1"], h["beta2"]),
        eps=h["eps"],
        weight_decay=h["lam"],
        weight_decouple=False,
    )
    optimizer.clamp = inf
    return optimizer


AXES = {"cover": "axes"}

DRIVEN = (
    *sgds(po.SGDW),
    Driven(
        Offer("sm3-ii", "client", "fedada2", options=AXES),
        lambda p, h: po.SM3(p, lr=h["eta_l"], eps=h["eps"]),
    ),
    Driven(
        Offer("sm3-ii", "client", "anil-2019", options=AXES, notes="eps is 1e-30, the default"),
        lambda p, h: po.SM3(p, lr=h["eta_l"]),
    ),
    Driven(
        Offer(
            "yogi",
            "client",
            "zaheer-2018-corrected",
            intermediates=("m", "v"),
            notes="its documentation says that the first moment starts at initial_accumulator too",
        ),
        lambda p, h: po.Yogi(
            p,
            lr=h["eta_l"],
            betas=(h["beta1"], h["beta2"]),
            initial_accumulator=h["v0"],
            eps=h["eps"],
        ),
        MOMENTS,
    ),
    Driven(
        Offer(
            "lamb",
            "client",
            "uncorrected",
            options={"zero_layer": "ratio-one"},
            intermediates=("m", "v"),
            notes="weight_decouple=False, clamp=inf",
        ),
        lamb,
        MOMENTS,
    ),
)

SUBJECT = Stepping("pytorch_optimizer", "pytorch_optimizer", DRIVEN)
