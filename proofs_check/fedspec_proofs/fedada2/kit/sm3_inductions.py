"""Induction behind :mod:`fedspec_proofs.fedada2.claims.sm3`: covers, states of z3 reals, invariant and claim.

Variables come from a draw: z3 reals for a proof, fractions for a run of the same lines. Notation: s(j) is the sum of
g2(j) so far.

SM3's accumulators over any cover of any number of coordinates: a minimum and a maximum, one member more at a time.

The specification takes the least of the mu of the sets that hold a coordinate, adds g^2, and gives every set the
largest of what its coordinates got: folds of ``minimum`` and ``maximum``, so that an induction over their members is
one over the code's own steps. What holds of every mu then holds of the next ones; steps between updates change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from itertools import combinations
from typing import Protocol, TypeAlias

import numpy as np

from fedspec.arith import Array, Vector, maximum, minimum
from fedspec.client.sm3 import accumulate_i, accumulate_ii, begin
from fedspec.covers import Cover, Slices, named_cover
from fedspec.readings import CoverName
from fedspec_proofs.claim import Finding
from fedspec_proofs.engines import Draw, Formulas, Induction, all_proved, every, several
from fedspec_proofs.engines.algebra import Statement, decide, variables
from fedspec_proofs.fedada2.kit.rational import F

Accumulate: TypeAlias = Callable[[Array, Vector, Cover | Slices], tuple[Array, Vector]]
State: TypeAlias = dict[str, Vector]


class Build(Protocol):
    """Function that builds an induction for a cover."""

    def __call__(self, cover: Cover | Slices, draw: Draw = variables) -> Induction[State]:
        """Build the induction over the variables of the draw; z3 reals by default."""
        ...


BOTH: dict[str, Accumulate] = {"SM3-I": accumulate_i, "SM3-II": accumulate_ii}


def families(d: int) -> Iterator[Cover]:
    """Yield every cover of d coordinates by distinct non-empty sets."""
    sets = [s for n in range(1, d + 1) for s in combinations(range(d), n)]
    for n in range(1, len(sets) + 1):
        for chosen in combinations(sets, n):
            if {j for s in chosen for j in s} == set(range(d)):
                yield Cover(chosen, d)


@cache
def small_covers() -> dict[str, Cover]:
    """Every cover of one, two or three coordinates."""
    return {str(c.sets): c for d in (1, 2, 3) for c in families(d)}


@cache
def larger_covers() -> dict[str, Cover | Slices]:
    """Covers of four to six coordinates, by name."""
    return {
        "singletons of 4": named_cover(CoverName.SINGLETONS, {"w": (4,)}),
        "one set of 4": named_cover(CoverName.ONE, {"w": (4,)}),
        "axes of 2x2": named_cover(CoverName.AXES, {"W": (2, 2)}),
        "axes of 2x3": named_cover(CoverName.AXES, {"W": (2, 3)}),
        "axes of 2x2 and a bias of 2": named_cover(CoverName.AXES, {"W": (2, 2), "b": (2,)}),
        "chain of 4": Cover(((0, 1), (1, 2), (2, 3)), 4),
        "ring of 4": Cover(((0, 1), (1, 2), (2, 3), (3, 0)), 4),
        "two triples of 4": Cover(((0, 1, 2), (1, 2, 3)), 4),
    }


def covers() -> dict[str, Cover | Slices]:
    """All covers used in the proofs."""
    return {**small_covers(), **larger_covers()}


def _squares(cover: Cover | Slices, draw: Draw) -> tuple[Vector, Formulas]:
    g2 = draw("g2", cover.d)
    return g2, {"g2(j) >= 0": every(*(g >= 0 for g in g2))}


def upper_bound_induction(rule: Accumulate) -> Build:
    """Induction for s(j) <= nu(j), from the invariant s(j) <= mu(r) for j in S_r."""

    def build(cover: Cover | Slices, draw: Draw = variables) -> Induction[State]:
        g2, squares = _squares(cover, draw)

        def step(state: State) -> State:
            mu, nu = rule(state["mu"], g2, cover)
            return {"mu": mu, "nu": nu, "s": state["s"] + g2}

        def invariant(now: State) -> Formulas:
            below = every(*(now["s"][j] <= now["mu"][r] for r, S_r in enumerate(cover.sets) for j in S_r))
            return {"s(j) >= 0": every(*(v >= 0 for v in now["s"])), "s(j) <= mu(r) for j in S_r": below}

        def claim(_: State, after: State) -> Formulas:
            return {"s(j) <= nu(j)": every(*(s <= nu for s, nu in zip(after["s"], after["nu"], strict=True)))}

        start = begin(draw("x", cover.d), cover)
        initial = {"mu": start.mu, "nu": start.nu, "s": start.nu}
        arbitrary = {"mu": draw("mu", len(cover.sets)), "s": draw("s", cover.d)}
        return Induction(initial, arbitrary, step, squares, invariant, claim)

    return build


ONE = Cover(((0,),), 1)


def _fewest(draw: Draw) -> Statement:
    """Smallest of the accumulators, from n sets to n + 1; all lie between low and high."""
    so_far, mu, low, high = several(draw, "so far, mu, low, high")
    given = {"so far": every(so_far >= low, so_far <= high), "one more": every(mu >= low, mu <= high)}
    after = minimum(so_far, mu)
    return Statement(given, {"after it": every(after >= low, after <= high)})


def _update(draw: Draw) -> Statement:
    """v_k(j): the smallest accumulator plus g^2, by the rule for one set; low = v_0 + s(j), high = v_0 + n G^2."""
    least, low, high, g, G = draw("least"), draw("low"), draw("high"), draw("g"), draw("G")
    given = {"least": every(least >= low, least <= high), "|g| <= G": every(g <= G, -g <= G)}
    mu, squared = (np.array([value], dtype=object) for value in (least, g * g))
    v = accumulate_ii(mu, squared, ONE)[1][0]
    return Statement(given, {"v >= v_0 + s + g^2": v >= low + g * g, "v <= v_0 + (n + 1) G^2": v <= high + G * G})


def _most(draw: Draw) -> Statement:
    """The largest of a set's v, from n coordinates to n + 1: not below the one that is looked at, nor above high."""
    so_far, v, own, high = several(draw, "so far, v, own, high")
    given = {"so far": every(so_far >= own, so_far <= high), "one more": v <= high}
    after = maximum(so_far, v)
    return Statement(given, {"after it": every(after >= own, after <= high)})


def _between(rng: np.random.Generator) -> Mapping[str, F]:
    """Accumulators between 1 and 3."""
    a, b, G = (F(int(rng.integers(4, 13)), 4) for _ in range(3))
    given = {"so far": a, "mu": b, "low": F(1), "high": F(3), "least": a, "v": b, "own": min(a, b)}
    return {**given, "G": G, "g": G * int(rng.integers(-2, 3)) / 2}


def any_cover() -> Finding:
    """Proof by z3 of v_0 + s(j) <= v_k(j) <= v_0 + n G^2 after n updates, and of the same for the accumulators."""
    bodies = {"least": _fewest, "update": _update, "largest": _most}
    return all_proved({name: decide(body, sample=_between, instances=20) for name, body in bodies.items()}, ())
