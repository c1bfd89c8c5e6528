"""Hypothesis strategies for the parts of a case; each number is a dyadic rational.

Dyadic inputs are exact in every floating-point type, so a deviation is never the input's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import prod
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import BESIDE, Case, Gradient, Quadratics
from fedspec.facts import Fact
from fedspec_suite.measure.hyper_pools import draw_hypers, picking
from fedspec_suite.measure.part_cases import with_claimed
from fedspec_suite.measure.setting import Setting


@cache
def between(low: int, high: int) -> st.SearchStrategy[int]:
    """Return the strategy of integers from ``low`` to ``high``, cached."""
    return st.integers(low, high)


@cache
def lists(low: int, high: int, size: int) -> st.SearchStrategy[list[int]]:
    """Return the strategy of lists of ``size`` integers from ``low`` to ``high``, cached."""
    return st.lists(between(low, high), min_size=size, max_size=size)


@cache
def subsets(low: int, high: int, least: int = 0, most: int | None = None) -> st.SearchStrategy[set[int]]:
    """Return the strategy of sets of integers, cached by its arguments."""
    return st.sets(between(low, high), min_size=least, max_size=most)


@cache
def vectors(shape: tuple[int, ...], dtype: str, denominator: int = 8, largest: int = 24) -> st.SearchStrategy[Array]:
    """Return the strategy of arrays of n / ``denominator``, a byte each: 0, 1, -1, ... so that they shrink to 0."""
    n = np.arange(256) % (2 * largest + 1)
    numbers = (np.where(n % 2 == 1, (n + 1) // 2, -(n // 2)) / denominator).astype(dtype)

    def decode(drawn: bytes) -> Array:
        return numbers[np.frombuffer(drawn, dtype=np.uint8)].reshape(shape)

    return st.binary(min_size=prod(shape), max_size=prod(shape)).map(decode)


_TENSORS = st.sampled_from([(3,), (2, 3), (3, 2), (2, 2, 2)])
_ARRAYS = st.sampled_from([(1,), (2,), (3,), (2, 2)])
_LAYERS = st.sampled_from([(1,), (2,), (2, 2)])
_MATRICES = st.sampled_from([(1, 2), (3, 1), (2, 2), (2, 3)])
_TALL_TOO = st.sampled_from([(1, 2), (3, 1), (2, 2), (2, 3), (3, 2)])


def draw_shapes(draw: st.DrawFn, setting: Setting) -> dict[str, tuple[int, ...]]:
    """Draw shapes of one to three named blocks: tensors for rules with covers, matrices if the setting needs them."""
    tensors = "cover" in setting.options
    one: st.SearchStrategy[Any] = _MATRICES if setting.matrices else _TENSORS if tensors else _ARRAYS
    if setting.algorithm.has(Fact.MATRICES):
        one = _TALL_TOO
    count = 1 if setting.one_block else draw(between(1, 2 if tensors else 3))
    return with_claimed(setting, {name: draw(one) for name in ("w", "b", "c")[:count]})


def of_batches(setting: Setting, shape: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of a gradient's blocks: with a row for each micro-batch, if the claim accumulates some."""
    return {n: (setting.micro, *s) if setting.micro else s for n, s in shape.items()}


def step_of(setting: Setting, g: Mapping[str, Array], turn: int) -> Gradient:
    """Return the event of a gradient; of its micro-batches, one in turn has many times the tokens of the others."""
    k = setting.micro
    return Gradient(g, tokens=tuple(LARGE * k if j == turn % k else j + 1 for j in range(k)))


LARGE = 16
"""Tokens of the large micro-batch for each micro-batch of its gradient."""


def draw_blocks(
    draw: st.DrawFn, shape: Mapping[str, tuple[int, ...]], dtype: str, denominator: int = 8, largest: int = 24
) -> dict[str, Array]:
    """Draw one array for each shape, in the order of the shapes."""
    return {n: draw(vectors(s, dtype, denominator, largest)) for n, s in shape.items()}


def draw_model(draw: st.DrawFn, setting: Setting, clients: int) -> tuple[dict[str, Array], int]:
    """Draw the model of a case with a problem (layers, or a row per peer, if the algorithm has them), and its size."""
    if "layers" in setting.takes:
        count = 1 if setting.one_block else draw(between(1, 2))
        layer = _TALL_TOO if setting.algorithm.has(Fact.MATRICES) else _MATRICES if setting.matrices else _LAYERS
        shape = {n: draw(layer) for n in ("w", "b")[:count]}
    else:
        shape = {"w": (draw(between(1, 3)),)}
    shape = with_claimed(setting, shape)
    d = sum(map(prod, shape.values()))
    if "peers" in setting.takes:
        row = draw(vectors((d,), setting.dtype))
        return {"w": np.tile(row, (clients, 1))}, d
    x0 = draw_blocks(draw, shape, setting.dtype)
    if "phi" in setting.options and draw(between(0, 3)) == 3:
        # Where its length scales a layer's step, a layer at zero is a case of its own.
        x0 = {n: np.zeros_like(a) if n == "w" else a for n, a in x0.items()}
    return x0, d


