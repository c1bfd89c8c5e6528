"""Named wrong implementations: an edit of a rule's text, the public defect that it reproduces, and how to run it.

An edit replaces one piece of the rule's source by another; both must be found exactly once, so that a rule that
is rewritten takes its mutants with it or breaks the tests.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from pathlib import Path
from types import CellType, CodeType, FunctionType
from typing import Any, Literal, TypeAlias, cast

from fedspec import arith
from fedspec.errors import UnknownNameError
from fedspec.rules import equations
from fedspec.source_text import loaded, source_of, stored
from fedspec_suite.measure.call_graph import Spaces
from fedspec_suite.measure.function_copies import Edits

Leak: TypeAlias = Literal["", "session", "process"]


@dataclass(frozen=True, kw_only=True)
class Thread:
    """Public discussion in which somebody describes a defect; it says nothing about the current version.

    Attributes:
        link: address of the discussion.
        says: the discussion's words about that very defect, restated in one sentence.
        read: the day on which it was opened, as YYYY-MM-DD.
    """

    link: str
    says: str
    read: str


@dataclass(frozen=True, eq=False, kw_only=True)
class Mutant:
    """Edit of one rule that makes it wrong.

    Attributes:
        id: stable slug.
        words: the mistake, as a diagnosis prints it.
        algorithms: algorithms that it affects; it is asked on every offer of theirs.
        rule: dotted name of the function that is edited.
        old: a piece of its source, found exactly once.
        new: the piece's replacement; it may use everything in ``fedspec.arith``.
        options: the reading under which the edit is made, where it is not the canonical one.
        seen: public threads that describe it, each opened and restated; none for a systematic one.
        leaks: memory of the edited rule beyond its arguments: as long as the session, or for good; empty: none.
        given: other values that the new text may use, by name.
        asking: functions of the session's record that the new text may call, by name; the record is their first
            argument.
        survives: reason why only laws that read the rule need kill it; empty: another law must.
        within: the text that is edited, if it is not the function's source: that source folded under some options.
        rates: True if it affects only events that say rates anew: it is asked on offers that take them, and on no
            other.
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
    asking: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    survives: str = ""
    rates: bool = False
    within: str = ""


REMEMBERED = 8192
"""Number of mutants whose texts and functions are cached: more than a diagnosis makes for an offer. A diagnosis tries
its mutants in turn several times, so that a smaller cache would never hit."""


def original(mutant: Mutant) -> FunctionType:
    """Return the function that a mutant edits."""
    return function_named(mutant.rule)


@cache
def function_named(rule: str) -> FunctionType:
    """Return the function of a dotted name whose module is imported."""
    module, _, name = rule.rpartition(".")
    return cast(FunctionType, getattr(sys.modules[module], name))


def parsed(source: str) -> ast.Module:
    """Parse a function's text, with annotated assignments turned into plain ones."""
    tree: ast.Module = _Plain().visit(ast.parse(source))
    return tree


