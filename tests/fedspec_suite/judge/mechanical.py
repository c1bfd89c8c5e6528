"""Mechanical edits: anything at hand in the place of another of its kind, an operator or a number for the next one.

They are many and say little of why; they are tried where nothing that has better words fits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from fedspec_suite.judge.at_hand import CHAIN, Kind, Text, is_array
from fedspec_suite.judge.edits import symbol_of
from fedspec_suite.judge.in_edits import AVERAGING, GIVEN
from fedspec_suite.judge.slips import ORDINAL, said
from fedspec_suite.mutants import Mutant

OTHER: Mapping[type[ast.AST], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Lt: "<=",
    ast.LtE: "<",
}
"""The operator that stands for another by mistake."""

EXTREMES = {"maximum": "minimum", "minimum": "maximum", "max": "min", "min": "max", "greatest": "least"}

SUMMARIES = {
    "largest of": "lambda v: largest(v)",
    "smallest of": "lambda v: smallest(v)",
    "mean of": "lambda v: v.sum(axis=-1) / v.shape[-1]",
    "root mean square of": "lambda v: sqrt((v**2).sum(axis=-1) / v.shape[-1])",
}
"""One number for all of an array's."""

LENGTH = 72
"""How long an expression may be that is quoted around what is changed in it."""


class Mechanical(NamedTuple):
    """A mechanical edit of a function.

    Attributes:
        rank: how much of a mistake it is to make.
        symbol: what the edited statement assigns; empty where it returns a value or decides.
        mutant: how it is run.
        averages: whether it asks what was averaged.
        counts: whether it asks for the number of the event.
    """

    rank: int
    symbol: str
    mutant: Mutant
    averages: bool
    counts: bool


class Change(NamedTuple):
    """One expression put for another.

    Attributes:
        words: what stands for what.
        old: the expression in the text.
        new: what stands there instead.
        rank: how much of a mistake it is to make: what is read in the wrong place comes first.
    """

    words: str
    old: ast.expr
    new: str
    rank: int = 0


def mechanical(text: Text) -> Iterator[Mechanical]:
    """Every mechanical edit of a function that ran."""
    lines = text.source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    told: set[str] = set()
    if text.function.__name__.startswith("check_"):
        return
    for statement, value in text.statements:
        kinds = text.kinds.get(statement)
        if not kinds:
            continue
        symbol = symbol_of(statement)
        for change in (*_changes(value, kinds), *_each_by_itself(symbol, value, kinds)):
            old = change.old
            begin, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset  # type: ignore[operator]
            new = f"{text.source[:begin]}({change.new}){text.source[end:]}"
            if new in told:
                continue
            told.add(new)
            words = change.words
            mutant = Mutant(
                id=f"{text.name}: {words}",
                words=words,
                algorithms=(),
                rule=text.name,
                old=text.source,
                new=new,
                given=GIVEN,
            )
            averages = any(f.__name__ in change.new for f in AVERAGING)
            yield Mechanical(change.rank, symbol, mutant, averages, "event_number" in change.new)


