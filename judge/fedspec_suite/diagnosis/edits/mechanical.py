"""Mechanical edits: an expression replaced by another value in scope of its kind, an operator or number by the next.

Mechanical edits are many and explain little; they are tried if no variant with better words fits.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, permutations, product
from typing import TypeGuard

from fedspec.source_text import copied
from fedspec_suite.diagnosis.edits.at_hand import CHAIN, Kind, Text, is_array, is_list
from fedspec_suite.diagnosis.edits.changes import as_given, earlier, exchanged, scaled
from fedspec_suite.diagnosis.edits.edit import NEW_STATE, Change, Edit, Put, Rebuilt, unparsed
from fedspec_suite.diagnosis.edits.in_edits import ASKING, GIVEN, asked
from fedspec_suite.diagnosis.edits.rewrites import at, bodies
from fedspec_suite.diagnosis.edits.slips import ORDINAL, is_decay, said
from fedspec_suite.diagnosis.edits.structural import rebuilt
from fedspec_suite.diagnosis.edits.systematic import LENGTH, symbol_of
from fedspec_suite.diagnosis.edits.turned import turned
from fedspec_suite.diagnosis.edits.unguarded import CHECKS
from fedspec_suite.mutants import Mutant


def mechanical(text: Text, numbers: Iterable[str] = ()) -> Iterator[Edit]:
    """Yield every mechanical edit of a function that ran, in an algorithm with these hyper-parameters."""
    lines = text.source.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    told: set[str] = set()
    if text.function.__name__.startswith(CHECKS):
        return
    for statement, value in text.statements:
        kinds = text.kinds.get(statement)
        if not kinds or (isinstance(value, ast.Call) and ast.unparse(value.func).startswith(CHECKS)):
            # What is looked at changes no number.
            continue
        symbol = symbol_of(statement)
        for change in (
            *_changes(value, kinds, numbers),
            *_each_by_itself(symbol, value, kinds),
            *_decided(statement),
            *_more(symbol, value, kinds),
            *_both_times(symbol, value, kinds),
            *_applied_too(symbol, value, kinds, text.calls),
            *_apart(value, kinds),
            *_swapped(value, kinds),
        ):
            old = change.old
            begin, end = starts[old.lineno - 1] + old.col_offset, starts[old.end_lineno - 1] + old.end_col_offset  # type: ignore[operator]
            new = f"{text.source[:begin]}({change.new}){text.source[end:]}"
            if new not in told:
                told.add(new)
                yield _edit(text, change.words, new, change.rank, symbol)
    for other in (*rebuilt(text.tree), *_remembered(text), *_decays_exchanged(text)) if text.kinds else ():
        yield _edit(text, other.words, unparsed(other.tree), 1, other.symbol)


def _edit(text: Text, words: str, new: str, rank: int, symbol: str) -> Edit:
    mutant = Mutant(
        id=f"{text.name}: {words}",
        words=words,
        algorithms=(),
        rule=text.name,
        old=text.source,
        new=new,
        within=text.source if text.folded else "",
        given=GIVEN,
        asking=ASKING,
    )
    return Edit(words, symbol, mutant, rank=rank, asks=asked(new))


def _changes(value: ast.expr, kinds: Mapping[str, Kind], numbers: Iterable[str]) -> Iterator[Change]:
    nodes = [n for n in ast.walk(value) if isinstance(n, ast.expr)]
    above = {child: n for n in ast.walk(value) for child in ast.iter_child_nodes(n)}
    for node in nodes:
        if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load) or isinstance(node, ast.Starred | ast.JoinedStr):
            continue
        around = _around(node, above)
        same: list[ast.expr] = [n for n in nodes if isinstance(n, CHAIN) and ast.dump(n) == ast.dump(node)]
        if len(same) > 1 and around.startswith(" in "):
            same.sort(key=lambda n: (n.lineno, n.col_offset))
            around += f", {ORDINAL[min(same.index(node), 3)]} time it stands there"
        yield from exchanged(node, kinds, around)
        yield from as_given(node, kinds, numbers, around)
        yield from earlier(node, kinds, around)
        yield from scaled(node, kinds, above.get(node), around)
        yield from turned(node, kinds, around)


def _each_by_itself(symbol: str, value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """A value updated by the mean of some updates is updated by each update, one after another."""
    text = ast.unparse(value)
    olds = [n for n in _olds(symbol, value) if "." in n]
    if "delta" not in kinds or len(olds) != 1 or not re.search(r"\bdelta\b", text):
        return
    (old,) = olds
    step = f"(lambda kept, delta: {_with(value, old, 'kept')}, {old})"
    yield Change(f"{said(value)} is done for each update by itself, one after another", value, "one_by_one" + step, 1)


def _olds(symbol: str, value: ast.expr) -> list[str]:
    """Texts by which an expression reads the old value of its own target: a name, or a field of a state."""
    names = {"x", "y"} if symbol == "step" else {symbol, symbol.upper()}
    found = (n for n in ast.walk(value) if isinstance(n, ast.Attribute | ast.Name))
    read = [ast.unparse(n) for n in found if (n.attr if isinstance(n, ast.Attribute) else n.id) in names]
    return list(dict.fromkeys(read))


def _with(value: ast.expr, old: str, name: str) -> str:
    """An expression with a name for something that it reads."""
    there = ast.parse(old, mode="eval").body
    return ast.unparse(Put(there, ast.Name(name, ast.Load())).visit(copied(value)))


def _decided(statement: ast.stmt) -> Iterator[Change]:
    """A branch is always taken, or never."""
    if isinstance(statement, ast.If):
        yield Change(f"as if always {said(statement.test)}", statement.test, "True", 2)
        yield Change(f"as if never {said(statement.test)}", statement.test, "False", 2)


def _more(symbol: str, value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """A vector more in a sum; only some rows, of who computes say, are changed."""
    text, kind = ast.unparse(value), kinds.get(ast.unparse(value))
    if not symbol or kind is None or not is_array(kind):
        return
    read = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    olds = [n for n in _olds(symbol, value) if kinds.get(n) == kind]
    if len(kind[1]) == 2 and len(olds) == 1 and text != olds[0]:
        (old,) = olds
        in_place = f"row_by_row(lambda rows: {_with(value, old, 'rows')}, {old})"
        words = f"{said(value)} is computed in place, row by row, so that later clients read new rows"
        yield Change(words, value, in_place, 1)
    for other, its in kinds.items():
        own = other.rpartition(".")[2] == symbol
        if its == kind and (other.isidentifier() or own) and len(kind[1]) == 1:
            yield Change(f"{other} is added to {said(value)}", value, f"({text}) + {other}", 3)
            yield Change(f"{other} is subtracted from {said(value)}", value, f"({text}) - {other}", 3)
        if len(kind[1]) == 2 and symbol in read and other.isidentifier() and is_list(its):
            some = f"put({symbol}, list({other}), ({text})[list({other})])"
            yield Change(f"only the rows of {other} become {said(value)}", value, some, 1)


def _applied_too(
    symbol: str, value: ast.expr, kinds: Mapping[str, Kind], calls: Iterable[ast.Call]
) -> Iterator[Change]:
    """A function that is applied to one vector, for example clipping, is applied to another vector too."""
    kind = kinds.get(ast.unparse(value))
    for call in calls if symbol and is_array(kind) and len(kind[1]) == 1 else ():
        read = {n.id for a in (*call.args[1:], *call.keywords) for n in ast.walk(a) if isinstance(n, ast.Name)}
        if call not in ast.walk(value) and all(any(k.partition(".")[0] == n for k in kinds) for n in read):
            whole = ast.Call(call.func, [value, *call.args[1:]], call.keywords)
            yield Change(f"{said(call.func)} is applied to {said(value)} too", value, ast.unparse(whole), 1)


def _apart(value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """The difference of two vectors more in a sum: what corrects one that is meant to be plain."""
    kind = kinds.get(ast.unparse(value))
    if is_array(kind) and len(kind[1]) == 1:
        for a, b in permutations([n for n, its in kinds.items() if its == kind and n.isidentifier()], 2):
            words = f"{a} - {b} is added to {said(value)}"
            yield Change(words, value, f"({ast.unparse(value)}) + {a} - {b}", 3)


def _both_times(symbol: str, value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """A name that a statement reads more than once is another each time; where it says which rows, all of them."""
    read = [n for n in ast.walk(value) if isinstance(n, ast.Name) or _is_power(n)]
    times = Counter(map(ast.dump, read))
    for node in {ast.dump(n): n for n in read if times[ast.dump(n)] > 1 and ast.unparse(n) in kinds}.values():
        kind = kinds[ast.unparse(node)]
        found = [(c.words, c.new, c.rank) for c in exchanged(node, kinds, "")]
        found += [(c.words, c.new, c.rank) for c in _powers(node, kinds)]
        if isinstance(node, ast.BinOp) and is_array(kind):
            base = ast.unparse(node.left)
            found.append((f"the magnitude of {base} stands for {said(node)}", f"maximum({base}, -({base}))", 2))
        if is_list(kind):
            stacks = {symbol, symbol.upper()} & {n for n, its in kinds.items() if is_array(its) and len(its[1]) == 2}
            found += [(f"all rows stand for {said(node)}", f"list(range(len({X})))", 1) for X in sorted(stacks)]
            # Those of as many are among what is exchanged.
            more = (n for n, its in kinds.items() if n.isidentifier() and is_list(its) and its != kind)
            found += [(f"{n} stands for {said(node)}", f"list({n})", 1) for n in more]
        for words, new, rank in found:
            changed = Put(node, ast.parse(new, mode="eval").body).visit(copied(value))
            yield Change(f"{words}, wherever {said(value)} reads it", value, ast.unparse(changed), rank)


def _is_power(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow)


def _read(value: ast.expr) -> dict[str, ast.expr]:
    """The names, fields and parts that an expression reads, each as it stands last."""
    return {ast.unparse(n): n for n in ast.walk(value) if isinstance(n, CHAIN) and isinstance(n.ctx, ast.Load)}


def _swapped(value: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """Two of one kind that a statement reads change places in it; or a number and what is left of one, in a sum."""
    read = _read(value)
    pairs: list[tuple[ast.expr, ast.expr, ast.expr]] = [
        (value, read[a], read[b])
        for a, b in combinations(read, 2)
        if kinds.get(a) == kinds.get(b) and (kinds.get(a) == "number" or is_array(kinds.get(a)))
    ]
    for n in ast.walk(value):
        if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Add):
            rests = {ast.unparse(r): r for r in ast.walk(n) if isinstance(r, ast.BinOp) and isinstance(r.op, ast.Sub)}
            pairs += [(n, rests[f"1 - {b}"], read[b]) for b in read if f"1 - {b}" in rests]
    aside = ast.Name("aside", ast.Load())
    for where, first, second in pairs:
        changed = copied(where)
        for there, what in ((first, aside), (second, first), (aside, second)):
            changed = Put(there, what).visit(changed)
        yield Change(f"{said(first)} and {said(second)} change places in {said(where)}", where, ast.unparse(changed), 1)


def _written(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _remembered(text: Text) -> Iterator[Rebuilt]:
    """A number that a function makes is what it was before, or the largest so far, from where it is made on."""
    read = {s: _read(value) for s, value in text.statements if s in text.kinds}
    made = [(s, n.id) for s in read if isinstance(s, ast.Assign) for n in ast.walk(s) if _written(n)]
    for s, name in made:
        if not any(
            text.kinds[t].get(name) == "number" for t, names in read.items() if name in names and t.lineno > s.lineno
        ):
            continue
        for words, new in (
            (f"{name} never falls, the largest so far stands for it", f"most_so_far({name!r}, {name})"),
            (f"{name} as it was the time before stands for {name}", f"time_before({name!r}, {name})"),
        ):
            changed = copied(text.tree)
            blocks = (at(changed, way) for way in bodies(changed))
            found = next(((b, k) for b in blocks for k, t in enumerate(b) if t.lineno == s.lineno), None)
            if found is None:
                continue
            block, k = found
            block.insert(k + 1, ast.parse(f"{name} = {new}").body[0])
            yield Rebuilt(words, symbol_of(s), changed)


def _decays_exchanged(text: Text) -> Iterator[Rebuilt]:
    """Two decays change places, each in one statement."""
    read = {
        s: {text: n for text, n in _read(value).items() if is_decay(text.rpartition(".")[2])}
        for s, value in text.statements
        if isinstance(s, ast.Assign) and s in text.kinds
    }
    for (s, here), (t, there) in combinations(read.items(), 2):
        for a, b in product(sorted(here.keys() - there.keys()), sorted(there.keys() - here.keys())):
            changed = copied(text.tree)
            twin = dict(zip(ast.walk(text.tree), ast.walk(changed), strict=True))
            for statement, old, new in ((s, here[a], there[b]), (t, there[b], here[a])):
                Put(old, new).visit(twin[statement])
            first, second = (ast.unparse(x).partition(" = ")[0] for x in (s, t))
            words = f"{said(here[a])} and {said(there[b])} change places in {first} and {second}"
            yield Rebuilt(words, symbol_of(s), changed)


def _powers(node: ast.expr, kinds: Mapping[str, Kind]) -> Iterator[Change]:
    """The reciprocal of a number or vector, its square and its root."""
    text = ast.unparse(node)
    kind = kinds[text]
    if isinstance(node, ast.Name) and (kind == "number" or (is_array(kind) and len(kind[1]) == 1)):
        for new, words in (("1 / {}", "one over"), ("{} ** 2", "the square of"), ("{} ** 0.5", "the root of")):
            yield Change(f"{words} {text} stands for it", node, new.format(text), 3)


def _around(node: ast.expr, above: Mapping[ast.AST, ast.AST]) -> str:
    """The largest expression around one that is still short enough to be quoted; empty for one by itself."""
    found, here = "", above.get(node)
    match here:
        case (
            ast.Call(func=ast.Name(id="unless_short"), args=[_, length, bound])
            | ast.Call(func=ast.Name(id="where_shorter"), args=[length, bound, _, _])
        ) if node is length:
            return f" where its length is compared with {said(bound)}"
    while isinstance(here, ast.expr | ast.keyword):
        if isinstance(here, ast.IfExp) and node not in ast.walk(here.body):
            # Of two that an option chooses between, a person reads the usual one alone.
            break
        if found and isinstance(here, ast.Call) and NEW_STATE.fullmatch(ast.unparse(here.func)):
            # What the state holds is a place; the state is none.
            break
        if isinstance(here, ast.expr):
            words = said(here)
            if len(words) > LENGTH:
                break
            found = words
        here = above.get(here)
    return f" in {found}" if found else ""
