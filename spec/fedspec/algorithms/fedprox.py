"""FedProx as FedNova writes it: FedAvg whose clients take gradient steps on a proximal objective.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l (g_i(x_i) + mu (x_i - x))
        Delta_i = x_i - x
    x = x + eta sum_i p_i Delta_i          (eta = 1)

Source: FedNova, eq. (7) and App. B, eq. (31); external: Li et al. (2020), whose clients solve the proximal
problem inexactly by any method.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_solve
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.domains import pull
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import a_norm
from fedspec.plan import Inbox, Oracle
from fedspec.readings import Solver, Weighting
from fedspec.server.average import average


@dataclass(frozen=True)
class FedProx(Hyper):
    """Hyper-parameters of FedProx."""

    eta_l: Scalar
    mu: Scalar
    eta: Scalar = 1
    weights: Weighting = Weighting.EXAMPLES


def init(h: FedProx, x: Vector) -> Vector:
    """Initial state: the server keeps only its model."""
    return x


def local(h: FedProx, x: Vector, gradient: Oracle, tau: int) -> Vector:
    """Local model after tau proximal steps; the anchor is the server's model for the whole round."""
    return local_solve(Solver.PROXIMAL, x, gradient, tau, eta_l=h.eta_l, mu=h.mu)


def norm(h: FedProx, tau: int) -> Scalar:
    """Norm ||a||_1 of proximal SGD after tau steps."""
    return a_norm(Solver.PROXIMAL, tau, alpha=pull(h.eta_l, h.mu))


def server(h: FedProx, x: Vector, messages: Inbox) -> tuple[Vector, dict[str, Any]]:
    """Average the changes and add them."""
    delta = aggregate(messages, h.weights, x)
    return average(x, delta, eta=h.eta), {"delta": delta}


ROW = Algorithm(
    id="fedprox",
    family=Family.SERVERS,
    place=3,
    title="FedAvg with proximal clients",
    source="FedNova, eq. (7); external: Li et al. (2020)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(Reading(name="fednova", words="tau_i gradient steps on the proximal objective, changes averaged"),),
    run=Method(hyper=FedProx, init=init, server=server, local=local, norm=norm),
    costs=Costs(down="m d", up="m d", working="2 d", server="d", note="the anchor is kept during the round"),
    traps=(phrases.ANCHOR_IS_OLD, "it takes tau_i gradient steps; the exact proximal point is their limit"),
    facts=(Fact.AFFINE, Fact.ISOTROPIC),
    symbols={"eta_l": "eta", "x": "x^(t,0)", "x_i": "x_i^(t,k)"},
)
