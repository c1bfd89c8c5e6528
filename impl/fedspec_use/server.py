"""Server half of an algorithm on a model of named NumPy arrays, for use by a framework's strategy.

This module defines no equation: a round calls the row's own ``init`` and ``server``, as the reference does for the
judge.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Array, Vector
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, find
from fedspec.domains import check_steps
from fedspec.errors import ParameterError, PlanError, ShapeError, UnknownNameError
from fedspec.facts import Fact
from fedspec.functions import Served
from fedspec.params import flatten, shapes, unflatten
from fedspec.plan import Messages
from fedspec.reference import shown

Arrays = Mapping[str, Array]
"""Model as arrays by name, in a fixed order."""


@dataclass(frozen=True)
class Chosen:
    """Algorithm under one reading, with its hyper-parameters.

    Attributes:
        algorithm: the row.
        reading: the published definition.
        options: every option, resolved.
        numbers: the hyper-parameters that were given.
        h: the record of all these, as the row's functions read it.
        run: the row's functions; if clients keep state, those of its server.
        clients: N, the number of all clients; 0: unknown.
    """

    algorithm: Algorithm
    reading: str
    options: Mapping[str, str]
    numbers: Mapping[str, Any]
    h: Any
    run: Method | Served
    clients: int = 0

    def init(self, x: Vector, blocks: Mapping[str, Sequence[int]] | None = None) -> Any:
        """Return the server's state before the first round, of a model of one block or of blocks of these shapes.

        Raises:
            ParameterError: the server needs the number of all clients, which is unknown.
        """
        if isinstance(self.run, Method):
            return self.run.begin(self.h, x, {"x": x.shape} if blocks is None else blocks)
        if self.counts and not self.clients:
            raise ParameterError(
                f"clients: not given, but the server of {self.algorithm.id} divides by the number of all clients, also "
                "of those that don't take part: give for example clients=10"
            )
        return self.run.init(self.h, x, self.clients)

    @property
    def counts(self) -> bool:
        """True if the server uses the number of all clients."""
        return self.algorithm.has(Fact.COUNTS_ALL)

    @cached_property
    def reads(self) -> frozenset[str]:
        """Names of the clients' numbers (examples, steps, a_norms) that affect the server, found by trial steps."""
        x, deltas = np.array([1.0, -2.0, 0.5]), np.array([[1.0, 0.25, -3.0], [0.5, -2.0, 1.0], [-4.0, 0.5, 1.25]])
        state = replace(self, clients=3).init(x)
        sent: dict[str, Any] = {"examples": [1.0, 1.0, 1.0], "steps": [1, 1, 1], "a_norms": [1.0, 1.0, 1.0]}
        # What a row reads for certain, as its facts say.
        sent |= {"controls": deltas if self.controls else None, "losses": lambda: [1.0, 2.0, 4.0]}

        def after(**other: Any) -> Vector:
            return model(self.run.server(self.h, state, Messages(deltas=deltas, **{**sent, **other}))[0])

        others = {"examples": [1.0, 2.0, 4.0], "steps": [1, 2, 4], "a_norms": [1.0, 2.0, 4.0]}
        return frozenset(n for n, v in others.items() if not np.array_equal(after(), after(**{n: v}), equal_nan=True))

    @property
    def controls(self) -> bool:
        """True if clients send the changes of their control variates."""
        return isinstance(self.run, Served) and self.run.controls


@dataclass(frozen=True)
class Reply:
    """Reply of a client after its local steps; a number that the client didn't send is None.

    Attributes:
        model: the client's local model, under the names in the server's model.
        examples: the client's sample size n_i.
        steps: the client's number of local steps tau_i.
        a_norm: ||a_i||_1 of the client's solver.
        control: the change of the client's control variate, under the names of the trained arrays.
        loss: F_i at the received model, over all examples of the client.
        sender: name of the client in an error message.
    """

    model: Arrays
    examples: Any
    steps: Any = None
    a_norm: Any = None
    control: Arrays | None = None
    loss: Any = None
    sender: str = "a client"


