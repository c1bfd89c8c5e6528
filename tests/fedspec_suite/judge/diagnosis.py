"""A first diagnosis: which reading, or which known wrong variant, gives the numbers that the subject gave."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

from fedspec.arith import Array
from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec_suite import mutants
from fedspec_suite.judge.bench import THRESHOLD, Bench, Shown, reference
from fedspec_suite.judge.process import SubjectError
from fedspec_suite.judge.scenario import Scenario
from fedspec_suite.judge.verdict import Deviates
from fedspec_suite.laws.cases import Setting, scenarios

SAMPLES = 6


@dataclass(frozen=True)
class Candidate:
    """A known variant and how far the subject is from it."""

    words: str
    ratio: float

    @property
    def matches(self) -> bool:
        """Whether the subject's numbers are those of the variant."""
        return self.ratio <= THRESHOLD

    def __str__(self) -> str:
        return f"{self.words} (ratio {self.ratio:.2g})"


def diagnose(bench: Bench, setting: Setting) -> str:
    """The variants that the subject agrees with on a sample of rich cases, or that none was found."""
    samples = list(_samples(setting))
    try:
        answers = [bench.play(s) for s in samples]
    except (SubjectError, Deviates, FedspecError):
        return ""
    if _distance(samples, answers) <= THRESHOLD:
        return "x follows the claimed reading"
    found = sorted(_candidates(setting, samples, answers), key=lambda c: c.ratio)
    matching = [c for c in found if c.matches]
    if matching:
        return "; or ".join(str(c) for c in matching[:2])
    return "no known variant"


def _samples(setting: Setting) -> Iterator[Scenario]:
    size = {"steps": (4, 5), "rounds": (2, 2)} if setting.level == "client" else {"rounds": (3, 4), "clients": (2, 4)}
    found: list[Scenario] = []

    @seed(1)
    @settings(
        max_examples=12 * SAMPLES,
        deadline=None,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(scenarios(setting, **size))
    def collect(s: Scenario) -> None:
        found.append(s)

    collect()
    # The first draws are the simplest ones, and many share their hyper-parameters: variants show on the others.
    distinct = {tuple(s.case.hyper.items()): s for s in found[2:]}
    return islice(distinct.values(), SAMPLES)


def _candidates(setting: Setting, samples: list[Scenario], answers: list[list[Shown]]) -> Iterator[Candidate]:
    for words, options in _readings(setting):
        yield Candidate(words, _distance([replace(s, case=replace(s.case, options=options)) for s in samples], answers))
    for words, other, options in _relatives(setting):
        moved = [replace(s, case=replace(s.case, algorithm=other, options=options)) for s in samples]
        yield Candidate(words, _distance(moved, answers))
    for m in mutants.MUTANTS.values():
        if setting.algorithm.id in m.algorithms:
            options = {**setting.options, **m.options}
            with mutants.applied(m):
                moved = [replace(s, case=replace(s.case, options=options)) for s in samples]
                yield Candidate(m.words, _distance(moved, answers))


def _relatives(setting: Setting) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Other algorithms of the level that have no more hyper-parameters than this one."""
    mine = set(setting.numbers)
    for other in CATALOGUE.values():
        level = setting.level in other.levels and other.id != setting.algorithm.id
        options = {**other.defaults(), **{n: v for n, v in setting.options.items() if n in other.options}}
        if level and set(other.numbers_at(setting.level)) <= mine and set(setting.options) <= set(options) | {"solver"}:
            yield f"the rule of {other.id}", other.id, options


def _readings(setting: Setting) -> Iterator[tuple[str, dict[str, str]]]:
    """Every named reading, then every single option turned."""
    seen = [dict(setting.options)]
    for reading in setting.algorithm.readings:
        options = {**setting.options, **reading.fixes}
        if options not in seen:
            seen.append(options)
            yield f"reading {reading.name}", options
    for name, kind in setting.algorithm.options.items():
        for value in kind:
            options = {**setting.options, name: str(value)}
            if options not in seen:
                seen.append(options)
                yield f"{name} = {value}", options


def _distance(samples: list[Scenario], answers: list[list[Shown]]) -> float:
    worst = 0.0
    for s, got in zip(samples, answers, strict=True):
        try:
            want = reference(s)
        except (FedspecError, ArithmeticError, KeyError):
            return float("inf")
        info = np.finfo(s.case.dtype)
        for g, w in zip(got, want, strict=True):
            values: Array = np.array([float(x) for x in w["x"]])
            bounds = np.array([x.bound for x in w["x"]])
            # Where a tie leaves the wanted value open, the component says nothing.
            open_ = ~np.isfinite(bounds)
            if open_.all():
                return float("inf")
            allowed = float(info.eps) * np.where(open_, 1, bounds) + float(info.tiny)
            with np.errstate(invalid="ignore"):
                ratio = float(np.max(np.where(open_, 0, np.abs(g["x"] - values) / allowed)))
            worst = max(worst, ratio if np.isfinite(ratio) else float("inf"))
    return worst
