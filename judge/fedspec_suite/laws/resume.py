"""Law of resumed runs: a session that is saved and restored after every event gives the same bits as without."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import LEVELS, Begin, Event, Round
from fedspec.schedules import Every, schedule_of
from fedspec_suite.laws.applicability import resumes
from fedspec_suite.laws.law import PURITY, Law
from fedspec_suite.laws.lost_state import ROUNDED, named
from fedspec_suite.laws.relations import same_bits
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.portable_rng import PortableRng
from fedspec_suite.measure.process import SubjectError, SubjectHangs
from fedspec_suite.measure.scenario import Scenario, arranged, describe, picked, with_dtype
from fedspec_suite.measure.seeded_cases import Draws, draw_case
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.measure.verdict import Deviates, Deviation

SAVED = "saving changes what comes after"
OTHERS = 4
"""Number of other cases that are looked at if the resumed run differs by rounding alone."""

RESUMED = "the resumed run gives other models"


def _cases(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Cases with as many events as small ones have at most, in which no change or gradient is zero.

    What is lost at a restore shows in the next event, and only a third event tells lost from stale.
    """
    return st.integers(0, 10**6).map(partial(_dealt, setting))


def _dealt(setting: Setting, number: int) -> Scenario:
    tries = (f"resumed {number}{' again' * k}" for k in range(TRIES))
    drawn = (draw_case(Draws(setting, PortableRng(said), frozenset(), full=True)) for said in tries)
    first = next(drawn)
    # What waits in a buffer of one update is nothing, and the count of what waits in one of two is always 1.
    s = _past_counts(setting, max([first, *drawn], key=_waiting) if "buffer" in first.case.hyper else first)
    if "everyone" not in setting.takes:
        s = _sitting_out(_in_reverse(s))
        s = _renumbered(_coming_late(s) if number % 2 else s)
    return with_dtype(s, setting.dtype)


def _waiting(s: Scenario) -> int:
    return min(int(s.case.hyper["buffer"]), 3)


TRIES = 6
"""Number of cases of which the first is taken whose buffer, if it has one, holds most updates, of three at most."""

COUNTED = ("buffer", "z", "epoch", "N", "P", "tau_c")
"""Hyper-parameters that count events: a buffer's size, periods and delays."""


