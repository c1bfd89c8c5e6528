"""Formulas in the papers' notation: products without a sign, powers with a caret."""

from __future__ import annotations

import ast
from collections.abc import Collection

from fedspec_suite.diagnosis.written.box import OWN_SHARE, Box

NAMES = {"TORCH_EPS": "1e-6", "delta": "Delta", "delta_i": "Delta_i", "maximum": "max", "minimum": "min"}
LEVELS: dict[type[ast.operator], int] = {
    **dict.fromkeys((ast.Add, ast.Sub), 1),
    **dict.fromkeys((ast.Mult, ast.MatMult, ast.Div), 2),
    ast.Pow: 4,
}
SIGNS: dict[type[ast.cmpop], str] = {ast.Eq: "=", ast.NotEq: "!=", ast.Lt: "<", ast.Gt: ">", ast.GtE: ">="}
FORMULAS = {
    *NAMES,
    "sqrt",
    "abs",
    "sign",
    "cos",
    "floor",
    "ceil",
    "norm",
    "largest",
    "total",
    "where_less",
    "ratio",
    "mean",
    "old",
    "x_0",
    "event_number",
    "participants",
    "client_squares",
    "block_sum",
    "block_mean",
    "block_max",
    "block_norms",
    "rows_mean",
    "new_model",
    "mean_change",
}
"""Functions that a formula may contain."""


def in_notation(box: Box, name: str, symbols: Collection[str]) -> str:
    """Return the right side of a rule's equation in the papers' notation.

    Args:
        box: the rule.
        name: the name that the equation defines.
        symbols: the symbols of printed equations; other names are written out.
    """
    rest = box.resting_on(name)
    # A quantity that is made in two statements has one equation.
    own = {n for n in box.made if n not in rest and n.rstrip("_") == name.rstrip("_")}
    found = {n: v for n, v in box.made.items() if n not in rest and is_formula(v)}
    inner = {n: v for n, v in found.items() if n in own or n.rstrip("_") not in symbols}
    return in_symbols(box.written_out(box.made[name], inner), {n for n in box.made if n not in rest})


