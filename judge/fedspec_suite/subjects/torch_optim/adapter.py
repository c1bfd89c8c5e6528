"""torch.optim of PyTorch 2.13.0 as client solvers: set ``.grad``, call ``.step()``.

sgd        ``SGD(params, lr=eta_l)``
momentum   ``SGD(params, lr=eta_l, momentum=rho)``
nesterov   ``SGD(params, lr=eta_l, momentum=rho, nesterov=True)``; PyTorch refuses rho = 0
dampened   ``SGD(params, lr=eta_l, momentum=rho, dampening=rho)``; documented with b_1 = g_1
adagrad    ``Adagrad(params, lr=eta_l, initial_accumulator_value=v0, eps=eps)``
adam       ``Adam(params, lr=eta_l, betas=(beta1, beta2), eps=eps)``
amsgrad    the same with ``amsgrad=True``; documented as v^max = max(v^max, v), then v^max/(1-beta2^t)

No weight decay, no decay of the rate. The package subtracts the step: x - eta_l * direction.
Parameters, gradients and state have the dtype of the case; hyper-parameters stay Python floats.
Each block is one parameter, all in one group. A fresh optimizer on fresh parameters is made at the
start and at every ``Begin``. Shown as it stands in ``optimizer.state`` after the step: u
(momentum_buffer; absent where rho = 0), m (exp_avg), v (exp_avg_sq, sum), v_hat (max_exp_avg_sq,
not corrected). m_0, v_0 of Adam and u_0 are 0. Hidden: the step count, which starts at 1.
Saved and restored: the parameters, and ``optimizer.state_dict()`` by ``torch.save``, into an optimizer
that was just made by ``load_state_dict``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from fedspec.contract import Offer
from fedspec_suite.subjects.torch_optimizers import MOMENTS, Driven, Stepping, sgds

Make = Callable[[list[torch.Tensor], Mapping[str, Any]], torch.optim.Optimizer]


def driven(algorithm: str, reading: str, make: Make, shows: Mapping[str, str], **more: Any) -> Driven:
    """Return an offer at level client with the constructor of its optimizer."""
    offer = Offer(algorithm, "client", reading, intermediates=tuple(shows), resumes=True, **more)
    return Driven(offer, make, shows)


def adam(p: list[torch.Tensor], h: Mapping[str, Any], **flags: Any) -> torch.optim.Optimizer:
    """Construct Adam."""
    return torch.optim.Adam(p, lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), eps=h["eps"], **flags)


def adagrad(p: list[torch.Tensor], h: Mapping[str, Any]) -> torch.optim.Optimizer:
    """Construct Adagrad."""
    return torch.optim.Adagrad(p, lr=h["eta_l"], initial_accumulator_value=h["v0"], eps=h["eps"])


DRIVEN = (
    *sgds(torch.optim.SGD, nesterov={"nonzero": ("rho",)}, resumes=True),
    driven("adagrad", "fedada2", adagrad, {"v": "sum"}),
    driven("adam", "kingma-2015", adam, MOMENTS),
    driven(
        "amsgrad",
        "max-then-correct",
        lambda p, h: adam(p, h, amsgrad=True),
        {**MOMENTS, "v_hat": "max_exp_avg_sq"},
    ),
)

SUBJECT = Stepping("torch_optim", "torch", DRIVEN)
