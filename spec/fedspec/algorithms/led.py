"""LED: exact diffusion with several local steps per exchange. Row i of every stack is client i's; dual = 0 at first.

    Phi = X;  tau times:  Phi = Phi - eta_l G(Phi) - dual / tau
    X = W Phi
    dual = dual + Phi - X

W is doubly stochastic, so that the duals sum to 0 at all times. Where X and dual stand still over a connected network
and eta_l is small, all models are equal and their mean gradient is 0. A round has as many local steps as it names, and
one exchange. With one local step it is D2. With W = J it is SCAFFOLD's option II of everybody at eta = 1,
c_i - c = -dual / (eta_l tau) while tau stays.

External: Alghunaim (2024), "Local exact-diffusion for decentralized optimization and learning", arXiv 2302.00620, of
which the abstract alone was opened. Witnesses, two unrelated codes: ``OscarYau525/FSPDA``, ``pcode/optim/led.py``,
lines 124-155 at 0808887, and ``team-decent/decent-bench``, ``decent_bench/algorithms/p2p/_led.py``, lines 74-123 at
ad39310, which leaves the factor of the dual, here 1 / tau, to its user.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.peers import Peers, check_everyone, rows
from fedspec.arith import Scalar, Stack, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.diffusion import combined, held_back, undone
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.records import record


@dataclass(frozen=True)
class Led(Hyper):
    """Hyper-parameter of local exact diffusion."""

    eta_l: Scalar


@record
class Dual(Peers):
    """The clients' models, and the accumulated part of their steps that mixing has undone."""

    dual: Stack


def init(h: Led, x: Vector, setup: Setup) -> Dual:
    """Initial state: the models, and duals of zero."""
    X = rows(x, setup)
    return Dual(X, X * 0)


def led(h: Led, state: Dual, clients: Clients, plan: Exchange) -> tuple[Dual, dict[str, Any]]:
    """Run one round of local exact diffusion: some local steps and one exchange."""
    check_everyone(plan, clients)
    Phi, everyone, tau = state.X, range(len(clients)), len(plan.computing)
    for t in range(tau):
        Phi = held_back(Phi, gradients(clients, everyone, t, Phi), state.dual, steps=tau, eta_l=h.eta_l)
    X = combined(Phi, plan.mixing)
    dual = undone(state.dual, Phi, X)
    return Dual(X, dual), {"dual": dual.reshape(-1)}


ROW = Algorithm(
    id="led",
    family=Family.GOSSIP,
    aliases={"local-exact-diffusion": "its name in full"},
    title="exact diffusion with local steps",
    source="external: Alghunaim (2024), LED",
    basis=Basis.CODE,
    levels=("trace",),
    readings=(
        Reading(
            name="fspda",
            formerly=("alghunaim-2024",),
            words="Phi = Phi - eta_l G - dual / tau, X = W Phi, dual = dual + Phi - X; the factor 1 / tau as in FSPDA",
        ),
    ),
    run=Program(hyper=Led, init=init, step=led, event="exchange", takes=("peers",)),
    costs=Costs(gossip="|E| d", client="2 d", working="2 d"),
    traps=(
        "every local step takes back its share of the dual, the tau-th part; not the rate times it",
        "the dual grows by what mixing has undone of this round: Phi before the exchange, X after it",
        "the dual stays while local steps are taken",
        phrases.DOUBLY_STOCHASTIC,
        "W is symmetric, and no eigenvalue is -1/3 or less: see the row d2, which it is with one local step",
    ),
    symbols={"eta_l": "alpha", "dual": "y", "Phi": "phi"},
)
