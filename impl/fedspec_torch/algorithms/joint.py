"""Adaptive clients under an adaptive server, block by block over the participants of a round.

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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from fedspec.algorithms.joint import FedAda2, FedAdaAdagrad, FedAdaAdam, FedBlended, JointDirect, JointLocal, local
from fedspec.covers import AnyCover
from fedspec.errors import PlanError
from fedspec.plan import Setup
from fedspec.readings import Adaptivity, CoverName, Strategy, choice
from fedspec.server.adagrad import Adaptive, general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam
from fedspec_torch.algorithms.optimise import optimise, optimise_from
from fedspec_torch.arith import Stack, Stream, Vector, column
from fedspec_torch.covers import named_cover
from fedspec_torch.mixing.scaled import scaled
from fedspec_torch.mixing.weighted import shares, weighted_mean
from fedspec_torch.plan import Clients, Plan, blocks
from fedspec_torch.population import default_block

__all__ = [
    "FedAda2",
    "FedAdaAdagrad",
    "FedAdaAdam",
    "FedBlended",
    "JointDirect",
    "JointLocal",
    "State",
    "fedada2",
    "fedadaadagrad",
    "fedadaadam",
    "fedblended",
    "init",
    "joint_direct",
    "joint_local",
]


@dataclass(frozen=True)
class State:
    """The server's state and the cover of the model's coordinates."""

    server: Adaptive
    cover: AnyCover

    @property
    def x(self) -> Vector:
        """The model."""
        return self.server.x


def init(h: Any, x: Vector, setup: Setup) -> State:
    """No momentum; second moment v_0, which the paper wants at least tau^2."""
    cover = named_cover(getattr(h, "cover", CoverName.SINGLETONS), setup.shapes)
    return State(init_adaptive(x, v0=h.v0), cover)


def changes(x: Vector, plan: Plan, train: Callable[[Stack, Plan], Stack]) -> Iterator[Stack]:
    """The participants' changes, each with its weight, a block of clients at a time; train answers with models."""
    for some in blocks(len(plan.participants), default_block(x)):
        part = Plan(
            plan.participants[some],
            plan.steps[some],
            plan.examples[some],
            plan.strategies[some],
            plan.scales[some],
            repeats=True,
        )
        start = x.repeat(len(part.participants), 1)
        delta = train(start, part) - start
        yield scaled(delta, scale=column(part.scales, delta)) if part.scales else delta


def finish(h: Any, state: State, deltas: Stream, plan: Plan) -> tuple[State, dict[str, Any]]:
    """The mean of the changes and one step of the server."""
    delta = weighted_mean(deltas, shares([1] * len(plan.participants), state.x))
    rule: Callable[..., Adaptive] = general_adam if getattr(h, "server", None) is Adaptivity.ADAM else general_adagrad
    server = rule(state.server, delta, **h.of(rule))
    return State(server, state.cover), {"delta": delta, "m": server.m, "v": server.v}


def joint_direct(h: JointDirect, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of direct joint adaptivity: the clients start from the server's second moment."""

    def train(x: Stack, part: Plan) -> Stack:
        v = state.server.v.repeat(len(x), 1)
        gradient = clients.oracle(part.participants)
        return optimise_from(Strategy(h.client), local(h), x, v, gradient, part.steps, h.received)

    return finish(h, state, changes(state.x, plan, train), plan)


def alike(h: Any, strategy: Strategy, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round in which all clients run the same solver, its state fresh."""

    def train(x: Stack, part: Plan) -> Stack:
        return optimise(strategy, local(h), x, clients.oracle(part.participants), part.steps, state.cover)

    return finish(h, state, changes(state.x, plan, train), plan)


def joint_local(h: JointLocal, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of joint adaptivity without communication of preconditioners."""
    return alike(h, Strategy(h.client), state, clients, plan)


def fedada2(h: FedAda2, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of FedAda2."""
    return alike(h, Strategy(f"sm3-{h.client}"), state, clients, plan)


def fedadaadagrad(h: FedAdaAdagrad, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of FedAdaAdagrad, Alg. 10."""
    return alike(h, Strategy.ADAGRAD, state, clients, plan)


def fedadaadam(h: FedAdaAdam, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of FedAdaAdam, Alg. 8."""
    return alike(h, Strategy.ADAM, state, clients, plan)


def fedblended(h: FedBlended, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of blended optimisation, Alg. 5: the clients of a block that share a strategy are trained at once.

    Raises:
        PlanError: the plan does not name a strategy for each participant.
        UnknownNameError: a strategy is unknown.
    """
    if len(plan.strategies) != len(plan.participants):
        raise PlanError(f"strategies: {len(plan.strategies)} for {len(plan.participants)} participants; name one each")

    def train(x: Stack, part: Plan) -> Stack:
        after = torch.empty_like(x)
        for name in dict.fromkeys(part.strategies):
            strategy = choice(Strategy, "strategies", name)
            rows = [r for r, named in enumerate(part.strategies) if named == name]
            gradient = clients.oracle([part.participants[r] for r in rows])
            steps = [part.steps[r] for r in rows]
            after[rows] = optimise(strategy, local(h), x[rows], gradient, steps, state.cover)
        return after

    return finish(h, state, changes(state.x, plan, train), plan)
