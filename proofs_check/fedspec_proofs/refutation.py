"""Finding from a counterexample: the instance, each printed assumption checked on it, and both sides of the claim."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import Any

from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.words import both

NEAR = 1e-9
"""Relative tolerance between the right side and its second computation, for enclosed roots and floats."""


def refutation(
    *, instance: str, conditions: Mapping[str, Any], left: Any, right: Any, relation: str = "<=", again: Any = None
) -> Finding:
    """Refuted if every condition holds and the claimed relation does not; else unknown, with the conditions that fail.

    Args:
        instance: description of the counterexample.
        conditions: for each printed assumption, by its description, True if it holds for the instance, decided by code.
        left: the left side, an exact number. If it is irrational, a rational bound on the side that makes the
            refutation harder; describe this in ``instance``.
        right: the right side, an exact number or a rational bound, as for ``left``.
        relation: ``"<="``, ``">="`` or ``"="``.
        again: the printed right side, typed a second time from the numbers of the instance, without the code that
            computed ``right``; the two must agree.

    Raises:
        TypeError: a side is a floating-point number.
    """
    for side in (left, right):
        if not isinstance(side, numbers.Rational) and not getattr(side, "is_Rational", False):
            raise TypeError(f"refutation: got {side!r} of type {type(side).__name__}; both sides must be exact")
    if again is not None:
        agrees = right == again or abs(float(right) - float(again)) <= NEAR * abs(float(again))
        conditions = {**conditions, f"the right side, typed a second time, is {float(again):.6g}": agrees}
    holds = {"<=": left <= right, ">=": left >= right, "=": left == right}[relation]
    missing = [words for words, met in conditions.items() if not met]
    lines = [instance, *(f"{'met' if met else 'NOT MET'}: {words}" for words, met in conditions.items())]
    lines.append(f"left side {both(left)}, right side {both(right)}; claimed: left {relation} right")
    refuted = not missing and not bool(holds)
    return Finding(Verdict.REFUTED if refuted else Verdict.UNKNOWN, "\n".join(lines))
