"""Adapter of the specification (``spec`` in commands), which is also the shortest worked example of an adapter.

The reference runs a case in the arithmetic of the case's arrays.
"""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal

import numpy as np

from fedspec.algorithms.synchronous import model, run_round, together
from fedspec.arith import Array, Scalar, Vector
from fedspec.averaging import Sent, delivered, delivery
from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver, Method, Program, Served, find
from fedspec.chain import Micro, chain, processed, through
from fedspec.contract import (
    Arrival,
    Begin,
    Blocks,
    Case,
    ClientMessage,
    Event,
    Exchange,
    Gradient,
    Level,
    Messages,
    Offer,
    Round,
    Session,
    SubjectInfo,
)
from fedspec.covers import named_cover
from fedspec.domains import check_steps, is_real, require, resting
from fedspec.errors import ContractError, PlanError
from fedspec.given import anew
from fedspec.local_blocks import OwnBlocks
from fedspec.params import flatten, layers, shapes
from fedspec.parts import PartsSession, shared
from fedspec.plan import Inbox, Message, Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import CoverName, Weighting, choice
from fedspec.returned import check_state, keeping
from fedspec.schedules import Clock, Schedule, factors, schedule_of, timed
from fedspec.steps import after, around, before, norm_of, steps_of
from fedspec.varying import of_round, stepped


class Kept:
    """Base class of sessions that can be saved: ``save`` pickles the attributes that ``kept`` lists."""

    kept: tuple[str, ...] = ("state",)

    def save(self) -> bytes:
        """Return the session's state as bytes."""
        return pickle.dumps({name: getattr(self, name) for name in self.kept})

    def restore(self, saved: bytes) -> None:
        """Restore the state from bytes that ``save`` returned."""
        vars(self).update(pickle.loads(saved))


class Timed(Kept):
    """Base class of sessions that compute the rates of the case's schedules."""

    kept: tuple[str, ...] = ("state", "clock")
    case: Case
    clock: Clock
    schedules: Mapping[str, Schedule]

    def step(self, event: Event) -> dict[str, Any]:
        """Process one event with the rates of the case's schedules, which may be 0, and advance the clock."""
        if self.schedules:
            event = self.timed(event)
        with resting():
            return self.take(event)

    def timed(self, event: Event) -> Event:
        """Return the event with the rates of the case's schedules, and advance the clock."""
        event, self.clock = timed(event, self.clock, self.case.hyper, factors(self.schedules))
        return event

    def take(self, event: Event) -> dict[str, Any]:
        """Process one event and return the state and intermediates by name."""
        raise NotImplementedError


class SolverSession(Timed):
    """Session at level client: each gradient is one local step."""

    kept = ("state", "clock", "anchor", "k", "slow")

    def __init__(self, algorithm: Algorithm, case: Case) -> None:
        self.case, self.algorithm = case, algorithm
        self.layers, self.shapes = layers(shapes(case.x0)), tuple(shapes(case.x0).values())
        self.schedules, self.links = scheduled(case), chain(case.gradients)
        self.steps = steps_of(case.steps)
        self.restart()

    def restart(self) -> None:
        """Reset the session to its start, with the functions of the row."""
        algorithm, case, self.clock = self.algorithm, self.case, Clock()
        run = algorithm.run
        assert isinstance(run, LocalSolver)
        # A diagnosis gives the session another form of the row, which may have other options.
        given: dict[str, Any] = {
            **{n: choice(kind, n, case.options[n]) for n, kind in algorithm.options.items()},
            **{n: case.hyper[n] for n in algorithm.numbers if n in case.hyper},
        }
        self.solver, self.names = run, parameter_names(run.rule)
        self.begun = parameter_names(run.begin) if run.begin else frozenset()
        self.keywords = {n: v for n, v in given.items() if n in self.names and n not in ("cover", "v0")}
        self.v0, self.cover = given.get("v0"), None
        if "cover" in self.names | self.begun:
            self.cover = named_cover(given.get("cover", CoverName.ONE), shapes(case.x0))
        self.begin(flatten(case.x0))

    def begin(self, x: Vector) -> None:
        """Begin a round at the model x."""
        self.anchor, self.slow, self.k = x, x, 0
        given = {"v0": self.v0, "cover": self.cover}
        begin = self.solver.begin
        self.state = begin(x, **{n: v for n, v in given.items() if n in self.begun}) if begin else x

    def take(self, event: Event) -> dict[str, Any]:
        """Process one event and return the state by name."""
        match event:
            case Begin(x=x):
                self.begin(flatten(ordered(x, self.case)))
            case Gradient(g=g, eta_l=eta_l, tokens=tokens):
                rate = {} if eta_l is None else {"eta_l": rate_of_step(self.algorithm, eta_l)}
                at: Any = rate.get("eta_l", self.keywords.get("eta_l"))
                begun = with_model(self.state, before(self.steps, model(self.state), at))
                given = {
                    "x": begun,
                    "state": begun,
                    "g": through(self.links, batches(ordered(g, self.case), tokens), model(self.state), self.layers),
                    "anchor": self.anchor,
                    "k": self.k,
                    "cover": self.cover,
                    "layers": self.layers,
                    "shapes": self.shapes,
                }
                positional = {n: v for n, v in given.items() if n in self.names}
                moved = self.solver.rule(**positional, **{**self.keywords, **rate})
                check_state(moved, self.solver.rule)
                self.k += 1
                ended, self.slow = after(self.steps, model(moved), self.slow, self.k, at)
                self.state = with_model(moved, ended)
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        return {**shown(self.state), **numbers_of(self.state, self.algorithm.shows)}


