"""K-GT: gradient tracking with several local steps per exchange. Row i of every stack is client i's; C = 0 at first.

    Z = X;  tau times:  Z = Z - eta_l (G(Z) + C)
    V = (X - Z) / (eta_l tau)
    C = C - V + W V
    X = W (X - eta eta_l tau V)

W is doubly stochastic, so that C sums to 0 at all times. V is the mean of a client's corrected gradients of the round;
C is what gossip says that the mean of all differs by. With one local step G + C is the tracker of DIGing. With W = J
it is SCAFFOLD's option II of everybody, C = c - c_i. A round has as many local steps as it names, and one exchange.

External: Liu, Lin, Koloskova and Stich (2024), "Decentralized gradient tracking with local steps", arXiv 2301.01313,
of which the abstract alone was opened. Witnesses, two unrelated codes that agree, both with C = 0 at first:
``OscarYau525/FSPDA``, ``pcode/optim/k_gt.py``, lines 127-169 at 0808887, and ``team-decent/decent-bench``,
``decent_bench/algorithms/p2p/_kgt.py``, lines 81-143 at ad39310, which says that the paper's line 2 has another start,
and notes 0 as what is done in practice.
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
from fedspec.mixing.gradient_tracking import along_directions, correction, mean_direction, towards_mean
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.records import record


@dataclass(frozen=True)
class Kgt(Hyper):
    """Hyper-parameters of K-GT."""

    eta_l: Scalar
    eta: Scalar


@record
class Corrected(Peers):
    """The clients' models, and the corrections that they add to their gradients."""

    C: Stack


def init(h: Kgt, x: Vector, setup: Setup) -> Corrected:
    """Initial state: the models, and corrections of zero."""
    X = rows(x, setup)
    return Corrected(X, X * 0)


def k_gt(h: Kgt, state: Corrected, clients: Clients, plan: Exchange) -> tuple[Corrected, dict[str, Any]]:
    """Run one round of K-GT: some local steps and one exchange."""
    check_everyone(plan, clients)
    X, C, W, everyone, tau = state.X, state.C, plan.mixing, range(len(clients)), len(plan.computing)
    Z = X
    for t in range(tau):
        Z = towards_mean(Z, gradients(clients, everyone, t, Z), C, eta_l=h.eta_l)
    V = mean_direction(X, Z, steps=tau, eta_l=h.eta_l)
    C = correction(C, V, W)
    X = along_directions(X, V, W, steps=tau, eta_l=h.eta_l, eta=h.eta)
    return Corrected(X, C), {"V": V.reshape(-1), "C": C.reshape(-1)}


ROW = Algorithm(
    id="k-gt",
    family=Family.GOSSIP,
    aliases={"kgt": "team-decent/decent-bench"},
    title="gradient tracking with local steps",
    source="external: Liu, Lin, Koloskova and Stich (2024), K-GT",
    basis=Basis.CODE,
    levels=("trace",),
    readings=(
        Reading(
            name="zero-start",
            formerly=("liu-2024",),
            words="as two codes have it: C = 0 at first, V the mean corrected gradient, X = W (X - eta eta_l tau V)",
        ),
    ),
    run=Program(hyper=Kgt, init=init, step=k_gt, event="exchange", takes=("peers",)),
    costs=Costs(gossip="2 |E| d", client="2 d", working="3 d"),
    traps=(
        "C takes the neighbours' directions: times the own V in the place of theirs, C sums to no 0",
        "V is divided by the number of local steps, and the exchange multiplies by it again",
        "X is moved from where the round began, along V; with eta = 1 alone that is where the local steps ended",
        "with one local step each exchanges too: a counter that never lets the first one pass begins a round late "
        "(OscarYau525/FSPDA, pcode/optim/k_gt.py, line 143 at 0808887)",
        phrases.DOUBLY_STOCHASTIC,
    ),
    symbols={"eta_l": "eta_c", "eta": "eta_s", "V": "z", "tau": "K", "C": "c_i"},
)
