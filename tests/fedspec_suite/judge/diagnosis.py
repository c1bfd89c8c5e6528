"""A diagnosis: which reading, known edit or generic defect, alone or two at once, gives the subject's numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import islice
from typing import Any

import numpy as np

from fedspec.errors import FedspecError
from fedspec.params import flatten
from fedspec_suite.judge.course import course
from fedspec_suite.judge.fitting import explained, steps
from fedspec_suite.judge.samples import samples_of
from fedspec_suite.judge.seen import AT_ONCE, seen
from fedspec_suite.judge.variants import CANNOT, Edition, Variant, as_claimed, pairs, single
from fedspec_suite.measure.bench import HOPELESS, THRESHOLD, Bench, Shown
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running import bounds_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates

LOOSE = {"float64": 1e-9, "float32": 1e-3}
"""What a variant may be off by in plain floating point, relative to the model, before it is looked at closely."""

SURE = 2 / 3
"""The share of all components that must be decided before a name is given."""

NAMED = 2
"""How many variants are named where several agree."""

NONE = "no known variant"
FOLLOWS = "x follows the claimed reading"
SMALL = "x follows the claimed reading in small cases"

Given = Mapping[int, list[Shown]]
"""The subject's answers on the samples that it plays, by number."""


@dataclass(frozen=True, eq=False)
class Known:
    """What a subject is compared with on a setting; it is the same for every subject.

    Attributes:
        samples: rich cases.
        claimed: the specification under the claimed reading.
        variants: everything that may be named alone.
    """

    samples: tuple[Scenario, ...]
    claimed: Variant
    variants: tuple[Variant, ...]

    @cache  # noqa: B019 - it lives as long as what is known does
    def editions(self, variant: Variant) -> Callable[[], Edition]:
        """What the sessions of a variant run in, one after another."""
        return variant.editions()

    @cache  # noqa: B019
    def exact(self, variant: Variant, k: int) -> list[Shown] | None:
        """What a variant answers on a sample; None where it cannot run."""
        try:
            return variant.exact(self.samples[k], self.editions(variant)())
        except CANNOT:
            return None


@lru_cache(maxsize=4)
def known_of(setting: Setting) -> Known:
    """The samples of a setting and the variants known there; each answers a sample when it is first asked."""
    return Known(samples_of(setting), as_claimed(setting), tuple(single(setting)))


@dataclass(frozen=True)
class Found:
    """A variant whose models the subject gave.

    Attributes:
        words: what it is.
        equation: the equation in which it differs from the claim; none where the whole rule is another.
        ratio: the largest distance, in units of the rounding bound.
        parts: of how many things it is made.
        kind: what it is: a reading, a mutant, a generic defect, another rule, or composed of two.
        names: what it is made of, as data.
        decided: the share of all components that were decided.
    """

    words: str
    equation: str
    ratio: float
    parts: int
    kind: str
    names: tuple[Mapping[str, str], ...]
    decided: float

    def __str__(self) -> str:
        at = f" at {self.equation}" if self.equation else ""
        return f"{self.words}{at} (ratio {self.ratio:.2g})"


@dataclass(frozen=True)
class Diagnosis:
    """What a subject's models on some rich cases are.

    Attributes:
        played: how many of the cases it played.
        claimed: its distance from the claimed reading; infinite where too few components are decided.
        found: the variants that it agrees with, the simplest first, where that is not the claimed one.
        seen: what its steps and numbers show, where no variant is found.
    """

    played: int
    claimed: float
    found: tuple[Found, ...] = ()
    seen: str = ""

    @property
    def follows(self) -> bool:
        """Whether its models are those of the claimed reading."""
        return self.claimed <= THRESHOLD

    def unlike(self, separator: str) -> str:
        """What it is instead, or that nothing known fits, and what is seen."""
        return separator.join(map(str, self.found)) or "; ".join(filter(None, (NONE, self.seen)))


def identify(bench: Bench, setting: Setting) -> Diagnosis:
    """Compare what a subject gives on a sample of rich cases with everything known, the simplest first.

    Args:
        bench: the offer.
        setting: what it is judged on.
    """
    known = known_of(setting)
    given = _played(bench, known.samples)
    if not given:
        return Diagnosis(0, float("inf"))
    ratio, _ = _measured(known, known.claimed, given)
    if ratio <= THRESHOLD:
        return Diagnosis(len(given), ratio)
    for among in (known.variants, pairs(setting, known.variants)):
        found = tuple(islice(_agreeing(known, among, given), NAMED))
        if found:
            return Diagnosis(len(given), ratio, found)
    words = [explained(steps(known.samples, given), setting.dtype) or _seen(known, given), course(bench, known.samples)]
    # That it deviates at once comes last: where the first deviation is shown, it says that too.
    return Diagnosis(len(given), ratio, (), "; ".join(filter(None, words[::-1] if words[0] == AT_ONCE else words)))


