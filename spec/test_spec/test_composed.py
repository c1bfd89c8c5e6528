"""Servers with other local solvers: by hand, as other rows, refused by name, and told from mistakes by the judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest
from test_mirror.ranked import apart
from test_spec.control_runs import Run

from fedspec.catalogue import CATALOGUE, LocalSolver, Method, find
from fedspec.composed import with_solver
from fedspec.contract import Offer, SubjectInfo
from fedspec.domains import DOMAINS
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.reference import Reference
from fedspec_suite import DoesNotConform, check_subject
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.verdict import Status


@pytest.fixture(autouse=True)
def no_rows_join() -> Iterator[None]:
    with apart():
        yield


CURVES, CENTRES = (1.0, 0.5, 2.0), (1.0, -2.0, 0.5)
STEPS = (3, 1, 2)


PARABOLAS = [lambda k, x, a=a, b=b: a * (x - b) for a, b in zip(CURVES, CENTRES, strict=True)]
"""Clients with F_i(x) = a_i/2 (x - b_i)^2 at one coordinate."""


def rounds(name: str, **numbers: Any) -> float:
    run = Run(name, numbers, PARABOLAS, (2.0, 1.0, 1.0), np.array([0.25]))
    return float(run.rounds([STEPS] * 3)[0])


def test_yogi_clients_under_a_server_with_momentum_by_hand() -> None:
    x, v = 0.25, 0.0
    for _ in range(3):
        delta = 0.0
        for a, b, tau in zip(CURVES, CENTRES, STEPS, strict=True):
            y, m, u = x, 0.0, 0.0625
            for _ in range(tau):
                g = a * (y - b)
                m = 0.5 * m + 0.5 * g
                u = u - 0.25 * g * g * np.sign(u - g * g)
                y = y - 0.125 * m / (sqrt(u) + 0.5)
            delta += (2 if a == CURVES[0] else 1) * (y - x) / 4
        v = 0.75 * v + delta
        x = x + 0.5 * v
    mine = {"eta": 0.5, "beta": 0.75, "eta_l": 0.125, "beta1_l": 0.5, "beta2_l": 0.75, "eps_l": 0.5, "v0_l": 0.0625}
    options = {n: v for n, v in find("fedavgm").defaults().items() if n in ("weights", "momentum", "rated")}
    assert rounds("fedavgm-with-yogi", **mine, **{**options, "weights": "examples"}) == pytest.approx(x, rel=1e-14)


def test_proximal_clients_of_fedavg_are_fedprox() -> None:
    numbers = {"eta_l": 0.25, "eta": 0.5}
    want = rounds("fedprox", **numbers, mu=0.5)
    assert rounds("fedavg-with-proximal-sgd", **numbers, mu_l=0.5) == want != rounds("fedavg", **numbers)


def plain() -> list[str]:
    """Rows whose clients take plain steps and whose servers take any solver; these parabolas say no losses."""
    local = find("fedavg").run.local  # type: ignore[union-attr]
    rows = (row for row in CATALOGUE.values() if isinstance(row.run, Method) and not row.losses)
    return [row.id for row in rows if row.run.local is local]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", plain())
def test_with_sgd_a_server_is_as_it_was(name: str) -> None:
    row = find(name)
    numbers = {n: 1 if n in ("f", "keep", "passes") else 0.25 for n in row.numbers}
    numbers |= {"trim": 0.0} if "trim" in numbers else {}
    assert rounds(f"{name}-with-sgd", **numbers) == rounds(name, **numbers)


def test_every_solver_goes_with_every_server_or_is_refused_by_name() -> None:
    made = 0
    solvers = [row for row in CATALOGUE.values() if isinstance(row.run, LocalSolver)]
    for server in CATALOGUE.values():
        for solver in solvers:
            try:
                row = with_solver(server, solver)
            except ParameterError as refused:
                assert str(refused).startswith("solver: ")
                assert server.id in str(refused) or solver.id in str(refused)
                continue
            made += 1
            assert {f"{n.removesuffix('_l')}_l" for n in solver.numbers} <= {*row.numbers} <= {*DOMAINS}
    assert made > 200


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("scaffold-with-adam", "scaffold has its clients and its server in one function"),
        ("fednova-with-adam", "divides by ||a_i||_1"),
        ("fedavg-with-sm3-ii", "reads the cover of a model"),
        ("fedavg-with-fedadam", "fedadam is no local solver"),
    ],
)
def test_what_does_not_go_together_says_why(name: str, said: str) -> None:
    with pytest.raises(ParameterError, match="solver: ") as refused:
        find(name)
    assert said in str(refused.value)


def test_a_wrong_name_says_which_half() -> None:
    with pytest.raises(UnknownNameError, match="'yoghi'; nearest: yogi"):
        find("fedadam-with-yoghi")


def test_a_row_is_made_once() -> None:
    assert find("fedadam-with-yogi") is find("FedAdam-with-yogi") is CATALOGUE["fedadam-with-yogi"]


class Claiming:
    """The specification as an implementation of a composed row; ``spoil`` changes the hyper-parameters that it uses."""

    def __init__(self, **spoil: float) -> None:
        self.spoil = spoil
        self.info = SubjectInfo("mine", "1", (Offer("fedadam-with-yogi", "round", "reddi-2021"),))

    def start(self, case: Any) -> Any:
        return Reference().start(replace(case, hyper={**case.hyper, **self.spoil}))


def judged(subject: Claiming) -> set[Status]:
    offer = subject.info.offers[0]
    return {o.status for o in judge_offer(InProcess(subject), offer, profile="quick", law="follows-*")}  # type: ignore[arg-type]


def test_the_judge_takes_a_composed_row() -> None:
    assert Status.PASS in (found := judged(Claiming())) and Status.FAIL not in found


@pytest.mark.table(1)
@pytest.mark.parametrize("name", ["beta2_l", "v0_l", "eps_l", "beta1"])
def test_the_judge_notices_a_wrong_number(name: str) -> None:
    assert Status.FAIL in judged(Claiming(**{name: 0.375}))


@pytest.mark.slow
def test_a_wrong_number_gets_its_name() -> None:
    with pytest.raises(DoesNotConform, match=r"beta2_l is fixed at 0\.375"):
        check_subject(Claiming(beta2_l=0.375), law="follows-*")
