"""Whether a name that fits the samples fits beyond them: a defect that has another gate than its namesake does not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedspec.errors import FedspecError
from fedspec_suite.judge.comparing import Given, agrees
from fedspec_suite.judge.known import Known
from fedspec_suite.judge.probes import ladders, repeatable
from fedspec_suite.judge.resized import longer
from fedspec_suite.judge.variants import Variant
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Beyond, Deviates, Undecided

LENGTH = 12
"""Events of a run that is longer than those of the samples."""

LARGER = {"clients": 10, "coordinates": 40, "steps": 10, "delay": 6}
"""What else is larger than in the samples, each alone."""


class Larger:
    """The cases beyond the samples, which the subject plays when a name first asks for them."""

    def __init__(self, bench: Bench, setting: Setting, known: Known, given: Given) -> None:
        self.bench, self.setting, self.known, self.given = bench, setting, known, given
        self.played: list[tuple[bool, Scenario, list[Shown]]] | None = None

    def fits(self, v: Variant) -> tuple[bool, bool]:
        """Whether a variant agrees in a longer run of a sample, and whether it does in larger cases."""
        if self.played is None:
            self.played = self._play()
        in_time = all(agrees(v, s, answers) for time, s, answers in self.played if time)
        return in_time, all(agrees(v, s, answers) for time, s, answers in self.played if not time)

    def _play(self) -> list[tuple[bool, Scenario, list[Shown]]]:
        s = self.known.samples[max(self.given, key=lambda k: _moved(self.given[k]))]
        wide = [(True, longer(s, LENGTH))] if repeatable(self.setting) else []
        for ladder in ladders(self.setting, [s], lambda one, two: True):
            if ladder.name in LARGER:
                wide.append((False, ladder.at(LARGER[ladder.name])))
        out = []
        for time, case in wide:
            try:
                out.append((time, case, self.bench.play(case)))
            except (Undecided, SubjectError, Beyond, Deviates, FedspecError):
                continue
        return out


def _moved(answers: Sequence[Shown]) -> float:
    x = np.stack([answer["x"] for answer in answers])
    return float((x[1:] != x[:-1]).mean()) if len(x) > 1 else 0.0
