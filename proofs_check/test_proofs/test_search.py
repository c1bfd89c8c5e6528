"""The adversary finds what is there, keeps the smallest, and says how far it looked."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from fedspec_proofs.claim import Verdict
from fedspec_proofs.engines.choose import Choose, Tape
from fedspec_proofs.engines.search import HALF, Inequality, broken, hunt, searched, smallest

pytestmark = pytest.mark.long


@dataclass(frozen=True)
class Pair:
    a: Fraction
    b: Fraction


def pair(choose: Choose) -> Pair:
    return Pair(choose.rational(-4, 4), choose.rational(-4, 4))


def inequality(right: Any, **assumptions: Any) -> Inequality[Pair]:
    return Inequality(pair, assumptions, lambda p: [(p.a * p.b, right(p))])


YOUNG = inequality(lambda p: (p.a**2 + p.b**2) / 2)


def test_a_true_inequality_is_checked_and_its_equality_case_found() -> None:
    found = searched(YOUNG, 400)
    assert found.verdict is Verdict.CHECKED
    assert "400 instances" in found.evidence and "largest left/right 1," in found.evidence


def test_a_search_says_which_terms_of_the_right_side_it_needs() -> None:
    found = searched(inequality(lambda p: {"a": p.a**2 / 2, "b": p.b**2 / 2, "spare": Fraction(0)}), 400)
    assert found.sharpness is not None and found.sharpness.ratio == 1 and not found.sharpness.sharp
    assert found.sharpness.noticed == {"a": True, "b": True, "spare": False, HALF: True}
    assert "NOT noticed when it is missing: spare" in str(found.sharpness)


def test_a_negative_term_counts_twice_where_it_is_spoiled() -> None:
    """2 a b <= 3 a^2 + b^2 - 2 a^2: without its negative term the bound is weaker, and nothing would be seen."""
    found = searched(
        Inequality(pair, {}, lambda p: [(2 * p.a * p.b, {"+": 3 * p.a**2 + p.b**2, "-": -2 * p.a**2})]), 400
    )
    assert found.sharpness is not None and found.sharpness.noticed == {"+": True, "-": True, HALF: True}


def test_a_term_that_the_tightest_instance_does_not_need_is_looked_for_by_itself() -> None:
    """|a b| <= 16, and a term which only matters where |a b| passes 15: once in 17^4 instances."""

    def far(choose: Choose) -> list[int]:
        return [choose.whole(0, 16) for _ in range(4)]

    def sides(p: list[int]) -> list[Any]:
        away = Fraction(sum(abs(k - 11) for k in p))
        return [(Fraction(1), Fraction(1)), (100 - away, {"most": Fraction(99), "last": Fraction(1)})]

    found = searched(Inequality(far, {}, sides), 1500)
    assert found.sharpness is not None and found.sharpness.noticed == {
        HALF: True,
        "most": True,
        "last": True,
        f"{HALF}: most + last": True,
    }


def test_a_constant_that_is_no_term_is_spoiled_by_hand() -> None:
    def sides(p: Pair, factor: Any = Fraction(1, 2)) -> Any:
        return [(p.a * p.b, factor * (p.a**2 + p.b**2))]

    spoiled = {
        "1/2": lambda p: sides(p, Fraction(1, 3)),
        "nothing": lambda p: sides(p, 1),
    }
    found = searched(Inequality(pair, {}, sides, spoiled), 400)
    assert found.sharpness is not None and found.sharpness.noticed == {HALF: True, "1/2": True, "nothing": False}


def test_a_bound_that_is_halved_unseen_is_not_sharp() -> None:
    """Its ratio is just the half that a sharp search must reach, and half of it would do."""
    found = searched(inequality(lambda p: p.a**2 + p.b**2), 400)
    assert found.sharpness is not None and found.sharpness.ratio == 0.5
    assert found.sharpness.noticed == {HALF: False} and not found.sharpness.sharp


def test_every_inequality_with_a_name_of_its_own_is_judged() -> None:
    """The second one is far from sharp, and the first one must not speak for it."""
    two = Inequality(pair, {}, lambda p: [(p.a * p.b, (p.a**2 + p.b**2) / 2), (p.a**2, {"loose": 9 * p.a**2 + 1})])
    found = searched(two, 400)
    assert found.sharpness is not None and found.sharpness.ratio == 1
    assert found.sharpness.noticed == {HALF: True, f"{HALF}: loose": False} and not found.sharpness.sharp


def test_a_loose_search_is_not_sharp() -> None:
    found = searched(inequality(lambda p: p.a**2 + p.b**2 + Fraction(1, 100)), 400)
    assert found.sharpness is not None and 0.49 < found.sharpness.ratio < 0.5 and not found.sharpness.sharp


@pytest.mark.parametrize(
    ("left", "right", "ratio"), [(-3, -2, Fraction(2, 3)), (-2, -2, 1), (-1, 0, 0), (-1, 3, Fraction(-1, 3)), (0, 0, 0)]
)
def test_how_near_two_sides_are_where_one_is_negative(left: int, right: int, ratio: Any) -> None:
    seen = hunt(Inequality(pair, {}, lambda p: [(Fraction(left), Fraction(right))]), 20)
    assert not seen.violated and seen.ratio == pytest.approx(float(ratio))


def test_a_false_one_is_refuted_by_the_smallest_instance() -> None:
    found = searched(inequality(lambda p: p.a**2 / 2 + p.b**2 / 3), 400)
    assert found.verdict is Verdict.REFUTED
    assert found.evidence.startswith("a = 1/8, b = 1/8: ")


def test_every_assumption_is_dropped_by_itself() -> None:
    found = searched(
        Inequality(
            pair,
            {"a >= 0": lambda p: p.a >= 0, "b <= 4": lambda p: p.b <= 4, "b >= -3": lambda p: p.b >= -3},
            lambda p: [(-p.a, Fraction(0))],
        ),
        400,
    )
    assert found.verdict is Verdict.CHECKED
    assert found.dropped["a >= 0"].matters and found.dropped["a >= 0"].words.startswith("a = -1/8, b = 0: ")
    assert not found.dropped["b >= -3"].matters and "that break only this one" in found.dropped["b >= -3"].words
    assert "in 0 instances" in found.dropped["b <= 4"].words, "nothing can break what the instances cannot leave"


def test_too_few_instances_show_nothing() -> None:
    never = Inequality(pair, {"a > 4": lambda p: p.a > 4}, lambda p: [(p.a, p.b)])
    assert searched(never, 200).verdict is Verdict.UNKNOWN


@pytest.mark.slow
def test_climbing_beats_chance() -> None:
    """Worst point of 17^4; random draws would meet it once in 80 000."""

    def point(choose: Choose) -> list[int]:
        return [choose.whole(0, 16) for _ in range(4)]

    far = Inequality(point, {}, lambda p: [(Fraction(100 - sum(abs(k - 11) for k in p)), Fraction(100))])
    assert hunt(far, 1500).ratio > 0.98
    assert hunt(far, 1500).worst == hunt(far, 1500).worst, "the same at every run"


def test_floating_point_sides_need_more_than_rounding() -> None:
    assert not broken((1.0 + 1e-12, 1.0)) and broken((1.0 + 1e-8, 1.0))
    assert broken((Fraction(1, 10**20), Fraction(0)))
    assert not broken((0.0, 0.0))


def test_the_smallest_of_what_breaks_under_a_dropped_assumption() -> None:
    apart = Inequality(pair, {"b = 0": lambda p: p.b == 0}, lambda p: [(abs(p.b), Fraction(1))])
    small = smallest(apart, 400, but=("b = 0",))
    assert small is not None and small[0] == Pair(Fraction(0), Fraction(9, 8))
    assert smallest(apart, 400) is None


@pytest.mark.parametrize(("low", "high"), [(-1, 2), (1, 3), (-3, -1), (0, 2), (-2, 1), (0, 0)])
@pytest.mark.parametrize("denominator", [1, 2, 5])
def test_rationals_are_all_reached_simplest_first(low: int, high: int, denominator: int) -> None:
    count = (high - low) * denominator + 1
    values = [Choose(lambda _, k=k: k).rational(low, high, denominator) for k in range(count)]  # type: ignore[misc]
    assert sorted(values) == [Fraction(k, denominator) for k in range(low * denominator, high * denominator + 1)]
    assert [abs(v) for v in values] == sorted(abs(v) for v in values)


def test_other_choices() -> None:
    tape = Tape(np.random.default_rng(0))
    choose = Choose(tape)
    weights = choose.simplex(3)
    assert sum(weights) == 1 and min(weights) > 0
    assert choose.array(2, 3, low=-1, high=1).shape == (2, 3)
    assert Fraction(1, 100) <= choose.power(-2, 2) <= 100
    assert choose.of("only") == "only"
    again = Choose(Tape(np.random.default_rng(1), tape.made))
    assert list(again.simplex(3)) == list(weights), "choices are replayed"
    assert len(tape.varied()) == len(tape.made) and tape.varied() != tape.made
