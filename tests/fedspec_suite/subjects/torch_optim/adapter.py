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
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import torch

from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Offer, SubjectInfo
from fedspec.errors import ContractError

Make = Callable[[list[torch.Tensor], Mapping[str, Any]], torch.optim.Optimizer]


@dataclass(frozen=True)
class Driven:
    """An offer, how to make its optimizer, and which entry of the state is which intermediate."""

    offer: Offer
    make: Make
    shows: Mapping[str, str]


def driven(algorithm: str, reading: str, make: Make, shows: Mapping[str, str], **more: Any) -> Driven:
    """Describe one client-level offer."""
    offer = Offer(algorithm, "client", reading, intermediates=tuple(shows), **more)
    return Driven(offer, make, shows)


def momentum(p: list[torch.Tensor], h: Mapping[str, Any], **flags: Any) -> torch.optim.Optimizer:
    """Make SGD with momentum."""
    return torch.optim.SGD(p, lr=h["eta_l"], momentum=h["rho"], **flags)


def adam(p: list[torch.Tensor], h: Mapping[str, Any], **flags: Any) -> torch.optim.Optimizer:
    """Make Adam."""
    return torch.optim.Adam(p, lr=h["eta_l"], betas=(h["beta1"], h["beta2"]), eps=h["eps"], **flags)


def adagrad(p: list[torch.Tensor], h: Mapping[str, Any]) -> torch.optim.Optimizer:
    """Make Adagrad."""
    return torch.optim.Adagrad(p, lr=h["eta_l"], initial_accumulator_value=h["v0"], eps=h["eps"])


BUFFER = {"u": "momentum_buffer"}
MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq"}

DRIVEN = (
    driven("sgd", "fednova", lambda p, h: torch.optim.SGD(p, lr=h["eta_l"]), {}),
    driven("momentum", "fednova", momentum, BUFFER),
    driven("nesterov", "textbook", lambda p, h: momentum(p, h, nesterov=True), BUFFER, nonzero=("rho",)),
    driven(
        "dampened",
        "first-gradient",
        lambda p, h: momentum(p, h, dampening=h["rho"]),
        BUFFER,
    ),
    driven("adagrad", "fedada2", adagrad, {"v": "sum"}),
    driven("adam", "kingma-2015", adam, MOMENTS),
    driven(
        "amsgrad",
        "max-then-correct",
        lambda p, h: adam(p, h, amsgrad=True),
        {**MOMENTS, "v_hat": "max_exp_avg_sq"},
    ),
)


class TorchSession:
    """One model and its optimizer."""

    def __init__(self, case: Case, driven: Driven) -> None:
        self.case, self.driven = case, driven
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Put a fresh optimizer on fresh parameters."""
        self.params = {name: torch.tensor(array, requires_grad=True) for name, array in x.items()}
        self.optimizer = self.driven.make(list(self.params.values()), self.case.hyper)

    def step(self, event: Event) -> Answer:
        """Take a gradient, or begin a round."""
        match event:
            case Begin(x):
                self.begin(x)
            case Gradient(g):
                for name, parameter in self.params.items():
                    parameter.grad = torch.tensor(g[name])
                self.optimizer.step()
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        answer = {"x": {name: p.detach().numpy().copy() for name, p in self.params.items()}}
        for ours, theirs in self.driven.shows.items():
            held = {name: self.optimizer.state[p].get(theirs) for name, p in self.params.items()}
            if all(value is not None for value in held.values()):
                answer[ours] = {name: value.numpy().copy() for name, value in held.items()}
        return answer


class TorchOptim:
    """The package, as a subject."""

    info = SubjectInfo("torch_optim", version("torch"), tuple(d.offer for d in DRIVEN))

    def start(self, case: Case) -> TorchSession:
        """Make the optimizer of the case at its x0."""
        for entry in DRIVEN:
            if (entry.offer.algorithm, entry.offer.reading) == (case.algorithm, case.reading):
                return TorchSession(case, entry)
        raise ContractError(f"case: {case.algorithm} by reading {case.reading} is not offered")


SUBJECT = TorchOptim()