class MethodSession(Timed):
    """Session at levels server and round: each event is one server step or one round.

    A row whose clients and server cannot be separated (``Program``) has only its server here.

    If a round has local blocks, the state lacks them; ``local_blocks`` holds the blocks of clients that have trained.
    """

    kept = ("state", "clock", "local_blocks")

    def __init__(self, algorithm: Algorithm, case: Case) -> None:
        assert not isinstance(algorithm.run, LocalSolver)
        self.case, self.algorithm = case, algorithm
        numbers = {n: case.hyper[n] for n in algorithm.numbers if n in case.hyper}
        options = {n: choice(kind, n, case.options[n]) for n, kind in algorithm.options.items()}
        # A server does not see the client's own hyper-parameters; any value will do.
        self.h = algorithm.run.hyper(**{**algorithm.unseen(case.level), **numbers}, **options)
        self.problem = case.problem and QuadraticClients(case.problem.H, case.problem.e, case.problem.f)
        self.schedules, self.deliveries = scheduled(case), delivery(case.messages)
        self.steps = steps_of(case.steps)
        self.restart()

    def restart(self) -> None:
        """Reset the session to its start, with the functions of the row."""
        case, self.clock, self.local_blocks = self.case, Clock(), dict[int, Vector]()
        self.clients = own_clients(self.problem, case) if self.problem else ()
        of_blocks, x = shapes(shared(case)), flatten(shared(case))
        self.blocks = layers(of_blocks)
        alone = self.algorithm.served if case.level == "server" else None
        run = alone or self.algorithm.run
        assert isinstance(run, Method | Served)
        self.run = run
        begun = run.begin(self.h, x, of_blocks) if isinstance(run, Method) else run.init(self.h, x, population(case))
        self.state = check_state(begun, run.init)

    def take(self, event: Event) -> dict[str, Any]:
        """Process one event and return the state and intermediates by name."""
        match event:
            case Messages(messages=messages):
                check_messages(self.run, messages)
                sent = [
                    Message(
                        delta=flatten(ordered(m.delta, self.case)),
                        examples=m.weight,
                        steps=m.steps,
                        a_norm=m.a_norm,
                        control=None if m.control is None else flatten(ordered(m.control, self.case)),
                        loss=m.loss,
                    )
                    for m in messages
                ]
                h = of_server(self.h, event, self.algorithm)
                draws = tuple(m.draws for m in messages)
                after, values = served(self, h, self.state, sent, event.noise, draws)
                self.state = after
            case Round(participants=participants, steps=steps) if (
                self.problem and self.case.problem and isinstance(self.run, Method)
            ):
                examples = tuple(self.case.problem.examples[list(participants)])
                apart = OwnBlocks(self.clients, self.case, self.local_blocks) if self.case.parts else None
                local, norm = self.run.local, self.run.norm
                if self.case.steps:
                    local = around(self.steps, local)
                    norm = norm_of(local, model(self.state)) if norm in self.run.steps else norm
                trace = run_round(
                    self.h,
                    self.state,
                    apart or self.clients,
                    Plan(participants, steps, examples, hyper=event.hyper),
                    local=local,
                    norm=norm,
                    server=partial(served, self, noise=event.noise, draws=event.draws),
                )
                self.state = trace.state
                self.local_blocks = apart.after if apart else self.local_blocks
                values = trace.values
            case _:
                raise ContractError(
                    f"event: {type(event).__name__} at level {self.case.level}; "
                    f"send {'Messages' if self.case.level == 'server' else 'Round'}"
                )
        numbers = numbers_of(self.state, self.algorithm.shows_at(self.case.level))
        return {**shown(self.state), **numbers, **values}


