"""Where a mistake is said to be, there it is: by an equation that `fedspec show` lists, each of two by its own."""

from __future__ import annotations

import numpy as np
import pytest
from test_judge.test_remembered import edited

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Gradient, Offer
from fedspec.params import flatten
from fedspec.rules import printed
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.variants import Variant, single, systematic
from fedspec_suite.measure.setting import setting_of

MEAN = "a set takes the mean of its coordinates' values, not the largest"
LARGEST = "a coordinate takes the largest of its sets' values, not the smallest"


def named(offer: Offer, words: str) -> Variant:
    return next(v for v in single(setting_of(offer)) if v.words == words)


@pytest.mark.parametrize("algorithm", ["sm3-i", "sm3-ii"])
def test_what_a_set_takes_is_in_its_own_equation(algorithm: str) -> None:
    offer = Offer(algorithm, "client", "fedada2")
    assert named(offer, MEAN).equation == f"{algorithm}.mu"
    assert named(offer, LARGEST).equation == f"{algorithm}.nu"


def test_two_at_once_are_said_each_with_its_place() -> None:
    offer = Offer("fedadam", "server", "reddi-2021")
    weights, inside = named(offer, "weights = examples"), named(offer, "reading epsilon-inside")
    both = together(setting_of(offer), inside, weights)
    assert both
    assert (both.words, both.equation) == (
        "reading epsilon-inside at fedadam.step, and weights = examples",
        "fedavg.delta",
    )
    zero = named(offer, "v starts at zero, whatever v_0 is")
    one = named(offer, "reading momentum-in-v")
    both = together(setting_of(offer), one, zero)
    assert both and one.equation == zero.equation == both.equation
    assert both.words == f"{one.words}, and {zero.words}"


@pytest.mark.parametrize("algorithm", ["lamb", "cafga", "fednova-alg2"])
def test_edits_of_a_shared_function_are_said_of_what_the_algorithm_prints(algorithm: str) -> None:
    a = CATALOGUE[algorithm]
    own = {e.id for rule in a.rules for e in printed(rule)}
    found = list(systematic(setting_of(Offer(algorithm, a.levels[-1], a.readings[0].name))))
    assert found and {v.equation for v in found} - {""} <= own


@pytest.mark.table(1)
@pytest.mark.parametrize("algorithm", ["yogi", "amsgrad"])
def test_a_second_moment_may_start_at_the_first_square(algorithm: str) -> None:
    """Its average with the first square is that square then, whatever beta2 is."""
    setting = setting_of(Offer(algorithm, "client", CATALOGUE[algorithm].readings[0].name))
    known = known_of(setting)
    v = named(Offer(algorithm, "client", setting.reading), "v starts at the first gradient squared")
    s = next(s for s in known.samples if isinstance(s.events[0], Gradient) and s.case.hyper["beta2"] > 0)
    first = s.events[0]
    assert isinstance(first, Gradient)
    answer = next(iter(v.quick(s, known.editions(v)())))
    assert np.allclose(answer["v"], flatten(first.g) ** 2)


@pytest.mark.slow
def test_a_client_that_measures_its_step_with_the_rate_is_told_at_the_clients_own_step() -> None:
    """Not at the server's, which comes last in the row and has a rate too."""
    d = edited(
        "fedada2",
        "client.sm3_delayed.sm3_ii_delayed",
        "x = state.x - eta_l * unless_short(u, u, eps_s)",
        "x = state.x - eta_l * unless_short(u, eta_l * u, eps_s)",
    )
    assert d.found[0].words.startswith("the dead zone measures the step times its rate")
    assert d.found[0].equation == "sm3-ii-delayed.step"
