"""Systematic edits of the rules that an algorithm runs: one sign, factor, root, square or old value at a time.

They are read off the text of the functions, so that a rule that joins the catalogue brings its own; each is a mutant
without a place in the catalogue, and says in words what it does to which expression.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterator
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.contract import Level
from fedspec.domains import DECAY, DOMAINS
from fedspec.rules import equations
from fedspec_suite.mutants import Mutant

WHERE = ("fedspec.client.", "fedspec.server.", "fedspec.mixing.", "fedspec.algorithms.", "fedspec.preconditioner")
"""Where the functions stand that an algorithm is made of; what lies below them (arithmetic, plans) is not edited."""

_DECAYS = frozenset(name for name, p in DOMAINS.items() if p.domain is DECAY)


class Edit(NamedTuple):
    """An edit.

    Attributes:
        words: what it does.
        symbol: what the edited statement assigns; empty where it returns a value.
        equation: the equation that a returned value stands for, where it stands for one.
        mutant: how it is run.
    """

    words: str
    symbol: str
    equation: str
    mutant: Mutant


def edits(algorithm: Algorithm, level: Level) -> Iterator[Edit]:
    """Every edit of the functions that an algorithm runs at a level, each said once."""
    said: set[tuple[str, str]] = set()
    for function in functions(algorithm, level):
        for edit in _edits(function):
            if (edit.words, edit.symbol) not in said:
                said.add((edit.words, edit.symbol))
                yield edit


def functions(algorithm: Algorithm, level: Level) -> list[FunctionType]:
    """The functions of the specification that an algorithm may call at a level, from those that its row holds."""
    held: list[Any]
    match algorithm.run:
        case LocalSolver(rule=rule):
            held = [rule]
        case Method(server=server, local=local):
            held = [server] if level == "server" else [server, local]
        case Program(step=step, served=served):
            held = [served.server] if served and level == "server" else [step]
    found: list[FunctionType] = []
    waiting = [f for f in held if isinstance(f, FunctionType)]
    while waiting:
        function = waiting.pop(0)
        if function in found or not function.__module__.startswith(WHERE):
            continue
        found.append(function)
        space = inspect.unwrap(function).__globals__
        named = (space.get(name) for name in _names(inspect.unwrap(function).__code__))
        waiting += [f for f in named if isinstance(f, FunctionType)]
    return found


def _names(code: CodeType) -> list[str]:
    """What a function and those within it look up in their module."""
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in _names(c)]
    return list(dict.fromkeys([*code.co_names, *inner]))


@cache
def _edits(function: FunctionType) -> tuple[Edit, ...]:
    source = textwrap.dedent(inspect.getsource(inspect.unwrap(function)))
    tree = ast.parse(source)
    rule = f"{function.__module__}.{function.__name__}"
    out = []
    for path, statement in _statements(tree):
        for words, changed in _changed(statement, _known_before(tree, statement)):
            edited = copy.deepcopy(tree)
            _replace(edited, path, changed)
            mutant = Mutant(
                id=f"{rule}: {words}",
                words=words,
                algorithms=(),
                rule=rule,
                old=source,
                new=ast.unparse(ast.fix_missing_locations(edited)),
            )
            symbol = _symbol(statement)
            said = equations(inspect.unwrap(function))
            out.append(Edit(words, symbol, said[-1].id if said and not symbol else "", mutant))
    return tuple(out)


def _statements(tree: ast.Module) -> list[tuple[tuple[tuple[str, int], ...], ast.stmt]]:
    """The statements that compute something, with the way to each from the module."""
    out: list[tuple[tuple[tuple[str, int], ...], ast.stmt]] = []

    def walk(node: ast.AST, path: tuple[tuple[str, int], ...]) -> None:
        for field in ("body", "orelse"):
            below = getattr(node, field, None)
            for i, child in enumerate(below if isinstance(below, list) else ()):
                here = (*path, (field, i))
                if isinstance(child, ast.Assign | ast.Return) and child.value is not None:
                    out.append((here, child))
                walk(child, here)

    walk(tree, ())
    return out


def _replace(tree: ast.Module, path: tuple[tuple[str, int], ...], statement: ast.stmt) -> None:
    node: Any = tree
    for field, i in path[:-1]:
        node = getattr(node, field)[i]
    field, i = path[-1]
    getattr(node, field)[i] = statement


def _symbol(statement: ast.stmt) -> str:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return "step" if name in {"x", "y"} else name
    return ""


def _known_before(tree: ast.Module, statement: ast.stmt) -> dict[str, ast.Attribute]:
    """The names assigned before a statement whose old value is in the state, each with that."""
    kept = {
        n.attr: n
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in {"state", "kept"}
    }
    assigned = {
        t.id
        for s in ast.walk(tree)
        if isinstance(s, ast.Assign) and s.lineno < statement.lineno
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    return {name: kept[name] for name in assigned & kept.keys() if name != "x"}


def _changed(statement: ast.stmt, kept: dict[str, ast.Attribute]) -> Iterator[tuple[str, ast.stmt]]:
    """The statement with one expression in it changed, and what that is in words."""
    count = sum(1 for _ in ast.walk(statement))
    for k in range(count):
        original = _nth(statement, k)
        if not isinstance(original, ast.expr):
            continue
        for words, new in _instead(original, kept):
            changed = copy.deepcopy(statement)
            target = _nth(changed, k)
            yield words, _Swap(target, new).visit(changed)


def _nth(statement: ast.stmt, k: int) -> ast.AST:
    return next(node for i, node in enumerate(ast.walk(statement)) if i == k)


class _Swap(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return copy.deepcopy(self.new) if node is self.old else super().visit(node)


def _instead(node: ast.expr, kept: dict[str, ast.Attribute]) -> Iterator[tuple[str, ast.expr]]:
    """What may stand for an expression by mistake."""
    if isinstance(node, ast.BinOp) and any(isinstance(side, ast.List) for side in (node.left, node.right)):
        return
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            if isinstance(a, ast.Constant) and isinstance(b, ast.Name | ast.BinOp):
                yield f"{_said(b)} stands for {_said(node)}", b
            else:
                turned: ast.operator = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                how = "subtracted, not added" if isinstance(op, ast.Add) else "added, not subtracted"
                yield f"{_said(b)} is {how}", ast.BinOp(a, turned, b)
                yield f"{_said(b)} is left out", a
                yield f"{_said(a)} is left out", b if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), b)
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            yield f"the factor {_said(a)} is left out", b
            yield f"the factor {_said(b)} is left out", a
            yield f"divided by {_said(a)}, not multiplied", ast.BinOp(b, ast.Div(), a)
            yield f"the factor {_said(a)} stands twice", ast.BinOp(a, ast.Mult(), node)
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            yield f"the division by {_said(b)} is left out", a
            yield f"multiplied by {_said(b)}, not divided", ast.BinOp(a, ast.Mult(), b)
            yield f"divided by {_said(b)} twice", ast.BinOp(node, ast.Div(), b)
        case ast.BinOp(left=a, op=ast.Pow(), right=ast.Constant()):
            yield f"{_said(a)} is not squared", a
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            more = ast.BinOp(b, ast.Add(), ast.Constant(1))
            yield f"the exponent {_said(b)} of {_said(a)} is one too large", ast.BinOp(a, ast.Pow(), more)
        case ast.Call(func=ast.Name(id="sqrt"), args=[a]):
            yield f"the root of {_said(a)} is not taken", a
        case ast.Call(func=ast.Name(id="maximum"), args=[a, b]):
            yield f"the maximum is not taken, {_said(a)} stands alone", a
            yield f"the maximum is not taken, {_said(b)} stands alone", b
        case ast.Name(id=name, ctx=ast.Load()) if name in kept:
            yield f"{name} of the event before stands for the new one", kept[name]
        case ast.Name(id=name, ctx=ast.Load()) if name in _DECAYS:
            yield f"1 - {name} stands for {name}", ast.BinOp(ast.Constant(1), ast.Sub(), node)
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in kept and ast.dump(node) == ast.dump(kept[name]):
            yield f"the new {name} stands for that of the event before", ast.Name(name, ast.Load())


def _said(node: ast.expr) -> str:
    """An expression as a person reads it."""
    return ast.unparse(node).replace("state.", "").replace("h.", "")
