"""Client-centric federated optimisation: clients come when they want, from an old model, with steps of their own.

    CC-Local, begun from the model of tau versions ago:
        x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = (x_i - x_mu) / K
    the server, when m of them wait:
        Delta = mean of the buffer
        x = x + Delta                                                  (CC-FedAvg)
            x + eta Delta                                              (CC-FedSGD)
            x + eta v,  v = beta v + (1 - beta) Delta                  (CC-FedAvgM)
            x + eta m / (sqrt(v) + eps),  m = beta1 m + (1 - beta1) Delta
                v = v + Delta^2                                        (CC-FedAdagrad)
                v = beta2 v + (1 - beta2) Delta^2                      (CC-FedAdam)
                the same v, and v_hat = max(v_hat, v) in its place     (CC-FedAMS)

The paper's beta, gamma and epsilon are beta, or beta1, and beta2 and tau here (eps in CC-FedAMS), as in the rules of
FedAdam and FedAMSGrad; there is no bias correction. v_0 is not printed; the proof asks v_hat_0 >= eps^2 at L659 and
v_hat_t <= T eta_l^2 G^2, as from v_0 = 0, at L707. K counts steps in Alg. 3 and epochs in the experiments (L308).
Source: Client-Centric, Alg. 3 (L149-181) and, for the servers, whose box the conversion lost, L88-111, L145-189, L322,
L334 and L554.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin, collect, downloaded
from fedspec.algorithms.local import local_sgd
from fedspec.arith import Scalar, Vector, constant, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.arrivals import local_change
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.readings import Epsilon, MaximumStart, MomentumSum, Normalise
from fedspec.server.adagrad import general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam
from fedspec.server.amsgrad import AmsGrad, general_amsgrad
from fedspec.server.average import average
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import init as init_momentum
from fedspec.server.momentum import server_momentum

Step = tuple[Waiting, dict[str, Any]]


@dataclass(frozen=True)
class CCFedAvg(Hyper):
    """Hyper-parameters of CC-FedAvg."""

    buffer: int
    eta_l: Scalar
    normalise: Normalise = Normalise.PER_STEP


@dataclass(frozen=True)
class CCFedSGD(Hyper):
    """Hyper-parameters of CC-FedSGD."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    normalise: Normalise = Normalise.PER_STEP


@dataclass(frozen=True)
class CCFedAvgM(Hyper):
    """Hyper-parameters of CC-FedAvgM."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta: Scalar
    momentum_sum: MomentumSum = MomentumSum.AVERAGE
    normalise: Normalise = Normalise.PER_STEP


@dataclass(frozen=True)
class CCFedAdagrad(Hyper):
    """Hyper-parameters of CC-FedAdagrad, which has momentum too: the proof, written for it, carries beta (L264)."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar = 0
    epsilon: Epsilon = Epsilon.OUTSIDE
    normalise: Normalise = Normalise.PER_STEP


@dataclass(frozen=True)
class CCFedAdam(Hyper):
    """Hyper-parameters of CC-FedAdam."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    tau: Scalar
    v0: Scalar = 0
    epsilon: Epsilon = Epsilon.OUTSIDE
    normalise: Normalise = Normalise.PER_STEP


@dataclass(frozen=True)
class CCFedAMS(Hyper):
    """Hyper-parameters of CC-FedAMS."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    v0: Scalar = 0
    epsilon: Epsilon = Epsilon.OUTSIDE
    maximum_start: MaximumStart = MaximumStart.V0
    normalise: Normalise = Normalise.PER_STEP


def init(h: CCFedAvg | CCFedSGD, x: Vector, setup: Setup) -> Waiting:
    """A server that keeps its model and nothing else."""
    return begin(x)


def init_m(h: CCFedAvgM, x: Vector, setup: Setup) -> Waiting:
    """No momentum."""
    return begin(init_momentum(x))


def init_v(h: CCFedAdagrad | CCFedAdam, x: Vector, setup: Setup) -> Waiting:
    """No momentum, second moment v_0."""
    return begin(init_adaptive(x, v0=h.v0))


def init_ams(h: CCFedAMS, x: Vector, setup: Setup) -> Waiting:
    """No momentum, second moment v_0, and the maximum of it so far."""
    v = constant(h.v0, x)
    v_hat = v if h.maximum_start is MaximumStart.V0 else zeros(x)
    return begin(AmsGrad(x=x, m=zeros(x), v=v, v_hat=v_hat, t=0))


