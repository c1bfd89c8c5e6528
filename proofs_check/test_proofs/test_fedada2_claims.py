"""The claims about FedAda2 are about its rules, and what they share is right."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import z3

from fedspec.algorithms import fedada2
from fedspec.arith import sqrt
from fedspec.client.agdu import agdu
from fedspec.client.sgd import sgd
from fedspec.client.sm3 import accumulate_ii
from fedspec.client.sm3_delayed import sm3_ii_delayed
from fedspec.plan import Plan
from fedspec.readings import Idle
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Claim, Verdict
from fedspec_proofs.engines import Induction, Real, every, exact, prove, real, roots
from fedspec_proofs.engines.algebra import Statement, decide, variables
from fedspec_proofs.engines.mutation import LeastOfSets, mutate, over
from fedspec_proofs.fedada2.claims import assembly, blended, delayed_adagrad, derivation, theorem_20
from fedspec_proofs.fedada2.claims.logarithms import double_sum
from fedspec_proofs.fedada2.claims.student_t import at_one
from fedspec_proofs.fedada2.kit import bounds, runs, sm3_inductions
from fedspec_proofs.fedada2.kit.conditions import bounded, lipschitz, ramp, smooth
from fedspec_proofs.fedada2.kit.inductive import reachable, simulated
from fedspec_proofs.fedada2.kit.problems import BALANCED, Huber, everybody, problem, rounds, slope
from fedspec_proofs.fedada2.kit.runs import Case, outcome
from fedspec_proofs.kit.balls import one_more_term
from fedspec_proofs.kit.piecewise import huber

pytestmark = pytest.mark.long


def claim(module: str, name: str) -> Claim:
    found = getattr(importlib.import_module(f"fedspec_proofs.fedada2.claims.{module}"), name)
    assert isinstance(found, Claim)
    return found


def plain_sgd(state: Any, g: Any, cover: Any, *, eta_l: Any, eps: Any, **more: Any) -> Any:
    """SGD where SM3 is expected."""
    return type(state)(x=sgd(state.x, g, eta_l=eta_l), mu=state.mu, nu=state.nu, t=state.t + 1)


def forgetful(state: Any, g: Any, cover: Any, **more: Any) -> Any:
    """SM3-II that sets its accumulators to 0 between updates, whatever it is asked for."""
    return sm3_ii_delayed(state, g, cover, **{**more, "idle": Idle.RESET})


def swapped(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Adam with its two decays exchanged."""

    def other(state: Any, g: Any, *, beta1: Any, beta2: Any, **more: Any) -> Any:
        return rule(state, g, beta1=beta2, beta2=beta1, **more)

    return other


def decaying(state: Any, delta: Any, *, eta: Any, beta1: Any, tau: Any) -> Any:
    """A server whose second moment decays where AdaGrad's is a sum."""
    m = beta1 * state.m + (1 - beta1) * delta
    v = state.v / 4 + delta**2
    return type(state)(x=state.x + eta * m / (sqrt(v) + tau), m=m, v=v, t=state.t + 1)


def frozen(state: Any, delta: Any, *, eta: Any, beta1: Any, tau: Any) -> Any:
    """A server whose second moment stays where it started."""
    m = beta1 * state.m + (1 - beta1) * delta
    return type(state)(x=state.x + eta * m / (sqrt(state.v) + tau), m=m, v=state.v, t=state.t + 1)


def twice(state: Any, g: Any, cover: Any, **more: Any) -> Any:
    """SM3-II fed gradients twice as large."""
    return sm3_ii_delayed(state, 2 * g, cover, **more)


