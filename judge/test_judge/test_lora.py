"""The laws of federated LoRA: they hold of the rules, every named mistake breaks two, and every law sees a mistake."""

from __future__ import annotations

import hashlib
import json
import sys
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from test_judge.support import ROOT, inside

from fedspec.catalogue import elsewhere, find
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.mixing.lora import Factor
from fedspec.readings import Weighting
from fedspec_suite.lora import judging
from fedspec_suite.lora.exact import basis, rank, rows, times
from fedspec_suite.lora.judging import Finding, cases, judge
from fedspec_suite.lora.laws import LAWS, asked_of, rebased
from fedspec_suite.lora.rounds import ALIASES, FUNCTIONS, Claim, Round, following, named, rounds
from fedspec_suite.lora.variants import Mutant, candidates, mutants, spoilt

pytestmark = pytest.mark.table(10)

BOTH = (Weighting.EXAMPLES, Weighting.UNIFORM)
CLAIMS = [
    *(Claim(rule, w) for rule in FUNCTIONS for w in BOTH),
    *(Claim("rolora", w, Factor.A) for w in BOTH),
    *(Claim("flora", w, own_ranks=True) for w in BOTH),
]
EQUAL_WEIGHTS = {"fedit-weights-turned", "fedex-residual-uniform"}
"""Mistakes about weights, which are none where all are alike."""
ALIKE = {"flora-weighs-both", "flora-alpha-kept", "fedex-weighs-products-alone", "fedex-no-sigma"}
"""Mutants whose rule computes the same as the original if all weights are alike."""
PARTS = [pytest.param(m, id=m.id) for m in mutants()]


@cache
def found(m: Mutant, w: Weighting = Weighting.EXAMPLES) -> Finding:
    return judge(following(Claim(m.rule, w), spoilt(m)), Claim(m.rule, w))


@pytest.mark.table(1)
@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_the_rules_keep_their_laws(claim: Claim) -> None:
    exact = judge(following(claim), claim, kind=Fraction, most=0)
    assert exact.conforms and exact.rounds == (6 if claim.own_ranks else 12), str(exact)
    for seed in (0, 1, 2):
        assert judge(following(claim), claim, seed=seed).conforms


@pytest.mark.parametrize("m", PARTS)
def test_a_mistake_breaks_two_laws_and_is_named(m: Mutant) -> None:
    for w in BOTH:
        finding = found(m, w)
        if w is Weighting.UNIFORM and m.id in EQUAL_WEIGHTS:
            assert finding.conforms
            continue
        assert len(finding.broken) >= 2, str(finding)
        assert any(m.id in name for name in finding.names), str(finding)
        # The others that it may be compute the same: weights of 1 / n on both factors are sigma / n.
        assert len(finding.names) == 1 or (w is Weighting.UNIFORM and m.id in ALIKE)


def test_a_function_has_three_mistakes_at_least() -> None:
    of = Counter(m.rule for m in mutants())
    assert of.keys() == FUNCTIONS.keys() and min(of.values()) >= 3
    assert len({m.id for m in mutants()}) == len(mutants())


@pytest.mark.slow
def test_every_law_sees_a_mistake_by_its_numbers() -> None:
    """Judge a rule that was edited, or another rule, by other weights, under the claim of this one."""
    seen = {b.law.id for m in mutants() for b in found(m).broken if " is " in b.said}
    for rule, w in ((rule, w) for rule in FUNCTIONS for w in BOTH):
        claim = Claim(rule, w)
        other = next(c for c in candidates(claim) if any(name.startswith("it is") for name in c))
        for mixer in other.values():
            seen |= {b.law.id for b in judge(mixer, claim).broken if " is " in b.said}
    assert seen == {law.id for law in LAWS}


def test_a_mistake_is_far_from_a_rounding() -> None:
    """Each difference is at least a hundred times the tolerance."""
    least = 1.0
    for m in mutants():
        claim = Claim(m.rule)
        for s in rounds():
            one, other = (judging.answer(f, claim, s) for f in (following(claim), following(claim, spoilt(m))))
            if one is None or other is None:
                continue
            apart = [abs(float(a)) for X, Y in zip(one, other, strict=True) for a in np.subtract(X, Y).ravel()]
            least = min([least, *(a for a in apart if a)])
    assert least > 10 * judging.APART


