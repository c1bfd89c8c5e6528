"""Mathematics as MathML, made from the statements of a rule's text; nothing is typed a second time.

What is read here: arithmetic, roots, norms, names with subscripts, calls. A statement with anything else has none.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Set

from markupsafe import Markup, escape

_LETTERS = (
    "α alpha β beta γ gamma Δ delta ε epsilon ζ zeta η eta θ theta κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho σ sigma "
    "τ tau φ phi ψ psi ω omega"
)
GREEK = {name: letter for letter, name in re.findall(r"(\w) (\w+)", _LETTERS)}
"""A change is a capital Delta in every box, and ``delta`` in the texts."""

RECORDS = ("h", "state", "self", "plan")
"""Names before a dot that say where a number comes from, and nothing of what it is."""

ADD, TIMES, POWER, ATOM = range(4)
OPEN, CLOSE = (f'<mo stretchy="false">{sign}</mo>' for sign in "()")


class Unread(Exception):
    """Something that is no formula."""


def statement(node: ast.stmt, before: Set[str] = frozenset()) -> Markup | None:
    """An assignment as a formula; None where it is none.

    Args:
        node: the node.
        before: names of the state that an earlier line has set anew; their old values get a mark.
    """
    try:
        match node:
            case ast.Assign(targets=[ast.Name() | ast.Subscript() as target], value=value):
                return _whole(f"{_Reader(before).atom(target)}<mo>←</mo>{_Reader(before).read(value, ADD)}")
            case ast.Return(value=ast.expr() as value):
                return _whole(_Reader(before).read(value, ADD))
    except Unread:
        pass
    return None


def _whole(inner: str) -> Markup:
    return Markup(f'<math displaystyle="true"><mrow>{inner}</mrow></math>')


class _Reader:
    def __init__(self, before: Set[str]) -> None:
        self.before = before

    def atom(self, node: ast.expr) -> str:
        return self.read(node, ATOM)

    def read(self, node: ast.expr, level: int) -> str:
        """MathML of an expression, in brackets where it binds weaker than its place asks."""
        text, binds = self._read(node)
        return f"<mrow>{OPEN}{text}{CLOSE}</mrow>" if binds < level else f"<mrow>{text}</mrow>"

    def _read(self, node: ast.expr) -> tuple[str, int]:
        match node:
            case ast.Constant(value=bool()):
                raise Unread
            case ast.Constant(value=int() | float() as value):
                return f"<mn>{value}</mn>", ATOM
            case ast.Name(id=name):
                return name_markup(name), ATOM
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of in RECORDS:
                old = of == "state" and name in self.before
                return (f"<msup>{name_markup(name)}<mo>old</mo></msup>" if old else name_markup(name)), ATOM
            case ast.Subscript(value=value, slice=ast.Name() | ast.Constant() as at):
                return f"<msub>{self.atom(value)}{self.atom(at)}</msub>", ATOM
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return f"<mo>−</mo>{self.read(inner, TIMES)}", ADD
            case ast.BinOp(left=a, op=ast.Add(), right=b):
                return f"{self.read(a, ADD)}<mo>+</mo>{self.read(b, ADD)}", ADD
            case ast.BinOp(left=a, op=ast.Sub(), right=b):
                return f"{self.read(a, ADD)}<mo>−</mo>{self.read(b, TIMES)}", ADD
            case ast.BinOp(left=a, op=ast.Mult(), right=b):
                left, right = self.read(a, TIMES), self.read(b, TIMES)
                # Beside digits and words nothing but a sign tells one factor from the next.
                sign = "·" if _digits(b) or WORD in left + right else "&#x2062;"
                return f"{left}<mo>{sign}</mo>{right}", TIMES
            case ast.BinOp(left=a, op=ast.MatMult(), right=b):
                return f"{self.read(a, TIMES)}<mo>·</mo>{self.read(b, TIMES)}", TIMES
            case ast.BinOp(left=a, op=ast.Div(), right=b):
                return f"<mfrac>{self.read(a, ADD)}{self.read(b, ADD)}</mfrac>", TIMES
            case ast.BinOp(left=a, op=ast.Pow(), right=b):
                return f"<msup>{self.read(a, ATOM)}{self.read(b, ADD)}</msup>", POWER
            case ast.Call(func=ast.Name(id="sqrt"), args=[inner], keywords=[]):
                return f"<msqrt>{self.read(inner, ADD)}</msqrt>", ATOM
            case ast.Call(func=ast.Name(id="norm"), args=[inner], keywords=[]):
                return f"<mo>‖</mo>{self.read(inner, ADD)}<mo>‖</mo>", ATOM
            case ast.Call(func=ast.Name(id="abs"), args=[inner], keywords=[]):
                return f"<mo>|</mo>{self.read(inner, ADD)}<mo>|</mo>", ATOM
            case ast.Call(func=ast.Attribute(value=inner, attr="sum"), args=[], keywords=[ast.keyword(arg="axis")]):
                # Along the first axis, of clients.
                return f"<munder><mo>∑</mo><mi>i</mi></munder>{self.read(inner, TIMES)}", ADD
            case ast.Call(func=ast.Name() | ast.Attribute() as function, args=args, keywords=[]) if args:
                told = "<mo>,</mo>".join(self.read(one, ADD) for one in args)
                return f"{_called(function)}<mo>&#x2061;</mo><mrow>{OPEN}{told}{CLOSE}</mrow>", ATOM
        raise Unread


def _digits(node: ast.expr) -> bool:
    """True if a factor begins with a digit."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.BinOp) and _digits(node.left))


WORD = 'mathvariant="normal"'
SHORT = {"maximum": "max", "minimum": "min"}


def _called(function: ast.Name | ast.Attribute) -> str:
    match function:
        case ast.Name(id=name):
            return f'<mi mathvariant="normal">{escape(SHORT.get(name, name))}</mi>'
        case ast.Attribute(value=ast.Name(id=of), attr=name) if of not in RECORDS:
            return f'<mi mathvariant="normal">{escape(of)}.{escape(name)}</mi>'
    raise Unread


def name_markup(name: str) -> str:
    """A name of the text: Greek where it is spelled so, digits and what follows a bar below the line."""
    hatted = name.endswith("_hat")
    base, *below = name.removesuffix("_hat").strip("_").split("_")
    if m := re.fullmatch(r"([a-zA-Z]+?)(\d+)", base):
        base, below = m[1], [m[2], *below]
    text = _symbol(base)
    if hatted:
        text = f'<mover accent="true">{text}<mo>^</mo></mover>'
    if not below:
        return text
    under = "<mo>,</mo>".join(_symbol(part) for part in below)
    return f"<msub>{text}<mrow>{under}</mrow></msub>"


def _symbol(word: str) -> str:
    if word.isdigit():
        return f"<mn>{word}</mn>"
    letter = GREEK.get(word.lower())
    if letter:
        return f"<mi>{letter if word.islower() else letter.upper()}</mi>"
    normal = ' mathvariant="normal"' if len(word) > 1 else ""
    return f"<mi{normal}>{escape(word)}</mi>"
