"""Defects that confuse functions: reductions of a cover, layer scaling, place of the decay, short norm vectors."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec.arith import Array, ascending, maximum, minimum, norm, ratio, where_less, where_shorter
from fedspec.client.lamb import layer_step
from fedspec.mixing.accumulation import accumulation
from fedspec_suite.diagnosis.cases.resized import shaped
from fedspec_suite.diagnosis.defects.defect import Defect, Running, behind, calling
from fedspec_suite.diagnosis.defects.limits import regraded
from fedspec_suite.diagnosis.defects.numbers import zero
from fedspec_suite.measure.scenario import Scenario, change_events
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


def of_ratio(
    there: Any, x: Array, p: Array, *, eta_l: Any, lam: Any = 0, phi_m: Any = 1, phi_M: Any = 1, **named: Any
) -> Array:
    """Take a layer's step in which the trust ratio, not the length of x, is clipped to [phi_m, phi_M]."""
    q = p + lam * x
    moved: Array = x - eta_l * (minimum(maximum(ratio(norm(x), norm(q)), phi_m), phi_M) * q)
    return moved


def _by_coordinate(there: Any, u: Array, length: Any, x: Array, y: Array) -> Array:
    """The comparison takes the magnitude of each coordinate, not the length of the vector."""
    return where_less(maximum(u, -u), length, x, y)


def _decoupled(before: bool, there: Any, x: Array, p: Array, *, eta_l: Any, lam: Any = 0, **named: Any) -> Array:
    """The decay is no part of the direction: it is subtracted by itself, before the step or beside it."""
    faded = eta_l * lam * x
    stays: Array = x - faded if before else x
    moved: Array = there(stays, p, eta_l=eta_l, **named)
    return moved if before else moved - faded


def _into_gradients(inner: Running, s: Scenario) -> Running:
    """The decay is part of every gradient."""
    lam = s.case.hyper["lam"]
    zero("lam", inner)
    return regraded(lambda g, x, blocks: g + lam * x, inner, s)


def _columns_first(s: Scenario) -> Scenario:
    """The case with the axes of each block in reverse order, as code sees them that counts along columns."""

    def turned(a: Array) -> Array:
        return a.reshape(a.shape[::-1])

    return change_events(s, turned, turned)


def _one_block(s: Scenario) -> Scenario:
    """The case with all numbers of the model in one block."""
    return shaped(s, [(sum(a.size for a in s.case.x0.values()),)])


def _along_itself(inner: Running, s: Scenario) -> Running:
    """Sort a client's own numbers along the last axis of each block, not those of a coordinate."""
    shapes = [a.shape for a in s.case.x0.values()]
    ends = np.cumsum([0, *(a.size for a in s.case.x0.values())])

    def ordered(there: Any, X: Array) -> Array:
        blocks = [
            np.sort(X[:, a:b].reshape(len(X), *shape), axis=-1).reshape(len(X), b - a)
            for a, b, shape in zip(ends, ends[1:], shapes, strict=False)
        ]
        return np.concatenate(blocks, axis=1)

    return behind({cast(Any, ascending): calling(ordered)})(inner, s)


SHORT: Mapping[str, Callable[[list[Any]], list[Any]]] = {"first": lambda a: a[1:], "last": lambda a: a[:-1]}

ALONE: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "": lambda a: [0 * a[0]],
    ", unless it is the only one": lambda a: a,
    ", and is one where it is the only one": lambda a: [0 * a[0] + 1],
}
"""Replacements of an accumulation vector that has a single entry to lose, by the words added to the defect."""


def _shorter(short: Any, alone: Any, there: Any, *given: Any, **named: Any) -> list[Any]:
    a = there(*given, **named)
    left: list[Any] = short(a) or alone(a)
    return left


def short_norms(setting: Setting) -> Iterator[Defect]:
    """Yield defects in which the accumulation vector behind ||a_i||_1 lacks its first or last entry."""
    found = functions(setting.algorithm, setting.level)
    if cast(FunctionType, accumulation) not in found:
        return
    for which, short in SHORT.items():
        for unless, alone in ALONE.items():
            words = f"||a_i||_1 lacks the {which} entry of a_i{unless}"
            session = behind({cast(FunctionType, accumulation): calling(_shorter, short, alone)})
            yield Defect(words=words, tail="d", session=session)


def of(setting: Setting) -> Iterator[Defect]:
    """Yield defects in how an algorithm applies its functions, such as sorting along the wrong axis."""
    called = {n for f in functions(setting.algorithm, setting.level) for n in inspect.unwrap(f).__code__.co_names}
    if "ascending" in called:
        words = (
            "what is put in order are a client's numbers along a block's last axis, not a coordinate's of all clients"
        )
        yield Defect(words=words, tail="delta", session=_along_itself)
    if setting.options.get("cover") == "axes":
        yield Defect(words="the coordinates of a block are counted along its columns", tail="nu", given=_columns_first)
    steps: Any = layer_step
    if setting.options.get("phi") == "clip" and steps in functions(setting.algorithm, setting.level):
        words = "the trust ratio ||x|| / ||q|| is moved into [phi_m, phi_M], not the length ||x||"
        yield Defect(words=words, session=behind({steps: calling(of_ratio)}))
    if "lam" in setting.numbers and steps in functions(setting.algorithm, setting.level):
        for before, words in ((False, "beside the step"), (True, "before the step")):
            decoupled = f"the decay stands outside the direction: eta_l lam x is subtracted {words}"
            yield Defect(words=decoupled, session=behind({steps: calling(_decoupled, before)}), about="lam")
    if "layers" in setting.takes or "lam" in setting.numbers:
        yield Defect(words="the whole model is one layer", given=_one_block)
    if "eps_s" in setting.numbers:
        shorter: Any = where_shorter
        words = "the dead zone looks at each coordinate, not at the length of the step"
        yield Defect(words=words, session=behind({shorter: calling(_by_coordinate)}), about="eps_s")
    if "lam" in setting.numbers:
        words = "lam x is added to the gradient, which the moments take, not to the step (L2, not decoupled)"
        yield Defect(words=words, session=_into_gradients, about="lam")
