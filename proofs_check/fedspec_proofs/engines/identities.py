"""Identities, checked in two ways: by sympy for all values, and by the same code on random fractions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict, by
from fedspec_proofs.engines.draw import Draw, Rationals, filled
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.symbolic import ZeroTest, vanishes
from fedspec_proofs.solvers import sympy
from fedspec_proofs.words import as_text

Body = Callable[[Draw], Iterable[Any]]
"""Maps a supply of variables to expressions that are claimed to vanish."""

INSTANCES = 25


def symbolic(name: str, *shape: int, positive: bool = False) -> Any:
    """sympy symbols, as a :class:`~fedspec_proofs.engines.draw.Draw`."""
    return filled(name, shape, lambda one: sympy.Symbol(one, **({"positive": True} if positive else {"real": True})))


def _flat(expressions: Iterable[Any]) -> list[Any]:
    return list(np.ravel(np.asarray(list(expressions), dtype=object)))


@by(Engine.SYMBOLIC)
def identities(
    bodies: Mapping[str, Body],
    *,
    without: Mapping[str, Mapping[str, Body]] | None = None,
    instances: int = INSTANCES,
) -> Finding:
    """Proved if every expression of every body vanishes for all values (sympy) and at random fractions.

    Args:
        bodies: the identity for each of its sizes, by a label.
        without: for each assumption, by name, the bodies without it; the assumption matters if one of these doesn't
            vanish.
        instances: number of random fractions at which each body is evaluated.
    """
    rng = generator()
    tests = [(label, vanishes(_flat(body(symbolic)), rng)) for label, body in bodies.items()]
    wrong = [f"{label}: not zero at {as_text(dict(t.witness))}" for label, t in tests if t.zero is False]
    undecided = [f"{label}: not decided" for label, t in tests if t.zero is None]
    again, broken = _again(bodies, rng, instances)
    if wrong or broken:
        return Finding(Verdict.REFUTED, "\n".join(wrong + broken))
    if undecided:
        return Finding(Verdict.UNKNOWN, "\n".join(undecided))
    counted = sum(t.expressions for _, t in tests)
    return Finding(
        Verdict.PROVED,
        f"{counted} expressions vanish identically; sizes: {', '.join(bodies)}",
        {name: _dropped(weaker, rng) for name, weaker in (without or {}).items()},
        Second(Engine.EXACT, again, "random fractions through the same rules"),
    )


def identity(label: str, **how: Any) -> Callable[[Body], Callable[[], Finding]]:
    """Decorator that turns an identity into evidence: a function that runs :func:`identities` with these options."""

    def decorate(body: Body) -> Callable[[], Finding]:
        @wraps(body)
        def found() -> Finding:
            return identities({label: body}, **how)

        return found

    return decorate


def _again(bodies: Mapping[str, Body], rng: np.random.Generator, instances: int) -> tuple[int, list[str]]:
    count, broken = 0, []
    for label, body in bodies.items():
        for _ in range(instances):
            draw = Rationals(rng)
            try:
                values = _flat(body(draw))
            except ZeroDivisionError:
                continue
            if any(value != 0 for value in values):
                broken.append(f"{label}: not zero at {as_text(draw.values)}")
                break
            count += 1
    return count, broken


def _dropped(bodies: Mapping[str, Body], rng: np.random.Generator) -> Dropped:
    tests: list[tuple[str, ZeroTest]] = [
        (label, vanishes(_flat(body(symbolic)), rng)) for label, body in bodies.items()
    ]
    for label, test in tests:
        if test.zero is False:
            return Dropped(True, f"{label}: not zero at {as_text(dict(test.witness))}")
    return Dropped(False, f"still vanishes, or not decided; sizes: {', '.join(bodies)}")
