"""Rates, mu, rho and gamma as data of a round: for all who take part, or for each of them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import sympy
import z3
from test_spec.reduction_runs import answers

from fedspec.algorithms import fedavg, fedbuff, fednova, peers, scaffold
from fedspec.algorithms.local import local_sgd, sgd_norm
from fedspec.algorithms.synchronous import run_round
from fedspec.catalogue import CATALOGUE, Method, Program
from fedspec.errors import ContractError, ParameterError, PlanError, UnknownNameError
from fedspec.given import VARYING
from fedspec.plan import Arrival, Exchange, Plan, Setup
from fedspec.readings import Solver
from fedspec.reference import SUBJECT
from fedspec.varying import stepped
from fedspec_proofs.engines.reals import real, term
from fedspec_suite.judge.smoke import plain_scenario
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import setting_of

G = (-1, 2, 4)
LINEAR: Any = [lambda k, x, g=g: x * 0 + g for g in G]
PLAN = Plan((0, 2), (1, 3), (1, 1))


def after(row: str, h: Any, plan: Plan, x: Any = Fraction(0)) -> Any:
    """The model after one round on linear objectives, from x; exact, where numbers are."""
    run = CATALOGUE[row].run
    start: Any = np.array([x], dtype=object)
    if isinstance(run, Method):
        state = run.init(h, start)
        after = run_round(h, state, LINEAR, plan, local=run.local, norm=run.norm, server=run.server).state
        return getattr(after, "x", after)[0]
    assert isinstance(run, Program)
    state = run.init(h, start, Setup((1, 1, 1), {"w": (1,)}))
    return stepped(run.step, h, state, LINEAR, plan)[0].x[0]


def test_a_round_has_its_own_rates_and_the_next_those_of_the_algorithm() -> None:
    h = fedavg.FedAvg(eta_l=1, eta=1)
    assert after("fedavg", h, PLAN) == -Fraction(-1 + 12, 2)
    assert after("fedavg", h, replace(PLAN, hyper={"eta": Fraction(1, 4), "eta_l": Fraction(1, 2)})) == -Fraction(
        11, 16
    )
    assert h == fedavg.FedAvg(eta_l=1, eta=1)


def test_each_client_has_its_own_rate() -> None:
    plan = replace(PLAN, hyper={"eta_l": (Fraction(1, 2), Fraction(1, 3))})
    for row, h in (("fedavg", fedavg.FedAvg(eta_l=7, eta=1)), ("scaffold", scaffold.Scaffold(eta_l=7, eta=1))):
        assert after(row, h, plan) == -Fraction(-Fraction(1, 2) + 4, 2)


def test_the_norm_of_fednova_is_that_of_the_clients_own_momentum() -> None:
    """By hand: after one step ||a|| = 1; after three with momentum 1/2 it is 1 + 3/2 + 7/4."""
    h = fednova.FedNova(eta_l=1, rho=0, solver=Solver.MOMENTUM)
    plan = replace(PLAN, hyper={"rho": (Fraction(1, 4), Fraction(1, 2))})
    norms = 1, 1 + Fraction(3, 2) + Fraction(7, 4)
    assert after("fednova", h, plan) == -Fraction(sum(norms), 2) * Fraction(-1 + 4, 2)


def test_the_norm_of_fednova_is_that_of_the_clients_own_decay() -> None:
    h = fednova.FedNova(eta_l=1, gamma=1, solver=Solver.DECAYED)
    plan = replace(PLAN, hyper={"gamma": (Fraction(1, 4), Fraction(1, 2))})
    assert after("fednova", h, plan) == -Fraction(1 + 1 + Fraction(1, 2) + Fraction(1, 4), 2) * Fraction(3, 2)


def test_a_control_variate_forgets_at_which_rate_it_was_made() -> None:
    """On a linear objective c_i is the gradient, whatever the rate; option II divides by the client's own."""
    h, start = scaffold.Scaffold(eta_l=9, eta=1), np.array([Fraction(0)])
    state: Any = scaffold.init(h, start, Setup((1, 1, 1), {"w": (1,)}))
    plan = replace(PLAN, hyper={"eta_l": (Fraction(1, 5), Fraction(1, 7))})
    state, _ = stepped(scaffold.step, h, state, LINEAR, plan)
    assert state.c_i[:, 0].tolist() == [-1, 0, 4]


