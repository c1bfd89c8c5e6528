"""What a stored line rests on, in eight digits each: the edited function and the laws that were asked.

Comments, docstrings and layout do not count. A law is its functions with everything that they name in
``fedspec_suite.laws``, and whom it asks: not how that is said, but which offers of the specification come of it. What
all laws share below that (cases, bench, running error bounds) is not in it, nor is what an edited function calls: after
a change there, the whole matrix is renewed. Rows of plugins are never in it.
"""

from __future__ import annotations

import ast
import functools
import hashlib
import inspect
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from types import FunctionType
from typing import Any

import fedspec_suite.laws
from fedspec.catalogue import ADDED
from fedspec.reference import SUBJECT
from fedspec_suite.kills import asking
from fedspec_suite.laws import Law, asked
from fedspec_suite.mutants import Mutant, texts

_HERE = fedspec_suite.laws.__name__
_SAID_ONLY = ("words", "source", "when", "cited", "simplify", "applies")
_ASKS_THE_SAME = {"costs": 1}
"""Fields that change what is asked of a mutant only where they differ from this."""


def of_mutant(mutant: Mutant) -> str:
    """What a mutant is: its function before and after the edit, and where and under which options it is made."""
    what = [mutant.rule, mutant.leaks, sorted(mutant.algorithms), sorted(mutant.options.items())]
    return _digits([*what, *(tree(ast.parse(text)) for text in texts(mutant))])


def of_law(law: Law, among: Iterable[str] = ()) -> str:
    """What a law asks, and whom, among the offers of these names; among all of them where none are named."""
    found: dict[str, Any] = {}
    _collect(law, found)
    # Where a piece stands is not part of it.
    return _digits([sorted(map(json.dumps, found.values())), sorted({*(among or offers())} & {*whom(law)})])


@functools.cache
def offers() -> Mapping[str, int]:
    """The number of each offer of the catalogue's own rows, by its name."""
    numbered = enumerate(SUBJECT.info.offers)
    return {asking.name(offer): number for number, offer in numbered if offer.algorithm not in ADDED}


def whom(law: Law) -> Iterator[str]:
    """The names of the offers that a law is asked of."""
    for name, number in offers().items():
        if not law.why_not(asking.offered(number), SUBJECT.info.offers[number].intermediates, concurrent=True):
            yield name


@functools.cache
def _said(node: ast.AST) -> Any:
    return tree(node)


def tree(node: Any) -> Any:
    """A piece of Python as nested lists, without its docstrings and without how a law says whom it asks."""
    match node:
        case ast.Expr(value=ast.Constant(value=str())) | ast.expr_context() | ast.keyword(arg="applies"):
            return None
        case ast.AST():
            parts = ((name, tree(value)) for name, value in ast.iter_fields(node))
            # Fields that are empty are left out: later Pythons have more of them.
            return [type(node).__name__, *(part for part in parts if part[1] not in (None, []))]
        case list():
            return [said for said in map(tree, node) if said is not None]
    return repr(node)


def _digits(what: Any) -> str:
    return hashlib.sha256(json.dumps(what).encode()).hexdigest()[:8]


def _collect(value: Any, found: dict[str, Any]) -> None:
    """The functions in a value and what they are made with, by where they stand."""
    match value:
        case functools.partial():
            _collect([value.func, value.args, value.keywords], found)
        case FunctionType():
            name = value.__qualname__.partition(".")[0]
            if value.__module__.startswith(_HERE) and name in (*_parsed(value.__module__).defined, "<lambda>"):
                _follow(_parsed(value.__module__), name, found, value.__code__.co_firstlineno)
            # A strategy of Hypothesis is a function around the one that stands in the text.
            _collect([cell.cell_contents for cell in value.__closure__ or ()], found)
        case Mapping():
            _collect([*value.items()], found)
        case list() | tuple() | set() | frozenset():
            for v in value:
                _collect(v, found)
        case str() | int() | float() | None:
            found[repr(value)] = repr(value)
        case _ if is_dataclass(value) and type(value).__module__.startswith(_HERE):
            asked = [(f.name, getattr(value, f.name)) for f in fields(value) if f.name not in _SAID_ONLY]
            _collect([(n, v) for n, v in asked if n not in _ASKS_THE_SAME or v != _ASKS_THE_SAME[n]], found)


class _Module:
    """What a module of laws defines at its top level, and what it takes from others."""

    def __init__(self, name: str) -> None:
        self.name, self.body = name, ast.parse(inspect.getsource(sys.modules[name]))
        self.defined: dict[str, ast.AST] = {}
        self.taken: dict[str, str] = {}
        for node in self.body.body:
            match node:
                case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                    self.defined[name] = node
                case ast.Assign() | ast.AnnAssign():
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    self.defined |= {n.id: node for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)}
                case ast.ImportFrom(module=str(origin), names=names) if origin.startswith(_HERE):
                    self.taken |= {a.asname or a.name: f"{origin}.{a.name}" for a in names}


_parsed = functools.cache(_Module)


def _follow(module: _Module, name: str, found: dict[str, Any], line: int = 0) -> None:
    """What a name of a module stands for, or the lambdas of a line, and what they name in their turn."""
    key = f"{module.name}.{name}" + (f" in line {line}" if name == "<lambda>" else "")
    if key in found:
        return
    lambdas = (n for n in ast.walk(module.body) if isinstance(n, ast.Lambda) and n.lineno == line)
    nodes = [*lambdas] if name == "<lambda>" else [module.defined[name]]
    found[key] = [_said(node) for node in nodes]
    for node in (n for top in nodes for n in ast.walk(top)):
        match node:
            case ast.Name(id=other) if other in module.defined:
                _follow(module, other, found)
            case ast.Name(id=other) if other in module.taken:
                _take(module.taken[other], found)
            case ast.Call(func=ast.Name(id="said"), args=[_, ast.Constant(value=str(table))]):
                # Each file of the folder may bring such a table.
                for file in sorted(m for m in sys.modules if m.startswith(module.name.rpartition(".")[0] + ".")):
                    _take(f"{file}.{table}", found)


def _take(whole: str, found: dict[str, Any]) -> None:
    """Follow a dotted name to where it stands; all of it where it is a module."""
    origin, _, name = whole.rpartition(".")
    if origin in (Law.__module__, asked.__name__):
        # What a law may say of itself is not what a law says: its fields are looked at one by one, and whom it asks.
        return
    if whole in sys.modules:
        for each in _parsed(whole).defined:
            _follow(_parsed(whole), each, found)
    elif name in _parsed(origin).defined:
        _follow(_parsed(origin), name, found)
    elif name in _parsed(origin).taken:
        _take(_parsed(origin).taken[name], found)
