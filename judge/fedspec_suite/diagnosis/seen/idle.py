"""Hyper-parameters without effect, and the simpler rule that a subject computes if it ignores them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.domains import DOMAINS
from fedspec_suite.diagnosis.cases.probes import far, valued
from fedspec_suite.diagnosis.comparing import Given
from fedspec_suite.diagnosis.defects.defect import Defect
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.bench import Shown
from fedspec_suite.measure.hyper_pools import POOLS
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import listed

Play = Callable[[Scenario], list[Shown] | None]
"""Function that returns the subject's answers to a case; None if the subject gives none."""

TRIED = 12
"""Largest number of cases in which a hyper-parameter is changed to test for an effect."""


def idle(setting: Setting, known: Known, given: Given, play: Play) -> tuple[str, ...]:
    """Return the hyper-parameters that affect the claimed rule but no bit of the subject's answers."""
    tied = {"v0"} if setting.v0_is_tau_squared else set()
    free = [n for n in setting.numbers if n not in {*setting.fixed, *tied}]
    return tuple(n for n in free if _idle(n, setting, known, given, play))


def _idle(name: str, setting: Setting, known: Known, given: Given, play: Play) -> bool:
    tried = list(islice(_changed(name, setting, known, given), TRIED))
    return bool(tried) and all(_same(given[k], play(s) or ()) for k, s in tried)


def _changed(name: str, setting: Setting, known: Known, given: Given) -> Iterator[tuple[int, Scenario]]:
    """The cases, by number, with another value of a hyper-parameter, where that changes what is claimed and shown."""
    for k in given:
        s, names = known.samples[k], {*given[k][0]}
        before = s.case.hyper[name]
        # What is not drawn by itself is drawn beside another number, and no less than that one's square.
        pool = POOLS.get(name, (4 * before, 1.0))
        other = next((type(before)(v) for v in pool if v != before and (v or name not in setting.nonzero)), None)
        if other is not None:
            changed = with_hyper(s, **setting.tied({**s.case.hyper, name: other}))
            # What plays no part among usual numbers may play one far from them.
            away = valued(setting, s, name, far(name, before))
            others = {n for n in s.case.hyper if n != name}
            alone = [c for c in map(away.at, away.values) if all(c.case.hyper[n] == s.case.hyper[n] for n in others)]
            for case in (changed, *alone):
                if not _same(_claimed(known, s, names), _claimed(known, case, names)):
                    yield k, case


def _claimed(known: Known, s: Scenario, names: Collection[str]) -> list[dict[str, Any]]:
    """Claimed values of the quantities that a subject shows; empty if the claimed rule cannot run."""
    return [{n: a[n] for n in a.keys() & names} for a in known.claimed.answers(s)]


def _same(one: Sequence[Shown], two: Sequence[Shown]) -> bool:
    """True if both show the same values, bit for bit."""
    pairs = ((a[n], b[n]) for a, b in zip(one, two, strict=False) for n in a.keys() & b.keys())
    return 0 < len(one) == len(two) and all(np.array_equal(a, b) for a, b in pairs)


def reduced(setting: Setting, names: Sequence[str]) -> Iterator[Variant]:
    """Yield simpler rules without these hyper-parameters, or with neutral values for them, the simplest first."""
    mine = setting.numbers
    rows = [a for a in CATALOGUE.values() if setting.level in a.levels and a.id != setting.algorithm.id]
    for a in sorted(rows, key=lambda a: len(a.numbers_at(setting.level))):
        for said, options in _options(a, setting):
            own = a.numbers_under(setting.level, options)
            pins = {n: _neutral(n) for n in own if n in names or n not in mine}
            if len(own) < len(mine):
                told = " and ".join(f"{n} = {v:g}" for n, v in pins.items() if n in names)
                plain = f"plain {a.id}{said}{',' if said and told else ''}{' with ' if told else ''}{told}"
                yield Variant(
                    words=f"{without_effect(names)}: {plain}",
                    equation="",
                    algorithm=a.id,
                    options=options,
                    defects=(Defect(words="", given=lambda s, pins=pins: with_hyper(s, **pins)),),  # type: ignore[misc]
                    kind="rule",
                    names=({"idle": ", ".join(names)}, {"algorithm": a.id, "reading": a.readings[0].name}),
                )


def without_effect(names: Sequence[str]) -> str:
    """Return words for hyper-parameters that have no effect."""
    return f"{listed(names)} {'have' if len(names) > 1 else 'has'} no effect"


def _options(a: Algorithm, setting: Setting) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The canonical reading as far as the claim says nothing else; then by other weights than the claimed."""
    shared = {n: v for n, v in setting.options.items() if n in a.options}
    options = {**a.defaults(), **shared, **a.readings_at(setting.level)[0].fixes}
    yield "", options
    for weights in map(str, a.options.get("weights", ())):
        if weights != options["weights"]:
            yield f", weights = {weights}", {**options, "weights": weights}


def _neutral(name: str) -> float:
    """Value that makes a rule independent of a hyper-parameter: 1 for a rate or a count, 0 for a decay."""
    domain = DOMAINS[name].domain
    return 1.0 if not domain.holds(0) else 0.0
