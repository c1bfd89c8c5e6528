"""Evaluation on each client's own test set: the models of clients, and statistics over the clients."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from fedspec.entry import Algorithm
from fedspec.readings.afga import Broadcast
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.federation.federation import Federation
from fedspec_torch.refusals import ModuleError
from fedspec_torch.run.metrics import Metric, measured

WORST = 10
"""Inverse of the share of clients in ``worst_tenth``."""


@dataclass(frozen=True, eq=False)
class Spread:
    """Statistics of one quantity over the n clients that have a test set; a_i is client i's value.

    If a client's value is NaN, so is each statistic.

    Attributes:
        mean: 1/n sum_i a_i.
        weighted: sum_i m_i a_i / sum_i m_i, with m_i the number of client i's test examples.
        std: sqrt(1/n sum_i (a_i - mean)^2).
        worst_tenth: the mean over the ceil(n / 10) clients with the worst values: the largest losses, the smallest
            accuracies, the smallest values of a metric.
        each: [clients] the value of each client; NaN for a client without a test set, which no statistic counts.
    """

    mean: float
    weighted: float
    std: float
    worst_tenth: float
    each: Float[np.ndarray, " clients"]


@dataclass(frozen=True, eq=False)
class ByClient:
    """Results of the models after a round on the clients' own test sets.

    Attributes:
        loss: the test losses.
        accuracy: the shares of test examples that are classified correctly; None if targets aren't classes, or if the
            module has one output for each example.
        metrics: the values of the user's metrics by name; metrics that failed for a client are missing.
    """

    loss: Spread
    accuracy: Spread | None = None
    metrics: Mapping[str, Spread] = field(default_factory=dict)


STATISTICS = tuple(f.name for f in fields(Spread))[:-1]
"""Names of the statistics."""


def spread(each: Sequence[float], examples: Sequence[int], *, worst_is_largest: bool = False) -> Spread:
    """Compute the statistics of the clients' values.

    Args:
        each: the value of each client.
        examples: the number of each client's test examples; 0: the client has no test set.
        worst_is_largest: True for losses.
    """
    every, m = np.array(each, float), np.array(examples)
    a, m = every[m > 0], m[m > 0]
    if np.isnan(a).any():
        return Spread(math.nan, math.nan, math.nan, math.nan, every)
    tenth = np.sort(-a if worst_is_largest else a)[: math.ceil(len(a) / WORST)]
    worst = -tenth.mean() if worst_is_largest else tenth.mean()
    return Spread(float(a.mean()), float(np.average(a, weights=m)), float(a.std()), float(worst), every)


def models_of(row: Algorithm, h: Any, state: Any, federation: Federation) -> Stack | None:
    """Return the models [n, d] that clients keep between rounds; None if each round begins at the server's model.

    Clients keep their models without a server, and if the state has them as ``x_i`` (or ``X``, as CAFGA's state, whose
    clients keep their models under ``broadcast=neighbours`` only).
    """
    shape = len(federation), len(federation.x0)
    if "peers" in row.takes:
        x: Vector = state.x
        return x.reshape(shape)
    kept = ("x_i",) if getattr(h, "broadcast", None) is Broadcast.ALL else ("x_i", "X")
    found = [getattr(state, name, None) for name in kept]
    return next((rows for rows in found if isinstance(rows, Tensor) and rows.shape == shape), None)


def evaluate_each(
    federation: Federation,
    model: Callable[[int], tuple[Vector, Vector]],
    tests: Sequence[Any],
    metrics: Mapping[str, Metric],
) -> tuple[ByClient, Exception | None]:
    """Evaluate each client's model on the client's test set, one client after another.

    Args:
        federation: the federation of the clients.
        model: function that returns the parameters and the running statistics of a client.
        tests: the test set of each client; None: the client has none.
        metrics: the user's metrics by name.

    Returns:
        the results, and the error of the first metric that failed, or None.

    Raises:
        ModuleError: the module or the loss fails on a client's test set.
    """
    values = {name: [math.nan] * len(tests) for name in ("loss", "accuracy", *metrics)}
    examples, known, failed = [0] * len(tests), dict(metrics), None
    for i, test in enumerate(tests):
        if test is None:
            continue
        output: list[Any] = []
        examples[i] = len(federation.tested(test)[0])
        try:
            x, b = model(i)
            loss, accuracy = federation.evaluate(x, test, b, output.append)
        except ModuleError as error:
            raise ModuleError(f"client_tests: client {i}: {error}") from error.__cause__
        found, why = measured(known, *output[0])
        for name, value in (("loss", loss), ("accuracy", accuracy), *found.items()):
            values[name][i] = value
        if why:
            why.add_note(f"metrics: on the test set of client {i}")
            known, failed = {name: known[name] for name in found}, failed or why
    has_classes = any(not math.isnan(value) for value in values["accuracy"])
    return ByClient(
        spread(values["loss"], examples, worst_is_largest=True),
        spread(values["accuracy"], examples) if has_classes else None,
        {name: spread(values[name], examples) for name in known},
    ), failed
