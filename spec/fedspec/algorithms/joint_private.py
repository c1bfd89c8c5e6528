"""Joint adaptivity under client-level differential privacy: direct, without communication, or FedAda2.

    for each participating client i (a multiset):
        x_i = x;  v_0 = the server's v (direct), else 0
        for k = 1 .. K_i: one step of AdaGrad, or of Adam (FedAda2: over SM3), on x_i, at eta_l min(1, k / warm_up)
        Delta_i = min(1, c / ||x_i - x||) (x_i - x)
    Delta = 1/|S| (sum_i Delta_i + sigma c z)      (z: d standard normal draws, part of the plan)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
    x = x + eta m / (sqrt(v) + tau)

The paper calls c the gradient clip value (L1647); in the other reading it shortens every g_i, and no change. Sending v
costs no privacy: the server makes it of noisy means. Source: FedAda2, sec. 6.1 (L206), App. H.1 (L1639) and Table 3
(L1653), which leave the mechanism to the reader; external: McMahan et al. (2018).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.private import check_noise
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, Covered, covered, server_step
from fedspec.arith import Scalar, Shared, Vector, array, zeros
from fedspec.client.admu import Admu, admu
from fedspec.client.agdu import Agdu, agdu
from fedspec.client.delay import held, warmed
from fedspec.client.sm3_adam import begin as begin_sm3_adam
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import begin as begin_sm3
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.costs import Costs
from fedspec.covers import AnyCover
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.private import clip, noisy_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Adaptivity, Clipped, CoverName, Preconditioner, WarmUp


@dataclass(frozen=True)
class DpJoint(Hyper):
    """Hyper-parameters and options of private joint adaptivity; beta1_l, beta2_l and warm_up are the clients'."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "beta2": ("server=adam",),
        "beta1_l": ("client=adam",),
        "beta2_l": ("client=adam",),
        "cover": ("preconditioner=compressed",),
    }

    eta_l: Scalar
    eps: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    clip_norm: Scalar
    sigma: Scalar
    beta2: Scalar = NOT_GIVEN
    beta1_l: Scalar = NOT_GIVEN
    beta2_l: Scalar = NOT_GIVEN
    warm_up: int = 1
    server: Adaptivity = Adaptivity.ADAGRAD
    client: Adaptivity = Adaptivity.ADAGRAD
    warm_up_from: WarmUp = WarmUp.FIRST_STEP
    preconditioner: Preconditioner = Preconditioner.COMPRESSED
    clipped: Clipped = Clipped.CHANGE
    cover: CoverName = CoverName.AXES


def init(h: DpJoint, x: Vector, setup: Setup) -> Covered:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return covered(x, setup, v0=h.v0, cover=h.cover)


def solver(h: DpJoint, x: Vector, sent: Shared, S: AnyCover) -> tuple[Any, Callable[..., Any]]:
    """Solver state with which a client begins its round, and its local step as a function that still needs the rate."""
    own: dict[str, Any] = {"eps": h.eps}
    decays: dict[str, Any] = {"beta1": h.beta1_l, "beta2": h.beta2_l}
    v_0 = zeros(x) + sent
    if h.preconditioner is Preconditioner.COMPRESSED:
        if h.client is Adaptivity.ADAGRAD:
            return begin_sm3(x, S), partial(sm3_ii_delayed, cover=S, **own)
        return begin_sm3_adam(x, S), partial(sm3_adam, cover=S, **decays, **own)
    if h.client is Adaptivity.ADAGRAD:
        return Agdu(x=x, v=v_0, t=0), partial(agdu, **own)
    return Admu(x=x, m=zeros(x), v=v_0, v_hat=zeros(x), t=0), partial(admu, **decays, **own)


def step(h: DpJoint, state: Covered, clients: Clients, plan: Plan) -> tuple[Covered, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: the plan doesn't have exactly one draw of noise for each coordinate.
    """
    check_noise(plan, state.x)

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> Vector:
        y, one_step = solver(h, x, state.server.v, state.cover)
        for k in range(tau):
            g = gradient(k, y.x)
            g = clip(g, clip_norm=h.clip_norm) if h.clipped is Clipped.GRADIENTS else g
            y = held(y, one_step(y, g, eta_l=warmed(h.eta_l, k + 1, h.warm_up, h.warm_up_from)), k + 1, h.warm_up_from)
        change: Vector = y.x - x
        return change if h.clipped is Clipped.GRADIENTS else clip(change, clip_norm=h.clip_norm)

    deltas = each(client, clients, plan, state.x)
    delta = noisy_mean(deltas, array(plan.noise, state.x), clip_norm=h.clip_norm, sigma=h.sigma)
    server, shown = server_step(
        state.server, delta, eta=h.eta, beta1=h.beta1, tau=h.tau, beta2=h.beta2, server=h.server
    )
    return replace(state, server=server), shown


def _reading(name: str, words: str, **fixes: str) -> Reading:
    return Reading(name=name, words=words, fixes=fixes, requires=(v0_at_least_tau_squared("dp-joint"),))


ROW = Algorithm(
    id="dp-joint",
    family=Family.JOINT,
    place=9,
    title="adaptive clients and server, clipped changes and a noisy mean",
    source="FedAda2, L206, App. H.1 (L1639) and Table 3 (L1653), in words; external: McMahan et al. (2018)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        _reading(
            "fedada2",
            "preconditioners from zero over SM3; the whole change clipped, noise on the sum, mean over |S|",
            clipped="change",
            preconditioner="compressed",
        ),
        _reading(
            "joint-local",
            "whole preconditioners from zero (Joint Adap. w/o Precond. Commu.), else the same",
            clipped="change",
            preconditioner="compressed",
            cover="singletons",
        ),
        _reading(
            "joint-direct",
            "preconditioners from the server's (Direct Joint Adap.), Adam's corrected as in Alg. 6, else the same",
            clipped="change",
            preconditioner="sent",
        ),
        _reading("gradient-clip", "c clips every local gradient (L1647), and no change", clipped="gradients"),
    ),
    run=Program(hyper=DpJoint, init=init, step=step, takes=("layers", "noise", "repeats")),
    costs=Costs(
        down="m d",
        up="m d",
        working="2 d + q",
        server="3 d",
        note=f"AdaGrad clients; down 2 m d where preconditioner = sent: the server's v too; {phrases.NU_IS_SPARE}",
    ),
    traps=(
        "the change is clipped whole, by its Euclidean length, before the mean; eps_s is another clip",
        "the noise is drawn once for the sum: sigma times the clipping bound, then divided by |S|",
        phrases.LOCAL_FRESH,
        phrases.WARM_UP,
        "noise of gradients clipped to c is not measured by what bounds a change",
    ),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "beta2": "beta~_2", "clip_norm": "c"},
)
