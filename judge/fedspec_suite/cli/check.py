"""The command ``fedspec check``."""

from __future__ import annotations

import json
import math
import secrets
import time
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.judge import locate
from fedspec_suite.judge.capsules.writer import CapsuleFiles
from fedspec_suite.judge.check import check, complaints_of
from fedspec_suite.judge.expected_failures import Complaint, read
from fedspec_suite.judge.request import Request
from fedspec_suite.judge.runner import PROFILES
from fedspec_suite.laws import ALL, PROPERTIES
from fedspec_suite.measure.interrupts import status
from fedspec_suite.measure.process import LIMIT, START_LIMIT
from fedspec_suite.measure.setting import Reach
from fedspec_suite.measure.verdict import Result, counted, exit_code
from fedspec_suite.report import sentences, verdicts
from fedspec_suite.report.files import KNOWN, Report
from fedspec_suite.report.results_file import line, run_of
from fedspec_suite.report.terminal import Json, Only, complaints, console, emit, spinner, unbroken

EXIT_CODES = (
    "Exit code: 0 conforms in what was compared, or fails as expected; "
    "1 does not conform; 2 usage or adapter error; 3 inconclusive."
)


def check_limit(limit: float, name: str = "limit") -> None:
    """Raise if a time limit is not a positive finite number of seconds.

    Raises:
        ParameterError: it is not a positive number of seconds.
    """
    if not 0 < limit < math.inf:
        raise ParameterError(f"{name}: got {limit:g}; it must be a finite number of seconds > 0")


def seed_of(said: str) -> int:
    """Return the seed for the value of ``--seed``; a fresh random seed for ``random``.

    Raises:
        ParameterError: it is neither a whole number nor that word.
    """
    if said == "random":
        return secrets.randbelow(2**32)
    try:
        return int(said)
    except ValueError:
        raise ParameterError(f"seed: got {said!r}; it must be a whole number, or random") from None


class Capsules:
    """Folder of capsules and of the scripts beside them."""

    def __init__(self, folder: Path) -> None:
        """Create the folder, so that an unwritable path is rejected before the work begins.

        Raises:
            FedspecError: it cannot be made.
        """
        self.folder = folder
        self.failure = ""
        self.new = not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FedspecError(f"capsules: cannot make {folder} ({error.strerror}); give another folder") from error

    def keep(self, result: Result) -> Result:
        """Write the capsule of an offer and return the result with its path; an I/O error is kept in ``failure``."""
        made: CapsuleFiles | None = result.made
        if made is None or self.failure:
            return replace(result, made=None)
        files = {f"{made.stem}.json": json.dumps(made.body, indent=1) + "\n", f"{made.stem}.py": made.script}
        try:
            for name, text in files.items():
                if text:
                    (self.folder / name).write_text(text, encoding="utf-8")
                else:
                    # That of an earlier run would play another number.
                    (self.folder / name).unlink(missing_ok=True)
        except OSError as error:
            self.failure = f"capsules: cannot write into {self.folder} ({error.strerror}); the table is complete"
            return replace(result, made=None)
        capsule, script = (str(self.folder / name) if text else "" for name, text in files.items())
        return replace(result, made=None, capsule=capsule, script=script)

    def close(self) -> None:
        """Remove the folder again if it was created and is empty."""
        if self.new:
            with suppress(OSError):
                self.folder.rmdir()


EPILOG = f"{EXIT_CODES[:-1]}, with --strict also if part of a claim was not compared or not checked."


