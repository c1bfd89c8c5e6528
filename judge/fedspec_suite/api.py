"""Python API: :func:`check_adapter` checks an adapter from a script or a test."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date
from os import PathLike
from pathlib import Path

from fedspec.catalogue import Algorithm
from fedspec.contract import Subject
from fedspec_suite.judge.check import check, complaints_of
from fedspec_suite.judge.expected_failures import Complaint, read
from fedspec_suite.judge.request import Request
from fedspec_suite.laws import know
from fedspec_suite.measure.process import LIMIT
from fedspec_suite.measure.verdict import Result, exit_code
from fedspec_suite.report import verdicts


class DoesNotConform(AssertionError):
    """Error raised if a checked claim doesn't conform; its text is the report that ``fedspec check`` prints.

    Attributes:
        results: the result of each claim.
        complaints: faults of the file of expected failures.
    """

    def __init__(self, text: str, results: Sequence[Result], complaints: Sequence[Complaint]) -> None:
        super().__init__(text)
        self.results = results
        self.complaints = complaints


def check_adapter(
    subject: str | Subject,
    *,
    only: str | Sequence[str] = (),
    law: str = "*",
    profile: str = "quick",
    seed: int = 0,
    limit: float = LIMIT,
    expect: str | PathLike[str] | None = None,
    today: date | None = None,
    strict: bool = False,
    algorithms: Sequence[Algorithm] = (),
) -> list[Result]:
    """Check the claims of an adapter; return one result per claim if each claim conforms or fails only as expected.

    Args:
        subject: the adapter as the command takes it, such as ``mine.py``, which runs in a process of its own; or an
            object, which runs in this one, where nobody can stop it if it hangs.
        only: patterns ``[VARIANT:]ALGORITHM[/LEVEL[/READING]]``.
        law: patterns of the laws, with commas between them.
        profile: ``quick``, ``full`` or ``soak``.
        seed: seed of the drawn cases.
        limit: seconds that one answer may take.
        expect: a file of expected failures.
        today: the day that their last days are compared with; the present one by default.
        strict: True: a claim that was seen or asked in part is an error.
        algorithms: rows of own algorithms, which join the catalogue; docs/own-algorithms.md.

    Raises:
        DoesNotConform: a claim does not conform, gave no answer or is inconclusive, or an expected failure is none;
            with ``strict`` also where a claim conforms in part or was asked in part.
        FedspecError: a name is unknown, a file cannot be read, or nothing can be judged.
    """
    for row in algorithms:
        know(row)
    name = subject if isinstance(subject, str) else subject.info.name
    request = Request(
        implementations=(name,),
        only=(only,) if isinstance(only, str) else tuple(only),
        law=law,
        profile=profile,
        seed=seed,
        limit=limit,
        expect=() if expect is None else read(Path(expect)),
        today=today or date.today(),
        given={} if isinstance(subject, str) else {name: subject},
    )
    begun = time.monotonic()
    results = list(check(request))
    wrong = complaints_of(request, results)
    if wrong or exit_code(results, strict):
        ran = f"profile {profile}, seed {seed}, {time.monotonic() - begun:.0f} s"
        raise DoesNotConform("\n".join([verdicts.text(results, ran).rstrip(), *map(str, wrong)]), results, wrong)
    return results


check_subject = check_adapter
"""Earlier name of :func:`check_adapter`."""
