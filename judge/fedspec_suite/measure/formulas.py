"""Enumeration of formulas by size, without duplicates, and lookup of the formulas that give required values.

Formulas are enumerated bottom up, and one that gives the values of a smaller one is left out. A wanted list is looked
up directly, under a root, and as a sum, product, quotient, maximum or minimum of a formula and a small one.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, partial
from itertools import islice
from typing import Any

import numpy as np

from fedspec import arith
from fedspec.arith import Array

ROWS = 32
"""Number of values by which formulas are distinguished; all other values check the formulas found."""

MOST = 12_000
"""Number of formulas above which no larger ones are enumerated."""

SMALL = 3
"""Largest size of a formula that may be combined with any other one."""

FEW = 4
"""Least number of values that a formula must reproduce."""

MANY = 200
"""Largest number of answers of one lookup."""

DIGITS = 6
"""Most digits of a constant that the subject may have."""

DENOMINATORS = (12, 100)
"""Largest denominators of a fraction that comes before a short decimal, and of one that comes after it, as 64 / 63."""

NEAR = 1e-9
"""Largest distance of two keys whose values are then compared."""

Made = tuple[str, int, int]
"""Construction of a formula: the operation and the indices of its operands; for a leaf, the leaf's index."""

OPERATORS: dict[str, ast.operator] = {"+": ast.Add(), "-": ast.Sub(), "*": ast.Mult(), "/": ast.Div()}
FUNCTIONS = {"sqrt": np.sqrt, "square": np.square, "abs": np.abs, "sign": np.sign}


def keys_of(values: Array) -> Array:
    """Return a hash-like number for each row of values; close values have close keys."""
    weights: Array = np.random.default_rng(7).uniform(0.5, 1, values.shape[-1:])
    with np.errstate(all="ignore"):
        squashed = values / (1 + np.abs(values))
    keys: Array = (squashed * (weights / weights.sum())).sum(axis=-1)
    return keys


@dataclass
class Terms:
    """Formulas over some leaves, with their values.

    Attributes:
        leaves: their expressions, with their sizes.
        values: [formulas, rows] values of each formula.
        sizes: its size.
        made: for each formula, its operator and the numbers of its arguments.
        seen: the keys of all.
        order: their numbers, by key.
        keys: the keys in that order.
    """

    leaves: Sequence[ast.expr]
    values: Array
    sizes: list[int] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    seen: set[float] = field(default_factory=set)
    order: Array = field(default_factory=lambda: np.zeros(0, int))
    keys: Array = field(default_factory=lambda: np.zeros(0))

    @classmethod
    def of(cls, leaves: Sequence[tuple[ast.expr, Array, int]]) -> Terms:
        """Enumerate formulas of some expressions, given with their values and sizes."""
        kept = cls([e for e, _, _ in leaves], np.zeros((0, ROWS)))
        kept._add(
            np.array([v for _, v, _ in leaves]), [("", k, 0) for k in range(len(leaves))], [n for *_, n in leaves]
        )
        for size in range(2, 7):
            if not kept._grow(size):
                break
        keys = keys_of(kept.values)
        kept.order = np.argsort(keys, kind="stable")
        kept.keys = keys[kept.order]
        return kept

    def _add(self, values: Array, made: Sequence[Made], sizes: Sequence[int]) -> None:
        fine = np.isfinite(values).all(axis=1) & (np.abs(values).max(axis=1) < 1e9)
        keys = np.round(keys_of(np.where(fine[:, None], values, 0)), 12)
        new = []
        for k in np.flatnonzero(fine).tolist():
            if keys[k] not in self.seen:
                self.seen.add(keys[k])
                new.append(k)
        self.values = np.concatenate([self.values, values[new]])
        self.made += [made[k] for k in new]
        self.sizes += [sizes[k] for k in new]

    def _grow(self, size: int) -> bool:
        """Add the formulas of a size; false if there are too many."""
        of = np.array(self.sizes)
        with np.errstate(all="ignore"):
            below = np.flatnonzero(of == size - 1)
            for name, f in FUNCTIONS.items():
                self._add(f(self.values[below]), [(name, k, 0) for k in below.tolist()], [size] * len(below))
            for a in range(1, size - 1):
                one, other = np.flatnonzero(of == a), np.flatnonzero(of == size - 1 - a)
                if len(one) * len(other) * 4 + len(self.made) > 6 * MOST:
                    return False
                i, j = (g.ravel() for g in np.meshgrid(one, other, indexing="ij"))
                u, v = self.values[i], self.values[j]
                joined = [("-", u - v), ("/", u / v)]
                if a <= size - 1 - a:
                    joined = [("+", u + v), ("*", u * v), ("max", np.maximum(u, v)), ("min", np.minimum(u, v)), *joined]
                pairs = [*zip(i.tolist(), j.tolist(), strict=True)]
                for name, values in joined:
                    self._add(values, [(name, k, l) for k, l in pairs], [size] * len(pairs))
        return len(self.made) < MOST

    def written(self, k: int) -> ast.expr:
        """Return a formula as an expression."""
        op, a, b = self.made[k]
        if not op:
            return self.leaves[a]
        return joined(op, self.written(a), None if op in FUNCTIONS else self.written(b))

    def near(self, wanted: Array) -> Iterator[tuple[int, int]]:
        """Yield pairs of a row of wanted values and a formula with a close key."""
        keys = keys_of(wanted)
        keys = np.where(np.isfinite(keys), keys, 9.0)
        low, high = np.searchsorted(self.keys, keys - NEAR), np.searchsorted(self.keys, keys + NEAR)
        for row in np.flatnonzero(high > low).tolist():
            for place in range(low[row], high[row]):
                yield row, int(self.order[place])


