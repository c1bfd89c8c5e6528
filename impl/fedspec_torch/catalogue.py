"""Every algorithm of fedspec's catalogue by its id, with the mirror's functions for it.

The local solvers are not among them: their rules run on stacks as they stand.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from fedspec.hyper import Hyper
from fedspec.plan import Setup
from fedspec_torch.algorithms import (
    afga,
    cafga,
    client_centric,
    fedamsgrad,
    fedasync,
    fedavg,
    fedavgm,
    fedbuff,
    feddyn,
    fedlamb,
    fednova,
    fednova_alg2,
    fednova_momentum,
    fednova_sampled,
    fednova_vr,
    fedopt,
    fedprox,
    fedsgd,
    joint,
    local_ams,
    normalised,
    peers,
    private,
    scaffold,
    vrl_sgd,
)
from fedspec_torch.algorithms.local import local_sgd, sgd_norm
from fedspec_torch.arith import Stack, Vector, Weights
from fedspec_torch.plan import Clients, Messages, Oracle


@dataclass(frozen=True)
class Method:
    """The functions of an algorithm with a server."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector], Any]
    server: Callable[[Any, Any, Messages], tuple[Any, dict[str, Any]]]
    local: Callable[[Any, Stack, Oracle, Sequence[int]], Stack] = local_sgd
    norm: Callable[[Any, Sequence[int]], Weights] = sgd_norm


@dataclass(frozen=True)
class Program:
    """The functions of an algorithm whose clients remember, adapt, talk to each other or arrive late."""

    hyper: type[Hyper]
    init: Callable[[Any, Vector, Setup], Any]
    step: Callable[[Any, Any, Clients, Any], tuple[Any, dict[str, Any]]]


CATALOGUE: dict[str, Method | Program] = {
    "fedavg": Method(fedavg.FedAvg, fedavg.init, fedavg.server),
    "fedavgm": Method(fedavgm.FedAvgM, fedavgm.init, fedavgm.server),
    "fedprox": Method(fedprox.FedProx, fedprox.init, fedprox.server, fedprox.local, fedprox.norm),
    "fednova": Method(fednova.FedNova, fednova.init, fednova.server, fednova.local, fednova.norm),
    "fednova-momentum": Method(
        fednova_momentum.FedNovaMomentum,
        fednova_momentum.init,
        fednova_momentum.server,
        fednova_momentum.local,
        fednova_momentum.norm,
    ),
    "fedadagrad": Method(fedopt.FedAdagrad, fedopt.init, fedopt.fedadagrad),
    "fedadam": Method(fedopt.FedAdam, fedopt.init, fedopt.fedadam),
    "fedyogi": Method(fedopt.FedYogi, fedopt.init, fedopt.fedyogi),
    "fedamsgrad": Method(fedamsgrad.FedAMSGrad, fedamsgrad.init, fedamsgrad.fedamsgrad),
    "fedams": Method(fedamsgrad.FedAMS, fedamsgrad.init, fedamsgrad.fedams),
    "joint-local": Program(joint.JointLocal, joint.init, joint.joint_local),
    "joint-direct": Program(joint.JointDirect, joint.init, joint.joint_direct),
    "fedada2": Program(joint.FedAda2, joint.init, joint.fedada2),
    "fedadaadagrad": Program(joint.FedAdaAdagrad, joint.init, joint.fedadaadagrad),
    "fedadaadam": Program(joint.FedAdaAdam, joint.init, joint.fedadaadam),
    "fedblended": Program(joint.FedBlended, joint.init, joint.fedblended),
    "fedavg-normalised": Program(normalised.FedAvgNormalised, normalised.init, normalised.step),
    "dp-fedavg": Program(private.DpFedAvg, private.init, private.step),
    "fed-lamb": Program(fedlamb.FedLamb, fedlamb.init, fedlamb.step),
    "fed-ams": Program(local_ams.FedAms, local_ams.init, local_ams.step),
    "fed-sgd": Program(fedsgd.FedSgd, fedsgd.init, fedsgd.step),
    "scaffold": Program(scaffold.Scaffold, scaffold.init, scaffold.step),
    "feddyn": Program(feddyn.FedDyn, feddyn.init, feddyn.step),
    "vrl-sgd": Program(vrl_sgd.VrlSgd, vrl_sgd.init, vrl_sgd.step),
    "fednova-vr": Program(fednova_vr.FedNovaVR, fednova_vr.init, fednova_vr.step),
    "fednova-alg2": Program(fednova_alg2.FedNovaAlg2, fednova_alg2.init, fednova_alg2.step),
    "fednova-sampled": Program(fednova_sampled.FedNovaSampled, fednova_sampled.init, fednova_sampled.step),
    "afga": Program(afga.Afga, afga.init, afga.step),
    "gossip-fedamsgrad": Program(afga.Afga, afga.init, afga.gossip_fedamsgrad),
    "afga-a": Program(afga.AdaptedAfga, afga.init, afga.step_adapted),
    "cafga": Program(cafga.Cafga, cafga.init, cafga.step),
    "cafga-a": Program(cafga.AdaptedCafga, afga.init, cafga.step_adapted),
    "dsgd": Program(peers.Dsgd, peers.init, peers.dsgd),
    "dadam": Program(peers.Dadam, peers.init_adaptive, peers.dadam),
    "gossip-pga": Program(peers.GossipPga, peers.init, peers.gossip_pga),
    "cc-fedavg": Program(client_centric.CCFedAvg, client_centric.init, client_centric.cc_fedavg),
    "cc-fedsgd": Program(client_centric.CCFedSGD, client_centric.init, client_centric.cc_fedsgd),
    "cc-fedavgm": Program(client_centric.CCFedAvgM, client_centric.init_m, client_centric.cc_fedavgm),
    "cc-fedadagrad": Program(client_centric.CCFedAdagrad, client_centric.init_v, client_centric.cc_fedadagrad),
    "cc-fedadam": Program(client_centric.CCFedAdam, client_centric.init_v, client_centric.cc_fedadam),
    "cc-fedams": Program(client_centric.CCFedAMS, client_centric.init_ams, client_centric.cc_fedams),
    "fedbuff": Program(fedbuff.FedBuff, fedbuff.init, fedbuff.step),
    "fedasync": Program(fedasync.FedAsync, fedasync.init, fedasync.step),
}