def check_(
    context: typer.Context,
    implementations: Annotated[list[str], typer.Argument(metavar="ADAPTER...", help="; ".join(locate.KINDS))],
    only: Only = None,
    law: Annotated[
        list[str] | None,
        typer.Option(help="Only these checks, with * and ?; repeatable."),
    ] = None,
    properties: Annotated[
        bool, typer.Option("--properties", help="Also check properties: invariants, reductions, closed forms.")
    ] = False,
    profile: Annotated[str, typer.Option(help=f"Number of cases: {', '.join(PROFILES)}.")] = "full",
    seed: Annotated[str, typer.Option(help="Seed of the drawn cases; random draws one and prints it.")] = "0",
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of the longest case.")] = Reach.rounds,
    clients: Annotated[int, typer.Option(min=1, help="Clients of the largest case.")] = Reach.clients,
    dim: Annotated[int, typer.Option(min=1, help="Parameters of the largest model.")] = Reach.coordinates,
    limit: Annotated[float, typer.Option(help="Seconds that one answer may take.")] = LIMIT,
    start_limit: Annotated[
        float, typer.Option(help="Seconds that the adapter may take to start, with its imports.")
    ] = START_LIMIT,
    budget: Annotated[
        float | None, typer.Option(help="Seconds that one adapter may take in all.", show_default="no limit")
    ] = None,
    device: Annotated[str, typer.Option(help="Device of `torch`, fedspec's own PyTorch code: cpu or cuda.")] = "cpu",
    jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
    report: Annotated[
        list[Path] | None, typer.Option(help=f"Write a report; its suffix gives the format: {KNOWN}; repeatable.")
    ] = None,
    capsules: Annotated[
        Path | None, typer.Option(help="Write the failures of each claim into this folder, for `fedspec replay`.")
    ] = None,
    expect: Annotated[Path | None, typer.Option(help="TOML file of expected failures.")] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit with 3 if part of a claim was not compared or not checked.")
    ] = False,
    stop: Annotated[bool, typer.Option("-x", "--stop", help="Stop at the first failure; ask no properties.")] = False,
    no_name: Annotated[
        bool,
        typer.Option("--no-name", help="Skip the search for the known mistake, which takes most of the time."),
    ] = False,
    details: Annotated[bool, typer.Option("--details", "-v", help="Print every check, note and command.")] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", "-q", help="Print a line for each claim: its verdict and the cases covered."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Check whether your code computes the update rule that its adapter claims.

    fedspec runs your code and the published rule on the same cases and compares the numbers. If they differ, it names
    the equation that differs, and the known variant or mistake that gives your numbers.

    To begin, let `fedspec adapter fedadam` write an adapter, and call your code in it.
    """
    check_limit(limit)
    check_limit(start_limit, "start-limit")
    if budget is not None:
        check_limit(budget, "budget")
    request = Request(
        implementations=implementations,
        only=only or (),
        law=",".join([*(law or [ALL]), *([PROPERTIES] if properties else [])]),
        profile=profile,
        seed=seed_of(seed),
        limit=limit,
        device=device,
        jobs=jobs,
        start_limit=start_limit,
        budget=math.inf if budget is None else budget,
        reach=Reach(coordinates=dim, rounds=rounds, clients=clients),
        capsules=capsules is not None,
        expect=read(expect) if expect else (),
        today=date.today(),
        named=not no_name,
        stop=stop,
    )
    if profile == "full" and not stop and not quiet and not as_json and complaints().is_terminal:
        _quick(request)
    begun, run = time.monotonic(), run_of(request)
    kept = Capsules(capsules) if capsules else None
    if report and (only or law) and _of_project(context, "report"):
        complaints().print("fedspec: --only or --law leaves checks out, so fedspec doesn't write the project's reports")
        report = None
    results, code, wrong = _run(request, [Report(path, run) for path in report or ()], kept, strict, quiet)
    with unbroken():
        if as_json:
            emit([line(r, run) for r in results])
        elif quiet:
            verdicts.lines(results, console())
        elif results:
            verdicts.show(results, console(), ran(request, time.monotonic() - begun), details=details)
    for said in wrong:
        complaints().print(f"fedspec: {said}")
    raise typer.Exit(code)


def _quick(request: Request) -> None:
    """Judge by a few cases first and print the outcome, for a person who waits."""
    with spinner() as progress:
        results = list(check(replace(request, profile="quick", capsules=False), progress))
    few, many = PROFILES["quick"], PROFILES["full"]
    complaints().print(f"by {few} cases of each check: {sentences.tally(results)}")
    for r, label in zip(results, sentences.labels(results), strict=True):
        if r.verdict in sentences.TOLD:
            complaints().print(f"  {label}: {sentences.head(r)}")
    complaints().print(f"now {many} of each, and larger ones (--profile quick leaves them out)")


def _of_project(context: typer.Context, name: str) -> bool:
    """True if an option is as pyproject.toml says."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "DEFAULT_MAP"


def _run(
    request: Request, reports: list[Report], capsules: Capsules | None, strict: bool, quiet: bool
) -> tuple[list[Result], int, list[str]]:
    """Judge, up to the end or to an interrupt: what came of it, the exit code, and what else went wrong."""
    results: list[Result] = []
    said: list[str] = []
    wrong: list[Complaint] = []
    begun, code = time.monotonic(), 2
    try:
        with spinner() as progress:
            for result in check(request, (lambda text: None) if quiet else progress):
                results.append(capsules.keep(result) if capsules else result)
                for report in reports:
                    report.write(results[-1])
        wrong = complaints_of(request, results)
        code, said = 1 if wrong else exit_code(results, strict), [str(c) for c in wrong]
    except KeyboardInterrupt as interrupt:
        code = status(interrupt)
        said = [f"interrupted: {counted(len(results), 'claim')} {'was' if len(results) == 1 else 'were'} judged before"]
    finally:
        for report in reports:
            report.close(wrong, ran(request, time.monotonic() - begun))
        if capsules:
            capsules.close()
    failures = [f for f in (*(r.failure for r in reports), capsules.failure if capsules else "") if f]
    if failures:
        code, said = code if code >= 128 else 2, [*said, *failures]
    return results, code, said


def ran(request: Request, seconds: float) -> str:
    """Return a line on the run: profile, seed and duration."""
    stopped = "; up to the first failure (-x)" if request.stop else ""
    return f"profile {request.profile}, seed {request.seed}, {seconds:.0f} s{stopped}"
