"""DiLoCo: clients run AdamW and keep its state; the server takes a Nesterov step along their mean change.

    for each client i of the round:
        x_i = x;  m_i, v_i, t_i as it left them
        H times:
            g = g_i(x_i);  t_i = t_i + 1
            m_i = beta1 m_i + (1 - beta1) g;  v_i = beta2 v_i + (1 - beta2) g^2
            m_hat = m_i / (1 - beta1^t_i);  v_hat = v_i / (1 - beta2^t_i)
            x_i = x_i - eta_l wd x_i - eta_l m_hat / (sqrt(v_hat) + eps)
        Delta_i = x_i - x
    Delta = 1/|S| sum_i Delta_i
    v = beta v + Delta
    x = x + eta (Delta + beta v)

The outer gradient of the box is -Delta, old model minus new. Its outer optimiser is named and not printed; the three
codes that the canonical reading rests on give torch's or optax's SGD that gradient, eta = 0.7 and beta = 0.9, and keep
AdamW's state in the client. A client that sits out keeps its own. Some clip each gradient before AdamW sees it (to
length 1, PrimeIntellect-ai/OpenDiloco at a5b7236, open_diloco/train_diloco_torch.py:323); nothing is clipped here.

External: Douillard et al. (2023), "DiLoCo: Distributed Low-Communication Training of Language Models", arXiv
2311.08105, of which v3 was opened: its Algorithm 1 names InnerOpt and OuterOpt, and each replica has AdamW's state for
itself (App. 6.1). The mean is uniform, but by examples where the data of replicas are unlike.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local_ams import counted
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Stack, Vector, put, stack, zeros
from fedspec.client.adam import Adam
from fedspec.client.adamw import adamw
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, Served
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.periodic import moment_mean
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Inbox, Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import InnerState, MomentumForm, MomentumSum, Rated, Weighting
from fedspec.records import record
from fedspec.server.momentum import ServerMomentum
from fedspec.server.momentum import init as init_momentum
from fedspec.server.outer_momentum import outer_momentum


@dataclass(frozen=True)
class DiLoCo(Hyper):
    """Hyper-parameters and readings: beta1, beta2, eps and wd are AdamW's at the clients, eta and beta the server's."""

    eta_l: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    wd: Scalar
    eta: Scalar
    beta: Scalar
    momentum: MomentumForm = MomentumForm.NESTEROV
    momentum_sum: MomentumSum = MomentumSum.SUM
    rated: Rated = Rated.STEP
    inner: InnerState = InnerState.KEPT
    weights: Weighting = Weighting.UNIFORM


@record
class State:
    """The server's model and outer momentum, and every client's AdamW state.

    Attributes:
        x: the model.
        v: the outer momentum.
        m_i: every client's first moment as its last round left it.
        v_i: every client's second moment as its last round left it.
        t: number of gradients in every client's moments.
    """

    x: Vector
    v: Vector
    m_i: Stack
    v_i: Stack
    t: tuple[int, ...]


def init(h: DiLoCo, x: Vector, setup: Setup) -> State:
    """Initial state: all moments at zero."""
    n = setup.clients
    return State(x=x, v=zeros(x), m_i=stack([zeros(x)] * n), v_i=stack([zeros(x)] * n), t=(0,) * n)


def after(state: State, plan: Plan, *, x: Vector, v: Vector, m_i: Stack, v_i: Stack) -> State:
    """State after a round, with the new values of the server and of the participants."""
    S, steps = list(plan.participants), dict(zip(plan.participants, plan.steps, strict=True))
    t = tuple(count + steps.get(i, 0) for i, count in enumerate(state.t))
    return State(x=x, v=v, m_i=put(state.m_i, S, m_i), v_i=put(state.v_i, S, v_i), t=t)


def begin(h: DiLoCo, state: State, i: int, x: Vector) -> Adam:
    """AdamW state with which client i starts a round from the server's model."""
    m_i, v_i = state.m_i[i], state.v_i[i]
    if h.inner is InnerState.RESET:
        return Adam(x=x, m=zeros(m_i), v=zeros(v_i), t=0)
    return Adam(x=x, m=m_i, v=v_i, t=counted(state.t, i, x))


