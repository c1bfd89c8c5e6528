"""Edits of how a rule uses its moments: divided elsewhere, bias-corrected, or updated only sometimes."""

from __future__ import annotations

import ast
import itertools
import symtable
from collections.abc import Iterator
from typing import Any, TypeGuard

from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.edit import Put, Rebuilt
from fedspec_suite.diagnosis.edits.moved import assigned, reads, waits
from fedspec_suite.diagnosis.edits.slips import said

MOMENTA = ("m", "m_i", "u")
"""Names of momentum vectors."""


def restated(tree: ast.Module) -> Iterator[Rebuilt]:
    """Yield edits of how a rule uses its moments."""
    yield from _divided_first(tree)
    yield from _conditioned(tree)
    yield from _staying(tree)
    yield from _divided_before(tree)
    yield from _corrected(tree)


def _body(tree: ast.Module) -> list[ast.stmt]:
    (outer,) = tree.body
    return outer.body if isinstance(outer, ast.FunctionDef) else []


def _divided_before(tree: ast.Module) -> Iterator[Rebuilt]:
    """The operand of a maximum is divided before the maximum is taken, instead of the maximum afterwards."""
    body = _body(tree)
    for (j, first), (k, then) in itertools.combinations(enumerate(body), 2):
        match first, then:
            case (
                ast.Assign(targets=[ast.Name(id=n)], value=ast.Call(func=ast.Name(id="maximum"), args=[_, new])),
                ast.Assign(value=ast.BinOp(left=ast.Name(id=read), op=ast.Div(), right=by)),
            ) if read == n:
                changed = copied(tree)
                into: Any = _body(changed)
                into[j].value.args[1] = ast.BinOp(copied(new), ast.Div(), copied(by))
                into[k].value = ast.Name(n, ast.Load())
                words = f"{said(new)} is divided by {said(by)} before the maximum is taken, {n} not after it"
                yield Rebuilt(words, n, changed)


def _corrected(tree: ast.Module) -> Iterator[Rebuilt]:
    """Moments that the step reads as they are, are corrected for their start in it: the first, the second, or both."""
    body = _body(tree)
    decays: dict[str, str] = {}
    for s in body:
        for n, value in assigned(s) if isinstance(s, ast.Assign) else ():
            match value:
                case ast.BinOp(
                    left=ast.BinOp(left=decay, op=ast.Mult(), right=ast.Attribute(attr=old)), op=ast.Add()
                ) if old == n:
                    decays[n] = ast.unparse(decay)
                case ast.Call(func=ast.Name(id="maximum"), args=[_, ast.Name(id=made)]) if made in decays:
                    decays[n] = decays[made]
    for k, s in enumerate(body):
        for n, _ in assigned(s) if isinstance(s, ast.Assign) else ():
            read = [m for m in decays if n == "x" and reads(s, {m})]
            for some in (some for r in range(len(read), 0, -1) for some in itertools.combinations(read, r)):
                changed = copied(tree)
                into: Any = _body(changed)
                for m in some:
                    hat = ast.parse(f"({m} / (1 - {decays[m]} ** times))", mode="eval").body
                    into[k].value = Put(ast.Name(m, ast.Load()), hat).visit(into[k].value)
                into[k:k] = ast.parse(
                    "times = handed(('ever', 'times'), 0) + 1\nhand_on(('ever', 'times'), times)"
                ).body
                words = " and ".join(f"{m} / (1 - {decays[m]} ** t) for {m}" for m in some).replace("h.", "")
                yield Rebuilt(f"the step has {words}", "step", changed)


def _staying(tree: ast.Module) -> Iterator[Rebuilt]:
    """A value computed behind a delayed update is computed only when the update is due, and else keeps its old one."""
    body = _body(tree)
    tests = [(k, waiting[0]) for k, s in enumerate(body) if (waiting := waits(s))]
    for first, test in tests:
        for k, s in enumerate(body):
            for n, _ in assigned(s) if k > first and isinstance(s, ast.Assign) and not waits(s) else ():
                changed = copied(tree)
                into: Any = _body(changed)
                left = f"('ever', {n!r})"
                kept = f"{n} = {n} if {ast.unparse(test)} else handed({left}, {n})\nhand_on({left}, {n})"
                into[k + 1 : k + 1] = ast.parse(kept).body
                yield Rebuilt(f"{n} is computed only where {said(test)}, and stays what it was elsewhere", n, changed)


def _conditioned(tree: ast.Module) -> Iterator[Rebuilt]:
    """A value that is always updated is updated only under a condition that the rule has elsewhere."""
    body = _body(tree)
    choices, inside = (n.test for n in ast.walk(tree) if isinstance(n, ast.If | ast.IfExp)), _inside(tree)
    tests = {ast.unparse(test): test for test in choices if not reads(test, inside)}
    for k, s in enumerate(body):
        for n, value in assigned(s) if isinstance(s, ast.Assign) else ():
            olds = [a for a in ast.walk(value) if isinstance(a, ast.Attribute) and a.attr == n]
            if not olds:
                continue
            for text, test in tests.items():
                if isinstance(value, ast.IfExp) and text in ast.unparse(value):
                    continue
                changed = copied(tree)
                into: Any = _body(changed)
                into[k].value = ast.IfExp(copied(test), copied(value), copied(olds[0]))
                yield Rebuilt(f"{n} = {said(value)} only where {said(test)}", n, changed)


def _inside(tree: ast.Module) -> set[str]:
    """Names that only functions and comprehensions within a rule bind."""
    (rule,) = symtable.symtable(ast.unparse(tree), "rule", "exec").get_children()
    inner = list(rule.get_children())
    for table in inner:
        inner += table.get_children()
    bound = {s.get_name() for table in inner for s in table.get_symbols() if s.is_local()}
    return bound - {s.get_name() for s in rule.get_symbols() if s.is_local()}


def _divided_first(tree: ast.Module) -> Iterator[Rebuilt]:
    """The input of a momentum is divided by a root, instead of the momentum."""
    for m, given in itertools.product(MOMENTA, ("delta", "g")):
        changed = copied(tree)
        body = _body(changed)
        made = next((s for s in body if {n for n, _ in assigned(s)} == {m} and reads(s, {given})), None)
        step, division = next(((s, n) for s in body for n in ast.walk(s) if _preconditions(n, m)), (None, None))
        if made is None or step is None or division is None or body.index(step) < body.index(made):
            continue
        quotient = ast.BinOp(ast.Name(given, ast.Load()), ast.Div(), division.right)
        between = body[body.index(made) + 1 : body.index(step)]
        # What reads the momentum before the step, its correction say, comes behind it still.
        later = [s for s in between if reads(s, {m})]
        body[body.index(made) : body.index(step)] = [
            *(s for s in between if s not in later),
            Put(ast.Name(given, ast.Load()), quotient).visit(made),
            *later,
        ]
        Put(division, division.left).visit(step)
        under = said(division.right)
        yield Rebuilt(f"{given} is divided by {under} before the momentum takes it, not the momentum", m, changed)


def _preconditions(node: ast.AST, m: str) -> TypeGuard[ast.BinOp]:
    """True if an expression divides a momentum by an expression with a root."""
    match node:
        case ast.BinOp(left=over, op=ast.Div(), right=under):
            return reads(over, {m, f"{m}_hat"}) and any(f in ast.unparse(under) for f in ("sqrt(", "root("))
    return False
