"""Requests to the judge, and results for offers that could not be judged."""

from __future__ import annotations

import fnmatch
import math
import os
import shlex
import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from fedspec import plugins
from fedspec.catalogue import id_of, rows_of
from fedspec.contract import Offer, Subject, SubjectInfo
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT as SPECIFICATION
from fedspec_suite.judge.expected_failures import Expectation
from fedspec_suite.measure.declared_limits import limit_fields
from fedspec_suite.measure.escaping import escape_controls
from fedspec_suite.measure.process import LIMIT, START_LIMIT
from fedspec_suite.measure.setting import USUAL_REACH, Reach
from fedspec_suite.measure.verdict import (
    Conformity,
    Declares,
    Obligation,
    Result,
    Status,
    format_claim,
    format_declaration,
    head_of,
)


@dataclass(frozen=True)
class Request:
    """Implementations to judge, and how thoroughly.

    Attributes:
        implementations: names as typed on the command line.
        only: patterns ``[VARIANT:]ALGORITHM[/LEVEL[/READING]]``; none means every offer.
        law: patterns of the laws to ask, with commas between them.
        profile: ``quick``, ``full`` or ``soak``.
        seed: seed of the drawn cases.
        limit: seconds that one answer may take.
        device: device of the mirror.
        jobs: processes that share the work.
        start_limit: seconds that the handshake may take, with the imports.
        budget: seconds that one subject may take in all, whatever number of processes share it.
        reach: sizes of the largest cases.
        capsules: True: keep the failures of an offer, to be played again.
        expect: failures that are expected.
        today: the day that their last days are compared with.
        named: True: search for the name of a deviation.
        stop: True: ask no more after the first failed obligation.
        given: subjects of this process, by the names that stand for them among the implementations.
    """

    implementations: Sequence[str]
    only: Sequence[str] = ()
    law: str = "*"
    profile: str = "full"
    seed: int = 0
    limit: float = LIMIT
    device: str = "cpu"
    jobs: int = 1
    start_limit: float = START_LIMIT
    budget: float = math.inf
    reach: Reach = USUAL_REACH
    capsules: bool = False
    expect: tuple[Expectation, ...] = ()
    today: date | None = None
    named: bool = True
    stop: bool = False
    given: Mapping[str, Subject] = field(default_factory=dict)


def chosen(offers: Sequence[Declares], only: Sequence[str]) -> list[int]:
    """Return the numbers of the offers that match a pattern ``[VARIANT:]ALGORITHM[/LEVEL[/READING]]``, or of all.

    READING stands for the reading with the choices declared and what is pinned, as the table prints it; where that
    matches nothing, for the two first, or for the reading alone.
    """
    patterns = [*map(_parts, only)]
    for name in _NAMES:
        found = [i for i, o in enumerate(offers) if any(_matches(p, o, name(o)) for p in patterns)]
        if found or not only:
            break
    return found if only else list(range(len(offers)))


_NAMES: tuple[Callable[[Declares], str], ...] = (format_declaration, format_claim, lambda offer: offer.reading)


def _parts(pattern: str) -> tuple[str, ...]:
    """The variant that a pattern names, the algorithm by its id, and what it says beside."""
    variant, named, rest = pattern.rpartition(":")
    algorithm, *others = rest.split("/", 2)
    return (variant if named else "*", id_of(algorithm), *others)


def _matches(pattern: tuple[str, ...], offer: Declares, reading: str) -> bool:
    variant, *others = pattern
    what = offer.algorithm, offer.level, reading
    return fnmatch.fnmatchcase(offer.variant, variant) and all(
        fnmatch.fnmatchcase(part, p or "*") for part, p in zip(what, others, strict=False)
    )


def command(request: Request, name: str, offer: Offer | None, offers: Sequence[Offer]) -> str:
    """Return the command that checks one offer, or the whole subject, again; empty for a subject without a name."""
    if name in request.given:
        return ""
    words = ["fedspec", "check", name]
    if offer is not None:
        twins = [o for o in offers if (o.algorithm, o.level) == (offer.algorithm, offer.level)]
        which = f"{offer.variant}:" if len({o.variant for o in twins}) > 1 else ""
        twins = [o for o in twins if o.variant == offer.variant]
        words += [
            "--only",
            f"{which}{offer.algorithm}/{offer.level}" + (f"/{format_declaration(offer)}" if len(twins) > 1 else ""),
        ]
    for flag, value, default in (
        ("--law", request.law, "*"),
        ("--profile", request.profile, "full"),
        ("--seed", request.seed, 0),
        ("--rounds", request.reach.rounds, Reach.rounds),
        ("--clients", request.reach.clients, Reach.clients),
        ("--dim", request.reach.coordinates, Reach.coordinates),
        ("--limit", request.limit, LIMIT),
        ("--start-limit", request.start_limit, START_LIMIT),
        ("--budget", request.budget, math.inf),
        ("--device", request.device, "cpu"),
    ):
        if value != default:
            words += [flag, f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join([*words, *(plugin_of(offer.algorithm) if offer is not None else ())])


def plugin_of(algorithm: str) -> tuple[str, ...]:
    """Options with which a command line loads an own algorithm; empty for fedspec's and installed algorithms."""
    module = next((m for m in plugins.loaded() if algorithm in {row.id for row in rows_of(m)}), None)
    named = () if module is None else (plugins.where(module), module.__name__)
    known = {os.path.relpath(n) if n.endswith(".py") else n for n in plugins.named()}
    return next((("--plugin", name) for name in named if name in known), ())


def is_own(algorithm: str) -> bool:
    """True if a file or package of the user's brought the algorithm."""
    return any(algorithm in {row.id for row in rows_of(module)} for module in plugins.loaded())


def reason_of(error: Exception) -> str:
    """Return the reason why something could not be judged, on one line."""
    if isinstance(error, FedspecError):
        return escape_controls(str(error))
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return escape_controls(f"internal error: {type(error).__name__}: {error}{place}; {plugins.blamed(error)}", most=500)


def failed(
    request: Request,
    name: str,
    offer: Offer | None,
    among: Sequence[Offer],
    reason: str,
    info: SubjectInfo | None = None,
) -> Result:
    """Return the result for an offer that could not be judged, or for a whole subject if ``offer`` is None."""
    return Result(
        **head_of(info, offer, name),
        verdict=Conformity.ERROR,
        exercised=0,
        passed=0,
        required=1,
        first_deviation=reason,
        notes=offer.notes if offer else "",
        obligations=(Obligation(ASKED, "any", Status.ERROR, (), reason=reason),),
        command=command(request, name, offer, among),
        **(limit_fields(offer) if offer else {}),
    )


ASKED = "can-be-asked"
"""Id of the obligation that stands for an offer which could not be judged."""


def is_itself(subject: Subject) -> bool:
    """True if the subject is the specification without an edit."""
    info = subject.info
    return (info.name, info.variant) == (SPECIFICATION.info.name, SPECIFICATION.info.variant)
