"""Hyper-parameters that change by round and by client: a schedule that writes them into its events."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import torch
from jaxtyping import Float

from fedspec.domains import DOMAINS, outside
from fedspec.entry import Algorithm
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.given import VARYING
from fedspec.plan import Arrival, Plan, Setup
from fedspec_torch.arith import Vector
from fedspec_torch.run.by_round import Known
from fedspec_torch.run.checkpoints import CheckpointError
from fedspec_torch.run.schedules import Event, Schedule

Rate: TypeAlias = Any
"""Function of the round number, or of round and client; or an array [rounds], or [rounds, clients]."""

SEEN = 64
"""Number of clients whose rates a saved run stores, to check that it is resumed with equal rates."""

AHEAD = 10**5
"""Number of rounds whose rates are checked before the first round; ``rounds`` may be arbitrarily large."""


@dataclass(frozen=True)
class Numbers:
    """Hyper-parameter as a function of the round, or of the round and the client."""

    name: str
    at: Callable[..., Any]
    each: bool

    def of(self, round: int, client: int = 0) -> float:
        """Return the value in that round, for that client.

        Raises:
            ParameterError: the function or array has no value for that round and client, or the value isn't a single
                number.
        """
        try:
            return float(self.at(round, client) if self.each else self.at(round))
        except (TypeError, ValueError, IndexError) as error:
            where = f"round {round}" + (f", client {client}" if self.each else "")
            raise ParameterError(f"rates: {self.name} in {where}: {error}; return one number") from error


@dataclass(frozen=True)
class Rated:
    """Schedule, and the hyper-parameters that it writes into its events."""

    plan: Schedule
    rates: tuple[Numbers, ...]

    @property
    def largest_delay(self) -> int | None:
        """Largest delay of an update, if the schedule sets one."""
        return getattr(self.plan, "largest_delay", None)

    def events(self, algorithm: Algorithm, h: Any, setup: Setup, x: Vector, round: int) -> tuple[Event, ...]:
        """Return the schedule's events with their round's values; values that the schedule itself set stay."""
        events = self.plan.events(algorithm, h, setup, x, round)
        said = [{**self.said(event, round), **event.hyper} for event in events]
        try:
            for hyper in said:
                check_held(hyper, x.dtype)
            return tuple(replace(event, hyper=hyper) for event, hyper in zip(events, said, strict=True))
        except ParameterError as error:
            raise ParameterError(f"rates: round {round}: {error}") from error

    def said(self, event: Event, round: int) -> dict[str, Any]:
        """Return the values for an event; a late client's values are the values of the round in which it began."""
        match event:
            case Plan(participants=who):
                return {n.name: tuple(n.of(round, i) for i in who) if n.each else n.of(round) for n in self.rates}
            case Arrival(client=i, delay=delay):
                begun = {True: max(0, round - delay), False: round}
                return {n.name: n.of(begun[DOMAINS[n.name].of_clients], i) for n in self.rates}
        return {n.name: n.of(round) for n in self.rates}

    def told(self, done: int, rounds: int, clients: int) -> dict[str, tuple[tuple[float, ...], ...]]:
        """Return sample values for a saved run: of the first, last finished and next round, of the first clients."""

        def row(numbers: Numbers, round: int) -> tuple[float, ...]:
            return tuple(numbers.of(round, i) for i in range(min(clients, SEEN) if numbers.each else 1))

        return {n.name: tuple(row(n, r) for r in looked(done, rounds)) for n in self.rates}


def looked(done: int, rounds: int) -> list[int]:
    """Return the rounds whose rates a saved run stores: the first, the last finished and the next."""
    return sorted({min(max(0, r), rounds - 1) for r in (0, done - 1, done)})


def rated(
    plan: Schedule,
    rates: Mapping[str, Rate] | None,
    row: Algorithm,
    given: Mapping[str, Any],
    rounds: int,
    clients: int,
) -> tuple[Schedule, dict[str, Any]]:
    """Return the schedule with rates, and the hyper-parameters, in which a varying number has its value of round 0.

    Raises:
        UnknownNameError: the algorithm has no hyper-parameter of that name.
        ParameterError: the hyper-parameter can't vary, is also given as a constant, or varies by client although the
            event has one value for all clients.
    """
    if not rates:
        return plan, dict(given)
    found = []
    for name, rate in rates.items():
        if name not in VARYING or name not in row.numbers:
            known = ", ".join(n for n in VARYING if n in row.numbers)
            raise UnknownNameError(f"rates: {name} of {row.id} can't vary from round to round; these can: {known}")
        if name in given:
            raise ParameterError(f"rates: {name} is also given as one number ({given[name]}); leave out one of the two")
        numbers = numbers_of(name, rate, rounds, clients)
        if numbers.each and (row.event == "exchange" or not DOMAINS[name].of_clients):
            why = "clients that mix have one for all" if row.event == "exchange" else "it is the server's"
            raise ParameterError(f"rates: {name} is given for each client, but {why}; give a function of the round")
        found.append(numbers)
    first = {n.name: n.of(0) for n in found}
    return Rated(plan, tuple(found)), {**given, **first}


