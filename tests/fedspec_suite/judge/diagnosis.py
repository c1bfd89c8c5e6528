"""A first diagnosis: which reading, or which known wrong variant, gives the numbers that the subject gave."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, TypeAlias

import numpy as np

from fedspec.catalogue import CATALOGUE, Program
from fedspec.contract import Round
from fedspec.errors import FedspecError
from fedspec.params import flatten
from fedspec_suite import mutants
from fedspec_suite.measure.bench import THRESHOLD, Bench, Shown, reference
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.drawn import drawn
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.running import from_floats
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates

SAMPLES = 8
RICH = 2

Edited: TypeAlias = AbstractContextManager[None]
"""A block that runs under an edit of the specification, or under none."""


BROKEN = {
    "weights": "delta",
    "second_moment": "v",
    "maximum_of": "v_hat",
    "option": "v_hat",
    "nova_weights": "w",
    "tau_eff_choice": "tau_eff",
    "solver": "d",
    "stored": "d",
    "control": "c_i",
    "divisor": "v_i",
    "sampled_weights": "w",
    "sampled_steps": "tau_eff",
    "buffer_holds": "v",
    "cover": "nu",
    "idle": "nu",
    "start": "u",
    "normalise": "delta_i",
    "momentum_sum": "v",
    "maximum_start": "v_hat",
    "staleness": "mix_t",
    "age": "mix_t",
}
"""The equation that an option decides, by its tail; the step where none is named."""


@dataclass(frozen=True)
class Candidate:
    """A known variant.

    Attributes:
        words: what it is.
        equation: the equation in which it differs; none where the whole rule is another.
        answers: what it answers on a sample, by number.
    """

    words: str
    equation: str
    answers: Callable[[int], list[Shown]]


@dataclass(frozen=True)
class Known:
    """What a subject is compared with on a setting; it is the same for every subject.

    Attributes:
        samples: rich cases.
        claimed: what the claimed reading answers on a sample, by number.
        candidates: every variant that may be named.
    """

    samples: tuple[Scenario, ...]
    claimed: Callable[[int], list[Shown]]
    candidates: tuple[Candidate, ...]


def diagnose(bench: Bench, setting: Setting, model_failed: bool = True) -> str:
    """The variants that the subject agrees with on a sample of rich cases, or that none was found.

    Args:
        bench: the offer that does not conform.
        setting: what it was judged on.
        model_failed: whether a law about the numbers of the model itself was broken.
    """
    known = known_of(setting)
    given: dict[int, list[Shown]] = {}
    for k, s in enumerate(known.samples):
        try:
            # A subject may write into what it is given.
            given[k] = bench.play(copy.deepcopy(s))
        except (SubjectError, Deviates, FedspecError):
            continue
    if not given:
        return ""
    if _distance(known, known.claimed, given) <= THRESHOLD:
        return "no known variant" if model_failed else "x follows the claimed reading"
    found = [(_distance(known, c.answers, given), c) for c in known.candidates]
    matching = sorted((f for f in found if f[0] <= THRESHOLD), key=lambda f: f[0])
    return "; or ".join(_said(c, ratio) for ratio, c in matching[:2]) or "no known variant"


def _said(c: Candidate, ratio: float) -> str:
    at = f" at {c.equation}" if c.equation else ""
    return f"{c.words}{at} (ratio {ratio:.2g})"


@lru_cache(maxsize=4)
def known_of(setting: Setting) -> Known:
    """The samples of a setting and the variants known there; each answers a sample when it is first asked."""
    samples = tuple(_samples(setting))
    claimed = _answering(samples)
    return Known(samples, claimed, tuple(_candidates(setting, samples, claimed)))


def _arrives(setting: Setting) -> bool:
    return isinstance(setting.algorithm.run, Program) and setting.algorithm.run.event == "arrival"


def _samples(setting: Setting) -> Iterator[Scenario]:
    match setting.level:
        case "client":
            rich = scenarios(setting, steps=(4, 5), rounds=(2, 2))
        case "server":
            rich = scenarios(setting, rounds=(3, 4), clients=(2, 4))
        case "trace":
            few, many = (8, 9) if _arrives(setting) else (3, 3)
            rich = scenarios(setting, rounds=(few, many), clients=(2, 4))
        case _:
            some = scenarios(setting, rounds=(3, 3), clients=(3, 4))
            rich = some | scenarios(setting, rounds=(2, 3), clients=(2, 4), everyone=True)
    # The first draws are the simplest ones, and many share their hyper-parameters: variants show on the others.
    distinct: dict[tuple[Any, int], Scenario] = {}
    for s in drawn(rich, 12 * SAMPLES, seed=1)[2:]:
        seen = (tuple(s.case.hyper.items()), _attendance(s))
        distinct[seen] = max(distinct.get(seen, s), s, key=_richness)
    # In turn: some variants show only where somebody comes back, others only where nobody sits out.
    kinds = [[s for (_, kind), s in distinct.items() if kind == which] for which in (2, 1, 0)]
    first = [s for together in zip_longest(*kinds) for s in together if s][:SAMPLES]
    richest = [s for kind in kinds for s in sorted(kind, key=_richness, reverse=True)[:RICH]]
    # Some variants show only where one hyper-parameter is zero, such as a decay: for each, the richest such case.
    zero = {name: [s for s in distinct.values() if s.case.hyper.get(name) == 0] for name in setting.numbers}
    poor = [max(those, key=_richness) for those in zero.values() if those]
    chosen: dict[int, Scenario] = {id(s): s for s in (*first, *richest, *poor)}
    return iter(chosen.values())


def _richness(s: Scenario) -> tuple[int, int, int]:
    """How many hyper-parameters are neither zero nor equal, and blocks there are, one more if somebody is drawn twice;
    how many coordinates start off zero; how many entries of the clients' objectives are not zero.
    """
    x, problem = flatten(s.case.x0), s.case.problem
    there = 0 if problem is None else int(np.count_nonzero(problem.e))
    twice = any(len(set(e.participants)) < len(e.participants) for e in s.events if isinstance(e, Round))
    values = {v for v in s.case.hyper.values() if v}
    return len(values) + len(s.case.x0) + twice, int(np.count_nonzero(x)), there


def _attendance(s: Scenario) -> int:
    """2 where somebody takes part, sits out and comes back; 1 where somebody sits out; else 0."""
    n = len(s.case.problem.H) if s.case.problem else 0
    rounds = [set(e.participants) for e in s.events if isinstance(e, Round)]
    if all(len(who) == n for who in rounds):
        return 0
    for i in range(n):
        there = [k for k, who in enumerate(rounds) if i in who]
        if there and len(there) < there[-1] - there[0] + 1:
            return 2
    return 1


def _answering(samples: Sequence[Scenario], under: Callable[[], Edited] = nullcontext) -> Callable[[int], list[Shown]]:
    """What the specification answers on each sample, under an edit of it."""

    @cache
    def answers(k: int) -> list[Shown]:
        with under():
            return reference(samples[k])

    return answers


def _candidates(
    setting: Setting, samples: Sequence[Scenario], claimed: Callable[[int], list[Shown]]
) -> Iterator[Candidate]:
    def moved(algorithm: str, options: dict[str, str]) -> list[Scenario]:
        return [replace(s, case=replace(s.case, algorithm=algorithm, options=options)) for s in samples]

    own, step = setting.algorithm.id, setting.algorithm.equation("step", setting.options)
    for words, options in _readings(setting):
        turned = next(n for n in options if options[n] != setting.options[n])
        equation = setting.algorithm.equation(BROKEN.get(turned, "step"), setting.options)
        yield Candidate(words, equation, _answering(moved(own, options)))
    for rate in ("eta", "eta_l"):
        if rate in setting.numbers and rate not in setting.fixed:
            ignored = [with_hyper(s, **{rate: 1.0}) for s in samples]
            yield Candidate(f"{rate} is ignored (is it fixed = 1?)", step, _answering(ignored))
    for other, options in _relatives(setting):
        yield Candidate(f"the rule of {other}", "", _answering(moved(other, options)))
    for m in mutants.MUTANTS.values():
        if own in m.algorithms:
            those = moved(own, {**setting.options, **m.options})
            yield Candidate(m.words, mutants.blamed(m), _answering(those, mutants.sessions(m)))
    starts = [from_floats(flatten(s.case.x0), s.case.dtype) for s in samples]
    yield Candidate(
        "every answer is one event late",
        step,
        lambda k: [{"x": starts[k]}, *({"x": w["x"]} for w in claimed(k)[:-1])],
    )
    yield Candidate("the model never moves", step, lambda k: [{"x": starts[k]} for _ in claimed(k)])


def _relatives(setting: Setting) -> Iterator[tuple[str, dict[str, str]]]:
    """Other algorithms of the level that have no more hyper-parameters than this one."""
    mine = set(setting.numbers)
    for other in CATALOGUE.values():
        level = setting.level in other.levels and other.id != setting.algorithm.id
        options = {**other.defaults(), **{n: v for n, v in setting.options.items() if n in other.options}}
        needed = set(other.numbers_under(setting.level, options)) if level else set()
        if level and needed <= mine and set(setting.options) <= set(options) | {"solver"}:
            yield other.id, options


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


def _distance(known: Known, wanted: Callable[[int], list[Shown]], given: Mapping[int, list[Shown]]) -> float:
    """The largest ratio over all samples, leaving out components whose wanted value a tie leaves open.

    The first sample that tells the two apart ends it: no later one is run.
    """
    worst, decided = 0.0, 0
    for k, got_all in given.items():
        info = np.finfo(known.samples[k].case.dtype)
        try:
            want_all = wanted(k)
        except (FedspecError, ArithmeticError, KeyError):
            return float("inf")
        for got, want in zip(got_all, want_all, strict=True):
            bounds = np.array([x.bound for x in want["x"]])
            sure = np.isfinite(bounds)
            decided += int(sure.sum())
            values = np.array([float(x) for x in want["x"]])[sure]
            ratios = np.abs(got["x"][sure] - values) / (float(info.eps) * bounds[sure] + float(info.tiny))
            if not np.isfinite(ratios).all():
                return float("inf")
            worst = max(worst, float(ratios.max(initial=0.0)))
            if worst > THRESHOLD:
                return worst
    return worst if decided else float("inf")
