"""Edits of execution order: a statement moved before or after others, or values accumulated while an update waits."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from fedspec.source_text import copied, loaded, stored
from fedspec_suite.diagnosis.edits.edit import Put, Rebuilt
from fedspec_suite.diagnosis.edits.rewrites import at, bodies
from fedspec_suite.diagnosis.edits.slips import said
from fedspec_suite.diagnosis.edits.systematic import symbol_of


def moved(tree: ast.Module) -> Iterator[Rebuilt]:
    """Yield edits that move a statement before one whose result it reads, or after one that reads its result.

    Only a name with an earlier value can be read too early.
    """
    for way in bodies(tree):
        block = at(tree, way)
        for k, statement in enumerate(block):
            written = set() if isinstance(statement, ast.FunctionDef) else stored(statement)
            if not written:
                continue
            for j in range(k + 1, len(block)):
                if isinstance(block[j], ast.Return | ast.FunctionDef):
                    break
                between = block[k + 1 : j + 1]
                # Whether the last one crossed makes a difference: it reads what is written, or writes what is read.
                reads = written & loaded(block[j]) or stored(block[j]) & (loaded(statement) | written)
                if not reads or not all(_had(tree, block, k, n) for n in written if n in loaded(*between)):
                    continue
                changed = copied(tree)
                into = at(changed, way)
                into.insert(j, into.pop(k))
                yield Rebuilt(f"{_short(statement)} comes after {_short(block[j])}", symbol_of(statement), changed)
            for j in range(k - 1, -1, -1):
                if isinstance(block[j], ast.FunctionDef):
                    break
                crossed = block[j:k]
                made = {n for s in crossed for n in stored(s)} & loaded(statement)
                reads = stored(block[j]) & loaded(statement) or written & loaded(block[j])
                # Past one statement alone it is the same as that one coming after.
                if j == k - 1 or not reads or not all(_had(tree, block, j, n) for n in made):
                    continue
                changed = copied(tree)
                into = at(changed, way)
                into.insert(j, into.pop(k))
                yield Rebuilt(f"{_short(statement)} comes before {_short(block[j])}", symbol_of(statement), changed)


def _had(tree: ast.Module, block: list[ast.stmt], k: int, n: str) -> bool:
    """True if a name has a value before a statement of a block: an argument, or a name assigned further up."""
    line = block[k].lineno
    given = {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
    return n in given or any(isinstance(s, ast.Assign) and s.lineno < line and n in stored(s) for s in ast.walk(tree))


def _short(statement: ast.stmt) -> str:
    """Words for a statement: the assigned name and its value."""
    match statement:
        case ast.Assign(targets=[target], value=value):
            return f"{said(target)} = {said(value)}"
        case ast.For(iter=turns):
            return f"the loop over {said(turns)}"
        case ast.If(test=test):
            return f"what is done where {said(test)}"
    return ast.unparse(statement)


TURNS = {
    "{s} is left out in the last turn": "{k} != {last}",
    "{s} is left out in the first turn": "{k} != {first}",
    "{s} is done in the last turn alone": "{k} == {last}",
    "{s} is done in the first turn alone": "{k} == {first}",
}
"""Conditions on a loop's iterations under which a statement may wrongly be executed, by their words."""


def in_some_turns(tree: ast.Module) -> Iterator[Rebuilt]:
    """Yield edits that execute a statement of a loop over a range only in some iterations."""
    loops = [n for n in ast.walk(tree) if isinstance(n, ast.For)]
    for at_loop, loop in enumerate(loops):
        match loop:
            case ast.For(target=ast.Name(id=k), iter=ast.Call(func=ast.Name(id="range"), args=[*start, stop])):
                first, last = ast.unparse(start[0]) if start else "0", f"{ast.unparse(stop)} - 1"
            case _:
                continue
        for j, statement in enumerate(loop.body):
            match statement:
                case ast.Assign(targets=[ast.Name(id=n)]) if _had(tree, loop.body, 0, n):
                    pass
                case _:
                    continue
            for words, when in TURNS.items():
                changed = copied(tree)
                into = [node for node in ast.walk(changed) if isinstance(node, ast.For)][at_loop].body
                test = ast.parse(when.format(k=k, first=first, last=last), mode="eval").body
                into[j] = ast.If(test, [into[j]], [])
                yield Rebuilt(words.format(s=_short(statement)), symbol_of(statement), changed)


GATHERED = {
    "the squares of all {g} since the last update are added, not the last one's": "sum(a**2 for a in since)",
    "the mean of the squares of all {g} since the last update stands for the last one's": (
        "sum(a**2 for a in since) / len(since)"
    ),
    "the square of the sum of all {g} since the last update stands for the last one's": "sum(since)**2",
    "the square of the mean of all {g} since the last update stands for the last one's": (
        "(sum(since) / len(since))**2"
    ),
}
"""Expressions that a delayed update may use on the values since its last time, by their words."""


def gathering(tree: ast.Module) -> Iterator[Rebuilt]:
    """Yield edits in which a delayed update uses all values since the last update, not only the last one."""
    for way in bodies(tree):
        for k, statement in enumerate(at(tree, way)):
            waiting = waits(statement)
            if waiting is None:
                continue
            square = next((n for n in ast.walk(waiting[1]) if _squared(n)), None)
            if square is None:
                continue
            g = ast.unparse(square.left)
            for words, text in GATHERED.items():
                changed = copied(tree)
                into = at(changed, way)
                Put(copied(square), ast.parse(f"({text})", mode="eval").body).visit(into[k])
                into.insert(k + 1, ast.If(copied(waiting[0]), ast.parse("used()").body, []))
                into.insert(k, ast.parse(f"since = gathered({g})").body[0])
                yield Rebuilt(words.format(g=g), symbol_of(statement), changed)


def waits(statement: ast.stmt) -> tuple[ast.expr, ast.AST] | None:
    """Return the condition and the body of a delayed update; None if the statement isn't one."""
    match statement:
        case ast.Assign(value=ast.IfExp(test=test, body=update)) if "due" in ast.unparse(test):
            return test, update
        case ast.If(test=test, body=updates, orelse=[]) if "due" in ast.unparse(test):
            return test, ast.Module(updates, [])
    return None


def _squared(node: ast.AST) -> TypeGuard[ast.BinOp]:
    match node:
        case ast.BinOp(left=ast.Name(), op=ast.Pow(), right=ast.Constant(value=2)):
            return True
    return False


def assigned(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """Yield each name that the statement assigns, with its value."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=n)], value=value):
            yield n, value
        case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
            yield from ((n.id, value) for n, value in zip(names, values, strict=True) if isinstance(n, ast.Name))


def reads(node: ast.AST, names: set[str]) -> bool:
    """True if the node reads one of the names."""
    return any(isinstance(n, ast.Name) and n.id in names for n in ast.walk(node))
