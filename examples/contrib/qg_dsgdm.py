"""QG-DSGDm: gossip with a momentum of the models' total moves (gradient step and mixing), not of gradients alone.

    t times:  V = rho M + G(X)
              X' = W (X - eta_l V)
              M = slow M + (1 - slow) (X - X') / eta_l
              X = X'

Row i of X and of M is client i's; M = 0 before the first step.

External: Lin, Karimireddy, Stich and Jaggi (2021), arXiv 2102.04761, not opened. Witness: the authors' code
epfml/quasi-global-momentum (code/pcode/optim/decentralized_qg_sgd.py at 0683d7a), without Nesterov, dampening, weight
decay or clipping, its buffer updated at every step (local_step = 1), factor = 1 - slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec.algorithms.peers import check_everyone, rows
from fedspec.arith import Mixing, Scalar, Stack, Vector
from fedspec.costs import Costs
from fedspec.domains import DECAY, Parameter, declare
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.gossip import gossip
from fedspec.plan import Exchange, Setup
from fedspec.population import Clients, gradients
from fedspec.records import record
from fedspec.rules import rule
from fedspec_suite.own import Mistake, Reduction

declare("slow", Parameter(DECAY, "what a quasi-global momentum keeps of itself in a step", of_clients=True))


@dataclass(frozen=True)
class QuasiGlobal(Hyper):
    """Hyper-parameters of QG-DSGDm."""

    eta_l: Scalar
    rho: Scalar
    slow: Scalar


@record
class State:
    """The clients' models and momenta."""

    X: Stack
    M: Stack

    @property
    def x(self) -> Vector:
        """All models as one vector, client by client."""
        return self.X.reshape(-1)


@rule
def qg_dsgdm(state: State, G: Stack, W: Mixing, *, eta_l: Scalar, rho: Scalar, slow: Scalar) -> State:
    """Take one step of all clients.

        V = rho M + G                                         qg-dsgdm.V
        X = W (X - eta_l V)                                   qg-dsgdm.step
        M = slow M + (1 - slow) (X_before - X) / eta_l        qg-dsgdm.M

    External: Lin, Karimireddy, Stich and Jaggi (2021).
    """
    V = rho * state.M + G
    X = gossip(state.X - eta_l * V, W)
    M = slow * state.M + (1 - slow) * (state.X - X) / eta_l
    return State(X=X, M=M)


def init(h: QuasiGlobal, x: Vector, setup: Setup) -> State:
    """Begin with a copy of the model at every client, and zero momentum."""
    X = rows(x, setup)
    return State(X=X, M=X * 0)


def step(h: QuasiGlobal, state: State, clients: Clients, plan: Exchange) -> tuple[State, dict[str, Any]]:
    """Run the round's local steps, all with one mixing matrix."""
    check_everyone(plan, clients)
    for t in range(len(plan.computing)):
        G = gradients(clients, range(len(clients)), t, state.X)
        state = qg_dsgdm(state, G, plan.mixing, **h.of(qg_dsgdm))
    return state, {"M": state.M.reshape(-1)}


ROW = Algorithm(
    id="qg-dsgdm",
    family=Family.GOSSIP,
    title="decentralised SGD with a quasi-global momentum",
    source="external: Lin, Karimireddy, Stich and Jaggi (2021), arXiv 2102.04761",
    levels=("trace",),
    readings=(
        Reading(name="lin-2021", words="V = rho M + G, X' = W (X - eta_l V), M = slow M + (1 - slow) (X - X') / eta_l"),
    ),
    run=Program(hyper=QuasiGlobal, init=init, step=step, event="exchange", takes=("peers",)),
    costs=Costs(gossip="|E| tau d", client="d", working="3 d"),
    usual={"slow": 0.9},
    denies={},
    symbols={"eta_l": "eta", "rho": "beta", "slow": "mu"},
    traps=(
        "the momentum follows the models after mixing, not the gradients",
        "what a model moved is divided by the rate",
        "V is used in one step and forgotten",
    ),
)


def last_move(past: Any, h: Any, o: Any) -> Any:
    """Return the last move of the mean model, whose momentum decays by slow + (1 - slow) rho; mixing keeps the mean."""
    T, keep = len(past), h["slow"] + (1 - h["slow"]) * h["rho"]
    m = sum((1 - h["slow"]) * keep ** (T - 2 - t) * past[t] for t in range(T - 1))
    return -h["eta_l"] * (h["rho"] * m + past[-1])


STEPS = {"qg-dsgdm": last_move}

EDGES = (
    Reduction(
        target="dsgd",
        values={"rho": 0.0},
        cited="no momentum is taken",
        levels=("trace",),
        options={"order": "adapt-then-combine"},
    ),
)

MUTANTS = (
    Mistake(
        id="qg-dsgdm-local",
        words="the momentum follows what the client's own step was, before mixing",
        function=qg_dsgdm,
        old="(state.X - X) / eta_l",
        new="V",
        # Mixing moves no mean, and the second route is of the mean alone.
        survives="the mean of the clients' momenta is the same; numbers by hand would tell it",
    ),
    Mistake(
        id="qg-dsgdm-units",
        words="what a model moved is not divided by the rate",
        function=qg_dsgdm,
        old="(state.X - X) / eta_l",
        new="(state.X - X)",
    ),
    Mistake(
        id="qg-dsgdm-sum",
        words="the momentum is a sum, not an average",
        function=qg_dsgdm,
        old="(1 - slow) * (state.X - X)",
        new="(state.X - X)",
    ),
)
