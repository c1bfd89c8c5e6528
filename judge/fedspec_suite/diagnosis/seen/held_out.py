"""New cases, unused by any search, that confirm or correct the words for where a subject deviates.

The cases are drawn separately; no search has used them before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from fedspec.contract import Begin, Gradient, Messages, Round
from fedspec_suite.diagnosis.cases.beside_others import (
    HOLDING,
    NO_TWO,
    SHARES,
    History,
    histories,
    newcomers,
    taking_part,
)
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.edge_cases import runs
from fedspec_suite.measure.scenario import Scenario, arranged, with_sent
from fedspec_suite.measure.scheduled_cases import varied
from fedspec_suite.measure.seeded_draws import draw_cases
from fedspec_suite.measure.setting import Setting

COUNT = 40
"""Number of cases to draw."""

BOTH = 4
"""Number of cases with a feature, and number of cases without it, that are needed before the feature is named."""

MOSTLY = 0.5
"""Least share of deviating cases among those with a feature."""

CHANCE = 1e-4
"""Largest accepted probability that all cases without a feature follow the claim by chance."""

NEW = 6
"""Number of cases without returning clients, and of cases in which a client other than 0 returns."""

UNEVEN = (3, 1, 2, 1)
"""Numbers of local steps in four rounds of the same clients."""

TIMES = 100
"""Factor of the clients' examples in some cases, which distinguishes sizes from shares."""

SOME = (0.01, 0.03, 0.06, 0.09, 0.11, 0.2, 0.35, 0.45, 0.55, 0.7, 0.9)
"""Shares of the examples that one client has in some cases."""

Played = Sequence[tuple[Scenario, int]]
"""Played cases, each with the event from which it deviates, or -1."""

Covers = Callable[[Scenario, int], bool | None]
"""Predicate on a case up to an event: True if it has a feature, None if that is unknown."""


@lru_cache(maxsize=4)
def held_out(setting: Setting) -> tuple[Scenario, ...]:
    """Return cases of a setting that no search uses: up to six clients, and other sample sizes."""
    match setting.level:
        case "client":
            rich = scenarios(setting, steps=(2, 6), rounds=(1, 2))
        case "server":
            rich = scenarios(setting, rounds=(2, 5), clients=(setting.crowd, setting.crowd + 5))
        case "trace":
            rich = scenarios(setting, rounds=(4, 8), clients=(max(2, setting.crowd), setting.crowd + 4))
        case _:
            rich = scenarios(setting, rounds=(2, 4), clients=(setting.crowd, setting.crowd + 4))
    # The first draws are the simplest ones.
    found = [s for s in draw_cases(rich, COUNT + 4, seed=2)[4:] if not still(s)]
    cases = [_larger(s) if k % 3 == 0 else s for k, s in enumerate(found)]
    crowded = [s for s in cases if len(taking_part(s, s.events[0])) > 2]
    same = [alike(s) for s in crowded[2:10]]
    return (
        *cases,
        *(shared(s, p) for s in crowded[:2] for p in SOME),
        *same,
        *(_weighing(s, lambda i, n: TIMES) for s in (*same[:2], *crowded[:2])),
        *_of_kind(setting, cases),
        *_anew(setting, cases),
    )


def _of_kind(setting: Setting, cases: Sequence[Scenario]) -> Iterator[Scenario]:
    """Cases in which clients are new or take other steps than before, or in which gradients are zero at first."""
    few = cases[: 2 * NEW]
    match setting.level:
        case "client":
            yield from (quiet(s, k % 2 == 0) for k, s in enumerate(few))
        case "server":
            for zero in (False, True):
                yield from itertools.islice(filter(None, (newcomers(s, zero) for s in cases)), NEW)
        case "round":
            yield from map(unevenly, few)
            for made in (one_by_one, drawn_twice):
                yield from itertools.islice(filter(None, (made(setting, s) for s in cases)), NEW)


def _anew(setting: Setting, cases: Sequence[Scenario]) -> Iterator[Scenario]:
    """Cases in which steps or events are told their rates, where the subject's user may."""
    if not setting.each_rate and not setting.varies:
        return
    dice = np.random.default_rng(3)
    twice = (replace(s, events=(*s.events, Begin(s.case.x0), *s.events)) for s in cases[:NEW] if setting.each_rate)
    for s in (*cases[: 2 * NEW], *twice):
        yield varied(setting, s, lambda pool: pool[int(dice.integers(len(pool)))])