def test_square_layers_forgive_a_residual_that_is_turned_over() -> None:
    """Others cannot be mixed at all. Of those that can, three of fifteen laws see it."""
    finding = found(next(m for m in mutants() if m.id == "fedex-transposed"))
    assert list(finding.refused) == ["a 3 x 2 layer of rank 1", "a 2 x 4 layer of rank 2", "a 4 x 3 layer of rank 2"]
    assert [b.law.id for b in finding.broken] == ["ideal", "residual", "gauge"]
    assert (finding.asked, finding.rounds) == (15, 3)


def test_another_rule_is_named() -> None:
    claim = Claim("fedex-lora")
    assert judge(following(Claim("fedit")), claim).names == ("it is fedit, weights examples",)
    assert judge(following(Claim("fedex-lora", Weighting.UNIFORM)), claim).names == (
        "it is fedex-lora, weights uniform",
    )
    (m,) = (m for m in mutants() if m.id == "fedit-sum")
    # Sums know no weights, so that both are said.
    assert judge(following(Claim("fedit"), spoilt(m)), claim).names == tuple(
        f"it is fedit, weights {w}, and {m.words} ({m.id})" for w in BOTH
    )


def test_who_averages_both_factors_keeps_ffa_loras_laws() -> None:
    """Clients have one A, so that its mean is that A: this is no mistake."""
    assert judge(following(Claim("fedit")), Claim("ffa-lora")).conforms


def test_what_is_returned_is_looked_at() -> None:
    claim = Claim("fedit")
    for mixer, said in (
        (lambda s: None, "ShapeError: the mixer returned a NoneType"),
        (lambda s: (s.layer.W, s.layer.A, s.layer.B), "ShapeError: returned.B"),
        (lambda s: (s.layer.W[:1], s.layer.B, s.layer.A), "ShapeError: returned.W"),
        (lambda s: 1 / 0, "ZeroDivisionError"),
    ):
        finding = judge(mixer, claim)
        assert not finding.conforms and finding.rounds == 0 and len(finding.refused) == 4
        assert said in next(iter(finding.refused.values())) and "none was asked" in str(finding)
    never = judge(lambda s: (s.layer.W * np.nan, s.layer.B, s.layer.A), claim)
    assert not never.conforms and never.names == ()


def test_a_mixer_may_return_arrays_of_any_kind() -> None:
    def lists(s: Round) -> Any:
        p = np.array(s.examples) / sum(s.examples)
        B, A = (sum(x * getattr(a, n) for x, a in zip(p, s.sent, strict=True)) for n in "BA")
        return s.layer.W.tolist(), np.float32(B), A

    assert judge(lists, Claim("fedit")).conforms


def test_a_mixer_may_write_over_what_it_is_handed() -> None:
    def in_place(s: Round) -> Any:
        W, B, A = s.layer.W, s.layer.B, s.layer.A
        B[:], A[:], sizes = 0, 0, sum(s.examples)
        for n, a in zip(s.examples, s.sent, strict=True):
            W += n / sizes * s.sigma * a.B @ a.A
            a.B[:], a.A[:] = n / sizes * a.B, n / sizes * a.A
            B += a.B
            A += a.A
        W -= s.sigma * B @ A
        return W, B, A

    assert judge(in_place, Claim("fedex-lora")).conforms


def test_exact_numbers() -> None:
    assert rank(rows([[1, 2], [2, 4]])) == 1 and rank(rows([[0, 0]])) == 0 and rank(rows([[0, 1], [1, 0]])) == 2
    for r in (1, 2):
        for i in range(4):
            R, S = map(rows, basis(r, i))
            assert times(R, S) == rows(np.eye(r))
    s = list(rounds())[-1]
    for a, b in zip(s.sent, rebased(s, range(len(s.sent))).sent, strict=True):
        assert times(rows(a.B), rows(a.A)) == times(rows(b.B), rows(b.A))
    assert not (s.sent[0].B == rebased(s, [2] * len(s.sent)).sent[0].B).all()


@pytest.mark.parametrize("m", [m for m in PARTS if m.values[0].rule == "flora"])
def test_mistakes_with_ranks_of_their_own_are_named(m: Mutant) -> None:
    claim = Claim("flora", own_ranks=True)
    finding = judge(following(claim, spoilt(m)), claim)
    # A B that goes on has no mean, and cannot be mixed at all.
    assert not finding.conforms and (finding.rounds < 6 or any(m.id in name for name in finding.names)), str(finding)


