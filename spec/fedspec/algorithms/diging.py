"""DIGing: clients without a server step along estimates of the mean gradient. Row i of X, Y is client i's.

    at first  Y = G(X)
    I times:  X' = W X - eta_l Y
              Y = W Y + G(X') - G(X)
              X = X'

W is doubly stochastic, so that the sum of Y is that of the gradients at all times. Where X and Y stand still over a
connected network, all models are equal and their mean gradient is 0, at a constant rate. In the first round a gradient
more is asked for, at the models that it begins with.

    semi-atc   X' = W (X - eta_l Y), the same Y; also ATC tracking, NEXT, SONATA
    atc-diging X' = W (X - eta_l Y);  Y = W (Y + G(X') - G(X)); also Aug-DGM
    nvflare    at first Y = 0 and G(X) counts as 0: the first step only mixes

External: Nedic, Olshevsky and Shi (2017), arXiv 1607.03218, not opened. Witnesses: ``Bluefog-Lib/bluefog``,
``examples/pytorch_optimization.py``, lines 291-354 at 9ee376a, and ``liboyue/Network-Distributed-Algorithm``,
``nda/optimizers/decentralized_distributed/DGD_tracking.py`` at 7f661e9, two codes that agree.
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
from fedspec.mixing.gradient_tracking import along_tracker, tracker
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.readings import TrackerStart, Tracking
from fedspec.records import record


@dataclass(frozen=True)
class Diging(Hyper):
    """Hyper-parameter and readings of DIGing."""

    eta_l: Scalar
    tracking: Tracking = Tracking.DIGING
    start: TrackerStart = TrackerStart.GRADIENT


@record
class Trackers(Peers):
    """The clients' models, estimates of the mean gradient and last gradients; ``begun`` is False before the first."""

    Y: Stack
    G: Stack
    begun: bool


def init(h: Diging, x: Vector, setup: Setup) -> Trackers:
    """Initial state: the models, with no gradient yet."""
    X = rows(x, setup)
    return Trackers(X, X * 0, X * 0, h.start is TrackerStart.ZERO)


def own_gradients(clients: Clients, t: int, X: Stack) -> Stack:
    """Copy of all clients' gradients at local step t, since a population may overwrite the array that it returns."""
    return 1 * gradients(clients, range(len(clients)), t, X)


def step(h: Diging, state: Trackers, clients: Clients, plan: Exchange) -> tuple[Trackers, dict[str, Any]]:
    """Run one round of DIGing, a number of steps."""
    check_everyone(plan, clients)
    X, Y, G, W = state.X, state.Y, state.G, plan.mixing
    if not state.begun:
        Y = own_gradients(clients, 0, X)
        G = Y
    for t in range(len(plan.computing)):
        X, G_before = along_tracker(X, Y, W, eta_l=h.eta_l, tracking=h.tracking), G
        G = own_gradients(clients, t, X)
        Y = tracker(Y, G_before, G, W, tracking=h.tracking)
    return Trackers(X, Y, G, begun=True), {"Y": Y.reshape(-1)}


ROW = Algorithm(
    id="diging",
    family=Family.GOSSIP,
    aliases={"gradient-tracking": "what it is a form of"},
    title="gradient tracking over a network",
    source="external: Nedic, Olshevsky and Shi (2017), Algorithm 1",
    basis=Basis.CODE,
    levels=("trace",),
    readings=(
        Reading(
            name="diging",
            formerly=("nedic-2017",),
            words="X = W X - eta_l Y, Y = W Y + G(X) - G(X_before), Y = G(X) at first",
            fixes={"tracking": "diging", "start": "gradient"},
        ),
        Reading(
            name="semi-atc",
            words="X = W (X - eta_l Y), as ATC tracking, NEXT and SONATA have it "
            "(team-decent/decent-bench, decent_bench/algorithms/p2p/_atc_tracking.py at ad39310)",
            fixes={"tracking": "semi-atc", "start": "gradient"},
        ),
        Reading(
            name="atc-diging",
            words="Y = W (Y + G(X) - G(X_before)) too, as Aug-DGM has it "
            "(team-decent/decent-bench, decent_bench/algorithms/p2p/_aug_dgm.py at ad39310)",
            fixes={"tracking": "atc", "start": "gradient"},
        ),
        Reading(
            name="nvflare",
            words="Y and the gradient before the first are 0, so that the first step only mixes "
            "(NVIDIA/NVFlare, nvflare/app_opt/p2p/executors/gradient_tracking.py at 41a6de6)",
            fixes={"tracking": "diging", "start": "zero"},
        ),
    ),
    run=Program(hyper=Diging, init=init, step=step, event="exchange", takes=("peers",)),
    costs=Costs(gossip="2 |E| tau d", client="3 d", working="3 d"),
    traps=(
        "what is added to Y is the gradient at the new model less that at the old one, each taken once",
        "the step is along the Y that was known before it; the gradient at the new model comes after it",
        "a start at Y = 0 needs a gradient before the first that is 0 too: with G(X) there, the sum of Y is never that "
        "of the gradients, and the limit another point",
        "the gradient of the step before is kept as a copy, not as a reference to what is written over",
        phrases.DOUBLY_STOCHASTIC,
    ),
    symbols={"eta_l": "alpha", "X": "x(k)", "Y": "y(k)"},
)
