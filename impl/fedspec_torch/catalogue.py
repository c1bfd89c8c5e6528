"""The algorithms whose shape batching changes, by id: whole rounds of the mirror's own.

The others are the specification's functions as they stand, on a :class:`fedspec_torch.population.Batched` population. A
file of ``fedspec_torch.algorithms`` joins by a table ``RUNS`` of its own.
"""

from __future__ import annotations

from typing import Any

from fedspec.discovered import said
from fedspec.entry import Algorithm
from fedspec.entry import Program as Specified
from fedspec_torch.algorithms import (
    afga,
    cafga,
    client_centric,
    fedasync,
    fedbuff,
    feddyn,
    fedlamb,
    fednova_alg2,
    fednova_sampled,
    fednova_vr,
    fedsgd,
    local_ams,
    peers,
    vrl_sgd,
)
from fedspec_torch.entry import Program
from fedspec_torch.plan import Clients
from fedspec_torch.population import Batched

TWINS: dict[str, Program] = {
    "fed-lamb": Program(fedlamb.FedLamb, fedlamb.init, fedlamb.step),
    "fed-ams": Program(local_ams.FedAms, local_ams.init, local_ams.step),
    "fed-sgd": Program(fedsgd.FedSgd, fedsgd.init, fedsgd.step),
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
    **{i: run for runs in said("fedspec_torch.algorithms", "RUNS") for i, run in runs.items()},
}


def find(algorithm: Algorithm) -> Program:
    """What runs a program of the catalogue."""
    run = algorithm.run
    assert isinstance(run, Specified)
    if algorithm.id in TWINS:
        return TWINS[algorithm.id]

    def step(h: Any, state: Any, clients: Clients, plan: Any) -> tuple[Any, dict[str, Any]]:
        return run.step(h, state, Batched(clients), plan)

    return Program(run.hyper, run.init, step)
