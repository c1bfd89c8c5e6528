"""Flower strategies for the catalogue's algorithms, for Flower's message interface (flwr 1.41).

``FedspecStrategy("fedadam", eta=0.1, beta1=0.9, beta2=0.99, tau=1e-3, v0=1e-6)`` replaces Flower's own ``FedAdam``. Its
server step is the row's function, called by :mod:`fedspec_use.server`.

Clients reply as they do to ``FedAvg``: one record of arrays and one of metrics with ``num-examples``. Rows of the
FedNova family also read ``steps``, the number of local steps, and ``a-norm`` if a client knows its ||a_i||_1 more
exactly than the declared solver does. :func:`answer` makes such a reply; :func:`local_train` also trains with the row's
own solver.

If clients keep state between rounds, as in SCAFFOLD, FedDyn and DiLoCo, :func:`local_train` writes it into Flower's
``context.state``. Quantities that the server sends beside its model, and the returned change of a control variate,
travel as arrays under names that begin with ``fedspec``.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from logging import INFO, WARNING
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.common.logger import log
from flwr.serverapp.strategy import FedAvg

from fedspec.arith import Array
from fedspec.catalogue import Algorithm, Method
from fedspec.errors import ContractError, ParameterError
from fedspec.parsing import parse_json
from fedspec_use.client import keeps, tells, train
from fedspec_use.server import (
    Arrays,
    Chosen,
    Reply,
    begun,
    check_heard,
    choose,
    loaded,
    saved,
    stepped,
    told_of,
    trained,
    unmet,
)

EXAMPLES, STEPS, A_NORM, LOSS = "num-examples", "steps", "a-norm", "loss-before"
"""Keys of the numbers in a reply; a strategy's ``weighted_by_key`` replaces the first."""

CONTROL = "fedspec.control/"
"""Name prefix of arrays that hold a control variate's change: Flower allows one record of arrays in a reply."""

TOLD = "fedspec"
"""Key of the configuration entry that sends clients the algorithm and its hyper-parameters, and of the record of
arrays sent besides the model.
"""

PROXIMAL = "proximal-mu"
"""Configuration key by which Flower's own FedProx sends mu to clients."""

FLOWERS = tuple(name for name in inspect.signature(FedAvg.__init__).parameters if name != "self")
"""Keyword arguments of Flower's FedAvg."""


