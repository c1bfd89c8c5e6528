"""The claims of the client-centric paper are about the rules, and their clients' constants are what they seem."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fedspec.arith import Scalar, Vector
from fedspec.readings import Normalise
from fedspec.server.client_centric import Moments
from fedspec_proofs.chain import run_evidence
from fedspec_proofs.claim import Claim, Verdict
from fedspec_proofs.client_centric.claims import (
    algorithms,
    appendix_a,
    corollary,
    descent,
    momentum,
    momentum_sums,
    remarks,
    roots,
    starts,
    telescoping,
    theorem,
)
from fedspec_proofs.client_centric.claims.theorem import swings, two_clients
from fedspec_proofs.client_centric.kit import family, runs, steps
from fedspec_proofs.client_centric.kit.problems import Clients, flat, huber, through
from fedspec_proofs.client_centric.kit.regimes import as_corrected, corrected_terms, printed
from fedspec_proofs.client_centric.kit.runs import mean_gradient, measure
from fedspec_proofs.engines import all_proved, all_refuted, by_hand, exact

pytestmark = pytest.mark.long

Rule = Callable[..., Any]


def _outcome(claim: Claim) -> Verdict | None:
    """The verdict, or None if the claim raises."""
    try:
        return run_evidence(claim).verdict
    except (ArithmeticError, AssertionError, ValueError):
        return None


def _falls_with(monkeypatch: pytest.MonkeyPatch, module: Any, name: str, other: Rule, *claims: Claim) -> None:
    monkeypatch.setattr(module, name, other)
    for claim in claims:
        assert _outcome(claim) is not claim.verdict, claim.id


def _undivided(x: Vector, x_mu: Vector, *, steps: int, normalise: Normalise = Normalise.PER_STEP) -> Vector:
    return x - x_mu


def test_clients_that_do_not_divide(monkeypatch: pytest.MonkeyPatch) -> None:
    _falls_with(monkeypatch, algorithms, "local_change", _undivided, algorithms.local)
    _falls_with(monkeypatch, appendix_a, "local_change", _undivided, appendix_a.debiased_repaired)


@pytest.mark.slow
def test_a_server_whose_momentum_is_a_sum(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = momentum.averaged_momentum

    def heavy(state: Any, delta: Vector, *, eta: Scalar, beta: Scalar) -> Any:
        return rule(state, delta / (1 - beta), eta=eta, beta=beta)

    for module in (momentum, momentum_sums, descent):
        monkeypatch.setattr(module, "averaged_momentum", heavy)
    for claim in (momentum.sums, momentum_sums.squares, descent.bounds):
        assert _outcome(claim) is not claim.verdict, claim.id


@pytest.mark.slow
def test_an_adagrad_that_forgets(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = steps.cc_adagrad

    def forgetful(state: Moments, delta: Vector, **hyper: Any) -> Moments:
        return rule(replace(state, v=state.v / 2), delta, **hyper)

    _falls_with(
        monkeypatch,
        steps,
        "cc_adagrad",
        forgetful,
        telescoping.telescoping,
        roots.a_5_roots,
        starts.between,
        appendix_a.moves,
    )


@pytest.mark.slow
def test_an_amsgrad_without_its_maximum(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = steps.cc_ams

    def adam(state: Any, delta: Vector, **hyper: Any) -> Any:
        after = rule(state, delta, **hyper)
        return replace(after, v_hat=after.v)

    _falls_with(monkeypatch, steps, "cc_ams", adam, telescoping.telescoping, roots.a_5_roots, roots.footnote_3_repaired)


def test_an_adam_that_does_not_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(state: Moments, delta: Vector, *, beta2: Scalar, **hyper: Any) -> Moments:
        return steps.cc_adagrad(state, delta, **hyper)

    _falls_with(monkeypatch, steps, "cc_adam", never, roots.footnote_3)


@pytest.mark.night
def test_a_draw_that_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """If every client answers with the mean gradient, the refuted theorem and corollary are not refuted any more."""
    for module, name in ((runs, "cc_fedadagrad"), (runs, "cc_fedams")):
        rule = getattr(module, name)

        def everybody(h: Any, state: Any, clients: Any, arrival: Any, rule: Rule = rule) -> Any:
            def average(k: int, x: Vector) -> Vector:
                return sum(c(k, x) for c in clients) / len(clients)

            return rule(h, state, [average] * len(clients), arrival)

        monkeypatch.setattr(module, name, everybody)
    for claim in (theorem.theorem, corollary.rate, remarks.speedup):
        assert _outcome(claim) is not Verdict.REFUTED, claim.id


def test_the_theorem_fails_where_clients_take_part_independently() -> None:
    """By hand: one of two clients alone, with chance 1/2, moves x_0 = 0 by 50/1001, where f' is x; else it stays."""
    evidence = run_evidence(theorem.theorem).evidence
    left = Fraction(1, 2) * Fraction(1, 2) * Fraction(50, 1001) ** 2
    assert left == Fraction(625, 1002001)
    assert f"left side 0.000623752 ({left}), right side 0.00024 (3/12500)" in evidence
    assert "each client is in with probability m/n" in evidence and "independently of the other" in evidence


