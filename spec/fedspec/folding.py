"""Source of a function under one reading, with the branches on the reading's options folded away.

Each rule has one text, with an option for each choice that its readings make. :func:`folding_of` returns that text as a
reading runs it: a decided test of an option disappears with its other branch, an option is no longer a parameter, and a
helper that becomes a single expression (``root``, ``corrected``) is inlined at its call. Nothing else changes, so the
folded functions compute the same numbers, bit for bit.
"""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from types import FunctionType
from typing import Any, TypeVar

from fedspec import arith
from fedspec.deciding import UNKNOWN, WHERE, Deciding, Known, defaults_of, options_of
from fedspec.hyper import keywords, plays_part
from fedspec.rules import printed
from fedspec.source_text import assigned_in, bare, copied, definition_of, drop_unread, leave_out, loaded, unparsed

E = TypeVar("E", bound=ast.expr)

INLINED = ("fedspec.client.", "fedspec.server.", "fedspec.preconditioner")
"""Modules whose functions are inlined at their calls if they are one expression."""


@dataclass
class Folding:
    """Folded source of an algorithm's functions under one reading.

    Attributes:
        options: the options that the reading fixes, with their values.
        numbers: the names of the hyper-parameters that have an effect under these options.
        whole: True if folded functions keep their option parameters although they no longer read them: then a folded
            function can replace the original one.
        known: the parameters that the reading fixes, by folded function.
        texts: the text of each function that the reading changes.
        kept: the functions that keep their options, since two calls pass different values.
        found: the functions that were folded, by the values that a call fixes.
        definitions: definitions that replace the text of some functions.
    """

    options: Known
    numbers: Collection[str] = ()
    whole: bool = False
    known: dict[FunctionType, Known] = field(default_factory=dict)
    texts: dict[FunctionType, str] = field(default_factory=dict)
    kept: set[FunctionType] = field(default_factory=set)
    found: dict[tuple[FunctionType, Any], _Function] = field(default_factory=dict, repr=False)
    definitions: Mapping[FunctionType, ast.FunctionDef] = field(default_factory=dict, repr=False)

    def add(self, *functions: Callable[..., Any]) -> None:
        """Fold top-level functions and everything that they call, with the reading's options."""
        before = -1
        while before < len(self.kept):
            # A function whose calls decide differently keeps its options: what was folded for one call is folded again.
            before = len(self.kept)
            self.known.clear()
            self.texts.clear()
            self.found.clear()
            for f in map(inspect.unwrap, functions):
                assert isinstance(f, FunctionType)
                self.fold(f, {n: self.options[n] for n in options_of(f) if n in self.options})

    def fold(self, f: FunctionType, known: Known) -> bool:
        """Fold a function for a call that fixes some of its parameters; return False if it keeps its options."""
        if f in self.known and self.known[f] != known:
            self.kept.add(f)
        if f in self.kept:
            return False
        if f not in self.known:
            self.known[f] = known
            node = self.within(f, known).node
            if ast.dump(node) != ast.dump(bare(self.definition(f))):
                self.texts[f] = unparsed(node)
        return True

    def definition(self, f: FunctionType) -> ast.FunctionDef:
        """Syntax tree that is folded: the function's own, unless ``definitions`` replaces it."""
        return copied(self.definitions[f]) if f in self.definitions else definition_of(f)

    def within(self, f: FunctionType, known: Known) -> _Function:
        """Folded form of a function, for a call that fixes some of its parameters; cached."""
        key = f, tuple(known.items())
        if key not in self.found:
            self.found[key] = _Function(self, f, known)
        return self.found[key]


def folding_of(a: Any, reading: str = "", options: Mapping[str, str] | None = None) -> Folding:
    """Fold an algorithm (a row of the catalogue) under a reading, by default the canonical one."""
    return folding_under(a, a.resolve(reading or a.readings[0].name, options or {}))


def folding_under(a: Any, chosen: Mapping[str, str], whole: bool = False) -> Folding:
    """Fold an algorithm under a value for each option; ``whole`` is as in :class:`Folding`."""
    values = {n: a.options[n](v) for n, v in chosen.items() if n not in LEFT_OPEN}
    return Folding(values, [n for n in a.numbers if plays_part(a.plays, n, chosen)], whole)


