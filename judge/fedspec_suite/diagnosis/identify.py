"""Identification: the reading, known edit or generic defect, alone or in pairs, that reproduces a subject's numbers."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

import numpy as np

from fedspec.arith import Array
from fedspec.chain import Word
from fedspec.rounding import TYPES, passed
from fedspec_suite.diagnosis.cases.resized import scaled
from fedspec_suite.diagnosis.comparing import Evidence, Given, agrees, evidence, measured
from fedspec_suite.diagnosis.diagnosis import AT_ONCE, Diagnosis
from fedspec_suite.diagnosis.forced import Played, given_names
from fedspec_suite.diagnosis.found import Found, first
from fedspec_suite.diagnosis.known import Known, known_of
from fedspec_suite.diagnosis.lasting import Larger
from fedspec_suite.diagnosis.search import Search, showing, stages, two_at_once
from fedspec_suite.diagnosis.seen.course import course
from fedspec_suite.diagnosis.seen.decimals import absolutely
from fedspec_suite.diagnosis.seen.digits import Model, compared, kept_beside, kept_in, relative, seen
from fedspec_suite.diagnosis.seen.first_equation import begins
from fedspec_suite.diagnosis.seen.gates import Decided, gates, in_what_is_shown
from fedspec_suite.diagnosis.seen.held_out import held_out
from fedspec_suite.diagnosis.seen.idle import idle, reduced, without_effect
from fedspec_suite.diagnosis.seen.shown import along, shown
from fedspec_suite.diagnosis.shrinking import Link, chains
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.diagnosis.written import rates, weights
from fedspec_suite.diagnosis.written.card import card
from fedspec_suite.diagnosis.written.plays import played
from fedspec_suite.diagnosis.written.shown import Own, several
from fedspec_suite.diagnosis.written.synthesis import written
from fedspec_suite.measure.bench import UNPLAYED, WORDS, Bench, Shown, of_models
from fedspec_suite.measure.scenario import Scenario, change_events
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, listed

NOWHERE = re.compile(r"^x\[\d+\] is (nan|-?inf)")
"""Pattern of the words for a model that isn't finite."""

PLAYED = re.compile(r"in the \d+ cases played ")
"""Pattern of the sentence on a deviation in only a part of the model."""


FRESH = 16
"""Number of new cases on which such a sentence, or a pair of mistakes, is confirmed."""

FEW = 6
"""Number of samples on which all variants run on what the subject shows."""

ROUNDED = {"server": "each client's change", "client": "each gradient"}
"""Words for what an event brings, by level."""

MANY_DIGITS = 0.739
"""Factor that gives the samples' inputs as many digits as their type has."""

ELSEWHERE = 4
"""Number of deviating cases to explain if a subject follows its claim in all samples."""


