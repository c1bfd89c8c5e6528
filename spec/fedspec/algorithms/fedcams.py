"""FedCAMS: FedAMS whose clients compress their changes and remember the compression error.

    for each participating client i:
        x_i = x;  tau_i times: x_i = x_i - eta_l g_i(x_i)
        p_i = x_i - x + e_i
        e_i = p_i - C(p_i)                              (C: the k largest entries, or the scaled signs)
    Delta = mean of C(p_i) over the participants
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2
    v_hat = max(v_hat, v, eps)
    x = x + eta m / sqrt(v_hat)

A client that does not take part keeps e_i, which is zero at first. The model is one vector to C, whatever its layers.

External: Wang, Lin and Chen (2022). What clients do is as their code has it, ``jinghuichen/FedCAMS``,
``federated_main-ef.py``, lines 67-73 and 110-125 at 95ccc9a. The server is that of the row ``fedams``; their own
corrects moments and starts v_hat at a number of its own, as in the row ``fedams-code``: the reading ``wang-2022-code``
(``update.py``, lines 264-278).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.arith import Scalar, Stack, Vector, constant, put, stack, zeros
from fedspec.client.compress import compensated, compress, owed
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Oracle, Plan, Setup
from fedspec.population import Clients, each
from fedspec.readings import AmsServer, Compressor, Weighting
from fedspec.records import record
from fedspec.server.amsgrad import AmsGrad, ams, corrected_ams
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class FedCams(Hyper):
    """Hyper-parameters and options of FedCAMS."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "kept": ("compressor=top-k",),
        "v_hat0": ("server=corrected",),
    }

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    kept: int = NOT_GIVEN
    v_hat0: Scalar = NOT_GIVEN
    compressor: Compressor = Compressor.TOP_K
    server: AmsServer = AmsServer.FEDAMS


@record
class State:
    """The server's state, and the compression error of every client."""

    server: AmsGrad
    e_i: Stack

    @property
    def x(self) -> Vector:
        """The model."""
        return self.server.x


def init(h: FedCams, x: Vector, setup: Setup) -> State:
    """Initial state: moments at zero, and no compression error."""
    server = init_amsgrad(x)
    if h.server is AmsServer.CORRECTED:
        server = replace(server, v_hat=constant(h.v_hat0, x))
    return State(server=server, e_i=stack([zeros(x)] * setup.clients))


def step(h: FedCams, state: State, clients: Clients, plan: Plan) -> tuple[State, dict[str, Any]]:
    """Run one round; return the participants' rows of e_i, in their order."""
    e_i = state.e_i

    def client(i: int, x: Vector, gradient: Oracle, tau: int) -> tuple[Vector, Vector]:
        x_i = x
        for k in range(tau):
            x_i = sgd(x_i, gradient(k, x_i), eta_l=h.eta_l)
        p_i = compensated(x_i - x, e_i[i])
        c_i = compress(p_i, h.compressor, h.kept)
        return c_i, owed(p_i, c_i)

    sent, owing = each(client, clients, plan, state.x)
    e_i = put(e_i, plan.participants, owing)
    delta = weighted_mean(sent, shares(plan.examples, state.x, Weighting.UNIFORM))
    numbers = {"eta": h.eta, "beta1": h.beta1, "beta2": h.beta2, "eps": h.eps}
    server = (corrected_ams if h.server is AmsServer.CORRECTED else ams)(state.server, delta, **numbers)
    shown = {"delta": delta, "e_i": owing, "m": server.m, "v": server.v, "v_hat": server.v_hat}
    return State(server=server, e_i=e_i), shown


ROW = Algorithm(
    id="fedcams",
    family=Family.COMPRESSED,
    place=2,
    title="FedAMS with compressed changes and error memory",
    source="external: Wang, Lin and Chen (2022)",
    basis=Basis.CODE,
    levels=("round",),
    readings=(
        Reading(
            name="server-of-fedams",
            formerly=("wang-2022",),
            words="clients as in the authors' code, the server of FedAMS: v_hat = max(v_hat, v, eps), over its root",
            fixes={"server": "fedams"},
        ),
        Reading(
            name="wang-2022-code",
            words="the authors' server too: v_hat_0 given, moments corrected in the step, eps outside the root",
            fixes={"server": "corrected"},
        ),
    ),
    run=Program(hyper=FedCams, init=init, step=step),
    costs=Costs(
        down="m d",
        up="m k",
        client="d",
        server="4 d",
        note="under top-k, the k places not counted; scaled signs are one float and d signs",
    ),
    traps=(
        phrases.DOWNHILL,
        "what is sent is taken off what was to be sent, the old e_i included",
        "each client owes for itself: one memory for all mixes what they owe",
        "a client that does not take part keeps e_i",
        "k counts entries of the whole model, not of each layer",
        "of a scaled sign, zero is sent as zero",
        "the entries sent are not scaled by d / k: with a memory that diverges",
    ),
    symbols={"kept": "k", "c_i": "C(p_i)"},
)