def servers() -> tuple[str, ...]:
    """Return the ids of all algorithms that :func:`choose` accepts."""
    return tuple(a.id for a in CATALOGUE.values() if not refusal(a))


def refusal(a: Algorithm) -> str:
    """Return why an algorithm has no server that runs separately from its clients; "" if it has one."""
    if isinstance(a.run, LocalSolver):
        return f"{a.id} is a client's solver and has no server; train with it in the clients, beside fedavg"
    if "peers" in a.takes:
        return (
            f"{a.id}: it has no server, clients mix their models with neighbours'; `fedspec simulate {a.id}` runs them"
        )
    if not isinstance(a.run, Method) and not a.served:
        return (
            f"{a.id}: its clients and its server cannot be taken apart, so no server stands alone; "
            f"`fedspec simulate {a.id}` runs them together"
        )
    return ""


def choose(
    name: str | Algorithm, reading: str = "", settings: Mapping[str, Any] | None = None, clients: int = 0
) -> Chosen:
    """Return an algorithm under a reading (default: the canonical one), with its hyper-parameters and options.

    Args:
        name: the algorithm's id, or its row.
        reading: the published definition.
        settings: the algorithm's hyper-parameters and options.
        clients: number of all clients, if the server needs it.

    Raises:
        UnknownNameError: the row, reading, hyper-parameter or option is unknown.
        ParameterError: the row has no server that runs by itself, or a hyper-parameter is outside its domain or
            missing.
    """
    algorithm, settings = find(name), dict(settings or {})
    if why := refusal(algorithm):
        raise ParameterError(f"algorithm: {why}")
    reading = reading or algorithm.readings[0].name
    if algorithm.reading(reading) not in algorithm.readings_at("server"):
        raise ParameterError(
            f"reading: {reading!r} of {algorithm.id} also defines the clients' steps, which the server can't run; "
            "choose another"
        )
    if unknown := [n for n in settings if n not in algorithm.parameters]:
        known = ", ".join(algorithm.parameters)
        raise UnknownNameError(f"{unknown[0]}: {algorithm.id} has no such setting; its settings are {known}")
    # A scalar of NumPy's would make a float32 model one of float64.
    numbers = {n: v.item() if isinstance(v, np.generic) else v for n, v in settings.items() if n in algorithm.numbers}
    options = algorithm.resolve(reading, {n: str(v) for n, v in settings.items() if n in algorithm.options})
    run = algorithm.served or algorithm.run
    assert isinstance(run, Method | Served) and not isinstance(algorithm.run, LocalSolver)
    # A server sees changes and not the rate that they were made at; any value will do.
    h: Any = algorithm.run.hyper(**{"eta_l": 1, **algorithm.unseen("server"), **numbers, **options})
    return Chosen(algorithm, reading, options, numbers, h, run, clients)


UNHEARD = "this client knows no algorithm of that name"
"""Phrase in clients' errors by which the server recognises that they don't know its algorithm."""


def told_of(name: str) -> Algorithm:
    """Return the algorithm of that id, on a client that received only the id.

    Raises:
        UnknownNameError: the row is unknown here, for example your own row if this client hasn't received it.
    """
    try:
        return find(name)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"algorithm: got {name!r}; {UNHEARD}: if the row is your own, call fedspec.catalogue.find(ROW) in the "
            f"client's module too"
        ) from error


def check_heard(chosen: Chosen, reasons: Iterable[str]) -> None:
    """Raise an error if no client replied and some failed because they don't know the algorithm.

    Raises:
        UnknownNameError: no client replied, and a client doesn't know the algorithm.
    """
    if any(UNHEARD in reason for reason in reasons):
        raise UnknownNameError(
            f"algorithm: no client replied, since clients don't know {chosen.algorithm.id!r}; if the row is your own, "
            "call fedspec.catalogue.find(ROW) in the client's module too"
        )


def unmet(chosen: Chosen) -> list[str]:
    """Return the requirements of the reading that the hyper-parameters violate, as text."""
    h = vars(chosen.h)
    return [r.words for r in chosen.algorithm.reading(chosen.reading).requires if not r.holds(h)]


