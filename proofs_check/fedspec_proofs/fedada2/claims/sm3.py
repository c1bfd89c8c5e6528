"""SM3 bounds AdaGrad's accumulator from above, for any number of steps: SMT inductions over the rules.

``accumulate_i`` and ``accumulate_ii`` of :mod:`fedspec.client.sm3` are run on z3 reals: one step from an arbitrary
state. The squared gradients are fresh variables g2 >= 0, which is all that a square of a real number is. What is known
of the state is an *inductive invariant*: it holds at ``begin`` and one step preserves it. So the claim holds after any
number of steps, for any gradients.

Proofs run over every cover of at most three coordinates (115 families of sets) and over a list of larger ones; any
cover of any size is in :mod:`.sm3_inductions`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from fedspec.covers import Cover
from fedspec_proofs.claim import Dropped, Finding, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.fedada2.kit.inductive import inductive
from fedspec_proofs.fedada2.kit.sm3_inductions import BOTH, covers, upper_bound_induction

LOGIC = "QF_LRA"
SIZES = "any number of steps; every cover of at most three coordinates and eight of four to six"


@claim(
    "fedada2.sm3-upper-bound",
    statement="nu(j) of SM3-I and of SM3-II is at least AdaGrad's accumulator s(j)",
    source="Algs. 3 and 4 with z = 1 (L701, L717); used in the proof of Lemma 15 (L752)",
    sizes=SIZES,
    assumptions={
        "g2(j) >= 0": "the accumulators are fed squares",
        "carried": "each step starts from the accumulators that the last one left",
    },
)
def upper_bound() -> Finding:
    """Proof of s <= nu for both rules.

    For any cover: let s(j) <= mu(r) whenever j is in S_r. SM3-I: mu'(r) >= mu(r) + g2(j) >= s'(j) for every set that
    holds j, so the smallest of them, nu'(j), is too. SM3-II: nu'(j) = min mu(r) + g2(j) >= s'(j), and mu'(r) is at
    least nu'(j) for j in S_r.
    """
    built = {name: upper_bound_induction(rule) for name, rule in BOTH.items()}
    sizes = {
        f"{name}, {label}": partial(build, cover) for name, build in built.items() for label, cover in covers().items()
    }
    found = inductive(sizes, ablate="SM3-I, ((0, 1), (1, 2))", logic=LOGIC, runs=len(sizes), steps=3)
    one, rows = Cover(((0,),), 1), (exact.vector(1), exact.vector(0))
    nu = [rule(rows[0] * 0, rows[1], one)[1][0] for rule in BOTH.values()]
    words = f"g^2 = 1, then 0 from accumulators set to 0 again: s = 1, nu = {nu[0]} and {nu[1]}"
    return replace(found, dropped={**found.dropped, "carried": Dropped(max(nu) < 1, words)})
