"""Chains: no claim is stronger than what it follows from, and the sums notice whatever is spoiled."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from test_judge.support import inside

from fedspec_proofs import chain, ledger, stored
from fedspec_proofs.afga.claims import ascent, difference
from fedspec_proofs.afga.claims import assembly as afga
from fedspec_proofs.afga.claims import one_step as afga_step
from fedspec_proofs.afga.kit import mixed
from fedspec_proofs.claim import Dropped, Finding, Verdict
from fedspec_proofs.client_centric.claims import assembly as client_centric
from fedspec_proofs.client_centric.kit import term_sums
from fedspec_proofs.engines import Draw, Step, Sum, adds_up, identities, symbolic
from fedspec_proofs.fed_lamb.claims import assembly as fed_lamb
from fedspec_proofs.fed_lamb.claims import key_inequality as fed_lamb_links
from fedspec_proofs.fedada2.claims import assembly as fedada2
from fedspec_proofs.fednova.claims import assembly as fednova
from fedspec_proofs.fednova.claims import client_drift
from fedspec_proofs.kit import adding

pytestmark = pytest.mark.table(10)

CLAIMS = ledger.claims()
CHAINED = [id for id, c in CLAIMS.items() if c.chain]
THEOREMS = (
    "fedada2.theorem-20-repaired",
    "fedada2.theorem-25-repaired",
    "fedada2.corollary-27-repaired",
    "fedada2.corollary-29-repaired",
    "fed-lamb.theorem-1-repaired",
    "fed-lamb.theorem-3-repaired",
    "fed-lamb.corollary-1-repaired",
    "afga.theorem-4-6",
    "afga.theorem-d-3",
    "client-centric.theorem-4-1-repaired",
    "fednova.theorem-1",
    "fednova.theorem-3",
)


@pytest.mark.parametrize("id", CHAINED)
def test_a_chain_has_links_and_no_claim_is_stronger(id: str) -> None:
    one = CLAIMS[id]
    found = chain.links(one)
    assert {link.claim.id for link in found} >= set(one.chain) and one.id not in {link.claim.id for link in found}
    if one.verdict is not Verdict.REFUTED:
        assert all(chain.rank(link.claim.verdict) <= chain.rank(one.verdict) for link in found)


@pytest.mark.parametrize("id", THEOREMS)
def test_the_repaired_theorems_follow_from_what_is_proved(id: str) -> None:
    assert CLAIMS[id].verdict is Verdict.PROVED and not chain.weakest(CLAIMS[id])
    assert any(link.claim.id.endswith("-assembly") for link in chain.links(CLAIMS[id]))


TAKEN_FOR_GRANTED = {
    "fedada2.theorem-20-repaired": "clients, carried, steps, objective, server, pace",
    "fedada2.theorem-25-repaired": "weights, theta, steps, objective, server, pace",
    "fedada2.corollary-27-repaired": "weights, start, steps, objective, server, pace",
    "fedada2.corollary-29-repaired": "weights, start, steps, objective, server, pace",
    "fed-lamb.theorem-1-repaired": "setting, unbiased, everybody",
    "fed-lamb.theorem-3-repaired": "setting, unbiased, everybody",
    "fed-lamb.corollary-1-repaired": "setting, unbiased, everybody, H5",
    "afga.theorem-4-6": "draws, unbiased, uncorrelated, start, box, rates",
    "afga.theorem-d-3": "draws, unbiased, uncorrelated, start, box, rates",
    "client-centric.theorem-4-1-repaired": "unbiased, server, uniform, start",
    "fednova.theorem-1": "variance, dissimilar, rate, drift",
    "fednova.theorem-3": "variance, dissimilar, rate, drift, w = p, weights",
}
FALLS = {"unbiased", "uncorrelated", "draws", "everybody", "setting", "weights", "theta", "uniform", "pace"}
FALLS |= {"variance", "dissimilar", "rate", "drift", "w = p"}
"""What they fall without, by an instance that meets the rest."""


@pytest.mark.parametrize("id", THEOREMS)
def test_the_repaired_theorems_name_what_they_take_for_granted(id: str) -> None:
    names = set(TAKEN_FOR_GRANTED[id].split(", "))
    assert names <= set(CLAIMS[id].assumptions)
    kept = stored.load()[id].dropped
    assert all(kept[name].matters for name in names & FALLS)
    assert all(kept[name].words for name in names)


@pytest.mark.parametrize("id", ["fedada2.theorem-20-repaired", "fedada2.corollary-29-repaired"])
def test_bounds_with_the_steps_in_gamma_1_need_them_taken(id: str) -> None:
    assert stored.load()[id].dropped["steps"].matters


def test_a_setting_is_admitted_not_to_be_dropped() -> None:
    known = Dropped(True, "2 > 1")
    found = adding.in_setting(Finding(Verdict.CHECKED, "", {"a": known}), {"a": "", "b": ""}, {"c": ""})
    assert (
        found.dropped["a"] is known and not found.dropped["b"].matters and "none without it" in found.dropped["c"].words
    )


@pytest.mark.parametrize("id", ["fedada2.theorem-20", "fedada2.theorem-25", "fed-lamb.theorem-1", "fed-lamb.theorem-3"])
def test_the_printed_ones_break(id: str) -> None:
    assert chain.weakest(CLAIMS[id])[0].verdict is Verdict.REFUTED
    assert "It breaks at" in inside("claims", "show", id).out


@pytest.mark.parametrize(
    ("link", "sizes", "held"),
    [
        (Verdict.PROVED, "", Verdict.PROVED),
        (Verdict.CERTIFIED, "", Verdict.UNKNOWN),
        (Verdict.CERTIFIED, "d = 1", Verdict.PROVED),
        (Verdict.CHECKED, "", Verdict.NOT_CONTRADICTED),
        (Verdict.REFUTED, "", Verdict.UNKNOWN),
    ],
)
def test_a_proof_is_made_as_weak_as_its_weakest_link(
    monkeypatch: pytest.MonkeyPatch, link: Verdict, sizes: str, held: Verdict
) -> None:
    real = CLAIMS["fedada2.lemma-21"]
    monkeypatch.setattr(ledger, "find", lambda id: replace(real, id=id, verdict=link))
    one = replace(real, chain=("fedada2.other",), sizes=sizes)
    assert chain.weakened(one, Finding(Verdict.PROVED, "shown")).verdict is held


SAID = {id: " ".join(CLAIMS[id].assumptions.values()) for id in CHAINED}
NAMING = [(id, link) for id in CHAINED for link in CLAIMS[id].chain if link in SAID[id]]


@pytest.mark.parametrize(("id", "link"), NAMING, ids="-".join)
def test_a_proof_over_a_link_that_is_left_out_is_none(id: str, link: str) -> None:
    """The steps of an assembly name the rows that they are taken from; one that is not a link is only assumed."""
    less = replace(CLAIMS[id], chain=tuple(one for one in CLAIMS[id].chain if one != link))
    missing = link not in {one.claim.id for one in chain.links(less)}
    held = chain.weakened(less, Finding(Verdict.PROVED, "shown"))
    assert (held.verdict is Verdict.UNKNOWN and link in held.evidence) is missing


def test_the_last_link_is_named_by_the_evidence() -> None:
    one = replace(CLAIMS["fednova.theorem-3"], chain=("fednova.eq-8",))
    shown = Finding(Verdict.PROVED, f"1 expressions vanish; sizes: {chain.SUMMED.format('fednova.rounds-assembly')}")
    assert chain.weakened(one, shown).verdict is Verdict.UNKNOWN
    assert chain.weakened(CLAIMS["fednova.theorem-3"], shown).verdict is Verdict.PROVED


def test_a_circle_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    real = replace(CLAIMS["fedada2.lemma-21"], chain=("fedada2.lemma-21",))
    monkeypatch.setattr(ledger, "find", lambda id: real)
    with pytest.raises(ValueError, match="follows from itself"):
        chain.links(real)


def test_show_prints_the_chain_and_its_weakest_link(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "240")
    shown = inside("claims", "show", "client-centric.theorem-4-1-repaired").out
    assert "the chain that it follows from" in shown and "Every link is proved." in shown
    assert "client-centric.drift-every-k  proved" in shown and "as above" in shown
    weak = inside("claims", "show", "client-centric.corollary-4-1-1-repaired").out
    assert "Every link is proved." in weak
    (row,) = inside("claims", "show", THEOREMS[0], "--json").rows
    assert row["chain"] == list(CLAIMS[THEOREMS[0]].chain)


afga_lines = (mixed.one_step, mixed.passed, mixed.slopes_apart)
SUMS: dict[str, Any] = {
    "fedada2, a round": fedada2.one_round,
    "fedada2, rounds": fedada2.rounds,
    "fed-lamb, a layer": fed_lamb.key,
    "fed-lamb, a layer that stays": fed_lamb.at_rest,
    "fed-lamb, a round": fed_lamb.one_round,
    "fed-lamb, rounds": fed_lamb.rounds,
    "fed-lamb, errors": fed_lamb_links.errors,
    "client-centric, a round": client_centric.one_round,
    "client-centric, rounds": client_centric.rounds(1),
    "afga, rounds": afga.sum_of_steps,
    "fednova, a client": client_drift.client,
    "fednova, a round": fednova.one_round,
    "fednova, rounds": fednova.rounds,
    **{
        f"afga, {make.__name__}": make
        for make in (afga_step.drift_step, afga_step.consensus_step, difference.tight, ascent.term_one, *afga_lines)
    },
    **{
        f"client-centric, {make.__name__}": make
        for make in (term_sums.a_1, term_sums.a_3, term_sums.a_4, term_sums.a_8)
    },
    **{f"client-centric, {make.__name__}": make for make in (term_sums.delays, term_sums.change, term_sums.absorbed)},
}
STEPS = [(name, step) for name, make in SUMS.items() for step in make(symbolic).steps]


@pytest.mark.parametrize(("name", "step"), STEPS, ids=lambda v: v.replace(" ", "-"))
def test_half_of_a_step_does_not_add_up(name: str, step: str) -> None:
    body = adds_up(SUMS[name], shares={step: Fraction(1, 2)})
    assert identities({"half": body}, instances=1).verdict is Verdict.REFUTED


def test_a_bound_of_which_half_would_do_is_told() -> None:
    def make(draw: Draw) -> Sum:
        x, y = draw("x", positive=True), draw("y")
        return Sum({"y": Step(1, y, x)}, y, {"all": 3 * x}, 2 * x)

    loose = adding.summed(make, {"y": "y <= x"})
    assert loose.verdict is Verdict.UNKNOWN and "half of it would do: all" in loose.evidence
