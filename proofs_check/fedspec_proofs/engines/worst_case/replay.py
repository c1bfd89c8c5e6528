"""A problem evaluated at given functions, to show that it fails if an assumption is dropped."""

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
    """Scalar quadratic c (x - e)^2 / 2."""

    c: Fraction
    e: Fraction = Fraction(0)

    def gradient(self, x: Fraction) -> Fraction:
        """Derivative at x."""
        return self.c * (x - self.e)

    def value(self, x: Fraction) -> Fraction:
        """Value at x."""
        return self.c * (x - self.e) ** 2 / 2


def valued(problem: Problem, parabolas: Sequence[Parabola], start: Mapping[str, Fraction], value: Value) -> Fraction:
    """Evaluate a value with these parabolas as the functions and these numbers as the free vectors."""
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
    """Check that an instance breaks the claim and violates only given inequalities whose names start with ``but``.

    Args:
        problem: the claim to break.
        parabolas: the parabola of each client.
        but: prefix of the names of the inequalities that the instance may violate; empty for an assumption that isn't
            an inequality, such as a limit of the rate, which the problem itself then violates.
        words: description of the instance.
        start: values of the free vectors.
    """
    names = [name for name in problem.given if not (but and name.startswith(but))]
    meets = all(valued(problem, parabolas, start, problem.given[name]) <= 0 for name in names)
    by = valued(problem, parabolas, start, problem.claimed)
    return Dropped(meets and by > 0, f"{words}: left side less right side {float(by):.4g}")
