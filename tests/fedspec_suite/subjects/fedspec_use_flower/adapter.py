"""fedspec's own Flower strategy (``fedspec_use.flower``) on Flower 1.41.0, without its network or runtime.

``FedspecStrategy(algorithm, reading=, **hyper, **options)``; ``configure_train`` with a stand-in grid that lists one
node for each message, then ``aggregate_train`` with the nodes' replies.

All readings of all servers that read no control variates. Clients send models, not changes: the
adapter sends x + delta, with x as the strategy returned it last, so the rounding of that sum is the
adapter's. Replies hold ``num-examples``, ``steps`` and ``a-norm``. Shown: what the strategy's
``values`` hold by the catalogue's names.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.supercore.task_identity import TaskIdentity

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Messages, Offer, SubjectInfo
from fedspec.errors import ContractError
from fedspec.params import unflatten
from fedspec.reference import offers
from fedspec_use.flower import FedspecStrategy
from fedspec_use.server import servers


def offered() -> Iterator[Offer]:
    """Every reading of every row that the strategy takes."""
    for name in servers():
        yield from offers(CATALOGUE[name], "server")


class StandInGrid:
    """The part of ``flwr.serverapp.Grid`` that ``configure_train`` asks."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    def get_node_ids(self) -> list[int]:
        """List the nodes, one for each message of the round."""
        return list(range(1, self.nodes + 1))


class Run:
    """A strategy, the current model and the number of the round."""

    def __init__(self, case: Case) -> None:
        self.x, self.round, self.case = dict(case.x0), 0, case
        settings = {**case.hyper, **case.options}
        waits = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}
        self.strategy = FedspecStrategy(case.algorithm, reading=case.reading, **settings, **waits)

    def step(self, event: Event) -> Answer:
        """Aggregate one round's messages: ask every node, answer for it, and hand over the replies in their order."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        self.round += 1
        grid = StandInGrid(len(event.messages))
        asked = self.strategy.configure_train(self.round, record(self.x), ConfigRecord(), grid)
        replies = []
        for message in sorted(asked, key=lambda m: int(m.metadata.dst_node_id)):
            sent = event.messages[message.metadata.dst_node_id - 1]
            model = {n: self.x[n] + sent.delta[n] for n in self.x}
            numbers = {"num-examples": int(sent.weight), "steps": int(sent.steps), "a-norm": float(sent.a_norm)}
            content = RecordDict({"arrays": record(model), "metrics": MetricRecord(numbers)})
            replies.append(Message(content, reply_to=message))
        arrays, _ = self.strategy.aggregate_train(self.round, replies)
        if arrays is not None:
            self.x = {n: array.numpy() for n, array in arrays.items()}
        return {"x": self.x, **self._shown()}

    def _shown(self) -> dict[str, Any]:
        wanted = CATALOGUE[self.case.algorithm].shows_at("server")
        found = {n: v for n, v in self.strategy.values.items() if n in wanted}
        d = sum(np.size(a) for a in self.x.values())
        return {n: unflatten(v, self.x) if np.shape(v) == (d,) else v for n, v in found.items()}


def record(x: Mapping[str, Any]) -> Any:
    """Put a model into Flower's record."""
    return ArrayRecord({name: FlowerArray(np.asarray(array)) for name, array in x.items()})


class Use:
    """The strategy, as a subject."""

    info = SubjectInfo("fedspec_use_flower", version("flwr"), tuple(offered()))

    def start(self, case: Case) -> Run:
        """Make the strategy of the case."""
        return Run(case)


logging.getLogger("flwr").setLevel(logging.ERROR)
# A message outside a running app needs these numbers; no arithmetic depends on them.
TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 0

SUBJECT = Use()
