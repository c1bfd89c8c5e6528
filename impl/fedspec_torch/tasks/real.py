"""Real data sets that scikit-learn contains, split over clients by label."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import nn

from fedspec.arith import Array
from fedspec.errors import UnknownNameError
from fedspec_torch.data import partition
from fedspec_torch.tasks.models import MODELS, initialised
from fedspec_torch.tasks.task import Asked, Kind, Task, federated, tensors

HELD_OUT = 5
"""Inverse of the test share: one example in five is for the test."""


def digits() -> tuple[Array, Array]:
    """Return 1797 handwritten digits: 8 x 8 pixels in [0, 1], ten classes (scikit-learn's, from the UCI collection)."""
    from sklearn.datasets import load_digits

    inputs, targets = load_digits(return_X_y=True)
    return inputs / 16, targets


def breast_cancer() -> tuple[Array, Array]:
    """Return 569 diagnoses: 30 standardised features, two classes (scikit-learn's, from the UCI collection)."""
    from sklearn.datasets import load_breast_cancer

    inputs, targets = load_breast_cancer(return_X_y=True)
    return (inputs - inputs.mean(0)) / inputs.std(0), targets


DATA: dict[str, Callable[[], tuple[Array, Array]]] = {"digits": digits, "breast-cancer": breast_cancer}

Split = Callable[[Array, Asked, np.random.Generator], list[Array]]
"""Function that splits examples over clients by their labels."""


def by_label(labels: Array, asked: Asked, rng: np.random.Generator) -> list[Array]:
    """Divide each class over the clients by shares from Dirichlet(alpha)."""
    return partition.dirichlet(labels, asked.clients, asked.alpha, rng)


def one_class_each(labels: Array, asked: Asked, rng: np.random.Generator) -> list[Array]:
    """Give each client examples of a single class."""
    return partition.one_class(labels, asked.clients)


def classified(data: str, split: Split, asked: Asked) -> Task:
    """Make a classification task: a fifth of the examples is for the test, the rest is split over the clients.

    Raises:
        PlanError: the examples can't be divided over so many clients.
    """
    rng = np.random.default_rng([asked.seed, 1])
    inputs, targets = DATA[data]()
    order = rng.permutation(len(inputs))
    held, kept = np.split(order, [len(order) // HELD_OUT])
    parts = split(targets[kept], asked, rng)
    module = initialised(MODELS[asked.model](inputs.shape[1], int(targets.max()) + 1), asked.seed)
    pairs = [(inputs[kept[part]], targets[kept[part]]) for part in parts]
    federation = federated(asked, module, nn.functional.cross_entropy, pairs)
    return Task(federation, tensors((inputs[held], targets[held]), asked.device))


def _one_class(asked: Asked) -> Task:
    of = asked.given["of"]
    if of not in DATA:
        raise UnknownNameError(f"one-class: of: got {of!r}; known: {', '.join(DATA)}")
    return classified(of, one_class_each, asked)


_MODELS = ("mlp", "logistic", "cnn", "matrices")

KINDS = {
    "digits": Kind("1797 handwritten digits", _MODELS, lambda a: classified("digits", by_label, a), {}, True),
    "breast-cancer": Kind("569 diagnoses", _MODELS, lambda a: classified("breast-cancer", by_label, a), {}, True),
    "one-class": Kind("classified examples, of one class for each client", _MODELS, _one_class, {"of": "digits"}),
}
