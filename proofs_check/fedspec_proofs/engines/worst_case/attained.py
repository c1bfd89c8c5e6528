"""Functions of a class, given by exact numbers, at which a claim's left side comes closest to its right side.

A certificate says that no function of the class breaks a claim. Vectors and values in fractions that obey every given
inequality are a function of the class, which :mod:`interpolation` builds; the rule is replayed on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from fedspec.plan import Oracle
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.engines.worst_case.forms import Form
from fedspec_proofs.engines.worst_case.interpolation import Through, added, dot
from fedspec_proofs.engines.worst_case.plays import Play
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value


@dataclass(frozen=True)
class Attained:
    """Functions of the class as numbers: vectors for the basis names, and function values.

    Attributes:
        vectors: the basis vectors; a vector that the claim doesn't contain is zero, for example a model of which only
            differences occur.
        values: the function values.
    """

    vectors: Mapping[str, tuple[Fraction, ...]]
    values: Mapping[str, Fraction]

    @property
    def d(self) -> int:
        """Dimension of the vectors."""
        return len(next(iter(self.vectors.values())))

    def at(self, x: Form) -> tuple[Fraction, ...]:
        """Vector of a linear form at these numbers."""
        total = (Fraction(0),) * self.d
        for name, c in x.parts:
            total = added(total, c, self.vectors.get(name, (Fraction(0),) * self.d))
        return total

    def of(self, value: Value) -> Fraction:
        """Number of an expression in inner products and function values."""
        total = value.constant + sum((c * self.values[name] for name, c in value.values.items()), Fraction(0))
        return total + sum(
            (c * dot(self.vectors[a], self.vectors[b]) for (a, b), c in value.products.items()), Fraction(0)
        )


def share(problem: Problem, found: Attained) -> Fraction:
    """Ratio of the left side to the right side at these functions."""
    right = found.of(problem.right)
    return (found.of(problem.claimed) + right) / right


def unfit(problem: Problem, found: Attained) -> str:
    """Reason why the numbers violate a given inequality or make the right side negative; empty if they don't."""
    if found.of(problem.right) < 0:
        return "the right side is negative there"
    broken = [name for name, q in problem.given.items() if found.of(q) > 0]
    return f"{broken[0]!r} does not hold" if broken else ""


def replayed(played: Play, found: Attained) -> str:
    """Reason why the rule, run on interpolating functions, disagrees with its run on forms; empty if it agrees."""
    built = [
        Through(f.of, [(found.at(p.x), found.at(p.g), found.of(p.f)) for p in f.points.values()])
        for f in played.functions
    ]

    def oracle(f: Through) -> Oracle:
        return lambda k, x: objects(f.at(tuple(x))[0])

    ended = played.run(lambda x: objects(found.at(x)), [oracle(f) for f in built])
    numbers = [tuple(row) for out in ended for row in np.atleast_2d(np.asarray(out))]
    if numbers != [found.at(x) for x in played.ended]:
        return "the rule ends elsewhere on the functions that are built"
    for f, through in zip(played.functions, built, strict=True):
        for p in f.points.values():
            if through.at(found.at(p.x)) != (found.at(p.g), found.of(p.f)):
                return f"what is built for {f.name} is no such function"
    return ""
