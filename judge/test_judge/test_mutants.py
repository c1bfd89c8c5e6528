"""Every mutant applies to its own session alone, and is called by its name."""

from __future__ import annotations

import inspect
import os
import sys
import textwrap
from typing import Any

import numpy as np
import pytest

import fedspec.reference
from fedspec.catalogue import CATALOGUE
from fedspec.contract import Offer, Quadratics, Round
from fedspec.errors import UnknownNameError
from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.edits.unguarded import opened
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.judge.mutant_runs import offer_setting, offers_of
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.closed_form_rounding import with_room
from fedspec_suite.measure.edited_sessions import form_of
from fedspec_suite.measure.function_copies import Copy, plan_of
from fedspec_suite.mutants import MUTANTS, Mutant

EQUIVALENT: dict[str, str] = {
    "fedyogi-tie-grows": "x follows the claimed reading",
    # What it gives depends on the sessions before; `fedspec check` says that something outlives its session.
    "momentum-shared": "no known variant",
    # Four clients at most take part in the cases that a diagnosis looks at.
    "trimmed-mean-clipped": "it deviates only from 5 clients on",
}
"""Other words that a diagnosis may give a mutant: a reading or rule with the same numbers; a tie is in no sample."""

SAMPLE = list(MUTANTS)[:: 1 if os.environ.get("FEDSPEC_PROFILE") == "soak" else 64]
"""All of them by night (`make soak`)."""


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("name", SAMPLE)
def test_a_mutant_is_named_where_the_models_show_it(name: str) -> None:
    mutant, said = MUTANTS[name], []
    for number in offers_of(mutant):
        offer, setting = SUBJECT.info.offers[number], offer_setting(number)
        said.append(in_words(identify(bench_of(mutants.Mutated(mutant), offer, setting), setting), True))
        if EQUIVALENT.get(name, mutant.words) in said[-1]:
            return
    raise AssertionError(said)


def rule_of(mutant: Mutant) -> Any:
    module, _, name = mutant.rule.rpartition(".")
    return getattr(sys.modules[module], name)


@pytest.mark.slow
def test_every_edit_applies_to_its_own_session_alone() -> None:
    for name, mutant in MUTANTS.items():
        before, after = mutants.edited(mutant)
        assert before is rule_of(mutant) is not after, name
        source = textwrap.dedent(inspect.getsource(inspect.unwrap(before)))
        assert source.count(mutant.old) == 1 and mutant.old != mutant.new, name
        rows = dict(CATALOGUE)
        copies = [known_under(mutant, offer) for offer in SUBJECT.info.offers if offer.algorithm in mutant.algorithms]
        assert any(inspect.unwrap(f) is inspect.unwrap(after) for known in copies for f in known), name
        assert not any(f is before for known in copies for f in known), name
        assert rule_of(mutant) is before, name
        assert all(CATALOGUE[i] is a for i, a in rows.items()), name


def known_under(mutant: Mutant, offer: Offer) -> list[Any]:
    """The functions that the row and the copied modules know in a session of an offer under an edit."""
    form = form_of(CATALOGUE[offer.algorithm], offer.level)
    edits = mutants.edits({mutant: mutants.edited(mutant)[1]})
    copy = Copy(plan_of(form.reach, frozenset(edits), False), edits)
    found = [*vars(form.of(copy).run).values(), *(v for space in copy.spaces for v in space.values())]
    return [f for f in found if callable(f)]


def test_an_edit_below_a_table_whose_entries_are_widened_is_seen() -> None:
    """A norm of momentum is looked up in a table; a bound's room stands around its entries, and the edit below them."""
    mutant = mutants.find("accumulation-powers-long")
    edits = mutants.edits({mutant: mutants.edited(mutant)[1]})
    x = {"w": np.array([1.0])}
    hyper = {"eta_l": 0.5, "rho": 0.5}
    options = CATALOGUE["fednova"].resolve("fednova", {"solver": "momentum"})
    problem = Quadratics(np.ones((1, 1, 1)), np.ones((1, 1)), np.ones(1))
    case = fedspec.contract.Case("fednova", "round", "fednova", options, "float64", x, hyper, problem)
    form = form_of(CATALOGUE["fednova"], "round")
    for around in (lambda form: form, opened, with_room):
        got = around(form).started(case, edits, False, lambda kind, row, told: kind(row, told)).step(Round((0,), (2,)))
        # a = (1 + rho + rho^2, 1 + rho) under the edit and (1 + rho, 1) without it.
        assert np.asarray(got["tau_eff"]).item() == 3.25


def test_mutants_say_what_they_are() -> None:
    for name, m in MUTANTS.items():
        assert name == m.id and m.words and m.algorithms
        assert set(m.algorithms) <= set(CATALOGUE)
        for a in m.algorithms:
            assert set(m.options) <= set(CATALOGUE[a].options)


def test_an_edit_that_is_not_found_is_refused() -> None:
    stale = Mutant(
        id="stale", words="gone", algorithms=("sgd",), rule="fedspec.client.sgd.sgd", old="no such text", new="nothing"
    )
    with pytest.raises(UnknownNameError, match=r"stale.*found 0 times in fedspec\.client\.sgd\.sgd"):
        mutants.edited(stale)
    common = Mutant(
        id="common", words="everywhere", algorithms=("sgd",), rule="fedspec.client.sgd.sgd", old="eta_l", new="eta"
    )
    with pytest.raises(UnknownNameError, match=r"found \d+ times .*\(sgd\.py, lines \d+, .*docstring included"):
        mutants.edited(common)


def test_the_reference_is_itself_while_a_mutant_runs() -> None:
    """A mutant's session is open, and the specification still answers as the specification."""
    mutant = mutants.find("momentum-stale")
    x, g = np.array([1.0]), np.array([2.0])
    case = fedspec.contract.Case("momentum", "client", "fednova", {}, "float64", {"w": x}, {"eta_l": 0.5, "rho": 0.5})
    wrong, right = mutants.Mutated(mutant).start(case), fedspec.reference.SUBJECT.start(case)
    event = fedspec.contract.Gradient({"w": g})
    assert np.asarray(wrong.step(event)["x"]) == 1.0
    assert np.asarray(right.step(event)["x"]) == 0.0
    assert np.asarray(wrong.step(event)["x"]) == 0.0
