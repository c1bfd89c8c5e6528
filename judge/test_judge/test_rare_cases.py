"""Sides that rules take in few cases, such as a rate above its floor, are played in a quick check, too."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import deviates, written

from fedspec.contract import Case, Claim, Offer, Round
from fedspec.params import flatten
from fedspec_suite.measure.bench import reference
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.rare_cases import rare_cases
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import setting_of

CLIPPED = ("clip-norm 1",)


def extrapolating(floor: bool) -> Any:
    """FedExP's rounds by hand, whose clients clip; its rate is the published one, or always its floor of 1."""

    def start(case: Case) -> Any:
        q, x = case.problem, [flatten(case.x0)]
        assert q is not None

        def step(event: Round) -> dict[str, Any]:
            sent = []
            for i, steps in zip(event.participants, event.steps, strict=True):
                y = x[0]
                for _ in range(steps):
                    g = q.H[i] @ y - q.e[i]
                    y = y - case.hyper["eta_l"] * g * min(1.0, 1 / max(float(np.linalg.norm(g)), 1e-300))
                sent.append(y - x[0])
            mean = sum(sent) / len(sent)
            above = sum(float(d @ d) for d in sent)
            rate = above / (2 * len(sent) * (float(mean @ mean) + case.hyper["eps"]))
            x[0] = x[0] + (1.0 if floor else max(1.0, rate)) * mean
            return {"x": x[0]}

        return SimpleNamespace(step=step)

    return written(Offer("fedexp", "round", "uniform", gradients=CLIPPED, dtypes=("float64",)), start)


def test_a_rate_that_is_always_its_floor_does_not_pass_a_quick_check() -> None:
    assert deviates(extrapolating(True)) and not deviates(extrapolating(False))


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
