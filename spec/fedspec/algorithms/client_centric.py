"""Client-centric federated optimisation: clients come when they want, from an old model, with steps of their own.

    Algorithm 3, CC-Local, of client i from version mu = t - tau_(t,i), K_(t,i) steps:
        x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
        Delta_i = (x_i - x_mu) / K
    Algorithm 2, the server, when m updates wait:
        Delta = mean of the buffer, which is then emptied
        CC-FedAvg:      x = x + Delta
        CC-FedSGD:      x = x + eta Delta
        CC-FedAvgM:     v = beta v + (1 - beta) Delta;  x = x + eta v
        the adaptive:   m = beta m + (1 - beta) Delta
        CC-FedAdagrad:  v = v + Delta^2;                    x = x + eta m / (sqrt(v) + epsilon)
        CC-FedAdam:     v = gamma v + (1 - gamma) Delta^2;  x = x + eta m / (sqrt(v) + epsilon)
        CC-FedAMS:      the same v;  v_hat = max(v_hat, v);  x = x + eta m / (sqrt(v_hat) + epsilon)

The conversion lost the box of Alg. 2; this one follows its text. Alg. 3 prints Delta_i = (x_mu - x_i) / K, which the
server subtracts; here every change points downhill and is added, as in the paper's proof. The adaptive servers' beta
and gamma are beta1 and beta2 here, their epsilon is tau in CC-FedAdagrad and CC-FedAdam and eps in CC-FedAMS, as in
FedAdam and FedAMSGrad; the momentum v of CC-FedAvgM is the paper's m. v_0 is not printed; the proof asks
v_hat_0 >= eps^2 at L659 and v_hat_t <= T eta_l^2 G^2, as from v_0 = 0, at L707. K counts steps in Alg. 3 and epochs in
the experiments (L308). Source: Client-Centric, Alg. 3 (L149-181) and, for the servers, L88-111, L145-189, L322, L334
and L554.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin, check_room, collected
from fedspec.algorithms.synchronous import model
from fedspec.arith import Scalar, Vector, constant, zeros
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Family, Program, Reading
from fedspec.facts import Fact
from fedspec.hyper import Hyper
from fedspec.mixing.arrivals import local_change
from fedspec.mixing.weighted import weighted_mean
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import Clients, each_arrival
from fedspec.readings import Epsilon, MaximumStart, MomentumSum, Normalise
from fedspec.server.average import average
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.client_centric import Maxima, Moments, cc_adagrad, cc_adam, cc_ams, cc_inside
from fedspec.server.momentum import ServerMomentum, server_momentum
from fedspec.server.momentum import init as init_momentum

Step = tuple[Waiting, dict[str, Any]]
Stepped = tuple[Any, dict[str, Any]]


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
    return begin(Moments(x=x, m=zeros(x), v=constant(h.v0, x)))


def init_ams(h: CCFedAMS, x: Vector, setup: Setup) -> Waiting:
    """No momentum, second moment v_0, and the maximum of it so far."""
    v = constant(h.v0, x)
    v_hat = v if h.maximum_start is MaximumStart.V0 else zeros(x)
    return begin(Maxima(x=x, m=zeros(x), v=v, v_hat=v_hat))


def client_centric(
    h: Any, state: Waiting, clients: Clients, arrivals: Sequence[Arrival], server: Callable[[Any, Vector], Any]
) -> tuple[Waiting, dict[str, Any]]:
    """Algorithms 2 and 3: arrivals that fit the buffer, and one step of the server if they fill it.

    Raises:
        PlanError: there are more arrivals than the buffer still takes, or one is of no client or of no version.
    """
    check_room(h.buffer, state.pending, arrivals)

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return local_change(x, x_mu, steps=K, normalise=h.normalise)

    deltas = each_arrival(client, clients, arrivals, state.versions)
    pending, delta = collected(state.pending, deltas, m=h.buffer, like=state.x)
    if delta is None:
        return replace(state, pending=pending), {"delta_i": deltas[-1]}
    after, values = server(state.server, delta)
    versions = (*state.versions, model(after))
    return Waiting(server=after, versions=versions, pending=pending), {"delta_i": deltas[-1], "delta": delta, **values}


def cc_fedavg(h: CCFedAvg, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAvg."""

    def server(x: Vector, delta: Vector) -> Stepped:
        return average(x, delta, eta=1), {}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedsgd(h: CCFedSGD, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedSGD."""

    def server(x: Vector, delta: Vector) -> Stepped:
        return average(x, delta, eta=h.eta), {}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedavgm(h: CCFedAvgM, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAvgM."""
    step = averaged_momentum if h.momentum_sum is MomentumSum.AVERAGE else server_momentum

    def server(s: ServerMomentum, delta: Vector) -> Stepped:
        s = step(s, delta, eta=h.eta, beta=h.beta)
        return s, {"v": s.v}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedadagrad(h: CCFedAdagrad, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAdagrad."""

    def server(s: Moments, delta: Vector) -> Stepped:
        after = cc_adagrad(s, delta, eta=h.eta, beta1=h.beta1, eps=h.tau)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v, eta=h.eta, eps=h.tau))
        return after, {"m": after.m, "v": after.v}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedadam(h: CCFedAdam, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAdam."""

    def server(s: Moments, delta: Vector) -> Stepped:
        after = cc_adam(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.tau)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v, eta=h.eta, eps=h.tau))
        return after, {"m": after.m, "v": after.v}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedams(h: CCFedAMS, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAMS."""

    def server(s: Maxima, delta: Vector) -> Stepped:
        after = cc_ams(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.eps)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v_hat, eta=h.eta, eps=h.eps))
        return after, {"m": after.m, "v": after.v, "v_hat": after.v_hat}

    return client_centric(h, state, clients, arrivals, server)


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
        rules=(sgd, local_change, weighted_mean, cc_adagrad, cc_inside),
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
        rules=(sgd, local_change, weighted_mean, cc_adam, cc_inside),
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
        rules=(sgd, local_change, weighted_mean, cc_ams, cc_inside),
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
