"""at-aaims/OmniFed at f8604d2: ``FedBN`` and ``FedPer``, and ``FederatedBatchNormalization`` of its older folder.

``SOURCE=path/to/OmniFed fedspec check examples/found/omnifed_parts.py:Adapter``

The ends of rounds and the communicators run as they stand, on stand-ins for the collectives of ``torch.distributed``.
All nodes take part, with the case's numbers of examples.

fedbn       ``_aggregate_within_group`` of ``omnifed.algorithm.FedBN``: a block ``bn`` is local
fedper      the same of ``omnifed.algorithm.FedPer``: a block ``head`` is local
flora       ``train_loop`` of ``flora.algorithms.fedbn``: a block ``bn`` is local, and a batch is all of a round
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from enum import Enum
from functools import partial
from time import perf_counter_ns
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch
from personal import Make, Model, Personal, Rounds, Tensors, Train, offer

from fedspec_suite.subjects.workers import Workers, stand_in

COMMIT = "f8604d2"
GIVEN = {"torch": torch, "nn": torch.nn, "dist": torch.distributed, "Dict": dict, "Enum": Enum, "logging": logging}
GIVEN |= {"rich": SimpleNamespace(repr=SimpleNamespace(auto=lambda made: made)), "perf_counter_ns": perf_counter_ns}
GIVEN |= {"print": lambda *_: None, "get_msg_info": id, "nanosec_to_millisec": 1e6}
GIVEN |= dict.fromkeys(("Any", "Callable", "Optional", "Communicator", "FedBNTrainingParameters"), Any)
GIVEN |= {"BaseAlgorithm": object, "BaseCommunicator": SimpleNamespace(MsgT=Any)}

Ends = Callable[[Model, Callable[[], object], float, float], object]
"""Function that runs a node's round: its model, its local steps, its number of examples and the total of all nodes."""


def its(path: str, name: str, **more: Any) -> Any:
    """Return a function or a class of a file."""
    return source.definitions(COMMIT, f"src/{path}.py", name, given=GIVEN | more)[name]


def of_omnifed(name: str) -> Ends:
    """Return a round of an algorithm of ``omnifed``."""
    scaled = SimpleNamespace(scale_params=its("omnifed/algorithm/utils", "scale_params"))
    operations = its("omnifed/communicator/base", "AggregationOp")
    sums = its("omnifed/communicator/torchdist", "aggregate", AggregationOp=operations)
    made = its(f"omnifed/algorithm/{name.lower()}", name, utils=scaled, AggregationOp=operations)

    def ends(model: Model, trains: Callable[[], object], n: float, total: float) -> None:
        trains()
        node = made.__new__(made)
        node.local_model, node.personal_layers = model, ["head"]
        node._aggregate_within_group(SimpleNamespace(aggregate=partial(sums, SimpleNamespace(rank=0))), n / total)

    return ends


def of_flora() -> Ends:
    """Return a round of the class in the folder ``flora``."""
    made = its("flora/algorithms/fedbn", "FederatedBatchNormalization", train_img_accuracy=dict, test_img_accuracy=dict)
    mpi = its("flora/communicator/torch_mpi", "TorchMPICommunicator")

    def ends(model: Model, trains: Callable[[], object], n: float, total: float) -> None:
        node, batch = made.__new__(made), SimpleNamespace(size=lambda _: n)
        batch.to = lambda _: batch
        model.forward = lambda _: None
        vars(node).update(model=model, communicator=mpi.__new__(mpi), train_data=[(batch, batch)], device="cpu")
        vars(node).update(loss=lambda *_: SimpleNamespace(backward=bool), local_step=0, comm_freq=1, training_samples=0)
        vars(node).update(optimizer=SimpleNamespace(step=trains, zero_grad=bool), lr_scheduler=None)
        vars(node).update(dict.fromkeys(("train_loss", "top1_acc", "top5_acc", "top10_acc", "test_data")))
        node.train_loop(0)

    return ends


def rounds(ends: Ends) -> Make:
    """Return rounds of nodes that run at once."""
    stand_in()

    def begins(models: list[Model], examples: Any, train: Train) -> Rounds:
        nodes = Workers(len(models))

        def runs(participants: Sequence[int], steps: Sequence[int]) -> Tensors:
            tau = dict(zip(participants, steps, strict=True))
            nodes.run(
                lambda i: ends(
                    models[i], lambda: train(models[i], i, tau[i]), float(examples[i]), float(examples.sum())
                )
            )
            return dict(models[0].named_parameters())

        return runs

    return begins


def Adapter() -> Personal:
    """Adapter of its three classes."""
    made = {"fedbn": (of_omnifed("FedBN"), "bn"), "fedper": (of_omnifed("FedPer"), "head"), "flora": (of_flora(), "bn")}
    claims = [(offer(block, participation="all", variant=v), rounds(ends)) for v, (ends, block) in made.items()]
    return Personal("omnifed", source.dated(COMMIT), claims)


Subject = Adapter
"""Earlier name of the adapter."""