class ProgramSession(Timed):
    """Session at levels round and trace, for algorithms whose clients and server can't run separately."""

    def __init__(self, algorithm: Algorithm, case: Case) -> None:
        assert isinstance(algorithm.run, Program)
        if case.problem is None:
            raise ContractError(f"case: level {case.level} needs a problem, the clients' objectives")
        self.case, self.algorithm, self.examples = case, algorithm, case.problem.examples
        numbers = {n: case.hyper[n] for n in algorithm.numbers if n in case.hyper}
        options = {n: choice(kind, n, case.options[n]) for n, kind in algorithm.options.items()}
        self.h = algorithm.run.hyper(**numbers, **options)
        self.problem = QuadraticClients(case.problem.H, case.problem.e)
        self.schedules = scheduled(case)
        self.restart()

    def restart(self) -> None:
        """Reset the session to its start, with the functions of the row."""
        case, self.clock = self.case, Clock()
        self.clients = own_clients(self.problem, case)
        run = self.algorithm.run
        assert isinstance(run, Program)
        self.run = run
        begun = run.init(self.h, flatten(case.x0), Setup(tuple(self.examples), shapes(case.x0)))
        self.state = check_state(begun, run.init)

    def take(self, event: Event) -> dict[str, Any]:
        """Process one event and return the model and intermediates by name."""
        plan: Plan | Exchange | Arrival
        match self.run.event, event:
            case "round", Round(participants=participants, steps=steps):
                examples = tuple(self.examples[list(participants)])
                for name in ("strategies", "scales", "noise", "draws"):
                    if getattr(event, name) and name not in self.run.takes:
                        raise PlanError(f"{name}: this algorithm reads none; leave them out of the round")
                more = event.strategies, event.scales, event.noise, event.draws
                repeats = "repeats" in self.run.takes
                plan = Plan(participants, steps, examples, *more, repeats=repeats, hyper=event.hyper)
            case "exchange", Exchange() as plan:
                pass
            case "arrival", Arrival() as plan:
                pass
            case kind, _:
                raise ContractError(f"event: {type(event).__name__}; this algorithm takes {kind.capitalize()}")
        plan.check_clients(self.clients)
        after, values = stepped(keeping(self.run.step), self.h, self.state, self.clients, plan)
        self.state = after
        return {"x": self.state.x, **held(self.state, self.algorithm.shows, self.run.event), **values}


def served(
    session: MethodSession,
    h: Any,
    state: Any,
    sent: Inbox,
    noise: Sequence[Scalar] = (),
    draws: Sequence[Sequence[Scalar]] = (),
) -> tuple[Any, Any]:
    """Take the server's step on the messages as they arrive, after the case's chain."""
    assert isinstance(session.run, Method | Served)
    weights = choice(Weighting, "weights", session.case.options.get("weights", Weighting.EXAMPLES))
    if session.deliveries:
        sent = delivered(session.deliveries, together(sent), Sent(session.blocks, weights, noise, draws))
    after, values = keeping(session.run.server)(h, state, sent)
    return after, values


def scheduled(case: Case) -> Mapping[str, Schedule]:
    """Schedules of a case by hyper-parameter."""
    return {name: schedule_of(said) for name, said in case.schedules.items()}


