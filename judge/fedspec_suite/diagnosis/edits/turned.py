"""Edits that replace an operator, number or function, or a whole expression by a part of it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.at_hand import Kind, is_array
from fedspec_suite.diagnosis.edits.changes import read_as, worded
from fedspec_suite.diagnosis.edits.edit import CALLS, Change
from fedspec_suite.diagnosis.edits.forms import reformed
from fedspec_suite.diagnosis.edits.slips import said

OTHER: Mapping[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
}
"""Operator that may mistakenly replace another one."""


EXTREMES = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "greatest": "least"}


def _by_blocks(node: ast.Call, name: str, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A function of a whole vector is applied to each block by itself."""
    match node:
        case ast.Call(func=ast.Name(), args=[u, *_]) if name not in {*CALLS, "in_each_block"}:
            kind = kinds.get(ast.unparse(u))
            if not is_array(kind) or len(kind[1]) > 1:
                return
            parts = {f"v{k}": a for k, a in enumerate(node.args) if kinds.get(ast.unparse(a)) == kind}
            of_part = copied(node)
            for part, a in parts.items():
                of_part.args[node.args.index(a)] = ast.Name(part, ast.Load())
            vectors = ", ".join(map(ast.unparse, parts.values()))
            new = f"in_each_block(lambda {', '.join(parts)}: {ast.unparse(of_part)}, {vectors})"
            short = f"the length of {said(u)}" if name == "norm" else f"{name} of {said(u)}"
            plain = len(node.args) > 1 and all(isinstance(a, ast.Name) for a in node.args)
            what = said(node) if plain else short
            yield Change(f"{what} is taken block by block{around}", node, new, 1)


