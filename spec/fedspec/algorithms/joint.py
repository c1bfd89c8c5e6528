"""Adaptive clients under an adaptive server: FedAda2, its relatives with a delay, and what they are compared with.

    for each participating client i (a multiset):
        x_i = x, local state fresh             (direct joint adaptivity: v_0 = the server's v)
        tau_i times: x_i = local solver(x_i, g_i(x_i))
        Delta_i = Xi_i (x_i - x)
    Delta = 1/|S| sum_i Delta_i
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2 (AdaGrad), or beta2 v + (1 - beta2) Delta^2 (Adam)
    x = x + eta m / (sqrt(v) + tau)

Source: FedAda2, Algs. 1 and 2 (L108, L667), 5 (L1167), 8 (L1397), 10 (L1513); the baselines: L192 and L1621-1623.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fedspec import phrases
from fedspec.algorithms.optimise import Local, optimise, optimise_from
from fedspec.arith import Scalar, Vector
from fedspec.client.adam import general_adam as client_adam
from fedspec.client.admu import admu
from fedspec.client.agdu import agdu
from fedspec.client.sgd import sgd
from fedspec.client.sm3 import accumulate_ii
from fedspec.client.sm3_adam import average_ii, sm3_adam
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.costs import Costs
from fedspec.covers import Cover, named_cover
from fedspec.entry import Algorithm, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.scaled import scaled
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import Adaptivity, CoverName, DeadZone, Idle, Received, Strategy, choice
from fedspec.server.adagrad import Adaptive, general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam


@dataclass(frozen=True)
class JointLocal(Hyper):
    """Joint adaptivity without communication of preconditioners; beta1_l and beta2_l are the clients' decays."""

    eta_l: Scalar
    eps: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    beta2: Scalar = 0
    beta1_l: Scalar = 0
    beta2_l: Scalar = 0
    server: Adaptivity = Adaptivity.ADAGRAD
    client: Adaptivity = Adaptivity.ADAGRAD


@dataclass(frozen=True)
class JointDirect(JointLocal):
    """Direct joint adaptivity: the server sends its second moment with the model."""

    received: Received = Received.CORRECTED


@dataclass(frozen=True)
class FedAda2(JointLocal):
    """FedAda2: the clients' preconditioners start from zero and are compressed by SM3."""

    z: int = 1
    eps_s: Scalar = 0
    cover: CoverName = CoverName.AXES
    idle: Idle = Idle.CARRIED


@dataclass(frozen=True)
class FedAdaAdagrad(Hyper):
    """Server AdaGrad, clients AdaGrad with delayed updates."""

    eta_l: Scalar
    eps: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    z: int = 1
    eps_s: Scalar = 0


@dataclass(frozen=True)
class FedAdaAdam(FedAdaAdagrad):
    """Server AdaGrad, clients Adam with a delayed second moment."""

    beta1_l: Scalar = 0
    beta2_l: Scalar = 0
    dead_zone: DeadZone = DeadZone.STEP


@dataclass(frozen=True)
class FedBlended(FedAdaAdagrad):
    """Server AdaGrad, a strategy for each client."""

    beta1_l: Scalar = 0
    beta2_l: Scalar = 0
    cover: CoverName = CoverName.AXES


@dataclass(frozen=True)
class State:
    """The server's state and the cover of the model's coordinates."""

    server: Adaptive
    cover: Cover

    @property
    def x(self) -> Vector:
        """The model."""
        return self.server.x


def init(h: Any, x: Vector, setup: Setup) -> State:
    """No momentum; second moment v_0, which the paper wants at least tau^2."""
    return State(init_adaptive(x, v0=h.v0), named_cover(getattr(h, "cover", CoverName.SINGLETONS), setup.shapes))


def local(h: Any) -> Local:
    """The clients' hyper-parameters under their own names."""
    moments = {n: getattr(h, f"{n}_l") for n in ("beta1", "beta2") if hasattr(h, f"{n}_l")}
    more = {n: getattr(h, n) for n in ("z", "eps_s", "dead_zone", "idle") if hasattr(h, n)}
    return Local(eta_l=h.eta_l, eps=h.eps, **moments, **more)


def finish(h: Any, state: State, deltas: Sequence[Vector], plan: Plan) -> tuple[State, dict[str, Any]]:
    """The mean of the changes, each with its weight, and one step of the server."""
    if plan.scales:
        deltas = [scaled(delta, scale=Xi) for delta, Xi in zip(deltas, plan.scales, strict=True)]
    delta = weighted_mean(np.stack(deltas), shares([1] * len(deltas), state.x))
    rule: Callable[..., Adaptive] = general_adam if getattr(h, "server", None) is Adaptivity.ADAM else general_adagrad
    server = rule(state.server, delta, **h.of(rule))
    return State(server, state.cover), {"delta": delta, "m": server.m, "v": server.v}


