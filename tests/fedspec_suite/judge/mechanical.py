"""Mechanical edits: anything at hand in the place of another of its kind, an operator or a number for the next one.

They are many and say little of why; they are tried where nothing that has better words fits.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fedspec_suite.judge.at_hand import CHAIN, Kind, Text
from fedspec_suite.judge.changes import Change, earlier, exchanged, scaled, turned
from fedspec_suite.judge.defects.defect import Defect
from fedspec_suite.judge.edits import symbol_of
from fedspec_suite.judge.in_edits import GIVEN, asked
from fedspec_suite.judge.slips import ORDINAL, said
from fedspec_suite.judge.structural import rebuilt
from fedspec_suite.judge.unguarded import CHECKS
from fedspec_suite.mutants import Mutant

LENGTH = 72
"""How long an expression may be that is quoted around what is changed in it."""


class Mechanical(NamedTuple):
    """A mechanical edit of a function.

    Attributes:
        rank: how much of a mistake it is to make.
        symbol: what the edited statement assigns; empty where it returns a value or decides.
        mutant: how it is run.
        asks: what it asks for that a session makes known.
    """

    rank: int
    symbol: str
    mutant: Mutant
    asks: tuple[Defect, ...]


def mechanical(text: Text) -> Iterator[Mechanical]:
    """Every mechanical edit of a function that ran."""
    lines = text.source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    told: set[str] = set()
    if text.function.__name__.startswith(CHECKS):
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
            if new not in told:
                told.add(new)
                yield _edit(text, change.words, new, change.rank, symbol)
    for other in rebuilt(text.tree) if text.kinds else ():
        new = ast.unparse(ast.fix_missing_locations(other.tree))
        yield _edit(text, other.words, new, 1, other.symbol)


def _edit(text: Text, words: str, new: str, rank: int, symbol: str) -> Mechanical:
    mutant = Mutant(
        id=f"{text.name}: {words}", words=words, algorithms=(), rule=text.name, old=text.source, new=new, given=GIVEN
    )
    return Mechanical(rank, symbol, mutant, asked(new))


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
        yield from exchanged(node, kinds, around)
        yield from earlier(node, kinds, around)
        yield from scaled(node, kinds, above.get(node), around)
        yield from turned(node, kinds, around)


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
