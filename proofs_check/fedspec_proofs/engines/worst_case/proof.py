"""A claim about all functions of a class, and the check that multipliers prove it, in exact fractions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from fedspec_proofs.engines.worst_case.plays import Play
from fedspec_proofs.engines.worst_case.values import Value


@dataclass(frozen=True)
class Problem:
    """Claim that an expression is at most zero if all given expressions are at most zero.

    Attributes:
        claimed: the expression that is claimed to be at most zero, for every Gram matrix and all values.
        given: the given expressions, each at most zero, by name.
        right: the right side of the claim, as the unit of the worst case; empty if it is zero.
        play: the run of the rule that the claim is about, which can be repeated on numbers.
        terms: terms of the right side, by name; empty if it is one term.
        relaxed: True if the given inequalities describe functions and noise incompletely, so that no functions can be
            built from a solution.
    """

    claimed: Value
    given: Mapping[str, Value]
    right: Value = field(default_factory=Value)
    play: Play | None = None
    terms: Mapping[str, Value] = field(default_factory=dict)
    relaxed: bool = False

    def within(self, part: Fraction) -> Problem:
        """Claim with its right side multiplied by ``part``."""
        return replace(self, claimed=self.claimed + (1 - part) * self.right, right=part * self.right)

    def lacking(self, term: str) -> Problem:
        """Claim without one term of its right side; ``right`` stays, as the unit of both sides."""
        return replace(self, claimed=self.claimed + self.terms[term])

    @property
    def basis(self) -> list[str]:
        """Names of the basis vectors that occur, sorted."""
        return sorted({name for v in (self.claimed, *self.given.values()) for pair in v.products for name in pair})


def remainder(problem: Problem, multipliers: Mapping[str, Fraction]) -> Value:
    """Difference sum lambda_k q_k - s of the weighted given expressions and the claimed one."""
    total = -problem.claimed
    for name, multiplier in multipliers.items():
        total += multiplier * problem.given[name]
    return total


def flaw(problem: Problem, multipliers: Mapping[str, Fraction]) -> str:
    """Reason why the multipliers don't prove the claim; empty if they do.

    With lambda_k >= 0 and sum lambda_k q_k - s = <R, G> + r, R positive semidefinite and r >= 0, s is at most zero
    wherever all q_k are.
    """
    wrong = ill_formed(problem, multipliers)
    if wrong:
        return wrong
    left = remainder(problem, multipliers)
    if left.values:
        return f"{next(iter(left.values))} is left over"
    if left.constant < 0:
        return f"the constant {left.constant} is left over"
    names = problem.basis
    if not semidefinite(matrix(left, names)):
        return "the matrix that is left over is not positive semidefinite"
    return ""


def ill_formed(problem: Problem, multipliers: Mapping[str, Fraction]) -> str:
    """Reason why multipliers are invalid (negative, or without a given inequality); empty if they are valid."""
    unknown = [name for name in multipliers if name not in problem.given]
    if unknown:
        return f"there is no inequality {unknown[0]!r}"
    negative = [name for name, c in multipliers.items() if c < 0]
    if negative:
        return f"the multiplier of {negative[0]!r} is negative"
    return ""


def matrix(value: Value, names: Sequence[str]) -> list[list[Fraction]]:
    """Symmetric matrix R with <R, G> equal to the products of a value, G the Gram matrix."""
    at = {name: k for k, name in enumerate(names)}
    R = [[Fraction(0)] * len(names) for _ in names]
    for (a, b), c in value.products.items():
        R[at[a]][at[b]] += c / 2
        R[at[b]][at[a]] += c / 2
    return R


def semidefinite(R: list[list[Fraction]]) -> bool:
    """True if a symmetric matrix has no negative eigenvalue, by exact LDL^T elimination."""
    R = [row[:] for row in R]
    while R:
        pivot, first = R[0][0], R[0]
        if pivot < 0 or (pivot == 0 and any(first)):
            return False
        R = [
            [R[i][j] - (first[i] * first[j] / pivot if pivot else 0) for j in range(1, len(R))]
            for i in range(1, len(R))
        ]
    return True