def own_clients(problem: QuadraticClients, case: Case) -> Sequence[Oracle]:
    """Gradient oracle of each client, wrapped in the gradient transforms that the case lists."""
    links, blocks = chain(case.gradients), layers(shapes(case.x0))
    return [processed(links, blocks, oracle) for oracle in problem.clients]


def batches(g: Blocks, tokens: Sequence[Scalar]) -> Vector | Micro:
    """Gradient of an event as a vector; with tokens, the gradient of each micro-batch."""
    if not tokens:
        return flatten(g)
    return Micro(tuple(flatten({n: a[j, ...] for n, a in g.items()}) for j in range(len(tokens))), tuple(tokens))


def with_model(state: Any, x: Vector) -> Any:
    """Replace the model in a local solver's state, unless it is the same."""
    if x is model(state) or not is_dataclass(state) or isinstance(state, type):
        return state if x is model(state) else x
    return replace(state, x=x)


def parameter_names(function: Callable[..., Any]) -> frozenset[str]:
    """Parameter names of a function, read from its code object, since a diagnosis starts thousands of sessions."""
    code = inspect.unwrap(function).__code__
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def of_server(h: Any, event: Messages, algorithm: Algorithm) -> Any:
    """Record of hyper-parameters for a server step, with the numbers that the event overrides.

    Raises:
        PlanError: a hyper-parameter has one value for each client, or can't vary.
        ContractError: the algorithm's server doesn't read the hyper-parameter.
    """
    said, known = anew(event.hyper), algorithm.numbers_at("server")
    if unread := [name for name in said if name not in known]:
        raise ContractError(
            f"event.hyper.{unread[0]}: the server of {algorithm.id} reads only {', '.join(known)}; leave it out"
        )
    return of_round(h, said)


def rate_of_step(algorithm: Algorithm, eta_l: Scalar) -> Scalar:
    """Return the client rate that an event sets for one local step, once it is checked.

    Raises:
        ContractError: the rule has no client rate.
        ParameterError: the rate isn't positive.
    """
    if "eta_l" not in algorithm.numbers:
        raise ContractError(f"event.eta_l: {algorithm.id} has no client rate; leave it out")
    require("eta_l", eta_l)
    return eta_l


def check_messages(run: Method | Served, messages: Sequence[ClientMessage]) -> None:
    """Raise an error for invalid step counts, and for controls or losses that the server doesn't read.

    Raises:
        PlanError: a message has an invalid step count, or a control or loss that the server doesn't read.
    """
    read = isinstance(run, Served) and run.controls
    for i, m in enumerate(messages):
        check_steps(m.steps)
        if m.control is not None and not read:
            raise PlanError(f"messages[{i}].control: this algorithm reads none; leave it out")
        if m.loss is not None and not (isinstance(run, Method) and run.losses):
            raise PlanError(f"messages[{i}].loss: this algorithm reads none; leave it out")


def population(case: Case) -> int:
    """Number of all clients in a case, which the servers of some algorithms use.

    Raises:
        ContractError: the case has no number of clients, or one that isn't a whole number >= 1.
    """
    N = case.population
    if not isinstance(N, int) or isinstance(N, bool) or N < 1:
        raise ContractError(
            f"case.population: got {N!r}; the server of {case.algorithm} needs the number of all clients, at least 1"
        )
    return N


def ordered(blocks: Blocks, case: Case) -> Blocks:
    """Reorder blocks to the order of the case's x0.

    Raises:
        ContractError: the blocks' names differ from those of x0.
    """
    if set(blocks) != set(case.x0):
        raise ContractError(f"blocks: got {list(blocks)}, expected {list(case.x0)}")
    return {name: blocks[name] for name in case.x0}


def shown(state: Any) -> dict[str, Array]:
    """Vectors of a state by name; a state that is a bare model is named x."""
    if not is_dataclass(state):
        return {"x": model(state)}
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return {n: v for n, v in values.items() if isinstance(v, np.ndarray) and n != "mu"}


