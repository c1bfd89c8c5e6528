"""MimeLite: clients run momentum SGD with the server's buffer, which stays fixed while they do.

    for each participating client i:
        y = x;  tau_i times: y = y - eta_l ((1 - beta) g_i(y) + beta m)       (m stays what it is)
    g_x = sum_i p_i 1/tau_i sum_k g_i,k(x)                                    (at the x that they were sent)
    x = x + eta sum_i p_i (y_i - x)
    m = (1 - beta) g_x + beta m

with p_i = 1/|S|, m = 0 at first and eta = 1 as published. The paper takes any optimiser for a base, as an update of the
model that reads a state, and an update of the state; here it is SGD with momentum. Of client i it takes the gradient of
all examples at x. Here that is the mean over the batches g_i,k of the client's own tau_i steps: the same where these go
through its examples once in batches of one size, and an estimate by what the steps drew elsewhere.

External: Karimireddy, Jaggi, Kale, Mohri, Reddi, Stich and Suresh (2020), "Mime: Mimicking Centralized Stochastic
Algorithms in Federated Learning", arXiv 2008.03606, of which the abstract alone was opened. Witnesses, in all of which
the state is frozen locally and fed the mean gradient at the old model: google/fedjax at c57ee19,
fedjax/algorithms/mime_lite.py:58-74, 125-149 and 151-170; google-parfait/tensorflow-federated at 0873bd8,
tensorflow_federated/python/learning/algorithms/mime.py (client_update, update_optimizer_state); RickZack/GHBM at
b57b7c5, src/algo/fed_clients/mime_client.py (calculate_full_grad, a mean over the batches of an epoch; _opt_step) with
src/algo/center_server/mime_center_server.py at 3d01a7a. All leave the form of momentum to the optimiser that they are
given, whose buffer is a sum; that the paper's averages, as in the canonical reading, was not checked in its text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Vector, Weights, numbered, numbers, repeated, zeros
from fedspec.client.mimicked import mimicked_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.mimicked import gradient_at_x
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each, gradients
from fedspec.readings import MomentumSum, Shares
from fedspec.records import record
from fedspec.server.average import average
from fedspec.server.mimicked import mimicked_momentum


@dataclass(frozen=True)
class MimeLite(Hyper):
    """Hyper-parameters and readings of MimeLite, and of Mime."""

    eta_l: Scalar
    beta: Scalar
    eta: Scalar = 1
    momentum_sum: MomentumSum = MomentumSum.AVERAGE
    weights: Shares = Shares.UNIFORM


@record
class State:
    """The server's model and its momentum buffer, the state of the base optimiser."""

    x: Vector
    m: Vector


def init(h: MimeLite, x: Vector, setup: Setup) -> State:
    """Initial state: a momentum buffer of zeros."""
    return State(x=x, m=zeros(x))


def mean_at(x: Vector, clients: Clients, plan: Plan, p: Weights) -> Vector:
    """Mean gradient of the participants at x, over the batches of their local steps."""
    g_x, tau = zeros(x), numbers(plan.steps, p)
    for t in range(max(plan.steps)):
        there = numbered((place for place, steps in enumerate(plan.steps) if steps > t), p)
        S = [plan.participants[place] for place in there]
        g_x = gradient_at_x(g_x, gradients(clients, S, t, repeated(x, len(S))), p[there], tau[there])
    return g_x


def step(h: MimeLite, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = mimicked_sgd(y, gradient(k, y), state.m, **h.of(mimicked_sgd))
        return y - x

    p = shares(plan.examples, state.x, h.weights)
    delta = weighted_mean(each(client, clients, plan, state.x), p)
    g_x = mean_at(state.x, clients, plan, p)
    x = average(state.x, delta, eta=h.eta)
    m = mimicked_momentum(state.m, g_x, **h.of(mimicked_momentum))
    return State(x=x, m=m), {"delta": delta, "g_x": g_x, "m": m}


READINGS = (
    Reading(
        name="averaged-buffer",
        formerly=("karimireddy-2020",),
        words="the buffer averages, y = y - eta_l ((1 - beta) g + beta m); plain means; eta = 1 as published",
        fixes={"momentum_sum": "average", "weights": "uniform"},
    ),
    Reading(
        name="fedjax",
        words="the buffer is a sum, y = y - eta_l (g + beta m), as optax's and TFF's SGD have it; means by examples "
        "(google/fedjax at c57ee19, fedjax/core/optimizers.py:227-250 and fedjax/algorithms/mime.py:171-211)",
        fixes={"momentum_sum": "sum", "weights": "examples"},
    ),
    Reading(
        name="unweighted-sum",
        words="the buffer is a sum; plain means, as TFF's build_unweighted_mime_lite and GHBM's mean gradient are",
        fixes={"momentum_sum": "sum", "weights": "uniform"},
    ),
)

FROZEN = "m is frozen while clients step: one that feeds it takes heavy-ball steps of its own"
OLD_GRADIENT = "m is fed the gradient at the model that the round began with, not at where clients end, and no change"
STEPS_ONCE = "the model moves by the mean change alone: the base optimiser, which is fed g_x, does not step it again"
MEAN_OF_BATCHES = "a client's gradient at x is a mean over its batches, not their sum"

SYMBOLS = {"m": "s", "g_x": "c", "eta_l": "eta", "tau_i": "K"}

ROW = Algorithm(
    id="mime-lite",
    family=Family.CONTROL,
    title="local steps with the server's momentum, which stays frozen",
    source="external: Karimireddy et al. (2020), Mime",
    basis=Basis.CODE,
    levels=("round",),
    readings=READINGS,
    run=Program(hyper=MimeLite, init=init, step=step),
    costs=Costs(
        down="2 m d",
        up="2 m d",
        working="2 d",
        server="2 d",
        note="the gradients at x are as many as the steps again; taken first and sent, they need no memory",
    ),
    facts=(Fact.ISOTROPIC,),
    traps=(phrases.DOWNHILL, FROZEN, OLD_GRADIENT, STEPS_ONCE, MEAN_OF_BATCHES),
    symbols=SYMBOLS,
)