def trained(arrays: Arrays) -> dict[str, Array]:
    """Return the floating-point arrays; all other arrays, such as counters and masks, aren't trained."""
    return {name: a for name, a in arrays.items() if np.issubdtype(a.dtype, np.floating)}


def placed(x: Vector, arrays: Arrays) -> dict[str, Array]:
    """Convert a vector to arrays with the names, shapes and dtypes of ``arrays``; untrained ones are kept."""
    blocks = unflatten(x, trained(arrays))
    return {name: blocks[name].astype(a.dtype) if name in blocks else a for name, a in arrays.items()}


def in_blocks(field: str, x: Vector, arrays: Arrays) -> dict[str, Any]:
    """Convert a vector to arrays FIELD/NAME, one for each trained array."""
    return {f"{field}/{name}": np.array(a) for name, a in unflatten(x, trained(arrays)).items()}


def of_blocks(field: str, told: Mapping[str, Any], arrays: Arrays) -> Vector:
    """Convert arrays FIELD/NAME, as :func:`in_blocks` makes them, back to a vector."""
    return flatten({name: np.asarray(told[f"{field}/{name}"]) for name in trained(arrays)})


def begun(chosen: Chosen, state: Any, arrays: Arrays) -> Any:
    """Return the server's state with this model; the initial state if there is none yet.

    Raises:
        ShapeError: the state belongs to a model of another size or type.
    """
    x = flatten(trained(arrays))
    if state is None:
        return chosen.init(x, shapes(trained(arrays)))
    was = model(state)
    if (was.shape, was.dtype) != (x.shape, x.dtype):
        raise ShapeError(
            f"arrays: got {x.size} numbers of {x.dtype}, but the state belongs to a model with {was.size} of "
            f"{was.dtype}; continue with that model, or make a new strategy"
        )
    return replace(state, x=x) if is_dataclass(state) else x  # type: ignore[type-var]


def stepped(
    chosen: Chosen, state: Any, arrays: Arrays, replies: Sequence[Reply]
) -> tuple[Any, dict[str, Array], dict[str, Any]]:
    """Run a round's server step; return the next state, the new model and the values to report.

    Raises:
        PlanError: no client replied, a number of steps isn't a whole number >= 1, or a reply lacks a number that the
            row reads.
        ShapeError: the arrays of a reply don't have the model's names and shapes.
    """
    if not replies:
        raise PlanError("messages: no client takes part in this round; a server step needs at least one client")
    dtype = model(state).dtype
    messages = Messages(
        deltas=np.stack([_change(reply, arrays).astype(dtype) for reply in replies]),
        examples=_told(
            chosen, replies, "examples", [r.examples for r in replies], "num-examples, its number of examples"
        ),
        steps=_told(chosen, replies, "steps", [_steps(r) for r in replies], "steps, its number of local steps"),
        a_norms=_told(
            chosen,
            replies,
            "a_norms",
            [_norm(chosen, r) for r in replies],
            "steps, its number of local steps, or a-norm, ||a_i||_1 of its solver, "
            "which takes the place of steps where the server cannot tell the solver's rate",
        ),
        controls=_controls(chosen, replies, arrays, dtype),
        losses=_losses(chosen, replies),
    )
    after, values = chosen.run.server(chosen.h, state, messages)
    return after, placed(model(after), arrays), {**shown(after), **values}


def _change(reply: Reply, arrays: Arrays) -> Vector:
    """Local model minus the model that the client was sent."""
    told = reply.model
    if set(told) != set(arrays):
        raise ShapeError(
            f"arrays: {reply.sender} sent {sorted(told)}, but the model has {sorted(arrays)}; send arrays of these "
            "names"
        )
    for name, a in arrays.items():
        if told[name].shape != a.shape:
            raise ShapeError(f"arrays: {reply.sender} sent {name!r} of shape {told[name].shape}, not {a.shape}")
    return flatten({name: told[name] - a for name, a in trained(arrays).items()})


def _steps(reply: Reply) -> Any:
    if reply.steps is not None:
        check_steps(reply.steps)
    return reply.steps


