"""Defects of initial values: a stored vector starts at plus or minus another quantity; and means over clients seen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from fedspec.chain import through
from fedspec.contract import Begin, Event, Gradient, Round
from fedspec.reference import batches
from fedspec_suite.diagnosis.defects.defect import Defect, Running, Stepping, began, part, with_part
from fedspec_suite.diagnosis.defects.state import state_fields
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FIRST = {"the first gradient": 1, "minus the first gradient": -1}
"""Signs of the first gradient as initial value, by their words."""


SECOND = ("v", "v_hat")
"""Second moments, whose root is taken with a stabiliser."""


def _at_first(name: str, times: int, power: int, inner: Running, s: Scenario) -> Running:
    """The state ``name`` begins at a multiple of the first gradient, or of the first round's Delta, by a look ahead.

    A second moment may begin at the square of that.
    """
    begins = [True]

    def take(inner: Running, event: Event, k: int) -> Any:
        if isinstance(event, Begin):
            begins[0] = True
            return inner.step(event)
        if begins[0]:
            begins[0] = False
            before = inner.state
            brought = _first(inner, event) if isinstance(event, Gradient) else inner.step(event)["delta"]
            now = part(before, name)
            inner.state = with_part(before, name, 0 * now + times * brought**power)
        return inner.step(event)

    return Stepping(inner, take)


def _first(inner: Running, event: Gradient) -> Any:
    """The gradient of an event, its micro-batches accumulated as the case says."""
    return through(inner.links[: bool(event.tokens)], batches(event.g, event.tokens), inner.slow, inner.layers)


def _minus(other: str) -> Callable[[Running], Any]:
    return lambda inner: -part(inner.state, other)


def _number(inner: Running, name: str) -> Any:
    return inner.v0 if hasattr(inner, "solver") else getattr(inner.h, name)


def _over_seen(name: str, rows: str, inner: Running, s: Scenario) -> Running:
    """Keep at the server the mean, over the clients seen so far, of the values that are kept of each."""
    seen: dict[int, None] = {}

    def take(inner: Running, event: Event, k: int) -> Any:
        answer = inner.step(event)
        if not isinstance(event, Round):
            return answer
        seen.update(dict.fromkeys(event.participants))
        kept = part(inner.state, rows)[sorted(seen)]
        mean = kept.sum(axis=0) / len(seen)
        inner.state = with_part(inner.state, name, mean)
        return {**answer, name: mean} if name in answer else answer

    return Stepping(inner, take)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects of the initial value of each stored vector."""
    names = [n for n in state_fields(setting) if n != "t"]
    brings = "gradient" if setting.level == "client" else "Delta"
    looks = setting.level == "client" or "delta" in setting.algorithm.shows_at(setting.level)
    for n in names:
        if f"{n}_i" in names:
            words = f"{n} is the mean of {n}_i over the clients seen so far, not over all"
            yield Defect(words=words, tail=n, session=partial(_over_seen, n, f"{n}_i"))
        if f"{n}_i" in names or n.endswith("_i") or n in {"versions", "pending", "server"}:
            continue
        for m in names:
            if m != n:
                yield Defect(words=f"{n} starts at minus what {m} does", tail=n, session=began(n, _minus(m)))
        for h in ("v0", "v_hat0"):
            for sign, times in (("", 1), ("minus ", -1)):
                if h in setting.numbers:
                    at = lambda inner, h=h, times=times: times * _number(inner, h)  # noqa: E731
                    yield Defect(words=f"{n} starts at {sign}{h}", tail=n, session=began(n, at))
        if n in SECOND and setting.level == "client" and "v0" in setting.numbers:
            said = f"{n} starts at v0 in the first round alone, later ones at 0"
            yield Defect(words=said, tail=n, session=began(n, lambda inner: 0, at_first=False))
        for words, times in FIRST.items() if looks else ():
            said = f"{n} starts at {words.replace('gradient', brings)}"
            yield Defect(words=said, tail=n, session=partial(_at_first, n, times, 1))
        if looks and n in SECOND and {"eps", "tau"} & set(setting.numbers):
            said = f"{n} starts at the first {brings} squared"
            yield Defect(words=said, tail=n, session=partial(_at_first, n, 1, 2))
