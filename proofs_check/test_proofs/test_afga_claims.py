"""The claims about AFGA are about the specification's rules; and the exact expectations behind them are right."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import cafga
from fedspec.arith import Array, minimum
from fedspec.mixing import topology
from fedspec.server.amsgrad import amsgrad
from fedspec_proofs.afga.claims import (
    ascent,
    assembly,
    changes,
    consensus,
    convergence,
    difference,
    distance,
    drift,
    one_step,
    orders,
    sampling,
    sequences,
    server,
)
from fedspec_proofs.afga.claims.constraints import Rates
from fedspec_proofs.afga.kit import bounds, constants, explicit, one_local_step, rounds
from fedspec_proofs.afga.kit.explicit import Setting
from fedspec_proofs.afga.kit.network import EXACT, Network
from fedspec_proofs.afga.kit.networks import BREAKING, HOLDS, blended_permutation, network, opposed, two_tilts
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Claim, Verdict
from fedspec_proofs.engines import Draw, Step, Sum, added, adds_up, exact, identities, symbolic
from fedspec_proofs.engines.choose import Choose, Tape
from fedspec_proofs.engines.mutation import mutate
from fedspec_proofs.kit.adding import spoiled

pytestmark = [pytest.mark.long, pytest.mark.table(10)]


def networks(count: int, wanted: Callable[[Network], bool] = lambda net: True) -> list[Network]:
    rng = exact.generator()
    found: list[Network] = []
    while len(found) < count:
        net = network(Choose(Tape(rng)))
        if wanted(net):
            found.append(net)
    return found


# --- another rule in place of the one a claim is about ------------------------------------------------------------


def half_mixed(X: Array, W: Array) -> Array:
    half: Array = (X + W @ X) / 2
    return half


def farther(eta_l: Any, X: Array, oracles: Any, S: Any) -> Array:
    moved: Array = X + 3 * (rounds.adapt(eta_l, X, oracles, S) - X)
    return moved


def sum_of_changes(X: Array, x: Array, senders: Any) -> Array:
    whole: Array = sum(X[i] - x for i in senders)
    return whole


def first_change(X: Array, x: Array, senders: Any) -> Array:
    change: Array = X[senders[0]] - x
    return change


ANOTHER_RULE: list[tuple[Claim, Any, str, Any]] = [
    (orders.amsgrad_order, orders, "amsgrad", mutate(amsgrad, maximum=minimum)),
    (ascent.eq_13, ascent, "amsgrad", mutate(amsgrad, rate=lambda eta, *_: 2 * eta)),
    (drift.eq_41, one_local_step, "adapt", lambda eta_l, X, oracles, S: X * 2),
    (drift.lemma_f_2, one_local_step, "adapt", farther),
    (consensus.eq_44_repaired, rounds, "gossip", half_mixed),
    (difference.eq_86_tight, rounds, "adapt", lambda eta_l, X, oracles, S: X * 2),
    (sequences.eq_9, sequences, "models", lambda eta_l, x, oracles, sets, W: np.stack([x] * len(oracles))),
    (sequences.eq_12, sequences, "mean_change", first_change),
    (sampling.lemma_f_6, sampling, "mean_change", sum_of_changes),
    (sampling.lemma_f_6_exact, sampling, "mean_change", first_change),
    (difference.eq_75_exact, sampling, "cluster_mean", lambda deltas, w: deltas[0]),
]


@pytest.mark.table(2)
@pytest.mark.parametrize(("claim", "module", "name", "other"), ANOTHER_RULE, ids=lambda x: getattr(x, "id", None))
def test_with_another_rule_the_claim_falls(
    claim: Claim, module: Any, name: str, other: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounds, "TRIES", 120)
    monkeypatch.setattr(module, name, other)
    assert run_evidence(claim).verdict is not claim.verdict


def test_lemma_f_9_is_about_a_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the last v in place of the maximum, v_hat falls again, which the sum of absolute values shows."""
    monkeypatch.setattr(server, "amsgrad", mutate(amsgrad, maximum=lambda old, new: new))
    assert run_evidence(server.lemma_f_9).verdict is not Verdict.PROVED