def _commuted(node: ast.Call, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A function of a square, or of a mean over rows, for the square or the mean of the function."""
    for i, a in enumerate(node.args):
        within = [ast.unparse(b) for b in node.args]
        match a:
            case ast.BinOp(left=base, op=ast.Pow(), right=power):
                within[i] = ast.unparse(base)
                after = f"** ({ast.unparse(power)})"
            case ast.BinOp(
                left=ast.Call(func=ast.Attribute(value=rows, attr="sum"), keywords=[ast.keyword(arg="axis")]),
                op=ast.Div(),
                right=count,
            ):
                within[i] = ast.unparse(rows)
                after = f".sum(axis=0) / ({ast.unparse(count)})"
            case _:
                continue
        new = f"{ast.unparse(node.func)}({', '.join(within)}){after}"
        yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _outside(node: ast.expr, around: str) -> Iterator[Change]:
    """A function of a quotient or product for that of a function, and the other way round."""
    match node:
        case ast.Call(func=f, args=[ast.BinOp(left=a, op=ast.Sub() as less, right=b), *more], keywords=named):
            new = ast.unparse(ast.BinOp(ast.Call(f, [a, *more], named), less, b))
            yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 1)
            return
        case ast.BinOp(
            left=ast.Call(func=f, args=[a, *more], keywords=named), op=ast.Div() | ast.Mult() as op, right=b
        ):
            within: ast.expr = ast.BinOp(a, op, b)
        case ast.Call(func=ast.Name(id="ratio") as over, args=[ast.Call(func=f, args=[a, *more], keywords=named), b]):
            within = ast.Call(over, [a, b], [])
        case ast.Call(
            func=f, args=[ast.BinOp(left=a, op=ast.Div() | ast.Mult() as op, right=b), *more], keywords=named
        ):
            new = ast.unparse(ast.BinOp(ast.Call(f, [a, *more], named), op, b))
            yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 1)
            return
        case _:
            return
    new = ast.unparse(ast.Call(f, [within, *more], named))
    yield Change(f"{worded(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _apart(node: ast.expr, a: ast.expr, b: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """A power of the distance from something else."""
    text = ast.unparse(a)
    for other, its in kinds.items():
        if is_array(its) and its == kinds.get(text) and other != text and worded(other)[1]:
            words = f"({said(a)} - {read_as(other, kinds)}) ** {said(b)} stands for {said(node)}{around}"
            yield Change(words, node, f"({text} - {other}) ** ({ast.unparse(b)})", 1)


def _of_two(node: ast.Call, name: str, a: ast.expr, b: ast.expr, around: str) -> Iterator[Change]:
    """Yield changes of the larger or smaller of two numbers to one of them, or to zero over a limit."""
    for alone in (a, b):
        yield Change(f"{said(alone)} stands for {said(node)}{around}", node, ast.unparse(alone), 2)
    if name == "minimum":
        first, second = ast.unparse(a), ast.unparse(b)
        over = f"where_less({second}, {first}, ({first}) * 0, {first})"
        yield Change(f"zero stands for {said(node)} where {said(b)} is the smaller one{around}", node, over, 2)


WHOLE = {"longer": "longer", "first_larger": "larger where they first differ"}
"""Functions that select one of two vectors, by name, with their words."""


def _whole(node: ast.Call, a: ast.expr, b: ast.expr, around: str) -> Iterator[Change]:
    """The longer vector of two in the place of the larger numbers."""
    both = f"{ast.unparse(a)}, {ast.unparse(b)}"
    for function, which in WHOLE.items():
        for new, where in (
            (f"in_each_block({function}, {both})", "in each block"),
            (f"{function}({both})", "over all blocks"),
        ):
            words = f"{said(a)} or {said(b)}, whichever is {which} {where}, stands whole for {said(node)}"
            yield Change(f"{words}{around}", node, new, 2)


def turned(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Yield changes of an operator, number or function, or of an expression to a part of it."""
    yield from _outside(node, around)
    yield from reformed(node, kinds, around)
    match node:
        case ast.Call(func=ast.Name(id="where_less" | "where_shorter") as which, args=[p, q, a, b]):
            other = ast.unparse(ast.Call(which, [p, q, b, a], []))
            yield Change(f"{said(a)} and {said(b)} change places in {said(node)}", node, other, 1)
    match node:
        case ast.IfExp(test=test, body=a, orelse=b):
            yield Change(f"{said(node)} as if {said(test)}{around}", node, ast.unparse(a), 2)
            yield Change(f"{said(node)} as if not {said(test)}{around}", node, ast.unparse(b), 2)
        case ast.BinOp(left=a, op=op, right=b):
            if type(op) in OTHER:
                sign = OTHER[type(op)]
                yield Change(
                    f"{said(a)} {sign} {said(b)} stands for {said(node)}",
                    node,
                    f"({ast.unparse(a)}) {sign} ({ast.unparse(b)})",
                    3,
                )
                yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
                alone = f"-({ast.unparse(b)})" if isinstance(op, ast.Sub) else ast.unparse(b)
                yield Change(f"{worded(alone)[0]} stands for {said(node)}{around}", node, alone, 3)
            elif isinstance(op, ast.Pow):
                yield from _apart(node, a, b, kinds, around)
                yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
        case ast.Constant(value=int() | float() as number) if not isinstance(number, bool):
            for near in (number + 1, number - 1):
                yield Change(f"{near:g} stands for {number:g}{around}", node, repr(near), 4)
        case ast.Compare(left=a, ops=[op], comparators=[b]) if type(op) in OTHER:
            sign = OTHER[type(op)]
            yield Change(
                f"{said(a)} {sign} {said(b)} stands for {said(node)}",
                node,
                f"({ast.unparse(a)}) {sign} ({ast.unparse(b)})",
                3,
            )
        case ast.Call(func=f, args=args):
            name = ast.unparse(f)
            yield from _commuted(node, kinds, around)
            yield from _by_blocks(node, name, kinds, around)
            if name == "norm" and len(args) == 1:
                alone = f"maximum({ast.unparse(args[0])}, -({ast.unparse(args[0])}))"
                words = f"the length of {said(args[0])} is taken coordinate by coordinate{around}"
                yield Change(words, node, alone, 1)
                own = kinds.get(ast.unparse(args[0]))
                for other in (n for n, its in kinds.items() if is_array(own) and its == own and n.isidentifier()):
                    for cut, function in (("longer", "minimum"), ("shorter", "maximum")):
                        words = f"the length of {said(args[0])} is that of {other} where it is {cut}{around}"
                        yield Change(words, node, f"{function}({ast.unparse(node)}, norm({other}))", 2)
                for other, its in kinds.items():
                    # Of the same size they stand for one another anyway.
                    if is_array(own) and is_array(its) and len(its[1]) == 1 and its != own and worded(other)[1]:
                        words = f"the length of {said(args[0])} is that of all of {worded(other)[0]}{around}"
                        yield Change(words, node, f"norm({other})", 1)
            if name in {"maximum", "minimum"} and len(args) == 2:
                yield from _of_two(node, name, args[0], args[1], around)
            if name == "maximum" and all(is_array(kinds.get(ast.unparse(a))) for a in args):
                yield from _whole(node, args[0], args[1], around)
            if name in EXTREMES:
                other = ast.unparse(ast.Call(ast.Name(EXTREMES[name], ast.Load()), args, node.keywords))
                yield Change(f"{EXTREMES[name]} stands for {name}{around or f' in {said(node)}'}", node, other, 3)
            whole = kinds.get(ast.unparse(node))
            for a in args:
                if not isinstance(a, ast.Starred) and whole is not None and kinds.get(ast.unparse(a)) == whole:
                    yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