RULES: list[tuple[str, str, Any, str, str]] = [
    ("fedspec.algorithms.fedada2", "sm3_ii_delayed", plain_sgd, "theorem_20", "theorem"),
    ("fedspec.algorithms.server_update", "adagrad", decaying, "corollaries", "convergence"),
    ("fedspec.client.sm3_delayed", "sm3_ii_delayed", forgetful, "pseudogradients", "repaired"),
    ("fedspec_proofs.fedada2.claims.pseudogradients", "sm3_ii_delayed", forgetful, "pseudogradients", "carried_sum"),
    ("fedspec_proofs.fedada2.claims.server_steps", "adagrad", frozen, "server_steps", "lemma"),
    ("fedspec_proofs.fedada2.claims.accumulators", "sm3_ii_delayed", twice, "accumulators", "lemma"),
    (
        "fedspec_proofs.fedada2.claims.normalised",
        "normalised_sgd",
        lambda x, g, *, eta_l, eps: x - eta_l * g,
        "normalised",
        "second_moment",
    ),
    (
        "fedspec_proofs.fedada2.claims.student_t",
        "local_sgd",
        lambda h, x, g, tau: x - g(0, x),
        "student_t",
        "fedavg_explodes",
    ),
    ("fedspec_proofs.fedada2.claims.student_t", "student_2", lambda u: u, "student_t", "heavy_tailed"),
]


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(("place", "rule", "other", "module", "name"), RULES)
def test_claims_are_about_the_rules(
    monkeypatch: pytest.MonkeyPatch, place: str, rule: str, other: Any, module: str, name: str
) -> None:
    """With another rule in its place the claim does not come back with its verdict."""
    tested = claim(module, name)
    monkeypatch.setattr(importlib.import_module(place), rule, other)
    assert run_evidence(tested).verdict is not tested.verdict


def test_the_integral_is_that_of_the_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """With another one typed Definition 1's instance is not shown."""
    module = importlib.import_module("fedspec_proofs.fedada2.claims.student_t")
    monkeypatch.setattr(module, "integral", lambda a, log: log((1 - a) / a) - (1 - 2 * a))
    assert run_evidence(claim("student_t", "heavy_tailed")).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("name", "missing"), [("_one_more_step", "between"), ("_weighed", "weights"), ("_weighed", "steps")]
)
def test_the_sum_of_lemma_30_needs_its_parts(name: str, missing: str) -> None:
    body = getattr(importlib.import_module("fedspec_proofs.fedada2.claims.delayed_adagrad"), name)

    def without(draw: Any) -> Statement:
        whole = body(draw)
        return Statement({words: one for words, one in whole.given.items() if words != missing}, whole.shown)

    assert decide(without, ablate=False).verdict is Verdict.REFUTED


@pytest.mark.parametrize(("L", "least"), [(F(1200), True), (F(1199), False), (F(1), False)])
def test_a_ramp_is_as_steep_as_it_is_said_to_be(L: F, least: bool) -> None:
    def gradient(x: Any) -> Any:
        return ramp(x, F(1200), F(1, 100))

    assert lipschitz(gradient, L) is least
    assert [gradient(exact.vector(v))[0] for v in (-1, 0, 1)] == [-1, F(1, 100), 1]