def cc_local(h: Any, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Vector:
    """What the client of an arrival sends."""
    x_mu = downloaded(state.versions, arrival.delay)
    x = local_sgd(h, x_mu, clients[arrival.client], arrival.steps)
    return local_change(x, x_mu, steps=arrival.steps, normalise=h.normalise)


def cc_fedavg(h: CCFedAvg, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedAvg."""
    return collect(h, state, cc_local(h, state, clients, arrival), average)


def cc_fedsgd(h: CCFedSGD, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedSGD."""
    return collect(h, state, cc_local(h, state, clients, arrival), average)


def cc_fedavgm(h: CCFedAvgM, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedAvgM."""
    server = averaged_momentum if h.momentum_sum is MomentumSum.AVERAGE else server_momentum
    return collect(h, state, cc_local(h, state, clients, arrival), server)


def cc_fedadagrad(h: CCFedAdagrad, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedAdagrad."""
    return collect(h, state, cc_local(h, state, clients, arrival), general_adagrad)


def cc_fedadam(h: CCFedAdam, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedAdam."""
    return collect(h, state, cc_local(h, state, clients, arrival), general_adam)


def cc_fedams(h: CCFedAMS, state: Waiting, clients: Sequence[Oracle], arrival: Arrival) -> Step:
    """One arrival at CC-FedAMS."""
    return collect(h, state, cc_local(h, state, clients, arrival), general_amsgrad)


_K = "an update is divided by its own K, in steps, not by a sum of them; the buffer is divided by m"
_RESCALE = "after division by K rates are about K times those of FedAvg, and tau 1/K of them"

ROWS = (
    Algorithm(
        id="cc-fedavg",
        family=Family.ASYNCHRONOUS,
        place=1,
        title="client-centric FedAvg",
        source="Client-Centric, Alg. 3 (L149-181) and L97, L322",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, average),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, rate 1",
                fixes={"normalise": "per-step"},
            ),
            Reading(
                name="unnormalised",
                words="changes as they are, a buffer of m, rate 1: FedAvg as L322 calls it, but late",
                fixes={"normalise": "none"},
            ),
        ),
        shows=("delta_i", "delta"),
        run=Program(hyper=CCFedAvg, init=init, step=cc_fedavg, event="arrival"),
        costs=Costs(down="m d", up="m d", working="2 d", server="2 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(phrases.OLD_MODEL, _K, "with eta = 1 and division by K a server step is one mean local step long"),
        facts=(Fact.AFFINE,),
    ),
    Algorithm(
        id="cc-fedsgd",
        family=Family.ASYNCHRONOUS,
        place=2,
        title="client-centric FedSGD",
        source="Client-Centric, Alg. 3 (L149-181) and L334",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, average),
        readings=(
            Reading(
                name="client-centric", words="changes per local step, a buffer of m, their mean added with rate eta"
            ),
        ),
        shows=("delta_i", "delta"),
        run=Program(hyper=CCFedSGD, init=init, step=cc_fedsgd, event="arrival"),
        costs=Costs(down="m d", up="m d", working="2 d", server="2 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(phrases.OLD_MODEL, _K, _RESCALE),
        facts=(Fact.AFFINE,),
    ),
    Algorithm(
        id="cc-fedavgm",
        family=Family.ASYNCHRONOUS,
        place=3,
        title="client-centric FedAvgM",
        source="Client-Centric, Alg. 3 (L149-181) and L107-111, L554",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, server_momentum, averaged_momentum),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, momentum (1 - beta) Delta + beta v",
                fixes={"momentum_sum": "average"},
            ),
            Reading(
                name="hsu-2019",
                words="changes per local step, a buffer of m, momentum Delta + beta v (Hsu et al., 2019)",
                fixes={"momentum_sum": "sum"},
            ),
        ),
        shows=("delta_i", "delta", "v"),
        run=Program(hyper=CCFedAvgM, init=init_m, step=cc_fedavgm, event="arrival"),
        when={"momentum_sum=sum": (server_momentum,), "momentum_sum=average": (averaged_momentum,)},
        costs=Costs(down="m d", up="m d", working="2 d", server="3 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(phrases.OLD_MODEL, _K, "the paper's buffer averages, v = beta v + (1 - beta) Delta; Hsu's sums"),
    ),
    Algorithm(
        id="cc-fedadagrad",
        family=Family.ASYNCHRONOUS,
        place=4,
        title="client-centric FedAdagrad",
        source="Client-Centric, Alg. 3 (L149-181) and Alg. 2 (in words, L145-189; L554, L707)",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, general_adagrad),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root, momentum, no bias correction",
            ),
        ),
        shows=("delta_i", "delta", "m", "v"),
        run=Program(hyper=CCFedAdagrad, init=init_v, step=cc_fedadagrad, event="arrival"),
        costs=Costs(down="m d", up="m d", working="2 d", server="4 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(phrases.OLD_MODEL, _K, _RESCALE, "it has a first moment too", phrases.NO_CORRECTION),
    ),
    Algorithm(
        id="cc-fedadam",
        family=Family.ASYNCHRONOUS,
        place=5,
        title="client-centric FedAdam",
        source="Client-Centric, Alg. 3 (L149-181) and Alg. 2 (in words, L111, L145-189)",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, general_adam),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root, no bias correction",
            ),
        ),
        shows=("delta_i", "delta", "m", "v"),
        run=Program(hyper=CCFedAdam, init=init_v, step=cc_fedadam, event="arrival"),
        costs=Costs(down="m d", up="m d", working="2 d", server="4 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(
            phrases.OLD_MODEL,
            _K,
            _RESCALE,
            "v squares Delta, not m, and holds this Delta already",
            phrases.NO_CORRECTION,
        ),
    ),
    Algorithm(
        id="cc-fedams",
        family=Family.ASYNCHRONOUS,
        place=6,
        title="client-centric FedAMS",
        source="Client-Centric, Alg. 3 (L149-181) and Alg. 2 (in words, L145-189)",
        levels=("trace",),
        rules=(sgd, local_change, weighted_mean, general_amsgrad),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root and the maximum, "
                "no bias correction",
            ),
        ),
        shows=("delta_i", "delta", "m", "v", "v_hat"),
        run=Program(hyper=CCFedAMS, init=init_ams, step=cc_fedams, event="arrival"),
        costs=Costs(down="m d", up="m d", working="2 d", server="5 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(
            phrases.OLD_MODEL,
            _K,
            "v is updated from v, not from v_hat; eps is outside the root and not in the maximum",
        ),
    ),
)
