"""One solver that serves all clients: what it should begin anew goes on from client to client, and is named so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from test_judge.test_remembered import names

from fedspec.arith import Array
from fedspec.contract import Case, Event, Offer, Round, SubjectInfo
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of

pytestmark = [pytest.mark.slow, pytest.mark.table(1)]

OPTIONS = {"server": "adam", "client": "adam"}
OFFER = Offer("joint-local", "round", "fedada2", OPTIONS, intermediates=("delta",), dtypes=("float64",))
FIELDS = ("m", "v", "t")


class JointLocal:
    """Adam on both sides, written out."""

    def __init__(self, case: Case, kept: tuple[str, ...], ever: bool) -> None:
        assert case.problem
        self.h, self.H, self.e, self.kept, self.ever = case.hyper, case.problem.H, case.problem.e, kept, ever
        ((self.block, x),) = case.x0.items()
        self.x, self.m, self.v = x, np.zeros_like(x), np.full_like(x, case.hyper["v0"])
        self.solver: dict[str, Any] = {"m": 0 * x, "v": 0 * x, "t": 0}

    def change(self, i: int, steps: int) -> Array:
        """What one client changes, with the solver as the one before left it, but for what is begun anew."""
        h, x = self.h, self.x
        own = {"m": 0 * x, "v": 0 * x, "t": 0} | {n: self.solver[n] for n in self.kept}
        for k in range(1, steps + 1):
            g, own["t"] = self.H[i] @ x - self.e[i], own["t"] + 1
            for n, beta, new in (("m", h["beta1_l"], g), ("v", h["beta2_l"], g**2)):
                own[n] = beta * own[n] + (1 - beta) * new
            m, v = own["m"] / (1 - h["beta1_l"] ** own["t"]), own["v"] / (1 - h["beta2_l"] ** own["t"])
            x = x - h["eta_l"] * min(1, k / h["warm_up"]) * m / (np.sqrt(v) + h["eps"])
        self.solver = own
        return x - self.x

    def step(self, event: Event) -> Mapping[str, Any]:
        assert isinstance(event, Round)
        h = self.h
        if not self.ever:
            self.solver = {"m": 0 * self.x, "v": 0 * self.x, "t": 0}
        delta = np.mean([self.change(i, k) for i, k in zip(event.participants, event.steps, strict=True)], axis=0)
        self.m = h["beta1"] * self.m + (1 - h["beta1"]) * delta
        self.v = h["beta2"] * self.v + (1 - h["beta2"]) * delta**2
        self.x = self.x + h["eta"] * self.m / (np.sqrt(self.v) + h["tau"])
        return {"x": {self.block: self.x}, "delta": {self.block: delta}}


@pytest.mark.parametrize(
    ("kept", "ever", "said"),
    [
        (("t",), True, "the count of steps of a client's solver goes on from client to client"),
        (FIELDS, False, "what a client's solver keeps goes on from client to client, anew in every round"),
    ],
)
def test_what_goes_on_from_client_to_client_is_named(kept: tuple[str, ...], ever: bool, said: str) -> None:
    class Subject:
        info = SubjectInfo("one solver", "1", (OFFER,))

        def start(self, case: Case) -> JointLocal:
            return JointLocal(case, kept, ever)

    setting = setting_of(OFFER)
    with np.errstate(all="ignore"):
        d = identify(bench_of(Inside(Subject()), OFFER, setting), setting)
    assert names(d)[0] == said


def test_begun_anew_it_is_right() -> None:
    class Subject:
        info = SubjectInfo("own solvers", "1", (OFFER,))

        def start(self, case: Case) -> JointLocal:
            return JointLocal(case, (), True)

    setting = setting_of(OFFER)
    assert identify(bench_of(Inside(Subject()), OFFER, setting), setting).follows
