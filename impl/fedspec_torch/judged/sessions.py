"""Sessions of the judge's cases, computed by the rules of fedspec_torch.

The environment variable ``FEDSPEC_DEVICE`` says where: ``cpu`` (the default), ``cuda``, ``cuda:1``.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec import contract
from fedspec.arith import Array
from fedspec.catalogue import Algorithm, LocalSolver, Method, Program, Served
from fedspec.contract import Begin, Blocks, Case, Event, Gradient, Round
from fedspec.covers import named_cover
from fedspec.domains import require
from fedspec.errors import ContractError, UnknownNameError
from fedspec.params import flatten, layers, shapes, unflatten
from fedspec.plan import Arrival, Exchange, Message, Plan, Setup
from fedspec.readings import CoverName, choice
from fedspec.reference import Kept, check_messages, held, numbers_of, of_server, population, rate_of_step
from fedspec.returned import keeping
from fedspec_torch.arith import Vector, device_named
from fedspec_torch.problems import QuadraticClients
from fedspec_torch.run.rounds import run_round, run_step

DEVICE = "FEDSPEC_DEVICE"


def device() -> torch.device:
    """Return the device that the environment variable ``FEDSPEC_DEVICE`` names.

    Raises:
        ContractError: torch doesn't know the device's name, or this machine doesn't have the device.
    """
    try:
        return device_named(os.environ.get(DEVICE, "cpu"))
    except UnknownNameError as error:
        raise ContractError(f"{DEVICE}: {error}") from error


class CaseSession(Kept):
    """Base class of sessions: the case, and conversions between its arrays and tensors."""

    def __init__(self, algorithm: Algorithm, case: Case) -> None:
        if case.dtype not in ("float32", "float64"):
            raise ContractError(f"dtype: {case.dtype}; fedspec_torch computes in float32 and float64")
        self.algorithm, self.case = algorithm, case
        self.device = device()

    def tensor(self, array: Array) -> Tensor:
        """Convert the array to a new tensor with the case's dtype on the session's device."""
        return torch.tensor(np.asarray(array, dtype=self.case.dtype), device=self.device)

    def vector(self, blocks: Blocks) -> Vector:
        """Flatten blocks into a vector, in the order of the case's x0.

        Raises:
            ContractError: the blocks' names or shapes differ from those of x0.
        """
        want = shapes(self.case.x0)
        got = shapes(blocks)
        if got != want:
            raise ContractError(f"blocks: got {got}, expected {want}; send every block of x0 under its own name")
        return self.tensor(flatten({name: blocks[name] for name in want}))

    def blocks(self, x: Vector) -> Blocks:
        """Split a vector into blocks named and shaped as the case's x0, in new memory."""
        return unflatten(x.cpu().numpy().copy(), self.case.x0)


def model_like(state: Any) -> dict[str, Tensor]:
    """Return the state's tensors with an entry for every coordinate, by name, but not SM3's mu."""
    if not is_dataclass(state):
        return {"x": state}
    values = {f.name: getattr(state, f.name) for f in fields(state)}
    return {n: v for n, v in values.items() if isinstance(v, Tensor) and v.ndim and n not in ("mu", "t")}


class SolverSession(CaseSession):
    """Session at level client: one gradient is one local step of one client, a stack with n = 1."""

    kept = ("state", "anchor", "k")

    def __init__(self, algorithm: Algorithm, solver: LocalSolver, case: Case) -> None:
        super().__init__(algorithm, case)
        self.solver = solver
        options = algorithm.options
        self.keywords: dict[str, Any] = {
            **{n: choice(kind, n, case.options[n]) for n, kind in options.items()},
            **{n: case.hyper[n] for n in algorithm.numbers if n in case.hyper},
        }
        for name in set(self.keywords) - set(options):
            require(name, self.keywords[name])
        cover = self.keywords.pop("cover", None)
        self.cover = cover and named_cover(CoverName(cover), shapes(case.x0))
        given = {"v0": self.keywords.pop("v0", None), "cover": self.cover}
        self.given = {n: v for n, v in given.items() if v is not None}
        self.names = set(inspect.signature(solver.rule).parameters)
        # What is printed has no options.
        self.keywords = {n: v for n, v in self.keywords.items() if n in self.names}
        self.begin(case.x0)

    def begin(self, x: Blocks) -> None:
        """Begin a round at the model x."""
        self.anchor, self.k = self.vector(x).unsqueeze(0), 0
        begin = self.solver.begin
        self.state = begin(self.anchor, **self.given) if begin else self.anchor

    def step(self, event: Event) -> dict[str, Any]:
        """Take one local step, or begin a round, and return the state."""
        match event:
            case Begin(x=x):
                self.begin(x)
            case Gradient(g=g, eta_l=eta_l):
                rate = {} if eta_l is None else {"eta_l": rate_of_step(self.algorithm, eta_l)}
                given = {
                    "x": self.state,
                    "state": self.state,
                    "g": self.vector(g).unsqueeze(0),
                    "anchor": self.anchor,
                    "k": self.k,
                    "cover": self.cover,
                    "layers": layers(shapes(self.case.x0)),
                    "shapes": tuple(shapes(self.case.x0).values()),
                }
                positional = {n: v for n, v in given.items() if n in self.names}
                self.state = self.solver.rule(**positional, **{**self.keywords, **rate})
                self.k += 1
            case _:
                raise ContractError(f"event: {type(event).__name__} at level client; send Gradient or Begin")
        return {n: self.blocks(v[0]) for n, v in model_like(self.state).items()}


