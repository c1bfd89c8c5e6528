"""Every algorithm of fedspec's catalogue by its id, with the mirror's functions for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import fedspec_torch.client.adagrad as client_adagrad
import fedspec_torch.client.adam as client_adam
import fedspec_torch.client.amsgrad as client_amsgrad
import fedspec_torch.client.momentum as client_momentum
import fedspec_torch.client.proximal as client_proximal
import fedspec_torch.client.sgd as client_sgd
import fedspec_torch.client.sm3 as client_sm3
import fedspec_torch.client.yogi as client_yogi
from fedspec.algorithms.hyper import Hyper
from fedspec_torch.algorithms import fedamsgrad, fedavg, fedavgm, fednova, fedopt, fedprox
from fedspec_torch.algorithms.local import local_sgd, sgd_norm
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.plan import Messages, Oracle


@dataclass(frozen=True)
class Method:
    """The functions of an algorithm with a server."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector], Any]
    server: Callable[[Any, Any, Messages], tuple[Any, dict[str, Any]]]
    local: Callable[[Any, Stack, Oracle, Sequence[int]], Stack] = local_sgd
    norm: Callable[[Any, Sequence[int]], Weights] = sgd_norm


@dataclass(frozen=True)
class Solver:
    """The functions of a local solver: the rule and the state that a round begins with; None: the models themselves."""

    rule: Callable[..., Any]
    begin: Callable[..., Any] | None = None


CATALOGUE: dict[str, Method | Solver] = {
    "sgd": Solver(client_sgd.sgd),
    "decayed-sgd": Solver(client_sgd.decayed_sgd),
    "proximal-sgd": Solver(client_proximal.proximal_sgd),
    "momentum": Solver(client_momentum.momentum, client_momentum.begin),
    "nesterov": Solver(client_momentum.nesterov, client_momentum.begin),
    "dampened": Solver(client_momentum.dampened, client_momentum.begin),
    "momentum-proximal-outside": Solver(client_momentum.momentum_proximal_outside, client_momentum.begin),
    "momentum-proximal-inside": Solver(client_momentum.momentum_proximal_inside, client_momentum.begin),
    "adagrad": Solver(client_adagrad.adagrad, client_adagrad.begin),
    "adam": Solver(client_adam.adam, client_adam.begin),
    "yogi": Solver(client_yogi.yogi, client_yogi.begin),
    "amsgrad": Solver(client_amsgrad.amsgrad, client_amsgrad.begin),
    "sm3-i": Solver(client_sm3.sm3_i, client_sm3.begin),
    "sm3-ii": Solver(client_sm3.sm3_ii, client_sm3.begin),
    "fedavg": Method(fedavg.FedAvg, fedavg.init, fedavg.server),
    "fedavgm": Method(fedavgm.FedAvgM, fedavgm.init, fedavgm.server),
    "fedprox": Method(fedprox.FedProx, fedprox.init, fedprox.server, fedprox.local, fedprox.norm),
    "fednova": Method(fednova.FedNova, fednova.init, fednova.server, fednova.local, fednova.norm),
    "fedadagrad": Method(fedopt.FedAdagrad, fedopt.init, fedopt.fedadagrad),
    "fedadam": Method(fedopt.FedAdam, fedopt.init, fedopt.fedadam),
    "fedyogi": Method(fedopt.FedYogi, fedopt.init, fedopt.fedyogi),
    "fedamsgrad": Method(fedamsgrad.FedAMSGrad, fedamsgrad.init, fedamsgrad.fedamsgrad),
    "fedams": Method(fedamsgrad.FedAMS, fedamsgrad.init, fedamsgrad.fedams),
}
