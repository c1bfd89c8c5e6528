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
    feddyn,
    fednova_alg2,
    fednova_sampled,
    fednova_vr,
    joint,
    normalised,
    private,
    vrl_sgd,
)
from fedspec_torch.entry import Program
from fedspec_torch.plan import Clients
from fedspec_torch.population import Batched

TWINS: dict[str, Program] = {
    "joint-local": Program(joint.JointLocal, joint.init, joint.joint_local),
    "joint-direct": Program(joint.JointDirect, joint.init, joint.joint_direct),
    "fedada2": Program(joint.FedAda2, joint.init, joint.fedada2),
    "fedadaadagrad": Program(joint.FedAdaAdagrad, joint.init, joint.fedadaadagrad),
    "fedadaadam": Program(joint.FedAdaAdam, joint.init, joint.fedadaadam),
    "fedblended": Program(joint.FedBlended, joint.init, joint.fedblended),
    "fedavg-normalised": Program(normalised.FedAvgNormalised, normalised.init, normalised.step),
    "dp-fedavg": Program(private.DpFedAvg, private.init, private.step),
    "feddyn": Program(feddyn.FedDyn, feddyn.init, feddyn.step),
    "vrl-sgd": Program(vrl_sgd.VrlSgd, vrl_sgd.init, vrl_sgd.step),
    "fednova-vr": Program(fednova_vr.FedNovaVR, fednova_vr.init, fednova_vr.step),
    "fednova-alg2": Program(fednova_alg2.FedNovaAlg2, fednova_alg2.init, fednova_alg2.step),
    "fednova-sampled": Program(fednova_sampled.FedNovaSampled, fednova_sampled.init, fednova_sampled.step),
    **{i: run for runs in said("fedspec_torch.algorithms", "RUNS") for i, run in runs.items()},
}


def find(algorithm: Algorithm) -> Program:
    """What runs a program of the catalogue."""
    run = algorithm.run
    assert isinstance(run, Specified)
    if algorithm.id in TWINS:
        return TWINS[algorithm.id]

    def step(h: Any, state: Any, clients: Clients, *events: Any) -> tuple[Any, dict[str, Any]]:
        return run.step(h, state, Batched(clients), *events)

    return Program(run.hyper, run.init, step)
