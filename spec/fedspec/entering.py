"""Static analysis of a function's source: the rules that it calls and the names that it returns.

:func:`read` walks through a function as a run does, under some values of its options: of a test that these values
decide it follows one branch, of any other test both. It follows the functions of the specification and of your own
algorithms by name, including local names and functions that are passed as arguments. It doesn't follow methods.
"""

from __future__ import annotations

import ast
import inspect
import linecache
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

from fedspec.deciding import UNKNOWN, WHERE, Deciding, defaults_of, options_of
from fedspec.hyper import keywords
from fedspec.plugins import is_own
from fedspec.rules import printed
from fedspec.source_text import assigned_in, definition_of

Function: TypeAlias = Callable[..., Any]

RECORD: Any = object()
"""Marker for a name that refers to the record of hyper-parameters and options."""


@dataclass(eq=False)
class Read:
    """Findings about a function: rules that it calls, names that it returns, attributes that it reads.

    Attributes:
        rules: the functions that print equations, in the order of the calls.
        keys: the names of the values that the function returns.
        attributes: the attributes that the function reads.
    """

    rules: dict[Function, None] = field(default_factory=dict)
    keys: dict[str, None] = field(default_factory=dict)
    attributes: set[str] = field(default_factory=set)

    def add(self, other: Read) -> None:
        """Merge the findings about another function into these."""
        self.rules |= other.rules
        self.keys |= other.keys
        self.attributes |= other.attributes


def unwrapped(function: Function) -> FunctionType:
    """Return the innermost function, below all decorators."""
    f = inspect.unwrap(function)
    assert isinstance(f, FunctionType), f
    return f


@cache
def read(f: Function, known: tuple[tuple[str, Any], ...], options: tuple[tuple[str, Any], ...]) -> Read:
    """Return the findings about a function if some parameters have known values; a rule comes last in its own list."""
    return _Reading(f, dict(known), dict(options)).found


@cache
def _definitions(file: str) -> dict[tuple[str, int], ast.FunctionDef]:
    """The functions of a file by their name and first line."""
    tree = ast.parse("".join(linecache.getlines(file)))
    found = [n for n in tree.body if isinstance(n, ast.FunctionDef)]
    return {(n.name, min([n.lineno, *(d.lineno for d in n.decorator_list)])): n for n in found}


@cache
def _own(code: CodeType) -> frozenset[str]:
    """Names that a function and its inner functions bind."""
    inner = (_own(c) for c in code.co_consts if isinstance(c, CodeType))
    return frozenset((*code.co_varnames, *code.co_cellvars)).union(*inner)


@cache
def _bound_names(f: FunctionType) -> Counter[str]:
    """The names that a function binds, as often as it does."""
    return Counter(assigned_in(definition_of(f)))