def joint_direct(h: JointDirect, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of direct joint adaptivity: the clients start from the server's second moment."""
    strategy, own, x, v = Strategy(h.client), local(h), state.x, state.server.v
    deltas = [
        optimise_from(strategy, own, x, v, clients[i], tau, h.received) - x
        for i, tau in zip(plan.participants, plan.steps, strict=True)
    ]
    return finish(h, state, deltas, plan)


def alike(
    h: Any, strategy: Strategy, state: State, clients: Sequence[Oracle], plan: Plan
) -> tuple[State, dict[str, Any]]:
    """One round in which all clients run the same solver, its state fresh."""
    own = local(h)
    deltas = [
        optimise(strategy, own, state.x, clients[i], tau, state.cover) - state.x
        for i, tau in zip(plan.participants, plan.steps, strict=True)
    ]
    return finish(h, state, deltas, plan)


def joint_local(h: JointLocal, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of joint adaptivity without communication of preconditioners."""
    return alike(h, Strategy(h.client), state, clients, plan)


def fedada2(h: FedAda2, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of FedAda2."""
    return alike(h, Strategy(f"sm3-{h.client}"), state, clients, plan)


def fedadaadagrad(
    h: FedAdaAdagrad, state: State, clients: Sequence[Oracle], plan: Plan
) -> tuple[State, dict[str, Any]]:
    """One round of FedAdaAdagrad, Alg. 10."""
    return alike(h, Strategy.ADAGRAD, state, clients, plan)


def fedadaadam(h: FedAdaAdam, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of FedAdaAdam, Alg. 8."""
    return alike(h, Strategy.ADAM, state, clients, plan)


def fedblended(h: FedBlended, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of blended optimisation, Alg. 5.

    Raises:
        PlanError: the plan does not name a strategy for each participant.
        UnknownNameError: a strategy is unknown.
    """
    if len(plan.strategies) != len(plan.participants):
        raise PlanError(f"strategies: {len(plan.strategies)} for {len(plan.participants)} participants; name one each")
    own = local(h)
    deltas = [
        optimise(choice(Strategy, "strategies", name), own, state.x, clients[i], tau, state.cover) - state.x
        for i, tau, name in zip(plan.participants, plan.steps, plan.strategies, strict=True)
    ]
    return finish(h, state, deltas, plan)


_LOCAL_FRESH = "local moments start afresh each round; only the server remembers"
_XI = "changes times Xi_i are divided by |S|, not by the sum of the Xi_i"

ROWS = (
    Algorithm(
        id="joint-local",
        family=Family.JOINT,
        place=1,
        title="adaptive clients and server, no preconditioner sent",
        source="FedAda2, L192 and L1623 (Joint Adap. w/o Precond. Commu.)",
        levels=("round",),
        rules=(agdu, admu, weighted_mean, general_adam, general_adagrad),
        readings=(
            Reading(
                name="fedada2",
                words="local moments start from zero each round",
                requires=(v0_at_least_tau_squared("joint-local"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=JointLocal, init=init, step=joint_local, takes=("repeats",)),
        when={
            "client=adagrad": (agdu,),
            "client=adam": (admu,),
            "server=adagrad": (general_adagrad,),
            "server=adam": (general_adam,),
        },
        costs=Costs(
            down="m d",
            up="m d",
            working="2 d",
            server="3 d",
            note="AdaGrad clients; Adam clients need 4 d, or 3 d with v_hat made from v",
        ),
        traps=(_LOCAL_FRESH, "the server has no bias correction, the clients' Adam has", phrases.TAU_OUTSIDE),
        facts=(Fact.JOINT,),
    ),
    Algorithm(
        id="joint-direct",
        family=Family.JOINT,
        place=2,
        title="adaptive clients and server, the server's second moment sent",
        source="FedAda2, L192 and L1622 (Direct Joint Adaptivity)",
        levels=("round",),
        rules=(agdu, client_adam, admu, weighted_mean, general_adam, general_adagrad),
        readings=(
            Reading(
                name="fedada2",
                words="local second moments start from the server's; m is not sent; Adam's corrections as in Alg. 6",
                fixes={"received": "corrected"},
                requires=(v0_at_least_tau_squared("joint-direct"),),
            ),
            Reading(
                name="uncorrected",
                words="as fedada2, but a client's Adam corrects no moment, as on the server",
                fixes={"received": "uncorrected"},
                requires=(v0_at_least_tau_squared("joint-direct"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=JointDirect, init=init, step=joint_direct, takes=("repeats",)),
        when={
            "client=adagrad": (agdu,),
            "client=adam": (admu,),
            "received=uncorrected": (client_adam,),
            "server=adagrad": (general_adagrad,),
            "server=adam": (general_adam,),
        },
        costs=Costs(
            down="2 m d",
            up="m d",
            working="2 d",
            server="3 d",
            note="the server's v is sent: half as much again as FedAvg",
        ),
        traps=(
            "the server's v is sent as it is, even where the client's solver is another one",
            "whether a client's Adam corrects what it received is a reading",
            "m is not sent",
        ),
        facts=(Fact.JOINT,),
    ),
    Algorithm(
        id="fedada2",
        family=Family.JOINT,
        place=3,
        title="adaptive clients with SM3, adaptive server",
        source="FedAda2, Algs. 1 and 2 (L108, L667); SM3-Adam clients: external, a reconstruction",
        levels=("round",),
        rules=(accumulate_ii, sm3_ii_delayed, average_ii, sm3_adam, weighted_mean, general_adam, general_adagrad),
        readings=(
            Reading(
                name="fedada2",
                words="local preconditioners start from zero, SM3-II, dead zone eps_s",
                requires=(v0_at_least_tau_squared("fedada2"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=FedAda2, init=init, step=fedada2, takes=("layers", "repeats")),
        when={
            "client=adagrad": (accumulate_ii, sm3_ii_delayed),
            "client=adam": (average_ii, sm3_adam),
            "server=adagrad": (general_adagrad,),
            "server=adam": (general_adam,),
        },
        costs=Costs(
            down="m d", up="m d", working="2 d + q", server="3 d", note=f"AdaGrad clients; {phrases.NU_IS_SPARE}"
        ),
        traps=(_LOCAL_FRESH, phrases.FIRST_OF_EVERY_Z, phrases.DEAD_ZONE, "sampling is with repetition; |S| counts it"),
        facts=(Fact.JOINT,),
    ),
    Algorithm(
        id="fedadaadagrad",
        family=Family.JOINT,
        place=4,
        title="server AdaGrad, clients AdaGrad with delayed updates",
        source="FedAda2, Alg. 10 (L1513)",
        levels=("round",),
        rules=(agdu, scaled, weighted_mean, general_adagrad),
        readings=(
            Reading(
                name="fedada2",
                words="changes times Xi_i, mean over |S|",
                requires=(v0_at_least_tau_squared("fedadaadagrad"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=FedAdaAdagrad, init=init, step=fedadaadagrad, takes=("scales", "repeats")),
        costs=Costs(
            down="m d", up="m d", working="2 d", server="3 d", note="ceil(tau/z) updates of v in a round instead of tau"
        ),
        traps=(_XI, phrases.DRAWN_TWICE, phrases.DEAD_ZONE),
        facts=(Fact.JOINT,),
    ),
    Algorithm(
        id="fedadaadam",
        family=Family.JOINT,
        place=5,
        title="server AdaGrad, clients Adam with a delayed second moment",
        source="FedAda2, Alg. 8 (L1397)",
        levels=("round",),
        rules=(admu, scaled, weighted_mean, general_adagrad),
        readings=(
            Reading(
                name="fedada2",
                words="a short step is not taken, the momentum is kept",
                fixes={"dead_zone": "step"},
                requires=(v0_at_least_tau_squared("fedadaadam"),),
            ),
            Reading(
                name="alg-8-as-printed",
                words="a short step is taken and clears the momentum (L1419-1421; a defect of the text)",
                fixes={"dead_zone": "momentum"},
                requires=(v0_at_least_tau_squared("fedadaadam"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=FedAdaAdam, init=init, step=fedadaadam, takes=("scales", "repeats")),
        costs=Costs(
            down="m d", up="m d", working="4 d", server="3 d", note="v_hat is v divided by a number: 3 d are enough"
        ),
        traps=(_XI, phrases.DRAWN_TWICE, "the box clears m where the step should be cleared"),
        facts=(Fact.JOINT,),
    ),
    Algorithm(
        id="fedblended",
        family=Family.JOINT,
        place=6,
        title="federated blended optimisation: a local solver for each client",
        source="FedAda2, Alg. 5 (L1167-1185)",
        levels=("round",),
        rules=(
            sgd,
            agdu,
            admu,
            accumulate_ii,
            sm3_ii_delayed,
            average_ii,
            sm3_adam,
            scaled,
            weighted_mean,
            general_adagrad,
        ),
        readings=(
            Reading(
                name="fedada2",
                words="changes times w(O), mean over all draws",
                requires=(v0_at_least_tau_squared("fedblended"),),
            ),
        ),
        shows=("delta", "m", "v"),
        run=Program(hyper=FedBlended, init=init, step=fedblended, takes=("layers", "strategies", "scales", "repeats")),
        costs=Costs(
            down="m d",
            up="m d",
            working="4 d",
            server="3 d",
            note="the largest of its local solvers; each client needs only that of its own",
        ),
        traps=(_XI, "Delta is divided by the number of all draws, of all strategies together", phrases.DEAD_ZONE),
        facts=(Fact.JOINT,),
    ),
)
