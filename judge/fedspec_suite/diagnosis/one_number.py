"""Variants with one unknown number: a clipping bound, a weight decay, or a fixed hyper-parameter.

The number is sought in the event in which a subject deviates soonest; a name needs every other one to agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.chain import Word, applied
from fedspec.domains import COUNTS, DECAY, DOMAINS
from fedspec.rounding import CLIPS
from fedspec.steps import BEFORE
from fedspec_suite.diagnosis.comparing import agrees, off
from fedspec_suite.diagnosis.defects.chains import chained
from fedspec_suite.diagnosis.defects.defect import Defect, began
from fedspec_suite.diagnosis.defects.limits import limited, regraded
from fedspec_suite.diagnosis.defects.state import state_fields
from fedspec_suite.diagnosis.steady import models
from fedspec_suite.diagnosis.variants import DIGITS, Variant, as_claimed, at_number, of_defect, relatives
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

POSITIVE = tuple(10.0**k for k in range(-8, 4))
SIGNED = (*(-v for v in POSITIVE[::-1]), *POSITIVE)
BELOW_ONE = (1e-6, 1e-3, 0.01, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 0.999, 1 - 1e-6)

HALVINGS = 60
"""Largest number of bisections of an interval, after which no float lies between its ends."""

HEADS = 6
"""Largest number of cases in which a number is sought."""


@dataclass(frozen=True)
class Family:
    """Variants that differ in one number.

    Attributes:
        make: the variant with that number.
        among: numbers to try.
    """

    make: Callable[[float], Variant]
    among: tuple[float, ...] = POSITIVE


def families(setting: Setting) -> Iterator[Family]:
    """Yield the families of variants with an unknown number, the likelier ones first."""
    one = replace(as_claimed(setting), parts=1)

    def generic(words: str, tail: str, session: Callable[[float], Any]) -> Callable[[float], Variant]:
        def make(v: float) -> Variant:
            return of_defect(setting, Defect(words=words.format(f"{v:.{DIGITS}g}"), tail=tail, session=session(v)))

        return make

    for k in range(bool(setting.micro), len(setting.gradients)):
        yield Family(_linked(setting, setting.gradients, k, "{} of gradients, not {}", "gradients"))
    for k, link in enumerate(setting.steps):
        if not link.startswith("lookahead"):
            yield Family(_linked(setting, setting.steps, k, "{} at a step, not {}", "steps"))
    for k, link in enumerate(setting.messages):
        if link.startswith(CLIPS):
            yield Family(_linked(setting, setting.messages, k, "messages are passed through {}, not {}", "messages"))
    if setting.level != "server":
        for words, name in _GRADIENTS.items():
            yield Family(generic(words, "", lambda v, name=name: partial(regraded, partial(applied, Word(name, v)))))  # type: ignore[misc]
    decays = any(link.startswith(BEFORE) for link in setting.steps)
    if not decays and setting.level in {"client", "round"}:
        yield Family(_linked(setting, (BEFORE, *setting.steps), 0, "{} at a step, which isn't claimed", "steps"))
    for words, limit in limited(setting).items():
        yield Family(generic(words, "delta", limit))
    for n in setting.numbers:
        if n not in setting.fixed and n not in COUNTS:
            among = BELOW_ONE if DOMAINS[n].domain is DECAY else POSITIVE
            yield Family(partial(_fixed, setting, n), among)
    for n in state_fields(setting):
        if n not in {"t", "versions", "pending", "server"}:
            words = f"{n} starts at {{}} in every coordinate"
            yield Family(generic(words, n, lambda v, n=n: began(n, lambda inner: v)), SIGNED)  # type: ignore[misc]
    for words, other, options, more in relatives(setting, 1):
        (n,) = more
        among = BELOW_ONE if DOMAINS[n].domain is DECAY else POSITIVE
        if n not in COUNTS:
            yield Family(partial(at_number, one, words, other, options, n), among)


_GRADIENTS = {
    "{} x is added to every gradient (weight decay inside the gradient, L2)": "decay",
    "every gradient is clipped to [-{0}, {0}]": "clip-value",
    "every gradient is clipped to length {}, all blocks together": "clip-norm",
    "every gradient is clipped to length {}, block by block": "clip-block-norm",
    "every gradient is clipped to length {}, as clip_grad_norm_ does (1e-06 more)": "clip-norm-eps",
    "every gradient is clipped to length {}, as clip_grad_norm_ of each block": "clip-block-norm-eps",
}


def _linked(setting: Setting, claimed: Sequence[str], k: int, said: str, field: str) -> Callable[[float], Variant]:
    """The claimed chain with another number in one link."""
    link = claimed[k]

    def make(v: float) -> Variant:
        other = f"{link.partition(' ')[0]} {v:.{DIGITS}g}"
        links = (*claimed[:k], other, *claimed[k + 1 :])
        return of_defect(setting, chained(said.format(other, link), field, links))

    return make


def _fixed(setting: Setting, n: str, v: float) -> Variant:
    words = f"{n} is fixed at {v:.{DIGITS}g}"
    return of_defect(setting, Defect(words=words, about=n, given=lambda s: with_hyper(s, **{n: v})))


Head = tuple[Scenario, list[Shown]]
"""Case up to the first event in which a subject deviates, with the subject's answers."""


