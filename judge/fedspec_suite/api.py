"""Python API: :func:`check_adapter` checks an adapter from a script or a test."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import date
from os import PathLike
from pathlib import Path

from fedspec.catalogue import Algorithm
from fedspec.contract import Subject
from fedspec.errors import FedspecError
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
    adapter: str | Subject | None = None,
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
    subject: str | Subject | None = None,
) -> list[Result]:
    """Check the claims of an adapter; return one result per claim if each claim conforms or fails only as expected.

    Args:
        adapter: the adapter's file as in the command, such as ``"mine.py"``, or the adapter object. fedspec runs a file
            in a separate process. It runs an object in this process, so fedspec cannot stop an object that hangs.
        only: patterns of the claims to check, ``[VARIANT:]ALGORITHM[/LEVEL[/READING]]``; by default every claim.
        law: patterns of the laws to check, separated by commas.
        profile: ``quick``, ``full`` or ``soak``.
        seed: seed of the drawn cases.
        limit: largest number of seconds for one answer.
        expect: path of a file of expected failures.
        today: date that fedspec compares with the last days of the expected failures; by default the present date.
        strict: True: raise also if fedspec compared or checked a claim only in part.
        algorithms: rows of your own algorithms, which fedspec adds to the catalogue; docs/own-algorithms.md.
        subject: earlier name of ``adapter``.

    Raises:
        DoesNotConform: a claim does not conform, gave no answer or is inconclusive, or an expected failure did not
            occur. With ``strict`` also if fedspec compared or checked a claim only in part.
        FedspecError: a name is unknown, fedspec cannot read a file, or the adapter is missing or has nothing to check.
    """
    adapter = subject if adapter is None else adapter
    if adapter is None:
        raise FedspecError('adapter: missing; pass a file, as in check_adapter("mine.py"), or an adapter object')
    for row in algorithms:
        know(row)
    name = adapter if isinstance(adapter, str) else adapter.info.name
    request = Request(
        implementations=(name,),
        only=(only,) if isinstance(only, str) else tuple(only),
        law=law,
        profile=profile,
        seed=seed,
        limit=limit,
        expect=() if expect is None else read(Path(expect)),
        today=today or date.today(),
        given={} if isinstance(adapter, str) else {name: adapter},
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
