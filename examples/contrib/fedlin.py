"""FedLin: local steps along the mean gradient at x plus the change of the client's own gradient since x.

    g_i = grad f_i(x) for every client i;  g = sum_i g_i / n
    every client i:
        y = x;  tau times: y = y - eta_l (g_i(y) - g_i + g)
    x = sum_i y / n

over all n clients, with tau steps each. A round asks every client twice: for g_i, and for y.

External: Mitra, Jaafar, Pappas and Hassani (2021), arXiv 2102.07053, of which the abstract was opened: it has a
learning rate for each client, and compressed gradients. Witness: Glebzok/ProxSkip (Fedlin.step of
proxskip/methods/fedlin.py, get_fedlin_grad and run_fedlin of proxskip/methods/utils.py, all at 54d3f56), the code of
another paper that compares with it. It has one rate and one number of steps for all, compresses nothing, and refuses
rounds in which somebody does not take part. So does this.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.arith import Array, Scalar, Stack, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.average import average
from fedspec_suite.own import Mistake


@dataclass(frozen=True)
class FedLin(Hyper):
    """Hyper-parameter of FedLin."""

    eta_l: Scalar


@record
class State:
    """The server's model."""

    x: Vector


@rule
def mean_gradient(g_i: Stack) -> Vector:
    """Return the mean of all clients' gradients at x.

        g = sum_i g_i / n                                     fedlin.g

    External: Mitra, Jaafar, Pappas and Hassani (2021).
    """
    g: Vector = g_i.sum(axis=0) / g_i.shape[0]
    return g


@rule
def fedlin(y: Vector, there: Vector, g_i: Vector, g: Array, *, eta_l: Scalar) -> Vector:
    """Take a local step along the mean gradient at x plus the change of the client's own gradient since x.

        y = y - eta_l (g_i(y) - g_i + g)                      fedlin.step

    External: Mitra, Jaafar, Pappas and Hassani (2021).
    """
    return y - eta_l * (there - g_i + g)


def init(h: FedLin, x: Vector, setup: Setup) -> State:
    """Begin with the model alone."""
    return State(x=x)


def step(h: FedLin, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""
    plan = plan.of_everyone(len(clients))

    def asked(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        return gradient(0, x)

    g_i = each(asked, clients, plan, state.x)
    g = mean_gradient(g_i)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = fedlin(y, gradient(k, y), g_i[i], g, eta_l=h.eta_l)
        return y - x

    deltas = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    return State(x=average(state.x, delta)), {"delta": delta, "g": g}


ROW = Algorithm(
    id="fedlin",
    family=Family.CONTROL,
    title="local steps along the mean gradient at x, corrected by one's own",
    source="external: Mitra, Jaafar, Pappas and Hassani (2021), arXiv 2102.07053",
    levels=("round",),
    readings=(
        Reading(name="proxskip-code", words="one rate and one number of steps for all, every client in every round"),
    ),
    run=Program(hyper=FedLin, init=init, step=step, takes=("everyone", "one-length")),
    costs=Costs(down="2 n d", up="2 n d", working="3 d", note="beside x and y a client needs g - g_i alone"),
    denies={},
    traps=(
        "g_i is the client's gradient at x, not at y, and is the same in all steps of a round",
        "g is the mean of this round's gradients; that of the round before is another method",
        "with rates of their own clients that take unlike numbers of steps go equally far; here all take as many",
    ),
)


def on_quadratics(z: Any, e: Any) -> list[Any]:
    """Return a round on quadratics as one matrix: tau steps at each client, whose mean gradient is that at x."""
    n = len(z.all)
    g = sum(z.gradient(i) for i in z.all) / n
    moved = -1 * sum(z.reach(i, tau) @ g / n for i, tau in zip(e.participants, e.steps, strict=True))
    return [z.block(0) + moved, *(z.block(1 + i) for i in z.all)]


MAPS = {"fedlin": on_quadratics}

MUTANTS = (
    Mistake(
        id="fedlin-uncorrected",
        words="clients go along their own gradients, as under FedAvg",
        function=fedlin,
        old="there - g_i + g",
        new="there",
    ),
    Mistake(
        id="fedlin-turned",
        words="the correction has the wrong sign",
        function=fedlin,
        old="there - g_i + g",
        new="there + g_i - g",
    ),
    Mistake(
        id="fedlin-sum",
        words="g is the sum of the gradients, not their mean",
        function=mean_gradient,
        old=" / g_i.shape[0]",
        new="",
    ),
    Mistake(
        id="fedlin-first-step-alone",
        words="clients go along g, wherever they are: their own gradients are taken at x",
        function=step,
        old="gradient(k, y), g_i[i], g",
        new="gradient(k, x), g_i[i], g",
    ),
)
