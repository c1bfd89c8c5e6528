"""At which equation a deviation begins: held to mutants, of which it is known which equation they edit."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from test_judge.support import with_own

from fedspec.contract import Level
from fedspec.rules import equations
from fedspec_suite import mutants
from fedspec_suite.diagnosis.identify import _played
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.diagnosis.seen.first_equation import begins
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of


def _said(name: str, level: Level, shown: bool = True) -> str:
    """What is said of a mutant by its numbers alone: no name of it is looked for."""
    mutant = mutants.find(name)
    subject = mutants.Mutated(mutant)
    offers = [o for o in subject.info.offers if o.level == level and o.algorithm == mutant.algorithms[0]]
    offer = next(o for o in offers if mutant.options.items() <= setting_of(o).options.items())
    offer = offer if shown else replace(offer, intermediates=())
    setting = setting_of(offer)
    known = known_of(setting)
    return begins(known, _played(bench_of(Inside(subject, copies=True), offer, setting), known.samples))


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
    assert _said(name, level) == f"it begins {said}"


@pytest.mark.slow
def test_the_first_event_that_deviates_is_looked_at_whichever_it_is() -> None:
    """A momentum that is lost between rounds is right in the first one, in which nothing is said of it."""
    assert _said("fed-lamb-m-alone-resets", "round") == "it begins at fed-lamb.m_i"


def test_where_every_equation_would_show_the_same_what_is_lacking_is_said() -> None:
    assert _said("adagrad-forgets", "client", shown=False) == "v, shown too, may tell at which equation it begins"
    assert _said("pga-summed", "trace") == ""


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