def test_lemma_28_falls_by_the_algorithm_s_own_denominator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Normalised steps of length 1 keep to the bound."""
    module = importlib.import_module("fedspec_proofs.fedada2.claims.delayed_adam")

    def signs(state: Any, g: Any, *, eta_l: Any, **more: Any) -> Any:
        return type(state)(x=state.x - eta_l * np.sign(g), m=state.m, v=state.v, v_hat=state.v_hat, t=state.t + 1)

    monkeypatch.setattr(module, "admu", signs)
    assert run_evidence(claim("delayed_adam", "lemma")).verdict is Verdict.UNKNOWN


def test_the_closed_form_of_adam_is_about_its_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    module = importlib.import_module("fedspec_proofs.fedada2.claims.adams")
    monkeypatch.setattr(module, "admu", swapped(module.admu))
    assert run_evidence(claim("adams", "closed_form")).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_the_inductions_are_about_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sm3_inductions.BOTH, "SM3-II", over(LeastOfSets, accumulate_ii))
    record = run_evidence(claim("sm3", "upper_bound"))
    assert record.verdict is Verdict.UNKNOWN, "a step that fails refutes the induction, not the claim"
    assert "counterexample" in record.evidence


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize(
    ("place", "name", "factor", "tested"),
    [
        ("pseudogradients", "lemma_15", 0.5, ("pseudogradients", "repaired")),
        ("delayed_adagrad", "_lemma_30", 0.5, ("delayed_adagrad", "sharper")),
    ],
)
def test_searches_bite(
    monkeypatch: pytest.MonkeyPatch, place: str, name: str, factor: float, tested: tuple[str, str]
) -> None:
    """With a smaller constant in the closed form the search finds a violation."""
    module = importlib.import_module(f"fedspec_proofs.fedada2.claims.{place}")
    whole = getattr(module, name)

    def smaller(*args: Any, **more: Any) -> Any:
        right = whole(*args, **more)
        return {k: factor * v for k, v in right.items()} if isinstance(right, dict) else factor * right

    monkeypatch.setattr(module, name, smaller)
    assert run_evidence(claim(*tested)).verdict is Verdict.REFUTED


def test_the_printed_bound_of_theorem_20_in_numbers() -> None:
    """The right side at T = 4e6 with G = L = 1, eps = tau = 1, written out once more in floating point."""
    T, rate, eps_s, gap = 4_000_000, 1 / 2000, 0.1, 2.0
    s = bounds.Setting(T, 1, 1, 1, 1.0, rate, 1.0, eps_s, 1.0, 0.0, 0.0, 1.0, 1.0, 1.0, gap)
    phi = rate * math.sqrt(math.log(2))
    above = (
        gap
        + T * phi**2
        + rate * (2 / (rate * eps_s)) * T * phi**2 * 4
        + rate * T * phi**2 * 4
        + phi * (1 + math.log(1 + T * phi**2))
    )
    below = 3 / 4 * rate / 2 * T / (math.sqrt(T * phi**2 + 1) + 1)
    assert bounds.right(s, bounds.theorem_20(s, bounds.FLOAT), bounds.FLOAT) == pytest.approx(above / below, rel=1e-12)


@pytest.mark.parametrize(
    ("b", "u0", "c"),
    [("0", 1, 1.0), ("1/10", 1, 1.1), ("24/100", 4, 0.8979), ("1/2", 17, 6.0561), ("9/10", 202, 1710.0047)],
)
def test_the_constant_c(b: str, u0: int, c: float) -> None:
    """u_0 is the first number from which b^v v^4 < 1 on; c the partial sum and 1/u_0."""
    rate = F(b)
    assert bounds.cut(rate) == u0
    assert all(rate**v * v**4 < 1 for v in range(u0, 3 * u0 + 40))
    assert u0 == 1 or rate ** (u0 - 1) * (u0 - 1) ** 4 >= 1
    assert float(bounds.c(rate)) == pytest.approx(c, abs=1e-4)


def test_upper_bounds_are_above_and_near() -> None:
    s = bounds.Setting(25, 3, 2, 1, F(1), F(1, 5), F(1), F(1, 4), F(1), F(1, 2), F(0), F(1), F(1), F(1), F(1))
    above = bounds.right(s, bounds.theorem_20(s, bounds.ABOVE), bounds.ABOVE)
    near = bounds.right(s, bounds.theorem_20(s, bounds.FLOAT), bounds.FLOAT)
    assert float(above) == pytest.approx(float(near), rel=1e-9)
    assert isinstance(above, F)


def test_minimisers_against_a_grid() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        f = problem(*((F(int(rng.integers(1, 5)), 2), F(int(rng.integers(-8, 9)), 3)) for _ in range(3)))
        least_value = f.value(f.minimiser())
        assert not f.gradient(f.minimiser()).any()
        assert all(f.value(exact.vector(F(k, 12))) >= least_value for k in range(-60, 61))


def test_gradients_are_those_of_the_values() -> None:
    """Huber's function has slope H' by differences, and is smooth and bounded with its own constants only."""
    h = 1e-6
    for y in (-3.0, -1.0, -0.4, 0.0, 0.7, 2.5):
        assert (huber(1).value(y + h) - huber(1).value(y - h)) / (2 * h) == pytest.approx(
            float(slope(np.array([y]))[0]), abs=1e-5
        )
    f = problem((2, 0), (F(1, 2), 3))
    assert smooth(f, f.L) and bounded(f, f.G)
    assert not smooth(f, f.L - F(1, 10)) and not bounded(f, f.G - F(1, 10))


def test_a_run_that_stands_still_is_noticed() -> None:
    f, h = BALANCED, theorem_20.hyper(100, F(1, 4))
    still = rounds(fedada2.step, h, f, exact.vector(0), everybody(f, 1), 5)
    assert still.still and still.exact and still.least(f) == F(1, 81)
    moving = rounds(fedada2.step, h, f, exact.vector(1), everybody(f, 1), 5)
    assert not moving.still and len(moving.xs) == 6
    assert float(moving.xs[-1][0]) < float(moving.xs[0][0])


@pytest.mark.parametrize(
    ("centre", "eps_s", "K", "D"),
    [
        # Gradients -1/2 and 1 at the start; the first client is drawn and takes one step with its own.
        (F(1, 2), F(1, 10), 1, F(9, 4)),
        # Its step of length 1/3 is dropped, which uses 0: the other's gradient is 1 away.
        (F(1, 2), F(1, 2), 1, F(1)),
        # The first of two steps, 1/10 of 1/2, moves it by 1/20, where its own gradient is 1 as before.
        (F(3), F(1, 10), 2, F(4)),
        (F(-2), F(1, 10), 2, F(0)),
    ],
)
def test_the_drift_of_a_run(centre: F, eps_s: F, K: int, D: F) -> None:
    f = problem((1, centre), (1, -2))
    case = Case(f, theorem_20.hyper(100, eps_s), Plan((0,), (K,), (1,)), 1, K, F(1), F(1), F(1))
    _, found = outcome(case, 1)
    assert found == pytest.approx(float(D))


@pytest.mark.parametrize("i", range(6))
def test_the_steps_add_up_to_the_terms_that_are_typed(monkeypatch: pytest.MonkeyPatch, i: int) -> None:
    psis = bounds.psis

    def spoiled(*args: Any) -> tuple[Any, ...]:
        whole = psis(*args)
        return (*whole[:i], whole[i] / 2, *whole[i + 1 :])

    monkeypatch.setattr(bounds, "psis", spoiled)
    assert assembly.theorem_adds_up.body().verdict is Verdict.REFUTED


CONSTANTS = (derivation.of_theorem_20, blended.of_theorem_25, delayed_adagrad.of_corollary_29)


@pytest.mark.parametrize("of", CONSTANTS, ids=lambda of: of.__name__)
@pytest.mark.parametrize("name", ["gamma1", "drift"])
def test_a_spoiled_constant_does_not_fit(of: Any, name: str) -> None:
    def spoiled(draw: Any) -> tuple[Any, ...]:
        s, k, n, W = of(draw)
        return s, replace(k, **{name: 2 * getattr(k, name)}), n, W

    assert derivation.fitting(of).verdict is Verdict.PROVED
    assert derivation.fitting(spoiled).verdict is Verdict.REFUTED


def test_gamma_1_is_the_lower_end_with_the_fewest_steps() -> None:
    of, least = delayed_adagrad.of_corollary_29, delayed_adagrad._gamma_1
    assert derivation.fits_gamma(of, least).verdict is Verdict.PROVED
    with_the_most = derivation.fits_gamma(of, lambda draw, s: s.K * least(draw, s) / draw("fewest", positive=True))
    assert with_the_most.verdict is Verdict.REFUTED


@pytest.mark.parametrize("name", ["K^-", "older", "a_(p,p)", "M"])
def test_the_lower_end_of_gamma_needs_its_parts(name: str) -> None:
    """A smaller weight, or a larger denominator, than is assumed; and one client that takes fewer steps."""
    body = blended._one_more_weight if name == "K^-" else blended._smallest_weight

    def spoiled(draw: Any) -> Statement:
        by = {"K^-": 2, "older": -1, "a_(p,p)": F(1, 2), "M": F(1, 2)}[name]
        held = body(draw)

        def changed(one: str, *shape: int, positive: bool = False) -> Any:
            return (by if one == name else 1) * draw(one, *shape, positive=positive)

        return Statement(held.given, body(changed).shown)

    whole, less = body(variables), spoiled(variables)
    assert prove(whole.shown, whole.given) and not prove(less.shown, less.given, timeout_ms=2000)


def test_the_ceiling_of_agdu_needs_the_steps_without_an_update(monkeypatch: pytest.MonkeyPatch) -> None:
    assert delayed_adagrad.ceiling.body().verdict is Verdict.PROVED
    monkeypatch.setattr(delayed_adagrad, "agdu", mutate(agdu, due=lambda t, z, epoch: True))
    found = delayed_adagrad.ceiling.body()
    # Of the states that z3 finds few have rational roots, on which it would be replayed.
    assert found.verdict is not Verdict.PROVED and "counterexample" in found.evidence


def weaker(part: Callable[[Any], Statement], words: str) -> Statement:
    """The part of the derivation without one of its assumptions."""
    whole = part(variables)
    assert words in whole.given
    return Statement({w: f for w, f in whole.given.items() if w != words}, whole.shown)


NEEDED = [(part, words) for part in (*derivation.ROUND, one_more_term) for words in part(variables).given]


@pytest.mark.parametrize(("part", "words"), NEEDED, ids=lambda v: v if isinstance(v, str) else v.__name__)
def test_the_derivation_needs_what_it_assumes(part: Callable[[Any], Statement], words: str) -> None:
    rest = weaker(part, words)
    assert not prove(rest.shown, rest.given, timeout_ms=2000)


REPAIRED = [
    ("theorem_20", "repaired"),
    ("blended", "theorem_25_repaired"),
    ("delayed_adam", "corollary_repaired"),
    ("delayed_adagrad", "corollary_repaired"),
]


@pytest.mark.night
@pytest.mark.parametrize(("module", "name"), REPAIRED)
def test_the_repaired_bounds_need_more_than_their_third_term(
    monkeypatch: pytest.MonkeyPatch, module: str, name: str
) -> None:
    """D alone does not carry them: it is 0 for one client that takes one step, and its gradient is not."""

    def third(s: Any, k: Any, by: Any, D: Any) -> dict[str, Any]:
        return {name: part for name, part in bounds.terms(s, k, by, D).items() if name == "Psi3/Psi6"}

    monkeypatch.setattr(runs, "terms", third)
    assert run_evidence(claim(module, name)).verdict is Verdict.REFUTED


def test_double_sums() -> None:
    """By counting how often each difference u = t - r occurs."""
    for b, T in ((F(1, 3), 7), (F(9, 10), 12), (F(0), 4)):
        assert double_sum(b, T) == sum(b**u * u**2 * (T - u) for u in range(T))


def test_densities_at_one() -> None:
    assert float(at_one(2)) == pytest.approx(3**-1.5, rel=1e-15)
    assert float(at_one(3)) == pytest.approx(2 / (math.pi * math.sqrt(3) * (1 + 1 / 3) ** 2), rel=1e-15)
    assert float(at_one(40)) < math.exp(-0.5) / math.sqrt(2 * math.pi)


def test_roots_are_variables_or_absolute_values() -> None:
    x = real("x")
    with roots() as known:
        square, other = (x * x).sqrt(), (x + 3).sqrt()
    assert len(known) == 1 and isinstance(square, Real)
    assert prove({"|x|": every(square >= x, square >= -x)})
    assert prove({"r^2": every(other * other == x + 3)}, {"known": every(*known)})
    assert not prove({"r^2": every(other * other == x + 3)})
    assert not z3.is_app_of(other.term, z3.Z3_OP_POWER)


def counter(limit: int) -> Callable[[Any], Induction[Any]]:
    """n rises by a step of 0 to 1; claimed: it never passes the limit."""

    def build(draw: Any) -> Induction[Any]:
        by = draw("by")
        return Induction(
            initial={"n": by * 0},
            arbitrary={"n": draw("n")},
            step=lambda s: {"n": s["n"] + by},
            inputs={"by <= 1": every(by <= 1), "by >= 0": every(by >= 0)},
            invariant=lambda s: {"n >= 0": every(s["n"] >= 0)},
            claim=lambda before, after: {"n <= limit": every(after["n"] <= limit)},
        )

    return build


def test_simulations_run_from_the_first_state() -> None:
    steps, wrong = simulated(counter(6), runs=5, steps=6)
    assert steps == 30 and not wrong
    _, wrong = simulated(counter(1), runs=5, steps=6)
    assert "not n <= limit" in wrong


def test_dropped_inputs_are_looked_for_in_runs() -> None:
    assert reachable(counter(3), "by <= 1").matters
    assert not reachable(counter(3), "by >= 0").matters


def test_problems_keep_their_numbers_in_floating_point() -> None:
    f = Huber(np.array([[F(1, 4)]], dtype=object), np.array([F(3)], dtype=object))
    assert f.floats().gradient(np.array([0.75]))[0] == 1.5 == float(f.gradient(exact.vector("3/4"))[0])
