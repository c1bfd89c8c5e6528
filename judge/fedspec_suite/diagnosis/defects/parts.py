"""Defects of the claimed parts of a model: a block averaged, trained, shared, left alone or untied by mistake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from fedspec.algorithms.synchronous import model
from fedspec.arith import Vector, put
from fedspec.catalogue import Method
from fedspec.contract import Begin, Blocks, Event, Gradient, Round
from fedspec.params import flatten
from fedspec.parts import places, ties
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, stepping, with_gradients_of
from fedspec_suite.diagnosis.defects.gradients import left_alone
from fedspec_suite.measure.scenario import Scenario, mapped, with_parts
from fedspec_suite.measure.setting import Setting

Given: TypeAlias = Callable[[Scenario], Scenario]
Words: TypeAlias = Mapping[str, str]

OTHER = {
    "local": "is each client's own",
    "kept": "is trained, and starts again from the server's in every round",
    "frozen": "stays as it is",
    "": "is averaged",
}
"""Phrases for a block at level round that has another word than the claimed one, or none."""


class _One(dict[int, Vector]):
    """Copies of a local block, of which there is one for all clients: that of the client that has trained last."""

    def get(self, i: int, default: Any = None) -> Any:
        return super().get(0, default)

    def __setitem__(self, i: int, block: Vector) -> None:
        super().__setitem__(0, block)


class _Last(dict[int, Vector]):
    """Copies of a local block, where a client without one gets that of the client that has trained last."""

    def get(self, i: int, default: Any = None) -> Any:
        return self[i] if i in self else next(reversed(self.values()), default)

    def __setitem__(self, i: int, block: Vector) -> None:
        self.pop(i, None)
        super().__setitem__(i, block)


def _from_the_last(inner: Running, s: Scenario) -> Running:
    inner.local_blocks = _Last()
    return inner


def _one_copy(inner: Running, s: Scenario) -> Running:
    inner.local_blocks = _One()
    return inner


def _by_place(inner: Running, s: Scenario) -> Running:
    """A session that keeps local blocks by the client's place among the participants."""
    kept: dict[int, Vector] = {}

    def take(inner: Running, event: Event, k: int) -> Any:
        if not isinstance(event, Round):
            return inner.step(event)
        inner.local_blocks = {i: kept[place] for place, i in enumerate(event.participants) if place in kept}
        answer = inner.step(event)
        kept.update({place: inner.local_blocks[i] for place, i in enumerate(event.participants)})
        return answer

    return Stepping(inner, take)


def _forgotten(inner: Running, event: Event, k: int) -> Any:
    """The local blocks of the clients that sit out a round are forgotten."""
    answer = inner.step(event)
    if isinstance(event, Round):
        inner.local_blocks = {i: own for i, own in inner.local_blocks.items() if i in event.participants}
    return answer


def _unshown(block: str, inner: Running, s: Scenario) -> Running:
    """Wrap a session so that its answers have the first value of a block: the server has no copy of it."""
    at, first = places(s.case, [block]), model(inner.state)

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        return {**answer, "x": put(answer["x"], at, first[at])}

    return Stepping(inner, take)


def _twice(block: str, inner: Running, event: Event, k: int) -> Any:
    """Take each gradient again for one block alone."""
    others = np.concatenate([np.full(a.size, name != block) for name, a in inner.case.x0.items()])
    answer = inner.step(event)
    return left_alone(lambda g, case: others, inner, event, k) if isinstance(event, Gradient) else answer


def _in_block(block: str, change: Callable[[Any, Any], Any], inner: Running, s: Scenario) -> Running:
    """Change a block of each client's gradient behind the chain of gradients, so that it counts in norms as it was."""
    at = places(s.case, [block])

    def changed(gradient: Any, k: int, y: Any) -> Any:
        g = gradient(k, y)
        return put(g, at, change(g[at], y[at]))

    return with_gradients_of(inner, changed)


def _in_turn(block: str, before: bool, inner: Running, s: Scenario) -> Running:
    """Step a block before the other blocks, or after them: gradients of those behind see the new values."""
    own = places(s.case, [block])
    sooner = own if before else [j for j in range(sum(a.size for a in s.case.x0.values())) if j not in own]

    def changed(gradient: Any, k: int, y: Any) -> Any:
        g = gradient(k, y)
        later = gradient(k, put(y, sooner, y[sooner] - s.case.hyper["eta_l"] * g[sooner]))
        return put(later, sooner, g[sooner])

    return with_gradients_of(inner, changed)


def _pulled(block: str, inner: Running, s: Scenario) -> Running:
    """Pull a client's own block to the server's: its gradients get mu times the distance of the two at the start."""
    at, mu = places(s.case, [block]), s.case.hyper["mu"]
    # The server never gets the block, so that it keeps the first one.
    there = flatten(s.case.x0)[at]

    def changed(gradient: Any, begun: list[Any], k: int, y: Any) -> Any:
        if k == 0:
            begun[:] = [y[at]]
        g = gradient(k, y)
        return put(g, at, g[at] + mu * (begun[0] - there))

    inner.clients = [partial(changed, gradient, []) for gradient in inner.clients]
    return inner


