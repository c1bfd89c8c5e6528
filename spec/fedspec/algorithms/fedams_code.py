"""FedAMS as in its authors' code: an initial maximum, and moments with bias correction in the step.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2
    v_hat = max(v_hat, v)                           (v_hat_0 is a number of its own, m_0 = v_0 = 0)
    x = x + eta m / (1 - beta1^t) / (sqrt(v_hat / (1 - beta2^t)) + eps)

The maximum is taken of moments as they are and corrected in the step, the initial one with it: in early rounds v_hat_0
counts as v_hat_0 / (1 - beta2^t). Its paper prints neither correction nor initial maximum; of its two options it has
the maximum of the second, and eps is beside the root.

External: the code of Wang, Lin and Chen (2022), ``jinghuichen/FedCAMS``, ``update.py``, optimizer ``fedams``.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector, constant
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import Weighting
from fedspec.server.amsgrad import AmsGrad, corrected_ams
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class FedAMSCode(Hyper):
    """Hyper-parameters of FedAMS as in its authors' code."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    v_hat0: Scalar
    weights: Weighting = Weighting.UNIFORM


def init(h: FedAMSCode, x: Vector) -> AmsGrad:
    """Initial state: moments at zero, the maximum at v_hat_0."""
    return replace(init_amsgrad(x), v_hat=constant(h.v_hat0, x))


def fedams_code(h: FedAMSCode, state: AmsGrad, messages: Inbox) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes and take one step of FedAMS with corrected moments."""
    delta = aggregate(messages, h.weights, state.x)
    state = corrected_ams(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.eps)
    return state, {"delta": delta}


ROW = Algorithm(
    id="fedams-code",
    family=Family.SERVERS,
    title="FedAMS as its authors run it: an initial maximum, moments corrected",
    source="external: the code of Wang, Lin and Chen (2022)",
    basis=Basis.CODE,
    levels=("server", "round"),
    readings=(
        Reading(
            name="wang-2022-code",
            words="v_hat_0 given, v_hat = max(v_hat, v), corrected in the step; eps outside the root",
        ),
    ),
    run=Method(hyper=FedAMSCode, init=init, server=fedams_code, local=local_sgd, norm=sgd_norm),
    costs=Costs(down="m d", up="m d", server="4 d"),
    traps=(
        "v_0 is zero, whatever v_hat_0 is",
        "the maximum is corrected with the exponent of this round, v_hat_0 with it",
        "the code averages uniformly",
    ),
    symbols={"v_hat0": "max_init", "eta_l": "local_lr", "eta": "lr"},
)
