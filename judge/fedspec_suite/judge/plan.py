"""Work plan of a check: the offers of each subject as tasks with time budgets, and their results in order."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from fedspec.contract import Case, Offer, Session, Subject
from fedspec.errors import ContractError, FedspecError, UnknownNameError
from fedspec_suite.judge import locate
from fedspec_suite.judge.request import Request, chosen, failed
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Result, counted, format_declaration, some


@dataclass(frozen=True)
class Task:
    """Task of one worker: some offers of one subject, by number, with a time budget.

    Attributes:
        name: the subject, as it was typed.
        offers: the offers to judge, with their numbers.
        among: everything that it offers.
        budget: the seconds.
        place: number of the subject, and number of the task among the subject's tasks.
    """

    name: str
    offers: tuple[tuple[int, Offer], ...]
    among: tuple[Offer, ...]
    budget: float = math.inf
    place: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Planned:
    """Plan for one subject: its tasks, or the result that gives the reason why it cannot be judged.

    Attributes:
        place: number of the subject.
        steps: its tasks, or the line that says why it cannot be judged.
        usable: True if there is an offer that can be judged.
    """

    place: int
    steps: tuple[Task | Result, ...]
    usable: bool = False


def planned(
    request: Request,
    names: Sequence[str],
    awaited: Mapping[str, Future[Path]],
    progress: Callable[[str], None],
    started: Started,
) -> Iterator[Planned | None]:
    """Yield the plan of each subject as soon as the subject can be started; None while none can be started.

    Args:
        request: the request to the judge.
        names: names of single subjects.
        awaited: subjects whose environments are being made.
        progress: told what takes time.
        started: receives the first subjects, still running.

    Raises:
        FedspecError: after all were asked, there is nothing that can be judged.
    """
    left = dict(enumerate(names))
    offered: dict[int, list[str]] = {}
    unusable: list[tuple[int, FedspecError]] = []
    usable = False
    while left:
        place = next((i for i, name in left.items() if name not in awaited or awaited[name].done()), None)
        if place is None:
            yield None
            continue
        name = left.pop(place)
        try:
            if name in awaited:
                awaited[name].result()
            with ExitStack() as stack:
                subject = stack.enter_context(opened(request, name, progress))
                offers = tuple(subject.info.offers)
                if not offers:
                    raise ContractError(f"adapter: {name} claims nothing; list its claims in `info`")
                started.keep(name, subject, stack)
        except (ContractError, SubjectError) as error:
            unusable.append((place, error))
            yield Planned(place, (failed(request, name, None, (), str(error)),))
            continue
        wanted = tuple((i, offers[i]) for i in chosen(offers, request.only))
        offered[place] = [
            f"{o.variant}{':' * bool(o.variant)}{o.algorithm}/{o.level}/{format_declaration(o)}" for o in offers
        ]
        able = [_able(place, offer, unusable) for _, offer in wanted]
        usable = usable or any(able)
        yield Planned(place, _tasks(request, name, place, wanted, offers), any(able))
    if not usable:
        told = [one for _, some in sorted(offered.items()) for one in some]
        first = min(unusable, key=lambda one: one[0])[1] if unusable else None
        raise first or unmatched(request.implementations, request.only, told)


class Started:
    """Subjects that were started for the plan and wait for their first task in this process; starting torch takes 2 s.

    Attributes:
        most: largest number of subjects that wait at a time.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self._waiting: dict[str, tuple[Subject, ExitStack]] = {}

    def keep(self, name: str, subject: Subject, stack: ExitStack) -> None:
        """Take over what ends a subject, unless enough subjects wait."""
        if name not in self._waiting and len(self._waiting) < self.most:
            self._waiting[name] = subject, stack.pop_all()

    @contextmanager
    def taken(self, request: Request, name: str, progress: Callable[[str], None]) -> Iterator[Subject]:
        """Context manager of the waiting subject called ``name``, or of a new one; it ends the subject."""
        if name in self._waiting:
            subject, stack = self._waiting.pop(name)
            with stack:
                yield subject
        else:
            with opened(request, name, progress) as subject:
                yield subject

    def end(self) -> None:
        """End the subjects that still wait, and let no other subject wait."""
        self.most = 0
        while self._waiting:
            self._waiting.popitem()[1][1].close()