class _Reading(Deciding, ast.NodeVisitor):
    """Reads one function as it runs."""

    def __init__(self, function: Function, known: dict[str, Any], options: Mapping[str, Any]) -> None:
        self.function, self.f, self.found = function, unwrapped(function), Read()
        self.space, self.known, self.options = self.f.__globals__, known, options
        self.later, self.own = defaultdict[str, list[ast.AST]](list), dict[str, None]()
        code = self.f.__code__
        node = _definitions(code.co_filename).get((self.f.__name__, code.co_firstlineno))
        if node is not None:
            self.block(node.body)
        self.found.keys = self.own | self.found.keys
        self._run()

    def _run(self) -> None:
        """List the function itself, if it prints equations."""
        if printed(self.f):
            self.found.rules[self.function] = None

    def is_record(self, name: str) -> bool:
        return self.known.get(name) is RECORD

    def block(self, body: Iterable[ast.stmt]) -> bool:
        """Read statements up to one that ends the function; true if there is one."""
        return any(self._ends(s) for s in body)

    def _ends(self, s: ast.stmt) -> bool:
        match s:
            case ast.If(test=test, body=body, orelse=orelse):
                value = self.value(test)
                self.visit(test)
                return self.block(body if value else orelse) if value is not UNKNOWN else self._either((body, orelse))
            case ast.Match(subject=subject, cases=cases):
                value = self.value(subject)
                self.visit(subject)
                if value is not UNKNOWN:
                    return next((self.block(c.body) for c in cases if self.fits(c.pattern, value)), False)
                return self._either([*(c.body for c in cases), []])
            case ast.Return(value=ast.Call(func=func)) if self._function(func):
                # The equations of the function that is called last go on from its own.
                self._run()
        self.visit(s)
        return isinstance(s, ast.Return | ast.Raise)

    def _either(self, blocks: Iterable[Sequence[ast.stmt]]) -> bool:
        before, ends = dict(self.known), []
        for body in blocks:
            ends.append(self.block(body))
            self.known = dict(before)
        return all(ends)

    def visit_If(self, node: ast.If) -> None:
        self._ends(node)

    def visit_Match(self, node: ast.Match) -> None:
        self._ends(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        value = self.value(node.test)
        taken = [node.test, node.body, node.orelse] if value is UNKNOWN else [node.body if value else node.orelse]
        for branch in taken:
            self.visit(branch)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.later[node.name].append(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)]) if self._names_function(node.value):
                self.later[name].append(node.value)
                return
            case ast.Assign(targets=[ast.Name(id=name)]):
                self._settle(name, node.value)
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                for target, value in zip(names, values, strict=False):
                    if isinstance(target, ast.Name):
                        self._settle(target.id, value)
        self.visit(node.value)

    def _settle(self, name: str, node: ast.expr) -> None:
        value = self.value(node)
        if value is not UNKNOWN and _bound_names(self.f)[name] == 1:
            self.known[name] = value

    def _names_function(self, node: ast.expr) -> bool:
        """True if an expression is the name of a function that is entered at its later call."""
        match node:
            case ast.Name(id=name):
                return name in self.later or self._function(node) is not None
            case ast.IfExp(body=body, orelse=orelse):
                return self._names_function(body) and self._names_function(orelse)
            case ast.Call(func=ast.Name(id=name), args=[f, *_]) if self.space.get(name) is partial:
                return self._names_function(f)
        return isinstance(node, ast.Lambda)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(handed := self.known.get(node.id), Read):
            self.found.add(handed)
        elif node.id in self.later:
            for after in self.later.pop(node.id):
                self._enter_local(after)
        elif (f := self._function(node)) is not None:
            self._enter(f, {})
        elif isinstance(table := self._global(node.id), dict):
            for f in table.values():
                if isinstance(f, FunctionType):
                    self._enter(f, {})

    def _enter_local(self, node: ast.AST) -> None:
        if not isinstance(node, ast.FunctionDef):
            self.visit(node)
            return
        before, own = self.known, {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
        self.known = {n: v for n, v in before.items() if n not in own}
        self.block(node.body)
        self.known = before

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.found.attributes.add(node.attr)
        if (f := self._function(node)) is not None:
            self._enter(f, {})
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        table = self._global(node.value.id) if isinstance(node.value, ast.Name) else None
        key = self.value(node.slice)
        if isinstance(table, dict) and key is not UNKNOWN and isinstance(f := table.get(key), FunctionType):
            self._enter(f, {})
            return
        self.generic_visit(node)

    def visit_Dict(self, node: ast.Dict) -> None:
        self._return(*(k.value for k in node.keys if isinstance(k, ast.Constant) and isinstance(k.value, str)))
        self.generic_visit(node)

    def _return(self, *names: str) -> None:
        if not self.f.__module__.startswith(WHERE) or self.f.__module__.startswith("fedspec.algorithms."):
            self.own.update(dict.fromkeys(names))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Attribute) and node.func.attr == "of":
            # The numbers of a rule, which is no call of it.
            return
        if isinstance(node.func, ast.Name) and node.func.id == "dict":
            self._return(*(k.arg for k in node.keywords if k.arg))
        func, args = node.func, node.args
        if isinstance(func, ast.Name) and self.space.get(func.id) is partial and args:
            func, args = args[0], args[1:]
        f = self._function(func)
        named = dict(zip(defaults_of(unwrapped(f)), args, strict=False)) if f else {}
        named |= {k.arg: k.value for k in node.keywords if k.arg and f}
        # A function that is handed over runs where the one that is called reads it.
        handed = {n: self._alone(a) for n, a in named.items() if self._names_function(a)}
        given = [a for a in (*args, *(k.value for k in node.keywords)) if all(a is not named[n] for n in handed)]
        for a in sorted(given, key=self._names_function):
            self.visit(a)
        if f is None:
            self.visit(func)
        else:
            self._enter(f, {**self._left_out(f, node), **{n: self.value(a) for n, a in named.items()}, **handed})

    def _alone(self, node: ast.expr) -> Read:
        before, self.found, self.own = (self.found, self.own), Read(), {}
        self.visit(node)
        found = Read(self.found.rules, self.own | self.found.keys, self.found.attributes)
        self.found, self.own = before
        return found

    def _left_out(self, f: Function, call: ast.Call) -> dict[str, Any]:
        """The parameters of a function at the values that they have if a call does not name them."""
        left = dict(defaults_of(unwrapped(f)))
        for k in call.keywords:
            match k:
                case ast.keyword(arg=None, value=ast.Call(func=ast.Attribute(attr="of"), args=[of])):
                    held = self._function(of)
                    left |= {n: self.options[n] for n in keywords(unwrapped(held)) if n in self.options} if held else {}
                case ast.keyword(arg=None):
                    left = {}
        return {} if any(isinstance(a, ast.Starred) for a in call.args) else left

    def _enter(self, f: Function, values: Mapping[str, Any]) -> None:
        inner = unwrapped(f)
        if inner is self.f:
            return
        options = {n for n in options_of(inner) if values.get(n) not in (None, UNKNOWN, inspect.Parameter.empty)}
        known = {n: v for n, v in values.items() if n in options or v is RECORD or isinstance(v, bool | Read)}
        self.found.add(read(f, tuple(known.items()), tuple(self.options.items()) if RECORD in known.values() else ()))

    def _global(self, name: str) -> Any:
        return None if name in _own(self.f.__code__) else self.space.get(name)

    def _function(self, node: ast.expr) -> Function | None:
        """The function of the specification, or of an own algorithm, that an expression names."""
        match node:
            case ast.Name(id=name):
                f = self._global(name)
            case ast.Attribute(value=ast.Name(id=name), attr=attr) if isinstance(self.space.get(name), ModuleType):
                f = vars(self.space[name]).get(attr)
            case _:
                return None
        if not isinstance(f, FunctionType) or f.__name__ == "<lambda>":
            return None
        module = unwrapped(f).__module__
        return f if module.startswith(WHERE) or module == self.f.__module__ or is_own(module) else None
