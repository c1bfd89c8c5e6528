"""Driver of torch optimizers: an adapter only supplies each optimizer's constructor and the names in its state.

Parameters, gradients and state have the dtype of the case; hyper-parameters stay Python floats. Each block is one
parameter, all in one group. A fresh optimizer on fresh parameters is made at the start and at every ``Begin``.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from typing import Any

import torch

from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Offer, SubjectInfo
from fedspec.errors import ContractError

MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq"}
"""Names of Adam's moments in torch's optimizer state, and in most optimizers that follow it."""


@dataclass(frozen=True)
class Driven:
    """Offer with the constructor of its optimizer, and the state entry of each intermediate."""

    offer: Offer
    make: Callable[[list[torch.Tensor], Mapping[str, Any]], Any]
    shows: Mapping[str, str] = field(default_factory=dict)


def sgds(kind: Callable[..., Any], nesterov: Mapping[str, Any] | None = None, **more: Any) -> tuple[Driven, ...]:
    """Return the offers of an optimizer that takes the arguments of torch's SGD.

    Args:
        kind: the optimizer.
        nesterov: other fields of the offer of Nesterov's momentum.
        more: other fields of every offer.
    """

    def driven(algorithm: str, reading: str, arguments: Callable[[Any], dict[str, Any]], **own: Any) -> Driven:
        shows = {} if algorithm == "sgd" else {"u": "momentum_buffer"}
        offer = Offer(algorithm, "client", reading, intermediates=tuple(shows), **own, **more)
        return Driven(offer, lambda p, h: kind(p, lr=h["eta_l"], **arguments(h)), shows)

    return (
        driven("sgd", "fednova", lambda h: {}),
        driven("momentum", "fednova", lambda h: {"momentum": h["rho"]}),
        driven("nesterov", "textbook", lambda h: {"momentum": h["rho"], "nesterov": True}, **(nesterov or {})),
        driven("dampened", "first-gradient", lambda h: {"momentum": h["rho"], "dampening": h["rho"]}),
    )


class TorchSession:
    """Session: a model and its optimizer."""

    def __init__(self, case: Case, driven: Driven) -> None:
        self.case, self.driven = case, driven
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Construct a fresh optimizer on fresh parameters."""
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


class ResumedSession(TorchSession):
    """Session that can be saved: the model's arrays and the optimizer's ``state_dict``."""

    def save(self) -> bytes:
        """Return the saved state as ``torch.save`` writes it."""
        written = io.BytesIO()
        torch.save({"model": self.params, "optimizer": self.optimizer.state_dict()}, written)
        return written.getvalue()

    def restore(self, saved: bytes) -> None:
        """Load a saved state into the new model and optimizer."""
        read = torch.load(io.BytesIO(saved))
        with torch.no_grad():
            for name, p in self.params.items():
                p.copy_(read["model"][name])
        self.optimizer.load_state_dict(read["optimizer"])


class Stepping:
    """Package of optimizers as a subject.

    Args:
        name: the subject's.
        package: name in the package index, for the version.
        driven: its offers.
    """

    def __init__(self, name: str, package: str, driven: Sequence[Driven]) -> None:
        self.driven = driven
        self.info = SubjectInfo(name, version(package), tuple(d.offer for d in driven))

    def start(self, case: Case) -> TorchSession:
        """Create a session with the case's optimizer at its x0."""
        for entry in self.driven:
            offer = entry.offer
            if (offer.algorithm, offer.reading, offer.variant) == (case.algorithm, case.reading, case.variant):
                return ResumedSession(case, entry) if offer.resumes else TorchSession(case, entry)
        raise ContractError(f"case: {case.algorithm} by reading {case.reading} is not claimed")