def numbers_of(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Fields of a state, among the given names, that are single numbers."""
    return {n: v for n, v in _fields(state, names).items() if is_real(v) or getattr(v, "ndim", 1) == 0}


def held(state: Any, names: Sequence[str], event: str) -> dict[str, Any]:
    """Fields of a program's state, among the given names, that serve as intermediates if its step doesn't return them.

    A state has rows for all clients, but an intermediate has a row for each participant: so rows count only for an
    exchange, in which every client takes part. Between late updates the state stays the same; the step returns each new
    value.
    """
    most = {"round": 1, "exchange": 2}.get(event, -1)
    return {n: v for n, v in _fields(state, names).items() if getattr(v, "ndim", 0 if is_real(v) else 3) <= most}


def _fields(state: Any, names: Sequence[str]) -> dict[str, Any]:
    there = {f.name for f in fields(state)} if is_dataclass(state) else set[str]()
    return {n: getattr(state, n) for n in names if n in there}


def offers(a: Algorithm, level: Level) -> Iterator[Offer]:
    """Yield a claim for every reading, then for the canonical reading with each free option changed, one at a time.

    A server sees the solver through ||a_i||_1 alone: it is offered for clients whose norms are not their steps, which
    momentum stands for, and once for plain SGD.
    """
    canonical = a.readings[0]
    clients = {"solver": "momentum"} if level == "server" and "solver" in a.options else {}
    shows = a.shows_at(level)
    for reading in a.readings_at(level):
        yield Offer(a.id, level, reading.name, clients, intermediates=shows)
    for name, kind in a.options.items():
        if name in canonical.fixes:
            continue
        if name in clients:
            yield Offer(a.id, level, canonical.name, {"solver": "sgd"}, intermediates=shows)
            continue
        for value in kind:
            if str(value) != a.defaults()[name]:
                yield Offer(a.id, level, canonical.name, {**clients, name: str(value)}, intermediates=shows)


VARIED: tuple[tuple[str, Level, str, dict[str, str], Literal["rounds", "clients"]], ...] = (
    ("fedavg", "server", "", {}, "rounds"),
    ("fedavg", "round", "", {}, "clients"),
    ("fednova", "round", "", {"solver": "momentum"}, "clients"),
    ("scaffold", "round", "", {}, "clients"),
    ("diloco", "server", "", {}, "rounds"),
    ("diloco", "server", "rate-inside", {}, "rounds"),
    ("slowmo", "round", "", {}, "rounds"),
    ("mifa", "round", "", {}, "rounds"),
    ("fedcm", "round", "", {}, "rounds"),
    ("mime", "round", "", {}, "clients"),
    ("fedbuff", "trace", "", {}, "rounds"),
    ("dsgd", "trace", "", {}, "rounds"),
)
"""Claims with rates that vary by round: one algorithm of each kind, since one function reads the rates for all; and
two readings that no other claim distinguishes.
"""


def offers_varied() -> Iterator[Offer]:
    """Yield the claims of ``VARIED``: some algorithms in rounds that have rates of their own."""
    for name, level, reading, options, rates in VARIED:
        a = CATALOGUE[name]
        yield Offer(a.id, level, reading or a.readings[0].name, options, intermediates=a.shows_at(level), rates=rates)


def session_of(algorithm: Algorithm, level: Level) -> type[SolverSession | MethodSession | ProgramSession]:
    """Session class for an algorithm at a level."""
    if isinstance(algorithm.run, LocalSolver):
        return SolverSession
    if isinstance(algorithm.run, Program) and (level != "server" or not algorithm.served):
        return ProgramSession
    return MethodSession


class Reference:
    """Adapter that claims every algorithm of the catalogue, under all readings."""

    def __init__(self) -> None:
        try:
            number = version("fedspec")
        except PackageNotFoundError:
            number = "source"
        self.info = SubjectInfo(
            name="fedspec",
            version=number,
            variant="spec",
            offers=(
                *(offer for a in CATALOGUE.values() for level in a.levels for offer in offers(a, level)),
                *offers_varied(),
            ),
        )

    def start(self, case: Case) -> Session:
        """Start a session for one case."""
        algorithm = find(case.algorithm)
        return PartsSession.begun(case, lambda case: session_of(algorithm, case.level)(algorithm, case))


SUBJECT = Reference()
