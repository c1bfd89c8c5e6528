"""Order and bounds of the search for an explanation: the likeliest candidates first, a bounded number in all.

The bound counts candidates, not time, so that every machine gives the same diagnosis.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fedspec_suite.diagnosis.comparing import Evidence, standing
from fedspec_suite.diagnosis.composed import doubled, pairs, together
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.one_number import families, numbered
from fedspec_suite.diagnosis.shrinking import Link, halves
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting

HALVES = 8
"""Number of variants explaining half of a deviation that are combined with other variants."""

FEW = 3
"""Number of halves that are combined with edits before unlikely edits are tried alone."""

LIKELY = 2
"""Rank from which a mechanical edit is too unlikely to be combined with another variant."""

PAIRS = {"client": 3000, "server": 3000, "round": 1000, "trace": 1000}
"""Largest number of pairs of one kind that are tried, by level; whole rounds take longer."""

QUICK = {"client": 6000, "server": 6000, "round": 3000, "trace": 3000}
"""Largest number of candidates of a quick search, by level: about ten seconds of CPU time."""

STEP = 100
"""Number of candidates between two progress lines."""

NAMES, EDITS, NUMBERS, MECHANICAL = "that have a name", "systematic edits", "numbers of its own", "mechanical edits"
TWO_READINGS, OWN_AND_NAME = "pairs of readings and options", "pairs of your equation and what has a name"
TWO_NAMES, HALF_AND_NAME = "pairs of what has a name", "pairs of a half and what has a name"
TWO_HALVES = "pairs of halves"
HALF_AND_EDIT, OTHER_AND_EDIT = "pairs of the first half and an edit", "pairs of another half and a likely edit"
READING_AND_ANY = "pairs of a reading and anything"
SINGLE = (NAMES, TWO_READINGS, OWN_AND_NAME, EDITS, NUMBERS, MECHANICAL)
PASSES = (*SINGLE, TWO_NAMES, TWO_HALVES, HALF_AND_NAME, HALF_AND_EDIT, OTHER_AND_EDIT, READING_AND_ANY)
"""Names of the passes in their order; the search stops once a candidate fits. A half is a variant that alone explains
a case made plainer."""


@dataclass
class Search:
    """Progress and bound of a search.

    Attributes:
        looked: by pass, the number of candidates that were looked at.
        there: by pass, the number of candidates.
        most: the number of candidates after which the search is cut.
        tell: receives a line about the progress now and then.
        begun: begin of the search, in seconds of a clock.
    """

    looked: dict[str, int] = field(default_factory=dict)
    there: dict[str, int] = field(default_factory=dict)
    most: float = math.inf
    tell: Callable[[str], None] = lambda text: None
    begun: float = field(default_factory=time.monotonic)

    @property
    def counts(self) -> tuple[int, int]:
        """Number of candidates tried and number of candidates in total, in all passes so far."""
        return sum(self.looked.values()), sum(self.there.values())

    def is_cut(self) -> bool:
        """True if the bound is reached, so that no further candidate is tried."""
        return self.counts[0] >= self.most

    def count(self, what: str, there: int, looked: int = 0) -> None:
        """Add candidates, and tried candidates, to the counts of a pass."""
        self.there[what] = self.there.get(what, 0) + there
        self.looked[what] = self.looked.get(what, 0) + looked
        done, all_ = self.counts
        if looked and done % STEP < looked:
            seconds = time.monotonic() - self.begun
            # Passes to come add candidates, so a count without a bound would seem to end several times.
            of = f"{all_:,} candidates so far" if math.isinf(self.most) else f"at most {self.most:,} candidates"
            self.tell(f"searching for a known mistake: {done:,} of {of}, {seconds:.0f} s")

    def among(
        self, what: str, candidates: Iterable[Variant | None], there: int, most: int | None = None
    ) -> Iterator[Variant]:
        """Yield at most ``most`` candidates of a pass; None stands for an impossible candidate and is only counted."""
        self.count(what, there)
        for k, v in enumerate(candidates):
            if k == most or self.is_cut():
                return
            self.count(what, 0, 1)
            if v is not None:
                yield v

    @property
    def passes(self) -> tuple[str, ...]:
        """Counts of the passes, in words."""
        return tuple(f"{self.looked[what]:,} of {self.there[what]:,} {what}" for what in PASSES if self.there.get(what))

    def __str__(self) -> str:
        """Return the counts of all passes in words; empty if the search wasn't cut, so that no profile goes on."""
        looked, there = self.counts
        return f"search cut at {looked:,} of {there:,} candidates (--profile full goes on)" if self.is_cut() else ""


Chains = Callable[[], Sequence[Sequence[Link]]]
"""Function that returns the simplified versions of the case in which a subject deviates soonest."""


