"""Ties of v and the new change's square: a right subject is not found wrong, however it computes; a wrong one is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written

from fedspec.contract import Case, Event, Messages, Offer
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status

YOGIS = (("fedyogi", "reddi-2021"), ("fednova-adaptive", "yogi"))
OFFERS = [next(o for o in SUBJECT.info.offers if (o.algorithm, o.reading) == named) for named in YOGIS]
OFFER = OFFERS[0]
Update = Callable[[Any, Any, Any], Any]


class Session:
    """FedYogi as a server writes it that receives models, in the type of the case; FedNova's changes if asked."""

    def __init__(self, case: Case, update: Update) -> None:
        self.x, self.h, self.update = dict(case.x0), case.hyper, update
        self.nova = case.algorithm == "fednova-adaptive"
        self.m = {n: a * 0 for n, a in self.x.items()}
        self.v = {n: np.full_like(a, self.h["v0"]) for n, a in self.x.items()}

    def step(self, event: Event) -> dict[str, Any]:
        assert isinstance(event, Messages)
        n = sum(m.weight for m in event.messages)
        beta1, beta2, dtype = self.h["beta1"], self.h["beta2"], next(iter(self.x.values())).dtype.type
        for name, x in self.x.items():
            if self.nova:
                parts = [(dtype(m.weight) / dtype(n), dtype(m.a_norm), m.delta[name]) for m in event.messages]
                delta = sum(p * a for p, a, _ in parts) * sum(p * d / a for p, a, d in parts)
            else:
                models = sum((x + m.delta[name]) * dtype(m.weight) for m in event.messages) / dtype(n)
                delta = models - x
            self.m[name] = dtype(beta1) * self.m[name] + dtype(1 - beta1) * delta
            self.v[name] = self.update(self.v[name], delta, dtype(1 - beta2))
            self.x[name] = x + dtype(self.h["eta"]) * self.m[name] / (np.sqrt(self.v[name]) + dtype(self.h["tau"]))
        return {"x": dict(self.x)}


UPDATES: dict[str, tuple[Update, bool]] = {
    "as printed": (lambda v, d, c: v - c * d**2 * np.sign(v - d**2), True),
    "by branches": (lambda v, d, c: v + c * (np.where(d * d > v, d * d, 0) - np.where(d * d < v, d * d, 0)), True),
    "the product first": (lambda v, d, c: v + np.sign(d * d - v) * (d * (c * d)), True),
    "up at a tie": (lambda v, d, c: v - c * d**2 * np.where(v > d**2, 1, -1).astype(v.dtype), False),
    "down at a tie": (lambda v, d, c: v - c * d**2 * np.where(v < d**2, -1, 1).astype(v.dtype), False),
}


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.algorithm)
@pytest.mark.parametrize(("update", "right"), UPDATES.values(), ids=UPDATES)
def test_a_tie_tells_who_is_right(update: Update, right: bool, offer: Offer) -> None:
    subject = InProcess(written(replace(offer, intermediates=()), lambda case: Session(case, update)))
    asked = judge_offer(subject, subject.info.offers[0], law="*tie*", cases=40)
    assert [o.dtype for o in asked] == ["float64", "float64", "float32", "float32"]
    assert {o.status for o in asked} == {Status.PASS if right else Status.FAIL}


@pytest.mark.parametrize(
    ("fixed", "asked"), [({"v0": 0.0}, False), ({"v0": 1e-6}, False), ({"tau": 1e-3}, False), ({"tau": 0.25}, True)]
)
def test_it_is_asked_where_the_square_is_exact(fixed: dict[str, float], asked: bool) -> None:
    setting = setting_of(replace(OFFER, fixed=fixed))
    assert all_laws()["tie-stays"].applies(setting).asked is asked
