"""Mutations of the specification's rule modules by cosmic-ray's operators, without those that no vector could
detect.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.operators.operator import Operator
from cosmic_ray.operators.provider import OperatorProvider

PACKAGES = ("client", "mixing", "server", "algorithms")
MODULES = ("covers", "population", "preconditioner")
"""Modules of ``fedspec`` that are edited: the packages of rules, and the modules that several rules share."""

_ARITHMETIC = "(Add|Sub|Mul|Div|Pow)"
_ORDER = "(Eq|NotEq|Lt|LtE|Gt|GtE)"
_CHOSEN = re.compile(
    f"ReplaceBinaryOperator_{_ARITHMETIC}_{_ARITHMETIC}|ReplaceComparisonOperator_({_ORDER}_{_ORDER}|Is_IsNot|IsNot_Is)"
    "|ReplaceUnaryOperator_(USub_UAdd|UAdd_USub|Delete_Not)|AddNot|ReplaceTrueWithFalse|ReplaceFalseWithTrue"
    "|ReplaceAndWithOr|ReplaceOrWithAnd|ReplaceBreakWithContinue|ReplaceContinueWithBreak|NumberReplacer"
    "|ZeroIterationForLoop"
)
OPERATORS = tuple(name for name in OperatorProvider() if _CHOSEN.fullmatch(name))
"""Operators that can change a number. Bits, shifts, ``//`` and ``%`` would end in a TypeError and only raise the
rate; ``is`` and ``==`` mean the same for readings; decorators and exceptions are no part of the mathematics.
"""

_SUMS_AND_PRODUCTS = {"arith_expr", "term", "power"}

TABLE, SIGNATURE, REFUSAL = "outside functions", "in a signature", "refuses bad input"


@dataclass(frozen=True, eq=False)
class Edit:
    """Edit of a module at one place.

    Attributes:
        module: its dotted name.
        function: the outermost function or method around the place; empty outside.
        operator: cosmic-ray's name.
        occurrence: number of the place among those where the operator applies.
        line: its line.
        node: the piece of the module's tree, and the number of the edit among the operator's edits of it.
        left_out: reason why no vector could show it; empty if one should.
    """

    module: str
    function: str
    operator: str
    occurrence: int
    line: int
    left_out: str
    node: Any
    index: int

    def applied(self) -> str:
        """Return the module's text with the edit; it changes the tree that all edits share, so call it only in a
        child process.
        """
        new = _operator(self.operator).mutate(self.node, self.index)
        if new is not self.node:
            self.node.parent.children = [new if c is self.node else c for c in self.node.parent.children]
        text: str = self.node.get_root_node().get_code()
        return text

    @functools.cached_property
    def shown(self) -> str:
        """Lines that the edit changes, before and after, without line numbers."""
        new = mutate_code(source(self.module), _operator(self.operator), self.occurrence)
        assert new is not None
        pairs = zip(source(self.module).splitlines(), new.splitlines(), strict=True)
        return " / ".join(f"{a.strip()}  ->  {b.strip()}" for a, b in pairs if a != b)


def modules() -> list[str]:
    """Return the dotted names of all modules to mutate."""
    (root,) = find_spec("fedspec").submodule_search_locations  # type: ignore[union-attr, misc]
    found = [f"fedspec.{name}" for name in MODULES]
    for package in PACKAGES:
        paths = sorted(Path(root, package).glob("*.py"))
        found += [f"fedspec.{package}.{path.stem}" for path in paths if path.stem != "__init__"]
    return found


@functools.cache
def path_of(module: str) -> str:
    """Return the file of a module."""
    found = find_spec(module)
    assert found is not None and found.origin is not None
    return found.origin


@functools.cache
def source(module: str) -> str:
    """Return the text of a module."""
    return Path(path_of(module)).read_text(encoding="utf-8")


@functools.cache
def _operator(name: str) -> Operator:
    made: Operator = OperatorProvider()[name]()
    return made


def edits(module: str) -> Iterator[Edit]:
    """Yield every edit of a module, in the order of the operators."""
    nodes, places = list(ast_nodes(get_ast(source(module)))), _places(module)
    for name in OPERATORS:
        spots = ((n, k, at) for n in nodes for k, (at, _) in enumerate(_operator(name).mutation_positions(n)))
        for occurrence, (node, index, (line, column)) in enumerate(spots):
            # cosmic-ray takes the star of a signature and of a display for a product or a power.
            if not name.startswith("ReplaceBinaryOperator") or node.parent.type in _SUMS_AND_PRODUCTS:
                function, why = places.of(line, column)
                yield Edit(module, function, name, occurrence, line, why, node, index)


Range = tuple[tuple[int, int], tuple[int, int]]


def _range(node: ast.AST) -> Range:
    return (node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


class _Places:
    """Places of functions and refusals in a module."""

    def __init__(self, text: str) -> None:
        tree = ast.parse(text)
        self.functions: dict[str, tuple[Range, tuple[int, int]]] = {}
        self.refusals: list[Range] = []
        bodies = [("", tree.body), *((f"{c.name}.", c.body) for c in tree.body if isinstance(c, ast.ClassDef))]
        for prefix, body in bodies:
            for f in body:
                if isinstance(f, ast.FunctionDef):
                    first = min([f.lineno, *(d.lineno for d in f.decorator_list)])
                    self.functions[prefix + f.name] = ((first, 0), _range(f)[1]), _range(f.body[0])[0]
        for node in ast.walk(tree):
            match node:
                case ast.Raise() | ast.Assert() | ast.keyword(arg="strict"):
                    self.refusals.append(_range(node))
                case ast.If(test=test, body=[*_, ast.Raise()]):
                    self.refusals += [_range(test), *map(_range, node.body)]
                case ast.FunctionDef(name=name) if re.match(r"__post_init__|_?check|_?require", name):
                    self.refusals.append(_range(node))

    def of(self, line: int, column: int) -> tuple[str, str]:
        """The function of a place, and why an edit there is left out, if it is."""
        at = (line, column)
        for name, ((start, end), body) in self.functions.items():
            if start <= at < end:
                if at < body:
                    return name, SIGNATURE
                return name, REFUSAL if any(a <= at < b for a, b in self.refusals) else ""
        return "", TABLE


@functools.cache
def _places(module: str) -> _Places:
    return _Places(source(module))


def functions(module: str) -> list[str]:
    """Return the functions and methods of a module, without nested ones."""
    return [*_places(module).functions]


def lines_of(module: str, function: str) -> range:
    """Return the lines of a function, decorators included, since a decorated function's code begins there."""
    (((start, _), (end, _)), _) = _places(module).functions[function]
    return range(start, end + 1)
