"""Anything at hand in the place of another, and two mistakes at once, are told in the words of the printed box."""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import diagnosed, edited, names
from test_judge.subjects.behind import Behind
from test_judge.support import python

from fedspec.arith import Array, norm
from fedspec.catalogue import CATALOGUE
from fedspec.client.adam import adam
from fedspec.contract import Begin, Offer
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.cases.samples import samples_of
from fedspec_suite.diagnosis.edits.at_hand import Text, seen_running
from fedspec_suite.diagnosis.edits.in_edits import ASKING, asked, event_number, in_each_block
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.known import folded_in, known_of
from fedspec_suite.diagnosis.variants import as_claimed
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import Mutant

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]


def test_one_decay_in_the_place_of_another_is_named_in_the_printed_box() -> None:
    d = edited("adam", "client.adam.adam", "v_hat = corrected(v, beta2", "v_hat = corrected(v, beta1")
    assert names(d) == ["yours: v_hat = v / (1 - beta1^t), wanted: v_hat = v / (1 - beta2^t)"]
    assert d.found[0].equation == "adam.v_hat" and d.found[0].kind == "written"


@pytest.mark.parametrize(
    ("algorithm", "rule", "old", "new", "words"),
    [
        (
            "cafga",
            "mixing.gossip.cluster_mean",
            "w @ deltas",
            "sum(0.5 ** (len(deltas) - max(k, 1)) * row for k, row in enumerate(deltas))",
            "the mean so far and the next of the deltas are averaged in turn, for w @ deltas",
        ),
        (
            "centred-clipping",
            "algorithms.centred_clipping.server",
            "v = centred_clipping(v,",
            "v = v - state.v + centred_clipping(state.v,",
            "v as it was at its first use in the event stands for v in deltas - v",
        ),
        (
            "fedada2",
            "algorithms.fedada2.decayed",
            "x - eta_l * wd * before",
            "x if (x == before).all() else x - eta_l * wd * before",
            "eta_l * wd * before is left out where x is before",
        ),
    ],
)
def test_what_is_taken_in_turn_frozen_or_left_out_is_told(
    algorithm: str, rule: str, old: str, new: str, words: str
) -> None:
    assert words in names(edited(algorithm, rule, old, new))


def test_of_two_places_the_one_is_said() -> None:
    edits = known_of(setting_of(Offer("lamb", "client", "you-2020"))).mechanical
    (second,) = [v for v in edits if v.words.startswith("r[..., l] stands for q in") and "second" in v.words]
    assert "ratio(q, norm((r[..., l])))" in second.mutants[0].new


def follows(inner: Any, e: Any, k: int) -> Any:
    """The anchor of the proximal term is the model of the step before."""
    before, answer = inner.state.x, inner.step(e)
    if not isinstance(e, Begin):
        inner.anchor = before
    return answer


def test_an_anchor_that_follows_is_named() -> None:
    d = diagnosed(Behind("momentum-proximal-inside", "client", take=follows))
    assert names(d)[0] == "the proximal term pulls to the model of the step before"


def test_what_is_at_hand_is_what_the_run_has_there() -> None:
    """Names at hand are those of the run: not assigned later, of the same kind; and an earlier trace function is
    restored."""
    of = setting_of(Offer("adam", "client", "kingma-2015"))
    known = known_of(of)
    rule: Any = adam
    v, s = known.claimed, known.samples[0]
    before = sys.gettrace()
    (text,) = seen_running([Text(rule)], lambda: list(v.quick(s, v.editions()())) and None)
    assert sys.gettrace() is before
    at = {
        text.source.splitlines()[line.lineno - 1].strip().partition(" =")[0]: kinds
        for line, kinds in text.kinds.items()
    }
    d = sum(a.size for a in s.case.x0.values())
    assert at["v"]["m"] == at["v"]["state.v"] == at["v"]["g"] == ("array", (d,))
    assert "v" not in at["v"] and "m_hat" not in at["v"]
    assert at["v"]["beta2"] == "number" and at["m"]["state.t"] == "count"


def doubled(parts: list[Array]) -> Array:
    out: list[Array] = []
    for part in parts:
        out.append(2 * part)
    return np.concatenate(out)


def test_to_look_changes_nothing() -> None:
    results: list[Array] = []
    function: Any = doubled
    (text,) = seen_running([Text(function)], lambda: results.append(doubled([np.ones(2), np.zeros(1)])))
    assert results[0].tolist() == [2, 2, 0]
    assert any(kinds.get("2 * part") == ("array", (2,)) for kinds in text.kinds.values())


