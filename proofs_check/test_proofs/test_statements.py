"""Statements written once: for all values by z3 or sympy, again on fractions, and without each assumption."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import pytest

from fedspec.client.sgd import sgd
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Claim, Engine, Extent, Finding, Severity, Sharpness, Verdict, claim, false, refutation
from fedspec_proofs.engines import Statement, decide, enclosure, exact, expectation, identities, moments
from fedspec_proofs.engines.draw import At, Draw, Rationals
from fedspec_proofs.words import as_text


def step(draw: Draw) -> Any:
    x, g, eta = draw("x", 2), draw("g", 2), draw("eta", positive=True)
    return x, g, eta, sgd(x, g, eta_l=eta)


def test_algebra_proves_checks_and_drops() -> None:
    def descends(draw: Draw) -> Statement:
        x, g, eta, after = step(draw)
        return Statement({"g_0 >= 0": g[0] >= 0, "eta > 0": eta > 0}, {"x falls": after[0] <= x[0]})

    found = decide(descends)
    assert found.verdict is Verdict.PROVED
    assert found.second is not None and found.second.instances == 100
    assert all(d.matters for d in found.dropped.values()) and set(found.dropped) == {"g_0 >= 0", "eta > 0"}
    assert "the rule refuses it (eta_l: " in found.dropped["eta > 0"].words


def test_algebra_replays_what_refutes() -> None:
    def falls(draw: Draw) -> Statement:
        x, _, eta, after = step(draw)
        return Statement({"eta > 0": eta > 0}, {"x falls": after[1] <= x[1]})

    found = decide(falls)
    assert found.verdict is Verdict.REFUTED
    assert "replayed on fractions: confirmed" in found.evidence


def test_algebra_needs_instances_that_meet_the_assumptions() -> None:
    def rare(draw: Draw) -> Statement:
        a, b = draw("a"), draw("b")
        return Statement({"a = b^2 + 1/7": a == b**2 + Fraction(1, 7)}, {"a > 0": a > 0})

    none = decide(rare)
    assert none.second is not None and none.second.instances == 0

    def sample(rng: np.random.Generator) -> dict[str, Fraction]:
        b = Fraction(int(rng.integers(9)), 3)
        return {"a": b**2 + Fraction(1, 7), "b": b}

    some = decide(rare, sample=sample)
    assert some.second is not None and some.second.instances == 100


SOURCE, OURS = "Lemma 1 (L1)", "ours, about Lemma 1 (L1)"


def a_claim(finding: Finding, engine: Engine = Engine.SMT) -> Claim:
    made = claim("afga.a", statement="a", source=SOURCE, engine=engine, verdict=Verdict.PROVED, extent=Extent.WHOLE)
    return made(lambda: finding)


def test_a_proof_that_nothing_confirms_is_none() -> None:
    lonely = run_evidence(a_claim(Finding(Verdict.PROVED, "by z3")))
    assert lonely.verdict is Verdict.UNKNOWN and "no second engine" in lonely.evidence
    assert run_evidence(a_claim(Finding(Verdict.PROVED, "every case"), Engine.EXACT)).verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("engine", "sharpness", "verdict"),
    [
        (Engine.SEARCH, Sharpness(0.5, {"noise": True}), Verdict.CHECKED),
        (Engine.SEARCH, Sharpness(0.49), Verdict.NOT_CONTRADICTED),
        (Engine.MOMENTS, Sharpness(1.0, {"noise": False}), Verdict.NOT_CONTRADICTED),
        (Engine.SEARCH, None, Verdict.NOT_CONTRADICTED),
        (Engine.EXACT, None, Verdict.NOT_CONTRADICTED),
        (Engine.EXACT, Sharpness(1.0), Verdict.NOT_CONTRADICTED),
        (Engine.EXACT, Sharpness(1.0, {"half": True}), Verdict.CHECKED),
    ],
)
def test_nothing_is_checked_that_does_not_say_what_it_sees(engine: Engine, sharpness: Any, verdict: Verdict) -> None:
    assert run_evidence(a_claim(Finding(Verdict.CHECKED, "searched", sharpness=sharpness), engine)).verdict is verdict


def test_a_proof_at_sizes_names_them_and_no_other_claim_does() -> None:
    def at(verdict: Verdict, sizes: str) -> Claim:
        made = claim("afga.a", statement="a", source=OURS, engine=Engine.EXACT, verdict=verdict, sizes=sizes)
        return made(lambda: Finding(Verdict.PROVED, "every case"))

    assert run_evidence(at(Verdict.PROVED_AT_SIZES, "d = 1")).verdict is Verdict.PROVED_AT_SIZES
    for verdict, sizes in ((Verdict.PROVED_AT_SIZES, ""), (Verdict.PROVED, "d = 1"), (Verdict.CHECKED, "d = 1")):
        with pytest.raises(ValueError, match=r"afga\.a"):
            at(verdict, sizes)


WORTH: list[tuple[str, Verdict, str, Any, Any, str]] = [
    (SOURCE, Verdict.PROVED, "", Extent.WHOLE, None, "whole"),
    (SOURCE, Verdict.PROVED_AT_SIZES, "d = 1", None, None, "part"),
    (SOURCE, Verdict.REFUTED, "", None, Severity.SLIP, "slip"),
    (SOURCE, Verdict.UNDECIDABLE, "", None, None, ""),
    (OURS, Verdict.PROVED, "", None, None, "remark"),
    (OURS, Verdict.PROVED, "", Extent.PART, None, "part"),
    (OURS, Verdict.REFUTED, "", None, None, "remark"),
]


of = partial(claim, "afga.a", statement="a", engine=Engine.EXACT)


@pytest.mark.parametrize(("source", "verdict", "sizes", "extent", "severity", "share"), WORTH)
def test_a_claim_says_what_it_is_of_the_statement(
    source: str, verdict: Verdict, sizes: str, extent: Any, severity: Any, share: str
) -> None:
    made = of(source=source, verdict=verdict, sizes=sizes, extent=extent, severity=severity)
    assert made(lambda: Finding(verdict, "")).share == share


WORTHLESS = [
    (SOURCE, Verdict.PROVED, "", None, None),
    (SOURCE, Verdict.PROVED, "", Extent.REMARK, None),
    (SOURCE, Verdict.PROVED, "", Extent.WHOLE, Severity.SLIP),
    (SOURCE, Verdict.PROVED_AT_SIZES, "d = 1", Extent.WHOLE, None),
    (SOURCE, Verdict.REFUTED, "", None, None),
    (SOURCE, Verdict.REFUTED, "", Extent.WHOLE, Severity.SLIP),
    (OURS, Verdict.REFUTED, "", None, Severity.FALSE_RESULT),
]


@pytest.mark.parametrize(("source", "verdict", "sizes", "extent", "severity"), WORTHLESS)
def test_a_claim_that_does_not_say_it_is_refused(
    source: str, verdict: Verdict, sizes: str, extent: Any, severity: Any
) -> None:
    made = of(source=source, verdict=verdict, sizes=sizes, extent=extent, severity=severity)
    with pytest.raises(ValueError, match=r"afga\.a"):
        made(lambda: Finding(verdict, ""))


def test_a_claims_engine_is_that_of_what_its_body_calls() -> None:
    """z3 if any check of a proof asks it; a false variant has the engine of its claim; calling nothing is no proof."""
    proved = partial(claim, "afga.a", statement="a", source=OURS)
    by_sympy = proved()(lambda: identities({}))
    by_both = proved()(lambda: by_sympy.body() and decide(lambda draw: Statement({}, {})))
    assert by_sympy.engine is Engine.SYMBOLIC and by_both.engine is Engine.SMT
    assert false("afga.b", of=by_both, statement="b")(lambda: identities({})).engine is Engine.SMT
    with pytest.raises(ValueError, match="has no engine; pass engine="):
        _ = proved()(lambda: Finding(Verdict.PROVED, "")).engine


def test_a_false_variant_knows_what_it_spoils() -> None:
    true = a_claim(Finding(Verdict.PROVED, ""), Engine.EXACT)
    spoiled = false("afga.b", of=true, statement="b")(lambda: Finding(Verdict.REFUTED, "1 > 0"))
    assert spoiled.false_of == "afga.a" and spoiled.verdict is Verdict.REFUTED and run_evidence(spoiled).seconds >= 0


def test_identities_hold_twice() -> None:
    def linear(draw: Draw) -> list[Any]:
        x, g, eta, after = step(draw)
        return list(after - x + eta * g)

    found = identities({"d = 2": linear}, without={"the sign": {"d = 2": lambda draw: [step(draw)[3][0] - 1]}})
    assert found.verdict is Verdict.PROVED
    assert found.second is not None and found.second.instances == 25
    assert found.dropped["the sign"].matters


def test_an_identity_that_is_none_is_refuted_with_a_point() -> None:
    found = identities({"one": lambda draw: [draw("a") ** 2 - draw("a")]})
    assert found.verdict is Verdict.REFUTED and "one: not zero at a = " in found.evidence


def test_refutations_check_their_conditions() -> None:
    conditions = {"m < n": True, "eta L <= 1": True}
    good = refutation(instance="n = 2", conditions=conditions, left=Fraction(1, 2), right=Fraction(1, 3))
    assert good.verdict is Verdict.REFUTED and "met: m < n" in good.evidence
    unmet = refutation(instance="", conditions={**conditions, "G": False}, left=Fraction(1), right=Fraction(0))
    assert unmet.verdict is Verdict.UNKNOWN and "NOT MET: G" in unmet.evidence
    holds = refutation(instance="", conditions=conditions, left=0, right=0)
    assert holds.verdict is Verdict.UNKNOWN
    assert refutation(instance="", conditions={}, left=0, right=1, relation="=").verdict is Verdict.REFUTED
    with pytest.raises(TypeError, match="must be exact"):
        refutation(instance="", conditions={}, left=0.5, right=0)


def test_a_right_side_is_typed_a_second_time() -> None:
    """Exactly, or to nine digits where a root is enclosed; one that differs refutes nothing."""
    of: dict[str, Any] = {"instance": "n = 2", "conditions": {"m < n": True}, "left": 1, "right": Fraction(1, 3)}
    assert refutation(**of, again=Fraction(1, 3)).verdict is Verdict.REFUTED
    assert "typed a second time, is 0.333333" in refutation(**of, again=0.33333333333).evidence
    assert refutation(**of, again=0.3333).verdict is Verdict.UNKNOWN
    assert refutation(**{**of, "right": 0}, again=Fraction(1, 10**6)).verdict is Verdict.UNKNOWN


def test_draws_are_the_same_for_the_same_name() -> None:
    draw = Rationals(np.random.default_rng(3), {"p_1": Fraction(1, 9)})
    p = draw("p", 2, positive=True)
    assert p[1] == Fraction(1, 9) and p[0] > 0 and draw("p", 2, positive=True)[0] == p[0]
    with pytest.raises(ValueError, match="p_0 names a positive variable and one that may be negative"):
        draw("p", 2)
    assert as_text(At({"a": Fraction(2, 3)})("a")) == "2/3" and At({})("b", positive=True) == 1


@pytest.mark.parametrize("q", [Fraction(2), Fraction(1, 3), Fraction(49, 4), Fraction(0)])
def test_roots_are_enclosed(q: Fraction) -> None:
    below, above = enclosure.sqrt_below(q), enclosure.sqrt_above(q)
    assert below**2 <= q <= above**2 and above - below <= Fraction(1, 10**50)


@pytest.mark.parametrize("q", [Fraction(1, 7), Fraction(3), Fraction(10**6)])
def test_logarithms_and_exponentials_are_enclosed(q: Fraction) -> None:
    low, high = enclosure.log(q)
    assert low <= high and high - low < Fraction(1, 10**45)
    assert math.isclose(float(low), math.log(q), rel_tol=1e-15)
    # e^log q = q, from both sides.
    assert enclosure.exp(low)[0] <= q <= enclosure.exp(high)[1]


def test_expectations_are_exact() -> None:
    size = expectation.mean(len, expectation.subsets(4, 2))
    first = expectation.mean(lambda s: int(0 in s), expectation.subsets(5, 2))
    assert size == 2 and first == Fraction(2, 5)
    p = exact.vector("1/2", "1/3", "1/6")
    both = expectation.mean(lambda s: int(s == (2, 2)), expectation.with_replacement(p, 2))
    assert both == Fraction(1, 36)
    pairs = expectation.independent(list(expectation.signs(2)), list(expectation.subsets(2, 1)))
    assert expectation.mean(lambda o: Fraction(o[0][0] * o[0][1] + o[1][0]), pairs) == Fraction(1, 2)
    with pytest.raises(ValueError, match="sum to 1/2"):
        expectation.mean(len, [(Fraction(1, 2), "a")])


def test_moments_are_those_of_every_outcome() -> None:
    """Two noisy steps of SGD on x^2/2 against all 16 outcomes of fair coins."""
    eta = exact.number("1/3")

    def noisy(x: Any, xi: Any) -> Any:
        return sgd(x, x + xi, eta_l=eta)

    a = moments.affine(noisy, 2, 2)
    x0 = exact.vector(1, "1/2")
    now = moments.start(x0)
    for _ in range(2):
        now = moments.push(a, now, 1)

    def end(coins: tuple[int, ...]) -> Any:
        return noisy(noisy(x0, exact.vector(*coins[:2])), exact.vector(*coins[2:]))

    want = expectation.mean(lambda c: end(c) @ end(c), expectation.signs(4))
    assert moments.second_moment(now, np.diag(exact.vector(1, 1)), exact.vector(0, 0)) == want
    assert list(now.mean) == list(expectation.mean(end, expectation.signs(4)))
    with pytest.raises(ValueError, match="not affine"):
        moments.affine(lambda x, xi: x * x + xi, 1, 1)
