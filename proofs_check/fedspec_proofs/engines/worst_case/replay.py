"""A problem at functions that are given: what becomes of it where an assumption does not hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

from fedspec_proofs.claim import Dropped
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value


@dataclass(frozen=True)
class Parabola:
    """c (x - e)^2 / 2, of one coordinate."""

    c: Fraction
    e: Fraction = Fraction(0)

    def gradient(self, x: Fraction) -> Fraction:
        """Its derivative."""
        return self.c * (x - self.e)

    def value(self, x: Fraction) -> Fraction:
        """Its value."""
        return self.c * (x - self.e) ** 2 / 2


def valued(problem: Problem, parabolas: Sequence[Parabola], start: Mapping[str, Fraction], value: Value) -> Fraction:
    """Number that a value has if the functions are these parabolas and the free vectors these numbers."""
    assert problem.play is not None, "a claim about a run of a rule"
    asked = {f.name: (list(f.points.values()), p) for f, p in zip(problem.play.functions, parabolas, strict=True)}

    @cache
    def vector(name: str) -> Fraction:
        if name in start:
            return start[name]
        of, _, k = name.rpartition(".g")
        points, parabola = asked[of]
        return parabola.gradient(at(points[int(k)].x))

    def at(x: Form) -> Fraction:
        return sum((c * vector(name) for name, c in x.parts), Fraction(0))

    def function(name: str) -> Fraction:
        of, _, k = name.rpartition(".f")
        points, parabola = asked[of]
        return parabola.value(at(points[int(k)].x))

    total = value.constant
    total += sum((c * vector(a) * vector(b) for (a, b), c in value.products.items()), Fraction(0))
    return total + sum((c * function(name) for name, c in value.values.items()), Fraction(0))


def dropped(
    problem: Problem,
    parabolas: Sequence[Parabola],
    *,
    but: str,
    words: str,
    **start: Fraction,
) -> Dropped:
    """An instance that breaks the claim and, of what is given, only the inequalities whose names begin so.

    Args:
        problem: the claim.
        parabolas: parabola of each function.
        but: what the names of the inequalities begin with that the instance need not meet; empty for an
            assumption that is no inequality, such as a limit of the rate, which the problem itself does not meet then.
        words: the instance.
        start: the free vectors.
    """
    names = [name for name in problem.given if not (but and name.startswith(but))]
    meets = all(valued(problem, parabolas, start, problem.given[name]) <= 0 for name in names)
    by = valued(problem, parabolas, start, problem.claimed)
    return Dropped(meets and by > 0, f"{words}: left side less right side {float(by):.4g}")