@pytest.mark.night
def test_a_refutation_needs_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clients that do not move refute nothing."""
    monkeypatch.setattr(cafga, "sgd", lambda X, G, eta_l: X)
    assert drift.lemma_f_1.body().verdict is Verdict.UNKNOWN
    assert run_evidence(difference.eq_76).verdict is Verdict.UNKNOWN


@pytest.mark.slow
def test_the_bound_of_changes_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Longer gradients than G, unnoticed by the check of Assumption 4.3, break it."""
    monkeypatch.setitem(changes.PATH_HOLDS, "4.3", lambda path: True)
    assert run_evidence(changes.lemma_f_8_repaired).verdict is Verdict.REFUTED


@pytest.mark.slow
def test_the_theorem_falls_with_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = Setting.bound
    monkeypatch.setattr(convergence, "_without", lambda: {})
    assert run_evidence(convergence.theorem_4_6).verdict is Verdict.PROVED
    monkeypatch.setattr(Setting, "bound", lambda self: whole(self) / 1000)
    assert run_evidence(convergence.theorem_4_6).verdict is Verdict.REFUTED


@pytest.mark.parametrize("claim", [drift.eq_41, drift.lemma_f_1_repaired], ids=lambda c: c.id)
def test_eq_41_is_proved_by_its_steps_not_by_its_certificates(claim: Claim, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a smaller C_I in the sum of the steps alone."""
    monkeypatch.setattr(one_step, "printed_growth", lambda I: 1 + 1 / (4 * I - 1) / 2)
    assert run_evidence(claim).verdict is not Verdict.PROVED


@pytest.mark.parametrize("term", assembly.sum_of_steps(symbolic).right)
def test_the_steps_do_not_add_up_to_less(term: str) -> None:
    """Half of a term of the bound, or another one for the steps than for the runs, is noticed."""
    assert spoiled(assembly.sum_of_steps, term).verdict is Verdict.REFUTED


@pytest.mark.parametrize("condition", ["second condition", "third condition"])
def test_half_a_condition_is_not_enough(condition: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = explicit.conditions
    monkeypatch.setattr(
        assembly,
        "conditions",
        lambda v: {k: (low / 2 if k == condition else low, high) for k, (low, high) in whole(v).items()},
    )
    assert spoiled(assembly.sum_of_steps).verdict is Verdict.REFUTED


CHANGES, SENDERS = explicit.changes, explicit.senders


def _less_noise(v: Any) -> tuple[Any, ...]:
    C_D, e_0, e_1, e_2 = CHANGES(v)
    return C_D, e_0 - v.eta_l**2 * v.I * v.m * v.sigma2 / (v.K * v.n**2), e_1, e_2


def _less_slopes(v: Any) -> tuple[Any, ...]:
    C_D, e_0, e_1, e_2 = CHANGES(v)
    return C_D, e_0, e_1 / 200, e_2


@pytest.mark.parametrize(
    ("name", "less"),
    [("changes", _less_noise), ("changes", _less_slopes), ("senders", lambda v: SENDERS(v) / 10)],
    ids=["half the noise of e_0", "e_1 / 200", "senders / 10"],
)
def test_lemma_f_5_is_that_of_its_row(name: str, less: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bound of Delta's second moment that the step's row does not show is noticed, in the bound or a condition."""
    assert spoiled(assembly.sum_of_steps).verdict is Verdict.PROVED
    for module in (explicit, assembly):
        monkeypatch.setattr(module, name, less)
    assert spoiled(assembly.sum_of_steps).verdict is Verdict.REFUTED


def test_a_run_s_numbers_are_those_in_words() -> None:
    """K = m = 1, n = I = 2, rho = 1/2: H = 2, fac = 1/2, B = eta_l G (3/4 + 5/8), tail = sigma^2/2 + sbar^2."""
    s = Setting(1, 2, 1, 2, 3, 0.5, 0.1, 1.0, phi=((0.1,), (-0.4,)), nu=0.3, theta=0.5, beta1=0.5)
    v, sbar2, sigma2 = s.numbers, s["sbar2"], 0.09
    assert (v.T, v.fac, v.kappa, v.B) == pytest.approx((1, 0.5, 1, 0.1 * 1.3 * 1.375))
    assert (v.a_1, v.a_2) == pytest.approx((2.5, 0.5))
    tail = sigma2 / 2 + sbar2
    assert v.s_1 == pytest.approx(sbar2 / 2 + sigma2 / 4 + 1.25 * tail)
    assert v.s_2 == pytest.approx((2 * sbar2 + sigma2 + tail) / 4)
    assert s.terms()["e_0"] == pytest.approx(8 * v.C_0 / 0.05 * 0.5 * 0.01 * (sigma2 + 2 * sbar2))


@pytest.mark.parametrize(("name", "spoil"), [("LEAST_C_1", 55), ("_bounds", None), ("printed_growth", None)])
def test_the_induction_of_f_3_needs_its_constants(name: str, spoil: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = getattr(distance, name)
    halves = {
        "LEAST_C_1": spoil,
        "_bounds": lambda *of: tuple(part / 2 for part in whole(*of)),
        "printed_growth": lambda I: whole(I) + 1 / I,
    }
    monkeypatch.setattr(distance, name, halves[name])
    assert distance.f_3.body().verdict is not Verdict.PROVED


@pytest.mark.parametrize(
    ("multiplier", "spare", "message"), [(-1, 0, "b <= c"), (1, -1, "the slack")], ids=["multiplier", "spare"]
)
def test_what_may_be_negative_does_not_add_up(multiplier: int, spare: int, message: str) -> None:
    """a <= b and b <= c are a <= c with multipliers 1 and 1 only."""

    def chain(draw: Draw) -> Sum:
        a, b, c, size = draw("a"), draw("b"), draw("c"), draw("size", positive=True)
        steps = {"a <= b": Step(1, a, b), "b <= c": Step(multiplier * size, b, c)}
        return Sum(steps, a, b + multiplier * size * (c - b) + spare * size, spare * size)

    with pytest.raises(ValueError, match=message):
        adds_up(chain)(symbolic)


def test_steps_add_up_for_all_values_or_not_at_all() -> None:
    def chain(draw: Draw) -> Sum:
        a, b, c = draw("a"), draw("b"), draw("c")
        return Sum({"a <= b": Step(1, a, b), "b <= c": Step(1, b, c)}, a, c)

    found = added(chain, {"a <= b": "", "b <= c": ""})
    assert found.verdict is Verdict.PROVED
    assert all(d.matters for d in found.dropped.values())
    shorter = identities({"one step short": adds_up(chain, "b <= c")})
    assert shorter.verdict is Verdict.REFUTED


# --- expectations -------------------------------------------------------------------------------------------------


def small(net: Network) -> bool:
    return net.N <= 3 and net.m * net.K * net.I <= 3


@pytest.mark.parametrize("net", networks(9, small), ids=range(9))
def test_moments_are_those_of_all_outcomes(net: Network) -> None:
    """The recursion of mean and covariance against every set and sign, through the whole algorithm."""
    states = rounds.path(net)
    last = states[-1]
    assert rounds.change_squared(net, last) == rounds.enumerated(net, lambda _, delta: delta @ delta)

    def about(X: Array) -> Any:
        return sum(sum((X[list(V), 0] - sum(X[list(V), 0]) / F(net.n)) ** 2) for V in net.clusters) / F(net.N)

    def away(X: Array) -> Any:
        return sum((sum(X[list(V), 0]) / F(net.n) - net.x) ** 2 for V in net.clusters) / F(net.K)

    assert rounds.consensus(net, last) == rounds.enumerated(net, lambda X, _: about(X))
    assert rounds.drift(net, last) == rounds.enumerated(net, lambda X, _: away(X))

    def slope(X: Array) -> Any:
        return sum(a * x + c for a, x, c in zip(net.a, X[:, 0], net.c, strict=True)) / F(net.N)

    assert rounds.slopes_at_models(net, last) == rounds.enumerated(net, lambda X, _: slope(X) ** 2)


# --- constants ----------------------------------------------------------------------------------------------------


def test_definiteness_is_that_of_the_eigenvalues() -> None:
    rng = exact.generator()
    for _ in range(60):
        A = exact.rationals(rng, 3, 3, low=-2, high=2, denominators=(1,))
        M = A + A.T
        lowest = np.linalg.eigvalsh(M.astype(float)).min()
        if abs(lowest) > 1e-9:
            assert constants.never_negative(M) == (lowest > 0)
    rank_one = np.outer(exact.vector(1, 2, -1), exact.vector(1, 2, -1))
    assert constants.never_negative(rank_one)
    assert not constants.never_negative(-rank_one)


def test_rho_is_that_of_the_singular_values() -> None:
    for n, order, rho in ((2, (1, 0), F(3, 8)), (3, (1, 2, 0), F(1, 4)), (4, (1, 0, 3, 2), F(7, 8))):
        W = blended_permutation(n, order, rho)
        assert topology.rho(W.astype(float)) == pytest.approx(float(rho))
        assert constants.mixes(W, rho)
        assert not constants.mixes(W, rho - F(1, 10**6))
    ring = topology.lazy(topology.ring(5, EXACT), F(1, 2))  # type: ignore[arg-type]
    assert 0 <= float(constants.least_rho(ring)) - topology.rho(ring.astype(float)) <= 1 / 64


def test_fixed_points_by_rank() -> None:
    for n in (3, 4):
        turn = topology.permutation([*range(1, n), 0], EXACT)
        for W, only in ((turn, True), (topology.alone(n, EXACT), False), (topology.ring(n, EXACT), True)):
            values = np.linalg.eigvals(W.astype(float))
            assert constants.only_consensus_is_fixed(W) == (sum(abs(values - 1) < 1e-9) == 1) == only


@pytest.mark.parametrize("net", [opposed(), two_tilts((2, -1), F(1, 2)), *networks(6)], ids=range(8))
def test_dissimilarity_on_a_grid(net: Network) -> None:
    """The discriminant and the constant variance against values at many points."""
    grid = np.linspace(-60, 60, 4001)
    a, c = np.array(net.a, dtype=float)[:, None], np.array(net.c, dtype=float)[:, None]
    slopes = (a * grid + c).reshape(net.K, net.n, -1)
    centres = slopes.mean(axis=1)
    for k in range(net.K):
        least, seen = constants.dissimilar(net, k), ((slopes[k] - centres[k]) ** 2).mean(axis=0)
        assert np.ptp(seen) > 1 if least is None else seen == pytest.approx(float(least))
    spare = float(net.alpha2) * centres.mean(axis=0) ** 2 + float(net.sigma2_c) - (centres**2).mean(axis=0)
    assert constants.between(net, net.alpha2, net.sigma2_c) == (spare.min() > -1e-9)
    assert constants.largest_slope(net.a) == abs(a).max()


@pytest.mark.parametrize(("name", "net"), BREAKING, ids=[name for name, _ in BREAKING])
def test_networks_by_hand_break_one_assumption(name: str, net: Network) -> None:
    assert [n for n, holds in HOLDS.items() if not holds(net)] == [name]


def test_the_generator_leaves_every_assumption() -> None:
    drawn = networks(400)
    for name, holds in HOLDS.items():
        assert 0 < sum(not holds(net) for net in drawn) < 300, name
    assert sum(all(h(net) for h in HOLDS.values()) for net in drawn) > 40


@pytest.mark.parametrize(
    "f", [constants.Well(F(3), F(1)), constants.Well(F(-2), F(0)), constants.Bump(F(2), F(-1))], ids=str
)
def test_wells_have_their_constants(f: Any) -> None:
    xs = np.linspace(-8, 8, 20001)
    slopes = np.array([float(f.slope(x)) for x in xs])
    assert abs(np.diff(slopes) / np.diff(xs)).max() == pytest.approx(float(f.L), rel=1e-3)
    assert abs(slopes).max() <= float(f.G)
    assert abs(slopes).max() == pytest.approx(float(f.G), rel=1e-3)
    if isinstance(f, constants.Bump):
        values = np.array([float(f.value(x)) for x in xs])
        assert np.gradient(values, xs)[1:-1] == pytest.approx(slopes[1:-1], abs=1e-4)


def test_a_fourth_root_makes_a_third() -> None:
    """Why eq. (27) is read with the fourth root: where it is an equality and all compute, so is a third of eq. (26)."""
    at = Rates(n=2, m=2, I=3, L=F(1), G=F(0), eta=F(1), eta_l=F(1, 108), s=F(1), C_0=F(1))
    left, right = at.sides_26()
    assert 3 * left == right
    assert at.conditions("26", "27")["eq. (27), fourth root of eps, C_1 = 72"]
    longer = Rates(n=2, m=2, I=3, L=F(1), G=F(0), eta=F(1), eta_l=F(1, 107), s=F(1), C_0=F(1))
    assert not longer.conditions("27")["eq. (27), fourth root of eps, C_1 = 72"]
