"""Federated averaging and adaptive servers under client-level differential privacy.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = min(1, c / ||x_i - x||) (x_i - x)
    Delta = 1/|S| (sum_i Delta_i + sigma c z)      (z: d standard normal draws, part of the plan)
    server: average, AdaGrad or Adam

The budget that sigma buys is computed by ``fedspec_proofs.privacy``. Source: FedAda2, sec. 5 (L206) and App. H.1
(L1639), which leave the mechanism to the reader; external: McMahan et al. (2018).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec.algorithms.local import local_sgd
from fedspec.arith import Scalar, Vector
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.private import clip, noisy_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import PrivateServer
from fedspec.server.adagrad import Adaptive, general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam
from fedspec.server.average import average


@dataclass(frozen=True)
class DpFedAvg(Hyper):
    """Hyper-parameters of DP-FedAvg and of its adaptive servers."""

    eta_l: Scalar
    eta: Scalar
    clip_norm: Scalar
    sigma: Scalar
    beta1: Scalar = 0
    beta2: Scalar = 0
    tau: Scalar = 1
    v0: Scalar = 0
    server: PrivateServer = PrivateServer.AVERAGE


def init(h: DpFedAvg, x: Vector, setup: Setup) -> Adaptive:
    """No momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def step(h: DpFedAvg, state: Adaptive, clients: Sequence[Oracle], plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """One round.

    Raises:
        PlanError: the plan does not bring one draw of noise for each coordinate.
    """
    x = state.x
    if len(plan.noise) != len(x):
        raise PlanError(f"noise: {len(plan.noise)} draws for {len(x)} coordinates; give one standard normal draw each")
    deltas = [
        clip(local_sgd(h, x, clients[i], tau) - x, clip_norm=h.clip_norm)
        for i, tau in zip(plan.participants, plan.steps, strict=True)
    ]
    noise = np.array(plan.noise, dtype=x.dtype)
    delta = noisy_mean(np.stack(deltas), noise, clip_norm=h.clip_norm, sigma=h.sigma)
    match h.server:
        case PrivateServer.AVERAGE:
            state = Adaptive(x=average(x, delta, eta=h.eta), m=state.m, v=state.v, t=state.t + 1)
        case PrivateServer.ADAGRAD:
            state = general_adagrad(state, delta, **h.of(general_adagrad))
        case PrivateServer.ADAM:
            state = general_adam(state, delta, **h.of(general_adam))
    return state, {"delta": delta}


ROW = Algorithm(
    id="dp-fedavg",
    family=Family.JOINT,
    place=8,
    title="clipped changes and a noisy mean under a plain or adaptive server",
    source="FedAda2, L206 and App. H.1 (L1639), in words; external: McMahan et al. (2018)",
    levels=("round",),
    rules=(sgd, clip, noisy_mean, average, general_adam, general_adagrad),
    readings=(
        Reading(name="mcmahan-2018", words="flat clipping of the whole change, noise on the sum, mean over |S|"),
    ),
    shows=("delta",),
    run=Program(hyper=DpFedAvg, init=init, step=step, takes=("noise", "repeats")),
    when={"server=average": (average,), "server=adagrad": (general_adagrad,), "server=adam": (general_adam,)},
    costs=Costs(down="m d", up="m d", server="d", note="under the server that averages; adaptive ones keep 3 d"),
    traps=(
        "the change is clipped whole, by its Euclidean length, before the mean",
        "the noise is drawn once for the sum: sigma times the clipping bound, then divided by |S|",
    ),
    facts=(Fact.ISOTROPIC,),
)
