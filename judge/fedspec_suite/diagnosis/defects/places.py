"""Clients taken for one another: their place among the participants for their number, sizes of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import wraps
from types import FunctionType
from typing import Any, cast

from fedspec import arith, population
from fedspec.contract import Event, Round
from fedspec_suite.diagnosis.defects.clients import of_problem
from fedspec_suite.diagnosis.defects.defect import Defect, Running, behind, stepping
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions, names


def _renumbered(inner: Running, event: Event, k: int) -> Any:
    """The participants are the first clients, for what is kept; gradients and sizes are their own."""
    if not isinstance(event, Round):
        return inner.step(event)
    S, clients, examples = event.participants, inner.clients, inner.examples
    order = [*S, *(i for i in range(len(clients)) if i not in S)]
    inner.clients, inner.examples = [clients[i] for i in order], examples[order]
    try:
        return inner.step(replace(event, participants=tuple(range(len(S)))))
    finally:
        inner.clients, inner.examples = clients, examples


_DATA: Mapping[str, Callable[[int, Sequence[int]], int]] = {
    "participants train on the data of the first clients: their place is taken for their number": lambda k, S: k,
    "participants train on the data of the round's first one": lambda k, S: S[0],
    "participants train on the data of the round's last one": lambda k, S: S[-1],
    "participants train on the data of the one before them in the round": lambda k, S: S[k - 1],
}
"""Which client's objective a participant minimises, by its place in the round."""


def _data_of(other: Callable[[int, Sequence[int]], int]) -> Callable[[Running, Event, int], Any]:
    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Round):
            return inner.step(event)
        S = event.participants
        of = list(range(len(inner.problem.e if hasattr(inner, "problem") else inner.clients)))
        for place, i in enumerate(S):
            of[i] = other(place, S)
        kept = {n: getattr(inner, n) for n in ("problem", "clients") if hasattr(inner, n)}
        for n, v in kept.items():
            setattr(inner, n, [v[i] for i in of] if n == "clients" else replace(v, H=v.H[of], e=v.e[of]))
        answer = inner.step(event)
        for n, v in kept.items():
            setattr(inner, n, v)
        return answer

    return take


def _by_place(there: Callable[..., Any]) -> Callable[..., Any]:
    """What a client has kept is looked up by its place; its gradients are its own."""

    @wraps(there)
    def each(client: Callable[..., Any], clients: Any, plan: Any, x: Any) -> Any:
        places = iter(range(len(plan.participants)))

        @wraps(client)
        def one(i: int, *given: Any, **named: Any) -> Any:
            return client(next(places), *given, **named)

        return there(one, clients, plan, x)

    return each


def _in_front(there: Callable[..., Any]) -> Callable[..., Any]:
    """What clients keep is put in the first places."""

    @wraps(there)
    def put(rows: Any, S: Any, new: Any) -> Any:
        return there(rows, list(range(len(S))), new)

    return put


def _sizes(words: str, change: Callable[[Any], Any]) -> Defect:
    return of_problem(words, lambda q: replace(q, examples=change(q.examples)), tail="w")


def of(setting: Setting) -> Iterator[Defect]:
    """What makes sense where clients are drawn, and keep something or are weighed."""
    if setting.level not in {"round", "trace"}:
        return
    if any("examples" in f.__code__.co_names for f in functions(setting.algorithm, setting.level)):
        yield _sizes(
            "clients weigh as much as the client before them (n_(i-1) for n_i)", lambda n: n[[-1, *range(len(n) - 1)]]
        )
        yield _sizes("clients weigh as much as their squared sizes say (n_i^2 for n_i)", lambda n: n**2)
        yield _sizes("every client counts one example more than it has", lambda n: n + 1)
    if setting.level == "round":
        for words, other in _DATA.items():
            yield stepping(words, _data_of(other))
    called = {n for f in functions(setting.algorithm, setting.level) for n in names(f)}
    if setting.level == "round" and {"each", "put"} <= called and "everyone" not in setting.takes:
        each, put = (cast(FunctionType, f) for f in (population.each, arith.put))
        kept = "what clients keep is"
        place = "by their place among the participants, not by their number"
        yield stepping(f"{kept} looked up and stored {place}", _renumbered)
        yield Defect(words=f"{kept} looked up {place}", session=behind({each: _by_place}))
        yield Defect(words=f"{kept} stored {place}", session=behind({put: _in_front}))
