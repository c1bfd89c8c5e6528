"""Streaming DiLoCo: DiLoCo that exchanges fragments in turn; clients go on training while a fragment travels.

    in the r-th exchange, r = 0, 1, ..., every client i:
        K_i - tau times:  x_i = AdamW(x_i)
        sends Delta_i = x_i - x
        tau times:        x_i = AdamW(x_i)
    on the fragment r mod P, everything else staying:
        Delta = 1/n sum_i Delta_i
        v = beta v + Delta
        x = x + eta (Delta + beta v)
        x_i = alpha x_i + (1 - alpha) x
    with AdamW as in DiLoCo, its moments and its count kept by the client.

Fragment p is made of the blocks p, p + P, p + 2 P, ... of the model. x is what all have in common: a copy that nobody
trains. An exchange ends when its fragment is received, so that a fragment's turn comes every P exchanges. Where the
first exchange is as long as the others, its fragment is sent after H - tau steps, which is torchft's clock. Where it is
tau steps longer, it is sent after H, which is MaxText's and the paper's. So the clock is the plan's, and no reading.

External: Douillard et al. (2025), "Streaming DiLoCo with overlapping communication", arXiv 2501.18512, of which v1 was
opened. Its Algorithm 2 has for x what client i itself had when it sent the fragment last (lines 7 and 11), so that with
tau or alpha above 0 clients go apart and nothing brings them together again. Its text has outer parameters that are
"globally shared" (sec. 2.3, App.) and kept once (sec. 2.5); so have the two unrelated codes that name it: meta-pytorch/
torchft at 7eb7087, torchft/local_sgd.py:325-384, 429-474 and 765-806, and AI-Hypercomputer/maxtext at e591f30,
spmd_diloco_sync.py:58-117 and nnx_state_utils.py:65-69 in src/maxtext/trainers/diloco/utils. So the text is canonical
and the print the other reading. What is sent has four bits a number in the paper, and all of them here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local_ams import counted
from fedspec.arith import Scalar, Shared, Stack, Vector, concatenate, stack, zeros
from fedspec.client.adam import Adam
from fedspec.client.adamw import adamw
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.params import layers
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import Against, Weighting
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.momentum import ServerMomentum
from fedspec.server.outer_momentum import outer_momentum


@dataclass(frozen=True)
class StreamingDiLoCo(Hyper):
    """Hyper-parameters: P fragments; overlap and own are the paper's tau and alpha, eta and beta are the server's."""

    P: int
    overlap: int
    own: Scalar
    eta_l: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    wd: Scalar
    eta: Scalar
    beta: Scalar
    against: Against = Against.COMMON


@record
class State:
    """State of the server and of every client, and the slices of the blocks in a model.

    Attributes:
        x: the model that the outer steps move.
        v: the outer momentum.
        x_i: every client's own model.
        m_i: every client's first moment.
        v_i: every client's second moment.
        t: number of gradients in every client's moments.
        layers: slice of each block in the model.
        r: number of exchanges so far.
        sent: the blocks of every client at its last exchange, if changes are against these; else of length 0.
    """

    x: Vector
    v: Vector
    x_i: Stack
    m_i: Stack
    v_i: Stack
    t: tuple[int, ...]
    layers: tuple[slice, ...]
    r: int
    sent: Stack


def init(h: StreamingDiLoCo, x: Vector, setup: Setup) -> State:
    """Initial state: every client has the model; all moments are zero."""
    n, t, blocks = setup.clients, (0,) * setup.clients, layers(setup.shapes)
    m_i, v_i = (stack([zeros(x)] * n) for _ in range(2))
    x_i = stack([x] * n)
    sent = x_i if h.against is Against.OWN else x_i[..., :0]
    return State(x=x, v=zeros(x), x_i=x_i, m_i=m_i, v_i=v_i, t=t, layers=blocks, r=0, sent=sent)


@rule
def received(x_i: Vector, x: Shared, *, own: Scalar) -> Vector:
    """Merge a received fragment into the client's own version of it, with weight alpha (``own``) for its own.

        x_i = alpha x_i + (1 - alpha) x            streaming-diloco.x_i

    External: Douillard et al. (2025), after torchft and MaxText; the argument own is alpha.
    """
    return own * x_i + (1 - own) * x


def within(part: Sequence[slice], blocks: Sequence[slice], new: Vector, old: Vector) -> Vector:
    """Model, or stack of models, with ``new`` in the blocks of ``part`` and ``old`` in all others."""
    return concatenate([new[..., l] if l in part else old[..., l] for l in blocks])


def check_overlap(overlap: int, plan: Plan) -> None:
    """Raise PlanError if a client takes fewer steps than the ``overlap`` that a fragment travels for.

    Raises:
        PlanError: a client takes fewer than ``overlap`` steps.
    """
    for i, K in zip(plan.participants, plan.steps, strict=True):
        if overlap > K:
            raise PlanError(
                f"steps: client {i} takes {K}, but a fragment travels for {overlap} steps; give at least {overlap}"
            )


def after(state: State, plan: Plan, **new: Any) -> State:
    """State after an exchange, with the given new values and the clients' steps counted."""
    t = tuple(count + K for count, K in zip(state.t, plan.steps, strict=True))
    return State(**{"sent": state.sent, **new}, t=t, layers=state.layers, r=state.r + 1)


