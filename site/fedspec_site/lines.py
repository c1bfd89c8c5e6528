"""An algorithm's equations beside the statements that compute them, line by line where one names the other."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from fedspec.catalogue import Algorithm
from fedspec.rules import Equation, printed
from fedspec_site import mathml


@dataclass(frozen=True)
class Line:
    """An equation of the canonical reading, and what computes it.

    Attributes:
        equation: it, in our words.
        code: the statement, or all of its rule where that prints this equation alone; else empty.
        maths: each statement as mathematics; none where one of them is no formula.
    """

    equation: Equation
    code: str = ""
    maths: tuple[Markup, ...] = ()


def lines(a: Algorithm) -> list[Line]:
    """The equations that run in the canonical reading, in order."""
    known = {f"{f.__module__}.{f.__qualname__}": f for f in a.rules}
    options = a.resolve(a.readings[0].name, {})
    # A rule may have a name of its own for an option: what tells it is what it may be.
    chosen = {kind.__name__: options[n] for n, kind in a.options.items()}
    return [_line(e, known[e.rule], chosen) for e in a.equations]


def _line(e: Equation, rule: Callable[..., Any], options: Mapping[str, str]) -> Line:
    body = _body(rule)
    left = e.text.partition(" = ")[0].strip()
    anew: set[str] = set()
    found: list[tuple[ast.stmt, frozenset[str]]] = []
    for node in body:
        target = _target(node)
        if _same(target, left):
            found = [(node, frozenset(anew))]
        anew |= {target}
    if not found and len({one.id for one in printed(rule)}) == 1:
        # All of it computes its one equation.
        found = [(node, frozenset()) for node in body]
    function = inspect.unwrap(rule)
    usual = {type(p.default).__name__: str(p.default) for p in inspect.signature(function).parameters.values()}
    chosen = _Chosen({**usual, **options}, function.__globals__)
    code = "\n".join(ast.unparse(node) for node, _ in found)
    maths = [mathml.statement(chosen.visit(node), before) for node, before in found]
    return Line(e, code, tuple(m for m in maths if m) if all(maths) else ())


class _Chosen(ast.NodeTransformer):
    """Of ``a if option is Option.VALUE else b`` what runs under the options, by what kinds they are of."""

    def __init__(self, options: Mapping[str, str], known: Mapping[str, Any]) -> None:
        self.options, self.known = options, known

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        match node.test:
            case ast.Compare(
                left=ast.Name(),
                ops=[ast.Is()],
                comparators=[ast.Attribute(value=ast.Name(id=kind), attr=value)],
            ) if kind in self.options and kind in self.known:
                right = self.options[kind] == str(getattr(self.known[kind], value))
                chosen: ast.expr = self.visit(node.body if right else node.orelse)
                return chosen
        return node


def _body(rule: Callable[..., Any]) -> list[ast.stmt]:
    """The statements of a rule as it is printed, without its checks and its docstring."""
    function = inspect.unwrap(rule)
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(function))).body
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
    """Whether a name of the text is the left side of an equation: Delta is delta, nu(j) is nu."""
    return bool(name) and re.sub(r"\(.*\)|\^\+", "", left).lower() == name.lower()