def still(s: Scenario) -> bool:
    """True if all messages are zero, so that no server moves the model."""
    sent = [m for e in s.events if isinstance(e, Messages) for m in e.messages]
    return bool(sent) and not any(a.any() for m in sent for a in m.delta.values())


def alike(s: Scenario) -> Scenario:
    """Give all clients of an event the first client's number of steps and norm."""

    def event(e: Any) -> Any:
        match e:
            case Messages(messages=(first, *_) as sent):
                same = (replace(m, steps=first.steps, a_norm=first.a_norm) for m in sent)
                return replace(e, messages=tuple(same))
            case Round(steps=(first, *others)):
                return replace(e, steps=(first,) * (1 + len(others)))
        return e

    return replace(s, events=tuple(map(event, s.events)))


def unevenly(s: Scenario) -> Scenario:
    """Return the case with four rounds of the first round's clients, with changing numbers of steps."""
    first = s.events[0]
    assert isinstance(first, Round)
    rounds = (replace(first, steps=(tau,) * len(first.steps)) for tau in UNEVEN)
    return replace(s, events=tuple(rounds))


def one_by_one(setting: Setting, s: Scenario) -> Scenario | None:
    """Return the case with one client per round, so that no client returns; None if that is impossible."""
    first = s.events[0]
    if not isinstance(first, Round) or setting.everyone or "everyone" in setting.takes:
        return None
    rows = {i: k for k, i in enumerate(first.participants)}
    return replace(s, events=tuple(arranged(first, [k]) for k in rows.values())) if len(rows) > 1 else None


def drawn_twice(setting: Setting, s: Scenario) -> Scenario | None:
    """Draw the first client of each round again, with one more step; None if the algorithm forbids it."""
    if "repeats" not in setting.takes:
        return None

    def event(e: Any) -> Any:
        again = arranged(e, [*range(len(e.participants)), 0])
        return replace(again, steps=(*again.steps[:-1], again.steps[-1] + 1))

    made = replace(s, events=tuple(map(event, s.events)))
    return made if runs(made) else None


def quiet(s: Scenario, one: bool) -> Scenario:
    """Set the first gradient of each round to zero, in the last block only (``one``) or in all blocks."""
    events: list[Any] = []
    since = 0
    for e in s.events:
        since = since + 1 if isinstance(e, Gradient) else 0
        if isinstance(e, Gradient) and since == 1:
            last = [*e.g][-1]
            e = replace(e, g={n: a if one and n != last else a * 0 for n, a in e.g.items()})
        events.append(e)
    return replace(s, events=tuple(events))


def shared(s: Scenario, share: float) -> Scenario:
    """Change the sample sizes so that the last client of the first event has about the given share."""
    *others, last = taking_part(s, s.events[0])
    rest = TIMES * sum(c.weight for c in others)
    wanted = round(share / (1 - share) * rest)
    return _weighing(s, lambda i, n: wanted if i == last.number else TIMES * n)


def _larger(s: Scenario) -> Scenario:
    """The case with many times as many examples of each client."""
    return _weighing(s, lambda i, n: TIMES * n)


def _weighing(s: Scenario, examples: Callable[[int, Any], Any]) -> Scenario:
    """The case with other numbers of examples, by the number of a client and how many it has."""
    problem = s.case.problem
    if problem is not None:
        sizes = [examples(i, n) for i, n in enumerate(problem.examples.tolist())]
        problem = replace(problem, examples=np.array(sizes, problem.examples.dtype))
    sized = replace(s, case=replace(s.case, problem=problem))
    return with_sent(sized, lambda m: replace(m, weight=examples(m.client, m.weight)))


def contradicted(covers: Sequence[Covers], played: Played) -> bool:
    """True if some case deviates and has none of the features."""
    return any(all(c(s, first) is False for c in covers) for s, first in played if first >= 0)


def how_often(covers: Sequence[Covers], played: Played) -> tuple[int, int]:
    """Count the deviating cases with one of the features, and all cases with one of the features."""
    having = [first >= 0 for s, first in played if any(c(s, _end(s, first)) is True for c in covers)]
    return sum(having), len(having)


def always(covers: Sequence[Covers], played: Played) -> bool:
    """True if every case with one of the features deviates."""
    deviating, there = how_often(covers, played)
    return deviating == there


def _end(s: Scenario, first: int) -> int:
    return first if first >= 0 else len(s.events) - 1


