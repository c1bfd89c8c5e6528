"""torch_optimizer 0.3.0 as client solvers: set ``.grad``, call ``.step()``.

sgd                 ``SGDW(params, lr=eta_l)``
momentum            ``SGDW(params, lr=eta_l, momentum=rho)``
nesterov            ``SGDW(params, lr=eta_l, momentum=rho, nesterov=True)``
dampened, first     ``SGDW(params, lr=eta_l, momentum=rho, dampening=rho)``
dampened, textbook  ``QHM(params, lr=eta_l, momentum=rho, nu=1)``; its paper: plain momentum where nu is 1
adam                ``QHAdam(params, lr=eta_l, betas=, nus=(1, 1), eps=eps)``; its paper: Adam where both nus are 1
yogi                ``Yogi(params, lr=eta_l, betas=, initial_accumulator=v0, eps=eps)``;
                    initial_accumulator: "initial values for first and second moments"
lamb, uncorrected   ``Lamb(params, lr=eta_l, betas=, eps=eps, weight_decay=lam, clamp_value=inf)``: "Paper v3 does
                    not use debiasing"; claimed twice: as it stands, and with ratio one
lamb, you-2020      the same with ``debias=True``: "debias adam by (1 - beta**step)"

SGDW's docstring gives no formula for its dampening; the definition of the same argument in torch.optim is
claimed. Yogi's docstring names the paper and no bias correction; it shares Adam's arguments and its code
divides both moments, so the reading with both corrections is claimed. Lamb clamps the norm of the parameters to
[0, clamp_value], by default 10; its docstring says to set that high "to avoid it", which is done: infinity, so
that phi is the identity. The paper that it names leaves a layer at 0 where it is; the code takes the ratio 1 there,
hence the second claim.

No weight decay but Lamb's. The package subtracts the step: x - eta_l * direction. Parameters, gradients and
state have the dtype of the case; hyper-parameters stay Python floats. Each block is one parameter, all in one
group. A fresh optimizer on fresh parameters is made at the start and at every ``Begin``. Shown as it stands in
``optimizer.state`` after the step: u (momentum_buffer; absent where rho = 0), m (exp_avg), v (exp_avg_sq).
QHAdam keeps moments that are corrected already, which are not shown.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

from collections.abc import Mapping
from math import inf

import torch_optimizer as to

from fedspec.contract import Offer
from fedspec_suite.subjects.torch_optimizers import MOMENTS, Driven, Stepping, sgds


def lamb(reading: str, options: Mapping[str, str] | None = None, *, debias: bool) -> Driven:
    """Return an offer of Lamb, with or without bias correction, with the constructor of its optimizer."""
    said = f"clamp_value=inf, debias={debias}"
    return Driven(
        Offer("lamb", "client", reading, options=options or {}, intermediates=("m", "v"), notes=said),
        lambda p, h: to.Lamb(
            p,
            lr=h["eta_l"],
            betas=(h["beta1"], h["beta2"]),
            eps=h["eps"],
            weight_decay=h["lam"],
            clamp_value=inf,
            debias=debias,
        ),
        MOMENTS,
    )


DRIVEN = (
    *sgds(to.SGDW, nesterov={"nonzero": ("rho",)}),
    Driven(
        Offer("dampened", "client", "textbook", intermediates=("u",), notes="QHM with nu=1"),
        lambda p, h: to.QHM(p, lr=h["eta_l"], momentum=h["rho"], nu=1.0),
        {"u": "momentum_buffer"},
    ),
    Driven(
        Offer("adam", "client", "kingma-2015", notes="QHAdam with nus=(1, 1)"),
        lambda p, h: to.QHAdam(p, lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), nus=(1.0, 1.0), eps=h["eps"]),
    ),
    Driven(
        Offer(
            "yogi",
            "client",
            "zaheer-2018-corrected",
            intermediates=("m", "v"),
            notes="its documentation says that the first moment starts at initial_accumulator too",
        ),
        lambda p, h: to.Yogi(
            p,
            lr=h["eta_l"],
            betas=(h["beta1"], h["beta2"]),
            eps=h["eps"],
            initial_accumulator=h["v0"],
        ),
        MOMENTS,
    ),
    lamb("uncorrected", debias=False),
    lamb("uncorrected", {"zero_layer": "ratio-one"}, debias=False),
    lamb("you-2020", debias=True),
)

SUBJECT = Stepping("torch_optimizer", "torch_optimizer", DRIVEN)
