"""Driver of other projects' robust means: a mean maps a round's changes, as vectors, to the move of the model.

A mean is a function of the round's messages. It returns a vector with a number for each of the model's coordinates. The
model moves by that vector, since such a mean has no server rate. If a project aggregates models instead of changes, the
adapter passes models to it, and the project returns the next model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import beside  # noqa: F401
import numpy as np

from fedspec.contract import Answer, Blocks, Case, Claim, ClientMessage, Event, Info, Messages
from fedspec.errors import ContractError
from fedspec.params import flatten, unflatten

Sent = Sequence[ClientMessage]
Mean = Callable[[Sent], Any]
Make = Callable[[Mapping[str, Any]], Mean]
"""Function that makes a mean from the case's hyper-parameters; the mean is kept from round to round."""

NextModel = Callable[[Sequence[Blocks], Sequence[float]], Blocks]
"""Function from the clients' models and numbers of examples to the next model."""

Rounding = tuple[str, tuple[str, ...], Callable[[Any], Any]]
"""A variant, what it claims of each message, and the project's function of one change."""

MakeNext = Callable[[Mapping[str, Any]], NextModel]
"""Function that makes a NextModel from the case's hyper-parameters."""


def offer(algorithm: str, reading: str, **more: Any) -> Claim:
    """Make a claim about a mean of changes, by which the model moves with rate 1."""
    shown = "v" if algorithm == "centred-clipping" else "delta"
    return Claim(algorithm, "server", reading, fixed={"eta": 1.0}, intermediates=(shown,), **more)


def offer_of_models(algorithm: str, reading: str, **more: Any) -> Claim:
    """Make a claim about a mean of models, which becomes the next model."""
    return Claim(algorithm, "server", reading, fixed={"eta": 1.0}, **more)


def rows(sent: Sent) -> np.ndarray[Any, Any]:
    """Return the changes as rows [clients, coordinates]."""
    return np.stack([flatten(m.delta) for m in sent])


def shares(sent: Sent) -> np.ndarray[Any, Any]:
    """Return each client's share of the examples."""
    n = np.array([float(m.weight) for m in sent])
    return np.asarray(n / n.sum())


def rounded(made: Sequence[Rounding]) -> Iterator[tuple[Claim, Make]]:
    """Yield a claim of FedAvg for each function of one change, and the mean of its results by examples."""
    for variant, chain, function in made:

        def mean(sent: Sent, function: Callable[[Any], Any] = function) -> Any:
            changes = rows(sent)
            moved = shares(sent) @ [np.asarray(function(row)) for row in changes]
            return moved.astype(changes.dtype)

        def make(_: Mapping[str, Any], mean: Mean = mean) -> Mean:
            return mean

        yield offer("fedavg", "mcmahan-2017", messages=chain, variant=variant), make


def messages(event: Event) -> Sent:
    """Return the messages of a round."""
    if not isinstance(event, Messages):
        raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
    return event.messages


class Session:
    """Session of a case: a model, and the project's mean of changes."""

    def __init__(self, case: Case, make: Make) -> None:
        self.x0, self.x = case.x0, flatten(case.x0)
        self.mean = make(case.hyper)
        self.shown = "v" if case.algorithm == "centred-clipping" else "delta"

    def step(self, event: Event) -> Answer:
        """Move the model by the mean of one round."""
        moved = np.asarray(self.mean(messages(event))).reshape(-1)
        self.x = self.x + moved
        return {"x": unflatten(self.x, self.x0), self.shown: unflatten(moved, self.x0)}


class Means:
    """Adapter of a project's means of changes."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, Make]]) -> None:
        self.info = Info(name, version, tuple(o for o, _ in made))
        self.made = {(o.algorithm, o.variant): m for o, m in made}

    def start(self, case: Case) -> Session:
        """Begin a case."""
        return Session(case, self.made[case.algorithm, case.variant])


class OfModels:
    """Session of a case: a model, and the project's mean of models."""

    def __init__(self, case: Case, make: MakeNext) -> None:
        self.x, self.rule = dict(case.x0), make(case.hyper)

    def step(self, event: Event) -> Answer:
        """Pass the models of one round to the project, and take its result."""
        sent = messages(event)
        models = [{name: x + m.delta[name] for name, x in self.x.items()} for m in sent]
        found = self.rule(models, [float(m.weight) for m in sent])
        self.x = {name: np.asarray(found[name]).reshape(x.shape) for name, x in self.x.items()}
        return {"x": self.x}


class Models:
    """Adapter of a project's means of models."""

    def __init__(self, name: str, version: str, made: Sequence[tuple[Claim, MakeNext]]) -> None:
        self.info = Info(name, version, tuple(o for o, _ in made))
        self.made = {(o.algorithm, o.variant): m for o, m in made}

    def start(self, case: Case) -> OfModels:
        """Begin a case."""
        return OfModels(case, self.made[case.algorithm, case.variant])