def decided_of(a: Any, folding: Folding, f: FunctionType) -> dict[str, Any]:
    """Values of a rule's options, matched by their enum, since a rule may use another name for an option."""
    chosen = {kind: folding.options[n] for n, kind in a.options.items() if n in folding.options}
    chosen |= {kind: kind(a.under[n]) for n, kind in options_of(f).items() if n in a.under}
    values = {n: chosen.get(kind, defaults_of(f)[n]) for n, kind in options_of(f).items()}
    return {n: value for n, value in values.items() if value is not inspect.Parameter.empty}


LEFT_OPEN = {
    "weights": "the p_i of the box, which the text passes on to the average",
    "solver": "FedNova's box asks for a solver and names none",
    "cover": "SM3's sets, which are data",
}
"""Options that a printed text doesn't fix, each with the reason."""


class _Function(Deciding, ast.NodeTransformer):
    """A function under a reading."""

    def __init__(self, of: Folding, function: FunctionType, known: Known) -> None:
        self.of, self.function, self.space, self.options = of, function, function.__globals__, of.options
        self.known: dict[str, Any] = dict(known)
        self.same: dict[str, str] = {}
        self.idle: set[str] = set()
        self.made: Counter[str] = Counter()
        self.node = self.tree()

    def tree(self) -> ast.FunctionDef:
        node = bare(self.of.definition(self.function))
        self.made.update(assigned_in(node))
        read = loaded(node)
        node.body = self.block(node.body)
        drop_unread(node)
        if not self.of.whole:
            self.idle = {a.arg for a in node.args.kwonlyargs} & (read - loaded(node))
            leave_out(node.args, {*self.known, *self.idle})
        return node

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found = [new for s in body for new in self._several(self.visit(s))]
        end = next((k for k, s in enumerate(found) if isinstance(s, ast.Return)), len(found))
        return found[: end + 1]

    @staticmethod
    def _several(found: Any) -> list[ast.stmt]:
        return found if isinstance(found, list) else [] if found is None else [found]

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id in self.known:
            return _as_text(self.known[node.id])
        return ast.Name(self.same[node.id], node.ctx) if node.id in self.same else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        value = self.value(node)
        if isinstance(value, StrEnum) and isinstance(node.value, ast.Name) and node.value.id == "h":
            return _as_text(value)
        self.generic_visit(node)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.expr:
        value = self.value(node.test)
        if value is UNKNOWN:
            self.generic_visit(node)
            return node
        taken: ast.expr = self.visit(node.body if value else node.orelse)
        return taken

    def visit_If(self, node: ast.If) -> Any:
        value = self.value(node.test)
        if value is not UNKNOWN:
            return self.block(node.body if value else node.orelse)
        node.test, before = self._rest(node.test), dict(self.known)
        node.body = self.block(node.body)
        self.known = dict(before)
        node.orelse = self.block(node.orelse)
        self.known = before
        return node if node.body else None

    def _rest(self, test: ast.expr) -> ast.expr:
        """A test without the parts that the reading decides."""
        if isinstance(test, ast.BoolOp):
            test.values = [v for v in test.values if self.value(v) is UNKNOWN]
            test = test.values[0] if len(test.values) == 1 else test
        found: ast.expr = self.visit(test)
        return found

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.expr:
        value = self.value(node)
        if value is not UNKNOWN:
            return ast.Constant(value)
        node.values = [v for v in node.values if self.value(v) is UNKNOWN]
        self.generic_visit(node)
        return node.values[0] if len(node.values) == 1 else node

    def visit_Compare(self, node: ast.Compare) -> ast.expr:
        value = self.value(node)
        if value is not UNKNOWN:
            return ast.Constant(value)
        self.generic_visit(node)
        return node

    def visit_Match(self, node: ast.Match) -> Any:
        value = self.value(node.subject)
        if value is UNKNOWN:
            node.subject = self.visit(node.subject)
            for case in node.cases:
                case.body = self.block(case.body)
            return node
        return next((self.block(case.body) for case in node.cases if self.fits(case.pattern, value)), [])

    def visit_Expr(self, node: ast.Expr) -> Any:
        match node.value:
            # A reading that can be claimed passes the checks of its options.
            case ast.Call(func=ast.Name(id=name), args=args) if name.startswith("check_"):
                if args and all(self.value(a) is not UNKNOWN for a in args):
                    return None
        self.generic_visit(node)
        return node

    def visit_Assign(self, node: ast.Assign) -> Any:
        was = ast.dump(node.value)
        self.generic_visit(node)
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Name(id=other)) if name == other:
                return None
            case ast.Assign(targets=[ast.Name(id=name)]) if self.made[name] == 1 and self._settles(name, node, was):
                return None
            case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                found = [self.value(v) for v in values]
                if UNKNOWN not in found and all(isinstance(n, ast.Name) and self.made[n.id] == 1 for n in names):
                    self.known.update({n.id: v for n, v in zip(names, found, strict=True) if isinstance(n, ast.Name)})
                    return None
            case ast.Assign(targets=[ast.Name()], value=ast.Call() as call):
                if (lines := self._spread(call)) is not None:
                    *before, node.value = lines
                    return [*before, node]
        return node

    def _spread(self, call: ast.Call) -> list[Any] | None:
        """Statements of a called rule, its result last, if they can be inserted at the call."""
        f = self._function(call.func)
        if f is None or f not in self.of.known or not self._is_equation(f):
            return None
        given = self._bound(call, list(defaults_of(f)))
        match copied(self.of.within(f, self.of.known[f]).node).body:
            case [*before, ast.Return(value=ast.BinOp() as end)] if before:
                made = [
                    s.targets[0].id for s in before if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name)
                ]
                if len(made) < len(before) or any(self.made[n] for n in made):
                    return None
                whole = ast.Tuple([*(s.value for s in before if isinstance(s, ast.Assign)), end], ast.Load())
                if (found := _inlined(whole, given, self.space, f, made)) is None:
                    return None
                self.made.update(made)
                return [
                    *(ast.Assign([ast.Name(n, ast.Store())], e) for n, e in zip(made, found.elts, strict=False)),
                    found.elts[-1],
                ]
        return None

    def _settles(self, name: str, node: ast.Assign, was: str) -> bool:
        """True if an assignment is not needed: the reading decides the value, or another name has it."""
        value = self.value(node.value)
        if value is not UNKNOWN and not isinstance(value, tuple):
            self.known[name] = value
            return True
        if isinstance(node.value, ast.Name) and ast.dump(node.value) != was and self.made[node.value.id] <= 1:
            self.same[name] = node.value.id
            return True
        return False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        own = {a.arg for a in (*node.args.args, *node.args.kwonlyargs)}
        before, self.known = self.known, {n: v for n, v in self.known.items() if n not in own}
        node.body = self.block(node.body)
        drop_unread(node)
        self.known = before
        return node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        node.func, node.args = self.visit(node.func), [self._argument(a) for a in node.args]
        node.keywords = [new for k in node.keywords for new in self._keywords(k)]
        f = self._function(node.func)
        if isinstance(node.func, ast.Name) and node.func.id == "partial":
            self._held(node.args[0], node.keywords)
        if f is None or f is self.function:
            return self._with_text(node)
        return self._folded_call(node, f)

    def _function(self, node: ast.expr) -> FunctionType | None:
        """Function with options that a name refers to; None if it refers to something else."""
        f = self.space.get(node.id) if isinstance(node, ast.Name) else None
        f = inspect.unwrap(f) if isinstance(f, FunctionType) else None
        return f if f is not None and f.__module__.startswith(WHERE) else None

    def _held(self, node: ast.expr, given: Sequence[ast.keyword]) -> None:
        """Fold a function that ``partial`` holds, if nothing but its defaults decides its options."""
        if (f := self._function(node)) is not None:
            default = {n: defaults_of(f)[n] for n in options_of(f)}
            if not default.keys() & {k.arg for k in given} and inspect.Parameter.empty not in default.values():
                self.of.fold(f, default)

    def _argument(self, node: ast.expr) -> ast.expr:
        # An option is looked at by the function that is called.
        return node if self.value(node) is not UNKNOWN else self.visit(node)

    def _keywords(self, k: ast.keyword) -> list[ast.keyword]:
        match k:
            case ast.keyword(arg=None, value=ast.Call(func=ast.Attribute(value=ast.Name(id="h"), attr="of"), args=[r])):
                rule = self.space.get(r.id) if isinstance(r, ast.Name) else None
                assert isinstance(rule, FunctionType)
                held = [n for n in keywords(inspect.unwrap(rule)) if n in self.options or n in self.of.numbers]
                read = ast.Name("h", ast.Load())
                return [ast.keyword(n, ast.Attribute(read, n, ast.Load())) for n in held]
        return [ast.keyword(k.arg, self._argument(k.value))]

    def _with_text(self, node: ast.Call) -> ast.Call:
        """Return a call whose options are text."""
        node.args = [self._option(a) for a in node.args]
        node.keywords = [ast.keyword(k.arg, self._option(k.value)) for k in node.keywords]
        return node

    def _option(self, node: ast.expr) -> ast.expr:
        value = self.value(node)
        # A module that passes an option on need not know its kind.
        unnamed = isinstance(value, StrEnum) and type(value).__name__ not in self.space
        return node if value is UNKNOWN or unnamed else self.visit(node)

    def _folded_call(self, node: ast.Call, f: FunctionType) -> ast.expr:
        """A call without the options that it decides, or the one expression that is then left of the function."""
        default = defaults_of(f)
        names = list(default)
        given = self._bound(node, names)
        whole = not any(k.arg is None for k in node.keywords) and not any(isinstance(a, ast.Starred) for a in node.args)
        # What ``**`` hands over may be an option too.
        absent = default if whole else dict.fromkeys(default, UNKNOWN)
        chosen = {n: self.value(given[n]) if n in given else absent[n] for n in options_of(f)}
        known = {n: v for n, v in chosen.items() if v is not UNKNOWN and v is not inspect.Parameter.empty}
        known |= {
            n: v for n, a in given.items() if f.__annotations__.get(n) == "bool" and (v := self.value(a)) is not UNKNOWN
        }
        call = self._with_text(copied(node))
        left = {n: a for n, a in self._bound(call, names).items() if n not in known}
        within = self.of.within(f, known)
        match within.node.body:
            case [ast.Return(value=ast.expr() as value)] if whole and (known or self._is_equation(f)):
                more = {n: ast.Constant(default[n]) for n in names if n not in left and n not in known}
                if (found := _inlined(value, {**left, **more}, self.space, f)) is not None:
                    return found
        if not self.of.fold(f, known) or self.of.whole:
            return call
        call.args = [a for n, a in zip(names, call.args, strict=False) if n not in known]
        call.keywords = [k for k in call.keywords if k.arg not in {*known, *within.idle}]
        return call

    @staticmethod
    def _is_equation(f: FunctionType) -> bool:
        return f.__module__.startswith(INLINED) and bool(printed(f))

    @staticmethod
    def _bound(node: ast.Call, names: Collection[str]) -> dict[str, ast.expr]:
        return dict(zip(names, node.args, strict=False)) | {k.arg: k.value for k in node.keywords if k.arg}


