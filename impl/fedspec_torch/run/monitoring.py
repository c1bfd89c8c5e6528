"""Monitoring of a run: test examples, metrics on them, and callbacks after every round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any

import torch

from fedspec.errors import PlanError, ShapeError
from fedspec_torch.data.examples import finite
from fedspec_torch.data.loading import test_batch
from fedspec_torch.federation.federation import Federation
from fedspec_torch.ranks.processes import here
from fedspec_torch.refusals import DataError
from fedspec_torch.run.log import log_of
from fedspec_torch.run.metrics import Metric, Told
from fedspec_torch.run.runs import Round


def check_monitoring(
    federation: Federation, test: Any, client_tests: Any, metrics: Any, on_round: Any, log: Any
) -> tuple[Any, tuple[Any, ...] | None, dict[str, Metric], tuple[Told, ...]]:
    """Check a run's test examples, metrics and callbacks, and return them; the log is the first callback.

    Raises:
        ShapeError: the test examples don't have the structure of the clients' batches, or examples of the test Dataset
            differ in shape.
        DataError: the Dataset draws at random, or the loss isn't finite because an example isn't.
        PlanError: client tests aren't a list with a test set for each client, or there are several processes; metrics
            aren't functions by name, or there is no test set for them; a callback isn't a function; or the log can't be
            written.
    """
    if test is not None:
        test = test_batch(test, federation.keys, federation.x0.device)
        check_finite(federation, test)
    own = None if client_tests is None else checked_client_tests(federation, client_tests, here().size)
    taken = tuple(f.name for f in fields(Round))
    written = log_of(log)
    found = checked_metrics(metrics, own if test is None else test, taken)
    return test, own, found, (*([written] if written else []), *checked_callbacks(on_round))


def checked_client_tests(federation: Federation, tests: Any, ranks: int) -> tuple[Any, ...]:
    """Check the clients' own test sets, and return them; Datasets are read.

    Raises:
        PlanError: the test sets aren't a list with one for each client, no client has one, or there are several ranks.
        ShapeError: a test set doesn't have the structure of the clients' batches.
        DataError: a Dataset draws at random, or a loss isn't finite because an example isn't.
    """
    n = len(federation)
    if ranks > 1:
        raise PlanError(
            "client_tests: the clients' own test sets are evaluated on one process only, but there are "
            f"{ranks} ranks; run without torchrun, or leave client_tests out"
        )
    if not isinstance(tests, list | tuple):
        raise PlanError(
            f"client_tests: got {type(tests).__name__}; give a list with one test set for each client, such as "
            "(inputs, targets), and None for a client without one"
        )
    if len(tests) != n or all(test is None for test in tests):
        some = f"{len(tests)} test sets" if len(tests) != n else "no test set"
        raise PlanError(
            f"client_tests: got {some}, but the federation has {n} clients; give one test set for each client, in the "
            "clients' order, and None for a client without one"
        )
    found = []
    for i, test in enumerate(tests):
        who = f"client_tests: client {i}"
        try:
            found.append(None if test is None else test_batch(test, federation.keys, federation.x0.device, who))
            if test is not None:
                check_finite(federation, found[i], who)
        except ShapeError as error:
            said = str(error).removesuffix("; leave it out")
            raise ShapeError(said + "; give None for it" * said.endswith("no example")) from error
    return tuple(found)


def check_finite(federation: Federation, test: Any, who: str = "test") -> None:
    """Raise an error if the test batch has a non-finite example and the loss on it isn't finite either.

    Raises:
        DataError: a test example isn't finite; the message has the index of the first such example.
    """
    clean = torch.stack([finite(part) for part in federation.tested(test, who)])
    unclean = [int(k) for k in (~clean.all(0)).nonzero()[:, 0]]
    if not unclean:
        return
    # Whoever fills or masks such numbers has a loss all the same.
    with federation.in_its_modes():
        loss, _ = federation.evaluate(federation.x0, test)
    if not isfinite(loss):
        what = federation.structure.tensors[int(clean[:, unclean[0]].int().argmin())]
        more = f" (and {len(unclean) - 1} more are such)" if len(unclean) > 1 else ""
        raise DataError(
            f"{who}: example {unclean[0]} has {what} that aren't finite{more}, and the loss on the test set is {loss}; "
            "leave the example out, or replace these numbers"
        )


def checked_metrics(metrics: Any, test: Any, taken: Sequence[str]) -> dict[str, Metric]:
    """Check the metrics, and return them by name.

    Args:
        metrics: the metrics as the caller gave them.
        test: the test set; None: no test set.
        taken: the names of the values that every round has, which metrics must not use.

    Raises:
        PlanError: the metrics aren't functions by name, there is no test set, or a name is already in use.
    """
    if not metrics:
        return {}
    if not isinstance(metrics, Mapping):
        raise PlanError(f"metrics: got {type(metrics).__name__}; give functions by name, metrics={{'f1': f}}")
    if test is None:
        raise PlanError("metrics: given without a test set; give test=(inputs, targets)")
    for name, metric in metrics.items():
        if not isinstance(name, str) or not callable(metric):
            raise PlanError(f"metrics: {name!r}: got {metric!r}; give a function of output and targets by its name")
        if name in taken:
            raise PlanError(f"metrics: {name!r} is a field of every round; give the metric another name")
    return dict(metrics)


def checked_callbacks(on_round: Any) -> tuple[Told, ...]:
    """Return the callbacks as a tuple, from one function or several.

    Raises:
        PlanError: a callback isn't a function.
    """
    several = tuple(on_round) if isinstance(on_round, list | tuple) else (() if on_round is None else (on_round,))
    for one in several:
        if not callable(one):
            raise PlanError(f"on_round: got {one!r}; give a function of run and round, or a list of them")
    return several
