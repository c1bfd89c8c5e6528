"""Systematic edits of the rules that an algorithm runs: one sign, factor, root or square at a time.

They are read off the text of the functions, so that a rule that joins the catalogue brings its own; each is a mutant
without a place in the catalogue, and says in words what it does to which expression.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from types import FunctionType
from typing import Any

from fedspec.rules import Equation, equations
from fedspec.source_text import copied, source_of
from fedspec_suite.diagnosis.edits.edit import Edit, swapped, unparsed
from fedspec_suite.diagnosis.edits.rewrites import rewritten
from fedspec_suite.diagnosis.edits.slips import instead, said
from fedspec_suite.mutants import Mutant, parsed
from fedspec_suite.mutants.mutant import of_name

LENGTH = 72
"""Largest length of an expression that is quoted around a change."""


def edits(found: Iterable[FunctionType]) -> Iterator[Edit]:
    """Yield every systematic edit of some functions; several may have the same words."""
    for function in found:
        yield from _edits(function)


@cache
def _edits(function: FunctionType) -> tuple[Edit, ...]:
    source = source_of(function)
    tree = parsed(source)
    rule = f"{function.__module__}.{function.__name__}"
    out = []
    own = equations(inspect.unwrap(function))
    for path, statement in statements(tree):
        for words, changed in _changed(statement):
            edited = copied(tree)
            put_statement(edited, path, changed)
            symbol = symbol_of(statement)
            where = "" if own else _in(statement, words)
            out.append(Edit(words + where, symbol, _mutant(rule, words, source, edited), _equation(own, symbol)))
    for words, target, whole in rewritten(tree):
        symbol = "step" if target in {"x", "y"} else target
        out.append(Edit(words, symbol, _mutant(rule, words, source, whole), _equation(own, symbol)))
    return tuple(out)


def _in(statement: ast.stmt, words: str) -> str:
    """The expression in which something is wrong, where no equation tells it."""
    whole = said(statement.value) if isinstance(statement, ast.Assign | ast.Return) and statement.value else ""
    return f" in {whole}" if len(whole) <= LENGTH and whole not in words and " in " not in words else ""


def _mutant(rule: str, words: str, source: str, edited: ast.Module) -> Mutant:
    return Mutant(id=f"{rule}: {words}", words=words, algorithms=(), rule=rule, old=source, new=unparsed(edited))


def _equation(said: Sequence[Equation], symbol: str) -> str:
    """Equation of a rule that a statement computes, by the assigned symbol; the last equation if it returns a value."""
    if not symbol:
        return said[-1].id if said else ""
    return of_name([e.id for e in said if not e.when], symbol)


def statements(tree: ast.Module) -> list[tuple[tuple[tuple[str, int], ...], ast.stmt]]:
    """Return the statements that compute a value, each with its path from the module."""
    out: list[tuple[tuple[tuple[str, int], ...], ast.stmt]] = []

    def walk(node: ast.AST, path: tuple[tuple[str, int], ...]) -> None:
        for field in ("body", "orelse", "cases"):
            below = getattr(node, field, None)
            for i, child in enumerate(below if isinstance(below, list) else ()):
                here = (*path, (field, i))
                if isinstance(child, ast.Assign | ast.Return) and child.value is not None:
                    out.append((here, child))
                walk(child, here)

    walk(tree, ())
    return out


def put_statement(tree: ast.Module, path: tuple[tuple[str, int], ...], statement: ast.stmt) -> None:
    """Replace the statement at the end of a path from the module."""
    node: Any = tree
    for field, i in path[:-1]:
        node = getattr(node, field)[i]
    field, i = path[-1]
    getattr(node, field)[i] = statement


def symbol_of(statement: ast.stmt) -> str:
    """Return the symbol that a statement assigns, as in equation ids; empty if it assigns no or several names."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return "step" if name in {"x", "y"} else name
    return ""


def _changed(statement: ast.stmt) -> Iterator[tuple[str, ast.stmt]]:
    """The statement with one expression in it changed, and what that is in words."""
    for node in ast.walk(statement):
        if isinstance(node, ast.expr):
            which = _which(statement, node)
            yield from ((f"{words}{which}", swapped(statement, node, new)) for words, new in instead(node))


def _which(statement: ast.stmt, node: ast.expr) -> str:
    """Words that tell a power from equal powers in a statement: the largest expression around it without these."""
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)):
        return ""
    nodes = [n for n in ast.walk(statement) if isinstance(n, ast.expr)]
    like = [n for n in nodes if ast.dump(n) == ast.dump(node)]
    around = [n for n in nodes if n is not node and [m for m in ast.walk(n) if m in like] == [node]]
    return f" in {said(around[0])}" if len(like) > 1 and around else ""
