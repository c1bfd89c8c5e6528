"""Mime: MimeLite whose clients correct each gradient towards the mean gradient at the server's model.

    g_x = sum_i p_i 1/tau_i sum_k g_i,k(x)                                    (first, and sent to the participants)
    for each participating client i:
        y = x;  for k < tau_i:
            c_i = g_x - g_i,k(x);  g = g_i,k(y) + c_i                         (of one batch at two models)
            y = y - eta_l ((1 - beta) g + beta m)                             (m stays what it is)
    x = x + eta sum_i p_i (y_i - x)
    m = (1 - beta) g_x + beta m

with p_i = 1/|S|, m = 0 at first and eta = 1 as published. As in MimeLite, the base optimiser is SGD with momentum, and
for the gradient of all examples of a client at x stands the mean over the batches of its own tau_i steps: the same
where these go through its examples once in batches of one size.

External: Karimireddy et al. (2020), arXiv 2008.03606, of which the abstract alone was opened. Witnesses: google/fedjax
at c57ee19, fedjax/algorithms/mime.py:90-108 and 168-211; RickZack/GHBM at b57b7c5, src/algo/mime.py and
src/algo/fed_clients/mime_client.py (_before_opt_step), with src/algo/center_server/mime_center_server.py at 3d01a7a.
Both ask the clients of a round twice, first for their gradients at x. FedML-AI/FedML at 10c251c departs from them
(python/fedml/ml/trainer/mime_trainer.py, with simulation/sp/mime/mime_trainer.py at 84784ff and opt_utils.py at
19f4011): gradients where the local steps ended, summed over batches and clipped, correct the round after; the server's
optimiser steps the averaged model; in the first round, where that has no state yet, clients keep momentum of their own.
"""

from __future__ import annotations

from typing import Any

from fedspec import phrases
from fedspec.algorithms.mime_lite import (
    FROZEN,
    MEAN_OF_BATCHES,
    OLD_GRADIENT,
    READINGS,
    STEPS_ONCE,
    SYMBOLS,
    MimeLite,
    State,
    init,
    mean_at,
)
from fedspec.arith import Vector
from fedspec.client.controlled import corrected_gradient
from fedspec.client.mimicked import mimed_correction, mimicked_sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program
from fedspec.facts import Fact
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan
from fedspec.population import Clients, each
from fedspec.server.average import average
from fedspec.server.mimicked import mimicked_momentum


def step(h: MimeLite, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round."""
    p = shares(plan.examples, state.x, h.weights)
    g_x = mean_at(state.x, clients, plan, p)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            # One gradient is read before the next is asked for: both may be in the same memory.
            c_i = mimed_correction(gradient(k, x), g_x)
            y = mimicked_sgd(y, corrected_gradient(gradient(k, y), c_i), state.m, **h.of(mimicked_sgd))
        return y - x

    delta = weighted_mean(each(client, clients, plan, state.x), p)
    m = mimicked_momentum(state.m, g_x, **h.of(mimicked_momentum))
    x = average(state.x, delta, eta=h.eta)
    return State(x=x, m=m), {"delta": delta, "g_x": g_x, "m": m}


ROW = Algorithm(
    id="mime",
    family=Family.CONTROL,
    title="local steps that mimic a central momentum SGD: its frozen state, and a correction by the mean gradient",
    source="external: Karimireddy et al. (2020), Mime",
    basis=Basis.CODE,
    levels=("round",),
    readings=READINGS,
    run=Program(hyper=MimeLite, init=init, step=step),
    costs=Costs(
        down="3 m d",
        up="2 m d",
        working="4 d",
        server="2 d",
        note="a round asks its clients twice; beside x they need of m and g_x one sum alone, with which 2 m d are "
        "enough down and 3 d to work with",
    ),
    facts=(Fact.ISOTROPIC,),
    traps=(
        phrases.DOWNHILL,
        "both gradients of a correction are of one batch; at x and at y from different batches they add noise",
        "g_x is of this round's clients at this round's x; that of the round before corrects by other clients",
        FROZEN,
        OLD_GRADIENT,
        STEPS_ONCE,
        MEAN_OF_BATCHES,
    ),
    symbols=SYMBOLS,
)
