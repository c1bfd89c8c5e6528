"""Algorithms of SGD clients without a server: decentralised SGD, Gossip-PGA. Row i of X is client i's.

    dsgd         I times:  X = W X - eta_l G(X)
    gossip-pga   I times:  X = W (X - eta_l G(X));  the last time the exact mean instead of W

External: Lian et al. (2017); Chen, Yuan et al. (2021).
Baselines of AFGA (L914-976), which does not define them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from jaxtyping import Shaped

from fedspec import phrases
from fedspec.arith import Array, Scalar, Stack, Vector
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.errors import PlanError, ShapeError
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.gossip import dsgd as dsgd_step
from fedspec.mixing.gossip import global_mean, gossip
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import Order
from fedspec.records import record


@dataclass(frozen=True)
class Dsgd(Hyper):
    """Hyper-parameter of decentralised SGD, and its order of mixing and stepping."""

    eta_l: Scalar
    order: Order = Order.COMBINE_THEN_ADAPT


@dataclass(frozen=True)
class GossipPga(Hyper):
    """Hyper-parameter of Gossip-PGA; its period H is the number of local steps in a round."""

    eta_l: Scalar


@record
class Peers:
    """The clients' models."""

    X: Stack

    @property
    def x(self) -> Vector:
        """All clients' models as one vector, client by client."""
        return self.X.reshape(-1)


def rows(x: Shaped[Array, "all"], setup: Setup) -> Stack:
    """Split the vector x into the clients' models, one row each.

    Raises:
        ShapeError: the length of x isn't a multiple of the number of clients.
    """
    if len(x) % setup.clients:
        raise ShapeError(
            f"x0: got {len(x)} coordinates for {setup.clients} clients; without a server x0 must be [clients, d]"
        )
    return x.reshape(setup.clients, -1)


def check_everyone(plan: Exchange, clients: Clients) -> None:
    """Raise PlanError unless the plan has no senders, at least one local step, and all clients at each step.

    Raises:
        PlanError: the plan has senders or no local step, or a client doesn't compute at some step.
    """
    if not plan.computing:
        raise PlanError(
            "computing: the list is empty; without a server a round needs at least one step, each with all clients"
        )
    if plan.senders:
        raise PlanError(f"senders: got {plan.senders}, but this algorithm has no server; leave the list empty")
    for t, S in enumerate(plan.computing):
        if set(S) != set(range(len(clients))):
            raise PlanError(
                f"computing[{t}]: got {tuple(S)} of {len(clients)} clients; all clients must compute at every step"
            )


def init(h: Hyper, x: Vector, setup: Setup) -> Peers:
    """Initial state: the clients' models."""
    return Peers(rows(x, setup))


def dsgd(h: Dsgd, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """Run one round of decentralised SGD, a number of steps."""
    check_everyone(plan, clients)
    X, W, everyone = state.X, plan.mixing, range(len(clients))
    for t in range(len(plan.computing)):
        G = gradients(clients, everyone, t, gossip(X, W) if h.order is Order.GRADIENT_AT_COMBINED else X)
        X = dsgd_step(X, G, W, eta_l=h.eta_l, order=h.order)
    return Peers(X), {}


def gossip_pga(h: GossipPga, state: Peers, clients: Clients, plan: Exchange) -> tuple[Peers, dict[str, Any]]:
    """Run one period of Gossip-PGA."""
    check_everyone(plan, clients)
    X, W, everyone, last = state.X, plan.mixing, range(len(clients)), len(plan.computing) - 1
    for t in range(len(plan.computing)):
        X = sgd(X, gradients(clients, everyone, t, X), eta_l=h.eta_l)
        X = global_mean(X) if t == last else gossip(X, W)
    return Peers(X), {}


ROWS = (
    Algorithm(
        id="dsgd",
        family=Family.GOSSIP,
        place=6,
        title="decentralised SGD",
        source="external: Lian et al. (2017), Algorithm 1; a baseline of AFGA (L968)",
        basis=Basis.MEMORY,
        levels=("trace",),
        readings=(
            Reading(name="lian-2017", words="X = W X - eta_l G(X)", fixes={"order": "combine-then-adapt"}),
            Reading(
                name="adapt-then-combine",
                words="X = W (X - eta_l G(X)), the lines exchanged, as Lian et al. allow and AFGA does",
                fixes={"order": "adapt-then-combine"},
            ),
            Reading(
                name="gradient-at-combined",
                words="X = W X - eta_l G(W X), the combine-then-adapt diffusion of Sayed (2014)",
                fixes={"order": "gradient-at-combined"},
            ),
        ),
        run=Program(hyper=Dsgd, init=init, step=dsgd, event="exchange", takes=("peers",)),
        costs=Costs(gossip="|E| tau d", client="d"),
        traps=(
            "Lian et al. combine, then add the gradient taken before; AFGA adapts first, then combines",
            phrases.DOUBLY_STOCHASTIC,
        ),
        facts=(Fact.AFFINE,),
        symbols={"eta_l": "gamma", "X": "X_k", "G": "dF(X_k; xi_k)"},
    ),
    Algorithm(
        id="gossip-pga",
        family=Family.GOSSIP,
        place=8,
        title="gossip SGD with periodic global averaging",
        source="external: Chen, Yuan et al. (2021); a baseline of AFGA (L968)",
        basis=Basis.MEMORY,
        levels=("trace",),
        readings=(
            Reading(name="chen-2021", words="X = W (X - eta_l G(X)), at the last local step of a round the exact mean"),
        ),
        run=Program(hyper=GossipPga, init=init, step=gossip_pga, event="exchange", takes=("peers",)),
        costs=Costs(
            down="n d",
            up="n d",
            gossip="|E| (tau - 1) d",
            client="d",
            note="the exact mean goes up and down each round",
        ),
        traps=(
            "the exact mean stands in the place of the last exchange of a period, not of the first",
            phrases.DOUBLY_STOCHASTIC,
        ),
        facts=(Fact.AFFINE,),
        symbols={"eta_l": "gamma", "tau": "H", "X": "x_i^(k)"},
    ),
)