def step(h: DiLoCo, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round under any options; return m_i and v_i of the participants, in their order."""

    def client(i: int, x: Vector, gradient: Oracle, H: int) -> tuple[Vector, Vector, Vector]:
        y = begin(h, state, i, x)
        for k in range(H):
            y = adamw(y, gradient(k, y.x), **h.of(adamw))
        return y.x - x, y.m, y.v

    deltas, m_i, v_i = each(client, clients, plan, state.x)
    p = shares(plan.examples, state.x, h.weights, plan.steps)
    delta = weighted_mean(deltas, p)
    outer = outer_momentum(ServerMomentum(x=state.x, v=state.v), delta, **h.of(outer_momentum))
    if h.inner is InnerState.AVERAGED:
        m_i, v_i = (0 * moments + moment_mean(moments, p) for moments in (m_i, v_i))
    shown = {"delta": delta, "v": outer.v, "m_i": m_i, "v_i": v_i}
    return after(state, plan, x=outer.x, v=outer.v, m_i=m_i, v_i=v_i), shown


def init_server(h: DiLoCo, x: Vector, clients: int) -> ServerMomentum:
    """Initial state of the stand-alone server: a momentum buffer of zeros."""
    return init_momentum(x)


def server(h: DiLoCo, state: ServerMomentum, messages: Inbox) -> tuple[ServerMomentum, dict[str, Any]]:
    """Take the outer step from the messages of a round."""
    delta = aggregate(messages, h.weights, state.x)
    return outer_momentum(state, delta, **h.of(outer_momentum)), {"delta": delta}


_TORCH = {"momentum": "nesterov", "momentum_sum": "sum", "rated": "step"}

ROW = Algorithm(
    id="diloco",
    family=Family.SERVERS,
    title="AdamW clients that keep their state, Nesterov's momentum on the server",
    source="external: Douillard et al. (2023), which names the outer optimiser and does not print it",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        Reading(
            name="diloco",
            words="v = beta v + Delta, x = x + eta (Delta + beta v), clients keep m_i, v_i and t_i (PrimeIntellect-ai/"
            "OpenDiloco at a5b7236, open_diloco/train_diloco_torch.py:186-187 and 340-353; meta-pytorch/torchft at "
            "7eb7087, torchft/local_sgd.py:334-336 and 464-468 with train_diloco.py:164-169; AI-Hypercomputer/maxtext "
            "at e591f30, src/maxtext/trainers/diloco/utils/spmd_diloco_sync.py:41-55)",
            fixes={**_TORCH, "inner": "kept"},
        ),
        Reading(
            name="heavy-ball",
            words="the same with x = x + eta v, FedAvgM's server (google-deepmind/asyncdiloco at e783a30: its runs in "
            "cells 8 to 27 call it nesterov and do not ask torch's SGD for that; AdamW is made anew there)",
            fixes={**_TORCH, "momentum": "heavy-ball", "inner": "kept"},
        ),
        Reading(
            name="rate-inside",
            words="v = beta v + eta Delta, x = x + eta Delta + beta v: other models only where eta changes (bentherien/"
            "muloco-1 at 33cc333, muloco/pytorch/muloco.py:350-359, there around other clients)",
            fixes={**_TORCH, "rated": "buffer", "inner": "kept"},
        ),
        Reading(
            name="noloco-baseline",
            words="v = beta v + eta Delta, x = x + v, and whoever takes part goes on from the round's mean m_i and v_i "
            "(gensyn-ai/noloco at a1b4a42, src/noloco/diloco_optimizer.py:51-86)",
            fixes={"momentum": "heavy-ball", "momentum_sum": "sum", "rated": "buffer", "inner": "averaged"},
        ),
        Reading(
            name="reset",
            words="as diloco, but AdamW is made anew in every round (google-deepmind/asyncdiloco at e783a30, cell 5: "
            "inner_loop, and the outer optimiser's default)",
            fixes={**_TORCH, "inner": "reset"},
            levels=("round",),
        ),
        Reading(
            name="averaged-buffer",
            words="v = beta v + (1 - beta) Delta, x = x + eta (Delta + beta v) (rafey1104/async_diloco_pytorch at "
            "bda9f6b, server/async_server.py:26-33, there for one client at a time)",
            fixes={**_TORCH, "momentum_sum": "average", "inner": "kept"},
        ),
    ),
    run=Program(
        hyper=DiLoCo,
        init=init,
        step=step,
        served=Served(init=init_server, server=server, spares=("beta1", "beta2", "eps")),
    ),
    costs=Costs(down="m d", up="m d", client="2 d", working="4 d", server="2 d"),
    traps=(
        phrases.DOWNHILL,
        "AdamW's moments and its count of steps live in the client from round to round, and are neither sent nor reset",
        "a client begins its round from the model after the outer step, not from its own or from the mean",
        "the step uses the new buffer and the mean change beside it: eta (Delta + beta v); with v alone it is FedAvgM",
        "torch's SGD is heavy-ball unless it is told nesterov = True, whatever a code calls its outer optimiser",
        "the mean is over the clients of the round; their sum moves |S| times as far",
        "the outer optimiser lives from round to round; made anew, every round is its first",
    ),
    denies={Fact.ADAPTIVE: "its server divides by nothing: the stabiliser is that of its clients' own steps"},
    usual={"eta_l": 0.01, "beta2": 0.95, "wd": 0.1, "eta": 0.7},
    symbols={"x": "theta", "eta": "outer learning rate", "beta": "outer momentum", "Delta": "-Delta^(t)"},
)
