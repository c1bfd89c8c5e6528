"""The engine of ``simulate`` as an adapter: a case's clients become a federation, trained by the same loop.

A client's objective is the loss of a module on one example, x' H_i x / 2 - e_i' x. So the judge checks everything
between a module and an algorithm: gradients, blocks of clients, cohorts, and the division of late updates into buffers.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
from torch import Tensor, nn

from fedspec.catalogue import Algorithm, LocalSolver
from fedspec.contract import Case, Event, Offer, Round
from fedspec.errors import ContractError
from fedspec.params import shapes
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec_torch.arith import Vector
from fedspec_torch.federation.federation import Federation
from fedspec_torch.judged.sessions import CaseSession
from fedspec_torch.ranks.rows import whole
from fedspec_torch.run import schedules
from fedspec_torch.run.agreement import shard_federation
from fedspec_torch.run.divergence import DivergedError
from fedspec_torch.run.runs import Run
from fedspec_torch.run.simulation import begun, resume

ENGINES: dict[str, tuple[str, int | None, int, str | None]] = {
    "engine stacked": ("stacked", None, 1, None),
    "engine looped singly": ("looped", 1, 1, None),
    "engine in two shards": ("looped", None, 2, None),
    "engine in bf16": ("stacked", None, 1, "bf16"),
}
"""Variants of the engine: gradient method, clients in a block, shards, and precision.

The shards are on a single rank here; impl/test_mirror/test_ranks.py checks that two ranks compute the same numbers.
"""

OFFERED = ("engine stacked", "engine looped singly")
"""Variants that satisfy every law. Shards differ in the last bits: another client changes the division.

bfloat16 satisfies no law that compares numbers; docs/precision.md lists its errors.
"""


def engine_offers(a: Algorithm) -> Iterator[Offer]:
    """Yield the claims of an algorithm's canonical reading as the engine runs it; it returns only the model."""
    if not isinstance(a.run, LocalSolver):
        for level in a.levels:
            if level in ("round", "trace"):
                yield from (Offer(a.id, level, a.readings[0].name, variant=variant) for variant in OFFERED)


class Quadratic(nn.Module):
    """Module whose output is a quadratic objective; it has one parameter for each block of the case's model."""

    def __init__(self, blocks: dict[str, Tensor]) -> None:
        super().__init__()
        self.blocks = nn.ParameterList([nn.Parameter(block) for block in blocks.values()])

    def forward(self, inputs: Tensor) -> Tensor:
        """Return x' H_i x / 2 - e_i' x from inputs [b, d, d + 1], which hold H_i and, as last column, e_i."""
        x = torch.cat([block.reshape(-1) for block in self.blocks])
        H, e = inputs[..., :-1], inputs[..., -1]
        value: Tensor = (H @ x) @ x / 2 - e @ x
        return value


def the_output(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean of the module's output as the loss."""
    return output.mean()


def with_constant(output: Tensor, target: Tensor) -> Tensor:
    """Return the mean of output + target: the plain gradient, and a loss with F_i(0) equal to the target."""
    return (output + target).mean()


@dataclass
class Told:
    """Schedule that returns the events that the judge sent."""

    now: tuple[schedules.Event, ...] = ()

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[schedules.Event, ...]:
        """Return the events that were sent last."""
        return self.now


class EngineSession(CaseSession):
    """Session at level round or trace that runs the algorithm by the engine."""

    def __init__(self, algorithm: Algorithm, case: Case) -> None:
        super().__init__(algorithm, case)
        if case.problem is None or isinstance(algorithm.run, LocalSolver):
            raise ContractError(f"case: level {case.level} needs a problem, the clients' objectives")
        way, block, count, precision = ENGINES[case.variant]
        self.examples = tuple(case.problem.examples.tolist())
        H, e = self.tensor(case.problem.H), self.tensor(case.problem.e)
        each = torch.cat([H, e[:, :, None]], 2)[:, None]
        run, x = algorithm.run, self.vector(case.x0)
        parts = (
            {"x": x[: e.shape[1]]} if "peers" in algorithm.takes else {n: self.tensor(b) for n, b in case.x0.items()}
        )
        loss, data = the_output, [(inputs, e[:1, 0]) for inputs in each]
        if case.problem.f is not None:
            constants = self.tensor(case.problem.f)[:, None]
            loss, data = with_constant, list(zip(each, constants, strict=True))
        federation = Federation(Quadratic(parts), loss, data, way=way, precision=precision)
        numbers = {n: case.hyper[n] for n in algorithm.numbers if n in case.hyper}
        h = run.hyper(**{**numbers, **case.options})
        setup = Setup(self.examples, shapes(case.x0))
        shards = shard_federation(federation, count, block, case.algorithm)
        state = begun(algorithm, h, x, setup, federation, block, shards)
        self.told = Told()
        self.run = Run(algorithm, h, federation, self.told, state, rounds=10**9, block=block, shards=shards)
        self.waiting: list[Arrival] = []

    def step(self, event: Event) -> dict[str, Any]:
        """Run the event. Arrivals are held until the server's buffer is full, since the engine trains them together."""
        match event:
            case Round(participants=participants, steps=steps):
                examples = tuple(self.examples[i] for i in participants)
                more = event.strategies, event.scales, event.noise, event.draws
                repeats = "repeats" in self.algorithm.takes
                self._run(Plan(participants, steps, examples, *more, repeats=repeats, hyper=event.hyper))
            case Exchange():
                mixing: Any = self.tensor(event.mixing)
                self._run(replace(event, mixing=mixing))
            case Arrival():
                self.waiting.append(event)
                if len(self.waiting) == getattr(self.run.h, "buffer", 1):
                    arrived, self.waiting = self.waiting, []
                    self._run(*arrived)
            case _:
                raise ContractError(
                    f"event: got {type(event).__name__} at level {self.case.level}; send the events of that level"
                )
        x = self.run.state if isinstance(self.run.state, Tensor) else self.run.state.x
        return {"x": self.blocks(whole(x))}

    def save(self) -> bytes:
        """Return the run's own file, and the arrivals that wait for a full buffer."""
        with TemporaryDirectory() as folder:
            self.run.save(file := Path(folder, "run"))
            return pickle.dumps((file.read_bytes(), self.waiting))

    def restore(self, saved: bytes) -> None:
        """Resume a saved run, as ``fedspec_torch.resume`` does."""
        with TemporaryDirectory() as folder:
            content, self.waiting = pickle.loads(saved)
            (file := Path(folder, "run")).write_bytes(content)
            self.run = resume(file, self.run.federation)
        assert isinstance(self.run.plan, Told)
        self.told = self.run.plan

    def _run(self, *events: schedules.Event) -> None:
        for event in events:
            event.check_clients(range(len(self.examples)))
        self.told.now = events
        # Who trains is told that the loss is no number; who judges asks for the model that the rule gives then.
        with suppress(DivergedError):
            self.run.step()
