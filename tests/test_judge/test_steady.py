"""Where rounding leaves much of a rule's numbers open, who computes the same is still told to be what it claims."""

from __future__ import annotations

from typing import Any

import numpy as np

from fedspec.contract import Answer, Case, Event, Offer, Round, SubjectInfo
from fedspec.params import flatten, unflatten
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of

LEVELS = 16
OFFER = Offer("fedpaq", "round", "qsgd", fixed={"levels": float(LEVELS)}, dtypes=("float32",))


class Floors:
    """FedPAQ whose quantiser takes the level below, and one more where the draw is less than what is left."""

    info = SubjectInfo("floors", "1", (OFFER,))

    def __init__(self, drawn: bool = True) -> None:
        self.drawn = drawn

    def start(self, case: Case) -> Floors:
        assert case.problem
        self.h, self.x0, self.x = case.hyper, case.x0, flatten(case.x0)
        self.H, self.e = (np.asarray(a, dtype=self.x.dtype) for a in (case.problem.H, case.problem.e))
        return self

    def step(self, event: Event) -> Answer:
        assert isinstance(event, Round)
        sent = [self.sent(*of) for of in zip(event.participants, event.steps, event.draws, strict=True)]
        self.x = (self.x + np.mean(sent, axis=0)).astype(self.x.dtype)
        return {"x": unflatten(self.x, self.x0)}

    def sent(self, i: int, tau: int, draws: Any) -> Any:
        y = self.x
        for _ in range(tau):
            y = y - self.h["eta_l"] * (self.H[i] @ y - self.e[i])
        v = (y - self.x).astype(self.x.dtype)
        length = np.linalg.norm(v)
        a = LEVELS * np.abs(v) / (length or 1)
        draw = np.asarray(draws if self.drawn else 0.5, v.dtype)
        return length * np.sign(v) * (np.floor(a) + (draw < a - np.floor(a))) / LEVELS


def test_levels_that_rounding_leaves_open_hide_nobody() -> None:
    setting = setting_of(OFFER)
    assert identify(bench_of(Inside(Floors()), OFFER, setting), setting).follows


def test_they_hide_no_mistake_either() -> None:
    setting = setting_of(OFFER)
    found = identify(bench_of(Inside(Floors(drawn=False)), OFFER, setting), setting)
    assert not found.follows and "rounded to the nearest level" in found.instead("; ")