@pytest.mark.parametrize("algorithm", ["sm3-ii", "scaffold", "afga", "fedbuff", "fednova-solvers", "fed-lamb", "cafga"])
def test_every_mechanical_edit_is_a_text_that_differs(algorithm: str) -> None:
    """Edits that are no Python would break the diagnosis that gets that far."""
    a = CATALOGUE[algorithm]
    edits = known_of(setting_of(Offer(algorithm, a.levels[-1], a.readings_at(a.levels[-1])[0].name))).mechanical
    assert len(edits) > 100
    for v in edits:
        for m in v.mutants:
            ast.parse(m.new)
            assert m.new != m.old and v.words


def test_rows_that_are_mixed_in_place_are_told_so() -> None:
    in_place = "out = X.copy()\n    for i in range(len(X)):\n        out[i] = W[i] @ out\n    return out - eta_l * G"
    d = edited("dsgd", "mixing.gossip.dsgd", "return W @ X - eta_l * G", in_place)
    assert names(d)[0] == "rows are mixed in place, each with what those before it have become"


def test_what_is_clamped_for_the_step_and_kept_so_is_told() -> None:
    kept = "m=m, v=v, v_hat=v_hat, t="
    d = edited("fedams", "server.amsgrad.ams", kept, "m=m, v=maximum(v, eps), v_hat=v_hat, t=", "option-1")
    wanted = "wanted: v = beta2 v + (1 - beta2) Delta^2"
    assert names(d) == [f"yours: v = max(eps, beta2 v + (1 - beta2) Delta^2), {wanted}"]


def test_one_length_for_each_block() -> None:
    kept = Memory(blocks=[slice(0, 2), slice(2, 3)])
    assert in_each_block(kept, norm, np.array([3.0, 4.0, -2.0])).tolist() == [5, 5, 2]


def test_an_edit_that_runs_before_the_first_event_knows_what_is_set_and_nothing_of_other_sessions() -> None:
    setting = setting_of(Offer("scaffold", "round", "karimireddy-2020"))
    new = 'counts * as_set("eta_l") / time_before("total", total)'
    edit = Mutant(
        id="shares-by-rate",
        words="",
        algorithms=("scaffold",),
        rule="fedspec.mixing.weighted.shares",
        old="counts / total",
        new=new,
        asking=ASKING,
    )
    v = replace(as_claimed(setting), mutants=(edit,), defects=asked(new))
    here, *others = samples_of(setting)
    there = next(s for s in others if len(s.case.problem.e) != len(here.case.problem.e))  # type: ignore[union-attr]

    def shares_of(s: Scenario) -> list[float]:
        session: Any = v.begin(v.told(s), v.editions()())
        return [float(p) for p in session.state.p]

    first = shares_of(here)
    assert sum(first) == pytest.approx(here.case.hyper["eta_l"])
    assert sum(shares_of(there)) == pytest.approx(there.case.hyper["eta_l"])
    assert shares_of(here) == first


def test_an_edit_that_counts_events_counts_those_of_its_own_session() -> None:
    known = known_of(setting_of(Offer("fed-ams", "round", "fed-ams")))
    counting = [v for v in known.mechanical if v.words.startswith("the number of the event stands for t")]
    assert counting
    for s in known.samples[:2]:
        session: Any = counting[0].begin(s, counting[0].editions()())
        for k, event in enumerate(s.events, 1):
            session.step(event)
            assert event_number(session.memory) == k


EDITS = """
from fedspec.contract import Offer
from fedspec_suite.diagnosis.known import folded_in, known_of
from fedspec_suite.measure.setting import setting_of
known = known_of(setting_of(Offer("afga-a", "trace", "re-sampled")))
print([v.words for v in (*known.variants, *known.edits, *known.mechanical)])
"""


def test_what_is_tried_stands_in_the_same_order_in_every_process() -> None:
    """The first that agrees is what is said."""
    first, second = (python("-c", EDITS, env={"PYTHONHASHSEED": seed}).stdout for seed in ("1", "2"))
    assert first == second and len(first) > 10_000


FOLDED = {(o.algorithm, o.level, o.reading): o for o in SUBJECT.info.offers if o.rates == "one"}


@pytest.mark.table(10)
@pytest.mark.parametrize("which", FOLDED, ids="-".join)
def test_what_is_edited_is_the_claimed_rule_bit_for_bit(which: tuple[str, str, str]) -> None:
    """The functions of a claim with its options folded away, each in the place of the one that looks at them."""
    of = setting_of(FOLDED[which])
    claimed, samples = as_claimed(of), samples_of(of)[:2]
    folded = replace(claimed, mutants=tuple(folded_in(of)))
    for s in samples:
        want, got = (list(v.quick(s, v.editions()())) for v in (claimed, folded))
        assert len(want) == len(got) == len(s.events)
        for a, b in zip(want, got, strict=True):
            for n in a:
                np.testing.assert_equal(b[n], a[n])