class _Plain(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        return node if node.value is None else ast.copy_location(ast.Assign([node.target], node.value), node)


@lru_cache(maxsize=REMEMBERED)
def texts(mutant: Mutant) -> tuple[str, str]:
    """Return the source of the edited function before and after the edit.

    Raises:
        UnknownNameError: the edit's text is not found exactly once in the rule.
    """
    source = mutant.within or source_of(original(mutant))
    if (count := source.count(mutant.old)) != 1:
        code = inspect.unwrap(original(mutant)).__code__
        ends = [m.start() for m in re.finditer(re.escape(mutant.old), source)]
        lines = ", ".join(str(code.co_firstlineno + source.count("\n", 0, end)) for end in ends)
        where = f"{Path(code.co_filename).name}, line{'s' * (count > 1)} {lines or code.co_firstlineno}"
        raise UnknownNameError(
            f"mutant: {mutant.id} edits {mutant.old!r}, found {count} times in {mutant.rule} ({where}); give text that "
            f"occurs exactly once, docstring included"
        )
    return source, source.replace(mutant.old, mutant.new)


@lru_cache(maxsize=REMEMBERED)
def _code(mutant: Mutant) -> tuple[CodeType, tuple[str, ...]]:
    """The edited text within a function of what it uses and its module does not have, and those names."""
    module, _, name = mutant.rule.rpartition(".")
    text = texts(mutant)[1].replace("@rule\n", "")
    known = vars(sys.modules[module])
    # What stands in the text is more than what it looks up, and quicker found.
    read = dict.fromkeys(re.findall(r"[A-Za-z_]\w*", text))
    more = tuple(n for n in read if n in mutant.given or n in mutant.asking or _of_arith(n, known))
    within = f"{_FUTURE}def within({', '.join(more)}):\n{textwrap.indent(text, '    ')}\n    return {name}"
    return compile(within, f"<mutant {mutant.id}>", "exec"), more


_FUTURE = "from __future__ import annotations\n"
"""Annotations stay strings, as in the module the text comes from."""


def _of_arith(name: str, known: Mapping[str, Any]) -> bool:
    return name not in known and hasattr(arith, name)


def fresh(mutant: Mutant) -> FunctionType:
    """Compile the edited function anew, without memory of earlier calls, over its module's namespace."""
    module, _, _ = mutant.rule.rpartition(".")
    code, more = _code(mutant)
    space: dict[str, Any] = {}
    exec(code, space)
    within = FunctionType(space["within"].__code__, vars(sys.modules[module]))
    return cast(FunctionType, within(*(_given(mutant, n) for n in more)))


def _given(mutant: Mutant, name: str) -> Any:
    return mutant.given[name] if name in mutant.given else mutant.asking.get(name, getattr(arith, name, None))


@lru_cache(maxsize=REMEMBERED)
def edited(mutant: Mutant) -> tuple[FunctionType, FunctionType]:
    """Return the function that a mutant edits and the edited function.

    Raises:
        UnknownNameError: the edit's text is not found exactly once in the rule.
    """
    return original(mutant), fresh(mutant)


def editions(mutant: Mutant) -> Callable[[], FunctionType]:
    """Return a factory of the edited function: a new one per session if the mutant leaks per session, else the same."""
    if mutant.leaks == "session":
        return partial(fresh, mutant)
    shared = fresh(mutant) if mutant.leaks else edited(mutant)[1]
    return lambda: shared


def edits(editions: Mapping[Mutant, FunctionType], record: Any = None) -> Edits:
    """Return edits for one session, whose functions use the session's namespaces and its record."""
    return {original(m): partial(_over, m, f, record) for m, f in editions.items()}


def _over(mutant: Mutant, function: FunctionType, record: Any, names: Spaces) -> FunctionType:
    """An edited function over other names, and what is around it; what it remembers beyond its session is the same."""
    known, code = mutant.asking, function.__code__
    own = code.co_filename == f"<mutant {mutant.id}>"
    cells = list(function.__closure__ or ())
    for k, (name, cell) in enumerate(zip(code.co_freevars, cells, strict=True)):
        if own and name in known:
            cells[k] = CellType(partial(known[name], record))
        elif not own and isinstance(cell.cell_contents, FunctionType):
            cells[k] = CellType(_over(mutant, cell.cell_contents, record, names))
    module = mutant.rule.rpartition(".")[0] if own else function.__globals__.get("__name__", "")
    space = names.get(module, function.__globals__)
    f = FunctionType(code, space, function.__name__, function.__defaults__, tuple(cells))
    f.__kwdefaults__ = function.__kwdefaults__
    f.__dict__ = {**vars(function), "__wrapped__": getattr(function, "__wrapped__", function)}
    return f


def of_name(ids: Sequence[str], name: str) -> str:
    """Return the id of the equation whose left side has that name; ``x``, and ``X`` without its own, is the step."""
    tails = (".step",) if name == "x" else (f".{name}", *((".step",) if name == "X" else ()))
    return next((i for tail in tails for i in ids if i.endswith(tail)), "")


def blamed(mutant: Mutant) -> str:
    """Return the id of the equation that a mutant breaks: the one whose left side the edited statement assigns.

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
            if found := of_name(ids, name):
                return found
        made |= stored(s)
    return ""


def _simple(tree: ast.Module) -> list[ast.stmt]:
    """The statements without others inside, in the order of the text."""
    found = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and not hasattr(n, "body")]
    return sorted(found, key=lambda s: s.lineno)


def _holds(node: ast.stmt | ast.keyword, here: tuple[int, int]) -> bool:
    """True if a place of the text, line and column, is inside a node."""
    end = (node.end_lineno or 0, node.end_col_offset or 0)
    return (node.lineno, node.col_offset) <= here < end


def _fields(s: ast.stmt) -> list[ast.keyword]:
    """Fields of the record that a statement returns."""
    return s.value.keywords if isinstance(s, ast.Return) and isinstance(s.value, ast.Call) else []
