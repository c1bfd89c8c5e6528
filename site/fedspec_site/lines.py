"""Algorithm's equations paired with the statements that compute them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from fedspec.catalogue import Algorithm
from fedspec.folding import decided_of, folding_of
from fedspec.rules import Equation, printed
from fedspec.source_text import source_of


@dataclass(frozen=True)
class Line:
    """Equation of the canonical reading, and the code that computes it.

    Attributes:
        equation: the equation, in our words.
        code: the statement, or all of its rule where that prints this equation alone; else empty.
    """

    equation: Equation
    code: str = ""


def lines(a: Algorithm) -> list[Line]:
    """Return the equations of the canonical reading, in order, each with its code."""
    known = {f"{f.__module__}.{f.__qualname__}": f for f in a.rules}
    return [_line(e, known[e.rule], _body(a, known[e.rule])) for e in a.equations]


def _line(e: Equation, rule: Callable[..., Any], body: list[ast.stmt]) -> Line:
    left = e.text.partition(" = ")[0].strip()
    found = [node for node in body if _same(_target(node), left)][-1:]
    if not found and len({one.id for one in printed(rule)}) == 1:
        # All of it computes its one equation.
        found = body
    return Line(e, "\n".join(map(ast.unparse, found)))


def _body(a: Algorithm, rule: Callable[..., Any]) -> list[ast.stmt]:
    """The statements of a rule under the canonical reading, without its checks and its docstring."""
    f, folding = inspect.unwrap(rule), folding_of(a)
    assert isinstance(f, FunctionType)
    folding.fold(f, decided_of(a, folding, f))
    (node,) = ast.parse(folding.texts.get(f) or source_of(f)).body
    assert isinstance(node, ast.FunctionDef)
    return [_bare(s) for s in node.body if not isinstance(s, ast.Expr) and not _refuses(s)]


def _refuses(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.body[-1], ast.Raise)


def _bare(node: ast.stmt) -> ast.stmt:
    """A statement without the type of what it sets."""
    if isinstance(node, ast.AnnAssign) and node.value is not None:
        return ast.copy_location(ast.Assign([node.target], node.value), node)
    return node


def _target(node: ast.stmt) -> str:
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
    return ""


def _same(name: str, left: str) -> bool:
    """True if a name of the text is the left side of an equation: Delta is delta, nu(j) is nu."""
    return bool(name) and re.sub(r"\(.*\)|\^\+", "", left).lower() == name.lower()
