"""Local AMSGrad with periodic averaging, all participants of a round at once; the round that Fed-LAMB shares with it.

    for each client i in D:
        x_i = x;  m_i, v_i as it left them
        T times:
            g = g_i(x_i)
            m_i = beta1 m_i + (1 - beta1) g;  v_i = beta2 v_i + (1 - beta2) g^2
            p = m_i / (1 - beta1^t) / (sqrt(v_hat) + eps)
            x_i = x_i - eta_l p
        s_i = v_i
    x = mean over D of x_i
    v_hat = max(v_hat, mean over D of s_i)

Source: Fed-LAMB, Alg. 1 (L127-156) without its line 12: Fed-AMS of sec. 4 (L329), which is not written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import torch

from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import constant, zeros
from fedspec.client.lamb import Moments, precondition, sent_moment
from fedspec.client.sgd import sgd
from fedspec.params import layers
from fedspec.plan import Setup
from fedspec.readings import Averaged, ClientMemory, Exponent, LocalGradient
from fedspec_torch.algorithms.local import schedule
from fedspec_torch.arith import Mask, Stack, Vector, masked
from fedspec_torch.mixing.periodic import model_mean, moment_maximum
from fedspec_torch.plan import Clients, Plan

__all__ = ["FedAms", "State", "init", "run", "step"]


@dataclass(frozen=True)
class State:
    """The server's model and denominator, what all clients keep, and where the layers lie in a model."""

    x: Vector
    v_hat: Vector
    kept: Moments
    layers: tuple[slice, ...]


def init(h: FedAms, x: Vector, setup: Setup) -> State:
    """No first moment anywhere; v_0 in every second one."""
    rows = (setup.clients, len(x))
    counted: Any = torch.zeros(setup.clients, dtype=torch.int64, device=x.device)
    own = Moments(m_i=x.new_zeros(rows), v_i=x.new_full(rows, h.v0), t=counted)
    return State(x=x, v_hat=torch.full_like(x, h.v0), kept=own, layers=layers(setup.shapes))


def begin(h: FedAms, kept: Any) -> Moments:
    """The moments with which the clients start a round."""
    if h.memory is ClientMemory.RESET:
        return Moments(m_i=zeros(kept.m_i), v_i=constant(h.v0, kept.v_i), t=kept.t * 0)
    fresh: Moments = replace(kept, t=kept.t * 0) if h.exponent is Exponent.LOCAL else kept
    return fresh


Move = Callable[[Any, State, Stack, Stack, "Mask | None"], Stack]
"""The local models after a step from x along the ratios p, taken by the clients that the mask names."""


def local(
    h: FedAms, state: State, clients: Clients, who: Sequence[int], steps: Sequence[int], move: Move
) -> tuple[Stack, Moments]:
    """The models and moments of the participants after their local steps."""
    index = list(who)
    own = begin(h, Moments(**{f.name: getattr(state.kept, f.name)[index] for f in fields(Moments)}))
    gradient = clients.oracle(who)
    x = state.x.repeat(len(index), 1)
    for k, active in schedule(steps, x.device):
        if k == 0 or h.gradient is LocalGradient.FRESH:
            g = gradient(k, x)
        own, p = masked(precondition, active)(own, g, state.v_hat, **h.of(precondition))
        x = move(h, state, x, p, active)
    return x, own


def run(h: FedAms, state: State, clients: Clients, plan: Plan, move: Move) -> tuple[State, dict[str, Any]]:
    """One round; m_i and what is sent of v_i are shown for its participants, in their order."""
    who = list(plan.participants)
    models, own = local(h, state, clients, who, plan.steps, move)
    moments = sent_moment(own.v_i, steps=own.t, beta2=h.beta2, sent=h.sent)
    n = len(who) if h.averaged is Averaged.PARTICIPANTS else len(state.kept.m_i)
    v_hat = moment_maximum(state.v_hat, moments, clients=n)
    kept: Any = Moments(**{f.name: getattr(state.kept, f.name).clone() for f in fields(Moments)})
    kept.m_i[who], kept.v_i[who], kept.t[who] = own.m_i, own.v_i, own.t
    after = replace(state, x=model_mean(models, clients=n), v_hat=v_hat, kept=kept)
    return after, {"m_i": own.m_i, "s_i": moments, "v_hat": v_hat}


def step(h: FedAms, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of Fed-AMS."""

    def move(h: FedAms, state: State, x: Stack, p: Stack, active: Mask | None) -> Stack:
        return masked(sgd, active)(x, p, eta_l=h.eta_l)

    return run(h, state, clients, plan, move)
