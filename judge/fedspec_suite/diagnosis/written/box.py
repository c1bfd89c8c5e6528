"""A rule as a list of assignments, one of which is unknown and can be solved for."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from types import FunctionType
from typing import Any

import numpy as np

from fedspec.arith import Array
from fedspec.folding import decided_of, folding_under
from fedspec.rules import equations
from fedspec.source_text import bare, copied, definition_of, loaded
from fedspec_suite.diagnosis.edits.claimed import OF_MESSAGES, claimed, running
from fedspec_suite.diagnosis.edits.edit import CALLS
from fedspec_suite.diagnosis.edits.unguarded import CHECKS
from fedspec_suite.measure.setting import Setting

Values = Mapping[str, Any]
"""Numbers by the text that denotes them: a name, or a field such as ``state.m``."""

AT_RANDOM: object = OF_MESSAGES["fixed-random"]

OWN_SHARE = "W.diagonal()[:, None]"
"""Text of each client's weight of its own model."""

BINARY: dict[type[ast.operator], Any] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.divide,
    ast.Pow: np.power,
}


@dataclass(frozen=True, eq=False)
class Box:
    """Text of a rule in single-assignment form.

    Attributes:
        function: the rule.
        head: its definition, without a body.
        made: the names that it assigns, each once, and what it assigns to them, in order.
        end: the expression that it returns.
        model: the name of the new model.
        word: the word of a claim whose function it is; empty: it is a rule.
    """

    function: FunctionType
    head: ast.FunctionDef
    made: Mapping[str, ast.expr]
    end: ast.expr
    model: str
    word: str = ""

    def resting_on(self, name: str) -> set[str]:
        """Return the names whose values depend on ``name``, including itself."""
        found = {name}
        for n, value in self.made.items():
            if loaded(value) & found:
                found.add(n)
        return found

    def model_from(self, name: str) -> ast.expr:
        """Return the new model as an expression of one name and of values that don't depend on it."""
        rest = self.resting_on(name)

        def put(n: str) -> ast.expr:
            inner = {other: put(other) for other in loaded(self.made[n]) & rest - {name}}
            expression: ast.expr = _Put(inner).visit(copied(self.made[n]))
            return expression

        return ast.Name(name, ast.Load()) if self.model == name else put(self.model)

    def written_out(self, value: ast.expr, inner: Mapping[str, ast.expr]) -> ast.expr:
        """Return an expression with some assigned names, in order, replaced by what is assigned to them."""
        known: dict[str, ast.expr] = {}
        for n, assigned in inner.items():
            known[n] = _Put(known).visit(copied(assigned))
        out: ast.expr = _Put(known).visit(copied(value))
        return out

    def edited(self, name: str, value: ast.expr) -> str:
        """Return the rule's text with another value for one name; values that it may read are computed first."""
        rest = self.resting_on(name) - {name}
        before = {n: v for n, v in self.made.items() if n not in rest and n != name}
        after = {n: v for n, v in self.made.items() if n in rest}
        body = [
            ast.Assign([ast.Name(n, ast.Store())], v, lineno=0)
            for n, v in (*before.items(), (name, value), *after.items())
        ]
        head = copied(self.head)
        head.body = [*body, ast.Return(self.end)]
        return ast.unparse(ast.fix_missing_locations(head))


class _Put(ast.NodeTransformer):
    """Puts expressions in the place of names, and writes corrections out."""

    def __init__(self, given: Mapping[str, ast.expr]) -> None:
        self.given = given

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return copied(self.given.get(node.id, node)) if isinstance(node.ctx, ast.Load) else node

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="corrected"), args=[m, beta, t]):
                return ast.BinOp(m, ast.Div(), ast.BinOp(ast.Constant(1), ast.Sub(), ast.BinOp(beta, ast.Pow(), t)))
        return node


def boxes(setting: Setting) -> Iterator[Box]:
    """Yield the rules of a setting that print equations and consist of assignments only."""
    options, words = {**setting.algorithm.under, **setting.options}, claimed(setting)
    # A claim's words come first: another word looks like an equation of the rule that takes what it makes.
    for f in sorted(running(setting), key=lambda f: f not in words):
        # No secant solves a step function.
        if f != AT_RANDOM and (f in words or equations(f, options)):
            folding = folding_under(setting.algorithm, setting.options)
            inner = inspect.unwrap(f)
            folding.fold(inner, decided_of(setting.algorithm, folding, inner))
            text = folding.texts.get(inner)
            node = ast.parse(text).body[0] if text else bare(definition_of(inner))
            assert isinstance(node, ast.FunctionDef)
            if box := _box(f, bare(definition_of(inner)), node):
                yield replace(box, word=words.get(f, ""))


