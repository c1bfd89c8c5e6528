"""A bug of the judge itself is raised; it is neither a deviation of the subject nor a case left undecided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import run_law
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.setting import setting_of


def test_a_crash_of_a_law_is_raised() -> None:
    def check(bench: Bench, case: Any) -> None:
        raise ZeroDivisionError("a slip of the judge")

    offer = SUBJECT.info.offers[0]
    setting = setting_of(offer)
    bench = Bench(Inside(SUBJECT), setting.algorithm, offer, setting.options, setting.dtype)
    with pytest.raises(ZeroDivisionError, match="a slip of the judge"):
        run_law(replace(LAWS["follows-x"], check=check), bench, setting, 5, 0)
