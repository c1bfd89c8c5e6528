"""FedPD: clients descend an augmented Lagrangian from their own last models and send these plus scaled duals.

    every client i:
        tau_i times: x_i = x_i - eta_l (g_i(x_i) + lam_i + mu (x_i - x))      (on from its last round, and not from x)
        lam_i = lam_i + mu (x_i - x)
    x = 1/n sum_i (x_i + lam_i / mu)

with x_i = x and lam_i = 0 at first; mu is 1 / eta of the paper. Clients that solve their local problems exactly are
FedDyn's, with lam_i of the other sign. All communicate after every round: the paper skips that with a probability p,
which is 0 here, and x then is each client's own.

External: Zhang, Hong, Dhople, Yin and Liu (2021), "FedPD: A Federated Learning Framework with Adaptivity to Non-IID
Data", arXiv 2005.11418, opened as 564612540/FedPD has it at badde17 (TSP_FedPD.pdf, Algorithm 2, with option II of
Algorithm 3, Oracle I). Of the authors' codes there Python/src/optimizer.py:189-262 is the box, and
Matlab/FedPD_v2/Fed_PD.m:23-39 adds lam_i as it was before the round: it adds eta lam_i to x where the box adds it to
x_i.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, stack, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading, above_zero
from fedspec.hyper import Hyper
from fedspec.mixing.duals import check_pull
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import DualAdded
from fedspec.records import record
from fedspec.rules import rule


@dataclass(frozen=True)
class FedPD(Hyper):
    """Hyper-parameters and reading of FedPD.

    Raises:
        ParameterError: mu is 0, and the server divides by it.
    """

    eta_l: Scalar
    mu: Scalar
    dual_added: DualAdded = DualAdded.TO_OWN

    def __post_init__(self) -> None:
        super().__post_init__()
        check_pull(self.mu)


@record
class State:
    """The server's model, and each client's model and dual variable."""

    x: Vector
    x_i: Stack
    lam_i: Stack


@rule
def lagrangian_sgd(x: Vector, g: Vector, lam_i: Vector, anchor: Vector, *, eta_l: Scalar, mu: Scalar) -> Vector:
    """Gradient step on FedPD's local objective, F_i(y) + lam_i' (y - x) + mu/2 |y - x|^2.

        x_i = x_i - eta_l (g + lam_i + mu (x_i - x))           fedpd.x_i

    The anchor x is the model that the round began with. External: Zhang et al. (2021), Algorithm 3, option II.
    """
    return x - eta_l * (g + lam_i + mu * (x - anchor))


@rule
def raised_dual(lam_i: Vector, delta: Vector, *, mu: Scalar) -> Vector:
    """Update a client's dual variable: mu times the sum, over its rounds, of its distances from the server's model.

        lam_i = lam_i + mu Delta_i                             fedpd.lam_i

    Delta_i = x_i - x. External: Zhang et al. (2021), Algorithm 2.
    """
    return lam_i + mu * delta


@rule
def primal_average(
    x: Vector, x_i: Stack, lam_i: Stack, *, mu: Scalar, dual_added: DualAdded = DualAdded.TO_OWN
) -> Vector:
    """Server step of FedPD: the mean of the clients' models, each shifted by its new dual variable.

        x = 1/n sum_i (x_i + lam_i / mu)                       fedpd.step
        x = 1/n sum_i (x + lam_i / mu)                         fedpd.step [dual_added=to-servers]

    Raises:
        ParameterError: mu is 0.

    External: Zhang et al. (2021), Algorithm 2; 564612540/FedPD, Fed_PD.m.
    """
    check_pull(mu)
    duals: Any = lam_i.sum(axis=0)
    if dual_added is DualAdded.TO_SERVERS:
        beside: Vector = x + duals / mu / len(lam_i)
        return beside
    mean: Vector = (x_i.sum(axis=0) + duals / mu) / len(lam_i)
    return mean


def init(h: FedPD, x: Vector, setup: Setup) -> State:
    """Initial state: every client has the server's model and a dual variable of zero."""
    return State(x=x, x_i=stack([x] * setup.clients), lam_i=stack([zeros(x)] * setup.clients))


def step(h: FedPD, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round.

    Raises:
        PlanError: a client doesn't take part.
    """

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        x_i, lam_i = state.x_i[i], state.lam_i[i]
        for k in range(tau):
            x_i = lagrangian_sgd(x_i, gradient(k, x_i), lam_i, x, eta_l=h.eta_l, mu=h.mu)
        return x_i, raised_dual(lam_i, x_i - x, mu=h.mu)

    x_i, lam_i = each(client, clients, plan.of_everyone(len(clients)), state.x)
    x = primal_average(state.x, x_i, lam_i, mu=h.mu, dual_added=h.dual_added)
    return State(x=x, x_i=x_i, lam_i=lam_i), {"lam_i": lam_i}


ROW = Algorithm(
    id="fedpd",
    family=Family.CONTROL,
    title="primal-dual steps on the consensus of all clients",
    source="external: Zhang, Hong, Dhople, Yin and Liu (2021)",
    basis=Basis.READ,
    levels=("round",),
    readings=(
        Reading(
            name="zhang-2021",
            words="gradient steps from where the client was (Oracle I), x_i + lam_i / mu sent, nothing skipped",
            fixes={"dual_added": "to-own"},
            requires=(above_zero("fedpd", "mu"),),
        ),
        Reading(
            name="matlab",
            words="x + lam_i / mu in its place, as Fed_PD.m of 564612540/FedPD at badde17 has it",
            fixes={"dual_added": "to-servers"},
            requires=(above_zero("fedpd", "mu"),),
        ),
    ),
    run=Program(hyper=FedPD, init=init, step=step, takes=("everyone",)),
    costs=Costs(
        down="n d",
        up="n d",
        client="2 d",
        working="3 d",
        server="d",
        note="a client keeps x_i and lam_i; of the server's model it needs what it pulls towards",
    ),
    traps=(
        phrases.EVERYONE,
        "a client goes on from its own last model; the server's is what it is pulled towards",
        "lam_i is of the other sign than FedDyn's: it is added to the gradient",
        "lam_i moves after the local steps, and what is sent holds the new one",
        "mu > 0: it is divided by, and is the reciprocal of what the paper calls eta",
        "p is the probability that communication is skipped, not that it happens",
    ),
    symbols={"x": "x_0", "eta_l": "eta_1", "mu": "1 / eta", "tau_i": "Q_i"},
)
