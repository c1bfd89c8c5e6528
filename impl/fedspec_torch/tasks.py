"""Small real tasks to try algorithms on: data that come with scikit-learn, split over clients, and plain models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedspec.arith import Array
from fedspec.entry import Algorithm
from fedspec.errors import UnknownNameError
from fedspec_torch.arith import device_named
from fedspec_torch.data.examples import Examples
from fedspec_torch.data.partition import dirichlet
from fedspec_torch.federation.federation import Federation
from fedspec_torch.run.local_work import Steps, common
from fedspec_torch.run.schedules import Schedule, arrivals, cohorts, exchanges

HELD_OUT = 5
"""One in so many examples is for the test."""


@dataclass(frozen=True, eq=False)
class Task:
    """A federation and the examples that none of its clients has."""

    federation: Federation
    test: Examples


def digits() -> tuple[Array, Array]:
    """1797 handwritten digits, 8 x 8 pixels between 0 and 1, ten classes (scikit-learn's, from the UCI collection)."""
    from sklearn.datasets import load_digits

    inputs, targets = load_digits(return_X_y=True)
    return inputs / 16, targets


def breast_cancer() -> tuple[Array, Array]:
    """569 diagnoses, 30 features of mean 0 and deviation 1, two classes (scikit-learn's, from the UCI collection)."""
    from sklearn.datasets import load_breast_cancer

    inputs, targets = load_breast_cancer(return_X_y=True)
    return (inputs - inputs.mean(0)) / inputs.std(0), targets


DATA: dict[str, Callable[[], tuple[Array, Array]]] = {"digits": digits, "breast-cancer": breast_cancer}


def _logistic(features: int, classes: int) -> nn.Module:
    return nn.Linear(features, classes)


def _mlp(features: int, classes: int) -> nn.Module:
    return nn.Sequential(nn.Linear(features, 128), nn.ReLU(), nn.Linear(128, classes))


def _cnn(features: int, classes: int) -> nn.Module:
    side = round(features**0.5)
    if side * side != features:
        raise UnknownNameError(f"model: cnn takes square pictures, and an example has {features} features; take mlp")
    return nn.Sequential(
        nn.Unflatten(1, (1, side, side)),
        nn.Conv2d(1, 16, 3, padding=1),
        nn.GroupNorm(4, 16),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(16 * ((side + 1) // 2) ** 2, classes),
    )


MODELS: dict[str, Callable[[int, int], nn.Module]] = {"logistic": _logistic, "mlp": _mlp, "cnn": _cnn}


def task(
    data: str,
    model: str,
    *,
    clients: int,
    alpha: float,
    batch_size: int,
    seed: int,
    device: str = "cpu",
    mine: range | None = None,
) -> Task:
    """Data split over clients by label, and a model, both from one seed; of the data those of some clients, or all.

    Raises:
        UnknownNameError: there are no such data, no such model or no such device.
        PlanError: the split is impossible.
    """
    for what, name, known in (("data", data, [*DATA]), ("model", model, [*MODELS])):
        if name not in known:
            raise UnknownNameError(f"{what}: got {name!r}; known: {', '.join(known)}")
    place = device_named(device)
    rng = np.random.default_rng([seed, 1])
    inputs, targets = DATA[data]()
    order = rng.permutation(len(inputs))
    held, kept = np.split(order, [len(order) // HELD_OUT])

    def tensors(which: Array) -> tuple[Tensor, Tensor]:
        return (
            torch.tensor(inputs[which], dtype=torch.float32, device=place),
            torch.tensor(targets[which], dtype=torch.int64, device=place),
        )

    parts = dirichlet(targets[kept], clients, alpha, rng)
    module = _initialised(MODELS[model](inputs.shape[1], int(targets.max()) + 1), seed).to(place)
    given: dict[str, Any]
    if mine is None:
        given = {"data": [tensors(kept[part]) for part in parts]}
    else:
        given = {"data": {i: tensors(kept[parts[i]]) for i in mine}.__getitem__, "examples": tuple(map(len, parts))}
    federation = Federation(module, nn.functional.cross_entropy, batch_size=batch_size, seed=seed, **given)
    return Task(federation, tensors(held))


def _initialised(module: nn.Module, seed: int) -> nn.Module:
    """Weights uniform in +-1/sqrt(fan in), biases zero, scales one: from a generator, not from torch's own state."""
    generator = torch.Generator().manual_seed(seed)
    for part in module.modules():
        if isinstance(part, nn.Linear | nn.Conv2d):
            bound = part.weight[0].numel() ** -0.5
            nn.init.uniform_(part.weight, -bound, bound, generator=generator)
            if part.bias is not None:
                nn.init.zeros_(part.bias)
    return module


def plan(
    row: Algorithm,
    clients: int,
    cohort: int | None,
    *,
    steps: Steps = 1,
    graph: str = "ring",
    delay: int = 0,
    seed: int = 0,
) -> Schedule:
    """The schedule that fits an algorithm; everybody takes part where it asks for everybody."""
    size = None if cohort is None or {"everyone", "peers"} & {*row.takes} else min(cohort, clients)
    match row.event:
        case "exchange":
            clusters = min(4, size or clients) if "clusters" in row.takes else 1
            return exchanges(
                steps=common(steps), computing=size, senders=size, graph=graph, clusters=clusters, seed=seed
            )
        case "arrival":
            return arrivals(steps=steps, largest_delay=delay, seed=seed)
    return cohorts(size, steps=steps, seed=seed)