def test_rules_that_average_factors_have_one_rank() -> None:
    with pytest.raises(ParameterError, match="ranks: fedit averages factors"):
        Claim("fedit", own_ranks=True)


@pytest.mark.parametrize("claim", CLAIMS, ids=str)
def test_cases_as_json(claim: Claim) -> None:
    """Every mistake shows in one; the layers that they say are the means, multiplied out."""
    said = json.loads(json.dumps(cases(claim)))
    unseen = EQUAL_WEIGHTS if claim.weights is Weighting.UNIFORM else set()
    assert {name for case in said["cases"] for name in case["shows"]} == {*said["mistakes"]} - unseen
    for case in said["cases"]:
        sizes = case["examples"] if claim.weights is Weighting.EXAMPLES else [1 for _ in case["examples"]]
        sigma = case["alpha"] / len(case["A"])
        W, products = np.array(case["W"]), [np.array(a["B"]) @ np.array(a["A"]) for a in case["sent"]]
        ideal = W + sigma * sum(n / sum(sizes) * P for n, P in zip(sizes, products, strict=True))
        after = {name: np.array(M) for name, M in case["next"].items()}
        assert after.keys() == ({"W", "B"} if claim.rule == "flora" else {"W", "B", "A"})
        made = after["W"] + (sigma * after["B"] @ after["A"] if "A" in after else 0)
        assert bool((made == ideal).all()) is (claim.rule != "fedit" or len(products) == 1)


def test_cases_are_the_same_everywhere() -> None:
    text = json.dumps(cases(Claim("flora")), sort_keys=True)
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "6cf46c63423fca79"


def test_names_in_any_spelling() -> None:
    assert [named(n) for n in ("FedEx", "fedex_lora", "FFA", "FedIT", "Shepherd")] == [
        *("fedex-lora", "fedex-lora", "ffa-lora", "fedit", "fedit")
    ]
    with pytest.raises(UnknownNameError, match="rule: none is called 'fedex-laro'; nearest: fedex-lora"):
        named("fedex-laro")


def output_of(*arguments: str) -> str:
    """Output of the command, if it ends as it should."""
    ran = inside("lora", *arguments)
    assert ran.code == 0, ran
    return ran.out


@pytest.mark.table(1)
def test_the_command(tmp_path: Path) -> None:
    file, broken = tmp_path / "mine.py", tmp_path / "broken.py"
    file.write_text("def mean(s):\n    return s.layer.W, s.sent[-1].B, s.sent[-1].A\n")
    broken.write_text("import a_package_that_is_missing\n")
    assert output_of("spec", "--rule", "FLoRA") == "flora, weights examples: 11 laws in 12 rounds, all hold\n"
    assert json.loads(output_of("spec", "--cases"))["rule"] == "fedit"
    listed = output_of("--list")
    assert all(law.id in listed for law in LAWS) and all(m.id in listed for m in mutants())
    ran = inside("lora", f"{file}:mean")
    assert (ran.code, ran.out.splitlines()[-1]) == (1, "known as: the last client's adapter is kept (fedit-last)")
    ran = inside("lora", "mutant:rolora-never-turns", "--rule", "rolora", "--first", "A", "--json")
    (row,) = ran.rows
    assert ran.code == 1 and row["known_as"] == ["every round is the first factor's (rolora-never-turns)"]
    assert (row["rule"], row["weights"], row["conforms"]) == ("rolora", "examples", False) and row["broken"]
    for words, said in (
        (["mean.py:mean"], "no file mean.py"),
        ([f"{file}:other"], "has no function 'other'"),
        ([f"{broken}:mean"], "cannot be run: ModuleNotFoundError: No module named 'a_package_that_is_missing'"),
        (["mutant:none"], "none is called 'none'"),
        (["mine"], "give FILE.py:FUNCTION"),
        ([], "mixer: got none"),
        (["spec", "--rule", "fed"], "rule: none is called 'fed'"),
        (["spec", "--weights", "steps"], "a round doesn't state"),
        (["no_such_module:f"], "No module named"),
    ):
        ran = inside("lora", *words)
        assert ran.code == 2 and said in ran.err, ran


