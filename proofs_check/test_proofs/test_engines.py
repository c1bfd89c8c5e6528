"""The engines say what they can and cannot show."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import sympy

from fedspec.arith import least
from fedspec.client.sgd import sgd
from fedspec.client.sm3 import accumulate_i, accumulate_ii
from fedspec.covers import Cover
from fedspec_proofs.engines import exact, real, reals, symbolic
from fedspec_proofs.engines.mutation import GreatestOfHolders, LeastOfSets, mutate, over
from fedspec_proofs.engines.smt import Outcome, prove
from fedspec_proofs.engines.symbolic import vanishes
from fedspec_proofs.fedada2.kit import sm3_inductions

CHAIN = Cover(((0, 1), (1, 2)), 3)


def test_prove_finds_exact_counterexamples() -> None:
    a, b = real("a"), real("b")
    assert prove({"a <= b": a <= b}, {"b = a + 1": b == a + 1})
    answer = prove({"3 a = 1": 3 * a != 1})
    assert answer.outcome is Outcome.COUNTEREXAMPLE
    assert answer.model == {"a": Fraction(1, 3)}
    assert "with a = 1/3" in str(answer)


def test_contradictory_assumptions_prove_nothing() -> None:
    a = real("a")
    answer = prove({"a = a + 1": a == a + 1}, {"a > 1": a > 1, "a < 0": a < 0})
    assert answer.outcome is Outcome.VACUOUS
    assert not answer


def test_queries_are_bounded_in_time() -> None:
    a, b, c = real("a"), real("b"), real("c")
    hard = a**5 * b**7 + b**5 * c**7 + c**5 * a**7 + 3 * (a * b * c) ** 2 != a**9 + b**9 + c**9 + a * b
    answer = prove({"no": hard}, {"a > b > c": a > b, "b > c": b > c}, timeout_ms=300)
    assert answer.seconds < 20
    assert answer.outcome in set(Outcome)


def test_a_rule_runs_on_reals_with_symbolic_rates() -> None:
    x, g, eta = reals("x", 2), reals("g", 2), real("eta")
    assert prove({"step": sgd(x, g, eta_l=eta)[1] == x[1] - eta * g[1]})


def test_zero_test_tells_identities_from_the_rest() -> None:
    rng = np.random.default_rng(0)
    a, b = symbolic("a", 2)
    assert vanishes([(a**2 - b**2) / (a + b) - a + b], rng)
    other = vanishes([(a**2 - b**2) / (a + b) - a + b, a - b], rng)
    assert other.zero is False and set(other.witness) == {"a_0", "a_1", "value"}
    assert not vanishes([sympy.sin(a) ** 2 + sympy.cos(a) ** 2 - 1], rng), "beyond rational functions: not decided"


def test_a_mutant_is_the_rule_with_another_call() -> None:
    g2 = exact.vector(1, 4, 2)
    mu = exact.vector(0, 0)
    assert list(accumulate_i(mu, g2, CHAIN)[0]) == [4, 4]
    assert list(over(LeastOfSets, accumulate_i)(mu, g2, CHAIN)[0]) == [1, 2]
    assert list(accumulate_i(mu, g2, CHAIN)[0]) == [4, 4], "the rule itself is untouched"
    with pytest.raises(KeyError, match="calls nothing named sqrt"):
        mutate(accumulate_i, sqrt=least)
    with pytest.raises(KeyError, match="calls nothing named greatest"):
        mutate(accumulate_i, greatest=least)


def test_all_covers_of_three_coordinates_are_there() -> None:
    """A(n), the number of covers of n points by non-empty sets: 1, 5, 109."""
    assert [sum(1 for _ in sm3_inductions.families(d)) for d in (1, 2, 3)] == [1, 5, 109]


@pytest.mark.parametrize("name", sm3_inductions.BOTH)
def test_invariants_are_needed(name: str) -> None:
    """Without its invariant the inductive step fails: the proofs do not go through by accident."""
    build = sm3_inductions.upper_bound_induction(sm3_inductions.BOTH[name])(CHAIN)
    weak = prove(build.claim(build.arbitrary, build.step(build.arbitrary)), build.inputs)
    assert weak.outcome is Outcome.COUNTEREXAMPLE


def test_largest_accumulator_is_still_an_upper_bound() -> None:
    """With min replaced by max SM3-II is a worse bound, but a bound."""
    mutant = over(GreatestOfHolders, accumulate_ii)
    assert all(sm3_inductions.upper_bound_induction(mutant)(CHAIN).prove())
