"""Identities with roots, signs and maxima, decided by sympy in bounded time.

:func:`~fedspec_proofs.engines.symbolic.vanishes` decides rational functions. What adaptive rules give has square roots
and maxima as well, on which sympy may fail or take for ever: then nothing is proved, and that is said. Where the sign
of a real symbol matters, the three cases are taken one by one: it is a positive number, minus one, or zero.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any

import sympy

from fedspec_proofs.engines.limit import within

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
