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
        refusal: function that returns why the way doesn't take a module and a loss, or the examples of some clients
            though it takes these; "" if it does.
        run: function that returns the run of all steps of a job, or the reason why there is none; None: the job is done
            step by step, by gradients.
        method: the gradient method, which doesn't compute losses if ``told`` is false; None: that of ``beside``.
        steps: function that writes multiples of gradients from where the examples lie, without minibatches; None if
            there is none (:func:`fedspec_torch.ways.loops.steps`).
        beside: name of the way whose gradients it has, and with whose runs its own are compared and timed; "" if it has
            gradients of its own, with which its runs go.
        spared: multiple of another way's time below which this one is chosen.
    """

    name: str
    refusal: Callable[[Network, Batches | None], str]
    run: Callable[[Job], Run | str | None]
    method: Method | None = None
    steps: Callable[..., Weights] | None = None
    beside: str = ""
    spared: float = 1.0