def test_the_theorem_s_two_sides_by_hand() -> None:
    """x_1 = eta eta_l / (eta_l + eps) either way; only the 240 eta_l^2 term is left on the right."""
    r = two_clients(0, Fraction(1, 1000))
    left, spread = measure(r, exact=True)
    assert left == (Fraction(50, 1000) / (1 + Fraction(1, 1000))) ** 2 / 2
    assert spread == 1
    assert printed(r) == 240 * r.eta_l**2
    assert corrected_terms(r, spread)["drawing"] > 0
    assert measure(replace(r, m=2), exact=True)[0] == 0


def test_the_run_in_floating_point_is_the_exact_one() -> None:
    r = two_clients(0, Fraction(1, 1000))
    r = replace(r, clients=Clients(r.clients.slopes, Fraction(1, 2)), steps=((2, 1), (1, 2)))
    near, spread = measure(r, exact=False)
    far, wide = measure(r, exact=True)
    assert near == pytest.approx(float(far), rel=1e-12)
    assert spread == pytest.approx(float(wide), rel=1e-12)


def test_the_spread_against_every_pair_of_draws() -> None:
    """E (1/n) sum |v_i - mean|^2 by enumerating both clients' noise at once, not client by client."""
    r = two_clients(0, Fraction(1, 1000))
    dip = through((Fraction(-1), Fraction(1)), (Fraction(1), Fraction(-1)))
    r = replace(
        r, clients=Clients(((dip,), (huber(-1, 2),)), Fraction(1)), eta_l=Fraction(1, 4), steps=((2, 2), (2, 2))
    )
    h = type("Rate", (), {"eta_l": r.eta_l})()
    total, draws = Fraction(0), [(a, b) for a in (1, -1) for b in (1, -1)]
    for one in draws:
        for two in draws:
            v = [mean_gradient(h, r.clients, i, r.x0, 2, noise)[0] for i, noise in enumerate((one, two))]
            total += ((v[0] - v[1]) / 2) ** 2
    first = replace(r, steps=((2, 2),), delays=((0, 0),))
    assert measure(first, exact=True)[1] == total / 16


KINKED = through((Fraction(-2), Fraction(1)), (Fraction(0), Fraction(-1)), (Fraction(1), Fraction(2)))