def numbered(setting: Setting, heads: Sequence[Head]) -> Iterator[Variant]:
    """Yield variants whose number is fitted to one deviating case and which agree with all.

    Where the number plays no part in the first of them, the next one is looked at.
    """
    ways = [way for s, answers in heads[:HEADS] if (way := _way(setting, s, answers))]
    for family in families(setting):
        for head in ways:
            found = _sought(family, head)
            if found is None:
                break
            v = _written(family, head, found)
            if v is not None and all(agrees(v, h.s, h.answers) for h in ways):
                yield v
                break


@dataclass(frozen=True)
class _Way:
    """From the model that is claimed to the one that a subject has, after the last event of a case."""

    s: Scenario
    answers: list[Shown]
    base: Array
    got: Array
    to: Array


def _way(setting: Setting, s: Scenario, answers: list[Shown]) -> _Way | None:
    plain = models(as_claimed(setting), s)
    if not plain:
        return None
    got = np.asarray(answers[-1]["x"], dtype=float).reshape(-1)
    to = np.where(np.isfinite(got - plain[-1]), got - plain[-1], 0.0)
    return _Way(s, answers, plain[-1], got, to) if to.any() else None


def _sought(family: Family, way: _Way) -> float | None:
    """The number with which a family goes as far as the subject did, along the way from what is claimed."""

    def farther(v: float) -> float:
        its = models(family.make(v), way.s)
        if not its or not np.isfinite(its[-1]).all():
            return math.nan
        return float((its[-1] - way.base) @ way.to) / float(way.to @ way.to) - 1

    before = (math.nan, math.nan)
    for v in family.among:
        here = (v, farther(v))
        if before[1] * here[1] <= 0:
            found = _halved(farther, before, here)
            its = models(family.make(found), way.s)
            if its and not off(way.got, its[-1], way.s, LOOSE[way.s.case.dtype]).any():
                return found
        before = here
    return None


def _halved(f: Callable[[float], float], low: tuple[float, float], high: tuple[float, float]) -> float:
    for _ in range(HALVINGS):
        middle = (low[0] + high[0]) / 2
        if middle in {low[0], high[0]}:
            break
        here = (middle, f(middle))
        if here[1] == 0:
            return middle
        low, high = (low, here) if low[1] * here[1] <= 0 else (here, high)
    return high[0]


LOOSE = {"float64": 1e-8, "float32": 1e-3}
"""Relative error of the model that the fitted number may leave, before it is rounded to few digits."""


def _written(family: Family, way: _Way, found: float) -> Variant | None:
    """The variant with the number in the fewest digits that give the subject's answers; None if no digits do."""
    for digits in range(1, DIGITS + 1):
        v = family.make(float(f"{found:.{digits}g}"))
        if agrees(v, way.s, way.answers):
            return v
    return None