class MethodSession(CaseSession):
    """Session at level server or round: a step is one aggregation, or one whole round."""

    def __init__(self, algorithm: Algorithm, method: Method | Served, case: Case) -> None:
        super().__init__(algorithm, case)
        self.run = method
        numbers = {n: case.hyper[n] for n in algorithm.numbers if n in case.hyper}
        record = method if isinstance(method, Method) else algorithm.run
        assert isinstance(record, Method | Program)
        # A server does not see the clients' own hyper-parameters; any value will do.
        self.h = record.hyper(**{**algorithm.unseen(case.level), **numbers, **case.options})
        x, own = self.vector(case.x0), shapes(case.x0)
        self.state = (
            method.init(self.h, x, population(case)) if isinstance(method, Served) else method.begin(self.h, x, own)
        )
        problem = case.problem
        self.problem = problem and QuadraticClients(
            self.tensor(problem.H), self.tensor(problem.e), None if problem.f is None else self.tensor(problem.f)
        )

    def step(self, event: Event) -> dict[str, Any]:
        """Run one server step or one round, and return the state and the intermediates."""
        match event:
            case contract.Messages(messages=sent):
                check_messages(self.run, sent)
                messages = [
                    Message(
                        delta=self.vector(m.delta),
                        examples=m.weight,
                        steps=m.steps,
                        a_norm=m.a_norm,
                        control=None if m.control is None else self.vector(m.control),
                        loss=m.loss,
                    )
                    for m in sent
                ]
                h = of_server(self.h, event, self.algorithm)
                self.state, values = keeping(self.run.server)(h, self.state, messages)
            case Round(participants=participants, steps=steps) if (
                self.problem and self.case.problem and isinstance(self.run, Method)
            ):
                examples = tuple(self.case.problem.examples[list(participants)].tolist())
                plan = Plan(participants, steps, examples, hyper=event.hyper)
                trace = run_round(self.run, self.h, self.state, self.problem, plan)
                self.state, values = trace.state, trace.values
            case _:
                raise ContractError(
                    f"event: {type(event).__name__} at level {self.case.level}; "
                    f"send {'Messages' if self.case.level == 'server' else 'Round'}"
                )
        answer: dict[str, Any] = {n: self.blocks(v) for n, v in model_like(self.state).items()}
        for name, value in {**numbers_of(self.state, self.algorithm.shows_at(self.case.level)), **values}.items():
            if name in ("delta", "c", "h"):
                answer[name] = self.blocks(value)
            else:
                # A hyper-parameter that is shown would be rounded to torch's default type.
                answer[name] = torch.as_tensor(value, dtype=torch.float64).tolist()
        return answer


class ProgramSession(CaseSession):
    """Session at level round or trace for algorithms with client state, gossip or asynchronous arrivals."""

    def __init__(self, algorithm: Algorithm, program: Program, case: Case) -> None:
        super().__init__(algorithm, case)
        if case.problem is None:
            raise ContractError(f"case: level {case.level} needs a problem, the clients' objectives")
        self.run, self.event, self.takes = program, program.event, program.takes
        self.examples = case.problem.examples.tolist()
        numbers = {n: case.hyper[n] for n in algorithm.numbers if n in case.hyper}
        self.h = self.run.hyper(**{**numbers, **case.options})
        self.clients = QuadraticClients(self.tensor(case.problem.H), self.tensor(case.problem.e))
        self.state = self.run.init(self.h, self.vector(case.x0), Setup(tuple(self.examples), shapes(case.x0)))

    def step(self, event: Event) -> dict[str, Any]:
        """Run one round, exchange or arrival, and return the state and the intermediates."""
        plan: Any
        match self.event, event:
            case "round", Round(participants=participants, steps=steps):
                examples = tuple(self.examples[i] for i in participants)
                more = event.strategies, event.scales, event.noise, event.draws
                repeats = "repeats" in self.takes
                plan = Plan(participants, steps, examples, *more, repeats=repeats, hyper=event.hyper)
            case "exchange", Exchange():
                mixing: Any = self.tensor(event.mixing)
                plan = replace(event, mixing=mixing)
            case "arrival", Arrival():
                plan = event
            case kind, _:
                raise ContractError(f"event: {type(event).__name__}; this algorithm takes {kind.capitalize()}")
        plan.check_clients(range(len(self.clients)))
        self.state, values = run_step(self.run, self.h, self.state, self.clients, plan)
        answer: dict[str, Any] = {"x": self.blocks(self.state.x)}
        for name, value in {**held(self.state, self.algorithm.shows, self.event), **values}.items():
            whole = isinstance(value, Tensor) and value.shape == self.state.x.shape
            # A tensor made of a Python number would round it to float32.
            answer[name] = self.blocks(value) if whole else value.tolist() if isinstance(value, Tensor) else value
        return answer
