"""Functions taken for one another: reductions of a cover, scaling of a layer, the place of its decay, short norms."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import wraps
from types import FunctionType
from typing import Any, cast

import numpy as np

from fedspec import covers, population
from fedspec.arith import Array, ascending, largest, maximum, minimum, norm, ratio, smallest, where_less, where_shorter
from fedspec.catalogue import LocalSolver
from fedspec.client.lamb import layer_step
from fedspec.contract import Begin, Event, Gradient
from fedspec.covers import Cover, Slices
from fedspec.mixing.accumulation import accumulation
from fedspec_suite.diagnosis.defects.defect import Defect, Running, behind, stepping
from fedspec_suite.measure.scenario import Scenario, change_events
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import functions


def _mean(x: Array) -> Array:
    mean: Array = x.sum(axis=-1) / x.shape[-1]
    return mean


EXTREMES: dict[str, tuple[str, Callable[[Array], Array]]] = {
    "a set takes the mean of its coordinates' values, not the largest": ("greatest", _mean),
    "a set takes the smallest of its coordinates' values, not the largest": ("greatest", smallest),
    "a coordinate takes the largest of its sets' values, not the smallest": ("least", largest),
    "a coordinate takes the mean of its sets' values, not the smallest": ("least", _mean),
}
"""Replacements of the largest or the smallest of a cover's numbers."""

_ROWS = {"greatest": "_members", "least": "_holders"}


def _reduced(name: str, other: Callable[[Array], Array]) -> Callable[[Running, Event, int], Any]:
    """An event is taken with a cover that reduces its rows by another function."""

    def own(cover: Cover | Slices) -> Cover:
        reduced = {name: lambda self, values: covers._reduced(other, values, getattr(self, _ROWS[name]))}
        changed: Cover = object.__new__(type("Cover", (Cover,), reduced))
        vars(changed).update(vars(getattr(cover, "listed", cover)))
        return changed

    def take(inner: Running, event: Event, k: int) -> Any:
        holder = "cover" if hasattr(inner, "cover") else "state"
        before = getattr(inner, holder) if holder == "cover" else getattr(inner.state, "cover", None)
        if before is None:
            return inner.step(event)

        def put(cover: Any) -> None:
            setattr(inner, holder, cover if holder == "cover" else replace(inner.state, cover=cover))

        put(own(before))
        try:
            return inner.step(event)
        finally:
            put(before)

    return take


def of_ratio(there: Callable[..., Any]) -> Callable[..., Any]:
    """A step of one layer whose trust ratio is moved into [phi_m, phi_M], not its length."""

    @wraps(there)
    def step(x: Array, p: Array, *, eta_l: Any, lam: Any = 0, phi_m: Any = 1, phi_M: Any = 1, **named: Any) -> Array:
        q = p + lam * x
        moved: Array = x - eta_l * (minimum(maximum(ratio(norm(x), norm(q)), phi_m), phi_M) * q)
        return moved

    return step


def _by_coordinate(there: Callable[..., Any]) -> Callable[..., Any]:
    """The comparison takes the magnitude of each coordinate, not the length of the vector."""

    @wraps(there)
    def where(u: Array, length: Any, x: Array, y: Array) -> Array:
        return where_less(maximum(u, -u), length, x, y)

    return where