def diagnose(bench: Bench, setting: Setting, model_failed: bool = True) -> str:
    """The same in words, for an offer that does not conform.

    Args:
        bench: the offer.
        setting: what it was judged on.
        model_failed: whether a law about the numbers of the model itself was broken.
    """
    return in_words(identify(bench, setting), model_failed)


def in_words(d: Diagnosis, model_failed: bool) -> str:
    """A diagnosis in a sentence; empty where no case was played."""
    if not d.played:
        return ""
    if d.follows:
        return SMALL if model_failed else FOLLOWS
    return d.unlike("; or ")


def as_data(d: Diagnosis) -> list[dict[str, Any]]:
    """The same for a program: an object for each variant found, or one for what is fitted; none where it follows."""
    if d.found:
        return [
            {
                "kind": f.kind,
                "words": f.words,
                "equation": f.equation,
                "names": [dict(name) for name in f.names],
                "decided": f.decided,
                "ratio": f.ratio,
            }
            for f in d.found
        ]
    if d.follows or not d.seen:
        return []
    return [{"kind": "fitted", "words": d.seen, "equation": "", "names": [], "decided": None, "ratio": None}]


def _seen(known: Known, given: Given) -> str:
    wanted = {k: known.exact(known.claimed, k) for k in given}
    models = {k: [np.array([float(x) for x in w["x"]]) for w in run] for k, run in wanted.items() if run}
    return seen(known.samples, {k: given[k] for k in models}, models) if models else ""


def _played(bench: Bench, samples: Iterable[Scenario]) -> dict[int, list[Shown]]:
    given: dict[int, list[Shown]] = {}
    for k, s in enumerate(samples):
        try:
            # A subject may write into what it is given.
            given[k] = bench.play(copy.deepcopy(s))
        except (SubjectError, Deviates, FedspecError):
            continue
    return given


def _agreeing(known: Known, variants: Iterable[Variant], given: Given) -> Iterator[Found]:
    """The variants that the subject agrees with, in their order; none is said twice."""
    said: set[str] = set()
    for v in variants:
        if v.words not in said and _close(known, v, given):
            ratio, decided = _measured(known, v, given)
            if ratio <= THRESHOLD:
                said.add(v.words)
                yield Found(v.words, v.equation, ratio, v.parts, v.kind, v.names, decided)


def _close(known: Known, v: Variant, given: Given) -> bool:
    """Whether a variant agrees in floating point, up to what is lost on the way.

    The first event that differs ends it.
    """
    edition = v.editions()
    for k, answers in given.items():
        s = known.samples[k]
        largest = np.abs(flatten(s.case.x0).astype(float)).max() + 1
        try:
            for got, want in zip(answers, v.quick(s, edition()), strict=True):
                wanted = np.asarray(want, dtype=float)
                off = np.abs(got["x"] - wanted) > LOOSE[s.case.dtype] * (largest + np.abs(wanted).max())
                # Where rounding decides, a coordinate may be anything.
                if not off.mean() <= 1 - SURE:
                    return False
        except CANNOT:
            return False
    return True


def _measured(known: Known, v: Variant, given: Given) -> tuple[float, float]:
    """The largest ratio over all samples, infinite where too few components are decided; and the share that is.

    The first sample that tells the two apart ends it: no later one is run.
    """
    worst, decided, total = 0.0, 0, 0
    edition = v.editions()
    for k, answers in given.items():
        info = np.finfo(known.samples[k].case.dtype)
        wanted = known.exact(v, k)
        if wanted is None:
            return float("inf"), 0.0
        plain = v.quick(known.samples[k], edition())
        for got, want, x in zip(answers, wanted, plain, strict=True):
            bounds, values = bounds_of(want["x"]), np.array([float(x) for x in want["x"]])
            size = max(float(np.abs(values).max()), float(info.eps))
            sure = THRESHOLD * float(info.eps) * bounds <= HOPELESS * size
            # Outside the domain of a root both say so.
            nowhere = ~sure & np.isnan(got["x"]) & np.isnan(np.asarray(x, dtype=float))
            decided, total = decided + int((sure | nowhere).sum()), total + sure.size
            ratios = np.abs(got["x"] - values)[sure] / (float(info.eps) * bounds[sure] + float(info.tiny))
            if not np.isfinite(ratios).all():
                return float("inf"), decided / total
            worst = max(worst, float(ratios.max(initial=0.0)))
            if worst > THRESHOLD:
                return worst, decided / total
    return worst if decided >= SURE * total else float("inf"), decided / total