def _changes(value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    nodes = [n for n in ast.walk(value) if isinstance(n, ast.expr)]
    above = {child: n for n in nodes for child in ast.iter_child_nodes(n)}
    for node in nodes:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or isinstance(node, ast.Starred | ast.JoinedStr):
            continue
        around = _around(node, above)
        same: list[ast.expr] = [n for n in nodes if isinstance(n, CHAIN) and ast.dump(n) == ast.dump(node)]
        if len(same) > 1 and around:
            same.sort(key=lambda n: (n.lineno, n.col_offset))
            around += f", {ORDINAL[min(same.index(node), 3)]} time it stands there"
        yield from _exchanged(node, kinds, around)
        yield from _turned(node, kinds, around)


def _each_by_itself(symbol: str, value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """What goes on from an old value by the mean of some updates goes on by each of them."""
    text = ast.unparse(value)
    olds = [ast.unparse(n) for n in ast.walk(value) if isinstance(n, ast.Attribute) and n.attr == symbol]
    if "delta" not in kinds or len(olds) != 1 or not re.search(r"\bdelta\b", text):
        return
    (old,) = olds
    step = f"(lambda kept, delta: {text.replace(old, 'kept')}, {old})"
    yield Change(f"{said(value)} is done for each update by itself, one after another", value, "one_by_one" + step, 1)
    yield Change(f"{said(value)} is done at every update, with the mean so far", value, "by_means_so_far" + step, 1)


def _around(node: ast.expr, above: Mapping[ast.AST, ast.AST]) -> str:
    """The largest expression around one that is still short enough to be quoted; empty for one by itself."""
    found, here = "", above.get(node)
    while isinstance(here, ast.expr | ast.keyword):
        if isinstance(here, ast.expr):
            words = said(here)
            if len(words) > LENGTH:
                break
            found = words
        here = above.get(here)
    return f" in {found}" if found else ""


def _exchanged(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Something else at hand of the same kind."""
    text = ast.unparse(node)
    kind = kinds.get(text)
    if kind is None or kind == "truth":
        return
    chain = isinstance(node, CHAIN)
    if not chain and not is_array(kind):
        return
    for other, its in kinds.items():
        if its == kind and other != text:
            instead = f"{_read(other, kinds)} stands for {_read(text, kinds) if chain else said(node)}"
            _, plain = _said(other)
            if plain or chain:
                yield Change(f"{instead}{around}", node, other, (1 - chain) if plain else 2)
    if kind == "count" and chain:
        yield Change(f"the number of the event stands for {said(node)}{around}", node, "event_number()", 0)
        yield Change(f"{said(node)} + 1 stands for {said(node)}{around}", node, f"{text} + 1", 2)
        yield Change(f"{said(node)} - 1 stands for {said(node)}{around}", node, f"{text} - 1", 2)
    if not is_array(kind):
        return
    yield Change(f"{said(node)} is left out (taken as zero){around}", node, f"{text} * 0", 2)
    if len(kind[1]) > 1:
        yield Change(f"the sum of {said(node)} stands for its rows{around}", node, f"({text}).sum(axis=0)", 2)
        return
    unit = f"ratio({text}, norm({text}))"
    yield Change(f"{said(node)} is divided by its length{around}", node, unit, 2)
    for words, one in SUMMARIES.items():
        yield Change(f"the {words} {said(node)} stands for each{around}", node, f"({one})({text})", 2)
        each = f"in_each_block({one}, {text})"
        yield Change(f"the {words} {said(node)} in a block stands for each there{around}", node, each, 2)
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and is_array(kinds.get(n.id))}
    curved = isinstance(node, ast.Call) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow))
    if names == {"delta"} and curved:
        mean = f"over_clients(lambda delta: {text})"
        yield Change(f"the clients' mean of {said(node)} stands for that of their mean{around}", node, mean, 1)


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
        yield Change(f"{_said(new)[0]} stands for {said(node)}{around}", node, new, 1)


def _turned(node: ast.expr, kinds: Mapping[str, Kind], around: str) -> Iterator[Change]:
    """Another operator, number or function; a part of an expression in the place of the whole."""
    match node:
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
                yield Change(f"{_said(alone)[0]} stands for {said(node)}{around}", node, alone, 3)
            elif isinstance(op, ast.Pow):
                yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)
                yield Change(
                    f"{said(a)} * {said(b)} stands for {said(node)}{around}",
                    node,
                    f"({ast.unparse(a)}) * ({ast.unparse(b)})",
                    3,
                )
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
            if name == "norm" and len(args) == 1:
                each = f"in_each_block(norm, {ast.unparse(args[0])})"
                yield Change(f"the length of {said(args[0])} is taken block by block{around}", node, each, 1)
            if name in EXTREMES:
                other = ast.unparse(ast.Call(ast.Name(EXTREMES[name], ast.Load()), args, node.keywords))
                yield Change(f"{EXTREMES[name]} stands for {name}{around or f' in {said(node)}'}", node, other, 3)
            whole = kinds.get(ast.unparse(node))
            for a in args:
                if not isinstance(a, ast.Starred) and whole is not None and kinds.get(ast.unparse(a)) == whole:
                    yield Change(f"{said(a)} stands for {said(node)}{around}", node, ast.unparse(a), 3)


@cache
def _said(text: str) -> tuple[str, bool]:
    """What is read, as a person says it, and whether that is no more than a name, a field or a part."""
    tree = ast.parse(text, mode="eval").body
    return said(tree), isinstance(tree, CHAIN)


def _read(text: str, kinds: Mapping[str, Kind]) -> str:
    """What is read, as a person says it; the old one where there is a new one of that name too."""
    words, _ = _said(text)
    return f"the old {words}" if words != text and words in kinds else words
