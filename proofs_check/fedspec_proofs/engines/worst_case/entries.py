"""Runs of a linear rule on whole vectors, on arrays of symbolic entries and on floats, compared with its forms.

A linear rule makes the same of all of them. Each run is read as forms, or held to them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from numbers import Rational
from typing import Any

import numpy as np

from fedspec.arith import Vector
from fedspec.plan import Oracle
from fedspec_proofs.engines.exact import objects
from fedspec_proofs.engines.worst_case.classes import Function
from fedspec_proofs.engines.worst_case.forms import ORIGIN, Form, form
from fedspec_proofs.engines.worst_case.whole import form_of, whole

Rounds = Callable[[Vector, Sequence[Oracle]], Sequence[Vector]]
"""Maps the initial vector and the clients' gradient functions to the models after some rounds."""


MANY = 100
"""Dimension above which random clients get diagonal matrices."""


class MixedError(TypeError):
    """Error: a rule treats coordinates differently, or mixes them."""


@dataclass(frozen=True)
class Made:
    """Forms that a rule computes: final models, evaluated points, and gradients at the first points.

    Attributes:
        ends: the models after the rounds.
        points: the points at which each client's gradient was evaluated; x* first.
        slopes: each client's gradient at x*.
    """

    ends: tuple[Form, ...]
    points: tuple[tuple[Form, ...], ...]
    slopes: tuple[Form, ...]

    @property
    def models(self) -> list[Form]:
        """Final models and evaluated points in one list."""
        return [*self.ends, *(x for some in self.points for x in some)]


def of_whole(rounds: Rounds, functions: Sequence[Function], x: Form) -> Made:
    """Run the rounds on whole vectors and return the forms."""

    def oracle(f: Function) -> Oracle:
        return lambda k, y: whole(f.at(form_of(y)).g)

    ends = rounds(whole(x), [oracle(f) for f in functions])
    return _made([form_of(end) for end in ends], functions)


def of_entries(rounds: Rounds, functions: Sequence[Function], x: Form, entries: int) -> Made:
    """Run the rounds on arrays whose entries are symbolic and unrelated, and return the forms.

    Raises:
        MixedError: the rule treats coordinates differently, or mixes them.
    """

    def oracle(f: Function) -> Oracle:
        return lambda k, y: _apart(f.at(_joined(y, entries)).g, entries)

    ends = rounds(_apart(x, entries), [oracle(f) for f in functions])
    return _made([_joined(end, entries) for end in ends], functions)


def _made(ends: Sequence[Form], functions: Sequence[Function]) -> Made:
    slopes = [next(iter(f.points.values())).g for f in functions]
    return Made(tuple(ends), tuple(tuple(f.points) for f in functions), tuple(slopes))


def _apart(x: Form, entries: int) -> Any:
    """An array of one form in as many names."""
    return objects(form({f"{name}@{j}": c for name, c in x.parts}) for j in range(entries))


def _joined(y: Any, entries: int) -> Form:
    """The one form of an array."""
    if not isinstance(y, np.ndarray) or y.shape != (entries,):
        shape = y.shape if isinstance(y, np.ndarray) else type(y).__name__
        raise MixedError(f"run on vectors with {entries} coordinates, the rule returned {shape}")
    found = []
    for j, entry in enumerate(y):
        if isinstance(entry, Rational) and not entry:
            entry = ORIGIN
        if not isinstance(entry, Form) or entry.constant:
            raise MixedError(f"coordinate {j} is {entry}, which isn't a linear combination of vectors")
        if others := [name for name, _ in entry.parts if not name.endswith(f"@{j}")]:
            raise MixedError(f"coordinate {j} reads coordinate {others[0].rpartition('@')[2]}")
        found.append(form({name.rpartition("@")[0]: c for name, c in entry.parts}))
    if other := next((j for j, one in enumerate(found) if one != found[0]), 0):
        raise MixedError(f"coordinate {other} is {found[other]}, but coordinate 0 is {found[0]}")
    return found[0]


def off(rounds: Rounds, made: Made, x: Form, d: int, size: float) -> float:
    """Relative distance between the end of a run in floating point and the end that the forms predict.

    Clients are quadratics with random matrices, no two alike; x*, the distance from it and the gradients there are
    random.

    Args:
        rounds: the rounds to run.
        made: the forms of the run.
        x: the model before the rounds.
        d: number of coordinates.
        size: magnitude of all vectors.
    """
    dice = np.random.Generator(np.random.PCG64(d))
    bent = [_bent(dice, d) for _ in made.points]
    largest = [size]

    @cache
    def vector(name: str) -> Any:
        of, _, k = name.rpartition(".g")
        if not of:
            return size * dice.uniform(0.5, 1, d) * dice.choice([-1, 1], d)
        i = int(of[1:])
        return gradient(i, at(made.points[i][int(k)]))

    def gradient(i: int, y: Any) -> Any:
        return bent[i](y - at(made.points[i][0])) + at(made.slopes[i])

    def at(y: Form) -> Any:
        parts = [float(c) * vector(name) for name, c in y.parts]
        largest.extend(float(np.abs(part).max()) for part in parts)
        return sum(parts, np.zeros(d))

    def oracle(i: int) -> Oracle:
        return lambda k, y: gradient(i, y)

    ends = rounds(at(x), [oracle(i) for i in range(len(made.points))])
    apart = [np.abs(np.asarray(end, dtype=float) - at(y)).max() for end, y in zip(ends, made.ends, strict=True)]
    return float(max(apart)) / max(largest)


def _bent(dice: Any, d: int) -> Callable[[Any], Any]:
    """Symmetric matrix with eigenvalues of the class; diagonal if there are many coordinates."""
    high = dice.uniform(0.2, 0.9, d)
    if d > MANY:
        return lambda y: high * y
    Q, _ = np.linalg.qr(dice.normal(size=(d, d)))
    A = Q @ np.diag(high) @ Q.T
    return lambda y: A @ y
