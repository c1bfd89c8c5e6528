"""FADAS: a buffer of late updates under server AMSGrad, with a shorter step if the latest update was begun long ago.

    x_i = x_mu;  K times: x_i = x_i - eta_l g_i(x_i)
    Delta_i = x_i - x_mu
    when m of them wait, tau_max the largest of their delays:
        Delta = mean of the buffer, which is then emptied
        m = beta1 m + (1 - beta1) Delta
        v = beta2 v + (1 - beta2) Delta^2
        v_hat = max(v_hat, v)
        eta_t = eta where tau_max <= tau_c, eta / tau_max elsewhere
        x = x + eta_t m / (1 - beta1^t) / (sqrt(v_hat / (1 - beta2^t)) + eps)

External: Wang, Wang, Lu and Chen (2024), "FADAS: Towards Federated Adaptive Asynchronous Optimization", ICML 2024,
arXiv 2407.18365, of which the abstract alone was opened. The box is its authors' code: yujiaw98/FADAS at 8c4df23,
g_delay_adaptive.py:203-216 with update.py:333-347 (optimizer fedams, v_hat = 0 at first). boyi-liu/AFL-Lib at d26211f,
alg/fadas.py, divides eta by tau_max too, without corrections, and its step divides by v. A page that restates the paper
(junaidaliop.github.io/zij/math/fadas) has min(eta, 1 / tau_max) for eta / tau_max, and no corrections: that is reading
restated, another algorithm where eta is small.

The authors' simulation departs from its own delays: of the clients that start, all but the last train from the model of
the round before (g_delay_adaptive.py:160-165), and their changes are taken from the present one (line 180).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from fedspec import phrases
from fedspec.algorithms.buffered import Waiting, check_room, collected
from fedspec.arith import Scalar, Vector, minimum
from fedspec.client.sgd import sgd
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Program, Reading
from fedspec.hyper import Hyper
from fedspec.mixing.arrivals import local_change
from fedspec.plan import Arrival, Oracle, Setup
from fedspec.population import Clients, each_arrival
from fedspec.readings import BiasCorrection, Epsilon, Normalise, Slowing
from fedspec.records import record
from fedspec.rules import rule
from fedspec.server.amsgrad import amsgrad
from fedspec.server.amsgrad import init as init_server


@dataclass(frozen=True)
class Fadas(Hyper):
    """Hyper-parameters and readings of FADAS."""

    buffer: int
    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    beta2: Scalar
    eps: Scalar
    tau_c: int
    slowing: Slowing = Slowing.OVER
    bias_correction: BiasCorrection = BiasCorrection.MOMENTS


@record
class Late(Waiting):
    """State of a buffered server, and the delay of each update in the buffer."""

    delays: tuple[int, ...] = ()


@rule
def slowed(eta: Scalar, *, tau_max: int, tau_c: int, slowing: Slowing = Slowing.OVER) -> Scalar:
    """Rate of a server step whose most delayed update was begun tau_max versions ago.

        eta_t = eta / tau_max if tau_max > tau_c else eta  fadas.eta_t
        eta_t = min(eta, 1 / tau_max) if tau_max > tau_c else eta  fadas.eta_t [slowing=capped]

    External: Wang, Wang, Lu and Chen (2024); see the row ``fadas`` for whose code has it so.
    """
    if tau_max <= tau_c:
        return eta
    return eta / tau_max if slowing is Slowing.OVER else minimum(eta, (eta * 0 + 1) / tau_max)


def init(h: Fadas, x: Vector, setup: Setup) -> Late:
    """Initial state: the first version of the model, no moments and an empty buffer."""
    server = init_server(x)
    return Late(server=server, versions=(server.x,))


def step(h: Fadas, state: Late, clients: Clients, *arrivals: Arrival) -> tuple[Late, dict[str, Any]]:
    """Process arrivals that fit the buffer, with one server step if they fill it.

    Raises:
        PlanError: more updates arrive than the buffer has space for, or an arrival names a client or a version that
            doesn't exist.
    """
    check_room(h.buffer, state.pending, arrivals)

    def client(i: int, x_mu: Vector, gradient: Oracle, K: int) -> Vector:
        x = x_mu
        for k in range(K):
            x = sgd(x, gradient(k, x), eta_l=h.eta_l)
        return local_change(x, x_mu, steps=K, normalise=Normalise.NONE)

    changes = each_arrival(client, clients, arrivals, state.versions)
    pending, delta = collected(state.pending, changes, m=h.buffer, like=state.x)
    delays, shown = (*state.delays, *(a.delay for a in arrivals)), {"delta_i": changes[-1]}
    if delta is None:
        return replace(state, pending=pending, delays=delays), shown
    eta_t = slowed(h.eta, tau_max=max(delays), tau_c=h.tau_c, slowing=h.slowing)
    s = amsgrad(
        state.server,
        delta,
        eta=eta_t,
        beta1=h.beta1,
        beta2=h.beta2,
        eps=h.eps,
        bias_correction=h.bias_correction,
        epsilon=Epsilon.OUTSIDE,
    )
    state = Late(server=s, versions=(*state.versions, s.x))
    return state, shown | {"delta": delta, "m": s.m, "v": s.v, "v_hat": s.v_hat, "eta_t": eta_t}


ROW = Algorithm(
    id="fadas",
    family=Family.ASYNCHRONOUS,
    place=10,
    title="buffered AMSGrad whose step is shorter where an update is late",
    source="external: Wang, Wang, Lu and Chen (2024), as their code has it",
    basis=Basis.CODE,
    levels=("trace",),
    under={"normalise": "none", "epsilon": "outside", "maximum_of": "before-correction"},
    readings=(
        Reading(
            name="wang-2024-code",
            words="eta / tau_max beyond tau_c; moments corrected, the maximum taken before; eps outside",
            fixes={"slowing": "over-delay", "bias_correction": "moments"},
        ),
        Reading(
            name="uncorrected",
            words="the same without corrections",
            fixes={"slowing": "over-delay", "bias_correction": "none"},
        ),
        Reading(
            name="restated",
            words="min(eta, 1 / tau_max) beyond tau_c; no corrections; eps outside",
            fixes={"slowing": "capped", "bias_correction": "none"},
        ),
    ),
    run=Program(hyper=Fadas, init=init, step=step, event="arrival"),
    denies={"standing": "a late update shortens the step of its whole buffer"},
    symbols={"buffer": "M", "x_mu": "x_(t - tau_i)", "delay": "tau_i"},
    costs=Costs(down="m d", up="m d", working="2 d", server="5 d", note=phrases.BUFFER_IS_A_SUM),
    traps=(
        phrases.OLD_MODEL,
        "changes are not divided by K",
        "tau_max is the largest delay of the buffer, not their mean, and slows the step, not each change",
        "the step divides by the running maximum, not by v",
        "1 / tau_max and eta / tau_max part by the factor eta: with eta = 0.001 the former slows nothing "
        "up to a delay of 1,000",
        "the delay is counted in the server's steps, not in arrivals",
        "the authors' simulation departs (g_delay_adaptive.py:160-182): all but the last of the clients that start "
        "train from the model of the round before, and their change is what they end at less the present one",
    ),
)
