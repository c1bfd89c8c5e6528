"""Federated blended optimisation: each client runs its own local solver, under server AdaGrad.

    for each strategy O, for each client i that was drawn for it (a multiset):
        x_i = x                                                     (line 5)
        x_i = Optimize(O, i, x_i, K_i steps, Clip = True)           (line 6)
        Delta_i = w(O) (x_i - x)                                    (line 7)
    S = the number of all draws                                     (line 10)
    Delta = 1/S sum of all Delta_i                                  (line 11)
    m = beta1 m + (1 - beta1) Delta                                 (line 12)
    v = v + Delta^2                                                 (line 13)
    x = x + eta m / (sqrt(v) + tau)                                 (line 14)

Clip = True is the dead zone: a step shorter than eps_s is not taken. w(O) comes with the plan, as Xi_i.
In the runs on images the rate warms up in every round: eta_l min(1, k / warm_up) at step k (L1663).
Source: FedAda2, Alg. 5 (L1167-1185); the strategies: footnote 4 of sec. 4 (L106), and sec. 6.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from fedspec import phrases
from fedspec.algorithms.fedadaadagrad import FedAdaAdagrad
from fedspec.algorithms.server_update import LOCALLY, SYMBOLS, Covered, covered, server_update
from fedspec.arith import Scalar, Vector
from fedspec.client.admu import admu
from fedspec.client.admu import begin as begin_admu
from fedspec.client.agdu import agdu
from fedspec.client.agdu import begin as begin_agdu
from fedspec.client.delay import held, unless_short, warmed
from fedspec.client.sgd import sgd
from fedspec.client.sm3_adam import begin as begin_sm3_adam
from fedspec.client.sm3_adam import sm3_adam
from fedspec.client.sm3_delayed import begin as begin_sm3
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.costs import Costs
from fedspec.covers import AnyCover
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, v0_at_least_tau_squared
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import NOT_GIVEN
from fedspec.mixing.scaled import scaled
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import CoverName, Strategy, WarmUp, choice


@dataclass(frozen=True)
class FedBlended(FedAdaAdagrad):
    """Hyper-parameters of FedBlended: FedAdaAdagrad's, decays and m_0 of Adam clients, and SM3 clients' cover."""

    beta1_l: Scalar = NOT_GIVEN
    beta2_l: Scalar = NOT_GIVEN
    m0_l: Scalar = 0
    cover: CoverName = CoverName.AXES


def init(h: FedBlended, x: Vector, setup: Setup) -> Covered:
    """Initial state: no momentum; second moment v_0, which the paper wants to be at least tau^2."""
    return covered(x, setup, v0=h.v0, cover=h.cover)


def optimize(
    strategy: Strategy,
    x: Vector,
    gradient: Oracle,
    tau: int,
    cover: AnyCover,
    *,
    eta_l: Scalar,
    eps: Scalar,
    beta1: Scalar,
    beta2: Scalar,
    warm_up: int = 1,
    warm_up_from: WarmUp = WarmUp.FIRST_STEP,
    z: int,
    eps_s: Scalar,
    epoch: int = 1,
    v0: Scalar = 0,
    m0: Scalar = 0,
) -> Vector:
    """Optimize(O, i, x, Clip = True): the local model after tau steps of a strategy from a fresh state.

    AdaGrad, Adam and SM3's AdaGrad start from v_0, Adam from m_0; SM3's Adam, a reconstruction, from zero.
    """
    more: dict[str, Any] = {"eps": eps, "z": z, "epoch": epoch, "eps_s": eps_s}
    y: Any
    rule: Any
    match strategy:
        case Strategy.SGD:
            for k in range(tau):
                g = gradient(k, x)
                after = sgd(x, unless_short(g, g, eps_s), eta_l=warmed(eta_l, k + 1, warm_up, warm_up_from))
                x = x if warm_up_from is WarmUp.ZERO and k == 0 else after
            return x
        case Strategy.ADAGRAD:
            y, rule = begin_agdu(x, v0=v0), partial(agdu, **more)
        case Strategy.ADAM:
            y, rule = begin_admu(x, v0=v0, m0=m0), partial(admu, beta1=beta1, beta2=beta2, **more)
        case Strategy.SM3_ADAGRAD:
            y, rule = begin_sm3(x, cover, v0=v0), partial(sm3_ii_delayed, cover=cover, **more)
        case Strategy.SM3_ADAM:
            y, rule = begin_sm3_adam(x, cover), partial(sm3_adam, cover=cover, beta1=beta1, beta2=beta2, **more)
    for k in range(tau):
        new = rule(y, gradient(k, y.x), eta_l=warmed(eta_l, k + 1, warm_up, warm_up_from))
        y = held(y, new, k + 1, warm_up_from)
    end: Vector = y.x
    return end


def step(h: FedBlended, state: Covered, clients: Clients, plan: Plan) -> tuple[Covered, dict[str, Any]]:
    """Run one round: Alg. 5, lines 2-14.

    Raises:
        PlanError: the plan does not name a strategy for each participant.
        UnknownNameError: a strategy is unknown.
    """
    check_strategies(plan)
    own: dict[str, Any] = {
        "eta_l": h.eta_l,
        "eps": h.eps,
        "beta1": h.beta1_l,
        "beta2": h.beta2_l,
        "warm_up": h.warm_up,
        "z": h.z,
        "epoch": h.epoch,
        "eps_s": h.eps_s,
        "v0": h.v0_l,
        "m0": h.m0_l,
    }

    def client(i: int, x: Vector, gradient: Oracle, tau: int, strategy: str, Xi: Scalar = 1) -> Vector:
        y = optimize(Strategy(strategy), x, gradient, tau, state.cover, warm_up_from=h.warm_up_from, **own)
        return scaled(y - x, scale=Xi)

    deltas = each(client, clients, plan, state.x)
    server, shown = server_update(state.server, deltas, plan, eta=h.eta, beta1=h.beta1, tau=h.tau)
    return replace(state, server=server), shown


def check_strategies(plan: Plan) -> None:
    """Raise an error unless the plan names a known strategy for each participant.

    Raises:
        PlanError: the plan does not name a strategy for each participant.
        UnknownNameError: a strategy is unknown.
    """
    if len(plan.strategies) != len(plan.participants):
        raise PlanError(
            f"strategies: got {len(plan.strategies)} for {len(plan.participants)} participants; name one for each"
        )
    for name in plan.strategies:
        choice(Strategy, "strategies", name)


ROW = Algorithm(
    id="fedblended",
    family=Family.JOINT,
    place=6,
    title="federated blended optimisation: a local solver for each client",
    source="FedAda2, Alg. 5 (L1167-1185)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="fedada2",
            words="changes times w(O), mean over all draws",
            requires=(v0_at_least_tau_squared("fedblended"),),
        ),
    ),
    run=Program(hyper=FedBlended, init=init, step=step, takes=("layers", "strategies", "scales", "repeats")),
    costs=Costs(
        down="m d",
        up="m d",
        working="4 d",
        server="3 d",
        note="the largest of its local solvers; each client needs only that of its own",
    ),
    traps=(
        phrases.XI,
        "Delta is divided by the number of all draws, of all strategies together",
        phrases.DEAD_ZONE,
        phrases.WARM_UP,
    ),
    facts=(Fact.JOINT,),
    symbols={**SYMBOLS, **LOCALLY, "O": "O_l", "S": "S, the sum of all |S_l^t|", "v0_l": "v_0", "m0_l": "m_0"},
)
