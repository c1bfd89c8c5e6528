"""D2: decentralised SGD whose steps undo the bias of mixing. Row i of every stack belongs to client i.

    I times:  X' = W (2 X - X_before - eta_l (G(X) - G_before))
              X_before = X;  G_before = G(X);  X = X'

with X_before = X and G_before = 0 at first, so that the first step is W (X - eta_l G(X)). At a constant rate the mean
model moves by eta_l times the mean gradient; where X stands still over a connected network, all models are equal and
that is 0. W is symmetric, and no eigenvalue is -1/3 or less; the reading ``exact-diffusion`` has (I + W) / 2 in the
place of W, whose eigenvalues are not below 0.

External: Tang, Lian, Yan, Zhang and Liu (2018), arXiv 1803.07068, and Yuan, Ying, Zhao and Sayed (2018), arXiv
1702.05122, neither opened. Witnesses: ``epfml/quasi-global-momentum``, ``code/pcode/optim/decentralized_d2.py`` at
0683d7a, with W; ``Bluefog-Lib/bluefog``, ``examples/pytorch_optimization.py``, lines 219-289 at 9ee376a, with either;
``team-decent/decent-bench``, ``decent_bench/algorithms/p2p/_ed.py`` at ad39310, with (I + W) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.diging import own_gradients
from fedspec.algorithms.peers import Peers, check_everyone, rows
from fedspec.arith import Scalar, Stack, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.diffusion import d2_step
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients
from fedspec.readings import MixedBy
from fedspec.records import record


@dataclass(frozen=True)
class D2(Hyper):
    """Hyper-parameter and reading of D2."""

    eta_l: Scalar
    matrix: MixedBy = MixedBy.WHOLE


@record
class Before(Peers):
    """The clients' models, their models before the last step, and the gradients at those earlier models."""

    X_before: Stack
    G: Stack


def init(h: D2, x: Vector, setup: Setup) -> Before:
    """Initial state: the models, with equal models before the last step and gradients of zero."""
    X = rows(x, setup)
    return Before(X, X, X * 0)


def step(h: D2, state: Before, clients: Clients, plan: Exchange) -> tuple[Before, dict[str, Any]]:
    """Run one round of D2, a number of steps."""
    check_everyone(plan, clients)
    X, X_before, G_before = state.X, state.X_before, state.G
    for t in range(len(plan.computing)):
        G = own_gradients(clients, t, X)
        after = d2_step(X, X_before, G_before, G, plan.mixing, eta_l=h.eta_l, matrix=h.matrix)
        X, X_before, G_before = after, X, G
    return Before(X, X_before, G_before), {}


ROW = Algorithm(
    id="d2",
    family=Family.GOSSIP,
    aliases={"exact-diffusion": "Bluefog-Lib/bluefog, with (I + W) / 2: that reading of it"},
    title="decentralised SGD without the bias of unlike data",
    source="external: Tang, Lian, Yan, Zhang and Liu (2018)",
    basis=Basis.CODE,
    levels=("trace",),
    readings=(
        Reading(
            name="whole-matrix",
            formerly=("tang-2018",),
            words="X = W (2 X - X_before - eta_l (G - G_before)); the first step W (X - eta_l G)",
            fixes={"matrix": "whole"},
        ),
        Reading(
            name="exact-diffusion",
            words="(I + W) / 2 in the place of W, as Yuan et al. (2018); Bluefog's default",
            fixes={"matrix": "half"},
        ),
    ),
    run=Program(hyper=D2, init=init, step=step, event="exchange", takes=("peers",)),
    costs=Costs(
        gossip="|E| tau d",
        client="3 d",
        working="3 d",
        note="at a constant rate X_before - eta_l G_before is one d, and 2 d are kept",
    ),
    traps=(
        "all of it is mixed, what is taken back too",
        "the first step is mixed as well (liboyue/Network-Distributed-Algorithm, D2.py at 7f661e9, does not)",
        "W is symmetric with eigenvalues above -1/3: on a ring of even length that is a weight of the own model "
        "above 1/3, else the models run away",
        "at a rate that changes, the present one multiplies both gradients here; where psi = X - eta_l G is kept, as "
        "in Bluefog, each has its own",
        phrases.DOUBLY_STOCHASTIC,
    ),
    symbols={"eta_l": "gamma", "G": "dF(X; xi)"},
)
