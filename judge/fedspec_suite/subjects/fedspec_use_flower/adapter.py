"""fedspec's own Flower strategy (``fedspec_use.flower``) on Flower 1.41.0, without its network or runtime.

``FedspecStrategy(algorithm, reading=, **hyper, **options)``; ``configure_train`` with a stand-in grid that lists one
node for each message, then ``aggregate_train`` with the nodes' replies.

Level server: all readings of all rows that the strategy takes. Clients send models, not changes:
the adapter sends x + delta, with x as the strategy returned it last, so the rounding of that sum is
the adapter's. Replies hold ``num-examples``, ``steps`` and ``a-norm``, and what a row reads more: the
change of a control variate, the loss. Level round: ``local_train`` answers each message, with a
client's ``context.state`` from round to round, on gradients of the case's quadratics. Shown: what the
strategy's ``values`` hold by the catalogue's names, and what those states hold.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Message, MetricRecord, RecordDict

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, ClientMessage, Event, Messages, Offer, Round, SubjectInfo
from fedspec.errors import ContractError
from fedspec.params import flatten, unflatten
from fedspec.reference import offers
from fedspec_suite.subjects.flower_stand_ins import StandInGrid, record
from fedspec_use.flower import CONTROL, LOSS, TOLD, FedspecStrategy, local_train
from fedspec_use.server import servers

WHOLE = ("fedavg", "fedprox", "fednova", "scaffold", "feddyn", "diloco")
"""Rows whose clients are checked too, at level round."""

TOGETHER = ("noloco-baseline",)
"""Readings in which a client needs other clients' state; ``local_train`` rejects them."""


def offered() -> Iterator[Offer]:
    """Yield an offer for every reading of every row that the strategy supports, and whole rounds of some rows."""
    for name in servers():
        yield from offers(CATALOGUE[name], "server")
    for name in WHOLE:
        both = {r.name for r in CATALOGUE[name].readings_at("server")} - {*TOGETHER}
        yield from (offer for offer in offers(CATALOGUE[name], "round") if offer.reading in both)


class Run:
    """Session at level server: a strategy, the current model and the round number."""

    def __init__(self, case: Case) -> None:
        self.x, self.round, self.case = dict(case.x0), 0, case
        waits = {"min_train_nodes": 0, "min_evaluate_nodes": 0, "min_available_nodes": 0}
        settings = {**case.hyper, **case.options, **waits}
        n = len(case.problem.e) if case.problem else case.population
        self.strategy = FedspecStrategy(case.algorithm, reading=case.reading, clients=n or 0, **settings)

    def step(self, event: Event) -> Answer:
        """Run one round: configure every node, answer with its message, and aggregate the replies in order."""
        if not isinstance(event, Messages):
            raise ContractError(f"event: {type(event).__name__} at level server; send Messages")
        self.through(range(1, len(event.messages) + 1), lambda m: self.reply(m, event.messages[node_of(m) - 1]))
        return {"x": self.x, **self._shown()}

    def through(self, nodes: Sequence[int], reply: Callable[[Message], Message]) -> None:
        """Run one round of the strategy with these nodes."""
        self.round += 1
        asked = self.strategy.configure_train(self.round, record(self.x), ConfigRecord(), StandInGrid(nodes))
        arrays, _ = self.strategy.aggregate_train(self.round, [reply(m) for m in sorted(asked, key=node_of)])
        if arrays is not None:
            self.x = {n: array.numpy() for n, array in arrays.items()}

    def reply(self, message: Message, sent: ClientMessage) -> Message:
        """Return a node's reply with the change from the case."""
        model = {n: self.x[n] + sent.delta[n] for n in self.x}
        model |= {f"{CONTROL}{n}": a for n, a in (sent.control or {}).items()}
        numbers = {"num-examples": int(sent.weight), "steps": int(sent.steps), "a-norm": float(sent.a_norm)}
        numbers |= {} if sent.loss is None else {LOSS: float(sent.loss)}
        return Message(RecordDict({"arrays": record(model), "metrics": MetricRecord(numbers)}), reply_to=message)

    def _shown(self) -> dict[str, Any]:
        wanted = CATALOGUE[self.case.algorithm].shows_at(self.case.level)
        found = {n: v for n, v in self.strategy.values.items() if n in wanted}
        d = sum(np.size(a) for a in self.x.values())
        return {n: unflatten(v, self.x) if np.shape(v) == (d,) else v for n, v in found.items()}


class Rounds(Run):
    """Session at level round, with clients that train by ``local_train`` on the case's objectives."""

    def __init__(self, case: Case) -> None:
        super().__init__(case)
        assert case.problem
        self.problem, self.x0 = case.problem, dict(case.x0)
        self.states: list[RecordDict] = [RecordDict() for _ in case.problem.e]

    def step(self, event: Event) -> Answer:
        """Run one round of the participants."""
        if not isinstance(event, Round):
            raise ContractError(f"event: {type(event).__name__} at level round; send Round")
        steps = dict(zip(event.participants, event.steps, strict=True))
        self.through([i + 1 for i in steps], lambda m: self.trained(m, node_of(m) - 1, steps[node_of(m) - 1]))
        # What a client keeps is zero before its first round.
        everyone = range(len(self.states))
        whose = {"c_i": everyone, "lam_i": everyone, "m_i": steps, "v_i": steps}
        shown = {n: whose[n] for n in CATALOGUE[self.case.algorithm].shows if n in whose}
        kept = {n: np.stack([self.kept(i, n) for i in those]) for n, those in shown.items()}
        return {"x": self.x, **self._shown(), **kept}

    def trained(self, message: Message, i: int, steps: int) -> Message:
        """Return the reply of client i after its local steps."""
        H, e, n = self.problem.H[i], self.problem.e[i], int(self.problem.examples[i])
        state = self.states[i]

        def gradient(k: int, x: Mapping[str, Any]) -> dict[str, Any]:
            return unflatten(H @ flatten({name: x[name] for name in self.x0}) - e, self.x0)

        return local_train(message, gradient, examples=n, steps=steps, state=state)

    def kept(self, i: int, name: str) -> Any:
        """Return client i's state of that name, flattened over all blocks."""
        arrays = self.states[i].array_records.get(f"{TOLD}.{self.case.algorithm}", {})
        keys = {block: f"{name}/{block}" for block in self.x0}
        return flatten({b: arrays[key].numpy() if key in arrays else 0 * self.x0[b] for b, key in keys.items()})


def node_of(message: Message) -> int:
    """Return the id of the node to which a message is addressed."""
    return int(message.metadata.dst_node_id)


class Use:
    """fedspec's Flower strategy as a subject."""

    info = SubjectInfo("fedspec_use_flower", version("flwr"), tuple(offered()))

    def start(self, case: Case) -> Run:
        """Create the session with the case's strategy, and its clients at level round."""
        return Rounds(case) if case.level == "round" else Run(case)


logging.getLogger("flwr").setLevel(logging.ERROR)

SUBJECT = Use()
