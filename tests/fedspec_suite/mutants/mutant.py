"""Named wrong implementations: an edit of a rule's text, the public defect it comes from, and how to run it.

An edit replaces one piece of the rule's source by another; both must be found exactly once, so that a rule that
is rewritten takes its mutants with it or breaks the tests.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass, replace
from functools import cache, lru_cache
from types import CodeType, FunctionType, ModuleType
from typing import Any, Literal, TypeAlias, cast

from fedspec import arith
from fedspec.catalogue import CATALOGUE
from fedspec.errors import UnknownNameError
from fedspec.rules import equations

Leak: TypeAlias = Literal["", "session", "process"]


@dataclass(frozen=True, kw_only=True)
class Thread:
    """A public discussion in which somebody describes a defect; no statement about a current version.

    Attributes:
        link: where it is.
        says: what it says of that very defect, restated in one sentence.
        read: the day on which it was opened, as YYYY-MM-DD.
    """

    link: str
    says: str
    read: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """An edit of one rule.

    Attributes:
        id: stable slug.
        words: what is wrong, as a diagnosis prints it.
        algorithms: where it shows; it is asked on every offer of theirs.
        rule: dotted name of the function that is edited.
        old: a piece of its source, found exactly once.
        new: what stands there instead; it may use everything in ``fedspec.arith``.
        options: the reading under which the edit is made, where it is not the canonical one.
        seen: public threads that describe it, each opened and restated; none for a systematic one.
        leaks: whether the edited rule remembers its calls beyond its arguments: as long as the session, or for good.
        given: what else the new text may use, by name.
        rates: whether it shows only where events say rates anew: it is asked on offers that take them, and on no other.
    """

    id: str
    words: str
    algorithms: tuple[str, ...]
    rule: str
    old: str
    new: str
    options: Mapping[str, str] = field(default_factory=dict)
    seen: tuple[Thread, ...] = ()
    leaks: Leak = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    rates: bool = False


REMEMBERED = 8192
"""For how many mutants their texts and functions are kept: more than a diagnosis makes for an offer, since it tries
them one after another again and again, and of fewer it would find none."""


def original(mutant: Mutant) -> FunctionType:
    """The function that a mutant edits."""
    return _named(mutant.rule)


@cache
def _named(rule: str) -> FunctionType:
    module, _, name = rule.rpartition(".")
    return cast(FunctionType, getattr(sys.modules[module], name))


@cache
def source_of(function: FunctionType) -> str:
    """The text of a function, without the indentation of its first line."""
    return textwrap.dedent(inspect.getsource(inspect.unwrap(function)))


def parsed(source: str) -> ast.Module:
    """The text of a function, its annotated assignments as plain ones: what edits know."""
    tree: ast.Module = _Plain().visit(ast.parse(source))
    return tree


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)


@lru_cache(maxsize=REMEMBERED)
def texts(mutant: Mutant) -> tuple[str, str]:
    """The source of the function that a mutant edits, before and after.

    Raises:
        UnknownNameError: the edit's text is not found exactly once in the rule.
    """
    source = source_of(original(mutant))
    if source.count(mutant.old) != 1:
        raise UnknownNameError(
            f"mutant: {mutant.id} edits {mutant.old!r}, found {source.count(mutant.old)} times in {mutant.rule}"
        )
    return source, source.replace(mutant.old, mutant.new)


@lru_cache(maxsize=REMEMBERED)
def _code(mutant: Mutant) -> tuple[CodeType, tuple[str, ...]]:
    """The edited text within a function of what it uses and its module does not have, and those names."""
    module, _, name = mutant.rule.rpartition(".")
    text = re.sub(r"@(rule|general\(\w+\))\n", "", texts(mutant)[1])
    known = vars(sys.modules[module])
    # What stands in the text is more than what it looks up, and quicker found.
    read = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text))
    more = tuple(n for n in read if n in mutant.given or _of_arith(n, known))
    within = f"{_FUTURE}def within({', '.join(more)}):\n{textwrap.indent(text, '    ')}\n    return {name}"
    return compile(within, f"<mutant {mutant.id}>", "exec"), more


_FUTURE = "from __future__ import annotations\n"
"""Annotations stay strings, as in the module the text comes from."""


def _of_arith(name: str, known: Mapping[str, Any]) -> bool:
    return name not in known and hasattr(arith, name)


def looked_up(code: CodeType) -> list[str]:
    """What a function and those within it look up in their module."""
    inner = [name for c in code.co_consts if isinstance(c, CodeType) for name in looked_up(c)]
    return list(dict.fromkeys([*code.co_names, *inner]))


def fresh(mutant: Mutant) -> Callable[..., Any]:
    """The edited function, which remembers no call yet.

    It looks up what its module has when it runs, so that other edits made at the same time are seen.
    """
    module, _, _ = mutant.rule.rpartition(".")
    code, more = _code(mutant)
    space: dict[str, Any] = {}
    exec(code, space)
    within = FunctionType(space["within"].__code__, vars(sys.modules[module]))
    return cast(Callable[..., Any], within(*(mutant.given.get(n, getattr(arith, n, None)) for n in more)))


@lru_cache(maxsize=REMEMBERED)
def edited(mutant: Mutant) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The function that a mutant edits, before and after.

    Raises:
        UnknownNameError: the edit's text is not found exactly once in the rule.
    """
    return original(mutant), fresh(mutant)