def stages(
    search: Search,
    known: Known,
    setting: Setting,
    told: Evidence,
    alone: bool,
    own: Iterable[Variant] = (),
    halves: Callable[[], Sequence[Variant]] = tuple,
    showing: Callable[[], Sequence[Variant]] = tuple,
    beside: Callable[[Variant], Iterable[Variant]] = lambda half: (),
) -> Iterator[Iterable[Variant]]:
    """Yield the stages of single candidates: named variants, the subject's own equation, edits of the rules.

    The edits are systematic edits, variants with one unknown number, and mechanical edits.

    If an intermediate deviates but the model is right (``alone``), no own equation or number can explain it. If the
    model is infinite or NaN, the stages end after the systematic edits: all further edits would fit equally well.
    """
    yield search.among(NAMES, known.variants, len(known.variants))
    if not alone:
        # What can be claimed comes before equations.
        read = [v for v in known.variants if v.kind == "reading"]
        two = pairs(setting, standing(known, told, read))
        yield search.among(TWO_READINGS, (together(setting, a, b) for a, b in two), len(two))
        if setting.gradients or setting.messages:
            # Another number of a claimed link is no equation.
            yield _numbers(search, known, setting, told)
        # The first equation that fits is enough.
        yield from ((v,) for v in own)
        named = doubled(setting, halves(), known.variants)
        yield search.among(OWN_AND_NAME, (together(setting, a, b) for a, b in named), len(named))
    yield search.among(EDITS, known.edits, len(known.edits))
    if numberless(told):
        return
    if not alone and not (setting.gradients or setting.messages):
        yield _numbers(search, known, setting, told)
    if not alone and (seen := showing()):
        # The first of them may be all that there is.
        yield from ((v,) for v in seen)
        # Each of two mistakes decides a quantity that is shown.
        for what, others in ((TWO_HALVES, seen), (HALF_AND_NAME, known.variants)):
            two = doubled(setting, seen, others)
            yield search.among(what, (together(setting, a, b) for a, b in two), len(two), PAIRS[setting.level])
        for half in seen[:FEW]:
            yield from ((v,) for v in beside(half))
        two = doubled(setting, seen[:FEW], (*known.edits, *likely(known)))
        yield search.among(HALF_AND_EDIT, (together(setting, a, b) for a, b in two), len(two))
    yield search.among(MECHANICAL, known.mechanical, known.mechanical_there)


def likely(known: Known) -> list[Variant]:
    """Mechanical edits that are likely enough to be combined with another variant."""
    return [v for v in known.mechanical if v.rank < LIKELY]


def _numbers(search: Search, known: Known, setting: Setting, told: Evidence) -> Iterator[Variant]:
    """Variants with one unknown number, which is read off the events that deviate soonest."""
    if not told.head or numberless(told):
        return
    cut = ((known.samples[k], event, answers) for k, event, answers in told.heads)
    heads = [(replace(s, events=s.events[: event + 1]), answers) for s, event, answers in cut]
    count = len(list(families(setting)))
    search.count(NUMBERS, count, count)
    yield from numbered(setting, heads)


def numberless(told: Evidence) -> bool:
    """True if the model has an infinite or NaN entry in every event where it first deviates."""
    return bool(told.heads) and not any(np.isfinite(answers[k]["x"]).all() for _, k, answers in told.heads)


def two_at_once(
    search: Search,
    known: Known,
    setting: Setting,
    told: Evidence,
    chains: Chains,
    seen: Sequence[Variant] = (),
) -> Iterator[Iterable[Variant]]:
    """Yield the stages of pairs of variants, for a model that no single candidate explains.

    Halves that show a deviating quantity as the subject does (``seen``) come first. Pairs are not tried if only an
    intermediate deviates: two wrong signs, for example, leave the model right and flip the intermediate.
    """

    def both(what: str, two: Sequence[tuple[Variant, Variant]]) -> Iterator[Variant]:
        return search.among(what, (together(setting, a, b) for a, b in two), len(two), PAIRS[setting.level])

    if numberless(told) or search.is_cut():
        return
    yield both(TWO_NAMES, pairs(setting, standing(known, told, known.variants)))
    if search.is_cut():
        return
    edits = (*known.edits, *likely(known))
    unlikely = [v for v in known.mechanical if v.rank >= LIKELY]
    found = halves(chains(), (*known.variants, *edits, *unlikely))
    half = [*seen, *(h for h in found[:HALVES] if h not in seen)][:HALVES]
    yield both(HALF_AND_NAME, doubled(setting, half, known.variants))
    yield both(HALF_AND_EDIT, doubled(setting, half[:1], (*edits, *unlikely)))
    yield both(OTHER_AND_EDIT, doubled(setting, half[1:], edits))
    # A reading that was not claimed may show in every case, so that none is left in which the other half is alone.
    read = [v for v in known.variants if v.kind == "reading" and v.algorithm == setting.algorithm.id]
    yield both(READING_AND_ANY, doubled(setting, read, (*known.variants, *edits)))


def showing(known: Known, shows: Callable[[Variant], set[str]]) -> list[Variant]:
    """Return variants that show deviating quantities: of each quantity the first ones, which are the likeliest.

    Args:
        known: samples and variants of the setting.
        shows: the names of those that a variant gives.
    """
    of_name: dict[str, list[Variant]] = {}
    mine = (v for v in known.variants if v.algorithm == known.setting.algorithm.id)
    for v in (*mine, *known.edits, *likely(known)):
        for n in shows(v):
            some = of_name.setdefault(n, [])
            if len(some) < HALVES // 2:
                some.append(v)
    turns = (v for k in range(HALVES) for some in of_name.values() for v in some[k : k + 1])
    return list(dict.fromkeys(turns))[:HALVES]