class FedspecStrategy(FedAvg):  # type: ignore[misc]
    """Flower strategy that runs the server of an algorithm of the catalogue.

    Attributes:
        server: the row, its reading and its hyper-parameters.
        values: the row's intermediates of the last round, as vectors and numbers by the paper's names.
    """

    def __init__(self, algorithm: str | Algorithm, *, reading: str = "", clients: int = 0, **settings: Any) -> None:
        """Choose an algorithm; ``settings`` are its hyper-parameters and options, and keywords of Flower's FedAvg.

        Args:
            algorithm: the row's id, or your own row.
            reading: the published definition; the canonical one by default.
            clients: N, the number of all clients, for rows whose server needs it (SCAFFOLD, FedDyn).
            settings: hyper-parameters, options and keywords of Flower's FedAvg.

        Raises:
            UnknownNameError: the row, reading or setting is unknown.
            ParameterError: the row can't be a strategy, or a hyper-parameter is outside its domain or missing.
        """
        self.server = choose(algorithm, reading, {n: v for n, v in settings.items() if n not in FLOWERS}, clients)
        # What is missing is said here, and not by the first round.
        self.server.init(np.zeros(1))
        self.values: dict[str, Any] = {}
        self._state: Any = None
        self._arrays: dict[str, Array] = {}
        super().__init__(**{n: v for n, v in settings.items() if n in FLOWERS})
        for words in unmet(self.server):
            log(WARNING, "reading %s of %s asks %s", self.server.reading, self.server.algorithm.id, words)

    def summary(self) -> None:
        """Log the algorithm and its settings, then Flower's settings."""
        log(INFO, "\t├──> %s, as %s defines it", self.server.algorithm.id, self.server.reading)
        for name, value in {**self.server.numbers, **self.server.options}.items():
            log(INFO, "\t│\t├──%s: %s", name, value)
        super().summary()

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Any
    ) -> Iterable[Message]:
        """Store the model with which the round begins, and send the algorithm and its settings to clients."""
        model = of_record(arrays)
        self._state = begun(self.server, self._state, model)
        if not self._arrays and (kept := [name for name in model if name not in trained(model)]):
            log(WARNING, "%s: no floating-point numbers, so they stay as they are", ", ".join(kept))
        self._arrays = model
        config[TOLD] = told(self.server)
        if (mu := self.server.numbers.get("mu")) is not None:
            config[PROXIMAL] = mu
        messages: list[Message] = [*super().configure_train(server_round, arrays, config, grid)]
        if beside := tells(self.server, self._state, model):
            for message in messages:
                message.content[TOLD] = to_record(beside)
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Run the algorithm's server step on the replies; without a reply, nothing changes.

        Raises:
            UnknownNameError: no client replied, and a client reports that it doesn't know the row.
            PlanError: a reply lacks a number that the row reads.
            ShapeError: the arrays of a reply don't have the model's names and shapes.
        """
        valid, failed = self._check_and_log_replies(list(replies), is_train=True)
        if not valid:
            check_heard(self.server, (message.error.reason for message in failed))
            return None, None
        heard = [reply_of(message, self.weighted_by_key) for message in valid]
        self._state, self._arrays, self.values = stepped(self.server, self._state, self._arrays, heard)
        # Flower's mean of the metrics divides by the sum of examples.
        some = any(reply.examples for reply in heard)
        metrics = self.train_metrics_aggr_fn([m.content for m in valid], self.weighted_by_key) if some else None
        return self.arrays, metrics

    @property
    def arrays(self) -> ArrayRecord:
        """Current model; after :meth:`load_state_dict`, pass it to ``start`` as ``initial_arrays``."""
        return to_record(self._arrays)

    def state_dict(self) -> dict[str, Any]:
        """Return the model and the server's state as arrays and integers; empty before the first round."""
        return {} if self._state is None else saved(self._state, self._arrays)

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a :meth:`state_dict`, also one that ``numpy.savez`` wrote and ``numpy.load`` returned.

        Raises:
            ShapeError: the state belongs to another algorithm.
        """
        self._state, self._arrays = loaded(self.server, state) if state else (None, {})


def of_record(record: ArrayRecord) -> dict[str, Array]:
    """Convert Flower's arrays to NumPy's, in order."""
    return {name: array.numpy() for name, array in record.items()}


def to_record(arrays: Arrays) -> ArrayRecord:
    """Convert NumPy's arrays to Flower's, in order."""
    return ArrayRecord({name: FlowerArray(np.asarray(array)) for name, array in arrays.items()})


def reply_of(message: Message, weighted_by_key: str = EXAMPLES) -> Reply:
    """Parse a client's message."""
    content = message.content
    metrics = next(iter(content.metric_records.values()))
    arrays = of_record(next(iter(content.array_records.values())))
    control = {name.removeprefix(CONTROL): a for name, a in arrays.items() if name.startswith(CONTROL)}
    return Reply(
        model={name: a for name, a in arrays.items() if not name.startswith(CONTROL)},
        examples=metrics.get(weighted_by_key),
        steps=metrics.get(STEPS),
        a_norm=metrics.get(A_NORM),
        control=control or None,
        loss=metrics.get(LOSS),
        sender=f"node {message.metadata.src_node_id}",
    )


def told(server: Chosen) -> str:
    """Encode the algorithm, its reading and its settings as JSON for clients."""
    settings = {**server.numbers, **server.options}
    return json.dumps({"algorithm": server.algorithm.id, "reading": server.reading, "settings": settings})


def heard(message: Message, own: Mapping[str, Any]) -> Chosen:
    """Decode the algorithm that a strategy's message names, with the client's own hyper-parameters.

    Raises:
        ContractError: the message is from another strategy.
        UnknownNameError: the row is the server's own, and this client doesn't have it.
    """
    for record in message.content.config_records.values():
        if TOLD in record:
            try:
                said = parse_json(record[TOLD])
                algorithm, reading, settings = said["algorithm"], said["reading"], {**said["settings"]}
            except (KeyError, TypeError, ValueError) as error:
                raise ContractError(
                    f"config: {TOLD!r} of this message doesn't contain an algorithm with its settings ({error})"
                ) from error
            return choose(told_of(algorithm), reading, {**settings, **own})
    raise ContractError(f"config: this message has no {TOLD!r}; it isn't a train message of FedspecStrategy")