def in_symbols(value: ast.expr, newer: Collection[str]) -> str:
    """Format an expression; ``_old`` marks a state field if a new value of the same name exists."""

    def text(node: ast.expr, level: int = 0) -> str:
        match node:
            case ast.Name(id=n):
                return NAMES.get(n, n)
            case ast.Attribute(value=a, attr="T"):
                return f"{text(a, 5)}^T"
            case ast.Attribute(attr=n):
                return f"{n}_old" if n in newer else NAMES.get(n, n)
            case ast.Subscript() if ast.unparse(node) == OWN_SHARE:
                return "w_ii"
            case ast.Constant(value=v):
                return f"{v:g}" if isinstance(v, float) else str(v)
            case (
                ast.BinOp(left=ast.Constant(value=1), op=ast.Mult(), right=a)
                | ast.BinOp(left=a, op=ast.Mult(), right=ast.Constant(value=1))
            ):
                return text(a, level)
            case ast.BinOp(left=ast.Constant(value=int() as a), op=ast.Add(), right=ast.Constant(value=int() as b)):
                return str(a + b)
            case (
                ast.BinOp(left=a, op=ast.Add() | ast.Sub(), right=ast.Constant(value=0))
                | ast.BinOp(left=ast.Constant(value=0), op=ast.Add(), right=a)
                # A rule multiplies by zero to have a number of the arithmetic in use.
                | ast.BinOp(left=ast.BinOp(op=ast.Mult(), right=ast.Constant(value=0)), op=ast.Add(), right=a)
            ):
                return text(a, level)
            case ast.Call(func=ast.Name(id="where_less"), args=[a, b, x, y]):
                return _in(f"{text(x)} if {text(a)} < {text(b)} else {text(y)}", True)
            case ast.BinOp(left=a, op=ast.Add(), right=ast.BinOp(left=c, op=ast.Mult(), right=b)) if (
                opposite := _opposite(c)
            ) is not None:
                return text(ast.BinOp(a, ast.Sub(), ast.BinOp(opposite, ast.Mult(), b)), level)
            case ast.BinOp(
                left=ast.BinOp(left=a, op=ast.Mult(), right=ast.BinOp(left=b, op=ast.Sub(), right=c)),
                op=ast.Add(),
                right=d,
            ) if ast.dump(c) == ast.dump(d):
                rest = ast.BinOp(ast.Constant(1), ast.Sub(), a)
                left, right = (ast.BinOp(f, ast.Mult(), v) for f, v in ((a, b), (rest, c)))
                return text(ast.BinOp(left, ast.Add(), right), level)
            case ast.IfExp(test=ast.Compare(left=a, ops=[op], comparators=[b]), body=x, orelse=y):
                return _in(f"{text(x)} if {text(a)} {SIGNS[type(op)]} {text(b)} else {text(y)}", level > 0)
            case (
                ast.UnaryOp(op=ast.USub(), operand=a)
                | ast.BinOp(left=ast.Constant(value=0), op=ast.Sub(), right=a)
                | ast.BinOp(left=ast.Constant(value=-1), op=ast.Mult(), right=a)
            ):
                return _in(f"-{text(a, 3)}", level > 1)
            case ast.BinOp(left=ast.UnaryOp(op=ast.USub(), operand=a), op=ast.Mult(), right=b):
                return _in(f"-{text(ast.BinOp(a, ast.Mult(), b), 2)}", level > 1)
            case ast.BinOp(left=a, op=op, right=b):
                own = LEVELS[type(op)]
                match op:
                    case ast.Mult() | ast.MatMult():
                        # A quotient beside another factor stands in brackets: a / b c is read in two ways.
                        said = " ".join(text(n, 3 if _is_quotient(n) else 2) for n in (a, b))
                    case ast.Div():
                        said = f"{text(a, 2)} / {text(b, 3)}"
                    case ast.Pow():
                        said = f"{text(a, 5)}^{text(b, 5)}"
                    case ast.Sub():
                        said = f"{text(a, 1)} - {text(b, 2)}"
                    case _:
                        said = f"{text(a, 1)} + {text(b, 1)}"
                return _in(said, own < level)
            case ast.Call(func=ast.Name(id="event_number")):
                return "t"
            case ast.Call(func=ast.Name(id="participants" | "len")):
                return "M"
            case ast.Call(func=ast.Name(id="client_squares")):
                return "(sum_i p_i Delta_i^2)"
            case ast.Call(func=ast.Name(id="new_model")):
                return "x_new"
            case ast.Call(func=ast.Name(id="mean_change")):
                return "Delta"
            case ast.Call(func=ast.Name(id="x_0")):
                return "x_0"
            case ast.Call(func=ast.Name(id="as_set"), args=[ast.Constant(value=str() as name)]):
                return name
            case ast.Call(func=ast.Name(id="at_hand"), args=[ast.Constant(value=str() as name)]):
                return NAMES.get(name, name)
            case ast.Call(func=ast.Name(id="rows_mean"), args=[v]):
                return f"(mean of {text(v, 5)} over the clients)"
            case ast.Call(func=ast.Name(id="of_state"), args=[ast.Constant(value=str() as path)]):
                return f"{path.rpartition('.')[2]}_old"
            case ast.Call(func=ast.Name(id="block_sum" | "block_mean" | "block_max" as n), args=[v]):
                return f"({n.removeprefix('block_')} of {text(v, 5)} over the block)"
            case ast.Call(func=ast.Name(id="block_norms"), args=[v]):
                return f"sum_b ||{text(v)}_b||"
            case ast.Call(func=ast.Name(id="old"), args=[v]):
                return f"{text(v)}_old"
            case ast.Call(func=ast.Name(id="as_number"), args=[v, _]):
                return text(v, level)
            case ast.Call(func=ast.Name(id="norm"), args=[v]):
                return f"||{text(v)}||"
            case ast.Call(
                func=ast.Name(id="largest" | "total" as n), args=[ast.Call(func=ast.Name(id="abs"), args=[v])]
            ):
                return f"||{text(v)}||_{'inf' if n == 'largest' else 1}"
            case ast.Call(func=ast.Name(id=n), args=given):
                return f"{NAMES.get(n, n)}({', '.join(text(a) for a in given)})"
        return ast.unparse(node)

    return text(value)


def is_formula(node: ast.expr) -> bool:
    """True if an expression contains only numbers, symbols, and operations that the notation has."""
    match node:
        case ast.Constant(value=v):
            return isinstance(v, int | float)
        case ast.Name():
            return True
        case ast.Attribute(value=ast.Name()):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=a):
            return is_formula(a)
        case ast.BinOp(left=a, op=op, right=b):
            return type(op) in LEVELS and is_formula(a) and is_formula(b)
        case ast.IfExp(test=ast.Compare(left=a, ops=[op], comparators=[b]), body=x, orelse=y):
            return type(op) in SIGNS and all(map(is_formula, (a, b, x, y)))
        case ast.Call(func=ast.Name(id="of_state" | "as_set" | "at_hand")):
            return True
        case ast.Call(func=ast.Name(id=name), args=given, keywords=[]):
            return name in FORMULAS and all(map(is_formula, given))
    return False


def _in(said: str, brackets: bool) -> str:
    return f"({said})" if brackets else said


def _is_quotient(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)


def _opposite(node: ast.expr) -> ast.expr | None:
    """The opposite of a negative number; None of anything else."""
    match node:
        case ast.Constant(value=int() | float() as v) if v < 0:
            return ast.Constant(-v)
        case ast.BinOp(left=ast.Constant(value=int() as v), op=ast.Div(), right=b) if v < 0:
            return ast.BinOp(ast.Constant(-v), ast.Div(), b)
    return None
