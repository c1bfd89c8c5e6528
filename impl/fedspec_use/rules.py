"""An algorithm with its reading, options and hyper-parameters, in the form that every framework adapter needs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.catalogue import Algorithm, LocalSolver, Method, find
from fedspec.contract import Level
from fedspec.domains import require
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.facts import Fact
from fedspec.plan import Message
from fedspec.readings import choice
from fedspec.usual import LEFT_OUT
from fedspec_use.server import refusal


@dataclass(frozen=True, eq=False)
class Local:
    """Local solver: one gradient, one step.

    Attributes:
        algorithm: the row of the algorithm.
        options: the value of each option.
        hyper: the value of each hyper-parameter; ``eta_l`` is the learning rate.
    """

    algorithm: Algorithm
    options: Mapping[str, Any]
    hyper: Mapping[str, float]

    @cached_property
    def run(self) -> LocalSolver:
        """The solver's functions."""
        run = self.algorithm.run
        assert isinstance(run, LocalSolver)
        return run

    @cached_property
    def reads(self) -> frozenset[str]:
        """Names of the rule's arguments."""
        return frozenset(inspect.signature(self.run.rule).parameters)

    @cached_property
    def _options(self) -> Mapping[str, Any]:
        return {n: v for n, v in self.options.items() if n in self.reads and n != "cover"}

    def begin(self, x: Any, cover: Any = None) -> Any:
        """Return the state of a round that begins at x: a record that contains the model, or the model itself."""
        begin = self.run.begin
        if begin is None:
            return x
        wanted = inspect.signature(begin).parameters
        given = {"v0": self.hyper.get("v0"), "cover": cover}
        return begin(x, **{n: v for n, v in given.items() if n in wanted})

    def step(self, state: Any, g: Any, hyper: Mapping[str, Any], **at: Any) -> Any:
        """Return the state after one step.

        Args:
            state: the state before the step.
            g: the gradient.
            hyper: the hyper-parameters of this step.
            at: further inputs that a rule may read: ``anchor``, the model at the beginning of the round; ``k``, the
                number of earlier steps; ``cover``, ``layers`` and ``shapes``. Inputs that the rule doesn't read are
                ignored.
        """
        given = {"x": state, "state": state, "g": g, **at}
        arguments = {n: v for n, v in given.items() if n in self.reads}
        numbers = {n: v for n, v in hyper.items() if n in self.reads}
        return self.run.rule(**arguments, **self._options, **numbers)

    def after(self, x: Any, gradients: Any) -> Any:
        """Return the model after a round of these gradients, for a rule that reads no cover, layers or shapes."""
        state = self.begin(x)
        for k, g in enumerate(gradients):
            state = self.step(state, g, self.hyper, anchor=x, k=k)
        return model(state)


@dataclass(frozen=True)
class Alone:
    """Server of an algorithm with client state, in the form of a method's server: it needs no number of clients."""

    hyper: Callable[..., Any]
    init: Callable[[Any, Any], Any]
    server: Callable[[Any, Any, Any], tuple[Any, dict[str, Any]]]


@dataclass(frozen=True, eq=False)
class Server:
    """Server that reads only the average change: one average, one step.

    Attributes:
        algorithm: the row of the algorithm.
        run: the row's functions.
        options: the value of each option.
        hyper: the value of each hyper-parameter; ``eta`` is the learning rate.
    """

    algorithm: Algorithm
    run: Method | Alone
    options: Mapping[str, Any]
    hyper: Mapping[str, float]

    def record(self, hyper: Mapping[str, Any]) -> Any:
        """Return the hyper-parameter record for the row's functions; clients' own values are placeholders."""
        return self.run.hyper(**{**self.algorithm.unseen("server"), **hyper}, **self.options)

    def after(self, x: Any, gradients: Any) -> Any:
        """Return the model after rounds with these average changes, each given as minus the change."""
        h = self.record(self.hyper)
        state = self.run.init(h, x)
        for g in gradients:
            state, _ = self.run.server(h, state, [Message(-g, 1.0, 1, 1.0)])
        return model(state)


def local(algorithm: str | Algorithm, reading: str = "", **given: Any) -> Local:
    """Return a local solver, by the id of an algorithm or by its row.

    Args:
        algorithm: the algorithm's id in the catalogue, or its row.
        reading: the published definition; the first by default.
        given: hyper-parameters and options by name.

    Raises:
        UnknownNameError: a name is unknown, or the row is no local solver.
        ParameterError: a hyper-parameter is missing or outside its domain, or an option contradicts the reading.
    """
    row = find(algorithm) if isinstance(algorithm, str) else algorithm
    if not isinstance(row.run, LocalSolver):
        raise UnknownNameError(
            f"{row.id}: it isn't a local solver, whose step takes one gradient; its levels are {', '.join(row.levels)}"
        )
    return Local(row, *_said(row, "client", reading, given))