def test_who_looks_them_up_in_the_catalogue_is_sent_here() -> None:
    for name in ("FedIT", "ffa-lora", "RoLoRA", "flora", "FedEx-LoRA"):
        with pytest.raises(
            UnknownNameError, match=f"algorithm: '{name}' mixes matrices and is no row; fedspec.mixing.lora"
        ):
            find(name)
    # Names of code, or of what others compare with, are those of a server of their own.
    assert {name for name in (*FUNCTIONS, *ALIASES) if not elsewhere(name)} == {"shepherd", "lora-fedavg"}
    assert "docs/lora.md" in inside("list", "lora").err and not elsewhere("fedavg")


SHEPHERD = """
import os, torch
from peft import set_peft_model_state_dict

def FedAvg(model, chosen, folder, sizes, epoch, stacking=False, *more):
    total, state = sum(sizes[i] for i in chosen), {}
    for i in chosen:
        sent = torch.load(os.path.join(folder, str(epoch), f"local_output_{i}", "pytorch_model.bin"))
        for name, M in sent.items():
            p = sizes[i] / total
            if stacking:
                part = p * M if "lora_A" in name else M
                axis = 0 if "lora_A" in name else 1
                state[name] = torch.cat([state[name], part], axis) if name in state else part
            else:
                state[name] = state.get(name, 0) + p * M
    if stacking:
        torch.save(state, os.path.join(folder, str(epoch), "adapter_model.bin"))
    set_peft_model_state_dict(model, state, "default")
"""

FEDEX = """
def aggregate_models_normal(model, sent):
    state = model.state_dict()
    for k in state:
        if "lora" in k:
            state[k] = sum(s[k] for s in sent) / len(sent)
    model.load_state_dict(state)
    return model

def aggregate_models_ffa(model, sent):
    state = model.state_dict()
    for k in state:
        if "lora_B" in k:
            state[k] = sum(s[k] for s in sent) / len(sent)
    model.load_state_dict(state)
    return model

def aggregate_models_ours(model, sent, args):
    made = aggregate_models_normal(model, sent).state_dict()
    B, A = (f"q.lora_{n}.default.weight" for n in "BA")
    lacking = sum(s[B] @ s[A] for s in sent) / len(sent) - made[B] @ made[A]
    made["q.base_layer.weight"] += (lacking * (args.lora_alpha / args.lora_r)).T
    model.load_state_dict(made)
    return model
"""


@pytest.fixture
def driven(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The drivers of public code, over servers written here in the place of files of a clone."""
    monkeypatch.syspath_prepend(str(ROOT / "examples/lora"))
    monkeypatch.syspath_prepend(str(ROOT / "examples/diloco"))
    mine = ("clients", "source", "shepherd", "federatedllm", "fedex", "peft", "model_aggregation")
    kept: dict[str, ModuleType] = {name: sys.modules.pop(name) for name in mine if name in sys.modules}
    import source

    monkeypatch.setattr(source, "text", lambda commit, path: FEDEX if path == "fed_agg.py" else SHEPHERD)
    yield __import__
    for name in mine:
        sys.modules.pop(name, None)
    sys.modules.update(kept)


@pytest.mark.slow
def test_drivers_of_public_code_hand_over_what_they_should(driven: Any) -> None:
    uniform = Weighting.UNIFORM
    assert judge(driven("shepherd").fedit, Claim("fedit")).conforms
    assert judge(driven("federatedllm").fedit, Claim("fedit")).conforms
    assert judge(driven("federatedllm").flora, Claim("flora")).conforms
    assert judge(driven("federatedllm").flora, Claim("flora", own_ranks=True)).conforms
    fedex = driven("fedex")
    assert (
        judge(fedex.fedit, Claim("fedit", uniform)).conforms and judge(fedex.ffa, Claim("ffa-lora", uniform)).conforms
    )
    assert judge(fedex.conv1d, Claim("fedex-lora", uniform)).conforms
    assert judge(fedex.linear, Claim("fedex-lora", uniform)).names == (
        "the residual is added with its axes turned over (fedex-transposed)",
    )


def test_laws_are_asked_of_what_they_are_about() -> None:
    assert {law.id for law in asked_of(Claim("ffa-lora"))} - {
        law.id for law in asked_of(Claim("ffa-lora", BOTH[1]))
    } == {"split", "idle"}
    assert "gauge" not in {law.id for law in asked_of(Claim("fedit"))}