def blamed(mutant: Mutant) -> str:
    """The id of the equation that a mutant breaks: the one whose left side the edited statement assigns.

    Where no equation has that on its left, the first further down that reads it; that of its rule where there is one
    alone; else none is said.
    """
    ids = [e.id for e in equations(original(mutant))]
    if len({*ids}) < 2:
        return ids[0] if ids else ""
    before, _ = texts(mutant)
    at = before.index(mutant.old)
    here = (before[:at].count("\n") + 1, at - (before.rfind("\n", 0, at) + 1))
    made: set[str] = set()
    for s in _simple(parsed(before)):
        if not (_holds(s, here) or made & loaded(s)):
            continue
        if isinstance(s, ast.Return) and not _fields(s):
            # A rule that gives no record gives what its last equation makes.
            return ids[-1]
        edited = {str(f.arg) for f in _fields(s) if _holds(f, here)}
        for name in sorted(stored(s) or edited or {str(f.arg) for f in _fields(s)}):
            tail = ".step" if name == "x" else f".{name}"
            if found := next((i for i in ids if i.endswith(tail)), ""):
                return found
        made |= stored(s)
    return ""


def _simple(tree: ast.Module) -> list[ast.stmt]:
    """The statements without others inside, in the order of the text."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return sorted(found, key=lambda s: s.lineno)


def _holds(node: ast.stmt | ast.keyword, here: tuple[int, int]) -> bool:
    """Whether a place of the text, line and column, is inside of a node."""
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= here < end


def _fields(s: ast.stmt) -> list[ast.keyword]:
    """Of a record that is returned its fields."""
    return s.value.keywords if isinstance(s, ast.Return) and isinstance(s.value, ast.Call) else []


def stored(*statements: ast.AST) -> set[str]:
    """The names that statements assign."""
    return {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def loaded(*statements: ast.AST) -> set[str]:
    """The names that statements read."""
    return {n.id for s in statements for n in ast.walk(s) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


@cache
def _places(before: FunctionType) -> list[tuple[ModuleType, str]]:
    """Where a rule is known, and under which name."""
    modules = [m for n, m in list(sys.modules.items()) if n.partition(".")[0] == "fedspec"]
    return [(module, key) for module in modules for key, value in vars(module).items() if value is before]


@cache
def _rows(before: FunctionType) -> tuple[str, ...]:
    """The rows of the catalogue that hold a function, or whose server by itself does."""
    return tuple(i for i, a in CATALOGUE.items() if _swapped(a.run, before, None) is not a.run)


def _swapped(record: Any, before: FunctionType, after: Any) -> Any:
    """A record of functions, and those within it, with another in the place of one; itself where it has none."""
    if not is_dataclass(record):
        return after if record is before else record
    held = {n: (v, _swapped(v, before, after)) for n, v in vars(record).items() if callable(v) or is_dataclass(v)}
    changed: dict[str, Any] = {n: new for n, (old, new) in held.items() if new is not old}
    return replace(record, **changed) if changed else record  # type: ignore[type-var]


def _forgetful(mutant: Mutant) -> Callable[..., Any]:
    """The edited function, which remembers no call of any other session."""
    return fresh(mutant) if mutant.leaks else edited(mutant)[1]


def editions(mutant: Mutant) -> Callable[[], Callable[..., Any]]:
    """The edited function for one session of a subject after another: the same one, unless it lives for a session."""
    shared = _forgetful(mutant)
    return lambda: fresh(mutant) if mutant.leaks == "session" else shared


@contextmanager
def applied(mutant: Mutant, after: Callable[..., Any] | None = None) -> Iterator[None]:
    """The specification with the mutant's rule edited, wherever it is used, until the block ends.

    Args:
        mutant: the edit.
        after: the edited function, where it must be one that remembers its calls.
    """
    before, after = original(mutant), after or _forgetful(mutant)
    places = _places(before)
    rows = {i: CATALOGUE[i] for i in _rows(before)}
    try:
        for module, name in places:
            setattr(module, name, after)
        for i, row in rows.items():
            CATALOGUE[i] = replace(row, run=_swapped(row.run, before, after))
        yield
    finally:
        for module, name in places:
            setattr(module, name, before)
        CATALOGUE.update(rows)


@contextmanager
def wrapped(around: Mapping[FunctionType, Callable[[Callable[..., Any]], Callable[..., Any]]]) -> Iterator[None]:
    """The specification with functions behind others, wherever its modules know them, until the block ends.

    Args:
        around: by the function as the specification has it, what makes the other one from what stands there, which may
            be an edit already.
    """
    before = [(wrap, module, name, getattr(module, name)) for f, wrap in around.items() for module, name in _places(f)]
    try:
        for wrap, module, name, there in before:
            setattr(module, name, wrap(there))
        yield
    finally:
        for _, module, name, there in before:
            setattr(module, name, there)
