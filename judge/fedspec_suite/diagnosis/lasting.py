"""Checks beyond the samples: a defect that acts only under some condition may agree with a variant in the samples."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from fedspec_suite.diagnosis.cases.probes import at_edges, ladders, repeatable
from fedspec_suite.diagnosis.cases.resized import longer, opposed, ringed
from fedspec_suite.diagnosis.comparing import Given, agrees, apart, decided
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.bench import UNPLAYED, Bench, Shown
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

LENGTH = 12
"""Number of events of a run that is longer than the samples."""

LARGER = {"clients": 10, "coordinates": 40, "steps": 10, "delay": 6}
"""Sizes larger than in the samples, by feature; each is tried separately."""


class Larger:
    """Cases beyond the samples, which the subject plays when a candidate first needs them.

    Attributes:
        refuted: by the words of what fits the samples, where it does not fit.
    """

    def __init__(
        self,
        bench: Bench,
        setting: Setting,
        known: Known,
        given: Given,
        drawn: Callable[[], Sequence[Scenario]] = tuple,
    ) -> None:
        """Keep the arguments; the subject plays nothing yet.

        Args:
            bench: the offer.
            setting: the setting of the claim.
            known: samples and variants of the setting.
            given: its answers on the samples.
            drawn: cases that nothing was found on.
        """
        self.drawn = drawn
        self.bench, self.setting, self.known, self.given = bench, setting, known, given
        self.played: list[tuple[bool, Scenario, list[Shown]]] | None = None
        self.edges: list[tuple[str, Scenario, list[Shown]]] | None = None
        self.refuted: dict[str, str] = {}

    def fits(self, v: Variant) -> tuple[bool, bool]:
        """Return whether the variant agrees in longer runs of the samples, and whether it agrees in larger cases."""
        if self.played is None:
            self.played = self._play()
        in_time = all(agrees(v, s, answers) for time, s, answers in self.played if time)
        wide = [(s, answers) for time, s, answers in self.played if not time]
        return in_time, all(agrees(v, s, answers) or not decided(v, s, answers) for s, answers in wide)

    @cached_property
    def fresh(self) -> list[tuple[Scenario, list[Shown]]]:
        """New cases that no search has used, with the subject's answers."""
        cases = [(s, self._answers(s)) for s in self.drawn()]
        return [(s, answers) for s, answers in cases if answers]

    def anew(self, v: Variant) -> bool:
        """True if a variant agrees in new cases that no search has used; many pairs of mistakes fit a few cases."""
        return all(agrees(v, s, answers) or not decided(v, s, answers) for s, answers in self.fresh)

    def elsewhere(self, v: Variant) -> str:
        """Return words for the first extreme value at which a variant and the subject differ; empty if none."""
        if self.edges is None:
            s = self.known.samples[max(self.given, key=lambda k: moved(self.given[k]))]
            cases = ((words, case, self._answers(case)) for words, case in at_edges(self.setting, s))
            self.edges = [(words, case, answers) for words, case, answers in cases if answers]
        return next((words for words, case, answers in self.edges if apart(v, case, answers)), "")

    def _answers(self, case: Scenario) -> list[Shown]:
        """Answers of the subject; none if the claim doesn't take the case or the subject cannot play the case."""
        if not self.known.claimed.answers(case):
            return []
        try:
            return self.bench.play(copy.deepcopy(case))
        except UNPLAYED:
            return []

    def _play(self) -> list[tuple[bool, Scenario, list[Shown]]]:
        s = self.known.samples[max(self.given, key=lambda k: moved(self.given[k]))]
        wide = [(True, longer(s, LENGTH))] if repeatable(self.setting) else []
        for ladder in ladders(self.setting, [s], lambda one, two: True):
            if ladder.name in LARGER:
                wide.append((False, ladder.at(LARGER[ladder.name])))
        wide += [(False, other) for other in (opposed(s), ringed(s)) if other]
        played = [(time, case, self._answers(case)) for time, case in wide]
        return [(time, case, answers) for time, case, answers in played if answers]


def moved(answers: Sequence[Shown]) -> float:
    """Share of the model's coordinates that move from event to event."""
    x = np.stack([answer["x"] for answer in answers])
    return float((x[1:] != x[:-1]).mean()) if len(x) > 1 else 0.0
