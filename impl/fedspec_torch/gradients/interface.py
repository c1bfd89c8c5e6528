"""Interface of the optional ways to take local steps, which a module may have beside calls of its own.

A way recognises what a module, a loss and a solver are made of, and computes the same numbers, up to the order of sums,
in less time. :mod:`fedspec_torch.ways.table` lists them; without any of them clients train by the methods of
:mod:`fedspec_torch.gradients.methods`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TypeAlias

from fedspec_torch.arith import Ended, Stack, Weights
from fedspec_torch.data.batches import Batches
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.methods import Method, Network
from fedspec_torch.local.solvers import InPlace

Run: TypeAlias = Callable[[Sequence[int]], Ended]
"""Run of a block: maps each client's number of steps, in descending order, to the models and losses."""


@dataclass(frozen=True, eq=False)
class Job:
    """Local steps of a block of clients.

    Attributes:
        network: the module and the loss.
        solver: the local solver.
        x: the models from which the clients begin; they aren't overwritten.
        batches: the clients' minibatches.
        way: name of the way that the user chose; None: the fastest is wanted.
        naming: function that returns a context which names the client of an error, from the minibatches read last.
    """

    network: Network
    solver: InPlace
    x: Stack
    batches: Batches
    way: str | None
    naming: Callable[[Sequence[Minibatch]], AbstractContextManager[None]]


@dataclass(frozen=True, eq=False)
class Way:
    """Optional way to take local steps.

    Attributes:
        name: the name, by which a user can choose it.
        refusal: function that returns why the way doesn't support a module and a loss, or, if it supports them, some
            clients' examples; "" if it does.
        run: function that returns the run of all steps of a job, or the reason why there is none; None: the steps are
            taken one by one, by gradients.
        method: the gradient method, which leaves out the losses if ``told`` is false; None: ``beside``'s method.
        steps: function that writes multiples of gradients without minibatches, from where the examples are stored
            (:func:`fedspec_torch.ways.loops.steps`); None: gradients need minibatches.
        beside: name of another way, with whose runs the runs of this one are compared and timed; "" if the runs belong
            to the gradient method.
        spared: the way is chosen if its gradients take less than this multiple of another way's time.
    """

    name: str
    refusal: Callable[[Network, Batches | None], str]
    run: Callable[[Job], Run | str | None]
    method: Method | None = None
    steps: Callable[..., Weights] | None = None
    beside: str = ""
    spared: float = 1.0