def test_variances_and_the_gap_on_a_grid() -> None:
    clients = Clients(((huber(1, 2), KINKED), (flat(-1), huber(0, 1)), (KINKED, huber(-1, 3))))
    grid = [Fraction(k, 4) for k in range(-24, 25)]
    points = [np.array([x, y], dtype=object) for x in grid for y in grid]
    means = max(sum(clients.deviations(p), Fraction(0)) / 3 for p in points)
    assert means == clients.global_variance
    assert max(max(clients.deviations(p)) for p in points) <= clients.per_client_variance
    one = Clients(((huber(0, 2),), (KINKED,)))
    assert one.bounded_below
    assert not Clients(((flat(1),),)).bounded_below
    x = np.array([Fraction(3)], dtype=object)
    fine = [Fraction(k, 64) for k in range(-64 * 4, 64 * 3 + 1)]
    # The mean of the derivative at midpoints is exact where it is linear, and the kinks are multiples of 1/64.
    heights, f = [Fraction(0)], Fraction(0)
    for a, b in pairwise(fine):
        f += (b - a) * one.gradient(np.array([(a + b) / 2], dtype=object))[0]
        heights.append(f)
    assert 0 <= one.gap(x) - (heights[-1] - min(heights)) <= Fraction(1, 64**2)


def test_findings_put_together() -> None:
    refuted, proved = roots.footnote_3.body(), algorithms.objective.body()
    assert all_refuted(refuted, refuted).verdict is Verdict.REFUTED
    assert all_refuted(refuted, proved).verdict is Verdict.UNKNOWN
    assert all_proved({"one": proved, "other": refuted}).verdict is Verdict.REFUTED
    both = all_proved({"one": proved, "again": proved})
    assert both.verdict is Verdict.PROVED and both.second is not None and proved.second is not None
    assert both.second.instances == 2 * proved.second.instances
    assert both.dropped.keys() == proved.dropped.keys()


def test_an_instance_by_hand_must_break_that_assumption_alone() -> None:
    words, r = swings()
    inequality = as_corrected()
    assert by_hand(inequality, "B", words, r).matters
    assert not by_hand(inequality, "start", words, r).matters
    assert not by_hand(inequality, "B", "delays beyond tau as well", replace(r, delays=((1, 1),) * r.T)).matters


def test_the_schedule_s_bounds_enclose_its_moments() -> None:
    schedule = family.Schedule(4, 4096)
    assert schedule.agrees()
    assert schedule.spread == measure(schedule.regime, exact=True)[1]
    low, high = schedule.bounds()
    a = schedule.recursion()
    rho, noise = a.M[0, 0], a.N[0, 0]
    s = noise**2 / (1 - rho**2)
    exact_mean = s * (1 - (1 - rho ** (2 * schedule.T)) / (schedule.T * (1 - rho**2)))
    assert low <= exact_mean <= high
    assert all(schedule.conditions.values())


def test_the_bound_for_adagrad_lies_below_every_draw() -> None:
    """Six rounds of the run itself, both starts, against the lower bound; which is no empty one."""
    schedule = family.Schedule(4, 4096)
    assert schedule.stays()
    for v0 in (Fraction(0), family.EPS**2):
        r = schedule.regime
        r = replace(r, server="adagrad", v0=v0, steps=r.steps[:1] * 6, delays=r.delays[:1] * 6)
        near = measure(r, exact=False)[0]
        below = float(schedule.adagrad(v0, 6))
        assert 0.2 * near < below <= near
        assert 0 < schedule.adagrad(v0) < schedule.bounds()[1] * 2


def test_the_lower_bound_for_every_member_is_one() -> None:
    for j in (1, 2, 3):
        schedule = family.Schedule(4**j, 4 * 4 ** (5 * j))
        quotient = schedule.bounds()[0] * schedule.eta / schedule.eta_l
        assert Fraction(schedule.K, 10) <= schedule.least <= quotient


def test_refuted_runs_do_not_hang_on_rounding() -> None:
    """Both sides of the theorem's refutation are fractions."""
    r = two_clients(0, Fraction(1, 1000))
    assert isinstance(measure(r, exact=True)[0], Fraction) and isinstance(printed(r), Fraction)
    assert exact.vector("1/3")[0] == Fraction(1, 3)