def server(algorithm: str | Algorithm, reading: str = "", **given: Any) -> Server:
    """Return a server, by the id of an algorithm or by its row; arguments as in :func:`local`.

    Raises:
        UnknownNameError: a name is unknown, or the row has no server.
        ParameterError: a hyper-parameter is missing or outside its domain, or an option contradicts the reading.
    """
    row = find(algorithm) if isinstance(algorithm, str) else algorithm
    if isinstance(row.run, LocalSolver) or "server" not in row.levels:
        raise UnknownNameError(f"{row.id}: it has no separate server: {refusal(row).removeprefix(f'{row.id}: ')}")
    alone = _alone(row)
    if not alone and (not isinstance(row.run, Method) or row.run.whole):
        raise UnknownNameError(_more(row, [EACH if isinstance(row.run, Method) else KEPT]))
    if "weights" in given:
        raise ParameterError(f"{row.id}: weights: the average that you pass is weighted already; leave the option out")
    options, hyper = _said(row, "server", reading, given)
    run: Any = alone or row.run
    made = Server(row, run, options, hyper)
    if read := beside_the_average(made):
        raise UnknownNameError(_more(row, read))
    return made


EACH = "every change by itself"
KEPT = "what comes of what each client keeps from round to round"


def _more(row: Algorithm, read: Sequence[str]) -> str:
    """Reason why a server can't be an optimiser, and the levels at which it is one."""
    elsewhere = "" if refusal(row) else f"; fedspec_use.flower.FedspecStrategy({row.id!r}) has it"
    return (
        f"{row.id}: its server reads more than the average change, so a gradient that stands for that is not enough: "
        f"it reads {' and '.join(read)}{elsewhere}; fedspec_torch.simulate({row.id!r}) trains with it"
    )


def _alone(row: Algorithm) -> Alone | None:
    """Stand-alone server of a program, if it reads only changes and doesn't count clients."""
    served = row.served
    if not served or served.controls or row.has(Fact.COUNTS_ALL) or isinstance(row.run, LocalSolver):
        return None
    return Alone(row.run.hyper, lambda h, x: served.init(h, x, 1), served.server)


def beside_the_average(server: Server) -> list[str]:
    """List the inputs that a server reads besides the average change, as text; empty if none.

    Seen in steps of it. The average is exact in binary, so that a rule that asks for signs, as Yogi's, is asked the
    same both times.
    """
    x, h, unlike = np.array([1.0, -2.0, 0.5]), server.record(server.hyper), (1, 3, 2, 5)
    changes = np.array([[1.0, 0.25, -3.0], [0.5, -2.0, 1.0], [-4.0, 0.5, 1.25], [0.5, 0.25, 2.75]])
    mean = changes.mean(0)

    def moves(changes: Any, steps: Sequence[int] = (1,) * 4, norms: Sequence[float] = (1.0,) * 4) -> bool:
        sent = [Message(*one) for one in zip(changes, (1.0,) * 4, steps, norms, strict=False)]
        each, one = (
            model(server.run.server(h, server.run.init(h, x), some)[0]) for some in (sent, [Message(mean, 1.0, 1, 1.0)])
        )
        return not np.allclose(each, one, rtol=1e-9, atol=1e-9, equal_nan=True)

    alike = [mean] * 4
    found = {
        "how many changes there are": moves(alike),
        EACH: moves(changes),
        "every client's number of local steps": moves(alike, steps=unlike),
        "||a_i||_1 of every client's solver": moves(alike, norms=unlike),
    }
    words = [name for name, does in found.items() if does]
    # Whatever is read of steps and norms together alone has no name here.
    return words or ["changes, steps and solvers together"] * moves(changes, unlike, unlike)


def is_elementwise(rule: Local | Server) -> bool:
    """True if a step of each number depends on this number alone, so that ranks can step shards of the model.

    Found by steps of a model whole and in three parts, with gradients of unlike sizes: a clip may let small ones pass.
    """
    if isinstance(rule, Local) and {"cover", "layers", "shapes"} & rule.reads:
        return False
    x, parts = np.array([1.0, -2.0, 0.5, 3.0, -0.25, 4.0]), (slice(0, 1), slice(1, 4), slice(4, 6))
    signs = [[1.0, 0.25, -3.0, 0.5, 2.0, -1.0], [0.5, -2.0, 1.0, 0.25, -0.5, 0.75], [-4.0, 0.5, 1.25, 2.0, -1.5, 0.5]]
    steps = np.array(signs) * [[1e-3], [1.0], [1e3]]
    with np.errstate(all="ignore"):
        whole, apart = rule.after(x, steps), [rule.after(x[part], steps[:, part]) for part in parts]
    return np.allclose(whole, np.concatenate(apart), rtol=1e-12, atol=0.0, equal_nan=True)


def _said(
    row: Algorithm, level: Level, reading: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, float]]:
    """Options and hyper-parameters, each of which is named once and lies in its domain."""
    chosen = {n: str(v) for n, v in given.items() if n in row.options}
    resolved = row.resolve(reading or row.readings_at(level)[0].name, chosen)
    options = {n: choice(row.options[n], n, v) for n, v in resolved.items()}
    known = row.numbers_under(level, resolved)
    if unknown := [n for n in given if n not in row.options and n not in known]:
        raise UnknownNameError(
            f"{row.id}: no hyper-parameter or option {unknown[0]!r} here; "
            f"known: {', '.join([*known, *row.options]) or 'none'}"
        )
    hyper = {n: given.get(n, LEFT_OUT.get(n)) for n in known}
    if missing := [n for n, v in hyper.items() if v is None]:
        raise ParameterError(f"{row.id}: hyper-parameter {missing[0]} is missing; {row.id} needs {', '.join(known)}")
    for name, value in hyper.items():
        require(name, value)
    return options, {n: v for n, v in hyper.items() if v is not None}