def joined(op: str, a: ast.expr, b: ast.expr | None) -> ast.expr:
    """Combine two expressions by an operator, or apply a function to one."""
    if op == "square":
        return ast.BinOp(a, ast.Pow(), ast.Constant(2))
    if op in OPERATORS:
        assert b is not None
        return ast.BinOp(a, OPERATORS[op], b)
    name = {"max": "maximum", "min": "minimum"}.get(op, op)
    return ast.Call(ast.Name(name, ast.Load()), [a] if b is None else [a, b], [])


def _of_constants(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that of whole numbers alone its value is a float: most roots have none in fractions."""
    return lambda *given: function(*(map(float, given) if all(isinstance(a, int) for a in given) else given))


SPACE = {n: _of_constants(f) if callable(f := getattr(arith, n)) else f for n in arith.__all__}
"""Functions that formulas call."""

_compiled = cache(partial(compile, filename="<formula>", mode="eval"))


def evaluated(formula: str, values: Mapping[str, Any]) -> Any:
    """Evaluate a formula in the arithmetic of some values."""
    with np.errstate(all="ignore"):
        return eval(_compiled(formula), SPACE, {**values})


@dataclass(frozen=True)
class Answer:
    """Expression that gives the required values.

    Attributes:
        expression: it.
        size: one for each operator, plus the sizes of its leaves.
    """

    expression: ast.expr
    size: int


def answers(
    terms: Terms, want: Array, slack: Array, claimed: Array | None = None, guards: bool = True
) -> Iterator[Answer]:
    """Yield formulas whose values in the rows of the terms are the wanted ones.

    Args:
        terms: the formulas.
        claimed: the values that the rule gives there.
        want: the wanted values.
        slack: [rows] tolerance of each wanted value.
        guards: True: also try two formulas with a condition between them, which takes most of the time.
    """

    def fits(values: Array) -> bool:
        return bool((np.abs(values - want) <= slack).all())

    V, sizes = terms.values, terms.sizes
    small = [k for k, n in enumerate(sizes) if n <= SMALL]
    B = V[small]
    with np.errstate(all="ignore"):
        for _, k in terms.near(want[None]):
            if fits(V[k]):
                yield Answer(terms.written(k), sizes[k])
        yield from _constants(terms, want, slack)
        if claimed is not None:
            for k, by in _matching(V, want - claimed, slack, np.ones(want.shape, bool), "*"):
                if c := number(by):
                    more = joined("*", c, terms.written(k))
                    yield Answer(joined("+", CLAIMED, more), 1 + terms.sizes[k] + _size(c))
            for op, sign in (("+", 1), ("-", -1)):
                for row, k in terms.near(sign * (want - claimed) / B):
                    j = small[row]
                    if fits(claimed + sign * V[j] * V[k]):
                        more = joined("*", terms.written(j), terms.written(k))
                        yield Answer(joined(op, CLAIMED, more), sizes[j] + sizes[k] + 3)
        for wrap, target in (("", want), ("sqrt", np.where((want >= 0).all(), want**2, np.nan))):
            wanted = {
                "+": target - B,
                "*": target / B,
                "r-": target + B,
                "-": B - target,
                "r/": target * B,
                "/": B / target,
            }
            for op, needed in wanted.items():
                for row, k in terms.near(needed):
                    j = small[row]
                    value = _join(op, V[j], V[k])
                    if fits(FUNCTIONS[wrap](value) if wrap else value):
                        a, b = (k, j) if op.startswith("r") else (j, k)
                        found = joined(op[-1], terms.written(a), terms.written(b))
                        whole = joined(wrap, found, None) if wrap else found
                        yield Answer(whole, sizes[j] + sizes[k] + 1 + bool(wrap))
        if guards:
            yield from _choices(terms, want, slack, small, claimed)


def terms_of(columns: Mapping[str, Array], rows: Array, sizes: Mapping[str, int] | None = None) -> Terms:
    """Enumerate the formulas of named columns, in some rows, and of 1 and 2; ``sizes`` has those that are not 1."""
    of = {n: (sizes or {}).get(n, 1) for n in columns}
    leaves: list[tuple[ast.expr, Array, int]] = [
        (ast.Name(n, ast.Load()), columns[n][rows], of[n]) for n in sorted(columns, key=of.__getitem__)
    ]
    return Terms.of([*leaves, *((ast.Constant(c), np.full(ROWS, float(c)), 1) for c in (1, 2))])


def smallest(
    terms: Terms, want: Array, slack: Array, claimed: Array | None = None, guards: bool = False
) -> list[Answer]:
    """Return the answers that ``answers`` gives first, the smallest first."""
    return sorted(islice(answers(terms, want, slack, claimed, guards), MANY), key=lambda a: a.size)


def _join(op: str, small: Array, other: Array) -> Array:
    """Result of an operation on a small formula and another one."""
    a, b = (other, small) if op.startswith("r") else (small, other)
    with np.errstate(all="ignore"):
        out: Array = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide}[op[-1]](a, b)
    return out


def _constants(terms: Terms, want: Array, slack: Array) -> Iterator[Answer]:
    """A number, or a formula times or plus one."""
    V = terms.values
    if np.ptp(want) <= 2 * slack.max() and (c := number(float(np.median(want)))) is not None:
        yield Answer(c, 2)
        return
    every = np.ones(want.shape, bool)
    for op in "*+":
        for k, by in _matching(V, want, slack, every, op):
            c = number(by)
            if c is not None and by not in (0, 1):
                yield Answer(joined(op, c, terms.written(k)), terms.sizes[k] + _size(c))


def _size(c: ast.expr) -> int:
    """The size of a number and of what joins it: each further digit is less likely."""
    return 2 + len(ast.unparse(c)) // 4 + 1


def _matching(V: Array, want: Array, slack: Array, some: Array, op: str = "") -> Iterator[tuple[int, float]]:
    """Formulas whose values, as they are or times or plus one number, are the wanted ones in some rows."""
    rows = np.flatnonzero(some)
    rows = rows[np.argsort(-np.abs(want[rows]), kind="stable")]
    first, second = rows[0], rows[len(rows) // 2]
    if op == "*" and np.abs(want[first]) < 1e3 * slack[first]:
        # Nothing is told by how large a rounding error is.
        return
    with np.errstate(all="ignore"):
        by = {"*": want[first] / V[:, first], "+": want[first] - V[:, first]}.get(op, np.zeros(len(V)))
        moved = by * V[:, second] if op == "*" else V[:, second] + by
        near = np.abs(moved - want[second]) <= slack[second]
        if not op:
            near &= np.abs(V[:, first] - want[first]) <= slack[first]
        for k in np.flatnonzero(near).tolist():
            value = by[k] * V[k] if op == "*" else V[k] + by[k]
            if (np.abs(value - want) <= slack)[rows].all():
                yield k, float(by[k])


BINARY = tuple(2**k - less for k in range(7, 17) for less in (0, 1))
"""Denominators of codes with some bits: the number of codes, or one less."""


def number(value: float) -> ast.expr | None:
    """Return a simple fraction or short decimal equal to a value, as an expression; None if there is none."""
    if not np.isfinite(value):
        return None
    digits = (float(f"{value:.{n}g}") for n in range(1, DIGITS + 1))
    few = next((v for v in digits if abs(v - value) <= 1e-9 * abs(value)), 0.0)
    least, most = DENOMINATORS
    near = Fraction(value).limit_denominator(least if few else most)
    if near and abs(float(near) - value) <= 1e-9 * abs(value) and abs(near) < 1000:
        whole = ast.Constant(near.numerator)
        return whole if near.denominator == 1 else ast.BinOp(whole, ast.Div(), ast.Constant(near.denominator))
    if few:
        return ast.Constant(few)
    of_bits = (Fraction(round(value * n), n) for n in BINARY)
    near = next((q for q in of_bits if q and abs(float(q) - value) <= 1e-9 * abs(value)), Fraction(0))
    return ast.BinOp(ast.Constant(near.numerator), ast.Div(), ast.Constant(near.denominator)) if near else None


def _choices(terms: Terms, want: Array, slack: Array, small: Sequence[int], claimed: Array | None) -> Iterator[Answer]:
    """Two formulas, each of which gives some values: the larger or smaller of them, or one under a condition.

    One of them is a small formula; if the other is neither larger nor smaller, the first is the claimed one or zero.
    """
    V = terms.values
    firsts = [(V[j], terms.sizes[j], terms.written(j), False) for j in small]
    if claimed is not None:
        firsts.append((claimed, 1, CLAIMED, True))
    firsts.append((np.zeros(want.shape), 1, ast.Constant(0), True))
    for one, size, written, guards in firsts:
        equal = np.abs(one - want) <= slack
        if not 1 <= equal.sum() <= len(want) - FEW:
            continue
        rest = ~equal
        orders = {"max": (want - one >= -slack).all(), "min": (one - want >= -slack).all()}
        joins = [op for op, holds in orders.items() if holds and written is not CLAIMED] or ["if"] * guards
        if not joins:
            continue
        if written is CLAIMED and (limit := _limit(terms, one, want, slack, rest)) is not None:
            yield limit
        # Sought once, if at all: where there is none, thousands of formulas would ask for it.
        sought = cache(lambda rest=rest: _condition(terms, rest))
        for other, value, more in _on(terms, want, slack, rest):
            for op in joins:
                if op != "if":
                    both = np.maximum(one, value) if op == "max" else np.minimum(one, value)
                    if (np.abs(both - want) <= slack).all():
                        yield Answer(joined(op, written, other), size + more + 1)
                elif condition := sought():
                    less, least = condition
                    yield Answer(
                        ast.Call(ast.Name("where_less", ast.Load()), [*less, other, written], []), size + more + least
                    )


CLAIMED = ast.Name("claimed_", ast.Load())
"""Placeholder for the claimed part of the rule in a formula."""


def _on(terms: Terms, want: Array, slack: Array, some: Array) -> Iterator[tuple[ast.expr, Array, int]]:
    """Formulas that give the wanted values in some rows, or a plain number times one."""
    V = terms.values
    if some.sum() < FEW:
        return
    for k, _ in _matching(V, want, slack, some):
        yield terms.written(k), V[k], terms.sizes[k]
    for k, by in _matching(V, want, slack, some, "*"):
        if (c := number(by)) is not None and by != 1:
            yield joined("*", c, terms.written(k)), by * V[k], terms.sizes[k] + _size(c)


def _limit(terms: Terms, claimed: Array, want: Array, slack: Array, rest: Array) -> Answer | None:
    """The claimed part kept between minus and plus something."""
    if not (np.sign(want) == np.sign(claimed))[rest].all() or (np.abs(want) > np.abs(claimed) + slack).any():
        return None
    for bound, value, size in _on(terms, np.abs(want), slack, rest):
        if (np.abs(np.clip(claimed, -value, value) - want) <= slack).all():
            inner = joined("min", CLAIMED, bound)
            return Answer(joined("max", inner, ast.UnaryOp(ast.USub(), bound)), size + 3)
    return None


def _condition(terms: Terms, there: Array) -> tuple[list[ast.expr], int] | None:
    """The smallest comparison of two formulas that holds in some rows and in no others."""
    few = [k for k, n in enumerate(terms.sizes) if n <= SMALL][:4000]
    ends = [k for k in few if terms.sizes[k] == 1]
    with np.errstate(all="ignore"):
        best: tuple[int, list[ast.expr]] | None = None
        zero = (ast.Constant(0), np.zeros(there.shape), 1)
        for other, value, size in (zero, *((terms.written(k), terms.values[k], 1) for k in ends)):
            less = terms.values[few] < value
            more = terms.values[few] > value
            for holds, swap in ((less, False), (more, True)):
                for row in np.flatnonzero((holds == there).all(axis=1)).tolist():
                    total = terms.sizes[few[row]] + size
                    if best is None or total < best[0]:
                        pair = [terms.written(few[row]), other]
                        best = total, pair[::-1] if swap else pair
    return None if best is None else (best[1], best[0])
