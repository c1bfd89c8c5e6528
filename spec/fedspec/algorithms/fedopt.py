"""FedAdagrad, FedAdam and FedYogi (FedOpt): one server step with three second moments.

    Delta = mean of Delta_i over the participants   (clients as in FedAvg)
    m = beta1 m + (1 - beta1) Delta
    v = v + Delta^2                                 (FedAdagrad)
        beta2 v + (1 - beta2) Delta^2               (FedAdam)
        v - (1 - beta2) Delta^2 sign(v - Delta^2)   (FedYogi)
    x = x + eta m / (sqrt(v) + tau)

with v_0 >= tau^2, which the canonical reading asks and the others do not. The mean is uniform, as in every box that has
one of these servers: FedAda2's eq. (SU), AFGA's eq. (2) and Algorithm 2 of Reddi et al. (2021), whose experiments
weight by examples; so do most implementations, which then declare it. Source: FedAda2, eq. (SU) (L100) and App. C.2;
external: Reddi et al. (2021), Algorithm 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import aggregate
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading, v0_at_least_tau_squared
from fedspec.hyper import Hyper
from fedspec.plan import Inbox
from fedspec.readings import BiasCorrection, Epsilon, SecondMoment, Weighting
from fedspec.server.adagrad import Adaptive, adagrad, check_summed
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.yogi import yogi


@dataclass(frozen=True)
class FedAdagrad(Hyper):
    """Hyper-parameters and readings of FedAdagrad.

    Raises:
        ParameterError: ``bias_correction`` corrects the rate for a decay beta2, which AdaGrad's sum of squares doesn't
            have.
    """

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    weights: Weighting = Weighting.UNIFORM
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.OUTSIDE
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT

    def __post_init__(self) -> None:
        super().__post_init__()
        check_summed(self.bias_correction)


@dataclass(frozen=True)
class FedAdam(Hyper):
    """Hyper-parameters and readings of FedAdam."""

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    tau: Scalar
    v0: Scalar
    weights: Weighting = Weighting.UNIFORM
    bias_correction: BiasCorrection = BiasCorrection.NONE
    epsilon: Epsilon = Epsilon.OUTSIDE
    second_moment: SecondMoment = SecondMoment.PSEUDO_GRADIENT


@dataclass(frozen=True)
class FedYogi(FedAdam):
    """Hyper-parameters and readings of FedYogi, the same as FedAdam's."""


def init(h: FedAdagrad | FedAdam, x: Vector) -> Adaptive:
    """Initial state: no momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def fedadagrad(h: FedAdagrad, state: Adaptive, messages: Inbox) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes and take one step of server AdaGrad."""
    delta = aggregate(messages, h.weights, state.x)
    return adagrad(state, delta, **h.of(adagrad)), {"delta": delta}


def fedadam(h: FedAdam, state: Adaptive, messages: Inbox) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes and take one step of server Adam."""
    delta = aggregate(messages, h.weights, state.x)
    return adam(state, delta, **h.of(adam)), {"delta": delta}


def fedyogi(h: FedYogi, state: Adaptive, messages: Inbox) -> tuple[Adaptive, dict[str, Any]]:
    """Average the changes and take one step of server Yogi."""
    delta = aggregate(messages, h.weights, state.x)
    return yogi(state, delta, **h.of(yogi)), {"delta": delta}


_PLAIN = {"bias_correction": "none", "epsilon": "outside", "second_moment": "pseudo-gradient"}


def _readings(algorithm: str) -> tuple[Reading, ...]:
    return (
        Reading(
            name="reddi-2021",
            words=(
                "no bias correction, tau outside the root, v from Delta^2, v_0 >= tau^2 (Reddi et al., 2021, "
                "Algorithm 2; FedAda2, eq. (SU))"
            ),
            fixes=_PLAIN,
            requires=(v0_at_least_tau_squared(algorithm),),
        ),
        Reading(
            name="momentum-in-v",
            words="as reddi-2021, but v from m^2",
            fixes={**_PLAIN, "second_moment": "momentum"},
        ),
        Reading(
            name="epsilon-inside",
            words="as reddi-2021, but sqrt(v + tau)",
            fixes={**_PLAIN, "epsilon": "inside"},
        ),
        Reading(
            name="kingma-ba",
            words="as reddi-2021, with both moments divided by 1 - beta^t (Kingma and Ba, 2015, Algorithm 1)",
            fixes={**_PLAIN, "bias_correction": "moments"},
        ),
        Reading(
            name="kingma-ba-step",
            words="as reddi-2021, with the rate times sqrt(1 - beta2^t) / (1 - beta1^t) (Kingma and Ba, 2015, sec. 2)",
            fixes={**_PLAIN, "bias_correction": "step"},
        ),
    )


ROWS = (
    Algorithm(
        id="fedadagrad",
        family=Family.SERVERS,
        place=6,
        title="adaptive server, AdaGrad",
        source="FedAda2, eq. (SU) (L100); external: Reddi et al. (2021)",
        basis=Basis.READ,
        levels=("server", "round"),
        readings=(
            *_readings("fedadagrad")[:3],
            Reading(
                name="m-corrected",
                words="as reddi-2021, with m divided by 1 - beta1^t; v is a sum, which begins with no bias to correct",
                fixes={**_PLAIN, "bias_correction": "moments"},
            ),
        ),
        run=Method(hyper=FedAdagrad, init=init, server=fedadagrad, local=local_sgd, norm=sgd_norm),
        costs=Costs(down="m d", up="m d", server="3 d"),
        traps=(phrases.TAU_OUTSIDE, phrases.NO_CORRECTION, phrases.DOWNHILL, phrases.V_IS_NEW),
    ),
    Algorithm(
        id="fedadam",
        family=Family.SERVERS,
        place=7,
        title="adaptive server, Adam",
        source="FedAda2, App. C.2 (L1136); external: Reddi et al. (2021)",
        basis=Basis.READ,
        levels=("server", "round"),
        readings=_readings("fedadam"),
        run=Method(hyper=FedAdam, init=init, server=fedadam, local=local_sgd, norm=sgd_norm),
        costs=Costs(down="m d", up="m d", server="3 d"),
        traps=(
            phrases.TAU_OUTSIDE,
            phrases.NO_CORRECTION,
            phrases.DOWNHILL,
            "v can fall below tau^2 in quiet rounds, unlike FedAdagrad's",
        ),
    ),
    Algorithm(
        id="fedyogi",
        family=Family.SERVERS,
        place=8,
        title="adaptive server, Yogi",
        source="external: Reddi et al. (2021)",
        basis=Basis.MEMORY,
        levels=("server", "round"),
        readings=_readings("fedyogi"),
        run=Method(hyper=FedYogi, init=init, server=fedyogi, local=local_sgd, norm=sgd_norm),
        costs=Costs(down="m d", up="m d", server="3 d"),
        traps=(phrases.TAU_OUTSIDE, "the sign is that of v - Delta^2", phrases.NO_CORRECTION, phrases.DOWNHILL),
    ),
)
