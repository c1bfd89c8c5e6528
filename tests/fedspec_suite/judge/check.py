"""Judge whole subjects: every offer of each, one line of the table for each offer."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from fedspec.contract import Offer, Subject
from fedspec.errors import ContractError, FedspecError, UnknownNameError
from fedspec_suite.judge import locate
from fedspec_suite.judge.budget import Budgeted
from fedspec_suite.judge.capsules.made import capsule
from fedspec_suite.judge.diagnosis import Diagnosis, as_data, identify, in_words, unrepeated
from fedspec_suite.judge.expected import Complaint, Expectation, complaints, excused
from fedspec_suite.judge.request import Request, chosen, command, failed, reason_of
from fedspec_suite.judge.runner import REQUIREMENT, judge_offer, laws_named, profile_named, result_of
from fedspec_suite.judge.unseen import compared, told
from fedspec_suite.judge.workers import shared
from fedspec_suite.judge.zeros import obligations as refusals
from fedspec_suite.judge.zeros import refused_by
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.inside import Inside
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Result, Status, declared


@dataclass(frozen=True)
class Task:
    """Some offers of one subject, by number, as it made them when first asked, and the seconds that they may take."""

    name: str
    offers: tuple[tuple[int, Offer], ...]
    among: tuple[Offer, ...]
    budget: float = math.inf


def check(request: Request, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
    """Judge; results come in the order of the subjects and their offers, however many processes share the work.

    A subject that cannot be started, and an offer that cannot be judged, are results of their own.

    Raises:
        FedspecError: a name is unknown, or there is nothing that can be judged.
    """
    plan = planned(request, progress)
    tasks = [step for step in plan if isinstance(step, Task)]
    results = _results(request, tasks, progress)
    total, done = sum(len(task.offers) for task in tasks), 0
    for step in plan:
        if isinstance(step, Result):
            yield step
            continue
        for (number, _), result in zip(step.offers, islice(results, len(step.offers)), strict=True):
            done += 1
            if request.jobs > 1:
                progress(f"judged {done} of {total} offers")
            yield replace(result, expected=tuple(e.number for e in _entries(request, step, number)))
    # To its end, where what is open is closed.
    yield from results


def complaints_of(request: Request, results: Sequence[Result]) -> list[Complaint]:
    """What is wrong with the expected failures, after everything was judged."""
    # What a subject that could not be started offers is not known.
    narrowed = bool(request.only) or request.law != "*" or any(not r.algorithm for r in results)
    return complaints(request.expect, results, request.today, narrowed)


def _entries(request: Request, task: Task, number: int) -> list[Expectation]:
    """What is expected of an offer."""
    return [e for e in request.expect if number in chosen(task.among, [e.offer])]


def _results(request: Request, tasks: Sequence[Task], progress: Callable[[str], None]) -> Iterator[Result]:
    if request.jobs == 1 or len(tasks) == 1:
        return (result for task in tasks for result in judge(request, task, progress))
    return shared(partial(judge, request), partial(_lost, request), tasks, request.jobs)


def planned(request: Request, progress: Callable[[str], None]) -> list[Task | Result]:
    """What is to be done, in the order in which it is printed.

    Raises:
        FedspecError: a name is unknown, or there is nothing that can be judged.
    """
    profile_named(request.profile)
    laws_named(request.law)
    plan: list[Task | Result] = []
    offered: list[str] = []
    unusable: list[FedspecError] = []
    usable = False
    for name in [n for i in request.implementations for n in ((i,) if i in request.given else locate.expand(i))]:
        try:
            with _opened(request, name, progress) as subject:
                offers = tuple(subject.info.offers)
            if not offers:
                raise ContractError(f"subject: {name} offers nothing; its info has no offers")
        except (ContractError, SubjectError) as error:
            unusable.append(error)
            plan.append(failed(request, name, None, (), str(error)))
            continue
        wanted = tuple((i, offers[i]) for i in chosen(offers, request.only))
        offered += [f"{o.variant}{':' * bool(o.variant)}{o.algorithm}/{o.level}/{declared(o)}" for o in offers]
        for _, offer in wanted:
            try:
                setting_of(offer)
                usable = True
            except FedspecError as error:
                unusable.append(error)
        size = max(1, -(-len(wanted) // request.jobs))
        for part in (wanted[i : i + size] for i in range(0, len(wanted), size)):
            plan.append(Task(name, part, offers, request.budget * len(part) / len(wanted)))
    if not usable:
        raise unusable[0] if unusable else unmatched(request.implementations, request.only, offered)
    return plan


def unmatched(implementations: Sequence[str], only: Sequence[str], offered: list[str]) -> FedspecError:
    """That the patterns match no offer, with the offers that there are."""
    return UnknownNameError(
        f"only: nothing that {' '.join(implementations)} offers matches {' '.join(only)!r}; "
        f"patterns are [VARIANT:]ALGORITHM/LEVEL/READING; offered: {_some(list(dict.fromkeys(offered)))}"
    )


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _opened(request: Request, name: str, progress: Callable[[str], None]) -> AbstractContextManager[Subject]:
    if name in request.given:
        return nullcontext(Inside(request.given[name], copies=True))
    return locate.opened(
        name, limit=request.limit, start_limit=request.start_limit, device=request.device, progress=progress
    )


def judge(request: Request, task: Task, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
    """Judge some offers of one subject; what goes wrong is said of the offer with which it does."""
    done = 0
    try:
        with _opened(request, task.name, progress) as opened:
            subject = Budgeted(opened, task.budget)
            for number, offer in task.offers:
                yield _judged(request, task, subject, number, offer, progress)
                done += 1
    except Exception as error:
        yield from _lost(request, task, done, reason_of(error))


def _judged(
    request: Request, task: Task, subject: Budgeted, number: int, offer: Offer, progress: Callable[[str], None]
) -> Result:
    again = command(request, task.name, offer, task.among)
    try:
        if subject.info.offers[number : number + 1] != (offer,):
            raise SubjectError(
                "subject: its offers are not those of the time before; let them be the same whenever it is started"
            )
        ask = partial(
            judge_offer,
            subject,
            profile=request.profile,
            seed=request.seed,
            law=request.law,
            reach=request.reach,
            progress=partial(_below, progress, f"{task.name} {offer.algorithm}/{offer.level}"),
        )
        obligations = ask(offer)
        # What it does take is judged, as if the offer had said what it does not.
        zeros, taken = refused_by(subject, offer, obligations)
        if zeros:
            obligations = [*ask(taken), *refusals(zeros)]
        obligations = excused(obligations, _entries(request, task, number), request.today)
        made = capsule(task.name, subject, number, task.among, obligations) if request.capsules else None
        obligations = [replace(o, case=None) for o in obligations]
        result = result_of(subject, offer, obligations, command=again, made=made)
        return _diagnosed(told(result, taken, compared(obligations)), subject, taken)
    except Exception as error:
        return failed(request, task.name, offer, task.among, reason_of(error), subject.info)


def _lost(request: Request, task: Task, done: int, reason: str) -> Iterator[Result]:
    for _, offer in task.offers[done:]:
        yield failed(request, task.name, offer, task.among, reason)


MANNERS = {"repeats", "isolated", "dtype", "inputs", REQUIREMENT}
"""Laws that can be broken while the numbers of the model are right."""


def _diagnosed(result: Result, subject: Budgeted, offer: Offer) -> Result:
    if result.verdict is not Conformity.DOES_NOT or subject.spent:
        return result
    try:
        d, words = explanation(subject, offer, {o.law for o in result.obligations if o.status is Status.FAIL})
    except Exception as error:
        # What was judged stands, whatever becomes of its explanation.
        return replace(result, nearest=f"not diagnosed: {reason_of(error)}")
    return replace(result, nearest=words, nearest_data=tuple(as_data(d)))


def explanation(subject: Subject, offer: Offer, failed: set[str]) -> tuple[Diagnosis, str]:
    """What an offer that broke these laws is instead, as data and in words."""
    setting = setting_of(offer)
    d = identify(bench_of(subject, offer, setting), setting, further=True)
    if "repeats" in failed:
        d = unrepeated(d)
    about_x = any(not law.startswith("follows-") or law == "follows-x" for law in failed - MANNERS)
    # Only the laws of large cases say that it is the size; a case of another law may be rare, and is small.
    small = all(law.startswith("far-") for law in failed - MANNERS)
    return d, in_words(d, about_x, small=small)


def _below(progress: Callable[[str], None], where: str, law: str) -> None:
    progress(f"{where} {law}")
