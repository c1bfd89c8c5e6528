"""Judge whole subjects: every offer of each, one line of the table for each offer."""

from __future__ import annotations

import fnmatch
import multiprocessing
import shlex
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial

from fedspec.contract import Offer, Subject
from fedspec.errors import UnknownNameError
from fedspec_suite.judge import locate
from fedspec_suite.judge.diagnosis import diagnose
from fedspec_suite.judge.runner import PROFILES, REQUIREMENT, judge_offer, result_of
from fedspec_suite.laws import LAWS
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.measure.verdict import Conformity, Result, Status, claimed, declared


@dataclass(frozen=True)
class Request:
    """What to judge and how thoroughly.

    Attributes:
        implementations: names as typed on the command line.
        only: patterns ``ALGORITHM[/LEVEL[/READING]]``; none means every offer.
        law: pattern of the laws to ask.
        profile: ``quick``, ``full`` or ``soak``.
        seed: of the drawn cases.
        limit: seconds that one answer may take.
        device: where the mirror runs.
        jobs: processes that share the work.
    """

    implementations: Sequence[str]
    only: Sequence[str] = ()
    law: str = "*"
    profile: str = "full"
    seed: int = 0
    limit: float = 20.0
    device: str = "cpu"
    jobs: int = 1


def chosen(offers: Sequence[Offer], only: Sequence[str]) -> list[int]:
    """The offers that a pattern ``ALGORITHM[/LEVEL[/READING]]`` matches, by number; no pattern matches all.

    READING stands for the reading with the choices declared and what is pinned, as the table prints it; where that
    matches nothing, for the two first, or for the reading alone.
    """
    for name in (declared, claimed, lambda offer: offer.reading):
        found = [i for i, o in enumerate(offers) if any(_matches(p, o.algorithm, o.level, name(o)) for p in only)]
        if found or not only:
            break
    return found if only else list(range(len(offers)))


def _matches(pattern: str, *what: str) -> bool:
    parts = pattern.split("/", 2)
    return all(fnmatch.fnmatchcase(part, p or "*") for part, p in zip(what, parts, strict=False))


def check(request: Request, progress: Callable[[str], None] = lambda text: None) -> Iterator[Result]:
    """Judge; results come in the order of the subjects and their offers, however many processes share the work.

    Raises:
        FedspecError: a name is unknown, or a subject cannot be started.
    """
    if request.profile not in PROFILES:
        raise UnknownNameError(f"profile: unknown {request.profile!r}; known: {', '.join(PROFILES)}")
    if not any(fnmatch.fnmatchcase(law, request.law) for law in (*LAWS, REQUIREMENT)):
        raise UnknownNameError(f"law: none is called {request.law!r}; `fedspec laws` lists them")
    tasks: list[tuple[str, tuple[int, ...]]] = []
    offered: list[str] = []
    for name in [name for given in request.implementations for name in locate.expand(given)]:
        with locate.opened(name, limit=request.limit, device=request.device, progress=progress) as subject:
            for offer in subject.info.offers:
                setting_of(offer)
                offered.append(f"{offer.algorithm}/{offer.level}/{declared(offer)}")
            wanted = chosen(subject.info.offers, request.only)
        size = max(1, -(-len(wanted) // request.jobs))
        tasks += [(name, tuple(wanted[i : i + size])) for i in range(0, len(wanted), size)]
    if not offered:
        raise UnknownNameError(f"subject: {' '.join(request.implementations)} offers nothing; its info has no offers")
    if not tasks:
        raise UnknownNameError(
            f"only: nothing that {' '.join(request.implementations)} offers matches {' '.join(request.only)!r}; "
            f"patterns are ALGORITHM/LEVEL/READING; offered: {_some(list(dict.fromkeys(offered)))}"
        )
    if request.jobs == 1 or len(tasks) == 1:
        for name, offers in tasks:
            yield from judge(request, name, offers, progress)
        return
    total, done = sum(len(offers) for _, offers in tasks), 0
    # Not forked: the progress display has a thread of its own.
    with ProcessPoolExecutor(request.jobs, multiprocessing.get_context("spawn")) as pool:
        for results in pool.map(_judge_all, *zip(*((request, *task) for task in tasks), strict=True)):
            done += len(results)
            progress(f"judged {done} of {total} offers")
            yield from results


def _some(names: list[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _judge_all(request: Request, name: str, offers: tuple[int, ...]) -> list[Result]:
    return list(judge(request, name, offers, lambda text: None))


def judge(request: Request, name: str, offers: Sequence[int], progress: Callable[[str], None]) -> Iterator[Result]:
    """Judge some offers of one subject, by their numbers."""
    with locate.opened(name, limit=request.limit, device=request.device, progress=progress) as subject:
        for offer in (subject.info.offers[i] for i in offers):
            where = f"{name} {offer.algorithm}/{offer.level}"
            obligations = judge_offer(
                subject,
                offer,
                profile=request.profile,
                seed=request.seed,
                law=request.law,
                progress=partial(_below, progress, where),
            )
            again = command(request, name, offer, subject.info.offers)
            yield _diagnosed(result_of(subject, offer, obligations, command=again), subject, offer)


MANNERS = {"repeats", "isolated", "dtype", "inputs", REQUIREMENT}
"""Laws that can be broken while the numbers of the model are right."""


def _diagnosed(result: Result, subject: Subject, offer: Offer) -> Result:
    if result.verdict is not Conformity.DOES_NOT:
        return result
    setting = setting_of(offer)
    bench = Bench(subject, setting.algorithm, offer, setting.options, setting.dtype)
    failed = {o.law for o in result.obligations if o.status is Status.FAIL}
    about_x = {law for law in failed - MANNERS if not law.startswith("follows-") or law == "follows-x"}
    return replace(result, nearest=diagnose(bench, setting, model_failed=bool(about_x)))


def _below(progress: Callable[[str], None], where: str, law: str) -> None:
    progress(f"{where} {law}")


def command(request: Request, name: str, offer: Offer, offers: Sequence[Offer]) -> str:
    """The command that judges this offer alone again."""
    twins = [o for o in offers if (o.algorithm, o.level) == (offer.algorithm, offer.level)]
    what = f"{offer.algorithm}/{offer.level}" + (f"/{declared(offer)}" if len(twins) > 1 else "")
    words = ["fedspec", "check", name, "--only", what]
    for flag, value, default in (
        ("--law", request.law, "*"),
        ("--profile", request.profile, "full"),
        ("--seed", request.seed, 0),
        ("--limit", request.limit, 20.0),
        ("--device", request.device, "cpu"),
    ):
        if value != default:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)
