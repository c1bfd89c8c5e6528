"""FedAMSGrad (the base of AFGA) and FedAMS.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2
    v_hat = max(v_hat, v)                           (FedAMS option 1: and eps)
    x = x + eta m / sqrt(v_hat + eps)               (FedAMS option 1: / sqrt(v_hat))

Source: AFGA, eq. (2) (L112-130), which averages uniformly. FedAMS is external: Wang, Lin and Chen (2022).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.domains import Dimension
from fedspec.entry import Algorithm, Basis, Family, Method, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import AmsOption, BiasCorrection, Epsilon, Maximum, Weighting
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad
from fedspec.server.amsgrad import init as init_amsgrad


@dataclass(frozen=True)
class FedAMSGrad(Hyper):
    """Hyper-parameters and readings of FedAMSGrad."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {"maximum_of": ("bias_correction=moments",)}

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.INSIDE
    maximum_of: Maximum = Maximum.BEFORE


@dataclass(frozen=True)
class FedAMS(Hyper):
    """Hyper-parameters and option of FedAMS."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    weights: Weighting = Weighting.UNIFORM
    option: AmsOption = AmsOption.ONE


def init(h: FedAMSGrad | FedAMS, x: Vector) -> AmsGrad:
    """Initial state: moments and maximum at zero."""
    return init_amsgrad(x)


def fedamsgrad(h: FedAMSGrad, state: AmsGrad, messages: Inbox) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes and take one step of server AMSGrad."""
    delta = aggregate(messages, h.weights, state.x)
    return amsgrad(state, delta, **h.of(amsgrad)), {"delta": delta}


def fedams(h: FedAMS, state: AmsGrad, messages: Inbox) -> tuple[AmsGrad, dict[str, Any]]:
    """Average the changes and take one step of FedAMS."""
    delta = aggregate(messages, h.weights, state.x)
    return ams(state, delta, **h.of(ams)), {"delta": delta}


ROWS = (
    Algorithm(
        id="fedamsgrad",
        family=Family.SERVERS,
        place=9,
        title="adaptive server, AMSGrad",
        source="AFGA, eq. (2) (L112-130)",
        basis=Basis.READ,
        levels=("server", "round"),
        readings=(
            Reading(
                name="afga",
                words="no bias correction, eps inside the root",
                fixes={"bias_correction": "none", "epsilon": "inside", "maximum_of": "before-correction"},
            ),
            Reading(
                name="epsilon-outside",
                words="as afga, but sqrt(v_hat) + eps",
                fixes={"bias_correction": "none", "epsilon": "outside", "maximum_of": "before-correction"},
            ),
            Reading(
                name="max-then-correct",
                words="moments corrected, the maximum taken before; eps outside",
                fixes={"bias_correction": "moments", "epsilon": "outside", "maximum_of": "before-correction"},
            ),
            Reading(
                name="correct-then-max",
                words="moments corrected, the maximum taken after; eps outside",
                fixes={"bias_correction": "moments", "epsilon": "outside", "maximum_of": "after-correction"},
            ),
        ),
        run=Method(hyper=FedAMSGrad, init=init, server=fedamsgrad, local=local_sgd, norm=sgd_norm),
        costs=Costs(down="m d", up="m d", server="4 d"),
        traps=(
            phrases.EPS_INSIDE,
            phrases.NO_CORRECTION,
            "v is updated from v, not from v_hat",
            "a round whose Delta is zero still moves the model by its momentum",
        ),
        symbols={"x": "x_r", "delta": "Delta_r", "m": "m_r, and in the costs |S_r|"},
    ),
    Algorithm(
        id="fedams",
        family=Family.SERVERS,
        place=10,
        title="FedAMS, options 1 and 2",
        source="external: Wang, Lin and Chen (2022); named in AFGA, footnote 5",
        basis=Basis.MEMORY,
        levels=("server", "round"),
        readings=(
            Reading(name="option-1", words="v_hat = max(v_hat, v, eps), step over sqrt(v_hat)", fixes={"option": "1"}),
            Reading(name="option-2", words="v_hat = max(v_hat, v), step over sqrt(v_hat + eps)", fixes={"option": "2"}),
        ),
        run=Method(hyper=FedAMS, init=init, server=fedams, local=local_sgd, norm=sgd_norm),
        costs=Costs(down="m d", up="m d", server="4 d"),
        traps=(
            "in option 1 eps enters the maximum and not the root, in option 2 the root",
            "eps is compared with squares: a value meant for a denominator is far too large here",
        ),
        dimensions={"eps": Dimension.SQUARE},
        symbols={"x": "x_t", "delta": "Delta_t", "m": "m_t, and in the costs |S_t|"},
    ),
)