@np.errstate(all="ignore")
def identify(
    bench: Bench,
    setting: Setting,
    further: bool = False,
    broken: Sequence[Scenario] = (),
    search: Search | None = None,
) -> Diagnosis:
    """Diagnose an offer by comparing the subject's answers on sample cases with known variants, the simplest first.

    Args:
        bench: the offer.
        setting: the setting of the claim.
        further: True: look beyond these cases if the subject follows the claim in them.
        broken: cases in which laws found it to deviate, which nothing may contradict that is said of where it does.
        search: the bound of the search, and who hears of its progress; by default no bound and nobody.
    """
    known = known_of(setting)
    given = _played(bench, known.samples)
    if not given:
        return Diagnosis(0, float("inf"))
    # As every other: where rounding leaves much open, what stays as it is under other roundings is decided.
    told = evidence(known, given)
    claim = measured(known, known.claimed, given, told)
    diagnosed = partial(Diagnosis, len(given), claim.ratio)
    if claim.near and not claim.unlike:
        decide = gates(bench, setting, known, given, broken) if further else Decided()
        found = _elsewhere(bench, known, given, decide.deviating[:ELSEWHERE])
        if further and not found and (decimals := absolutely(bench, _samples(known, given))):
            return diagnosed(decimals=decimals)
        numbers = _narrow(bench, known, given) if broken and not found else ""
        return diagnosed(found, numbers, gates=decide.words, beside=decide.beside)
    unlike = claim.unlike if claim.near else ()
    by_name = _compared(known, known.samples, given)
    of_x = by_name.pop("x", [])
    if not unlike and (held := kept_in(of_x, setting.dtype) or kept_beside(by_name, setting.dtype)):
        return diagnosed(seen=held)
    names, beyond = ("x", *unlike), Larger(bench, setting, known, given, lambda: held_out(setting)[:FRESH])
    silent = () if unlike else idle(setting, known, given, lambda s: _played(bench, (s,)).get(0))
    search = search or Search()
    read = [v.options for v in known.variants if v.kind == "reading" and v.algorithm == setting.algorithm.id]
    # What moves the model around a step is no part of an equation.
    solved = cache(lambda: Own() if setting.steps else several(bench, setting, read))
    own = () if setting.steps else _own(bench, setting, solved)
    kept = sorted({n for answers in given.values() for n in answers[0]} - {*WORDS})
    every = [(known.samples[k], answers) for k, answers in given.items()]
    few = every[:FEW]
    off = sorted({*kept} - given_names(known, known.claimed, few, kept))
    seen = cache(lambda: showing(known, lambda v: given_names(known, v, few, off)) if len(off) > 1 else [])
    single = stages(
        search,
        known,
        setting,
        told,
        bool(unlike),
        own,
        lambda: solved().halves,
        seen,
        lambda half: () if setting.steps else written(bench, setting, half),
    )
    found = first(chain(_simpler(known, setting, silent), single), known, given, told, names, beyond)
    if all(f.small for f in found) and not unlike and (decimals := absolutely(bench, _samples(known, given))):
        return diagnosed(decimals=decimals, passes=search.passes)
    if all(f.small or _is_partial(f) for f in found) and not unlike:
        # What fits in small cases alone is no reason to look no further.
        two = two_at_once(search, known, setting, told, lambda: _chains(bench, known, setting, told), seen())
        # Of two mistakes that fit in small cases alone too many pairs do, and many leave out what is shown beside x.
        both = tuple(f for f in first(two, known, given, told, names, beyond) if not f.small)
        found = found if found and any(f.unlike for f in both) else both or found
    if found:
        return diagnosed(_ineffective(silent, found), unlike=unlike, passes=search.passes)
    if unlike:
        there = in_what_is_shown(bench, known, setting, broken) if further else Decided()
        fitted = "" if there.words else shown(known, given, unlike)
        return diagnosed(
            seen=fitted or begins(known, given),
            fitted=bool(fitted),
            unlike=unlike,
            gates=there.words,
            beside=there.beside,
            search=str(search),
            passes=search.passes,
        )
    decide = gates(bench, setting, known, given, broken)
    numbers = _seen(bench, known, given)
    if decide.words and numbers.startswith("from "):
        # From which event on, and in how many samples, says less.
        numbers = ""
    if NOWHERE.search(numbers):
        # What such numbers show of a rule, they show of any.
        return diagnosed(seen=numbers, search=str(search), passes=search.passes)
    like = [f"in usual cases as if {words}, but not {where}" for words, where in [*beyond.refuted.items()][:1]]
    beside = ": ".join(filter(None, (along(known, told), begins(known, given))))
    plays = played(bench, setting)
    own_numbers = weights.observed(plays, alike=False) or rates.observed(bench, setting) or weights.observed(plays)
    half = next((f"the numbers that you return give {v.words}" for v in solved().halves), "")
    if not half and seen():
        half = half_of(known, seen(), [*every, *beyond.fresh], off)
    facts = own_numbers or card(bench, setting, known.claimed)
    words = [
        numbers,
        half,
        *like,
        beside,
        facts,
        course(bench, known.samples),
        without_effect(silent) if silent else "",
    ]
    # That it deviates at once comes last: where the first deviation is shown, it says that too.
    return diagnosed(
        seen="; ".join(filter(None, words[::-1] if words[0] == AT_ONCE else words)),
        gates=decide.words,
        beside=decide.beside,
        search=str(search),
        passes=search.passes,
    )


def half_of(known: Known, seen: Iterable[Variant], every: Played, off: Sequence[str]) -> str:
    """Name the first variant that gives some deviating quantities in all cases, since many do in few; else empty."""
    for v in seen:
        if names := given_names(known, v, every, off):
            return f"{listed(sorted(names))} that you return follow from this: {v.words}"
    return ""


def _own(bench: Bench, setting: Setting, solved: Callable[[], Own]) -> Iterator[Variant]:
    """The subject's own equations: those that it shows, one that it doesn't show, or one beside those that it shows."""
    many = [v for v in solved().whole if v.parts > 1]
    yield from many
    # A single equation may be a schedule, or weights.
    yield from () if many else written(bench, setting)
    yield from (v for v in solved().whole if v.parts == 1)
    for half in solved().halves[:1]:
        yield from written(bench, setting, half)


def _is_partial(f: Found) -> bool:
    """True if an equation gives the models and not what is shown beside them: two mistakes may, written as one."""
    return f.kind == "written" and bool(f.unlike)


def _samples(known: Known, given: Given) -> list[Scenario]:
    """The samples that the subject played."""
    return [known.samples[k] for k in given]


