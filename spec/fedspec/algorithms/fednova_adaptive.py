"""FedNova with an adaptive server, which gets FedNova's change as its pseudo-gradient.

    clients as in FedNova
    Delta = - tau_eff sum_i p_i eta_l d_i,  tau_eff = sum_i p_i ||a_i||_1
    m = beta1 m + (1 - beta1) Delta
    v = beta2 v + (1 - beta2) Delta^2               (Adam)
        v + Delta^2                                 (AdaGrad)
        v - (1 - beta2) Delta^2 sign(v - Delta^2)   (Yogi)
    x = x + eta m / (sqrt(v) + tau)

with v_0 >= tau^2. Source: FedNova, L204, in words: FedNova's change goes into the buffers of an "adaptive server"
optimiser instead of into the model. None is written out; those of Reddi et al. (2021), its [40], stand here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from fedspec import phrases
from fedspec.algorithms.local import READ_BY, local_norm, local_run
from fedspec.algorithms.synchronous import a_norms, stacked, together
from fedspec.arith import Scalar, Vector
from fedspec.costs import Costs
from fedspec.entry import Algorithm, Basis, Family, Method, Reading, v0_at_least_tau_squared
from fedspec.hyper import NOT_GIVEN, Hyper
from fedspec.mixing.nova import effective_steps, general_change, normalised_gradient
from fedspec.plan import Inbox
from fedspec.readings import NovaServer, Solver, TauEff, Weighting
from fedspec.server.adagrad import Adaptive, adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.yogi import yogi


@dataclass(frozen=True)
class FedNovaAdaptive(Hyper):
    """Hyper-parameters and readings of adaptive FedNova; mu, rho and gamma belong to the local solver."""

    plays: ClassVar[Mapping[str, tuple[str, ...]]] = {**READ_BY, "beta2": ("server=adam", "server=yogi")}

    eta_l: Scalar
    eta: Scalar
    beta1: Scalar
    tau: Scalar
    v0: Scalar
    beta2: Scalar = NOT_GIVEN
    mu: Scalar = 0
    rho: Scalar = 0
    gamma: Scalar = 1
    solver: Solver = Solver.SGD
    weights: Weighting = Weighting.EXAMPLES
    server: NovaServer = NovaServer.ADAM


def init(h: FedNovaAdaptive, x: Vector) -> Adaptive:
    """Initial state: no momentum; second moment v_0."""
    return init_adaptive(x, v0=h.v0)


def server(h: FedNovaAdaptive, state: Adaptive, messages: Inbox) -> tuple[Adaptive, dict[str, Any]]:
    """Compute FedNova's change and take one step of the adaptive server along it."""
    p, deltas = stacked(messages, h.weights, state.x)
    a: Any = a_norms(messages, state.x)
    d = normalised_gradient(deltas, eta_l=h.eta_l, a_norm=a[:, None])
    tau_eff = effective_steps(p, a, together(messages).steps, TauEff.WEIGHTED_NORM)
    delta = general_change(d, p, tau_eff=tau_eff, eta_l=h.eta_l)
    match h.server:
        case NovaServer.ADAM:
            state = adam(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau)
        case NovaServer.ADAGRAD:
            state = adagrad(state, delta, eta=h.eta, beta1=h.beta1, tau=h.tau)
        case NovaServer.YOGI:
            state = yogi(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, tau=h.tau)
    return state, {"tau_eff": tau_eff, "delta": delta}


def _reading(server: NovaServer, title: str) -> Reading:
    return Reading(
        name=server,
        words=f"server {title} of Reddi et al. (2021), Algorithm 2, on the change that FedNova would make",
        fixes={"server": server},
        requires=(v0_at_least_tau_squared("fednova-adaptive"),),
    )


ROW = Algorithm(
    id="fednova-adaptive",
    family=Family.SERVERS,
    title="normalised averaging under an adaptive server",
    source="FedNova, L204 (in words); external: Reddi et al. (2021)",
    basis=Basis.READ,
    levels=("server", "round"),
    readings=(
        _reading(NovaServer.ADAM, "Adam"),
        _reading(NovaServer.ADAGRAD, "AdaGrad"),
        _reading(NovaServer.YOGI, "Yogi"),
    ),
    run=Method(hyper=FedNovaAdaptive, init=init, server=server, local=local_run, norm=local_norm),
    costs=Costs(down="m d", up="m (d + 1)", server="3 d"),
    traps=(
        "what the server sees is FedNova's change, tau_eff and eta_l in it; a mean of d_i is another scale beside tau",
        phrases.TAU_OUTSIDE,
        phrases.NO_CORRECTION,
        phrases.DOWNHILL,
    ),
    symbols={"eta_l": "eta"},
)
