"""Exact expectations over finite distributions, by enumerating every outcome with its probability in fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from math import comb, prod
from typing import Any, TypeAlias, TypeVar

from fedspec.arith import Vector

T = TypeVar("T")

Outcomes: TypeAlias = Iterable[tuple[Fraction, T]]
"""Outcomes of a random draw as pairs (probability, outcome); the probabilities sum to one."""


def subsets(n: int, m: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Yield all m-subsets of n indices with equal probability: sampling without replacement."""
    chance = Fraction(1, comb(n, m))
    for chosen in combinations(range(n), m):
        yield chance, chosen


def with_replacement(p: Sequence[Any] | Vector, q: int) -> Iterator[tuple[Any, tuple[int, ...]]]:
    """Yield all outcomes of q independent draws of an index; index i has probability p_i, a number or a symbol."""
    for chosen in product(range(len(p)), repeat=q):
        yield prod((p[i] for i in chosen), start=Fraction(1)), chosen


def signs(n: int) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
    """Yield all outcomes of n fair coins, as 1 and -1: noise of variance one."""
    for chosen in product((1, -1), repeat=n):
        yield Fraction(1, 2**n), chosen


def independent(*draws: Sequence[tuple[Fraction, Any]]) -> Iterator[tuple[Fraction, tuple[Any, ...]]]:
    """Yield all joint outcomes of independent draws."""
    for outcome in product(*draws):
        yield prod((p for p, _ in outcome), start=Fraction(1)), tuple(value for _, value in outcome)


def mean(f: Callable[[T], Any], outcomes: Outcomes[T]) -> Any:
    """Expectation of f over the outcomes; f returns a number or an array.

    Raises:
        ValueError: the probabilities do not sum to one.
    """
    total, chance = None, Fraction(0)
    for p, outcome in outcomes:
        value = p * f(outcome)
        total = value if total is None else total + value
        chance += p
    if chance != 1:
        raise ValueError(f"mean: the probabilities sum to {chance}, not 1")
    return total
