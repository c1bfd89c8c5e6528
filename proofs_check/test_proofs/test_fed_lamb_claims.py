"""The claims of Fed-LAMB are about the rules: with another rule they do not come out; and their helpers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from enum import StrEnum
from fractions import Fraction as F
from functools import wraps
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import fedlamb
from fedspec.algorithms.fedlamb import FedLamb
from fedspec.client.lamb import layer_step
from fedspec.errors import InexactError
from fedspec.mixing.periodic import moment_maximum
from fedspec.plan import Oracle
from fedspec_proofs import stored
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Claim, Engine, Verdict, refutation
from fedspec_proofs.engines import Choose, all_refuted
from fedspec_proofs.engines.exact import generator, vector
from fedspec_proofs.engines.mutation import mutate
from fedspec_proofs.fed_lamb.claims import (
    assumptions,
    corollary_1,
    key_inequality,
    lemma_1,
    lemma_2,
    repaired,
    theorem_1,
    theorem_3,
)
from fedspec_proofs.fed_lamb.kit import bounds, climbs, rounds
from fedspec_proofs.fed_lamb.kit.audits import bump
from fedspec_proofs.fed_lamb.kit.problems import Problem
from fedspec_proofs.fed_lamb.kit.rounds import begin, lamb, one_round, round_quantities
from fedspec_proofs.fed_lamb.kit.walks import root_above, walk
from fedspec_proofs.kit.piecewise import Piecewise, average, huber

pytestmark = pytest.mark.long

Change = tuple[Any, str, Any]


def unnormalised(_: Any) -> int:
    return 1


@wraps(layer_step)
def still(x: Any, p: Any, **kw: Any) -> Any:
    return x


@wraps(layer_step)
def uphill(x: Any, p: Any, **kw: Any) -> Any:
    return layer_step(x, -p, **kw)


def latest(v_hat: Any, mean: Any) -> Any:
    return mean


TERMS = bounds.per_layer_terms


def halves(*args: Any) -> dict[str, Any]:
    return {name: value / 2 for name, value in TERMS(*args).items()}


def thousandfold(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: 1000 * function(*args)


LONG = mutate(layer_step, norm=unnormalised)
MEAN = mutate(moment_maximum, maximum=latest)

CHANGES: dict[str, tuple[Claim, list[Change]]] = {
    "steps as long as the ratio: Lemma 1'": (lemma_1.from_start, [(fedlamb, "layer_step", LONG)]),
    "steps as long as the ratio: Lemma 1' about the mean": (lemma_1.spread, [(fedlamb, "layer_step", LONG)]),
    "steps as long as the ratio: the length of a step": (lemma_1.length, [(lemma_1, "layer_step", LONG)]),
    "steps as long as the ratio: Lemma 2'": (lemma_2.repaired, [(fedlamb, "layer_step", LONG)]),
    "steps as long as the ratio: Lemma 1 would hold there": (
        lemma_1.lemma_1,
        [(fedlamb, "layer_step", still)],
    ),
    "steps uphill: one round": (repaired.one_round_falls, [(fedlamb, "layer_step", uphill)]),
    "steps uphill: the key inequality": (key_inequality.key_layers, [(key_inequality, "layer_step", uphill)]),
    "v_hat without maximum: its floor": (assumptions.ceiling, [(assumptions, "moment_maximum", MEAN)]),
    "v_hat without maximum: its floor alone": (assumptions.floor, [(assumptions, "moment_maximum", MEAN)]),
    "half of the bound: Theorem 1'": (repaired.theorem_1, [(bounds, "per_layer_terms", halves)]),
    "half of the bound: Theorem 3'": (repaired.theorem_3, [(bounds, "per_layer_terms", halves)]),
    "1000 times the bound: (4) stands": (theorem_1.theorem_1, [(bounds, "theorem_1", thousandfold(bounds.theorem_1))]),
    "1000 times the bound: Lemma 2 stands": (lemma_2.lemma_2, [(bounds, "lemma_2", thousandfold(bounds.lemma_2))]),
    "1000 times the bound: Lemma 1 stands": (lemma_1.lemma_1, [(bounds, "lemma_1", lambda k: 10**9 + k.M)]),
}


LONG_SEARCHES = ("mean", "one round", "Theorem 1'", "Theorem 3'", "Lemma 2'")


@pytest.mark.table(1)
@pytest.mark.parametrize(
    "what", [pytest.param(w, marks=[pytest.mark.night] * w.endswith(LONG_SEARCHES)) for w in CHANGES]
)
def test_a_changed_rule_or_bound_is_seen(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    claim, changes = CHANGES[what]
    for module, name, other in changes:
        monkeypatch.setattr(module, name, other)
    for module in (lemma_1, lemma_2, repaired):
        monkeypatch.setattr(module, "TRIES", 300)
    try:
        verdict = run_evidence(claim).verdict
    except ValueError as error:
        # A counterexample made by hand for a dropped assumption, which is none any more.
        assert "without: the instance" in str(error)
        return
    except InexactError:
        # A length that the changed rule makes irrational.
        return
    assert verdict is not claim.verdict
    if claim.engine is Engine.SEARCH:
        # Not for want of instances.
        assert verdict is Verdict.REFUTED


NAMED = [
    lemma_1.lemma_1,
    lemma_2.lemma_2,
    theorem_1.theorem_1,
    theorem_3.eq_25,
]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("claim", NAMED)
def test_refutations_name_every_assumption(claim: Claim) -> None:
    evidence = run_evidence(claim).evidence
    assert "NOT MET" not in evidence
    for name in claim.assumptions:
        if name != "H3":
            assert f"met: {name}" in evidence


def test_the_instance_in_words_is_the_one_that_runs() -> None:
    """Rates that fall from 1/100 by a tenth of it over R rounds end above 9/1000."""
    h = theorem_1.hill(F(1, 5), R=7)
    words = theorem_1.instance_of(h)
    last = F(1, 100) * (1 - F(6, 70))
    assert f"1/5 x^2/2 near 0, n = 1 clients alike, from 1, R = 7, rates 1/100 to {last}, " in words
    evidence = run_evidence(corollary_1.intended).evidence
    assert theorem_1.instance_of(theorem_1.hill(F(1, 10), R=25)) in evidence and "9/1000," not in evidence


def test_the_readings_are_named_and_not_left_to_the_specification() -> None:
    """All of them: a canonical reading that changes does not change what these claims are about."""
    kinds = {f.name for f in fields(FedLamb) if isinstance(f.default, StrEnum)}
    # Nothing is corrected, so that nothing counts steps.
    assert kinds - {"exponent"} and kinds - {"exponent"} <= set(rounds.SETTING)
    assert "v_hat" in theorem_1.THEOREM["v"]


def test_the_search_of_a_round_sees_which_bound_of_phi_goes_with_the_errors() -> None:
    seen = stored.load()["fed-lamb.round-repaired"].sharpness
    assert seen and seen.noticed["phi_M of the errors"] and seen.sharp


def test_one_reading_that_stands_is_enough() -> None:
    """Several readings fall only together."""
    fallen, standing = (refutation(instance="1 <= a", conditions={}, left=F(1), right=F(a)) for a in (0, 2))
    assert all_refuted(fallen, fallen).verdict is Verdict.REFUTED
    assert all_refuted(fallen, standing).verdict is Verdict.UNKNOWN
    assert all(words in all_refuted(fallen, standing).evidence for words in (fallen.evidence, standing.evidence))


def test_two_clients_alike_part_by_their_noise() -> None:
    """The instance of Lemma 2: one outcome in four, and the mean of the local models is where both began."""
    a = lemma_2.forked()
    assert [F(x) for x in np.ravel(a.models)] == [F(-9, 10), F(9, 10)]
    assert a.mean[0] == a.start.x[0] == 0
    assert [a.problem.gradient(x)[0] for x in (*a.models, a.mean)] == [-1, 1, F(1, 2)]


LINES = (
    huber(F(2), F(1), F(3)),
    Piecewise((F(-2), F(0), F(1)), (F(-1), F(3, 2), F(0))),
    Piecewise((F(-1), F(1)), (F(-3), F(1, 2))),
)


def grid(low: int = -6, high: int = 6, parts: int = 8) -> list[F]:
    return [F(k, parts) for k in range(low * parts, high * parts + 1)]


@pytest.mark.parametrize("f", LINES)
def test_the_derivative_is_that_of_the_value(f: Piecewise) -> None:
    """Central differences are exact where the derivative is linear around."""
    h = F(1, 16)
    for x in (a + h for a in grid()):
        assert (f.value(x + h) - f.value(x - h)) / (2 * h) == f.gradient(x)


@pytest.mark.parametrize("f", LINES)
def test_smoothness_and_bound_are_the_least(f: Piecewise) -> None:
    xs = grid()
    slopes = [abs(f.gradient(b) - f.gradient(a)) / (b - a) for a, b in pairwise(xs)]
    assert max(slopes) == f.smoothness
    assert max(abs(f.gradient(x)) for x in xs) == f.largest


@pytest.mark.parametrize("f", LINES)
def test_the_minimum_is_the_least_value(f: Piecewise) -> None:
    values = [f.value(x) for x in grid(parts=64)]
    assert f.least <= min(values) <= f.least + F(1, 100)


def test_without_a_minimum_there_is_none() -> None:
    with pytest.raises(ValueError, match="not bounded below"):
        _ = Piecewise((F(0), F(1)), (F(1), F(2))).least


def test_an_average_has_the_mean_derivative() -> None:
    mean = average(LINES)
    for x in grid(parts=5):
        assert mean.gradient(x) == sum(f.gradient(x) for f in LINES) / 3


def test_heterogeneity_is_attained_and_not_exceeded() -> None:
    problem = Problem(tuple((f,) for f in LINES), (1,))
    seen_there = [sum(abs(f.gradient(x) - problem.gradient(vector(x))[0]) for f in LINES) / 3 for x in grid()]
    assert max(seen_there) == problem.heterogeneity()


def test_a_step_is_minus_gamma_m() -> None:
    """The proofs' Gamma, from two routes: the ratio's length, and the model that the round makes."""
    a = bump(F(1, 10))
    for r, now in enumerate(a.rounds):
        assert list(a.states[r + 1].x - a.states[r].x) == list(-a.h.eta_l * (now.Gamma * now.m)[0])
    assert [now.Gamma[0][0] for now in a.rounds] == [2, F(20, 7)]


def test_a_ratio_of_zero_has_no_gamma() -> None:
    h = lamb()
    now = round_quantities(h, begin(h, vector(0), 1), [lambda k, x: x])
    assert now.Gamma[0][0] == now.g_bar[0][0] == 0


def shifted(xi: F) -> Oracle:
    return lambda k, x: x + xi


def test_the_law_of_the_walk_is_that_of_all_its_paths() -> None:
    alpha, R = F(1, 2), 4
    paths: dict[F, int] = {}
    for draws in product(theorem_1.FIFTHS, repeat=R - 1):
        x, weight = F(1), 1
        for w, xi in draws:
            h = lamb(eta_l=alpha, v0=F(36))
            x = one_round(h, begin(h, vector(x), 1), [shifted(xi)]).x[0]
            weight *= w
        paths[x] = paths.get(x, 0) + weight
    assert theorem_1.law_of_walk(F(1), alpha, R)[-1] == paths


def test_every_outcome_of_the_noise_is_run_once() -> None:
    c = climbs.plain(climbs.HILL, 1.5, 3, s=4.0)
    assert len(c.runs) == 2**3
    assert c.mean(lambda run: sum(g[0] for row in run.taken[0] for g in row)) == 1.5
    ends = {float(run.states[1].x[0]) for run in c.runs}
    assert ends == {0.5, 2.5}


def test_roots_are_above() -> None:
    for q in (F(0), F(1), F(35, 4), F(9)):
        assert root_above(q) ** 2 > q - 1
        assert root_above(q) ** 2 >= q


def test_walks_of_single_coordinates_are_exact() -> None:
    rng, exact = generator(), 0
    for _ in range(60):
        w = walk(Choose(lambda n: int(rng.integers(n))))
        if max(w.problem.sizes) == 1:
            assert all(isinstance(x, F) for models in w.path for x in np.ravel(models))
            exact += 1
    assert exact > 10