def check_held(hyper: Mapping[str, Any], dtype: torch.dtype) -> None:
    """Raise an error if a value overflows in the model's dtype."""
    largest = torch.finfo(dtype).max
    for name, said in hyper.items():
        for number in said if isinstance(said, tuple) else (said,):
            if isinstance(number, float) and math.isfinite(number) and abs(number) > largest:
                raise ParameterError(
                    f"{name}: got {number}, but the largest number of {dtype} is {largest:.2g}; give less, or a "
                    "model in float64"
                )


def numbers_of(name: str, rate: Rate, rounds: int, clients: int) -> Numbers:
    """Make a varying hyper-parameter from its function or array.

    Raises:
        ParameterError: the value is neither a function of the round, or of round and client, nor an array of the right
            shape; or a number is outside its domain, if this can be checked before the first round.
    """
    if callable(rate):
        if isinstance(rate, Known):
            check_ahead(name, np.array([rate(r) for r in range(min(rounds, AHEAD))], dtype=float), f" by {rate}")
        return Numbers(name, rate, _takes_client(name, rate))
    try:
        table = np.asarray(rate.tolist() if hasattr(rate, "tolist") else rate, dtype=float)
    except (TypeError, ValueError) as error:
        raise ParameterError(f"rates: {name}: got {rate!r}; give a function or an array") from error
    want = {1: (rounds,), 2: (rounds, clients)}.get(table.ndim)
    if want is None or len(table) < rounds or table.shape[1:] != want[1:]:
        raise ParameterError(
            f"rates: {name}: got an array of shape {table.shape}; give one of shape [{rounds}] or [{rounds}, "
            f"{clients}]: a number for each round, or for each round and client"
        )
    check_ahead(name, table[:rounds])
    return Numbers(name, lambda *at: table[at], table.ndim == 2)


def check_ahead(name: str, table: Float[np.ndarray, "rounds ..."], by: str = "") -> None:
    """Raise an error, before the run, if a rate is outside the hyper-parameter's domain in some round.

    Args:
        name: the name of the hyper-parameter.
        table: the hyper-parameter's numbers by round, or by round and client.
        by: description of the numbers' origin, for the message.

    Raises:
        ParameterError: a number is outside the domain; the message has the first such round and the number.
    """
    domain, meaning, _ = DOMAINS[name]
    # A domain is an interval, and of numbers of which one is NaN that is the least.
    if not any(outside(float(end), domain) for end in (table.min(), table.max())):
        return
    at, number = next((at, float(v)) for at, v in np.ndenumerate(table) if outside(float(v), domain))
    where = f"round {at[0]}" + "".join(f", client {i}" for i in at[1:])
    raise ParameterError(
        f"rates: {name} in {where} is {number}{by}; {name} is the {meaning} and must be {domain.words}; change the "
        "rates (a cosine has least=...), or ask for fewer rounds"
    )


def _takes_client(name: str, rate: Callable[..., Any]) -> bool:
    """True if a function takes the client's number beside the round's."""
    try:
        told = inspect.signature(rate)
    except (TypeError, ValueError):
        return False
    for each, at in ((False, (0,)), (True, (0, 0))):
        try:
            told.bind(*at)
        except TypeError:
            continue
        return each
    raise ParameterError(f"rates: {name}{told}: give a function of the round, or of the round and the client")


def check_same(file: object, found: Mapping[str, Any] | None, plan: Schedule, done: int, rounds: int, n: int) -> None:
    """Raise an error if a run is resumed with rates other than it was saved with.

    Raises:
        CheckpointError: the rates differ; the message names the difference.
    """
    here = plan.told(done, rounds, n) if isinstance(plan, Rated) else {}
    there = found or {}
    for name in {**there, **here}:
        if there.get(name) != here.get(name):
            was = "by round" if name in there else "one number"
            now = ("others" if name in there else "by round") if name in here else "none"
            both = zip(looked(done, rounds), there.get(name, ()), here.get(name, ()), strict=False)
            each = ((r, i, *pair) for r, a, b in both for i, pair in enumerate(zip(a, b, strict=False)))
            for r, i, one, other in (found for found in each if found[2] != found[3]):
                where = f"round {r}" + (f", client {i}" if len(there[name][0]) > 1 else "")
                was, now = f"{one:.6g} in {where}", f"{other:.6g}"
                break
            raise CheckpointError(
                f"{file}: written by a run whose {name} was {was}, but rates now gives {now}; resume with the same "
                "rates"
            )