def model_of(message: Message) -> tuple[str, dict[str, Array]]:
    """Return the key of a train message's model, and the model.

    Raises:
        ContractError: the message doesn't have exactly one record of arrays beside fedspec's own.
    """
    keys = [key for key in message.content.array_records if key != TOLD]
    if len(keys) != 1:
        raise ContractError(f"content: got records of arrays {keys}; a train message must have one, the model")
    return keys[0], of_record(message.content.array_records[keys[0]])


def answer(
    message: Message,
    model: Arrays,
    *,
    examples: int,
    steps: int,
    control: Arrays | None = None,
    loss: float | None = None,
    metrics: Mapping[str, float] | None = None,
    weighted_by_key: str = EXAMPLES,
    **own: Any,
) -> Message:
    """Make the reply to a train message: the trained model, examples, steps, and ||a_i||_1 of the solver.

    Args:
        message: the message that the client received.
        model: the arrays after local training, under the names in the message.
        examples: the client's sample size.
        steps: the client's number of local steps.
        control: the change of the client's control variate, under the names of the trained arrays, if the server reads
            it.
        loss: F_i at the received model, over all examples of the client, if the server reads it (q-FedAvg).
        metrics: further numbers to report, such as the training loss.
        weighted_by_key: the strategy's ``weighted_by_key``.
        own: hyper-parameters of the client that the strategy doesn't have, such as ``eta_l``.

    Raises:
        ContractError: the message is from another strategy.
        ParameterError: the solver's ||a_i||_1 depends on eta_l, which is missing, or the server reads a control variate
            or a loss that is missing.
    """
    server = heard(message, own)
    if getattr(server.h, "mu", 0) and "eta_l" not in server.numbers and server.algorithm.runs("accumulation"):
        raise ParameterError("eta_l: not given, but ||a_i||_1 of a proximal solver depends on it; give it here")
    for name, given, read in (("control", control, server.controls), ("loss", loss, server.algorithm.losses)):
        if read and given is None:
            raise ParameterError(f"{name}: not given, but the server of {server.algorithm.id} needs it; give it here")
    numbers: dict[str, Any] = {weighted_by_key: examples, STEPS: steps}
    if isinstance(server.run, Method):
        numbers[A_NORM] = float(server.run.norm(server.h, steps))
    if loss is not None:
        numbers[LOSS] = float(loss)
    key, _ = model_of(message)
    sent = {**model, **{f"{CONTROL}{name}": a for name, a in (control or {}).items()}}
    content = {key: to_record(sent), "metrics": MetricRecord({**(metrics or {}), **numbers})}
    return Message(RecordDict(content), reply_to=message)


def local_train(
    message: Message,
    gradient: Callable[[int, Arrays], Arrays],
    *,
    examples: int,
    steps: int,
    state: RecordDict | None = None,
    **more: Any,
) -> Message:
    """Train with the algorithm's own local solver, and return the reply.

    Args:
        message: the message that the client received.
        gradient: function that returns the gradients by name, at local step k = 0, 1, ... at a model.
        examples: the client's sample size.
        steps: the client's number of local steps.
        state: Flower's ``context.state``, if the row's clients keep state: it is read and written.
        more: further arguments of :func:`answer`; client hyper-parameters that the strategy doesn't have, such as
            ``eta_l``.

    Raises:
        ContractError: the message is from another strategy.
        ParameterError: a hyper-parameter of the client, or its state, is missing.
        ShapeError: the client's state belongs to another model.
    """
    own = {name: value for name, value in more.items() if name not in ("loss", "metrics", "weighted_by_key")}
    server = heard(message, own)
    if state is None and (kept := keeps(server)):
        raise ParameterError(
            f"state: a client of {server.algorithm.id} keeps {', '.join(kept)} from round to round; give context.state"
        )
    place = f"{TOLD}.{server.algorithm.id}"
    _, arrays = model_of(message)
    beside = of_record(message.content.array_records.get(TOLD, ArrayRecord()))
    before = of_record(state[place]) if state is not None and place in state else {}
    ended = train(server, arrays, gradient, steps, before, beside)
    reply = answer(message, ended.model, examples=examples, steps=steps, control=ended.control, **more)
    if state is not None and ended.kept:
        state[place] = to_record(ended.kept)
    return reply