def related(played: Played, stands: Callable[[str], bool] = lambda words: True) -> tuple[str, int]:
    """Return words for the feature of clients relative to one another that decides, and the number of cases without it.

    Every deviating case has the feature in the event in which the deviation begins; some cases lack the feature and
    follow the claim. If no feature tells, the words are empty.

    Args:
        played: the cases.
        stands: the predicate on a feature's words: True if the feature decides in cases made for it.
    """
    found: list[tuple[float, str, str, int]] = []
    for words, holds in HOLDING.items():
        if _vacuous(words, played) or _alone_only(words, played):
            continue
        if all(_any(holds, s, first, alone=True) for s, first in played if first >= 0):
            cases = [(_any(holds, s, _end(s, first)), first >= 0) for s, first in played]
            often = sum(has and deviates for has, deviates in cases), sum(has for has, _ in cases)
            share, lacking = _telling(cases)
            if share:
                found.append((share, words, words if share == 1 else not_always(words, often), lacking))
    for words, (size, upper) in SHARES.items():
        if bound := _bound(size, upper, played):
            found.append((1.0, words, words.format(bound), sum(first < 0 for _, first in played)))
    # The first of several that tell as much.
    found.sort(key=lambda f: -f[0])
    return next(((said, lacking) for _, words, said, lacking in found if stands(words)), ("", 0))


def _vacuous(words: str, played: Played) -> bool:
    """True if norms are meant that are the numbers of steps in all these cases: they say nothing of their own."""
    if "||a_i||_1" in words:
        sent = [c for s, _ in played for e in s.events for c in taking_part(s, e)]
        return all(c.norm is None or c.norm == c.steps for c in sent)
    return False


def _alone_only(words: str, played: Played) -> bool:
    """True if no two clients are meant to differ, and each case that deviates has one client there."""
    there = [len(taking_part(s, s.events[first])) for s, first in played if first >= 0]
    return words.startswith(NO_TWO) and all(n == 1 for n in there)


def not_always(words: str, often: tuple[int, int]) -> str:
    """Return words for a feature that all deviating cases have, and some following ones.

    Args:
        words: the feature.
        often: number of deviating cases with the feature, and number of all cases with it.
    """
    deviating, there = often
    if words.startswith("where "):
        return f"in {deviating} of {there} cases in which {words.removeprefix('where ')}"
    return f"{'' if words.startswith('unless ') else 'only '}{words}, in {deviating} of {there} such cases"


def _any(holds: Callable[[Scenario, int], bool | None], s: Scenario, last: int, alone: bool = False) -> bool:
    """True if a feature holds in some event of a case up to event ``last``; if ``alone``, in event ``last``."""
    return any(holds(s, k) for k in range(last if alone else 0, last + 1))


def _telling(cases: Sequence[tuple[bool, bool]]) -> tuple[float, int]:
    """The share of the cases with a feature that deviate, and how many lack it; 0 where it tells too little.

    What nearly all cases have is had by those that deviate too: it tells where most of them do, and twice as many as of
    all cases, or all.
    """
    having = [deviates for has, deviates in cases if has]
    lacking = [deviates for has, deviates in cases if not has]
    if any(lacking) or len(lacking) < BOTH or sum(having) < BOTH:
        return 0.0, 0
    share, of_all = sum(having) / len(having), sum(having) / len(cases)
    # Where most cases deviate, that none without the feature does may be no chance.
    tells = share == 1 or (share >= MOSTLY and (share >= 2 * of_all or (1 - of_all) ** len(lacking) < CHANCE))
    return (share, len(lacking)) if tells else (0.0, 0)


def _bound(size: Callable[[History], float | None], upper: bool, played: Played) -> str:
    """Shortest number between the values of events that follow the claim and of deviating events; empty if none is."""
    sign = 1 if upper else -1
    following, deviating = [], []
    for s, first in played:
        sizes = [size(h) for h in histories(s, _end(s, first))]
        if first >= 0:
            deviating += [v for v in sizes[-1:] if v is not None]
            sizes.pop()
        following += [v for v in sizes if v is not None]
    if len(deviating) < BOTH or len(following) < BOTH:
        return ""
    most, least = max(sign * v for v in following), min(sign * v for v in deviating)
    if most >= least:
        return ""
    for digits in range(1, 7):
        near = round(most * 10**digits) / 10**digits
        for bound in (near, near + 10**-digits):
            if most <= bound < least:
                return f"{abs(bound):.{digits}f}".rstrip("0").rstrip(".")
    return ""