def _past_counts(setting: Setting, s: Scenario) -> Scenario:
    """The case, repeated until what counts events has an effect: a schedule changes its rate, a buffer is full twice.

    A shorter run gives the same models if the count is lost at a restore.
    """
    changes = [schedule_of(said) for said in setting.schedules.values()]
    reached = range(setting.reach.rounds)
    moved = [next((t + 2 for t in reached if c.factor(t) != c.factor(0)), 0) for c in changes]
    least = max([*moved, *(2 * int(s.case.hyper[n]) + 1 for n in COUNTED if n in s.case.hyper)], default=0)
    counted = [e for e in s.events if not isinstance(e, Begin)]
    rounds = setting.level == "client" and any(c.every is Every.ROUND for c in changes)
    times = -(-least // (1 if rounds else len(counted)))
    if times < 2 or least > setting.reach.rounds:
        return s
    if setting.level != "client":
        return replace(s, events=s.events * times)
    # Steps count within a round, so that the last round gets longer unless rounds count.
    begin = next((e for e in s.events if isinstance(e, Begin)), Begin(s.case.x0))
    return replace(s, events=(*s.events, *((begin, *counted[:2]) if rounds else counted) * (times - 1)))


def _in_reverse(s: Scenario) -> Scenario:
    """The case whose first participants come in descending order, so that a list of them isn't one of all clients."""
    first, *rest = s.events
    if not isinstance(first, Round):
        return s
    places = sorted(range(len(first.participants)), key=lambda k: -first.participants[k])
    return replace(s, events=(arranged(first, places), *rest))


def _sitting_out(s: Scenario) -> Scenario:
    """The case whose first client sits out the round before the last, so that a save has to hold what it keeps."""
    if len(s.events) < 3:
        return s
    *before, absent, last = s.events
    if not (isinstance(absent, Round) and isinstance(last, Round) and len(set(absent.participants)) > 1):
        return s
    there = [k for k, i in enumerate(absent.participants) if i != last.participants[0]]
    return replace(s, events=(*before, arranged(absent, there), last))


def _renumbered(s: Scenario) -> Scenario:
    """The case with other numbers of its clients, some of two digits: as text, 10 comes before 2."""
    problem = s.case.problem
    rounds = [e for e in s.events if isinstance(e, Round)]
    if problem is None or len(rounds) < len(s.events) or len(problem.e) > CLIENTS:
        return s
    # 5 and 12 have no common factor, so that no two clients get one number.
    old = {(2 + 5 * i) % CLIENTS: i for i in range(len(problem.e))}
    numbers, there = [*old], picked(problem, [old.get(k, 0) for k in range(CLIENTS)])
    events = tuple(replace(e, participants=tuple(numbers[i] for i in e.participants)) for e in rounds)
    return replace(s, case=replace(s.case, problem=there), events=events)


CLIENTS = 12
"""Number of clients of such a case."""


def _coming_late(s: Scenario) -> Scenario:
    """The case in which the last client takes part in the last round alone, so that those seen aren't all."""
    *before, last = s.events
    if not isinstance(last, Round):
        return s
    late, events = max(last.participants), list[Event]()
    for e in before:
        there = [k for k, i in enumerate(e.participants) if i != late] if isinstance(e, Round) else []
        events.append(arranged(e, there) if isinstance(e, Round) and there else e)
    return replace(s, events=(*events, last))


def _play(bench: Bench, s: Scenario, places: Iterable[int], fresh: int | None = None) -> list[Shown]:
    """Play a case that is saved after every event, and goes on in another session after some.

    Args:
        bench: the bench of the subject that plays.
        s: the case.
        places: the events after which another session goes on, counted from 0.
        fresh: the event after which a subject in a process of its own goes on in a new process, too.

    Raises:
        Deviates: the session can't be saved or restored.
    """
    out: list[Shown] = []
    session: Any = bench.subject.start(s.case)
    stepped: Any = session.step
    for k, event in enumerate(s.events):
        out.append(bench.read(stepped(event), s, k, describe(event)))
        if k == len(s.events) - 1:
            break
        where = f"{describe(event)} {k + 1}"
        saved = _asked(bench, where, "save", session.save)
        if k in places:
            if k == fresh:
                getattr(bench.subject, "afresh", lambda: None)()
            else:
                getattr(session, "stop", lambda: None)()
            session = bench.subject.start(s.case)
            _asked(bench, where, "restore", session.restore, saved)
            stepped = partial(_asked, bench, where, "the event after restore", session.step)
    getattr(session, "stop", lambda: None)()
    return out


def _asked(bench: Bench, where: str, what: str, method: Any, *given: object) -> Any:
    try:
        return method(*given)
    except SubjectHangs:
        raise
    except SubjectError as error:
        note = f"{what} fails: {str(error).removeprefix('adapter: ')}"
        raise Deviates(Deviation(bench.step_equation, where, note=note)) from error


def _everywhere(bench: Bench, s: Scenario) -> list[Shown]:
    """The run that is interrupted after every event; by a new process once, in the middle and in the first type.

    To start a process after each event would take most of the time.
    """
    middle = len(s.events) // 2 - 1
    return _play(bench, s, range(len(s.events)), middle if bench.dtype == bench.offer.dtypes[0] else None)


def _resumes(bench: Bench, s: Scenario) -> None:
    alone = bench.both(s)[1]
    same_bits(bench, s, alone, _play(bench, s, ()), SAVED)
    same_bits(bench, s, alone, _everywhere(bench, s), RESUMED)


def _named(bench: Bench, s: Scenario) -> str:
    last = len(s.events) - 2
    return named(bench, s, _play(bench, s, (last,), last), _everywhere(bench, s))


def _say_what(bench: Bench, s: Scenario, broken: Deviates) -> Deviates:
    """The deviation, with the part of the state that explains the resumed run."""
    if broken.deviation.note != RESUMED:
        return broken
    words = _named(bench, s)
    if ROUNDED in words:
        # What differs by rounding in this case may be another number in the next one.
        others = (_named(bench, _dealt(setting_of(bench.offer, bench.dtype), k)) for k in range(OTHERS))
        words = next((other for other in others if ROUNDED not in other and other.startswith("after")), words)
    k = max(1, broken.deviation.event - 1)
    at = f"{describe(s.events[k - 1])} {k}"
    said = f"{words}: {RESUMED}" if words.startswith("after") else f"{RESUMED}: {words}"
    return Deviates(replace(broken.deviation, note=f"{said} (restored after {at})"))


LAWS = (
    Law(
        id="resumes",
        words="a run that is saved and restored after every round or step gives the same bits",
        levels=LEVELS,
        source=PURITY,
        cases=_cases,
        check=_resumes,
        applies=resumes,
        costs=15,
        simplify=_say_what,
    ),
)