def _norm(chosen: Chosen, reply: Reply) -> Any:
    """||a_i||_1 as the client reports it, or else the solver's value after that many steps."""
    pulled = bool(getattr(chosen.h, "mu", 0)) and "eta_l" not in chosen.numbers
    if reply.a_norm is not None or reply.steps is None or pulled or not isinstance(chosen.run, Method):
        return reply.a_norm
    return chosen.run.norm(chosen.h, reply.steps)


def _told(chosen: Chosen, replies: Sequence[Reply], name: str, numbers: list[Any], words: str) -> list[Any]:
    """The numbers of all replies; where some are missing, the row must not read them."""
    absent = [r.sender for r, n in zip(replies, numbers, strict=True) if n is None]
    if absent and name in chosen.reads:
        said = f"{name}: the reply of {', '.join(absent)} holds none, and {chosen.algorithm.id} reads it"
        raise PlanError(f"{said}; let each client put {words}, into its metrics")
    return [1 if n is None else n for n in numbers]


def _controls(chosen: Chosen, replies: Sequence[Reply], arrays: Arrays, dtype: Any) -> Any:
    """Changes of control variates as a stack, if the row reads them."""
    if not chosen.controls:
        return None
    rows, named = [], trained(arrays)
    for reply in replies:
        if reply.control is None or set(reply.control) != set(named):
            got = "none" if reply.control is None else f"one of {sorted(reply.control)}"
            raise PlanError(
                f"control: the reply of {reply.sender} has {got}, but {chosen.algorithm.id} needs the change of "
                f"{sorted(named)} from every client; make the reply by local_train, or give answer(control=...)"
            )
        rows.append(flatten({name: np.reshape(reply.control[name], a.shape) for name, a in named.items()}))
    return np.stack(rows).astype(dtype)


def _losses(chosen: Chosen, replies: Sequence[Reply]) -> Any:
    """Function that returns each client's loss, if the row reads losses."""
    if not chosen.algorithm.losses:
        return None
    absent = [r.sender for r in replies if r.loss is None]
    if absent:
        raise PlanError(
            f"loss: the reply of {', '.join(absent)} has none, but {chosen.algorithm.id} needs each client's loss at "
            "the model that the client received; give answer(loss=...)"
        )
    return lambda: [r.loss for r in replies]


def saved(state: Any, arrays: Arrays) -> dict[str, Any]:
    """Convert a state to arrays and integers: the model as x/NAME, other vectors as FIELD/NAME, counts as FIELD.

    Raises:
        ShapeError: the state has a field of another kind.
    """
    out: dict[str, Any] = {f"x/{name}": np.array(a) for name, a in arrays.items()}
    for name, value in _parts(state).items():
        if isinstance(value, Integral):
            out[name] = int(value)
        elif np.shape(value) == model(state).shape:
            out |= in_blocks(name, value, arrays)
        else:
            raise ShapeError(f"state: {name} can't be saved, since it is neither a count nor a vector like the model")
    return out


def loaded(chosen: Chosen, told: Mapping[str, Any]) -> tuple[Any, dict[str, Array]]:
    """Restore the state and the model from :func:`saved`'s result, also if NumPy stored it in between.

    Raises:
        ShapeError: the state belongs to another algorithm.
    """
    arrays = {key.removeprefix("x/"): np.asarray(a) for key, a in told.items() if key.startswith("x/")}
    state = begun(chosen, None, arrays)
    parts, wanted = _parts(state), set(saved(state, arrays))
    if wanted != set(told):
        raise ShapeError(
            f"state: {chosen.algorithm.id} keeps {', '.join(('x', *parts))}; missing {sorted(wanted - set(told))}, "
            f"unknown {sorted(set(told) - wanted)}; load what a strategy of the same algorithm saved"
        )
    read = {n: int(told[n]) if isinstance(v, Integral) else of_blocks(n, told, arrays) for n, v in parts.items()}
    return replace(state, **read) if parts else state, arrays


def _parts(state: Any) -> dict[str, Any]:
    """Fields of a state beside the model and the places of its blocks, which the arrays tell."""
    if not is_dataclass(state):
        return {}
    return {f.name: getattr(state, f.name) for f in fields(state) if f.name not in ("x", "layers", "shapes")}