def _inlined(
    value: E, given: Mapping[str, ast.expr], space: Known, f: FunctionType, made: Collection[str] = ()
) -> E | None:
    """The expression of a function at its arguments; None if one would be computed twice, or a name is lacking."""
    read = Counter(n.id for n in ast.walk(value) if isinstance(n, ast.Name))
    if any(read[n] != 1 and not _is_simple(a, read[n]) for n, a in given.items()):
        return None
    if any(isinstance(n, ast.Lambda | ast.comprehension) for n in ast.walk(value)):
        return None
    free = [n for n in read if n not in given and n not in made]
    if any(n in f.__globals__ and space.get(n, vars(arith).get(n)) is not f.__globals__[n] for n in free):
        return None
    found: E = _Put(given).visit(copied(value))
    return found


def _is_simple(node: ast.expr, times: int) -> bool:
    """True if an argument may be dropped, or repeated as often as an expression reads it."""
    if times > 1:
        return isinstance(node, ast.Name | ast.Attribute | ast.Constant | ast.Subscript)
    return not any(isinstance(n, ast.Call) for n in ast.walk(node))


class _Put(ast.NodeTransformer):
    """Puts arguments where an expression reads parameters; a factor of 1 is left out."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied(self.given.get(node.id, node))

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.BinOp(left=ast.Constant(value=1), op=ast.Mult(), right=other):
                return other
        return node


def _as_text(value: Any) -> ast.expr:
    """A value that the reading decides, as text."""
    if isinstance(value, StrEnum):
        return ast.Attribute(ast.Name(type(value).__name__, ast.Load()), value.name, ast.Load())
    return ast.Constant(value)
