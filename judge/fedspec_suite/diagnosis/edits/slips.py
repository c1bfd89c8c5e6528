"""Slips in an expression: wrong signs, factors, roots or parentheses."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from fedspec.domains import DECAY, DOMAINS
from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.edit import Put


def is_decay(name: str) -> bool:
    """True if a hyper-parameter is a decay; looked up at each call, since plugins declare hyper-parameters late."""
    return name in DOMAINS and DOMAINS[name].domain is DECAY


LENGTHS = {
    "the sum of magnitudes (L1)": "total(maximum(u, -u))",
    "the largest magnitude": "largest(maximum(u, -u))",
    "the root of the mean square": "norm(u) / u.shape[-1] ** 0.5",
    "the square of the length": "norm(u) ** 2",
    "the distance from the mean": "norm(u - u.sum(axis=0) / len(u))",
}
"""Expressions mistaken for the Euclidean length of a vector u, or of each row of a stack u, by their words."""


SQUARES = {"the length": "sqrt(total(u**2))", "the mean square": "total(u**2) / u.shape[-1]"}
"""Expressions mistaken for the sum of squares of a vector u, by their words."""


INSIDE = {"sqrt": "root", "log": "logarithm", "exp": "exponential"}
"""Functions whose parenthesis may be closed too late, by their names in rules."""


def instead(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield expressions that may mistakenly replace an expression, with their words."""
    if isinstance(node, ast.BinOp) and any(isinstance(side, ast.List) for side in (node.left, node.right)):
        return
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            if isinstance(a, ast.Constant) and isinstance(b, ast.Name | ast.BinOp):
                yield f"{said(b)} stands for {said(node)}", b
            else:
                match a, op:
                    case ast.Call(func=ast.Name(id="sqrt" | "log" | "exp" as name) as f, args=[under]), ast.Add():
                        yield f"{said(b)} stands inside the {INSIDE[name]}", ast.Call(f, [ast.BinOp(under, op, b)], [])
                turned: ast.operator = ast.Sub() if isinstance(op, ast.Add) else ast.Add()
                how = "subtracted, not added" if isinstance(op, ast.Add) else "added, not subtracted"
                flipped = ast.BinOp(a, turned, b)
                # Of a number by itself nobody knows where it stands.
                bare = isinstance(b, ast.Constant)
                yield f"{said(flipped)} stands for {said(node)}" if bare else f"{said(b)} is {how}", flipped
                if isinstance(op, ast.Add):
                    yield f"{said(a)} is subtracted, not added", ast.BinOp(b, ast.Sub(), a)
                yield f"{said(a)} stands for {said(node)}" if bare else f"{said(b)} is left out", a
                yield f"{said(a)} is left out", b if isinstance(op, ast.Add) else ast.UnaryOp(ast.USub(), b)
                if (decay := _decayed(a)) and isinstance(op, ast.Add) and f"1 - {decay.id}" not in ast.unparse(b):
                    share = ast.BinOp(ast.Constant(1), ast.Sub(), decay)
                    yield (
                        f"{said(b)} is multiplied by {said(share)}",
                        ast.BinOp(a, op, ast.BinOp(share, ast.Mult(), b)),
                    )
        case ast.BinOp(left=a, op=ast.Mult(), right=b):
            match a:
                case ast.Call(func=ast.Name(id="ratio"), args=[direction, ast.Call(func=ast.Name(id="norm"))]):
                    given = [ast.BinOp(b, ast.Mult(), ast.Constant(0)), b, node, direction]
                    yield (
                        f"where {said(b)} is zero, {said(direction)} is taken as it is",
                        ast.Call(ast.Name("where_less", ast.Load()), given, []),
                    )
            yield f"the factor {said(a)} is left out", b
            yield f"the factor {said(b)} is left out", a
            yield f"divided by {said(a)}, not multiplied", ast.BinOp(b, ast.Div(), a)
            yield f"the factor {said(a)} stands twice", ast.BinOp(a, ast.Mult(), node)
            for factor, other in ((a, b), (b, a)):
                for first, among, second in _terms(other):
                    whole = said(node)
                    yield (
                        f"{said(factor)} multiplies {said(first)} alone in {whole}",
                        ast.BinOp(ast.BinOp(factor, ast.Mult(), first), among, second),
                    )
                    yield (
                        f"{said(factor)} multiplies {said(second)} alone in {whole}",
                        ast.BinOp(first, among, ast.BinOp(factor, ast.Mult(), second)),
                    )
        case ast.BinOp(left=a, op=ast.Div(), right=b):
            match a, b:
                case ast.BinOp(left=times, op=ast.Mult(), right=all_), ast.Call(func=ast.Name(id="len")):
                    fewer = ast.BinOp(times, ast.Mult(), ast.BinOp(all_, ast.FloorDiv(), b))
                    yield f"{said(all_)} / {said(b)} is rounded down", fewer
            yield f"the division by {said(b)} is left out", a
            yield f"multiplied by {said(b)}, not divided", ast.BinOp(a, ast.Mult(), b)
            yield f"divided by {said(b)} twice", ast.BinOp(node, ast.Div(), b)
            for first, among, second in _terms(b):
                yield (
                    f"divided by {said(first)} alone, not by {said(b)}, which comes after",
                    ast.BinOp(ast.BinOp(a, ast.Div(), first), among, second),
                )
            for first, among, second in _terms(a):
                yield (
                    f"{said(second)} alone is divided by {said(b)}, not {said(a)}",
                    ast.BinOp(first, among, ast.BinOp(second, ast.Div(), b)),
                )
        case ast.BinOp(left=a, op=ast.Pow(), right=ast.Constant()):
            yield f"{said(a)} is not squared", a
            minus = ast.UnaryOp(ast.USub(), a)
            yield (
                f"the magnitude of {said(a)} stands for its square",
                ast.Call(ast.Name("maximum", ast.Load()), [a, minus], []),
            )
        case ast.BinOp(left=a, op=ast.Pow(), right=b):
            more = ast.BinOp(b, ast.Add(), ast.Constant(1))
            yield f"the exponent {said(b)} of {said(a)} is one too large", ast.BinOp(a, ast.Pow(), more)
        case ast.Call(func=ast.Name(id="sqrt") as root, args=[a]):
            yield f"the root of {said(a)} is not taken", a
            for first, among, second in _terms(a):
                yield f"{said(second)} stands outside the root", ast.BinOp(ast.Call(root, [first], []), among, second)
        case ast.Call(func=ast.Name(id="norm"), args=[a]):
            for words, length in LENGTHS.items():
                yield f"{words} of {said(a)} stands for its length", _of(length, a)
        case ast.Call(func=ast.Name(id="total"), args=[ast.BinOp(left=a, op=ast.Pow(), right=ast.Constant(value=2))]):
            for words, length in SQUARES.items():
                yield f"{words} of {said(a)} stands for its square", _of(length, a)
        case ast.Call(func=ast.Name(id="maximum"), args=[a, b]):
            yield f"the maximum is not taken, {said(a)} stands alone", a
            yield f"the maximum is not taken, {said(b)} stands alone", b
        case ast.Compare(
            left=ast.BinOp(left=counted, op=ast.Mod(), right=ast.Name(id=z)),
            ops=[ast.Eq()],
            comparators=[ast.Constant(value=0)],
        ):
            match counted:
                case ast.BinOp(left=steps, op=ast.FloorDiv(), right=epoch):
                    period = ast.BinOp(ast.Name(z, ast.Load()), ast.Mult(), epoch)
                    first = ast.BinOp(steps, ast.Mod(), period)
                    yield (
                        f"the first step alone of {said(epoch)} counts",
                        ast.Compare(first, node.ops, node.comparators),
                    )
            # Who asks whether t mod z is 1 asks for the first of every z, but for z = 1.
            unless = [
                ast.Compare(ast.Name(n, ast.Load()), [ast.Gt()], [ast.Constant(1)]) for n in (z, *_divisors(counted))
            ]
            for k in range(len(unless), 0, -1):
                where = " and ".join(f"{ast.unparse(c.left)} = 1" for c in unless[:k])
                some = ast.BoolOp(ast.Or(), [*unless[:k], ast.Constant(False)])
                yield f"never where {where}, as if t mod {z} had to be 1", ast.BoolOp(ast.And(), [node, some])
        case ast.Name(id=name, ctx=ast.Load()) if is_decay(name):
            yield f"1 - {name} stands for {name}", ast.BinOp(ast.Constant(1), ast.Sub(), node)


