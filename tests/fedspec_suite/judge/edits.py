"""Systematic edits of the rules that an algorithm runs: one sign, factor, root, square or old value at a time.

They are read off the text of the functions, so that a rule that joins the catalogue brings its own; each is a mutant
without a place in the catalogue, and says in words what it does to which expression.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Iterator, Sequence
from functools import cache
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from fedspec.catalogue import Algorithm, LocalSolver, Method, Program
from fedspec.contract import Level
from fedspec.domains import DECAY, DOMAINS
from fedspec.rules import Equation, equations
from fedspec_suite.mutants import Mutant

WHERE = ("fedspec.client.", "fedspec.server.", "fedspec.mixing.", "fedspec.algorithms.", "fedspec.preconditioner")
"""Where the functions stand that an algorithm is made of; what lies below them (arithmetic, plans) is not edited."""

_DECAYS = frozenset(name for name, p in DOMAINS.items() if p.domain is DECAY)


class Edit(NamedTuple):
    """An edit.

    Attributes:
        words: what it does.
        symbol: what the edited statement assigns; empty where it returns a value.
        equation: the equation that the statement computes, where its function prints it.
        mutant: how it is run.
    """

    words: str
    symbol: str
    equation: str
    mutant: Mutant


def edits(algorithm: Algorithm, level: Level) -> Iterator[Edit]:
    """Every edit of the functions that an algorithm runs at a level; the words of some are the same."""
    for function in functions(algorithm, level):
        yield from _edits(function)


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
    said = equations(inspect.unwrap(function))
    for path, statement in statements(tree):
        known = _known_before(tree, statement, {e.id.rpartition(".")[2] for e in said})
        for words, changed in _changed(statement, known):
            edited = copy.deepcopy(tree)
            put_statement(edited, path, changed)
            mutant = Mutant(
                id=f"{rule}: {words}",
                words=words,
                algorithms=(),
                rule=rule,
                old=source,
                new=ast.unparse(ast.fix_missing_locations(edited)),
            )
            symbol = _symbol(statement)
            out.append(Edit(words, symbol, _equation(said, symbol), mutant))
    return tuple(out)


def _equation(said: Sequence[Equation], symbol: str) -> str:
    """The equation of a rule that a statement computes: by what it assigns, or the last where it returns a value."""
    if not symbol:
        return said[-1].id if said else ""
    return next((e.id for e in said if e.id.endswith(f".{symbol}") and not e.when), "")


def statements(tree: ast.Module) -> list[tuple[tuple[tuple[str, int], ...], ast.stmt]]:
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


def put_statement(tree: ast.Module, path: tuple[tuple[str, int], ...], statement: ast.stmt) -> None:
    """Put a statement where the way from the module leads."""
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


class _AtHand(NamedTuple):
    """What a statement may use by mistake.

    Attributes:
        kept: the names assigned before it whose old value is in the state, each with that.
        vectors: the vectors that the function is given or has computed before, where it is a rule with equations.
        decays: the decays that it is given.
    """

    kept: dict[str, ast.Attribute]
    vectors: tuple[str, ...]
    decays: tuple[str, ...]


def _known_before(tree: ast.Module, statement: ast.stmt, symbols: set[str]) -> _AtHand:
    kept = {
        n.attr: n
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id in {"state", "kept"}
    }
    assigned = {
        t.id: None
        for s in ast.walk(tree)
        if isinstance(s, ast.Assign) and s.lineno < statement.lineno
        for t in s.targets
        if isinstance(t, ast.Name)
    }
    given = [a for f in tree.body[:1] if isinstance(f, ast.FunctionDef) for a in (*f.args.args, *f.args.kwonlyargs)]
    vectors = [a.arg for a in given if isinstance(a.annotation, ast.Name) and a.annotation.id == "Vector"]
    return _AtHand(
        kept={name: kept[name] for name in assigned if name in kept and name != "x"},
        vectors=(*vectors, *(n for n in assigned if n in symbols and n not in vectors)) if symbols else (),
        decays=tuple(a.arg for a in given if a.arg in _DECAYS),
    )


def _changed(statement: ast.stmt, known: _AtHand) -> Iterator[tuple[str, ast.stmt]]:
    """The statement with one expression in it changed, and what that is in words."""
    for k, original in enumerate(ast.walk(statement)):
        if not isinstance(original, ast.expr):
            continue
        for words, new in (*_instead(original, known), *_exchanged(statement, original, known)):
            changed = copy.deepcopy(statement)
            target = _nth(changed, k)
            yield words, _Swap(target, new).visit(changed)


def _exchanged(statement: ast.stmt, node: ast.expr, known: _AtHand) -> Iterator[tuple[str, ast.expr]]:
    """Another vector at hand in the place of one; which place is said where it stands in several."""
    if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in known.vectors):
        return
    nodes = list(ast.walk(statement))
    if any(isinstance(n, ast.keyword) and n.value is node for n in nodes):
        # What a record keeps under a name, or a function is told by one, is not mistaken for another.
        return
    places = [n for n in nodes if isinstance(n, ast.Name) and n.id == node.id]
    places = sorted((n for n in places if isinstance(n.ctx, ast.Load)), key=lambda n: (n.lineno, n.col_offset))
    which = node.id
    if len(places) > 1:
        # The smallest expression that holds them all.
        inside = [n for n in nodes if isinstance(n, ast.expr) and {*places} <= {*ast.walk(n)}]
        which = f"{_ORDINAL[min(places.index(node), 3)]} {node.id} in {_said(inside[-1])}"
    for other in known.vectors:
        if other != node.id:
            yield f"{other} stands for {which}", ast.Name(other, ast.Load())


_ORDINAL = ("the first", "the second", "the third", "another")


def _nth(statement: ast.stmt, k: int) -> ast.AST:
    return next(node for i, node in enumerate(ast.walk(statement)) if i == k)


class _Swap(ast.NodeTransformer):
    """Puts one node in the place of another."""

    def __init__(self, old: ast.AST, new: ast.AST) -> None:
        self.old, self.new = old, new

    def visit(self, node: ast.AST) -> Any:
        return copy.deepcopy(self.new) if node is self.old else super().visit(node)


def _instead(node: ast.expr, known: _AtHand) -> Iterator[tuple[str, ast.expr]]:
    """What may stand for an expression by mistake."""
    kept = known.kept
    if isinstance(node, ast.BinOp) and any(isinstance(side, ast.List) for side in (node.left, node.right)):
        return
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            if isinstance(a, ast.Constant) and isinstance(b, ast.Name | ast.BinOp):
                yield f"{_said(b)} stands for {_said(node)}", b
                for other in known.decays:
                    if isinstance(b, ast.Name) and b.id in known.decays and other != b.id:
                        yield f"1 - {other} stands for {_said(node)}", ast.BinOp(a, op, ast.Name(other, ast.Load()))
            else:
                turned: ast.operator = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                how = "subtracted, not added" if isinstance(op, ast.Add) else "added, not subtracted"
                yield f"{_said(b)} is {how}", ast.BinOp(a, turned, b)
                yield f"{_said(b)} is left out", a
                yield f"{_said(a)} is left out", b if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), b)
                if (decay := _decayed(a)) and isinstance(op, ast.Add) and f"1 - {decay.id}" not in ast.unparse(b):
                    share = ast.BinOp(ast.Constant(1), ast.Sub(), decay)
                    yield (
                        f"{_said(b)} is multiplied by {_said(share)}",
                        ast.BinOp(a, op, ast.BinOp(share, ast.Mult(), b)),
                    )
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
            minus = ast.UnaryOp(ast.USub(), a)
            yield (
                f"the magnitude of {_said(a)} stands for its square",
                ast.Call(ast.Name("maximum", ast.Load()), [a, minus], []),
            )
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            more = ast.BinOp(b, ast.Add(), ast.Constant(1))
            yield f"the exponent {_said(b)} of {_said(a)} is one too large", ast.BinOp(a, ast.Pow(), more)
        case ast.Call(func=ast.Name(id="sqrt"), args=[a]):
            yield f"the root of {_said(a)} is not taken", a
        case ast.Call(func=ast.Name(id="maximum"), args=[a, b]):
            yield f"the maximum is not taken, {_said(a)} stands alone", a
            yield f"the maximum is not taken, {_said(b)} stands alone", b
        case ast.Compare(
            left=ast.BinOp(left=counted, op=ast.Mod(), right=ast.Name(id=z)),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            # Who asks whether t mod z is 1 asks for the first of every z, but for z = 1.
            unless = [
                ast.Compare(ast.Name(n, ast.Load()), [ast.Gt()], [ast.Constant(1)]) for n in (z, *_divisors(counted))
            ]
            for k in range(len(unless), 0, -1):
                where = " and ".join(f"{ast.unparse(c.left)} = 1" for c in unless[:k])
                some = ast.BoolOp(ast.Or(), [*unless[:k], ast.Constant(False)])
                yield f"never where {where}, as if t mod {z} had to be 1", ast.BoolOp(ast.And(), [node, some])
        case ast.Name(id=name, ctx=ast.Load()) if name in kept:
            yield f"{name} of the event before stands for the new one", kept[name]
        case ast.Name(id=name, ctx=ast.Load()) if name in _DECAYS:
            yield f"1 - {name} stands for {name}", ast.BinOp(ast.Constant(1), ast.Sub(), node)
        case ast.Attribute(attr=name, ctx=ast.Load()) if name in kept and ast.dump(node) == ast.dump(kept[name]):
            yield f"the new {name} stands for that of the event before", ast.Name(name, ast.Load())


def _divisors(node: ast.expr) -> tuple[str, ...]:
    """By which names a count is divided before it is asked for a remainder."""
    match node:
        case ast.BinOp(op=ast.FloorDiv(), right=ast.Name(id=name)):
            return (name,)
    return ()


def _decayed(node: ast.expr) -> ast.Name | None:
    """The decay that an expression is a multiple of."""
    match node:
        case ast.BinOp(left=ast.Name(id=name) as decay, op=ast.Mult()) if name in _DECAYS:
            return decay
    return None


def _said(node: ast.expr) -> str:
    """An expression as a person reads it; of two that an option chooses between, the usual one."""
    if isinstance(node, ast.IfExp):
        return _said(node.body)
    return ast.unparse(node).replace("state.", "").replace("h.", "")
