"""Own algorithm whose weights are exponentials and logarithms of lengths, and servers that compute it, or nearly."""

from __future__ import annotations

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import stacked
from fedspec.arith import Scalar, Stack, Vector, exp, log, sqrt
from fedspec.contract import Claim, Info
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Method, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.params import flatten, unflatten
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.records import record
from fedspec.rules import rule


@dataclass(frozen=True)
class Attentive(Hyper):
    """Hyper-parameters."""

    eta_l: Scalar
    eta: Scalar


@record
class State:
    """The server's model."""

    x: Vector


@rule
def attended(x: Vector, deltas: Stack, *, eta: Scalar) -> tuple[Vector, Vector]:
    """Step along the changes, of which longer ones count less.

        a_i = exp(-||Delta_i||) log(2 + ||Delta_i||)    attended.a
        w_i = a_i / sum_j a_j                           attended.w
        Delta = sum_i w_i Delta_i                       attended.delta
        x = x + eta Delta                               attended.step

    External: nowhere.
    """
    d = sqrt((deltas**2).sum(axis=1))
    a = exp(-d) * log(2 + d)
    w = a / a.sum()
    delta = w @ deltas
    return x + eta * delta, delta


def init(h: Attentive, x: Vector) -> State:
    """Begin with the model alone."""
    return State(x=x)


def server(h: Attentive, state: State, messages: Inbox) -> tuple[State, dict[str, Any]]:
    """Take one step."""
    _, deltas = stacked(messages, Weighting.UNIFORM, state.x)
    x, delta = attended(state.x, deltas, eta=h.eta)
    return State(x=x), {"delta": delta}


ROW = Algorithm(
    id="attended",
    family=Family.SERVERS,
    title="FedAvg in which longer changes count less",
    source="external: nowhere",
    levels=("server", "round"),
    readings=(Reading(name="made-up", words="a_i = exp(-||Delta_i||) log(2 + ||Delta_i||)"),),
    run=Method(hyper=Attentive, init=init, server=server, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="d"),
    denies={
        Fact.PLAIN_MEAN: "longer changes count less",
        "coordinates": "one number over the whole change weighs it",
        "scales": "a length enters an exponential",
    },
    traps=("the weights are of the lengths of whole changes",),
)


class Server:
    """The server in NumPy; ``how`` has one deviation."""

    def __init__(self, how: str = "") -> None:
        claim = Claim("attended", "server", "made-up", intermediates=("delta",))
        self.info, self.how = Info("softmax", "1", (claim,)), how

    def start(self, case):
        x = [flatten(case.x0)]

        def step(event):
            rows = np.stack([flatten(m.delta) for m in event.messages]).astype(float)
            d = np.linalg.norm(rows, axis=1)
            a = np.exp(-d) * np.log({"log1p": 1.0}.get(self.how, 2.0) + d)
            a = np.exp(-(d**2)) * np.log(2 + d) if self.how == "squares" else a
            a = 2.0**-d * np.log(2 + d) if self.how == "base 2" else a
            by = {
                "undivided": 1,
                "halved": 2 * a.sum(),
                "plain": np.exp(-d).sum(),
                "longest": a.sum() * np.exp(-d).max(),
            }
            delta = ((a @ rows) / by.get(self.how, a.sum())).astype(case.dtype)
            x[0] = (x[0] + case.hyper["eta"] * delta).astype(case.dtype)
            return {"x": unflatten(x[0], case.x0), "delta": unflatten(delta, case.x0)}

        return SimpleNamespace(step=step)


right, log1p, squares = Server(), Server("log1p"), Server("squares")
plain, longest, base_2 = Server("plain"), Server("longest"), Server("base 2")