def test_symbols_pass_a_round_of_own_rates() -> None:
    a, b, x = sympy.symbols("a b x")
    found = after("fedavg", fedavg.FedAvg(eta_l=1, eta=1), replace(PLAN, hyper={"eta_l": (a, b)}), x)
    assert sympy.expand(found - (x - (-a + 12 * b) / 2)) == 0


def test_smt_reals_pass_a_round_of_own_rates() -> None:
    a, b, x = map(real, "abx")
    found = after("fedavg", fedavg.FedAvg(eta_l=1, eta=1), replace(PLAN, hyper={"eta_l": (a, b)}), x)
    solver = z3.Solver()
    solver.add(term(found) != term(x - (-a + 12 * b) / 2))
    assert solver.check() == z3.unsat


def test_late_updates_have_the_rates_that_they_were_begun_with() -> None:
    h, start = fedbuff.FedBuff(buffer=2, eta_l=1, eta=1), np.array([Fraction(0)])
    state: Any = fedbuff.init(h, start, Setup((1, 1, 1), {"w": (1,)}))
    first = Arrival(0, 1, 0, {"eta_l": Fraction(1, 2), "eta": 5})
    last = Arrival(1, 2, 0, {"eta_l": Fraction(1, 3), "eta": 6})
    wanted = 6 * (Fraction(1, 2) - Fraction(4, 3)) / 2
    together, _ = stepped(fedbuff.step, h, state, LINEAR, first, last)
    assert together.x[0] == wanted
    for arrival in (first, last):
        state, _ = stepped(fedbuff.step, h, state, LINEAR, arrival)
    assert state.x[0] == wanted


def test_a_round_of_gossip_has_one_rate() -> None:
    X, W = np.array([Fraction(0)] * 3), np.eye(3, dtype=int) + Fraction(0)
    h = peers.Dsgd(eta_l=1)
    state = peers.init(h, X, Setup((1, 1, 1), {"w": (1,)}))
    state, _ = stepped(peers.dsgd, h, state, LINEAR, Exchange((), ((0, 1, 2),), W, hyper={"eta_l": Fraction(1, 2)}))
    assert state.x.tolist() == [Fraction(1, 2), -1, -2]
    with pytest.raises(PlanError, match=r"hyper.eta_l: got one for each client, but this event takes one"):
        Exchange((), ((0, 1, 2),), W, hyper={"eta_l": (1, 1, 1)})


