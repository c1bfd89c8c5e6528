"""fedspec's own torch optimisers (``fedspec_use.torch``) on PyTorch 2.13.0: set ``.grad``, call ``.step()``.

client     ``Local(params, algorithm, reading=, **hyper, **options)``
server     ``Server(params, algorithm, reading=, **hyper, **options)``; ``.grad`` is minus the average change

TENSORS    every step on tensors
COMPILED   the steps of elementwise rules in one compiled pass; servers are not offered

All readings of all local solvers, and of all servers that read no more than the average change. At
level server the average is the adapter's: by examples for FedAvg and its kin, plain for FedOpt's, as
their canonical readings have it. Parameters and gradients have the dtype of the case. Each block is
one parameter, all in one group. A round begins with ``optimizer.begin()``. Shown: what
``optimizer.state`` holds by the catalogue's names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import torch

from fedspec.catalogue import CATALOGUE, LocalSolver
from fedspec.contract import Answer, Begin, Blocks, Case, Event, Gradient, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError, FedspecError
from fedspec.reference import offers
from fedspec_use.torch import Local, Server

AT_LEAST = {"eta": 1.0, "beta": 0.5, "beta1": 0.5, "beta2": 0.5, "tau": 1.0, "eps": 1.0, "v0": 0.0, "v_hat0": 1.0}
"""Hyper-parameters with which a server is constructed, to test whether the package supports it."""


def offered() -> Iterator[Offer]:
    """Yield the offers of all algorithms that the package supports."""
    for a in CATALOGUE.values():
        if isinstance(a.run, LocalSolver):
            yield from offers(a, "client")
        elif "server" in a.levels and is_server(a.id):
            yield from (shown_of(o) for o in offers(a, "server") if "weights" not in o.options)


def shown_of(offer: Offer) -> Offer:
    """Remove the intermediates that the optimiser does not store, such as the average that it receives."""
    kept = tuple(n for n in offer.intermediates if n in ("m", "v", "v_hat"))
    return replace(offer, intermediates=kept)


def is_server(algorithm: str) -> bool:
    """True if the package has an optimiser for the algorithm's server."""
    row = CATALOGUE[algorithm]
    numbers: dict[str, Any] = {n: AT_LEAST.get(n, 0.0) for n in row.numbers_at("server")}
    try:
        Server([torch.zeros(1)], algorithm, **numbers)
    except FedspecError:
        return False
    return True


class Trained:
    """Session: a model and its optimiser."""

    def __init__(self, case: Case, compiled: bool) -> None:
        self.case = case
        self.params = {n: torch.nn.Parameter(torch.tensor(block)) for n, block in case.x0.items()}
        row = CATALOGUE[case.algorithm]
        options = {n: v for n, v in case.options.items() if n in row.options and n != "weights"}
        given: dict[str, Any] = {"reading": case.reading, **case.hyper, **options}
        if case.level == "client":
            self.optimizer: Local | Server = Local(self.params.values(), row, compiled=compiled, **given)
        else:
            self.optimizer = Server(self.params.values(), row, **given)

    def step(self, event: Event) -> Answer:
        """Begin a round, or step with a gradient or with the average of the clients' changes."""
        match event:
            case Begin(x=x):
                with torch.no_grad():
                    for n, p in self.params.items():
                        p.copy_(torch.tensor(x[n]))
                self.optimizer.begin()
            case Gradient(g=g):
                self._stepped(g)
            case Messages(messages=messages):
                plain = self.case.options["weights"] == "uniform"
                weights = [1.0 if plain else m.weight for m in messages]
                shares = [w / sum(weights) for w in weights]
                each = {n: [p * m.delta[n] for p, m in zip(shares, messages, strict=True)] for n in self.params}
                average = {n: np.sum(changes, axis=0) for n, changes in each.items()}
                self._stepped({n: -change for n, change in average.items()})
            case _:
                raise ContractError(f"event: {type(event).__name__}; send Gradient, Begin or Messages")
        return self._shown()

    def _stepped(self, g: Blocks) -> None:
        for n, p in self.params.items():
            p.grad = torch.tensor(g[n], dtype=p.dtype)
        self.optimizer.step()

    def _shown(self) -> Answer:
        answer: dict[str, Any] = {"x": {n: p.detach().numpy().copy() for n, p in self.params.items()}}
        state = self.optimizer.state
        for name in CATALOGUE[self.case.algorithm].shows_at(self.case.level):
            if all(name in state[p] for p in self.params.values()):
                answer[name] = {n: state[p][name].numpy().copy() for n, p in self.params.items()}
        return answer


class Use:
    """fedspec's torch optimisers as a subject."""

    def __init__(self, variant: str, compiled: bool, made: Callable[[], Iterator[Offer]]) -> None:
        self.info = SubjectInfo("fedspec_use_torch", version("torch"), tuple(made()), variant=variant)
        self.compiled = compiled

    def start(self, case: Case) -> Trained:
        """Create a session with the case's optimiser at its x0."""
        return Trained(case, self.compiled)


TENSORS = Use("tensors", False, offered)
COMPILED = Use("compiled", True, lambda: (o for o in offered() if o.level == "client"))