def _of(text: str, u: ast.expr) -> ast.expr:
    """An expression of a vector u, of another one."""
    found: ast.expr = Put(ast.Name("u", ast.Load()), u).visit(ast.parse(text, mode="eval").body)
    return found


def _terms(node: ast.expr) -> Iterator[tuple[ast.expr, ast.operator, ast.expr]]:
    """The two terms of a sum or difference, neither a number by itself, with the sign between them; else nothing."""
    match node:
        case ast.BinOp(left=a, op=ast.Add() | ast.Sub() as op, right=b):
            if not isinstance(a, ast.Constant) and not isinstance(b, ast.Constant):
                yield a, op, b


ORDINAL = ("the first", "the second", "the third", "another")


def _divisors(node: ast.expr) -> tuple[str, ...]:
    """Names by which a count is divided before the remainder of the quotient is taken."""
    match node:
        case ast.BinOp(op=ast.FloorDiv(), right=ast.Name(id=name)):
            return (name,)
    return ()


def _decayed(node: ast.expr) -> ast.Name | None:
    """The decay that an expression is a multiple of."""
    match node:
        case ast.BinOp(left=ast.Name(id=name) as decay, op=ast.Mult()) if is_decay(name):
            return decay
    return None


@lru_cache(maxsize=1 << 12)
def said(node: ast.expr) -> str:
    """Format an expression for a reader; of two alternatives that an option selects, the usual one."""
    return ast.unparse(_Usual().visit(copied(node))).replace("state.", "").replace("h.", "")


class _Usual(ast.NodeTransformer):
    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        usual: ast.expr = self.visit(node.body)
        return usual

    def visit_Call(self, node: ast.Call) -> ast.expr:
        """A call without the options that a reading decides."""
        node.keywords = [k for k in node.keywords if not re.fullmatch(r"[A-Z]\w+\.[A-Z_]+", ast.unparse(k.value))]
        self.generic_visit(node)
        return node
