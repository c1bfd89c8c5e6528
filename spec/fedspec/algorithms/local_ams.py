"""Local AMSGrad with periodic averaging: the paper's Fed-AMS, and the round that Fed-LAMB shares with it.

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

The box makes v_hat_(r+1) at the end of round r and divides by v_hat_r in it; v_hat_1 is never made and is v_hat_0 here,
so that no gradient of a round is in that round's denominator. The box calls both v_hat_0 and the stabiliser of the
denominator epsilon: they are v0 and eps here. It does not initialise m: m_0 = 0. Its rate is alpha_t, alpha_r and
alpha: eta_l here, and a caller with another rate in the next round makes another record. Sec. 4 draws half of the
clients uniformly (L329): a matter of the plan. A client that is not drawn keeps its moments.

Source: Fed-LAMB, Alg. 1 (L127-156) without its line 12: Fed-AMS of sec. 4 (L329), which is not written out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fedspec import phrases
from fedspec.arith import Scalar, Vector, constant, zeros
from fedspec.client.lamb import Moments, precondition, sent_moment
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.params import layers
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import Averaged, ClientMemory, Exponent, LocalCorrection, LocalGradient, Sent


@dataclass(frozen=True)
class FedAms(Hyper):
    """Hyper-parameters and readings of Fed-AMS."""

    eta_l: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    v0: Scalar
    gradient: LocalGradient = LocalGradient.FRESH
    memory: ClientMemory = ClientMemory.CARRIED
    bias_correction: LocalCorrection = LocalCorrection.MOMENTS
    exponent: Exponent = Exponent.LOCAL
    sent: Sent = Sent.RAW
    averaged: Averaged = Averaged.PARTICIPANTS


@dataclass(frozen=True)
class State:
    """The server's model and denominator, what every client keeps, and where the layers lie in a model."""

    x: Vector
    v_hat: Vector
    kept: tuple[Moments, ...]
    layers: tuple[slice, ...]


def init(h: FedAms, x: Vector, setup: Setup) -> State:
    """No first moment anywhere; v_0 in every second one."""
    own = Moments(m_i=zeros(x), v_i=constant(h.v0, x), t=0)
    return State(x=x, v_hat=constant(h.v0, x), kept=(own,) * setup.clients, layers=layers(setup.shapes))


def begin(h: FedAms, kept: Moments) -> Moments:
    """The moments with which a client starts a round."""
    if h.memory is ClientMemory.RESET:
        return Moments(m_i=zeros(kept.m_i), v_i=constant(h.v0, kept.v_i), t=0)
    return replace(kept, t=0) if h.exponent is Exponent.LOCAL else kept


Move = Callable[[Any, State, Vector, Vector], Vector]
"""The local model after a step from x along the ratio p."""


def local(h: FedAms, state: State, i: int, gradient: Oracle, steps: int, move: Move) -> tuple[Vector, Moments]:
    """Client i's model and moments after its local steps."""
    x, own = state.x, begin(h, state.kept[i])
    for k in range(steps):
        if k == 0 or h.gradient is LocalGradient.FRESH:
            g = gradient(k, x)
        own, p = precondition(own, g, state.v_hat, **h.of(precondition))
        x = move(h, state, x, p)
    return x, own


def run(h: FedAms, state: State, clients: Sequence[Oracle], plan: Plan, move: Move) -> tuple[State, dict[str, Any]]:
    """One round; m_i and what is sent of v_i are shown for its participants, in their order."""
    who = plan.participants
    ends = [local(h, state, i, clients[i], steps, move) for i, steps in zip(who, plan.steps, strict=True)]
    models = np.stack([x for x, _ in ends])
    moments = np.stack([sent_moment(own.v_i, steps=own.t, beta2=h.beta2, sent=h.sent) for _, own in ends])
    n = len(who) if h.averaged is Averaged.PARTICIPANTS else len(state.kept)
    v_hat = moment_maximum(state.v_hat, moments, clients=n)
    after = {i: own for i, (_, own) in zip(who, ends, strict=True)}
    kept = tuple(after.get(i, own) for i, own in enumerate(state.kept))
    values = {"m_i": np.stack([own.m_i for _, own in ends]), "s_i": moments, "v_hat": v_hat}
    return replace(state, x=model_mean(models, clients=n), v_hat=v_hat, kept=kept), values


def step(h: FedAms, state: State, clients: Sequence[Oracle], plan: Plan) -> tuple[State, dict[str, Any]]:
    """One round of Fed-AMS."""

    def move(h: FedAms, state: State, x: Vector, p: Vector) -> Vector:
        return sgd(x, p, eta_l=h.eta_l)

    return run(h, state, clients, plan, move)


ROW = Algorithm(
    id="fed-ams",
    family=Family.LAYERWISE,
    place=2,
    title="local AMSGrad with periodic averaging; not FedAMS (fedams), whose server adapts",
    source="Fed-LAMB, sec. 4 (L329), not written out: Alg. 1 without line 12; external: Chen, Li and Li (2020)",
    levels=("round",),
    rules=(precondition, sgd, sent_moment, model_mean, moment_maximum),
    readings=(Reading(name="fed-ams", words="Fed-LAMB with x_i = x_i - eta_l p for its line 12 and no decay"),),
    shows=("m_i", "s_i", "v_hat"),
    run=Program(hyper=FedAms, init=init, step=step, takes=("layers",)),
    costs=Costs(
        down="2 m d",
        up="2 m d",
        client="2 d",
        working="4 d",
        server="2 d",
        note="with memory = reset a client keeps nothing",
    ),
    traps=(
        phrases.LAGGED_V_HAT,
        phrases.MEAN_THEN_MAX,
        phrases.DIVISOR,
        "v_0 and the eps of the denominator are two numbers",
    ),
)
