"""Law of a resumed run: a session that was saved and restored after every event gives the bits of one that was not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import LEVELS, Event
from fedspec_suite.laws.applicability import resumes
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.lost_state import named
from fedspec_suite.laws.relations import same_bits
from fedspec_suite.measure.bench import Bench, Shown
from fedspec_suite.measure.cases import client_scenarios, scenarios
from fedspec_suite.measure.process import SubjectError, SubjectHangs
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation

SAVED = "saving changes what comes after"
RESUMED = "the resumed run is another run"


def _cases(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Cases of at least three events: what is lost at the first restore and what is stale at it are one thing."""
    if setting.level == "client":
        return client_scenarios(setting, steps=(3, 5))
    arrivals = getattr(setting.algorithm.run, "event", "") == "arrival"
    return scenarios(setting, rounds=(6, 9) if arrivals else (3, 4))


def _play(bench: Bench, s: Scenario, *, restores: bool) -> list[Shown]:
    """Play a case that is saved after every event, and perhaps goes on in another session each time.

    A subject in a process of its own goes on in a new process once, in the middle and in its first type: to start one
    after each event would take most of the time, and what a process keeps for all its sessions is lost there too.

    Raises:
        Deviates: the session can't be saved or restored.
    """
    out: list[Shown] = []
    session: Any = bench.subject.start(s.case)
    for k, event in enumerate(s.events):
        out.append(bench.read(session.step(event), s, k, describe(event)))
        if k == len(s.events) - 1:
            break
        where = f"{describe(event)} {k + 1}"
        saved = _asked(bench, where, "save", session.save)
        if restores:
            if k == len(s.events) // 2 - 1 and bench.dtype == bench.offer.dtypes[0]:
                getattr(bench.subject, "afresh", lambda: None)()
            else:
                getattr(session, "stop", lambda: None)()
            session = bench.subject.start(s.case)
            _asked(bench, where, "restore", session.restore, saved)
    getattr(session, "stop", lambda: None)()
    return out


def _asked(bench: Bench, where: str, what: str, method: Any, *given: bytes) -> Any:
    try:
        return method(*given)
    except SubjectHangs:
        raise
    except SubjectError as error:
        note = f"{what} fails: {str(error).removeprefix('subject: ')}"
        raise Deviates(Deviation(bench.step_equation, where, note=note)) from error


def _resumes(bench: Bench, s: Scenario) -> None:
    alone = bench.both(s)[1]
    same_bits(bench, s, alone, _play(bench, s, restores=False), SAVED)
    same_bits(bench, s, alone, _play(bench, s, restores=True), RESUMED)


def _say_what(bench: Bench, s: Scenario, broken: Deviates) -> Deviates:
    """The deviation, with the part of the state that explains the resumed run."""
    if broken.deviation.note != RESUMED:
        return broken
    words = named(bench, s, _play(bench, s, restores=True))
    at = before(s.events, broken.deviation.event)
    return Deviates(replace(broken.deviation, note=f"{RESUMED}: {words} (restored after {at})"))


def before(events: Sequence[Event], number: int) -> str:
    """Name of the event before an event, counted from 1."""
    return f"{describe(events[max(0, number - 2)])} {max(1, number - 1)}"


LAWS = (
    Law(
        id="resumes",
        words="a run that is saved and restored after every round or step gives the same bits",
        levels=LEVELS,
        source="purity",
        cases=_cases,
        check=_resumes,
        applies=resumes,
        costs=30,
        simplify=_say_what,
    ),
)
