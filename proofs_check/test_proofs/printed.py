"""Interpreter of the equations that a rule's docstring prints, so that the text can be compared with the code.

A printed equation has implicit products, ``^``, ``||u||`` for the length of a vector, ``A unless C`` for a step that is
not taken where C holds, ``A if C is whole, else B`` and ``A if k = 0, else B``. phi is the identity by default. ``O = X
after n times X = ...`` is of matrices, whose products and powers are theirs, X' turned; a_k is a sequence. Sizes are
``|u|`` of each entry, ``max_j |u_j|`` of the largest and ``||u||_1`` of all; it also reads how a rule counts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from fedspec.arith import greatest, least, norm, ratio, sign, sqrt, where_shorter

FUNCTIONS = {
    "sqrt": sqrt,
    "max": lambda *xs: greatest(xs),
    "min": lambda *xs: least(xs),
    "sign": sign,
    "ratio": ratio,
    "norm": norm,
    "phi": lambda length: length,
    "floor": lambda q: q.numerator // q.denominator,
    "abs": abs,
    "largest": max,
    "sum": sum,
    "C": lambda u: u,
}

_TOKEN = re.compile(r"\s*([A-Za-z_]\w*|\d+|\|\||.)")
_UNLESS = re.compile(r"(?P<new>.*) unless \|\|(?P<u>\w+)\|\| < (?P<length>\w+)")
_WHERE = re.compile(r"(?P<new>.*) where \|\|(?P<u>\w+)\|\| < (?P<length>\w+)")
_COUNTED = re.compile(r"(?P<first>.*) if (?P<count>\w+) = (?P<number>\d+), else (?P<then>.*)")
_WHOLE = re.compile(r"(?P<due>.*) (?:if \(t - 1\)/z is whole|at these t), else (?P<kept>\w+)")
_BEFORE = re.compile(r"(?P<u>\w+) where fewer than (?P<k>\w+) entries come before in size, 0 elsewhere")
_AFTER = re.compile(r"(?P<X>\w+) after (?P<n>\w+) times (?P=X) = (?P<next>.*)")
_HOW_MANY = re.compile(r"how many (?P<k>\w+) of 0, \.\.\., (?P<last>.*) have (?P<low>.*) < (?P<high>.*)")

_SIZES = {
    re.compile(r"\|\|(\w+)\|\|_1"): r"sum(abs(\1))",
    re.compile(r"max_j \|(\w+)_j\|"): r"largest(abs(\1))",
    re.compile(r"(?<!\|)\|(\w+)\|(?!\|)"): r"abs(\1)",
}


class Matrix(NamedTuple):
    """A matrix by its rows, in plain loops."""

    rows: Sequence[Sequence[Any]]

    def __add__(self, other: Any) -> Matrix:
        return Matrix([[p + q for p, q in zip(*pair, strict=True)] for pair in zip(self.rows, other.rows, strict=True)])

    def __mul__(self, other: Any) -> Matrix:
        columns = [*zip(*other.rows, strict=True)]
        return Matrix([[sum(p * q for p, q in zip(r, s, strict=True)) for s in columns] for r in self.rows])

    def __rmul__(self, number: Any) -> Matrix:
        return Matrix([[number * p for p in r] for r in self.rows])

    def __pow__(self, n: int) -> Matrix:
        return self if n == 1 else self * self ** (n - 1)

    def turned(self) -> Matrix:
        """Columns for rows."""
        return Matrix([*zip(*self.rows, strict=True)])


def evaluate(text: str, names: Mapping[str, Any]) -> tuple[str, Any]:
    """The symbol on the left of a printed equation, and what its right side is worth.

    Raises:
        SyntaxError: it is no equation of one symbol that this module reads.
        NameError: it has a symbol without a value.
    """
    left, _, right = text.partition(" = ")
    if not left.isidentifier():
        raise SyntaxError(f"printed: {text!r} has no single symbol on its left")
    if m := _UNLESS.fullmatch(right):
        u = names[m["u"]]
        return left, where_shorter(u, names[m["length"]], names[left], _value(m["new"], names))
    if m := _WHERE.fullmatch(right):
        old, u = names[left], names[m["u"]]
        return left, where_shorter(u, names[m["length"]], old * 0 + _value(m["new"], names), old)
    if m := _COUNTED.fullmatch(right):
        return left, _value(m["first"] if names[m["count"]] == int(m["number"]) else m["then"], names)
    if m := _WHOLE.fullmatch(right):
        return left, _value(m["due"] if (names["t"] - 1) % names["z"] == 0 else m["kept"], names)
    if m := _BEFORE.fullmatch(right):
        return left, _foremost(names[m["u"]], names[m["k"]])
    if m := _AFTER.fullmatch(right):
        return left, _iterated(names[m["X"]], m["X"], names[m["n"]], m["next"], names)
    if m := _HOW_MANY.fullmatch(right):
        counted = range(_value(m["last"], names) + 1)
        return left, sum((_value(m["low"], {**names, m["k"]: k}) < _value(m["high"], names)) * 1 for k in counted)
    return left, _value(right, names)


def _foremost(u: Any, k: int) -> Any:
    """The entries before which fewer than k others come: larger ones, and of one size those that stand before."""
    before = [sum(abs(b) > abs(a) or (abs(b) == abs(a) and i < j) for i, b in enumerate(u)) for j, a in enumerate(u)]
    return np.where(np.array(before) < k, u, 0)


def _iterated(u: Any, X: str, n: int, text: str, names: Mapping[str, Any]) -> Any:
    """The entries of a matrix after so many times what is printed of it."""
    matrix = Matrix(np.reshape(u, names["shape"]).tolist())
    for k in range(n):
        of_k = {name: values[k] for name, values in names.items() if name.endswith("_k")}
        turned = {f"{X}_turned": matrix.turned(), X: matrix}
        matrix = _value(text.replace(f"{X}'", f"{X}_turned"), {**names, **of_k, **turned})
    return np.array(matrix.rows, dtype=object).reshape(-1)


def _value(text: str, names: Mapping[str, Any]) -> Any:
    return eval(python(text), {"__builtins__": {}}, {**FUNCTIONS, **names})


def python(text: str) -> str:
    """A printed expression as Python writes it.

    Raises:
        SyntaxError: the bars of a length are not closed.
    """
    for sizes, call in _SIZES.items():
        text = sizes.sub(call, text)
    out: list[str] = []
    open_length = False
    for token in _TOKEN.findall(text):
        opens = token == "||" and not open_length
        operand = opens or token == "(" or token[0].isalnum() or token[0] == "_"
        after = bool(out) and (out[-1] == ")" or out[-1][-1].isalnum() or out[-1][-1] == "_")
        called = token == "(" and bool(out) and out[-1] in FUNCTIONS
        if operand and after and not called:
            out.append("*")
        if token == "||":
            out.extend(("norm", "(") if opens else (")",))
            open_length = opens
        else:
            out.append("**" if token == "^" else token)
    if open_length:
        raise SyntaxError(f"printed: the length in {text!r} is not closed")
    return " ".join(out)
