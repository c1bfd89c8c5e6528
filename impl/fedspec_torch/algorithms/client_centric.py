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

A step takes one arrival, or several that fit the buffer, whose clients are then trained at once.
Source: Client-Centric, Alg. 3 (L149-181) and, for the servers, whose box the conversion lost, L88-111, L145-189, L322,
L334 and L554.
"""

from __future__ import annotations

from typing import Any

from fedspec.algorithms.client_centric import CCFedAdagrad, CCFedAdam, CCFedAMS, CCFedAvg, CCFedAvgM, CCFedSGD
from fedspec.arith import constant, zeros
from fedspec.plan import Arrival, Setup
from fedspec.readings import MaximumStart, MomentumSum
from fedspec.server.adagrad import general_adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import general_adam
from fedspec.server.amsgrad import AmsGrad, general_amsgrad
from fedspec.server.average import average
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import init as init_momentum
from fedspec.server.momentum import server_momentum
from fedspec_torch.algorithms.buffered import Waiting, begin, collect, downloaded, run
from fedspec_torch.algorithms.local import local_sgd
from fedspec_torch.arith import Stack, Vector
from fedspec_torch.mixing.arrivals import local_change
from fedspec_torch.plan import Clients

__all__ = [
    "CCFedAMS",
    "CCFedAdagrad",
    "CCFedAdam",
    "CCFedAvg",
    "CCFedAvgM",
    "CCFedSGD",
    "cc_fedadagrad",
    "cc_fedadam",
    "cc_fedams",
    "cc_fedavg",
    "cc_fedavgm",
    "cc_fedsgd",
    "init",
    "init_ams",
    "init_m",
    "init_v",
    "run",
]

Step = tuple[Waiting, dict[str, Any]]


def init(h: CCFedAvg | CCFedSGD, x: Vector, setup: Setup, largest_delay: int | None = None) -> Waiting:
    """A server that keeps its model and nothing else."""
    return begin(x, largest_delay)


def init_m(h: CCFedAvgM, x: Vector, setup: Setup, largest_delay: int | None = None) -> Waiting:
    """No momentum."""
    return begin(init_momentum(x), largest_delay)


def init_v(h: CCFedAdagrad | CCFedAdam, x: Vector, setup: Setup, largest_delay: int | None = None) -> Waiting:
    """No momentum, second moment v_0."""
    return begin(init_adaptive(x, v0=h.v0), largest_delay)


def init_ams(h: CCFedAMS, x: Vector, setup: Setup, largest_delay: int | None = None) -> Waiting:
    """No momentum, second moment v_0, and the maximum of it so far."""
    start, v = zeros(x), constant(h.v0, x)
    v_hat = v if h.maximum_start is MaximumStart.V0 else start
    return begin(AmsGrad(x=x, m=start, v=v, v_hat=v_hat, t=0), largest_delay)


def cc_local(h: Any, state: Waiting, clients: Clients, *arrivals: Arrival) -> Stack:
    """What the clients of the arrivals send."""
    x_mu = downloaded(state.versions, [a.delay for a in arrivals])
    steps = [a.steps for a in arrivals]
    x = local_sgd(h, x_mu, clients.oracle([a.client for a in arrivals]), steps)
    return local_change(x, x_mu, steps=steps, normalise=h.normalise)


def cc_fedavg(h: CCFedAvg, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAvg."""
    return collect(h, state, cc_local(h, state, clients, *arrivals), average)


def cc_fedsgd(h: CCFedSGD, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedSGD."""
    return collect(h, state, cc_local(h, state, clients, *arrivals), average)


def cc_fedavgm(h: CCFedAvgM, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAvgM."""
    server = averaged_momentum if h.momentum_sum is MomentumSum.AVERAGE else server_momentum
    return collect(h, state, cc_local(h, state, clients, *arrivals), server)


def cc_fedadagrad(h: CCFedAdagrad, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAdagrad."""
    return collect(h, state, cc_local(h, state, clients, *arrivals), general_adagrad)


def cc_fedadam(h: CCFedAdam, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAdam."""
    return collect(h, state, cc_local(h, state, clients, *arrivals), general_adam)


def cc_fedams(h: CCFedAMS, state: Waiting, clients: Clients, *arrivals: Arrival) -> Step:
    """Arrivals at CC-FedAMS."""
    return collect(h, state, cc_local(h, state, clients, *arrivals), general_amsgrad)
