"""What is looked at, in which order and how much of it: the likeliest first, a bounded number in all.

The bound is a count of candidates, not a time: every machine says the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

import numpy as np

from fedspec_suite.diagnosis.comparing import Evidence, standing
from fedspec_suite.diagnosis.composed import doubled, pairs, together
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.one_number import families, numbered
from fedspec_suite.diagnosis.shrinking import Link, halves
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting

HALVES = 8
"""How many things that explain half of a deviation are tried with everything else."""

LIKELY = 2
"""The rank of a mechanical edit from which it is not looked for in two mistakes at once."""

PAIRS = {"client": 3000, "server": 3000, "round": 1000, "trace": 1000}
"""How many pairs of one kind are looked at: whole rounds take longer."""


NAMES, EDITS, NUMBERS, MECHANICAL = "that have a name", "systematic edits", "numbers of its own", "mechanical edits"
TWO_NAMES, HALF_AND_NAME = "pairs of what has a name", "pairs of a half and what has a name"
HALF_AND_EDIT, OTHER_AND_EDIT = "pairs of the first half and an edit", "pairs of another half and a likely edit"
READING_AND_ANY = "pairs of a reading and anything"
PASSES = (NAMES, EDITS, NUMBERS, MECHANICAL, TWO_NAMES, HALF_AND_NAME, HALF_AND_EDIT, OTHER_AND_EDIT, READING_AND_ANY)
"""What is looked for, in this order, until something fits: a half is what alone explains a case made plainer."""


@dataclass
class Search:
    """How far a search has come: of what is looked for, how many candidates there are and how many were looked at.

    Attributes:
        looked: by pass, how many candidates were looked at.
        there: how many there are.
    """

    looked: dict[str, int] = field(default_factory=dict)
    there: dict[str, int] = field(default_factory=dict)

    def count(self, what: str, there: int, looked: int = 0) -> None:
        """So many more there are, and were looked at."""
        self.there[what] = self.there.get(what, 0) + there
        self.looked[what] = self.looked.get(what, 0) + looked

    def among(
        self, what: str, candidates: Iterable[Variant | None], there: int, most: int | None = None
    ) -> Iterator[Variant]:
        """These, and no more than so many; one that makes no sense after all was looked at too."""
        self.count(what, there)
        for k, v in enumerate(candidates):
            if k == most:
                return
            self.count(what, 0, 1)
            if v is not None:
                yield v

    @property
    def passes(self) -> tuple[str, ...]:
        """How far, pass by pass."""
        return tuple(f"{self.looked[what]:,} of {self.there[what]:,} {what}" for what in PASSES if self.there.get(what))

    def __str__(self) -> str:
        """How far in all, where some were left out; else nothing."""
        looked, there = sum(self.looked.values()), sum(self.there.values())
        return f"looked at {looked:,} of {there:,} candidates" if looked < there else ""


Chains = Callable[[], Sequence[Sequence[Link]]]
"""The cases in which a subject deviates soonest, made plainer, when they are asked for."""


def stages(
    search: Search, known: Known, setting: Setting, told: Evidence, alone: bool, own: Iterable[Variant] = ()
) -> Iterator[Iterable[Variant]]:
    """What is tried one after another: what has a name, an equation of the subject's own, and edits of the rules.

    Edits are systematic ones, a number of its own, and mechanical ones.

    No number of its own explains an intermediate alone, where the model is right. Of what is no number, further edits
    would all be as good as another.
    """
    yield search.among(NAMES, known.variants, len(known.variants))
    if not alone:
        yield own
    yield search.among(EDITS, known.edits, len(known.edits))
    if numberless(told):
        return
    if told.head and not alone:
        cut = ((known.samples[k], event, answers) for k, event, answers in told.heads)
        heads = [(replace(s, events=s.events[: event + 1]), answers) for s, event, answers in cut]
        count = len(list(families(setting)))
        search.count(NUMBERS, count, count)
        yield numbered(setting, heads)
    yield search.among(MECHANICAL, known.mechanical, known.mechanical_there)


def numberless(told: Evidence) -> bool:
    """Whether the model, wherever it first deviates, has entries that are infinite or no numbers."""
    return bool(told.heads) and not any(np.isfinite(answers[k]["x"]).all() for _, k, answers in told.heads)


def two_at_once(
    search: Search,
    known: Known,
    setting: Setting,
    told: Evidence,
    chains: Chains,
    shows: Callable[[Variant], bool] = lambda v: False,
) -> Iterator[Iterable[Variant]]:
    """What is tried where nothing alone fits the model; first what shows something as the subject does.

    Two at once explain no intermediate alone: two wrong signs, say, leave the model right and turn what is shown.
    """

    def both(what: str, two: Sequence[tuple[Variant, Variant]]) -> Iterator[Variant]:
        return search.among(what, (together(setting, a, b) for a, b in two), len(two), PAIRS[setting.level])

    if numberless(told):
        return
    yield both(TWO_NAMES, pairs(setting, standing(known, told, known.variants)))
    likely = (*known.edits, *(v for v in known.mechanical if v.rank < LIKELY))
    unlikely = [v for v in known.mechanical if v.rank >= LIKELY]
    found = halves(chains(), (*known.variants, *likely, *unlikely))
    seen = [*islice(filter(shows, (*known.variants, *likely, *unlikely)), HALVES)]
    half = [*seen, *(h for h in found[:HALVES] if h not in seen)][:HALVES]
    yield both(HALF_AND_NAME, doubled(setting, half, known.variants))
    yield both(HALF_AND_EDIT, doubled(setting, half[:1], (*likely, *unlikely)))
    yield both(OTHER_AND_EDIT, doubled(setting, half[1:], likely))
    # A reading that was not claimed may show in every case, so that none is left in which the other half is alone.
    read = [v for v in known.variants if v.kind == "reading" and v.algorithm == setting.algorithm.id]
    yield both(READING_AND_ANY, doubled(setting, read, (*known.variants, *likely)))
