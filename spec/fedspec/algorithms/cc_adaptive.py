"""CC-FedAdagrad, CC-FedAdam and CC-FedAMS: asynchronous clients with an adaptive server.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = (x_i - x_mu) / K
    when m of them wait:
        Delta = mean of the buffer, which is then emptied
        m = beta1 m + (1 - beta1) Delta
        CC-FedAdagrad:  v = v + Delta^2;                    x = x + eta m / (sqrt(v) + tau)
        CC-FedAdam:     v = beta2 v + (1 - beta2) Delta^2;  x = x + eta m / (sqrt(v) + tau)
        CC-FedAMS:      the same v;  v_hat = max(v_hat, v);  x = x + eta m / (sqrt(v_hat) + tau)

The quotient m / (sqrt(v) + epsilon) stands torn in two at L111 and L554. v_0 is not printed; the proof asks
v_hat_0 >= eps^2 at L659 and v_hat_t <= T eta_l^2 G^2, as from v_0 = 0, at L707.
Source: Client-Centric, Alg. 2 (in words, L111, L145-189, L554).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, begin
from fedspec.algorithms.client_centric import PER_STEP, RESCALE, SYMBOLS, Step, Stepped, client_centric
from fedspec.arith import Scalar, Vector, constant, zeros
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.plan import Arrival, Setup
from fedspec.population import Clients
from fedspec.readings import Epsilon, MaximumStart, Normalise
from fedspec.server.client_centric import Maxima, Moments, cc_adagrad, cc_adam, cc_ams, cc_inside


@dataclass(frozen=True)
class CCFedAdagrad(Hyper):
    """Hyper-parameters of CC-FedAdagrad; the server has momentum too, since the paper's proof carries beta (L264)."""

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


def init_v(h: CCFedAdagrad | CCFedAdam, x: Vector, setup: Setup) -> Waiting:
    """Initial state: no momentum, second moment v_0."""
    return begin(Moments(x=x, m=zeros(x), v=constant(h.v0, x)))


def init_ams(h: CCFedAMS, x: Vector, setup: Setup) -> Waiting:
    """Initial state: no momentum, second moment v_0, and its maximum at v_0 or at zero."""
    v = constant(h.v0, x)
    v_hat = v if h.maximum_start is MaximumStart.V0 else zeros(x)
    return begin(Maxima(x=x, m=zeros(x), v=v, v_hat=v_hat))


def cc_fedadagrad(h: CCFedAdagrad, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedAdagrad."""

    def server(s: Moments, delta: Vector) -> Stepped:
        after = cc_adagrad(s, delta, eta=h.eta, beta1=h.beta1, tau=h.tau)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v, eta=h.eta, eps=h.tau))
        return after, {"m": after.m, "v": after.v}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedadam(h: CCFedAdam, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedAdam."""

    def server(s: Moments, delta: Vector) -> Stepped:
        after = cc_adam(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v, eta=h.eta, eps=h.tau))
        return after, {"m": after.m, "v": after.v}

    return client_centric(h, state, clients, arrivals, server)


def cc_fedams(h: CCFedAMS, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Process arrivals at CC-FedAMS."""

    def server(s: Maxima, delta: Vector) -> Stepped:
        after = cc_ams(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.eps)
        if h.epsilon is Epsilon.INSIDE:
            after = replace(after, x=cc_inside(s.x, after.m, after.v_hat, eta=h.eta, eps=h.eps))
        return after, {"m": after.m, "v": after.v, "v_hat": after.v_hat}

    return client_centric(h, state, clients, arrivals, server)


_ADAPTIVE = {**SYMBOLS, "beta1": "beta", "beta2": "gamma"}

ROWS = (
    Algorithm(
        id="cc-fedadagrad",
        family=Family.ASYNCHRONOUS,
        place=4,
        title="client-centric FedAdagrad",
        source="Client-Centric, Alg. 3 (L149-181) and Alg. 2 (in words, L145-189; L554, L707)",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root, momentum, no bias correction",
            ),
        ),
        run=Program(hyper=CCFedAdagrad, init=init_v, step=cc_fedadagrad, event="arrival"),
        symbols={**SYMBOLS, "beta1": "beta", "tau": "epsilon"},
        costs=Costs(down="m d", up="m d", working="2 d", server="4 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(phrases.OLD_MODEL, PER_STEP, RESCALE, "it has a first moment too", phrases.NO_CORRECTION),
    ),
    Algorithm(
        id="cc-fedadam",
        family=Family.ASYNCHRONOUS,
        place=5,
        title="client-centric FedAdam",
        source="Client-Centric, Alg. 3 (L149-181) and Alg. 2 (in words, L111, L145-189)",
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root, no bias correction",
            ),
        ),
        run=Program(hyper=CCFedAdam, init=init_v, step=cc_fedadam, event="arrival"),
        symbols={**_ADAPTIVE, "tau": "epsilon"},
        costs=Costs(down="m d", up="m d", working="2 d", server="4 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(
            phrases.OLD_MODEL,
            PER_STEP,
            RESCALE,
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
        basis=Basis.READ,
        levels=("trace",),
        readings=(
            Reading(
                name="client-centric",
                words="changes per local step, a buffer of m, epsilon outside the root and the maximum, "
                "no bias correction",
            ),
        ),
        run=Program(hyper=CCFedAMS, init=init_ams, step=cc_fedams, event="arrival"),
        symbols={**_ADAPTIVE, "eps": "epsilon"},
        costs=Costs(down="m d", up="m d", working="2 d", server="5 d", note=phrases.BUFFER_IS_A_SUM),
        traps=(
            phrases.OLD_MODEL,
            PER_STEP,
            "v is updated from v, not from v_hat; eps is outside the root and not in the maximum",
        ),
    ),
)
