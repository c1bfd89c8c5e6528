"""Two diagnoses run in one process, at once or one inside the other, and leave the specification as it is."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.contract import Answer, Case, Event, Session, Subject
from fedspec.mixing import accumulation
from fedspec.reference import SUBJECT
from fedspec_suite.diagnosis.identify import identify, in_words
from fedspec_suite.kills.asking import offered, offers_of
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.mutants import MUTANTS, Mutant, Mutated

UNNAMED = (
    Mutant(
        id="first-gradient-again",
        words="",
        algorithms=("adam",),
        rule="fedspec.client.adam.adam",
        old="beta1 * state.m",
        new="beta1 * (g if state.t == 1 else state.m)",
    ),
    Mutant(
        id="odd-counts-doubled",
        words="",
        algorithms=("fedavg",),
        rule="fedspec.mixing.weighted.weighted_mean",
        old="weigh(p, deltas)",
        new="weigh(p, deltas) * (1 + len(p) % 2)",
    ),
)
"""Mistakes that have no name, so that everything is tried: edits, defects, and two at once."""

SUBJECTS = (MUTANTS["scaffold-sent-whole"], UNNAMED[0])


class Watching:
    """A mutant that calls something in each step."""

    def __init__(self, mutant: Mutant, call: Callable[[], None]) -> None:
        self.inner, self.call = Mutated(mutant), call
        self.info = self.inner.info

    def start(self, case: Case) -> Session:
        return _Session(self.inner.start(case), self.call)


class _Session:
    def __init__(self, inner: Session, call: Callable[[], None]) -> None:
        self.inner, self.call = inner, call

    def step(self, event: Event) -> Answer:
        self.call()
        return self.inner.step(event)


def said(mutant: Mutant, subject: Subject | None = None) -> str:
    """What a diagnosis says of a mutant on its first offer."""
    number = offers_of(mutant)[0]
    offer, setting = SUBJECT.info.offers[number], offered(number)
    found = identify(bench_of(Inside(subject or Mutated(mutant)), offer, setting), setting, further=True)
    return f"{in_words(found, True)} {found}"


@pytest.fixture(scope="module")
def alone() -> dict[str, str]:
    return {m.id: said(m) for m in SUBJECTS}


@pytest.fixture
def in_turn() -> Iterator[None]:
    """Threads that take turns often."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.mark.night
@pytest.mark.usefixtures("in_turn")
def test_two_at_once_say_what_each_says_alone(alone: Mapping[str, str]) -> None:
    found: dict[str, str] = {}
    threads = [threading.Thread(target=lambda m=m: found.update({m.id: said(m)})) for m in SUBJECTS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == alone


@pytest.mark.slow
def test_one_that_begins_inside_another_says_the_same(alone: Mapping[str, str]) -> None:
    inner, outer = SUBJECTS
    steps, found = iter(range(10**6)), list[str]()

    def call() -> None:
        if next(steps) in {3, 40}:
            found.append(said(inner))

    assert said(outer, Watching(outer, call)) == alone[outer.id]
    assert found == [alone[inner.id]] * 2


@pytest.mark.night
def test_no_module_and_no_row_ever_changes() -> None:
    """Neither while a subject takes its steps, nor while a candidate does, nor afterwards."""
    before = specification()

    class Guarded(ModuleType):
        def __setattr__(self, name: str, value: Any) -> None:
            if name == "__class__":
                return super().__setattr__(name, value)
            raise AssertionError(f"{self.__name__}.{name} is set")

    def unchanged() -> None:
        now = specification()
        assert now.keys() >= before.keys()
        assert not [key for key, value in before.items() if now[key] is not value]

    modules = [m for n, m in sys.modules.items() if n.partition(".")[0] == "fedspec" and type(m) is ModuleType]
    for module in modules:
        module.__class__ = Guarded
    try:
        said(UNNAMED[1], Watching(UNNAMED[1], unchanged))
        unchanged()
    finally:
        for module in modules:
            module.__class__ = ModuleType


def specification() -> dict[tuple[str, Any], Any]:
    """All names of its modules and all rows, and the one table that closed forms need room in."""
    modules = {n: m for n, m in [*sys.modules.items()] if n.partition(".")[0] == "fedspec"}
    names = {(n, name): value for n, m in modules.items() for name, value in vars(m).items() if name != "__class__"}
    rows = {("row", i): a for i, a in CATALOGUE.items()}
    runs = {("run", i): a.run for i, a in CATALOGUE.items()}
    return {**names, **rows, **runs, **{("entry", solver): f for solver, f in accumulation._ENTRY.items()}}
