"""Runs of an algorithm round by round on given clients, and clients whose batches have their own gradients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

from test_spec.exact import vec

from fedspec.algorithms.synchronous import model, run_round
from fedspec.arith import Array
from fedspec.catalogue import Method, Program, find
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients


def line(*e: Any, h: Sequence[Any] = ()) -> QuadraticClients:
    """Clients on a line, F_i = h_i x^2 / 2 - e_i x, in fractions; h_i = 1 where none is given."""
    curvatures = h or [1] * len(e)
    return QuadraticClients(vec(*curvatures)[:, None, None], vec(*e)[:, None])


@dataclass
class Run:
    """An algorithm on its clients: hyper-parameters by name, the options among them as strings."""

    algorithm: str
    hyper: Mapping[str, Any]
    clients: Sequence[Oracle]
    examples: Sequence[Any]
    x: Array

    def __post_init__(self) -> None:
        run = find(self.algorithm).run
        assert isinstance(run, Method | Program)
        self.run = run
        self.h = run.hyper(**self.hyper)
        if isinstance(run, Program):
            self.state = run.init(self.h, self.x, Setup(tuple(self.examples), {"w": self.x.shape}))
        else:
            self.state = run.init(self.h, self.x)

    def round(self, steps: Mapping[int, int] | Sequence[int], draws: Sequence[int] = ()) -> dict[str, Any]:
        """Run one round, by who takes part and how many steps; ``draws`` names clients more than once."""
        by_client = dict(steps) if isinstance(steps, Mapping) else dict(enumerate(steps))
        who = tuple(draws or by_client)
        n = tuple(self.examples[i] for i in who)
        plan = Plan(who, tuple(by_client[i] for i in who), n, repeats=bool(draws))
        run = self.run
        if isinstance(run, Program):
            self.state, values = run.step(self.h, self.state, self.clients, plan)
        else:
            trace = run_round(self.h, self.state, self.clients, plan, local=run.local, norm=run.norm, server=run.server)
            self.state, values = trace.state, trace.values
        self.x = model(self.state)
        return values

    def rounds(self, plans: Iterable[Mapping[int, int] | Sequence[int]]) -> Array:
        """The model after all of them."""
        for plan in plans:
            self.round(plan)
        return self.x


SLOPES = (((1, 2, 3), (F(1, 2), F(1, 2), F(1, 2))), ((0, 1, 2), (4, -1, 0)), ((5, 1, -2), (1, 2, 0)))
"""Slopes of each client, of each of three batches: g(x) = a x - b, as the numbers a and b."""

ROUNDS = [{0: 3, 1: 1}, {2: 2}, {0: 1, 1: 2, 2: 3}, {1: 3}]
"""The steps of those who take part."""


def gradient(i: int, k: int, x: F, slopes: Any = SLOPES) -> F:
    """Gradient of client i on its batch k."""
    a, b = (F(column[k]) for column in slopes[i])
    return a * x - b


def batches(slopes: Any = SLOPES) -> list[Any]:
    """The clients of these gradients."""
    return [lambda k, x, i=i: vec(gradient(i, k, x[0], slopes)) for i in range(3)]