@pytest.mark.parametrize(
    ("hyper", "error", "words"),
    [
        ({"beta1": 0.5}, PlanError, r"hyper.beta1: an event may override only eta, eta_l, mu, rho, gamma"),
        ({"eta": (1.0, 1.0)}, PlanError, r"hyper.eta: got one for each client, but it is the server learning rate"),
        ({"eta_l": (1.0,)}, PlanError, r"hyper.eta_l: 1 numbers for 2 participants"),
        ({"eta_l": (1.0, -1.0)}, ParameterError, r"participant 1: eta_l: got -1.0"),
        ({"eta_l": (1.0, float("nan"))}, ParameterError, r"participant 1: eta_l: got nan"),
        ({"eta_l": "0.1"}, ParameterError, r"eta_l: got '0.1'"),
        ({"rho": 1.0}, ParameterError, r"rho: got 1.0"),
    ],
)
def test_a_plan_refuses_what_is_none(hyper: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        replace(PLAN, hyper=hyper)


def test_a_record_refuses_what_it_does_not_have_or_does_not_read() -> None:
    with pytest.raises(UnknownNameError, match=r"hyper.mu: FedAvg has no such hyper-parameter"):
        after("fedavg", fedavg.FedAvg(eta_l=1, eta=1), replace(PLAN, hyper={"mu": 1}))
    with pytest.raises(ParameterError, match=r"rho: got 1/2, which plays no part under solver=sgd"):
        after("fednova", fednova.FedNova(eta_l=1), replace(PLAN, hyper={"rho": (Fraction(1, 2), 0)}))


@pytest.mark.parametrize(
    ("row", "name"), [("fednova", "eta_l"), ("fednova-solvers", "eta_l"), ("vrl-sgd", "eta_l"), ("feddyn", "mu")]
)
def test_what_the_server_reads_too_is_one_for_all(row: str, name: str) -> None:
    s = scene(row)
    one, each = (saying(s, {name: 0.5}, each=e).events[0] for e in (False, True))
    SUBJECT.start(s.case).step(one)
    with pytest.raises(
        ParameterError, match=rf"hyper.{name}: got one for each client, but the server reads {name} too"
    ):
        SUBJECT.start(s.case).step(each)


def test_a_step_called_by_itself_does_not_overlook_the_rates_of_each_client() -> None:
    plan, h = replace(PLAN, hyper={"eta_l": (1, 2)}), scaffold.Scaffold(eta_l=1, eta=1)
    state = scaffold.init(h, np.zeros(1), Setup((1, 1, 1), {"w": (1,)}))
    with pytest.raises(PlanError, match=r"call fedspec.varying.stepped"):
        scaffold.step(h, state, LINEAR, plan)


def test_a_population_that_has_all_do_one_thing_is_refused_what_is_one_for_each() -> None:
    class Together:
        def __len__(self) -> int:
            return 3

    plan, h = replace(PLAN, hyper={"eta_l": (1, 2)}), fedavg.FedAvg(eta_l=1, eta=1)
    everyone: Any = Together()
    with pytest.raises(PlanError, match=r"but a Together runs one function for all"):
        run_round(h, np.zeros(1), everyone, plan, local=local_sgd, norm=sgd_norm, server=fedavg.server)


def test_a_server_refuses_the_rates_of_clients() -> None:
    s = scene("fedavg", "server")
    with pytest.raises(ContractError, match=r"event.hyper.eta_l: the server of fedavg reads only eta"):
        SUBJECT.start(s.case).step(saying(s, {"eta_l": 0.5}).events[0])


def scene(row: str, level: str = "round") -> Scenario:
    """The plainest case of a row; of FedNova's solvers two that together read mu, rho and gamma."""
    offers = (o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (row, level))
    s = plain_scenario(setting_of(next(offers)))
    if row == "fednova-solvers":
        kinds = ("decayed", "momentum-proximal-outside")
        rounds: Any = s.events
        s = replace(s, events=tuple(replace(e, strategies=kinds[-len(e.steps) :]) for e in rounds))
    return s


ROWS = [(a.id, level) for a in CATALOGUE.values() for level in a.levels if level != "client"]


@pytest.mark.table(20)
@pytest.mark.parametrize(("row", "level"), ROWS)
def test_what_every_event_says_is_what_a_case_says_once(row: str, level: str) -> None:
    """Vary every number of every row, for all and, if no server reads it, for each client."""
    s = scene(row, level)
    offer = next(o for o in SUBJECT.info.offers if (o.algorithm, o.level) == (row, level))
    for name in {*VARYING} & {*setting_of(offer).numbers}:
        value = 0.375 * s.case.hyper[name]
        want = answers(with_hyper(s, **{name: value}))
        # One mu for all rounds cancels from what FedDyn's server does.
        assert not np.array_equal(want, answers(s)) or (row, level) == ("feddyn", "server"), name
        assert np.array_equal(want, answers(saying(s, {name: value}))), name
        if level == "round" and name != "eta":
            try:
                got = answers(saying(s, {name: value}, each=True))
            except ParameterError as error:
                assert "but the server reads" in str(error)
            else:
                assert np.array_equal(want, got), name


def saying(s: Scenario, hyper: Any, each: bool = False) -> Scenario:
    def told(e: Any) -> Any:
        return replace(e, hyper={n: (v,) * len(e.steps) if each else v for n, v in hyper.items()})

    return replace(s, events=tuple(map(told, s.events)))