def _box(function: FunctionType, head: ast.FunctionDef, node: ast.FunctionDef) -> Box | None:
    taken = {a.arg for a in (*head.args.args, *head.args.kwonlyargs)}
    made: dict[str, ast.expr] = {}
    now: dict[str, ast.expr] = {}

    def add(name: str, value: ast.expr) -> ast.expr:
        while name in taken or name in made:
            name += "_"
        made[name] = value
        return ast.Name(name, ast.Load())

    for s in node.body:
        match s:
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name.startswith(CHECKS):
                # A subject's own numbers need not be in the rule's domain.
                pass
            case ast.If(body=[ast.Raise()], orelse=[]):
                pass
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                now[name] = add(name, _Put(now).visit(copied(value)))
            case ast.Return(value=ast.Call(args=[], keywords=[_, *_] as fields) as call):
                for k in fields:
                    value = _Put(now).visit(copied(k.value))
                    k.value = value if isinstance(value, ast.Name) else add(str(k.arg), value)
                new = {k.arg: k.value for k in fields}
                if isinstance(x := new.get("x"), ast.Name):
                    return Box(function, head, made, copied(call), x.id)
                return None
            case ast.Return(value=ast.Tuple(elts=[first, *more])):
                # The model comes first, and then what is shown of how it was made.
                x = add("x", _Put(now).visit(copied(first)))
                assert isinstance(x, ast.Name)
                shown = [_Put(now).visit(copied(value)) for value in more]
                return Box(function, head, made, ast.Tuple([x, *shown], ast.Load()), x.id)
            case ast.Return(value=ast.expr() as value):
                x = add("x", _Put(now).visit(copied(value)))
                assert isinstance(x, ast.Name)
                return Box(function, head, made, x, x.id)
            case _:
                return None
    return None


def leaf(node: ast.AST) -> str:
    """Return the name of a value if the expression is a name, a field or a function of whole vectors; else empty."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.BinOp(op=ast.MatMult()) | ast.Subscript():
            return ast.unparse(node)
        case ast.Attribute() | ast.Call():
            known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS
            return "" if known else ast.unparse(node)
    return ""


def value_of(node: ast.expr, values: Values) -> Any:
    """Evaluate an expression elementwise.

    Raises:
        KeyError: something in it is not among the values.
    """
    if name := leaf(node):
        return values[name]
    match node:
        case ast.Constant(value=int() | float() as v):
            return float(v)
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return -value_of(a, values)
        case ast.BinOp(left=a, op=op, right=b):
            return BINARY[type(op)](value_of(a, values), value_of(b, values))
        case ast.Call(func=ast.Name(id=name), args=given):
            return CALLS[name](*(value_of(a, values) for a in given))
    raise KeyError(ast.unparse(node))


def solved(node: ast.expr, at: ast.expr, want: Any, values: Values) -> Any:
    """Solve for the value of one part of an expression, given the value of the whole; nan if undetermined.

    Args:
        node: the expression.
        at: the part, a node of it.
        want: the value.
        values: values of all other names in the expression.

    Raises:
        KeyError: nothing solves for it.
    """
    if node is at:
        return want
    match node:
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return solved(a, at, -want, values)
        case ast.BinOp(left=a, op=op, right=b):
            left = _holds(a, at)
            other = value_of(b if left else a, values)
            return solved(a if left else b, at, _undone(type(op), want, other, left), values)
        case ast.Call(func=ast.Name(id="sqrt"), args=[a]):
            return solved(a, at, np.where(np.asarray(want) >= -1e-9, np.square(want), np.nan), values)
        case ast.Call(func=ast.Name(id="maximum" | "minimum" as name), args=[a, b]):
            left, sign = _holds(a, at), 1 if name == "maximum" else -1
            other = value_of(b if left else a, values)
            told = sign * (np.asarray(want) - other) > 1e-9 * np.abs(other)
            return solved(a if left else b, at, np.where(told, want, np.nan), values)
        case ast.Call(func=ast.Name(id="ratio"), args=[a, b]):
            return solved(ast.BinOp(a, ast.Div(), b), at, want, values)
    raise KeyError(ast.unparse(node))


def _undone(op: type[ast.operator], want: Any, other: Any, left: bool) -> Any:
    if op is ast.Add:
        return want - other
    if op is ast.Sub:
        return want + other if left else other - want
    if op is ast.Mult:
        return want / other
    if op is ast.Div:
        return want * other if left else other / want
    raise KeyError(op.__name__)


def _holds(node: ast.AST, part: ast.AST) -> bool:
    return any(n is part for n in ast.walk(node))


def read_in(nodes: Sequence[ast.expr]) -> set[str]:
    """Return the leaves that expressions read."""
    found: set[str] = set()
    for node in nodes:
        if name := leaf(node):
            found.add(name)
        elif isinstance(node, ast.Call):
            found |= read_in(node.args)
        else:
            found |= read_in([n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)])
    return found


def rows(value: Any, like: Array) -> Array:
    """Broadcast a value to one number for each coordinate of a model, or of each client's model."""
    return np.broadcast_to(np.asarray(value, dtype=float), like.shape).reshape(-1)


def parts_in(node: ast.expr) -> list[ast.expr]:
    """List an expression and the expressions in it, without names of functions."""
    return [n for n in ast.walk(node) if isinstance(n, ast.expr) and not (isinstance(n, ast.Name) and n.id in CALLS)]


def parts_of(node: ast.expr, want: Any, slack: Any, values: Values) -> list[tuple[ast.expr, Array, Array]]:
    """List the parts that can be solved for, with what each must be, and how far off that may be."""
    found = []
    for at in parts_in(node):
        with np.errstate(all="ignore"):
            try:
                target, moved = (solved(node, at, w, values) for w in (want, want + slack))
            except KeyError:
                continue
            found.append((at, target, np.abs(moved - target) + 1e-11 * np.abs(target)))
    return found