def _able(place: int, offer: Offer, unusable: list[tuple[int, FedspecError]]) -> bool:
    try:
        setting_of(offer)
    except FedspecError as error:
        unusable.append((place, error))
        return False
    return True


def _tasks(
    request: Request, name: str, place: int, wanted: tuple[tuple[int, Offer], ...], offers: tuple[Offer, ...]
) -> tuple[Task, ...]:
    size = max(1, -(-len(wanted) // request.jobs))
    parts = [wanted[i : i + size] for i in range(0, len(wanted), size)]
    return tuple(
        Task(name, part, offers, request.budget * len(part) / len(wanted), (place, number))
        for number, part in enumerate(parts)
    )


def unmatched(implementations: Sequence[str], only: Sequence[str], offered: list[str]) -> FedspecError:
    """Return the error for patterns that match no offer, with a list of the offers."""
    return UnknownNameError(
        f"only: no claim of {' '.join(implementations)} matches {' '.join(only)!r}; "
        f"patterns are [VARIANT:]ALGORITHM/LEVEL/READING; claims: {some(list(dict.fromkeys(offered)), 12)}"
    )


def opened(request: Request, name: str, progress: Callable[[str], None]) -> AbstractContextManager[Subject]:
    """Return a context manager that runs the subject called ``name`` with the request's limits."""
    if name in request.given:
        return nullcontext(InProcess(request.given[name], copies=True))
    return locate.opened(
        name, limit=request.limit, start_limit=request.start_limit, device=request.device, progress=progress
    )


@dataclass
class Turns:
    """Buffer that puts results into the order of subjects and offers.

    Attributes:
        subjects: number of subjects.
        finish: function that completes the result of an offer, by its number, before it is given.
        plans: plans of the subjects that were asked, by place.
        came: the results of each task, by its place.
        given: number of results given so far, by task.
    """

    subjects: int
    finish: Callable[[Task, int, Result], Result]
    plans: dict[int, Planned] = field(default_factory=dict)
    came: dict[tuple[int, int], list[Result]] = field(default_factory=dict)
    given: dict[tuple[int, int], int] = field(default_factory=dict)

    def ready(self, *, rest: bool = False) -> Iterator[Result]:
        """Yield the results whose predecessors are complete; with ``rest``, all remaining results."""
        if not rest and not any(one.usable for one in self.plans.values()):
            # It may turn out that there is nothing to judge, which is then all that is said.
            return
        for place in range(self.subjects):
            if place not in self.plans:
                if rest:
                    continue
                return
            for number, step in enumerate(self.plans[place].steps):
                slot = place, number
                some = self.came.get(slot, []) if isinstance(step, Task) else [step]
                before, self.given[slot] = self.given.get(slot, 0), len(some)
                for k in range(before, len(some)):
                    yield self.finish(step, step.offers[k][0], some[k]) if isinstance(step, Task) else some[k]
                if isinstance(step, Task) and len(some) < len(step.offers) and not rest:
                    return

    def far(self) -> str:
        """Return the progress of the work in words."""
        done = sum(map(len, self.came.values()))
        if len(self.plans) < self.subjects:
            return f"{counted(done, 'claim')} so far"
        tasks = [step for one in self.plans.values() for step in one.steps if isinstance(step, Task)]
        return f"{done} of {counted(sum(len(task.offers) for task in tasks), 'claim')}"


class Budgeted:
    """Subject with a total time budget, counted from now on."""

    def __init__(self, subject: Subject, seconds: float) -> None:
        self.subject = subject
        self.info = subject.info
        self.seconds = seconds
        self.end = time.monotonic() + seconds

    @property
    def spent(self) -> str:
        """Reason why it is asked nothing more; empty while its budget lasts."""
        return "" if time.monotonic() < self.end else f"not asked, budget used ({self.seconds:.3g} s)"

    def start(self, case: Case) -> Session:
        """Begin a session if the budget lasts.

        Raises:
            SubjectError: the budget is used up.
        """
        if spent := self.spent:
            raise SubjectError(spent)
        return self.subject.start(case)

    def afresh(self) -> None:
        """Restart the subject's process before the next session, if it has a separate process."""
        getattr(self.subject, "afresh", lambda: None)()
