"""A layer of length zero: who follows LAMB is not found wrong there, whatever the reading; who does not is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import written

from fedspec.contract import Begin, Case, Event, Gradient, Offer
from fedspec.reference import SUBJECT
from fedspec_properties.layerwise.zero import zero_layers
from fedspec_suite.judge.runner import judge_offer
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Status

pytestmark = pytest.mark.table(1)

OFFERS = [o for o in SUBJECT.info.offers if o.algorithm == "lamb"]


class Session:
    """LAMB with a trust ratio, as packages write it: nothing corrected, or both moments in copies.

    With phi the identity a layer at zero is multiplied by 1 or by 0, or else its step is as long as the rate.
    """

    def __init__(self, case: Case, trust: str) -> None:
        self.h, self.o, self.trust = case.hyper, case.options, trust
        self.begin(case.x0)

    def begin(self, x: Any) -> None:
        self.x = {n: np.array(a) for n, a in x.items()}
        self.m, self.v, self.t = ({n: a * 0 for n, a in x.items()}, {n: a * 0 for n, a in x.items()}, 0)

    def ratio(self, x: Any, q: Any) -> float:
        of_x, of_q = (float(np.sqrt((a * a).sum())) for a in (x, q))
        if not of_q:
            return 0.0
        if self.o["phi"] == "constant":
            return 1 / of_q
        if self.o["phi"] == "clip":
            of_x = min(max(of_x, self.h["phi_m"]), self.h["phi_M"])
        if of_x:
            return of_x / of_q
        return {"one": 1.0, "zero": 0.0}.get(self.trust, 1 / of_q)

    def step(self, event: Event) -> dict[str, Any]:
        if isinstance(event, Begin):
            self.begin(event.x)
            return {"x": dict(self.x)}
        assert isinstance(event, Gradient)
        self.t += 1
        kind, h = next(iter(self.x.values())).dtype.type, self.h
        b1, b2 = kind(h["beta1"]), kind(h["beta2"])
        copies = self.o["bias_correction"] == "moments"
        for n, x in self.x.items():
            self.m[n] = b1 * self.m[n] + (1 - b1) * event.g[n]
            self.v[n] = b2 * self.v[n] + (1 - b2) * event.g[n] ** 2
            m, v = (self.m[n] / (1 - b1**self.t), self.v[n] / (1 - b2**self.t)) if copies else (self.m[n], self.v[n])
            q = m / (np.sqrt(v) + kind(h["eps"])) + kind(h["lam"]) * x
            self.x[n] = x - kind(h["eta_l"]) * kind(self.ratio(x, q)) * q
        return {"x": dict(self.x)}


def local(offer: Offer, trust: str) -> InProcess:
    """A subject made of it."""
    return InProcess(written(replace(offer, intermediates=()), lambda case: Session(case, trust)))


def offer_of(reading: str, phi: str = "") -> Offer:
    options = {"phi": phi} if phi else {}
    return next(o for o in OFFERS if o.reading == reading and dict(o.options) == options)


@pytest.mark.parametrize(
    ("offer", "trust"),
    [
        (offer_of("you-2020"), "zero"),
        (offer_of("ratio-one"), "one"),
        (offer_of("uncorrected"), "zero"),
        (offer_of("you-2020", "constant"), "zero"),
        (offer_of("you-2020", "clip"), "zero"),
    ],
)
def test_who_follows_the_claimed_reading_is_not_found_wrong(offer: Offer, trust: str) -> None:
    subject = local(offer, trust)
    asked = judge_offer(subject, subject.info.offers[0], law="zero-layer", cases=20)
    assert [(o.dtype, o.status) for o in asked] == [("float64", Status.PASS), ("float32", Status.PASS)]


@pytest.mark.parametrize(
    ("reading", "trust"), [("you-2020", "one"), ("you-2020", "length"), ("ratio-one", "zero"), ("ratio-one", "length")]
)
def test_who_does_something_else_is(reading: str, trust: str) -> None:
    subject = local(offer_of(reading), trust)
    asked = judge_offer(subject, subject.info.offers[0], law="zero-layer", cases=20)
    assert {o.status for o in asked} == {Status.FAIL}


@pytest.mark.parametrize("offer", OFFERS, ids=lambda o: " ".join((o.reading, *o.options.values())))
@pytest.mark.parametrize("law", ["unrolled", "zero-layer"])
def test_no_law_of_local_steps_finds_the_specification_wrong_there(law: str, offer: Offer) -> None:
    setting = setting_of(offer, "float64")
    bench, cases = bench_of(SUBJECT, offer, setting), draw_cases(zero_layers(setting), 8, 0)
    assert len(cases) == 8 and all(any(not a.any() for a in s.case.x0.values()) for s in cases)
    for s in cases:
        all_laws()[law].check(bench, s)
