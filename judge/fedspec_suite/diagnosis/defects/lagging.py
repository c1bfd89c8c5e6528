"""Defects of the server's inputs: taken from the event before, or a count of only the clients seen so far."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.contract import Event, Messages, Round
from fedspec.rules import equations
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, calling
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


def _kept_by(function: FunctionType) -> str:
    """Vector beside the model that a rule of the server updates from its old value; empty if the rule updates none."""
    if not function.__module__.startswith(("fedspec.mixing.", "fedspec.server.")):
        return ""
    plain = inspect.unwrap(function)
    hints = typing.get_type_hints(plain)
    first = next(iter(inspect.signature(plain).parameters), "x")
    made = [e.id.rpartition(".")[2] for e in equations(plain)]
    return first if first in made and first != "x" and hints.get(first) == hints.get("return") == Vector else ""


def _lagging(function: FunctionType, inner: Running, s: Scenario) -> Running:
    """The rule gets its inputs an event late, and zeros at first."""
    told: list[tuple[tuple[Any, ...], dict[str, Any]]] = []

    def take(inner: Running, event: Event, k: int) -> Any:
        calls = [0]

        def rule(there: Callable[..., Any], kept: Any, *given: Any, **named: Any) -> Any:
            calls[0] += 1
            if calls[0] > 1:
                raise ValueError(f"{function.__name__} runs several times in an event: none is the one before")
            told.append((given, named))
            before = told[-2] if len(told) > 1 else (tuple(_nothing(a) for a in given), named)
            return there(kept, *before[0], **before[1])

        with inner.spec.behind({function: calling(rule)}):
            return inner.step(event)

    return Stepping(inner, take)


def _nothing(value: Any) -> Any:
    return value * 0 if isinstance(value, np.ndarray) else value


def _seen(counting: Sequence[FunctionType], inner: Running, s: Scenario) -> Running:
    """The number of all clients leaves out the clients that never took part."""
    there: dict[int, None] = {}
    shares = getattr(inner.state, "p", None)
    everybody = s.case.population or (len(s.case.problem.examples) if s.case.problem else 0)

    def counted(rule: Callable[..., Any], *given: Any, **named: Any) -> Any:
        if named.get("clients") == everybody:
            named["clients"] = len(there)
        return rule(*given, **named)

    def take(inner: Running, event: Event, k: int) -> Any:
        there.update(dict.fromkeys(clients_of(event)))
        if shares is not None:
            inner.state = replace(inner.state, p=shares / sum(shares[i] for i in there))
        if hasattr(inner.state, "clients"):
            inner.state = replace(inner.state, clients=len(there))
        with inner.spec.behind(dict.fromkeys(counting, calling(counted))):
            return inner.step(event)

    return Stepping(inner, take)


def clients_of(event: Event) -> tuple[int, ...]:
    """Return the numbers of the clients whose messages a server gets in a round."""
    match event:
        case Round(participants=who):
            return who
        case Messages(messages=sent):
            return tuple(m.client for m in sent)
    return ()


def steps_of_event(event: Event) -> list[Any]:
    """Return the numbers of local steps of the clients in an event; one where it tells none."""
    told = [m.steps for m in event.messages] if isinstance(event, Messages) else getattr(event, "steps", 1)
    return [*told] if isinstance(told, list | tuple) else [told]


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of the inputs of the server's rules."""
    if setting.level not in {"server", "round"}:
        return
    found = functions(setting.algorithm, setting.level)
    for f in found:
        if name := _kept_by(f):
            words = f"{name} takes what came in the round before"
            yield Defect(words=words, tail=name, session=partial(_lagging, f))
    if not setting.everyone and "everyone" not in setting.takes:
        counting = [f for f in found if "clients" in inspect.signature(inspect.unwrap(f)).parameters]
        yield Defect(
            words="the number of all clients is that of those seen so far",
            tail="c",
            session=partial(_seen, [f for f in counting if f.__module__.startswith("fedspec.mixing.")]),
        )
