"""Mutants that give one equation of a rule another value, where it is assigned or else returned."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from fedspec.rules import Equation
from fedspec.source_text import source_of
from fedspec_suite.mutants import Mutant, parsed

SPOILT = "spoilt"

_LEFT = re.compile(r"\s*([A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*)\s*=")
"""The left side of an equation that is printed as names of variables."""


def spoils(function: FunctionType, equation: Equation) -> Iterator[tuple[Mutant, ...]]:
    """Yield mutants of a rule with one equation's value changed, the narrowest place first.

    The places are the assignment, the value returned under that name, and everything returned. Each place gets a
    different value, and a different value of the same sum, since weights must keep their sum.
    """
    source, names = source_of(function), _names(equation)
    for place in (_Assigned(names), _Kept(names), _Returned(names)):
        tree = place.visit(parsed(source))
        if place.found:
            new = ast.unparse(ast.fix_missing_locations(tree))
            yield tuple(_mutant(equation, function, new, change) for change in (moved, tilted))


def _mutant(equation: Equation, function: FunctionType, new: str, change: Callable[[Any], Any]) -> Mutant:
    return Mutant(
        id=f"{equation.id} {change.__name__}",
        words=f"{equation.id} is {change.__name__}",
        algorithms=(),
        rule=f"{function.__module__}.{function.__name__}",
        old=source_of(function),
        new=new,
        given={SPOILT: change},
    )


def moved(value: Any) -> Any:
    """Change every entry by a different amount; positive entries stay positive."""
    return _changed(value, lambda a: a * (1 + _pattern(a)) + _pattern(a) / 2)


def tilted(value: Any) -> Any:
    """Move half of the last entry to the first, which keeps the sum."""
    return _changed(value, _tilt)


def _tilt(a: Any) -> Any:
    flat = a.reshape(-1).copy()
    half = flat[-1:] / 2
    flat[:1] += half
    flat[-1:] -= half
    return flat.reshape(a.shape)


def _pattern(a: Any) -> Any:
    return (1 + np.arange(a.size).reshape(a.shape) % 7) / 16


def _changed(value: Any, change: Callable[[Any], Any]) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        arrays = {f.name: getattr(value, f.name) for f in fields(value)}
        return replace(value, **{n: _changed(a, change) for n, a in arrays.items() if isinstance(a, np.ndarray)})
    if isinstance(value, np.ndarray):
        return change(value).astype(value.dtype)
    if isinstance(value, list | tuple):
        plain = all(isinstance(v, int | float) for v in value)
        new = change(np.array(value, dtype=float)).tolist() if plain else [_changed(v, change) for v in value]
        return type(value)(new)
    return float(change(np.array(float(value))))


def _names(e: Equation) -> set[str]:
    """Names that the rule may give the left side of an equation."""
    tail, left = e.id.rpartition(".")[2], _LEFT.match(e.text)
    said = {n.strip() for n in left[1].split(",")} if left else set()
    return said | ({"x"} if tail == "step" else {tail})


def _call(value: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(SPOILT, ast.Load()), [value], [])


class _Place(ast.NodeTransformer):
    """Puts the changed value in its place; ``found`` says in how many it did."""

    def __init__(self, names: set[str]) -> None:
        self.names, self.found = names, 0


class _Assigned(_Place):
    def visit_Assign(self, node: ast.Assign) -> Any:
        targets = [t for target in node.targets for t in (target.elts if isinstance(target, ast.Tuple) else [target])]
        mine = [t.id for t in targets if isinstance(t, ast.Name) and t.id in self.names]
        self.found += len(mine)
        return [node, *(ast.Assign([ast.Name(n, ast.Store())], _call(ast.Name(n, ast.Load()))) for n in mine)]


class _Kept(_Place):
    def visit_Return(self, node: ast.Return) -> Any:
        for k in node.value.keywords if isinstance(node.value, ast.Call) else []:
            if k.arg in self.names:
                self.found += 1
                k.value = _call(k.value)
        return node


class _Returned(_Place):
    def visit_Return(self, node: ast.Return) -> Any:
        if node.value is not None:
            self.found += 1
            node.value = _call(node.value)
        return node
