"""Sides that rules take in few cases, such as a rate above its floor, are played in a quick check, too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Clients, subject
from test_judge.diagnosing import deviates

from fedspec.arith import Array
from fedspec.contract import Claim
from fedspec.params import flatten
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.rare_cases import rare_cases
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of

CLIPPED = ("clip-norm 1",)


class FedExP(Clients):
    """FedExP by hand, whose clients clip; its rate is the published one, or always its floor of 1."""

    algorithm, reading = "fedexp", "uniform"

    def g(self, i: int, y: Array) -> Array:
        g = super().g(i, y)
        return g * min(1.0, 1 / max(float(np.linalg.norm(g)), 1e-300))

    def round(self, S: list[int], T: list[int]) -> None:
        sent = [self.local(i, tau) - self.x for i, tau in zip(S, T, strict=True)]
        mean, above = sum(sent) / len(sent), sum(float(d @ d) for d in sent)
        rate = above / (2 * len(sent) * (float(mean @ mean) + self.h["eps"]))
        self.x = self.x + (1.0 if "floor" in self.does else max(1.0, rate)) * mean


def test_a_rate_that_is_always_its_floor_does_not_pass_a_quick_check() -> None:
    always, right = (subject(FedExP, *does, gradients=CLIPPED) for does in (("floor",), ()))
    assert deviates(always) and not deviates(right)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_side_that_no_usual_case_takes_is_taken(dtype: str) -> None:
    setting = setting_of(Claim("fedexp", "round", "uniform", gradients=CLIPPED), dtype)

    def rates(cases: Any) -> list[float]:
        return [float(np.ravel(shown["rate"])[0]) for s in cases for shown in reference(s)]

    assert max(rates(draw_cases(scenarios(setting), 12, seed=0))) == 1
    assert sum(r > 1 for r in rates(rare_cases(setting))) >= 2
    assert all(s.case.dtype == dtype and flatten(s.case.x0).dtype == dtype for s in rare_cases(setting))


def test_a_rule_that_chooses_nothing_has_no_rare_case() -> None:
    assert rare_cases(setting_of(Claim("fedadam", "server", "reddi-2021"))) == ()