def _elsewhere(bench: Bench, known: Known, given: Given, cases: tuple[Scenario, ...]) -> tuple[Found, ...]:
    """Named variants that give all of a subject's models, in the samples, where it follows, and in cases where not."""
    answers = _played(bench, cases)
    if len(answers) < len(cases):
        return ()
    wider = replace(known, samples=(*cases, *known.samples))
    all_given = {**answers, **{len(cases) + k: a for k, a in given.items()}}
    told = evidence(wider, all_given)
    if told.head is None:
        return ()
    beyond = Larger(bench, known.setting, wider, all_given)
    # In one case many names fit by chance; a schedule has been found in several long ones.
    rated = rates.scheduled(known.setting, rates.factors(bench, known.setting))
    named = [known.variants, known.edits] if len(cases) > 1 else []
    return first([*named, rated], wider, all_given, told, ("x",), beyond)


def _simpler(known: Known, setting: Setting, silent: tuple[str, ...]) -> Iterator[Iterable[Variant]]:
    """Variants to try before another algorithm is named, if hyper-parameters have no effect."""
    if silent:
        yield [v for v in known.variants if v.kind != "rule"]
        yield reduced(setting, silent)


def _ineffective(silent: tuple[str, ...], found: tuple[Found, ...]) -> tuple[Found, ...]:
    """The variants found, another algorithm only after the hyper-parameters without effect."""
    if not silent:
        return found
    said = without_effect(silent)
    if found[0].words.startswith(said):
        # Simpler ones come first; others give the same in these cases.
        return found[:1]
    return tuple(replace(f, words=f"{said}: {f.words}") if f.kind == "rule" else f for f in found)


def _chains(bench: Bench, known: Known, setting: Setting, told: Evidence) -> tuple[tuple[Link, ...], ...]:
    """The case in which a subject deviates soonest, made plainer."""

    def asked(s: Scenario) -> tuple[int, list[Shown]] | None:
        answers = _played(bench, (s,))
        head = evidence(known, answers, (s,)).head if answers else None
        return (head[1], answers[0]) if head else None

    return chains(setting, known.samples[told.head[0]], asked) if told.head else ()


def _seen(bench: Bench, known: Known, given: Given) -> str:
    """Describe the numbers; that one part of the model alone deviates is said only if it does so in fresh cases too."""
    said = _of_numbers(known, known.samples, given)
    if PLAYED.search(said):
        fresh = held_out(known.setting)[:FRESH]
        again = _of_numbers(known, fresh, _played(bench, fresh))
        if PLAYED.sub("", again) != PLAYED.sub("", said):
            return ""
    return said


def _narrow(bench: Bench, known: Known, given: Given) -> str:
    """Name the type to which a subject rounds its inputs; the samples' inputs are short enough for any type."""
    if known.setting.level not in ROUNDED or known.setting.messages:
        return ""
    cases = [scaled(s, MANY_DIGITS) for s in _samples(known, given)]
    played = _played(of_models(bench), cases)
    if all(agrees(known.claimed, cases[k], played[k]) for k in played):
        # It rounds nothing that floats would show.
        return ""
    for name in TYPES:
        short = partial(_passed, Word(name))
        if all(agrees(known.claimed, change_events(cases[k], short), played[k]) for k in played):
            meant = f': if that is meant, claim messages=("{name}",)' if known.setting.level == "server" else ""
            return f"{ROUNDED[known.setting.level]} is rounded to {name}{meant}"
    return ""


def _passed(link: Word, a: Array) -> Array:
    """An array of one message after a link of a chain."""
    return np.asarray(passed(link, a.reshape(-1), 1, ())).reshape(a.shape)


def _compared(known: Known, samples: Sequence[Scenario], given: Given) -> dict[str, list[Model]]:
    """The subject's models, and its intermediates, beside the wanted ones, by name."""
    found: dict[str, list[Model]] = {}
    for k, answers in given.items():
        exact = known.exact(known.claimed, k) if samples is known.samples else known.claimed.bounded(samples[k])
        for j, (got, want) in enumerate(zip(answers, exact or (), strict=False)):
            for name in sorted((got.keys() & want.keys()) - {*WORDS}):
                if name == "x" or (np.shape(got[name]) == np.shape(want[name]) and np.size(want[name])):
                    one = compared(k, j, got[name], want[name], samples[k].case.dtype)
                    found.setdefault(name, []).append(one)
    return found


def _of_numbers(known: Known, samples: Sequence[Scenario], given: Given) -> str:
    by_name = _compared(known, samples, given)
    models = by_name.pop("x", [])
    most = max((relative(m.got, m.want) for some in by_name.values() for m in some), default=0.0)
    return seen(samples, models, most) if models else ""


def _played(bench: Bench, samples: Iterable[Scenario]) -> dict[int, list[Shown]]:
    """The answers to each sample; the models alone where an intermediate is missing or is no vector."""
    models = of_models(bench)
    given: dict[int, list[Shown]] = {}
    for k, s in enumerate(samples):
        for asked in (bench, models):
            try:
                # A subject may write into what it is given.
                given[k] = asked.play(copy.deepcopy(s))
            except Deviates:
                continue
            except UNPLAYED:
                pass
            break
    return given
