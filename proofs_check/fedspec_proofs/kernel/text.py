"""Formatting of numbers, lists and theorems in Coq's syntax."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction


def number(c: Fraction | int | str) -> str:
    """Format a fraction."""
    c = Fraction(c)
    return f"({c.numerator}#{c.denominator})"


def coq_list(items: Iterable[str]) -> str:
    """Format a list."""
    return f"[{'; '.join(items)}]"


def numbers(of: Iterable[Fraction | int | str]) -> str:
    """Format a list of fractions."""
    return coq_list(map(number, of))


def naturals(of: Iterable[int]) -> str:
    """Format a list of natural numbers."""
    return f"{coq_list(map(str, of))}%nat"


def identifier(words: str) -> str:
    """Convert words to a name that Coq accepts."""
    return "".join(c if c.isalnum() else "_" for c in words).strip("_")


def checked_theorem(name: str, says: str, by: str = "", end: str = "Qed.") -> str:
    """Write a theorem that Coq proves by evaluating a check to true, with the given end of its proof.

    Args:
        name: name of the theorem.
        says: the statement of the theorem.
        by: proof term: the soundness theorem of the check, without the proof that the check returns true; empty if the
            statement is itself that the check returns true.
        end: ``Qed.``, or another end, for example for a proof that must fail.
    """
    refined = f"refine ({by} _). " if by else ""
    return f"Theorem {name} :\n  {says}.\nProof. {refined}vm_cast_no_check (eq_refl true). {end}\n"
