"""Check whole subjects: all offers of each, one result per offer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial

from fedspec.contract import Offer
from fedspec.errors import UnknownNameError
from fedspec_suite.judge import locate
from fedspec_suite.judge.capsules.writer import capsule
from fedspec_suite.judge.equation_coverage import compared_quantities, with_coverage
from fedspec_suite.judge.expected_failures import Complaint, Expectation, complaints, excused
from fedspec_suite.judge.first_play import first_play, is_nowhere_finite
from fedspec_suite.judge.plan import Budgeted, Planned, Started, Task, Turns, planned
from fedspec_suite.judge.refused_zeros import obligations as refusals
from fedspec_suite.judge.refused_zeros import refused_by
from fedspec_suite.judge.request import Request, chosen, command, failed, is_itself, reason_of
from fedspec_suite.judge.runner import (
    asks,
    judge_offer,
    laws_named,
    not_asked,
    own_properties,
    patterns_of,
    profile_named,
    result_of,
    undeclared,
)
from fedspec_suite.judge.worker_pool import BEAT, run_tasks
from fedspec_suite.laws import retired
from fedspec_suite.laws.follows_rule import law_of
from fedspec_suite.measure.case_summary import scenarios_in
from fedspec_suite.measure.process import SubjectError
from fedspec_suite.measure.resting_rates import check_rests
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Obligation, Result, Status
from fedspec_suite.subjects import environments


def check(request: Request, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
    """Check subjects and yield results in the order of subjects and offers, however many processes share the work.

    A subject that cannot be started, and an offer that cannot be judged, are results of their own. What has its
    environment is judged while those of others are being made.

    Raises:
        FedspecError: a name is unknown, or there is nothing that can be judged.
    """
    profile_named(request.profile)
    laws_named(request.law)
    for entry in request.expect:
        try:
            if entry.law not in retired():
                laws_named(entry.law)
        except UnknownNameError as error:
            raise UnknownNameError(f"expect: {entry.place}: {error}") from error
    names = [n for i in request.implementations for n in ((i,) if i in request.given else locate.expand(i))]
    missing = environments.missing(name for name in names if name not in request.given)
    with environments.made(missing.values(), progress) as making:
        started = Started(WAITING)
        plan = planned(request, names, {name: making[e] for name, e in missing.items()}, progress, started)
        try:
            # Where nothing is made, all is known before anything is judged.
            yield from _in_turn(request, plan if missing else list(plan), len(names), progress, started)
        finally:
            started.end()


WAITING = 2
"""Number of subjects that wait for their task instead of being started again; each holds its imports in memory."""


def _in_turn(
    request: Request,
    plan: Iterable[Planned | None],
    subjects: int,
    progress: Callable[[str], None],
    started: Started,
) -> Iterator[Result]:
    """Judge what is planned as it becomes known; the results come in the order of the subjects."""

    def finished(task: Task, number: int, result: Result) -> Result:
        return replace(result, expected=tuple(e.number for e in _entries(request, task, number)))

    turns = Turns(subjects, finished)

    def tasks() -> Iterator[Task | None]:
        for one in plan:
            if one is None:
                yield None
                continue
            turns.plans[one.place] = one
            yield from (step for step in one.steps if isinstance(step, Task))

    known: Iterable[Task | None] = list(tasks()) if isinstance(plan, list) else tasks()
    alone = request.jobs == 1 or (isinstance(known, list) and len(known) == 1)
    if not alone:
        started.end()
    try:
        for place, result in _alone(request, known, progress, started) if alone else _shared(request, known):
            turns.came.setdefault(place, []).append(result)
            progress(f"judged {turns.far()}, {_verdict(result)}")
            for ready in turns.ready():
                yield ready
                if request.stop and ready.verdict in {Conformity.DOES_NOT, Conformity.ERROR}:
                    return
    except KeyboardInterrupt:
        yield from turns.ready(rest=True)
        raise
    yield from turns.ready()


Placed = tuple[tuple[int, int], Result]
"""Result with the position of its task."""


def _alone(
    request: Request, tasks: Iterable[Task | None], progress: Callable[[str], None], started: Started
) -> Iterator[Placed]:
    for task in tasks:
        if task is None:
            time.sleep(BEAT)
        else:
            yield from ((task.place, result) for result in judge(request, task, progress, started))


def _shared(request: Request, tasks: Iterable[Task | None]) -> Iterator[Placed]:
    return run_tasks(partial(_placed, request), partial(_missed, request), tasks, request.jobs)


def _placed(request: Request, task: Task) -> Iterator[Placed]:
    return ((task.place, result) for result in judge(request, task))


def _missed(request: Request, task: Task, done: int, reason: str) -> Iterator[Placed]:
    return ((task.place, result) for result in _lost(request, task, done, reason))


def _verdict(r: Result) -> str:
    return f"{r.subject} {r.version} {r.algorithm}/{r.level} {r.said}"


def complaints_of(request: Request, results: Sequence[Result]) -> list[Complaint]:
    """Return the faults of the expected failures, given all results."""
    # What a subject that could not be started offers is not known.
    only = None if any(not r.algorithm for r in results) else tuple(request.only)
    return complaints(request.expect, results, request.today, only=only, law=request.law)


def _entries(request: Request, task: Task, number: int) -> list[Expectation]:
    """The expected failures of an offer."""
    return [e for e in request.expect if number in chosen(task.among, [e.offer])]


def judge(
    request: Request,
    task: Task,
    progress: Callable[[str], None] = lambda text: None,
    started: Started | None = None,
) -> Iterator[Result]:
    """Check some offers of a subject and yield their results; an error becomes the result of its offer."""
    done = 0
    try:
        with (started or Started(0)).taken(request, task.name, progress) as answering:
            subject = Budgeted(answering, task.budget)
            for number, offer in task.offers:
                yield _judged(request, task, subject, number, offer, progress)
                done += 1
    except Exception as error:
        yield from _lost(request, task, done, reason_of(error))


def _judged(
    request: Request, task: Task, subject: Budgeted, number: int, offer: Offer, progress: Callable[[str], None]
) -> Result:
    again = command(request, task.name, offer, task.among)
    entries = _entries(request, task, number)
    try:
        if subject.info.offers[number : number + 1] != (offer,):
            raise SubjectError(
                "adapter: its claims are not the same as when it was first started; return the same claims each time"
            )
        ask = partial(
            judge_offer,
            subject,
            profile=request.profile,
            seed=request.seed,
            law=patterns_of(request.law, entries, own_properties(subject, offer)),
            reach=request.reach,
            progress=partial(_below, progress, f"{offer.algorithm}/{offer.level} of {task.name}"),
            stop=request.stop,
            excused=lambda o: excused([o], entries, request.today)[0].status is not Status.FAIL,
        )
        check_rests(setting_of(offer))
        # An answer that cannot be compared breaks every check, and says nothing of the rule.
        fault = _first_fault(request, subject, offer, entries)
        obligations = [fault] if fault else ask(offer)
        # What it does take is judged, as if the offer had said what it does not.
        zeros, taken = ({}, offer) if fault else refused_by(subject, offer, obligations)
        if zeros:
            obligations = [*ask(taken), *refusals(zeros)]
        obligations = excused(obligations, entries, request.today)
        made = capsule(task.name, subject, number, task.among, obligations) if request.capsules else None
        broken = [s for o in obligations if o.status is Status.FAIL and o.reads for s in scenarios_in(o.case)]
        obligations = [replace(o, case=None) for o in obligations]
        left = not_asked(subject, taken, obligations)
        result = result_of(subject, offer, obligations, unasked=left, command=again, made=made, profile=request.profile)
        result = with_coverage(result, taken, compared_quantities(obligations), request.reach)
        if not obligations:
            result = replace(result, first_deviation=undeclared(subject, offer, request.law))
        if not request.named or (fault and not is_nowhere_finite(fault)):
            return result
        where = f"{offer.algorithm}/{offer.level} of {task.name}"
        tell = partial(_below, progress, where)
        return _explained(result, subject, taken, broken, tell, ask=not request.stop)
    except Exception as error:
        return failed(request, task.name, offer, task.among, reason_of(error), subject.info)


def _first_fault(
    request: Request, subject: Budgeted, offer: Offer, entries: Sequence[Expectation]
) -> Obligation | None:
    """The check that the first play fails; None if it passes, is expected to fail, or isn't asked."""
    if not asks(request.law, "follows-x") or is_itself(subject):
        return None
    asked = tuple(name for name in offer.intermediates if asks(request.law, law_of(name)))
    fault = first_play(subject, replace(offer, intermediates=asked))
    return None if fault is None or excused([fault], entries, request.today) != [fault] else fault


def _explained(
    result: Result,
    subject: Budgeted,
    offer: Offer,
    broken: Sequence[Scenario],
    progress: Callable[[str], None],
    *,
    ask: bool,
) -> Result:
    if result.verdict not in {Conformity.DOES_NOT, Conformity.INCONCLUSIVE}:
        return result
    # All that is known of mistakes takes half a second to load.
    from fedspec_suite.judge.explained import explained

    return explained(result, subject, offer, broken, progress, ask=ask)


def _lost(request: Request, task: Task, done: int, reason: str) -> Iterator[Result]:
    for _, offer in task.offers[done:]:
        yield failed(request, task.name, offer, task.among, reason)


def _below(progress: Callable[[str], None], where: str, far: str) -> None:
    # A terminal cuts a line at its width, and the end of it is the name of a file.
    progress(f"{far}, {where}")
