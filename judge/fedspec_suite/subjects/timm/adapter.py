"""timm 1.0.31 as client solvers: set ``.grad``, call ``.step()``.

sgd                    ``SGDW(params, lr=eta_l)``
momentum               ``SGDW(params, lr=eta_l, momentum=rho)``
nesterov               ``SGDW(params, lr=eta_l, momentum=rho, nesterov=True)``; timm refuses rho = 0
dampened               ``SGDW(params, lr=eta_l, momentum=rho, dampening=rho)``; refers to torch.optim.SGD
adam                   ``AdamWLegacy(params, lr=eta_l, betas=, eps=eps, weight_decay=0)``
amsgrad                the same with ``amsgrad=True``
lamb, you-2020         ``Lamb(params, lr=eta_l, betas=, eps=eps, weight_decay=lam, max_grad_norm=None,
                       always_adapt=True)``
lamb, ratio-one        the same
lamb, uncorrected      the same with ``bias_correction=False``, claimed twice: as it stands, and with ratio one
lamb, you-2020         ``defaults``: ``Lamb(params, lr=eta_l, betas=, eps=eps, weight_decay=lam)``, all else as by
                       default

AdamWLegacy says "Impl copied from PyTorch master", so AMSGrad is claimed as PyTorch documents it. Lamb's
docstring names the paper and calls itself a variant: of FusedLAMB, "NvLamb variant". A comment of its code sets the
ratio to 1 "if either weight norm or grad norm is zero", hence ratio-one as a second claim. What it adds to the paper
(a bound on the global norm of the gradient, no adaptation where the decay is 0) is set aside in all offers of it but
``defaults``, which leaves that as it comes.

No weight decay but Lamb's. The package subtracts the step: x - eta_l * direction. Parameters, gradients and
state have the dtype of the case; hyper-parameters stay Python floats; ``foreach`` is at its default. Each block
is one parameter, all in one group. A fresh optimizer on fresh parameters is made at the start and at every
``Begin``. Shown as it stands in ``optimizer.state`` after the step: u (momentum_buffer; absent where rho = 0),
m (exp_avg), v (exp_avg_sq), v_hat (max_exp_avg_sq, not corrected).
"""
# mypy: disable-error-code="import-not-found,import-untyped,no-untyped-call"

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fedspec.contract import Offer
from fedspec_suite.subjects import torchvision_stub
from fedspec_suite.subjects.torch_optimizers import MOMENTS, Driven, Stepping, sgds

torchvision_stub.declare()
from timm.optim import AdamWLegacy, Lamb  # noqa: E402
from timm.optim.sgdw import SGDW  # noqa: E402

RATIO_ONE = {"zero_layer": "ratio-one"}


def adam(algorithm: str, reading: str, shows: Mapping[str, str], **flags: Any) -> Driven:
    """Return an offer of AdamWLegacy without weight decay, with the constructor of its optimizer."""
    return Driven(
        Offer(algorithm, "client", reading, intermediates=tuple(shows), notes="AdamWLegacy with weight_decay=0"),
        lambda p, h: AdamWLegacy(
            p, lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), eps=h["eps"], weight_decay=0.0, **flags
        ),
        shows,
    )


def lamb(reading: str, variant: str = "", options: Mapping[str, str] | None = None, **flags: Any) -> Driven:
    """Return an offer of Lamb with the constructor of its optimizer."""
    said = ", ".join(f"{name}={value}" for name, value in flags.items())
    return Driven(
        Offer("lamb", "client", reading, options=options or {}, intermediates=("m", "v"), notes=said, variant=variant),
        lambda p, h: Lamb(
            p, lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), eps=h["eps"], weight_decay=h["lam"], **flags
        ),
        MOMENTS,
    )


DRIVEN = (
    *sgds(SGDW, nesterov={"nonzero": ("rho",)}),
    adam("adam", "kingma-2015", MOMENTS),
    adam("amsgrad", "max-then-correct", {**MOMENTS, "v_hat": "max_exp_avg_sq"}, amsgrad=True),
    lamb("you-2020", max_grad_norm=None, always_adapt=True),
    lamb("ratio-one", max_grad_norm=None, always_adapt=True),
    lamb("uncorrected", max_grad_norm=None, always_adapt=True, bias_correction=False),
    lamb("uncorrected", options=RATIO_ONE, max_grad_norm=None, always_adapt=True, bias_correction=False),
    lamb("you-2020", variant="defaults"),
)

SUBJECT = Stepping("timm", "timm", DRIVEN)
