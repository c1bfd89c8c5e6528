"""Evaluation of expressions in a function's source whose values a reading fixes: options, and tests of options."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from types import FunctionType
from typing import Any, TypeAlias

WHERE = ("fedspec.client.", "fedspec.server.", "fedspec.mixing.", "fedspec.algorithms.", "fedspec.preconditioner")
"""Name prefixes of the modules that contain the functions of algorithms."""

Known: TypeAlias = Mapping[str, Any]
"""Parameters and local names with the values that the reading fixes."""

UNKNOWN: Any = object()
"""Marker for the value of an expression that the reading doesn't fix."""


@cache
def options_of(function: FunctionType) -> dict[str, type[StrEnum]]:
    """Parameters of a function that are options, each with its enum."""
    space = function.__globals__
    named = {n: space.get(str(note)) for n, note in function.__annotations__.items() if n != "return"}
    return {n: kind for n, kind in named.items() if isinstance(kind, type) and issubclass(kind, StrEnum)}


@cache
def defaults_of(function: FunctionType) -> dict[str, Any]:
    """The default of each parameter of a function."""
    return {n: p.default for n, p in inspect.signature(function).parameters.items()}


class Deciding:
    """Evaluator of the expressions in one function whose values a reading fixes.

    Attributes:
        known: values of parameters and local names that the reading fixes.
        options: the options of the hyper-parameter record.
        space: the global names of the function's module.
    """

    known: dict[str, Any]
    options: Known
    space: Known

    def is_record(self, name: str) -> bool:
        """True if a name refers to the record of hyper-parameters and options."""
        return name == "h"

    def value(self, node: ast.expr) -> Any:
        """Value of an expression if the reading fixes it (an option, or a test of options); else ``UNKNOWN``."""
        match node:
            case ast.Constant(value=bool(value)):
                return value
            case ast.Tuple(elts=elts) if elts:
                values = tuple(map(self.value, elts))
                return UNKNOWN if UNKNOWN in values else values
            case ast.Name(id=name) if name in self.known:
                return self.known[name]
            case ast.Attribute(value=ast.Name(id=record), attr=name) if name in self.options and self.is_record(record):
                return self.options[name]
            case ast.Attribute(value=ast.Name(id=kind), attr=name):
                found = self.space.get(kind)
                return getattr(found, name) if isinstance(found, type) and issubclass(found, StrEnum) else UNKNOWN
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(self.value(left), op, right)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                value = self.value(inner)
                return UNKNOWN if value is UNKNOWN else not value
            case ast.BoolOp(op=op, values=values):
                found, end = [self.value(v) for v in values], isinstance(op, ast.Or)
                if any(v is end for v in found):
                    return end
                return UNKNOWN if UNKNOWN in found else not end
        return UNKNOWN

    def _compared(self, left: Any, op: ast.cmpop, right: ast.expr) -> Any:
        if isinstance(right, ast.Tuple | ast.Set):
            values = [self.value(v) for v in right.elts]
            if left is UNKNOWN or UNKNOWN in values or not isinstance(op, ast.In | ast.NotIn):
                return UNKNOWN
            return (left in values) is isinstance(op, ast.In)
        value = self.value(right)
        if left is UNKNOWN or value is UNKNOWN:
            return UNKNOWN
        return (left == value) is isinstance(op, ast.Is | ast.Eq)

    def fits(self, pattern: ast.pattern, value: Any) -> bool:
        """True if a value that the reading fixes matches the pattern of a ``case``."""
        match pattern:
            case ast.MatchValue(value=wanted):
                return bool(self.value(wanted) == value)
            case ast.MatchOr(patterns=patterns):
                return any(self.fits(p, value) for p in patterns)
            case ast.MatchSequence(patterns=patterns):
                return all(self.fits(p, v) for p, v in zip(patterns, value, strict=True))
        return isinstance(pattern, ast.MatchAs)