def _regraded(parts: Words, change: Callable[[Blocks, Scenario], Blocks]) -> Given:
    """Replace the words of blocks, and each gradient by what ``change`` makes of it."""
    return lambda s: mapped(with_parts(s, parts), Gradient, lambda e: replace(e, g=change(e.g, s)))


def _of_client(name: str, other: str, parts: Words, rest: Words) -> Iterator[tuple[str, Given]]:
    """Yield phrases and changes of a frozen block, or of a block tied to ``other``, at level client."""
    if not other:
        yield "is decayed or moves by momentum", _regraded(rest, lambda g, s: {**g, name: 0 * s.case.x0[name]})
        return
    yield "is stepped by its own gradient", partial(with_parts, parts=rest)
    yield f"has the gradient of its use as {name} alone", _regraded(parts, lambda g, s: {**g, other: 0 * g[other]})
    yield f"has the gradient of its use as {other} alone", _regraded(parts, lambda g, s: {**g, name: 0 * g[name]})
    yield "has the mean of its gradients", _regraded(parts, lambda g, s: {**g, name: g[name] / 2, other: g[other] / 2})

    def together(g: Blocks, s: Scenario) -> Blocks:
        return {**g, **dict.fromkeys((name, other), g[name] + g[other])}

    def until_begin(s: Scenario) -> Scenario:
        first = next((k for k, e in enumerate(s.events) if isinstance(e, Begin)), len(s.events))
        tied = _regraded(rest, together)(replace(s, events=s.events[:first]))
        return replace(tied, events=(*tied.events, *s.events[first:]))

    yield f"counts in norms beside {other}", _regraded(rest, together)
    yield "is a parameter of its own once a round's model is loaded (Begin)", until_begin
    yield "stays as it is", partial(with_parts, parts={**rest, name: "frozen"})


def _worded(setting: Setting, name: str, other: str, rest: Words) -> Iterator[tuple[str, Given]]:
    """Yield phrases and changes of a block that has another word than the claimed one, at levels server and round."""
    said, moves = setting.parts[name], isinstance(setting.algorithm.run, Method)
    there = ("frozen",) if other else ("",) if said == "kept" else ()
    for word in OTHER if setting.level == "round" else there:
        if word != said and (moves or setting.level == "server" or word not in ("local", "kept")):
            phrase = "is a parameter of its own" if other and not word else OTHER[word]
            yield phrase, partial(with_parts, parts={**rest, name: word} if word else rest)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of each block that has a word; the other blocks are as claimed."""
    tied, client = ties(setting.parts), setting.level == "client"
    for name, said in setting.parts.items():
        rest, other = {n: word for n, word in setting.parts.items() if n != name}, tied.get(name, "")
        claimed = f", but it is claimed as {f'tied to {other}' if other else said}"
        found = _of_client(name, other, setting.parts, rest) if client else _worded(setting, name, other, rest)
        for words, given in found:
            yield Defect(words=f"block {name} {words}{claimed}", given=given)
        if client and other:
            yield stepping(f"block {name} is stepped twice, once per use{claimed}", partial(_twice, other))
        if setting.level == "round" and other:
            words = f"block {name} has the mean of its gradients{claimed}"
            yield Defect(words=words, session=partial(_in_block, other, lambda g, y: g / 2))
        if setting.level == "round" and said == "frozen":
            given, session = partial(with_parts, parts=rest), partial(_in_block, name, lambda g, y: 0 * y)
            yield Defect(words=f"block {name} counts in norms{claimed}", given=given, session=session)
        if setting.level == "round" and said == "local":
            yield Defect(words=f"block {name} is that of the client that trained before{claimed}", session=_one_copy)
            words = f"block {name} of a client that has none begins as the client before left its own{claimed}"
            yield Defect(words=words, session=_from_the_last)
            words = f"block {name} belongs to the client's place in the round{claimed}"
            yield Defect(words=words, session=_by_place)
            words = f"block {name} of a client that sat out starts again from the server's{claimed}"
            yield stepping(words, _forgotten)
            for before, words in (
                (True, f"block {name} is stepped first, and the others' gradient sees its new value{claimed}"),
                (False, f"block {name} is stepped last, and its gradient sees the others' new values{claimed}"),
            ):
                yield Defect(words=words, session=partial(_in_turn, name, before))
            if "mu" in setting.algorithm.numbers:
                words = f"block {name} is pulled to the server's, not to the client's own{claimed}"
                yield Defect(words=words, session=partial(_pulled, name))
            words, given = f"block {name} is averaged among the clients{claimed}", partial(with_parts, parts=rest)
            yield Defect(words=words, given=given, session=partial(_unshown, name))
