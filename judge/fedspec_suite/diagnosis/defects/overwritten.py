"""What clients keep, written while others of the round still read it: rows of a stack, one client after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import count
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import population
from fedspec.arith import put
from fedspec.contract import Event, Round
from fedspec_suite.diagnosis.defects.defect import Defect, OfClient, Running, around_clients, stepping
from fedspec_suite.measure.setting import Setting


def _instead(inner: Running, of_client: OfClient) -> Any:
    """Clients that do something else for as long as an event lasts."""
    return inner.spec.behind({cast(FunctionType, population.each): around_clients(of_client)})


def _in_turn(name: str) -> Callable[[Running, Event, int], Any]:
    """The round is run once for each participant, with the rows of those before it as they came out; then as a whole.

    The server makes its step of what the clients sent, from what was kept before the round. What is shown with a row
    for each client, and is not kept, is what each of them met.
    """

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Round) or len(event.participants) < 2:
            return inner.step(event)
        before, sent = inner.state, []
        rows = getattr(before, name)
        met: dict[str, Any] = {}
        for j, i in enumerate(event.participants):
            out: list[Any] = []
            inner.state = replace(before, **{name: rows})
            with _instead(inner, lambda client, *_, out=out: _noting(client, out)):
                shown = inner.step(event)
            for n, value in shown.items():
                if not hasattr(before, n) and np.shape(value) == np.shape(rows):
                    met[n] = put(met.get(n, value), [i], value[[i]])
            sent.append(out[j])
            rows = put(rows, [i], getattr(inner.state, name)[[i]])
        inner.state, turn = before, count()
        with _instead(inner, lambda *_: lambda *given, **named: sent[next(turn)]):
            return {**inner.step(event), **met}

    return take


def _noting(client: Callable[..., Any], out: list[Any]) -> Callable[..., Any]:
    def one(*given: Any, **named: Any) -> Any:
        out.append(client(*given, **named))
        return out[-1]

    return one


def of(setting: Setting, names: tuple[str, ...]) -> Iterator[Defect]:
    """The defects of the fields of the state that have a row for each client."""
    if setting.level != "round":
        return
    for n in names:
        words = f"{n} of a client is written when it is done, and those behind it in the round see the new one"
        yield replace(stepping(words, _in_turn(n)), tail=n)