_RATES: dict[str, tuple[float, ...]] = {"eta_l": (0.03125, 0.0625, 0.125)}
_OF_MATRICES: dict[str, tuple[float, ...]] = {**_RATES, "ns_steps": (1, 2)}


def on_quadratics(setting: Setting) -> dict[str, tuple[float, ...]]:
    """Return pools of hyper-parameters for clients with quadratic objectives, whose curvature is near 1.

    Rates are small enough for it. A step along a matrix answers each gradient by several times its change, more with
    every iteration, and the next gradient sees that: more of it would leave the judge without a digit.
    """
    return _OF_MATRICES if setting.algorithm.has(Fact.MATRICES) else _RATES


def most_steps(setting: Setting, otherwise: int = 4) -> int:
    """Return the largest number of local steps of a client in a round; smaller for orthogonalised matrix steps."""
    return min(2, otherwise) if setting.algorithm.has(Fact.MATRICES) else otherwise


def draw_rates(draw: st.DrawFn, setting: Setting) -> dict[str, float]:
    """Draw hyper-parameters, with rates that are small enough for quadratic objectives."""
    h = draw_hypers(picking(draw), setting)
    pools = {n: pool for n, pool in on_quadratics(setting).items() if n in setting.numbers and n not in setting.fixed}
    return {**h, **{n: draw(st.sampled_from(pool)) for n, pool in pools.items()}}


def draw_start(
    draw: st.DrawFn, setting: Setting, clients: int
) -> tuple[dict[str, Array], dict[str, float], Quadratics]:
    """Draw a model, hyper-parameters and the quadratic objectives of ``clients`` clients."""
    x0, d = draw_model(draw, setting, clients)
    h, problem = draw_rates(draw, setting), draw_quadratics(draw, clients, d, setting.dtype)
    if setting.losses:
        problem = with_constants(problem, draw(lists(1, 24, clients)))
    return x0, h, problem


def above_zero(problem: Quadratics) -> Quadratics:
    """Raise constants of the objectives, if they have any, so that objectives derived from them stay positive."""
    return problem if problem.f is None else with_constants(problem, [8 + i for i in range(len(problem.f))])


def with_constants(problem: Quadratics, eighths: Sequence[int]) -> Quadratics:
    """Add constants that keep the objectives positive: ``eighths`` in units of the squared slopes.

    No curvature is below 1/4, so that F_i(x) >= f_i - 2 |e_i|^2 everywhere.
    """
    slopes = (problem.e.astype(float) ** 2).sum(axis=1)
    unit = 1.0 if not slopes.any() else 2.0 ** min(0, int(np.floor(np.log2(slopes.max()))))
    least = 3 * slopes + unit * np.array(eighths) / 8
    # Six bits are short numbers.
    step = 2.0 ** (np.floor(np.log2(least)) - 5)
    f = np.ceil(least / step) * step
    return replace(problem, f=f.astype(problem.e.dtype))


def lengths(takes: Sequence[str], steps: Sequence[int]) -> tuple[int, ...]:
    """Return the local steps per participant that the algorithm allows: equal, 1 each, or as given."""
    same = {"one-length": steps[0], "one-step": 1}
    return next(((same[t],) * len(steps) for t in takes if t in same), tuple(steps))


_THIRTY_SECONDS = between(0, 31)


def draw_uniforms(draw: st.DrawFn, d: int) -> tuple[float, ...]:
    """Draw ``d`` numbers in (0, 1), odd multiples of 1/64: they never equal a level with a small denominator."""
    return tuple(draw(_THIRTY_SECONDS) / 32 + 1 / 64 for _ in range(d))


def draw_some(draw: st.DrawFn, clients: int, least: int = 1) -> tuple[int, ...]:
    """Draw at least ``least`` of the clients, in order."""
    return tuple(sorted(draw(subsets(0, clients - 1, least))))


def draw_quadratics(draw: st.DrawFn, n: int, d: int, dtype: str) -> Quadratics:
    """Draw H_i = A A' / 4 + I / 4 with small integer A: symmetric positive definite and exact."""
    H = []
    for _ in range(n):
        A = np.array(draw(lists(-1, 2, d * d)), dtype=float).reshape(d, d)
        H.append((A @ A.T + np.eye(d)) / 4)
    e = draw(vectors((n, d), dtype))
    examples = np.array(draw(lists(1, 9, n)), dtype=float)
    return Quadratics(np.array(H, dtype=dtype).reshape(n, d, d), e, examples)


def case(
    setting: Setting,
    x0: Mapping[str, Array],
    h: Mapping[str, float],
    problem: Quadratics | None = None,
    population: int | None = None,
) -> Case:
    """Build the case of a setting from a model, hyper-parameters and, if it has one, a problem."""
    return Case(
        algorithm=setting.algorithm.id,
        level=setting.level,
        reading=setting.reading,
        options=dict(setting.options),
        dtype=setting.dtype,
        x0=dict(x0),
        hyper=dict(h),
        problem=problem,
        variant=setting.variant,
        population=population,
        **{name: getattr(setting, name) for name in BESIDE},
    )


blocks = st.composite(draw_blocks)
quadratics = st.composite(draw_quadratics)
