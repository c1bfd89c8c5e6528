"""Federated averaging and adaptive servers under client-level differential privacy.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = min(1, c / ||x_i - x||) (x_i - x)
    Delta = 1/|S| (sum_i Delta_i + sigma c z)      (z: d standard normal draws, part of the plan)
    server: average, AdaGrad or Adam

The paper calls c the gradient clip value (L1647); in the other reading it shortens every g_i, and no change.
The budget that sigma buys is computed by ``fedspec_proofs.privacy``. Source: FedAda2, sec. 6.1 (L206) and App. H.1
(L1639), which leave the mechanism to the reader; external: McMahan et al. (2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec.arith import Scalar, Vector, array
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.private import clip, noisy_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Clipped, PrivateServer
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.average import average


@dataclass(frozen=True)
class DpFedAvg(Hyper):
    """Hyper-parameters of DP-FedAvg and of its adaptive servers."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        **dict.fromkeys(("beta1", "tau", "v0"), ("server=adagrad", "server=adam")),
        "beta2": ("server=adam",),
    }

    eta_l: Scalar
    eta: Scalar
    clip_norm: Scalar
    sigma: Scalar
    beta1: Scalar = NOT_GIVEN
    beta2: Scalar = NOT_GIVEN
    tau: Scalar = NOT_GIVEN
    v0: Scalar = NOT_GIVEN
    server: PrivateServer = PrivateServer.AVERAGE
    clipped: Clipped = Clipped.CHANGE


def init(h: DpFedAvg, x: Vector, setup: Setup) -> Adaptive:
    """Initial state: no momentum; second moment v_0 if the server has one."""
    return init_adaptive(x, v0=0 if h.server is PrivateServer.AVERAGE else h.v0)


def step(h: DpFedAvg, state: Adaptive, clients: Clients, plan: Plan) -> tuple[Adaptive, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: the plan doesn't have exactly one draw of noise for each coordinate.
    """
    check_noise(plan, state.x)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = sgd(y, gradient(k, y), eta_l=h.eta_l)
        return clip(y - x, clip_norm=h.clip_norm)

    def of_gradients(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y = x
        for k in range(tau):
            y = sgd(y, clip(gradient(k, y), clip_norm=h.clip_norm), eta_l=h.eta_l)
        return y - x

    deltas = each(of_gradients if h.clipped is Clipped.GRADIENTS else client, clients, plan, state.x)
    delta = noisy_mean(deltas, array(plan.noise, state.x), clip_norm=h.clip_norm, sigma=h.sigma)
    match h.server:
        case PrivateServer.AVERAGE:
            state = replace(state, x=average(state.x, delta, eta=h.eta), t=state.t + 1)
        case PrivateServer.ADAGRAD:
            state = adagrad(state, delta, eta=h.eta, beta1=h.beta1, tau=h.tau)
        case PrivateServer.ADAM:
            state = adam(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau)
    return state, {"delta": delta}


def check_noise(plan: Plan, x: Vector) -> None:
    """Raise PlanError unless the plan has one noise draw for each coordinate.

    Raises:
        PlanError: the plan doesn't have exactly one draw of noise for each coordinate.
    """
    if len(plan.noise) != len(x):
        raise PlanError(
            f"noise: got {len(plan.noise)} draws for {len(x)} coordinates; give one standard normal draw for each"
        )


ROW = Algorithm(
    id="dp-fedavg",
    family=Family.JOINT,
    place=8,
    title="clipped changes and a noisy mean under a plain or adaptive server",
    source="FedAda2, L206 and App. H.1 (L1639), in words; external: McMahan et al. (2018)",
    basis=Basis.MEMORY,
    levels=("round",),
    readings=(
        Reading(
            name="mcmahan-2018",
            words="flat clipping of the whole change, noise on the sum, mean over |S|",
            fixes={"clipped": "change"},
        ),
        Reading(
            name="gradient-clip",
            words="c clips every local gradient (L1647), and no change; noise and mean as there",
            fixes={"clipped": "gradients"},
        ),
    ),
    # Its moments rest under a server that averages.
    shows=("delta",),
    run=Program(hyper=DpFedAvg, init=init, step=step, takes=("noise", "repeats")),
    costs=Costs(down="m d", up="m d", server="d", note="under the server that averages; adaptive ones keep 3 d"),
    traps=(
        "the change is clipped whole, by its Euclidean length, before the mean",
        "the noise is drawn once for the sum: sigma times the clipping bound, then divided by |S|",
    ),
    facts=(Fact.ISOTROPIC,),
    symbols={"clip_norm": "c (McMahan et al.: S)", "sigma": "sigma (McMahan et al.: z)"},
)