def _decoupled(before: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decay is no part of the direction: it is subtracted by itself, before the step or beside it."""

    def around(there: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(there)
        def step(x: Array, p: Array, *, eta_l: Any, lam: Any = 0, **named: Any) -> Array:
            faded = eta_l * lam * x
            stays: Array = x - faded if before else x
            moved: Array = there(stays, p, eta_l=eta_l, **named)
            return moved if before else moved - faded

        return step

    return around


def _into_gradients(inner: Running, s: Scenario) -> Running:
    """The decay is part of every gradient."""

    def oracle(gradient: Callable[..., Any], lam: Any) -> Callable[..., Any]:
        return lambda k, y: gradient(k, y) + lam * y

    def around(there: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(there)
        def each(client: Callable[..., Any], clients: Any, plan: Any, x: Any) -> Any:
            return there(client, [oracle(g, lam) for g in clients], plan, x)

        return each

    solver = getattr(inner, "solver", None)
    if isinstance(solver, LocalSolver):
        rule, lam = solver.rule, inner.keywords["lam"]

        @wraps(rule)
        def decayed(state: Any, g: Any, *given: Any, **named: Any) -> Any:
            return rule(state, g + lam * state.x, *given, **named)

        inner.solver = replace(solver, rule=decayed)
        inner.keywords = {**inner.keywords, "lam": 0 * lam}
        return inner
    lam = inner.h.lam
    inner.h = replace(inner.h, lam=0 * lam)
    each: Any = population.each
    return behind({each: around})(inner, s)


def _columns_first(s: Scenario) -> Scenario:
    """The case with the axes of each block in reverse order, as code sees them that counts along columns."""

    def turned(a: Array) -> Array:
        return a.reshape(a.shape[::-1])

    return change_events(s, turned, turned)


def _one_block(s: Scenario) -> Scenario:
    """The case with all numbers of the model in one block."""

    def together(blocks: Any) -> dict[str, Array]:
        return {"w": np.concatenate([a.ravel() for a in blocks.values()])}

    def event(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return replace(e, g=together(g))
            case Begin(x=x):
                return Begin(together(x))
        return e

    return replace(s, case=replace(s.case, x0=together(s.case.x0)), events=tuple(map(event, s.events)))


def _along_itself(inner: Running, s: Scenario) -> Running:
    """Sort a client's own numbers along the last axis of each block, not those of a coordinate."""
    shapes = [a.shape for a in s.case.x0.values()]
    ends = np.cumsum([0, *(a.size for a in s.case.x0.values())])

    def around(there: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(there)
        def ordered(X: Array) -> Array:
            blocks = [
                np.sort(X[:, a:b].reshape(len(X), *shape), axis=-1).reshape(len(X), b - a)
                for a, b, shape in zip(ends, ends[1:], shapes, strict=False)
            ]
            return np.concatenate(blocks, axis=1)

        return ordered

    return behind({cast(Any, ascending): around})(inner, s)


SHORT: Mapping[str, Callable[[list[Any]], list[Any]]] = {"first": lambda a: a[1:], "last": lambda a: a[:-1]}

ALONE: Mapping[str, Callable[[list[Any]], list[Any]]] = {
    "": lambda a: [0 * a[0]],
    ", unless it is the only one": lambda a: a,
    ", and is one where it is the only one": lambda a: [0 * a[0] + 1],
}
"""The remainder of a vector with a single entry."""


def short_norms(setting: Setting) -> Iterator[Defect]:
    """Defects of the accumulation vector whose sum is ||a_i||_1: an entry is missing."""
    found = functions(setting.algorithm, setting.level)
    if cast(FunctionType, accumulation) not in found:
        return
    for which, short in SHORT.items():
        for unless, alone in ALONE.items():

            def around(there: Callable[..., Any], short: Any = short, alone: Any = alone) -> Callable[..., Any]:
                def vector(*given: Any, **named: Any) -> list[Any]:
                    a = there(*given, **named)
                    left: list[Any] = short(a) or alone(a)
                    return left

                return vector

            words = f"||a_i||_1 lacks the {which} entry of a_i{unless}"
            yield Defect(words=words, tail="d", session=behind({cast(FunctionType, accumulation): around}))


def of(setting: Setting) -> Iterator[Defect]:
    """Defects in which functions that an algorithm runs are taken for one another."""
    called = {n for f in functions(setting.algorithm, setting.level) for n in inspect.unwrap(f).__code__.co_names}
    if "ascending" in called:
        words = (
            "what is put in order are a client's numbers along a block's last axis, not a coordinate's of all clients"
        )
        yield Defect(words=words, tail="delta", session=_along_itself)
    if "cover" in setting.algorithm.options or any(
        "cover" in inspect.signature(inspect.unwrap(f)).parameters for f in functions(setting.algorithm, setting.level)
    ):
        for words, (name, other) in EXTREMES.items():
            tail = "mu" if name == "greatest" else "nu"
            yield replace(stepping(words, _reduced(name, other)), tail=tail)
        if setting.options.get("cover") == "axes":
            yield Defect(
                words="the coordinates of a block are counted along its columns", tail="nu", given=_columns_first
            )
    steps: Any = layer_step
    if setting.options.get("phi") == "clip" and steps in functions(setting.algorithm, setting.level):
        words = "the trust ratio ||x|| / ||q|| is moved into [phi_m, phi_M], not the length ||x||"
        yield Defect(words=words, session=behind({steps: of_ratio}))
    if "lam" in setting.numbers and steps in functions(setting.algorithm, setting.level):
        for before, words in ((False, "beside the step"), (True, "before the step")):
            decoupled = f"the decay stands outside the direction: eta_l lam x is subtracted {words}"
            yield Defect(words=decoupled, session=behind({steps: _decoupled(before)}), about="lam")
    if "layers" in setting.takes or "lam" in setting.numbers:
        yield Defect(words="the whole model is one layer", given=_one_block)
    if "eps_s" in setting.numbers:
        shorter: Any = where_shorter
        words = "the dead zone looks at each coordinate, not at the length of the step"
        yield Defect(words=words, session=behind({shorter: _by_coordinate}), about="eps_s")
    if "lam" in setting.numbers:
        words = "lam x is added to the gradient, which the moments take, not to the step (L2, not decoupled)"
        yield Defect(words=words, session=_into_gradients, about="lam")
