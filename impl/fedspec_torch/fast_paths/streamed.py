"""Rounds of clients that remember, a block at a time, where one rank has all of them.

As the text has it, what all participants return is held until the last of them is done: SCAFFOLD's changes and control
variates are four stacks of the cohort. Here a block's changes are added up, and what its clients remember is written to
their rows, before the next block is trained: a round holds a few blocks, however many clients take part. The rules are
the specification's own, on streams; a test holds each round to the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from fedspec.algorithms import (
    diloco,
    feddyn,
    fedlamb,
    fednova_alg2,
    fednova_sampled,
    fednova_solvers,
    fednova_vr,
    local_ams,
    scaffold,
    vrl_sgd,
)
from fedspec.algorithms.local import local_norm
from fedspec.domains import pull
from fedspec.mixing.accumulation import a_norm, momentum_norm
from fedspec.mixing.control_variates import drift_controls, server_control
from fedspec.mixing.duals import dynamic_average, server_dual
from fedspec.mixing.nova import effective_steps, general_update
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.mixing.sampling import sampled_steps, sampled_update, sampled_weights
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Plan
from fedspec.readings import Control, Divisor, InnerState, SampledWeights, Solver, TauEff, choice
from fedspec.server.average import average
from fedspec.server.momentum import ServerMomentum
from fedspec.server.outer_momentum import outer_momentum
from fedspec_torch.arith import Stack, Vector, numbers
from fedspec_torch.fast_paths.clients import control_change, scaffold_changes
from fedspec_torch.plan import neighbours
from fedspec_torch.population import AT_ONCE, Batched, Stream, default_block

Result: TypeAlias = tuple[Any, dict[str, Any]]
"""The state after a round, and of what it shows nothing."""

Remember: TypeAlias = Callable[[list[int], Any], Stack]
"""From the numbers of some clients and what they have made: keeps what they remember, and gives what is added up."""


def streamed(clients: Batched, plan: Plan, x: Vector, remember: Remember) -> Stream:
    """Stream of the summands of every participant, which is trained when its summand is needed."""
    plan.check_clients(range(len(clients)))
    assert clients.client

    def blocks() -> Iterator[tuple[list[int], Stack]]:
        assert clients.client
        for places, made in clients.blocks(clients.client, plan, x):
            yield places, remember([plan.participants[r] for r in places], made)
            del made

    return Stream(len(plan.participants), blocks())


def written(rows: Any, who: list[int], new: Stack) -> None:
    """Write the rows of some clients where they are."""
    rows[neighbours(who) or who] = new


def counts_after(t: tuple[int, ...], plan: Plan) -> tuple[int, ...]:
    """The steps that each client has taken, those of the round included."""
    taken = dict(zip(plan.participants, plan.steps, strict=True))
    return tuple(count + taken.get(i, 0) for i, count in enumerate(t))


def zeros(like: Any) -> Any:
    """A sum that nothing has been added to."""
    return torch.zeros_like(like)


def one(total: Vector) -> tuple[Any, Any]:
    """A sum as a stack of one row, and its weight."""
    return total[None], total.new_ones(1)


def scaffold_step(h: scaffold.Scaffold, state: scaffold.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.scaffold.step`; in option II controls are moved a few rows at a time."""
    total, taken = zeros(state.c), dict(zip(plan.participants, plan.steps, strict=True))
    p, c_i = state.p, state.c_i

    def remember(who: list[int], made: tuple[Any, Any]) -> Stack:
        deltas, kept = made
        total.addmv_((kept - c_i[who]).T, p[who])
        written(c_i, who, kept)
        return deltas

    def move(who: list[int], deltas: Any) -> Stack:
        few = max(1, AT_ONCE // deltas.shape[1])
        for begin, some in zip(range(0, len(who), few), deltas.split(few), strict=True):
            these = who[begin : begin + few]
            change: Any = control_change(h, state.c, some, tuple(taken[i] for i in these))
            total.addmv_(change.T, p[these])
            written(c_i, these, change.add_(c_i[these]))
        return deltas

    if h.control is Control.MEAN_GRADIENT:
        come = streamed(replace(clients, client=scaffold_changes(h, state)), plan, state.x, move)
    else:
        come = streamed(clients, plan, state.x, remember)
    delta = weighted_mean(come, shares(plan.examples, state.x, h.weights))
    changes, once = one(total)
    c = server_control(state.c, changes, once)
    return replace(state, x=average(state.x, delta, eta=h.eta), c=c), {}


def vrl_sgd_step(h: vrl_sgd.VrlSgd, state: vrl_sgd.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.vrl_sgd.step`: v_i + (x_0 - x_i) / c first, and then (x - x_0) / c, c = eta_l tau_i."""
    plan, v_i = plan.of_everyone(len(clients)), state.v_i
    steps, eta_l = plan.steps, h.eta_l
    if h.divisor is Divisor.MEAN_STEPS:
        steps, eta_l = (1,) * len(steps), eta_l * sum(steps) / len(steps)

    def move(who: list[int], ends: Any, x: Vector) -> None:
        written(v_i, who, drift_controls(v_i[who], ends, x, steps=[steps[i] for i in who], eta_l=eta_l))

    def remember(who: list[int], made: tuple[Any, Any]) -> Stack:
        x_i, deltas = made
        move(who, x_i, state.x)
        return deltas

    x = average(state.x, weighted_mean(streamed(clients, plan, state.x, remember), state.p), eta=1)
    begun: Any = state.x
    everyone, size = list(plan.participants), clients.block or default_block(x)
    for who in (everyone[start : start + size] for start in range(0, len(everyone), size)):
        move(who, begun.expand(len(who), -1), x)
    return replace(state, x=x), {}


def diloco_step(h: diloco.DiLoCo, state: diloco.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.diloco.step`; moments that are averaged are all held, as it is written."""
    if h.inner is InnerState.AVERAGED:
        return diloco.step(h, state, clients, plan)

    def remember(who: list[int], made: tuple[Any, Any, Any]) -> Stack:
        deltas, m_i, v_i = made
        written(state.m_i, who, m_i)
        written(state.v_i, who, v_i)
        return deltas

    p = shares(plan.examples, state.x, h.weights, plan.steps)
    delta = weighted_mean(streamed(clients, plan, state.x, remember), p)
    outer = outer_momentum(ServerMomentum(x=state.x, v=state.v), delta, **h.of(outer_momentum))
    return replace(state, x=outer.x, v=outer.v, t=counts_after(state.t, plan)), {}


def feddyn_step(h: feddyn.FedDyn, state: feddyn.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.feddyn.step`."""
    total = zeros(state.h)

    def remember(who: list[int], made: tuple[Any, Any]) -> Stack:
        deltas, kept = made
        total.add_(deltas.sum(0))
        written(state.lam_i, who, kept)
        return deltas

    mean: Any = model_mean(streamed(clients, plan, state.x, remember), clients=len(plan.participants))
    dual = server_dual(state.h, one(total)[0], mu=h.mu, clients=len(state.lam_i))
    return replace(state, x=dynamic_average(state.x + one(mean)[0], dual, mu=h.mu), h=dual), {}


def nova_step(h: Any, state: fednova_vr.State, clients: Batched, plan: Plan, norm: Callable[[int], Any]) -> Result:
    """FedNova's rounds whose clients keep the direction that they have sent."""
    plan, p = plan.of_everyone(len(clients)), state.p

    def remember(who: list[int], made: tuple[Any, Any]) -> Stack:
        written(state.d, who, made[0])
        return made[0]

    tau_eff = effective_steps(p, numbers([*map(norm, plan.steps)], p), plan.steps, TauEff.WEIGHTED_NORM)
    d = streamed(clients, plan, state.x, remember)
    return replace(state, x=general_update(state.x, d, p, tau_eff=tau_eff, eta_l=h.eta_l)), {}


def fednova_vr_step(h: fednova_vr.FedNovaVR, state: fednova_vr.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.fednova_vr.step`."""
    return nova_step(h, state, clients, plan, lambda tau: local_norm(h, tau))


def fednova_alg2_step(h: fednova_alg2.FedNovaAlg2, state: fednova_vr.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.fednova_alg2.step`, the shifted loop."""
    return nova_step(h, state, clients, plan, lambda tau: momentum_norm(tau, rho=h.rho))


def directions(who: list[int], made: tuple[Any, Any]) -> Stack:
    """Messages of clients that remember nothing."""
    d: Stack = made[0]
    return d


def fednova_sampled_step(
    h: fednova_sampled.FedNovaSampled, state: fednova_sampled.State, clients: Batched, plan: Plan
) -> Result:
    """:func:`fedspec.algorithms.fednova_sampled.step`; the text refuses who is drawn twice."""
    S = list(plan.participants)
    if h.sampled_weights is not SampledWeights.WITH_REPLACEMENT and len(set(S)) < len(S):
        return fednova_sampled.step(h, state, clients, plan)
    p: Any = state.p[S]
    w = sampled_weights(p, clients=len(state.p), sampled_weights=h.sampled_weights)
    a = numbers([local_norm(h, tau) for tau in plan.steps], p)
    tau_eff = sampled_steps(p, w, a, sampled_steps=h.sampled_steps, tau_eff=h.tau_eff)
    d = streamed(clients, plan, state.x, directions)
    return replace(state, x=sampled_update(state.x, d, w, tau_eff=tau_eff, eta_l=h.eta_l)), {}


def fednova_solvers_step(
    h: fednova_solvers.FedNovaSolvers, state: fednova_solvers.State, clients: Batched, plan: Plan
) -> Result:
    """:func:`fedspec.algorithms.fednova_solvers.step`; the text refuses a plan without solvers."""
    if not plan.strategies:
        return fednova_solvers.step(h, state, clients, plan)
    p, more = shares(plan.examples, state.x, h.weights, plan.steps), {"rho": h.rho, "gamma": h.gamma}
    kinds = zip(plan.strategies, plan.steps, strict=True)
    a = numbers(
        [a_norm(choice(Solver, "strategies", own), tau, alpha=pull(h.eta_l, h.mu), **more) for own, tau in kinds], p
    )
    tau_eff = effective_steps(p, a, plan.steps, TauEff.WEIGHTED_NORM)
    d = streamed(clients, plan, state.x, directions)
    return replace(state, x=general_update(state.x, d, p, tau_eff=tau_eff, eta_l=h.eta_l)), {}


def lamb_step(h: local_ams.FedAms, state: local_ams.State, clients: Batched, plan: Plan) -> Result:
    """:func:`fedspec.algorithms.local_ams.run`."""
    total, n = zeros(state.v_hat), len(plan.participants)

    def remember(who: list[int], made: tuple[Any, ...]) -> Stack:
        models, m_i, v_i, *_ = made
        total.add_(v_i.sum(0))
        written(state.m_i, who, m_i)
        written(state.v_i, who, v_i)
        return models

    x = model_mean(streamed(clients, plan, state.x, remember), clients=n)
    v_hat = moment_maximum(state.v_hat, one(total)[0], clients=n)
    return replace(state, x=x, v_hat=v_hat, t=counts_after(state.t, plan)), {}


STREAMED: dict[Callable[..., Any], Callable[..., Result]] = {
    scaffold.step: scaffold_step,
    vrl_sgd.step: vrl_sgd_step,
    diloco.step: diloco_step,
    feddyn.step: feddyn_step,
    fednova_vr.step: fednova_vr_step,
    fednova_alg2.step: fednova_alg2_step,
    fednova_sampled.step: fednova_sampled_step,
    fednova_solvers.step: fednova_solvers_step,
    fedlamb.step: lamb_step,
    local_ams.step: lamb_step,
}
"""By the step of the program; each for a state whose rows are written where they are."""
