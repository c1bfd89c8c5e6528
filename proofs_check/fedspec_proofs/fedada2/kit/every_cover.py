"""SM3's accumulators over any cover of any number of coordinates: a minimum and a maximum, one member more at a time.

The specification takes the least of the mu of the sets that hold a coordinate, adds g^2, and gives every set the
largest of what its coordinates got: folds of ``minimum`` and ``maximum``, so that an induction over their members is
one over the code's own steps. What holds of every mu then holds of the next ones; steps between updates change nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fedspec.arith import maximum, minimum
from fedspec.client.sm3 import accumulate_ii
from fedspec.covers import Cover
from fedspec_proofs.claim import Finding
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fedada2.kit.rational import F

ONE = Cover(((0,),), 1)


def _fewest(draw: Draw) -> Statement:
    """The least of the accumulators, from those of n sets to n + 1; all lie between low and high."""
    so_far, mu, low, high = (draw(name) for name in ("so far", "mu", "low", "high"))
    given = {"so far": every(so_far >= low, so_far <= high), "one more": every(mu >= low, mu <= high)}
    after = minimum(so_far, mu)
    return Statement(given, {"after it": every(after >= low, after <= high)})


def _update(draw: Draw) -> Statement:
    """v_k(j): the least of them and g^2, by the rule where one set holds j; low is v_0 + s(j), high v_0 + n G^2."""
    least, low, high, g, G = draw("least"), draw("low"), draw("high"), draw("g"), draw("G")
    given = {"least": every(least >= low, least <= high), "|g| <= G": every(g <= G, -g <= G)}
    mu, squared = (np.array([value], dtype=object) for value in (least, g * g))
    v = accumulate_ii(mu, squared, ONE)[1][0]
    return Statement(given, {"v >= v_0 + s + g^2": v >= low + g * g, "v <= v_0 + (n + 1) G^2": v <= high + G * G})


def _most(draw: Draw) -> Statement:
    """The largest of a set's v, from n coordinates to n + 1: not below the one that is looked at, nor above high."""
    so_far, v, own, high = (draw(name) for name in ("so far", "v", "own", "high"))
    given = {"so far": every(so_far >= own, so_far <= high), "one more": v <= high}
    after = maximum(so_far, v)
    return Statement(given, {"after it": every(after >= own, after <= high)})


def _between(rng: np.random.Generator) -> Mapping[str, F]:
    """Accumulators between 1 and 3."""
    a, b, G = (F(int(rng.integers(4, 13)), 4) for _ in range(3))
    given = {"so far": a, "mu": b, "low": F(1), "high": F(3), "least": a, "v": b, "own": min(a, b)}
    return {**given, "G": G, "g": G * int(rng.integers(-2, 3)) / 2}


def any_cover() -> Finding:
    """v_0 + s(j) <= v_k(j) <= v_0 + n G^2 after n updates, by z3; of the accumulators with it."""
    bodies = {"least": _fewest, "update": _update, "largest": _most}
    return all_proved({name: decide(body, sample=_between, instances=20) for name, body in bodies.items()}, ())
