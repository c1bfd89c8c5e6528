"""Defects of the claimed parts of a model: a block averaged, trained, shared, left alone or untied by mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.arith import Array, Vector
from fedspec.catalogue import Method
from fedspec.contract import Event, Gradient
from fedspec.parts import ties
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping
from fedspec_suite.diagnosis.defects.gradients import left_alone
from fedspec_suite.measure.scenario import Scenario, with_parts
from fedspec_suite.measure.setting import Setting

OTHER = {
    "local": "is each client's own",
    "kept": "starts again from the server's in every round",
    "frozen": "stays as it is",
    "": "is averaged",
}
"""What becomes of a block at level round that has another word than the claimed one, or none."""


class _One(dict[int, Vector]):
    """Copies of a local block, of which there is one for all clients: that of the client that has trained last."""

    def get(self, i: int, default: Any = None) -> Any:
        return super().get(0, default)

    def __setitem__(self, i: int, block: Vector) -> None:
        super().__setitem__(0, block)


def _one_copy(inner: Running, s: Scenario) -> Running:
    inner.copies = _One()
    return inner


def _regraded(
    parts: Mapping[str, str], change: Callable[[Mapping[str, Array], Scenario], Mapping[str, Array]]
) -> Callable[[Scenario], Scenario]:
    """Other words of blocks, and gradients that ``change`` makes of those of the case."""

    def given(s: Scenario) -> Scenario:
        events = (replace(e, g=change(e.g, s)) if isinstance(e, Gradient) else e for e in s.events)
        return replace(with_parts(s, parts), events=tuple(events))

    return given


def _twice(block: str) -> Callable[[Running, Scenario], Running]:
    """A session that takes each gradient again for one block alone."""

    def session(inner: Running, s: Scenario) -> Running:
        others = np.concatenate([np.full(a.size, name != block) for name, a in s.case.x0.items()])
        again = left_alone(lambda g, s: others)(inner, s)

        def take(inner: Running, event: Event, k: int) -> Any:
            answer = inner.step(event)
            return again.step(event) if isinstance(event, Gradient) else answer

        return Stepping(inner, take)

    return session


def _without(block: str, g: Mapping[str, Array], s: Scenario) -> Mapping[str, Array]:
    return {**g, block: 0 * g[block]}


def _of_client(name: str, other: str, parts: Mapping[str, str], rest: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    """Words and changes for a frozen block, or one tied to the block ``other``, at level client."""
    if not other:
        yield (
            "is decayed or moves by momentum",
            _regraded(rest, lambda g, s: {**g, name: 0 * s.case.x0[name]}),
        )
        return
    yield "is stepped by its own gradient", _regraded(rest, lambda g, s: g)
    for one, idle in ((name, other), (other, name)):
        yield f"has the gradient of its use as {one} alone", _regraded(parts, partial(_without, idle))
    yield "has the mean of its gradients", _regraded(parts, lambda g, s: {**g, name: g[name] / 2, other: g[other] / 2})
    both = _regraded(rest, lambda g, s: {**g, name: g[name] + g[other], other: g[name] + g[other]})
    yield f"counts in norms beside {other}", both
    yield "stays as it is", _regraded({**rest, name: "frozen"}, lambda g, s: g)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield the defects of each claimed part, which have the other parts as they are claimed."""
    parts, tied, level = setting.parts, ties(setting.parts), setting.level
    for name, said in parts.items():
        rest, other = {n: word for n, word in parts.items() if n != name}, tied.get(name, "")
        claimed = f", but it is claimed as {f'tied to {other}' if other else said}"
        if level == "client":
            for words, given in _of_client(name, other, parts, rest):
                yield Defect(words=f"block {name} {words}{claimed}", given=given)
        if level == "client" and other:
            yield Defect(words=f"block {name} is stepped twice, once per use{claimed}", session=_twice(other))
        for word, does in OTHER.items() if level == "round" else ():
            if word != said and (isinstance(setting.algorithm.run, Method) or word in ("", "frozen")):
                words = f"block {name} {does if word or not other else 'is a parameter of its own'}{claimed}"
                changed = {**rest, name: word} if word else rest
                yield Defect(words=words, given=lambda s, changed=changed: with_parts(s, changed))  # type: ignore[misc]
        if level == "round" and said == "local":
            words = f"block {name} is that of the client that trained before{claimed}"
            yield Defect(words=words, session=_one_copy)
        if level == "server" and (other or said == "kept"):
            changed = {**rest, name: "frozen"} if other else rest
            words = f"block {name} {OTHER['frozen' if other else '']}{claimed}"
            yield Defect(words=words, given=lambda s, changed=changed: with_parts(s, changed))  # type: ignore[misc]