def step(h: StreamingDiLoCo, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Exchange one fragment.

    Raises:
        PlanError: a client doesn't take part, or takes fewer than ``overlap`` steps.
    """
    plan = plan.of_everyone(len(clients))
    check_overlap(h.overlap, plan)
    fragment = state.layers[state.r % h.P :: h.P]
    own = h.against is Against.OWN

    def client(i: int, x: Vector, gradient: Oracle, K: int) -> tuple[Vector, Vector, Vector, Vector]:
        x = state.sent[i] if own else x
        y = Adam(x=state.x_i[i], m=state.m_i[i], v=state.v_i[i], t=counted(state.t, i, x))
        for k in range(K - h.overlap):
            y = adamw(y, gradient(k, y.x), **h.of(adamw))
        delta_i = y.x - x
        for k in range(K - h.overlap, K):
            y = adamw(y, gradient(k, y.x), **h.of(adamw))
        return delta_i, y.x, y.m, y.v

    deltas, x_i, m_i, v_i = each(client, clients, plan, state.x)
    delta = weighted_mean(deltas, shares(plan.examples, state.x, Weighting.UNIFORM))
    outer = outer_momentum(ServerMomentum(x=state.x, v=state.v), delta, eta=h.eta, beta=h.beta)
    v = within(fragment, state.layers, outer.v, state.v)
    if own:
        moved = (ServerMomentum(x=x, v=state.v) for x in state.sent)
        arriving = stack([outer_momentum(s, delta, eta=h.eta, beta=h.beta).x for s in moved])
        x = within(fragment, state.layers, arriving.sum(axis=0) / len(clients), state.x)
        mixed = within(fragment, state.layers, received(x_i, arriving, own=h.own), x_i)
        sent = within(fragment, state.layers, state.sent + deltas if h.overlap else mixed, state.sent)
        return after(state, plan, x=x, v=v, x_i=mixed, m_i=m_i, v_i=v_i, sent=sent), {"v": v, "x_i": mixed}
    x = within(fragment, state.layers, outer.x, state.x)
    x_i = within(fragment, state.layers, received(x_i, x, own=h.own), x_i)
    return after(state, plan, x=x, v=v, x_i=x_i, m_i=m_i, v_i=v_i), {"v": v, "x_i": x_i}


ROW = Algorithm(
    id="streaming-diloco",
    family=Family.SERVERS,
    title="DiLoCo by fragments in turn, that travel while clients go on",
    source="external: Douillard et al. (2025), Algorithm 2 with secs. 2.3 and 2.5",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="douillard-2025",
            words="outer gradients and steps of one fragment at a time, against a copy that all have in common (secs. "
            "2.3 and 2.5); what arrives weighs 1 - alpha (meta-pytorch/torchft at 7eb7087, "
            "torchft/local_sgd.py:325-384 and 429-474; AI-Hypercomputer/maxtext at e591f30, "
            "src/maxtext/trainers/diloco/utils/spmd_diloco_sync.py:58-117)",
            fixes={"against": "common"},
        ),
        Reading(
            name="douillard-2025-literal",
            words="Algorithm 2 as printed (lines 7 and 11): both are against what the client itself had when it sent "
            "the fragment last; clients that differ then never agree again; x is the mean of what arrives at them",
            fixes={"against": "own"},
        ),
    ),
    run=Program(hyper=StreamingDiLoCo, init=init, step=step, takes=("everyone", "layers")),
    costs=Costs(
        down="n p",
        up="n p",
        client="3 d",
        working="5 d",
        server="2 d",
        note="n d floats in P exchanges; x and v are the same for all, and each may keep them",
    ),
    traps=(
        phrases.DOWNHILL,
        "changes are taken against the common copy, which lives on beside the clients' models, not against what a "
        "client began from",
        "the copy takes what was sent, not what clients have made of it when it arrives",
        "alpha weighs what the client has: with alpha = 1 nobody hears of anybody",
        "an outer optimiser over all fragments decays the momentum of those that were not sent",
        "AdamW's moments and count belong to the client, and know nothing of what arrives",
    ),
    denies={Fact.ADAPTIVE: "its outer step divides by nothing: the stabiliser is that of its clients' own steps"},
    usual={"P": 2, "overlap": 1, "own": 0.5, "eta_l": 0.01, "beta2": 0.95, "wd": 0.1, "eta": 0.4},
    symbols={"x": "theta", "x_i": "theta_m", "overlap": "tau", "own": "alpha", "n": "M"},
)
