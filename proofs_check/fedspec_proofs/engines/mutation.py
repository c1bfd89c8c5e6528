"""Mutants of a rule: its code with a called function replaced, or run on another cover (SM3's coordinate sets)."""

from __future__ import annotations

import dis
import inspect
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from fedspec.arith import Sets, Vector
from fedspec.covers import Cover
from fedspec_proofs.claim import codes


@dataclass(frozen=True)
class LeastOfSets(Cover):
    """Mutant cover: a set takes the smallest of its coordinates' values instead of the largest."""

    def greatest(self, values: Vector) -> Sets:
        """Smallest value over each set, instead of the largest."""
        return -super().greatest(-values)


@dataclass(frozen=True)
class GreatestOfHolders(Cover):
    """Mutant cover: a coordinate takes the largest value of its sets instead of the smallest."""

    def least(self, mu: Sets) -> Vector:
        """Largest value over the sets of each coordinate, instead of the smallest."""
        return -super().least(-mu)


def over(kind: type[Cover], rule: Callable[..., Any]) -> Callable[..., Any]:
    """Run an accumulator rule on the same sets with another class of cover."""
    return lambda mu, g_squared, cover: rule(mu, g_squared, kind(cover.sets, cover.d))


def mutate(rule: Callable[..., Any], **calls: Callable[..., Any]) -> Callable[..., Any]:
    """Copy a rule with some of the global functions that it calls replaced, as in ``mutate(rule, maximum=minimum)``.

    Raises:
        KeyError: the rule calls no global function of that name; methods of its arguments don't count.
    """
    body = inspect.unwrap(rule)
    assert isinstance(body, types.FunctionType)
    loaded = (i for code in codes(body.__code__) for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL")
    names = {i.argval for i in loaded}
    for name in calls:
        if name not in names:
            raise KeyError(f"{body.__name__} calls nothing named {name}")
    changed = {**body.__globals__, **calls}
    mutant = types.FunctionType(body.__code__, changed, body.__name__, body.__defaults__, body.__closure__)
    mutant.__kwdefaults__ = body.__kwdefaults__
    return mutant
