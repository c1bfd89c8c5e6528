"""Right subjects are not found wrong: the specification where its numbers cancel, and a sample of ``make soak``."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from fedspec.arith import digits
from fedspec.contract import Blocks, ClientMessage, Gradient, Level, Messages, Offer
from fedspec.facts import Fact
from fedspec.mixing.accumulation import a_norm
from fedspec.readings import Solver
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.closed_form_rounding import make_room
from fedspec_suite.measure.function_copies import copy_parts
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.running_error import RUNNING
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Status, Undecided
from fedspec_suite.mutants import Mutant, Mutated

pytestmark = pytest.mark.table(1)

FOLLOWS = [law for law in LAWS.values() if law.reads_rule and law.id != "follows-tie"]
"""Laws that take any scenario: a tie is a scenario of its own."""


def offers(*levels: Level) -> list[Offer]:
    """Offers of the specification at some levels."""
    return [o for o in SUBJECT.info.offers if o.level in levels]


def name(offer: Offer) -> str:
    """As a test's id."""
    return "-".join((offer.algorithm, offer.level, offer.reading, *offer.options.values()))


def cancelling(s: Scenario, level: Level, setting: Setting) -> Scenario:
    """Changes whose mean is zero, by weights that are not exact in binary; gradients that are zero after others."""
    dtype = s.case.dtype
    if level == "client":
        zero = Gradient({"w": np.array([0.0, -2.0], dtype=dtype)})
        return Scenario(s.case, (zero, *s.events, zero))
    three = [[-1.5, 0.0], [1.0, -0.625], [-0.125, 0.25]], (1, 2, 4)
    two = [[2.75, 1.0], [-0.6875, -0.25]], (1, 4)
    rounds = tuple(
        Messages(tuple(sent(i, {"w": np.array(c, dtype=dtype)}, w, setting) for i, (c, w) in enumerate(each)))
        for each in (zip(*three, strict=True), zip(*two, strict=True))
    )
    return Scenario(s.case, (*rounds, *s.events, *rounds))


def sent(client: int, delta: Blocks, weight: int, setting: Setting) -> ClientMessage:
    """Two steps of SGD; the change of the control variate, where there is one, cancels like that of the model."""
    control, loss = delta if setting.controls else None, 1.0 if setting.losses else None
    return ClientMessage(client, delta, weight, 2, 2, control, loss)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("offer", offers("server", "client"), ids=name)
def test_what_cancels_is_not_found_wrong(offer: Offer, dtype: str) -> None:
    setting = setting_of(offer, dtype)
    bench = bench_of(InProcess(SUBJECT), offer, setting)
    s, decided = cancelling(plain_scenario(setting), offer.level, setting), 0
    for law in FOLLOWS:
        if not law.why_not(setting, offer.intermediates, concurrent=True):
            try:
                law.check(bench, s)
                decided += 1
            except Undecided:
                pass
    # Changes that cancel are equally far from each other: which of them is elected is nobody's to decide.
    assert decided or setting.algorithm.has(Fact.ELECTING)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(0, len(SUBJECT.info.offers), 74))
def test_a_sample_of_the_soak_is_clean(number: int) -> None:
    offer = SUBJECT.info.offers[number]
    obligations = judge_offer(InProcess(SUBJECT), offer, cases=4, seed=number + 1)
    assert not [o for o in obligations if o.status not in {Status.PASS, Status.SKIP}]


def test_zero_changes_of_uneven_clients_do_not_fail_afga() -> None:
    offer = next(o for o in offers("server") if name(o) == "fedamsgrad-server-afga-examples")
    obligations = judge_offer(InProcess(SUBJECT), offer, profile="full", law="follows-v")
    assert [o.status for o in obligations] == [Status.PASS, Status.PASS]


PRINTED = {
    "fednova-alg2": (
        "momentum_norm",
        "return a_norm(Solver.MOMENTUM, tau, rho=rho)",
        "return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)",
    ),
    "fednova": (
        "a_norm",
        "return sum(accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
        "return (tau - rho * (1 - rho**tau) / (1 - rho)) / (1 - rho)",
    ),
}


@pytest.mark.parametrize("algorithm", PRINTED)
def test_who_writes_down_the_printed_norm_is_right(algorithm: str) -> None:
    """With rho = 0.999 it cancels, which the specification's sum does not."""
    rule, old, new = PRINTED[algorithm]
    flaw = Mutant(
        id="printed", words="", algorithms=(algorithm,), rule=f"fedspec.mixing.accumulation.{rule}", old=old, new=new
    )
    subject = Mutated(flaw)
    of_momentum = [o for o in subject.info.offers if o.options.get("solver", "momentum") == "momentum"]
    (offer, *_) = [o for o in of_momentum if o.level == "round"]
    for law in ("follows-tau-eff", "follows-x", "far-numbers"):
        found = judge_offer(InProcess(subject), offer, profile="quick", law=law)
        assert {o.status for o in found} == {Status.PASS}, found


def test_who_moves_a_moment_by_a_share_of_its_distance_is_right() -> None:
    """With beta2 = 0 that takes the old moment away, and rounds with it."""
    flaw = Mutant(
        id="distance",
        words="",
        algorithms=("adam",),
        rule="fedspec.client.adam.adam",
        old="v = beta2 * state.v + (1 - beta2) * g**2",
        new="v = state.v + (1 - beta2) * (g**2 - state.v)",
    )
    subject = Mutated(flaw)
    for law in ("follows-v", "follows-x", "far-numbers"):
        found = judge_offer(InProcess(subject), subject.info.offers[0], profile="quick", law=law)
        assert {o.status for o in found} == {Status.PASS}, found


def test_a_decay_of_zero_is_known_to_a_rounding_of_one() -> None:
    number = RUNNING["float64"]
    beta, old, new = number(0).near(1.0), number(1), number(Decimal("1e-20"))
    v = beta * old + (1 - beta) * new
    assert v.nonnegative and v.value == new.value and 1 <= v.bound < 3


def test_the_room_for_closed_forms_is_small_where_they_do_not_cancel() -> None:
    """At rho = 0.5 a norm that is off in its twelfth digit is found wrong."""
    s = Decimal("0.5")
    function: Any = a_norm
    roomy = copy_parts([function], make_room).of(function)
    with digits():
        rho = RUNNING["float64"](s)
        total = roomy(Solver.MOMENTUM, 7, rho=rho)
        near = roomy(Solver.MOMENTUM, 7, rho=RUNNING["float64"](Decimal("0.999")))
    assert 30 * 2.0**-52 * total.bound < 1e-12 * total.size < 1e-12 * near.bound
