"""Values in scope where a statement of the specification runs, observed by running it."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import cache, cached_property
from types import CodeType, FrameType, FunctionType
from typing import Any, NamedTuple, TypeAlias, TypeGuard

import numpy as np

from fedspec.source_text import source_of
from fedspec_suite.mutants import Mutant, edited, parsed


class Choice(NamedTuple):
    """Value of an option with the other possible values."""

    value: str
    others: tuple[str, ...]


Kind: TypeAlias = str | tuple[str, Any] | Choice
"""Kind of a value; values of one kind may stand for one another. Kinds are a number, a count, a word, an option, an
array of one shape, or a list of one length and one kind."""

CHAIN = (ast.Name, ast.Attribute, ast.Subscript)

UNREAD = (ast.Starred, ast.Constant, ast.Lambda, ast.Slice, ast.Tuple)
"""Expression types that are no value by themselves."""

BEGUN_FROM = "state.versions[-1 - arrival.delay]"
"""Expression for the model version that a late client started from, if updates arrive one at a time."""

HEADER = {ast.Assign: "value", ast.Return: "value", ast.Expr: "value", ast.If: "test", ast.For: "iter"}
"""Attribute of a statement that holds the expression it computes first."""


class Text:
    """Source text of a function, with the values in scope at each of its statements after a run.

    Attributes:
        function: the function, or what stands for it with the options of a reading folded away.
        source: its text, without the indentation of its first line.
        tree: the text parsed.
        kinds: by statement, what there is in it and at hand, in the words of the text.
    """

    def __init__(self, function: FunctionType, folded: Mutant | None = None) -> None:
        self.name = f"{function.__module__}.{function.__name__}"
        self.function = edited(folded)[1] if folded else inspect.unwrap(function)
        self.source = folded.new if folded else source_of(function)
        self.folded = bool(folded)
        self.tree = parsed(self.source)
        self.kinds: dict[ast.stmt, dict[str, Kind]] = {}

    @cached_property
    def statements(self) -> list[tuple[ast.stmt, ast.expr]]:
        """Statements that compute a value, each with its expression."""
        out = []
        for node in ast.walk(self.tree):
            value = getattr(node, HEADER.get(type(node), ""), None)
            if isinstance(node, ast.stmt) and isinstance(value, ast.expr) and not isinstance(value, ast.Constant):
                out.append((node, value))
        return out

    @cached_property
    def values(self) -> dict[ast.stmt, ast.expr]:
        """Expression that each statement computes, by statement."""
        return dict(self.statements)

    @cached_property
    def expressions(self) -> dict[str, CodeType]:
        """Compiled expressions that the text computes or reads anywhere; other statements may use them too."""
        # What is called for what it does is not called once more.
        done = {value for statement, value in self.statements if isinstance(statement, ast.Expr)}
        read = (n for _, value in self.statements for n in ast.walk(value) if isinstance(n, ast.expr) and n not in done)
        return {text: _compiled(text) for text in _texts(read) if text not in self.limits}

    @cached_property
    def calls(self) -> list[ast.Call]:
        """Calls with further arguments that turn a vector into a vector of its shape, for example clipping."""
        out = {}
        for statement, kinds in self.kinds.items():
            for n in ast.walk(self.values[statement]):
                match n:
                    case ast.Call(args=[a, *more], keywords=named) if more or named:
                        whole = kinds.get(ast.unparse(n))
                        if is_array(whole) and len(whole[1]) == 1 and kinds.get(ast.unparse(a)) == whole:
                            out[ast.unparse(n)] = n
        return list(out.values())

    @cached_property
    def indices(self) -> dict[str, None]:
        """Indices by which the text takes a part of a value."""
        taken = (n for n in ast.walk(self.tree) if isinstance(n, ast.Subscript) and isinstance(n.value, CHAIN))
        return dict.fromkeys(ast.unparse(n).removeprefix(ast.unparse(n.value)) for n in taken)

    @cached_property
    def limits(self) -> set[str]:
        """Names to which the text assigns an expression of constants."""
        return {
            t.id
            for s, value in self.statements
            if isinstance(s, ast.Assign) and _set_for_good(value) and not isinstance(value, ast.Constant)
            for t in s.targets
            if isinstance(t, ast.Name)
        }

    @cached_property
    def by_line(self) -> dict[int, ast.stmt]:
        """Statements by the line numbers of their headers."""
        out = {}
        for statement, value in self.statements:
            for line in range(statement.lineno, (value.end_lineno or value.lineno) + 1):
                out[line] = statement
        return out

    @property
    def codes(self) -> Iterator[CodeType]:
        """Code objects of the function and of the functions inside it."""
        waiting = [self.function.__code__]
        while waiting:
            code = waiting.pop()
            yield code
            waiting += [c for c in code.co_consts if isinstance(c, CodeType)]

    def note(self, frame: FrameType) -> None:
        """Record the values in scope in a frame, at the first run of the statement that it is about to execute."""
        line = frame.f_lineno - self.function.__code__.co_firstlineno + 1
        statement = self.by_line.get(line)
        if statement is None or statement in self.kinds:
            return
        found = self.kinds[statement] = {}
        there = {n: v for n, v in frame.f_locals.items() if n.isidentifier() and n not in self.limits}
        of_records = {
            f"{n}.{f.name}": getattr(v, f.name, None)
            for n, v in there.items()
            if is_dataclass(v) and not isinstance(v, type)
            for f in fields(v)
        }
        for text, value in {**there, **of_records}.items():
            if text not in found and (kind := kind_of(value)):
                found[text] = kind
        found |= dict.fromkeys(_counts(there), "count")
        space = {**frame.f_globals, **frame.f_locals}
        self._evaluate(self.expressions, space, found)
        self._evaluate({BEGUN_FROM: _compiled(BEGUN_FROM)}, space, found)
        # What is taken a part of by one name may be taken by another.
        whole = [n if n.replace(".", "").isidentifier() else f"({n})" for n, kind in found.items() if is_array(kind)]
        self._evaluate({t: _compiled(t) for n in whole for t in (n + index for index in self.indices)}, space, found)

    def _evaluate(self, codes: Mapping[str, CodeType], space: dict[str, Any], found: dict[str, Kind]) -> None:
        for text, code in codes.items():
            if text in found:
                continue
            try:
                with np.errstate(all="ignore"):
                    kind = kind_of(eval(code, space))
            except Exception:
                continue
            if kind:
                found[text] = kind


def _counts(there: Mapping[str, Any]) -> Iterator[str]:
    """Yield the number of clients and the lengths of lists and stacks, as text; each length once."""
    told: set[int] = set()
    for n, value in there.items():
        counted = isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim > 1)
        if counted and (n == "clients" or len(value) not in told):
            told.add(len(value))
            yield f"len({n})"


def _texts(nodes: Iterable[ast.expr]) -> Iterable[str]:
    return dict.fromkeys(ast.unparse(n) for n in nodes if not isinstance(n, UNREAD) and not _set_for_good(n))


def _set_for_good(node: ast.expr) -> bool:
    """True if an expression reads no name: a limit that the text sets, which is no quantity of the rule."""
    match node:
        case ast.BinOp(left=left, right=right):
            return _set_for_good(left) and _set_for_good(right)
        case ast.IfExp(body=one, orelse=other):
            return _set_for_good(one) and _set_for_good(other)
    return isinstance(node, ast.Constant)


@cache
def _compiled(text: str) -> CodeType:
    return compile(text, "<at hand>", "eval")


def is_array(kind: Kind | None) -> TypeGuard[tuple[str, Any]]:
    """True if ``kind`` describes an array."""
    return isinstance(kind, tuple) and kind[0] == "array"


def is_list(kind: Kind | None) -> bool:
    """True if ``kind`` describes a list of counts, such as a list of clients."""
    return isinstance(kind, tuple) and kind[0] == "several" and kind[1][1] == "count"


def kind_of(value: Any) -> Kind | None:
    """Return the kind of a value; None if rules don't calculate with such values."""
    match value:
        case bool() | np.bool_():
            return "truth"
        case StrEnum():
            return Choice(str(value), tuple(str(v) for v in type(value) if v is not value))
        case str():
            return "word"
        case int() | np.integer():
            return "count"
        case float() | np.floating():
            return "number"
        case np.ndarray() if value.ndim and value.dtype.kind == "f":
            return "array", value.shape
        case list() | tuple() if value:
            kinds = {kind_of(v) for v in value}
            if len(kinds) == 1 and None not in kinds:
                return "several", (len(value), *kinds)
    return None


def seen_running(texts: list[Text], run: Callable[[], object]) -> list[Text]:
    """Run a function and return the texts, with the values in scope recorded at the statements that ran."""
    of_code: Mapping[CodeType, Text] = {code: text for text in texts for code in text.codes}

    def called(frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        text = of_code.get(frame.f_code)
        if text is None:
            return None

        def line(frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
            if event == "line":
                text.note(frame)
            return line

        return line

    before = sys.gettrace()
    sys.settrace(called)
    try:
        run()
    finally:
        sys.settrace(before)
    return texts
