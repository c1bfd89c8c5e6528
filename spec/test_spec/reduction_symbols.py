"""Test of a reduction by sympy on a small instance: each free quantity of the restriction becomes a symbol.

:func:`~fedspec_proofs.engines.symbolic.vanishes` decides rational functions. What adaptive rules give has square roots
and maxima as well, on which sympy may fail or take for ever: then nothing is proved, and that is said. Where the sign
of a real symbol matters, the three cases are taken one by one: it is a positive number, minus one, or zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import sympy
from test_spec.reduction_runs import Drawn, Path, agrees, answers, both, mapped, numbers_in

from fedspec.domains import COUNTS
from fedspec.params import flatten
from fedspec_proofs.engines.limit import within
from fedspec_properties.reductions import Edge
from fedspec_suite.measure.scenario import Scenario

SIGNED = (sympy.Abs, sympy.sign, sympy.Max, sympy.Min, sympy.Piecewise)
"""Functions whose value depends on signs."""

MOST_CASES = 27
"""An expression that looks at the signs of more symbols than three is left undecided."""


def identical(pairs: Iterable[tuple[Any, Any]], *, seconds: float = 5.0) -> bool:
    """True if sympy finds both sides of every pair to be the same function; False: it did not, which proves nothing.

    The pairs may be made as they are asked for: that counts as time too.
    """
    try:
        with within(seconds):
            return all(_is_zero(sympy.sympify(a) - sympy.sympify(b)) for a, b in pairs)
    except (TimeoutError, ValueError):
        # ValueError: sympy met a 0/0.
        return False


def _is_zero(difference: Any) -> bool:
    return _reduces(difference) or all(_reduces(case) or sympy.simplify(case) == 0 for case in _by_sign(difference))


def _reduces(difference: Any) -> bool:
    return bool(difference == 0 or sympy.expand(sympy.fraction(sympy.together(difference))[0]) == 0)


def _by_sign(expression: Any) -> Iterator[Any]:
    """The expression for every sign of every real symbol whose sign it looks at."""
    looked = sorted(set().union(*(a.free_symbols for a in expression.atoms(*SIGNED))), key=str)
    unsure = [s for s in looked if s.is_positive is None]
    if 3 ** len(unsure) > MOST_CASES:
        unsure = []
    for signs in product((1, -1, 0), repeat=len(unsure)):
        yield expression.subs({s: sign * sympy.Dummy(positive=True) for s, sign in zip(unsure, signs, strict=True)})


POINTS = 5
"""Number of random points for an edge that sympy does not decide."""


SOON = 0.3
"""Seconds that are given to what need not be decided, since a smaller scenario is asked next."""


class Decided(StrEnum):
    """Result for an edge on a small instance."""

    IDENTITY = "identity"
    """Sympy reduces the difference of the two sides to 0, for all values of the symbols."""
    POINTS = "points"
    """Sympy could not say; the sides agree at random rational points."""
    DIFFERENT = "different"
    """A point was found where they do not."""


DATA = ("x0", "g", "delta", "H", "e", "x")
"""Quantities that may become a symbol, beside hyper-parameters: the last name on a number's path that is not a place.
"""


def kind(path: Path) -> str:
    """Kind of a number, whatever its client, event and coordinate: ``g``, ``H``, ``hyper.eta``."""
    if "hyper" in path:
        return f"hyper.{path[-1]}"
    return next((name for name in reversed(path) if name in DATA), path[-1])


def free(edge: Edge, cases: Sequence[Drawn]) -> set[str]:
    """The kinds of numbers that the restriction neither sets nor compares with something: they may be anything."""
    held = {f"hyper.{n}" for n in (*edge.needs, *edge.about, *COUNTS)}
    for case in cases:
        before, after = numbers_in(case.raw), numbers_in(case.s)
        held |= {kind(p) for p in before.keys() | after.keys() if not _same(before.get(p), after.get(p))}
    kinds = {kind(p) for case in cases for p in numbers_in(case.s)}
    return {name for name in kinds - held if name in DATA or name.startswith("hyper.")}


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and bool(a == b)


def _symbols(s: Scenario, names: set[str]) -> dict[Path, Any]:
    """A symbol for every number of these kinds; peers, who begin at one model, share theirs."""
    out: dict[Path, Any] = {}
    for path in numbers_in(s):
        if kind(path) in names:
            label = path[-1:] if "hyper" in path or "x0" in path else path
            positive = "hyper" in path or "H" in path
            out[path] = sympy.Symbol("_".join((kind(path), *label)), real=True, positive=positive or None)
    return out


def decided(edge: Edge, cases: Sequence[Drawn], thorough: bool = True) -> Decided:
    """Decide an edge on small scenarios whose free quantities become symbols.

    The two sides are first compared at random points. Then the largest scenario is tried, with hyper-parameters as
    symbols too where ``thorough``, and after it smaller ones, so that the decision does not depend on the speed of the
    machine. A scenario on which nothing moves does not count.
    """
    names = free(edge, cases)
    data = {name for name in names if name in DATA}
    by_size = sorted((case.s for case in cases), key=lambda s: -len(numbers_in(s)))
    moving = [s for s in by_size if list(answers(s)[-1]) != list(flatten(s.case.x0))]
    largest, middle, last = moving[0], moving[len(moving) // 2], moving[-1]
    if not all(agrees(edge, s)[0] for s in _at_points(largest, names)):
        return Decided.DIFFERENT
    # What sympy decides at all it mostly decides at once.
    attempts = [(middle, data, SOON), (last, data, 20)]
    for s, chosen, seconds in [(largest, names, SOON), (largest, data, SOON), *attempts] if thorough else attempts:
        symbols = _symbols(s, chosen)
        general = mapped(s, lambda path, v, symbols=symbols: symbols.get(path, v))
        # The pairs are made inside the time limit: sympy may take as long over a run as over its result.
        pairs = (pair for x, y in both(edge, general, _rational) for pair in zip(x, y, strict=True))
        if identical(pairs, seconds=seconds):
            return Decided.IDENTITY
    return Decided.POINTS


def _at_points(s: Scenario, names: set[str]) -> Iterator[Scenario]:
    """The scenario with random rationals for what is free."""
    rng = np.random.default_rng(0)
    symbols = _symbols(s, names)
    for _ in range(POINTS):
        at = {symbol: int(rng.integers(1, 96)) / 128 for symbol in sorted(set(symbols.values()), key=str)}
        yield mapped(s, lambda path, v, at=at: at[symbols[path]] if path in symbols else v)


def _rational(q: Fraction) -> Any:
    return sympy.Rational(q.numerator, q.denominator)
