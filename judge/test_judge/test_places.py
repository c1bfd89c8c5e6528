"""Place of a mistake: the reported equation is the mistake's, by an id that `fedspec show` lists, for each of two
mistakes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_judge.by_hand import Scaffold, subject
from test_judge.diagnosing import benched, edited, offer_of
from test_judge.support import with_own

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Gradient, Level, Offer
from fedspec.params import flatten
from fedspec.rules import equations, printed
from fedspec_suite import mutants
from fedspec_suite.diagnosis.composed import together
from fedspec_suite.diagnosis.identify import _played
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.seen.first_equation import begins
from fedspec_suite.diagnosis.variants import Variant, single, systematic
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of

MEAN = "a set takes the mean of its coordinates, not the largest"
LARGEST = "a coordinate takes the largest of its sets, not the smallest"


def named(offer: Offer, words: str) -> Variant:
    return next(v for v in single(setting_of(offer)) if v.words == words)


@pytest.mark.parametrize("algorithm", ["sm3-i", "sm3-ii"])
def test_what_a_set_takes_is_in_its_own_equation(algorithm: str) -> None:
    edits = known_of(setting_of(Offer(algorithm, "client", "fedada2"))).mechanical
    for words, equation in ((MEAN, "mu"), (LARGEST, "nu")):
        assert {v.equation for v in edits if v.words.startswith(words)} == {f"{algorithm}.{equation}"}


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


def _report_on(name: str, level: Level, shown: bool = True) -> str:
    """Report on a mutant by its numbers alone, without a search for its name."""
    mutant = mutants.find(name)
    subject = mutants.Mutated(mutant)
    offers = [o for o in subject.info.offers if o.level == level and o.algorithm == mutant.algorithms[0]]
    offer = next(o for o in offers if mutant.options.items() <= setting_of(o).options.items())
    offer = offer if shown else replace(offer, intermediates=())
    setting = setting_of(offer)
    known = known_of(setting)
    return begins(known, _played(bench_of(InProcess(subject, copies=True), offer, setting), known.samples))


@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("name", "level", "said"),
    [
        # The edited one is among them; the others would show the same.
        ("nesterov-without-gradient", "client", "at nesterov.step"),
        ("adam-correction-root", "client", "at adam.m_hat, adam.v_hat or adam.step"),
        ("sm3-ii-least", "client", "at sm3-ii.nu or sm3-ii.mu"),
        ("fedyogi-first-round-lost", "server", "at fedyogi.step"),
        ("scaffold-participants", "server", "at scaffold.c"),
        ("median-before", "round", "at sgd.step or median.delta"),
        ("feddyn-h-forgets", "round", "at feddyn.h"),
        ("vrl-sgd-drift-sign", "round", "at vrl-sgd.v_i"),
        ("scaled-squared", "round", "in what a client does, at fedada2.delta_i or at fedavg.delta"),
        ("cc-fedsgd-rate-twice", "trace", "at fedavg.step"),
        ("afga-rate-twice", "trace", "at sgd.step, gossip.x or fedavg.delta"),
    ],
)
def test_the_equation_that_was_edited_is_said(name: str, level: Level, said: str) -> None:
    blamed = mutants.blamed(mutants.find(name))
    assert blamed in said
    assert _report_on(name, level) == f"it begins {said}"


@pytest.mark.slow
def test_the_first_event_that_deviates_is_looked_at_whichever_it_is() -> None:
    """A momentum that is lost between rounds is right in the first one, in which nothing is said of it."""
    assert _report_on("fed-lamb-m-alone-resets", "round") == "it begins at fed-lamb.m_i"


def test_where_every_equation_would_show_the_same_what_is_lacking_is_said() -> None:
    assert _report_on("adagrad-forgets", "client", shown=False) == "to learn at which equation it begins, return v too"
    assert _report_on("pga-summed", "trace") == ""


def test_a_mistake_in_what_is_kept_and_not_shown_is_not_placed_where_it_comes_out() -> None:
    """c_i is wrong from the first round on, the model from the second."""
    bench, setting = benched(subject(Scaffold, "busiest"))
    known = known_of(setting)
    said = begins(known, _played(bench, known.samples))
    assert said == "to learn at which equation it begins, return delta, c_i, c too"


def test_of_a_place_that_a_case_contradicts_it_is_said_how_many_do_not() -> None:
    """In the one case v is wrong first, in the other m and v are."""
    known = known_of(setting_of(offer_of("fedadam", "server")))
    given = {}
    for k, wrong in ((0, {"v", "x"}), (1, {"m", "v", "x"})):
        first, *_ = known.exact(known.claimed, k) or []
        shown = {n: np.array([float(a) for a in v]) for n, v in first.items()}
        given[k] = [{n: v + (n in wrong) for n, v in shown.items()}]
    assert begins(known, {0: given[0]}) == "it begins at fedadam.v"
    assert begins(known, given) == "in 1 of 2 cases it begins at fedadam.v"


def test_what_is_right_has_nothing_to_begin() -> None:
    setting = setting_of(next(iter(mutants.Mutated(mutants.find("adagrad-forgets")).info.offers)))
    known = known_of(setting)
    assert begins(known, {k: known.exact(known.claimed, k) or [] for k in range(len(known.samples))}) == ""


def test_a_stack_of_models_has_no_equation_but_the_step(tmp_path: Path) -> None:
    """As in what `fedspec new --kind gossip` writes, whose X is the models of all clients."""
    assert with_own("new", "my-gossip", "--kind", "gossip", cwd=tmp_path).code == 0
    shown = with_own("mutants", "show", "my-gossip-old-average", "--plugin", "my_gossip.py", cwd=tmp_path)
    assert "-     X = " in shown.out and "breaks: my-gossip.step" in shown.out, shown


def test_what_moves_after_the_step_stands_below_it() -> None:
    def dual(x: float, d: float) -> tuple[float, float]:
        """A step, and what is added up after it.

        x = x - d                 dual.step
        d = d + theta x           dual.d
        d = d + theta (x + d)     dual.d [ahead=nesterov]
        """
        return x - d, d

    for options in ({}, {"ahead": "nesterov"}):
        assert [e.id for e in equations(dual, options)] == ["dual.step", "dual.d"]
