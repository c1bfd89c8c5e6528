"""The command ``fedspec check``."""

from __future__ import annotations

import json
import math
import secrets
import time
from pathlib import Path
from typing import Annotated, TextIO

import typer

from fedspec.errors import FedspecError, ParameterError
from fedspec_suite.judge import locate
from fedspec_suite.judge.check import check
from fedspec_suite.judge.request import Request
from fedspec_suite.judge.runner import PROFILES
from fedspec_suite.judge.workers import Terminated
from fedspec_suite.measure.process import LIMIT, START_LIMIT
from fedspec_suite.measure.setting import Reach
from fedspec_suite.measure.verdict import Result, exit_code
from fedspec_suite.report import verdicts
from fedspec_suite.report.terminal import Json, complaints, console, emit, spinner, unbroken

EXIT_CODES = "Exit code: 0 conforms, 1 does not, 2 usage or adapter error, 3 inconclusive."


def check_limit(limit: float, name: str = "limit") -> None:
    """Refuse a time limit that is none.

    Raises:
        ParameterError: it is not a positive number of seconds.
    """
    if not 0 < limit < math.inf:
        raise ParameterError(f"{name}: got {limit:g}; it is a number of seconds > 0")


def seed_of(said: str) -> int:
    """The seed that is meant; a fresh one for ``random``.

    Raises:
        ParameterError: it is neither a whole number nor that word.
    """
    if said == "random":
        return secrets.randbelow(2**32)
    try:
        return int(said)
    except ValueError:
        raise ParameterError(f"seed: got {said!r}; it is a whole number, or random") from None


class Report:
    """A file of one JSON object a line; what stood in it goes when the first line comes, not before."""

    def __init__(self, path: Path) -> None:
        """Open it, so that a file that cannot be written is refused before the work.

        Raises:
            FedspecError: it cannot be written.
        """
        self.path = path
        self.failure = ""
        self._lines = 0
        self._new = not path.exists()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._stream: TextIO = path.open("a", encoding="utf-8")
        except OSError as error:
            raise FedspecError(f"report: cannot write {path} ({error.strerror}); give another file") from error

    def write(self, result: Result) -> None:
        """Add a line; the first failure is remembered, and nothing is written after it."""
        if self.failure:
            return
        try:
            if not self._lines and self.path.is_file():
                self._stream.truncate(0)
            self._lines += 1
            self._stream.write(json.dumps(result.record()) + "\n")
            self._stream.flush()
        except OSError as error:
            self.failure = f"report: {self.path} is not complete ({error.strerror}); the table is"

    def close(self) -> None:
        """Close it; where nothing was written, leave things as they were."""
        try:
            self._stream.close()
            if self._new and not self._lines:
                self.path.unlink()
        except OSError as error:
            self.failure = self.failure or f"report: {self.path} is not complete ({error.strerror}); the table is"


def mount(app: typer.Typer) -> None:
    """Add the command."""

    @app.command("check", epilog=EXIT_CODES)
    def check_(
        implementations: Annotated[list[str], typer.Argument(metavar="IMPL...", help="; ".join(locate.KINDS))],
        only: Annotated[
            list[str] | None, typer.Option(help="[VARIANT:]ALGORITHM[/LEVEL[/READING]], with * and ?; repeatable.")
        ] = None,
        law: Annotated[str, typer.Option(help="Only the laws of this pattern; see `fedspec laws`.")] = "*",
        profile: Annotated[str, typer.Option(help=f"How many cases: {', '.join(PROFILES)}.")] = "full",
        seed: Annotated[str, typer.Option(help="Seed of the drawn cases, or random: one that is printed.")] = "0",
        rounds: Annotated[int, typer.Option(min=1, help="Rounds of the longest cases.")] = Reach.rounds,
        clients: Annotated[int, typer.Option(min=1, help="Clients of the most crowded cases.")] = Reach.clients,
        dim: Annotated[int, typer.Option(min=1, help="Coordinates of the largest models.")] = Reach.coordinates,
        limit: Annotated[float, typer.Option(help="Seconds that one answer may take.")] = LIMIT,
        start_limit: Annotated[
            float, typer.Option(help="Seconds that the handshake may take, with the imports.")
        ] = START_LIMIT,
        budget: Annotated[
            float | None, typer.Option(help="Seconds that one subject may take in all.", show_default="no limit")
        ] = None,
        device: Annotated[str, typer.Option(help="Where the mirror runs: cpu or cuda.")] = "cpu",
        jobs: Annotated[int, typer.Option(min=1, help="Processes that share the work.")] = 2,
        report: Annotated[Path | None, typer.Option(help="Write one JSON object a line, one for each offer.")] = None,
        details: Annotated[bool, typer.Option("--details", help="Print every obligation, note and command.")] = False,
        as_json: Json = False,
    ) -> None:
        """Judge implementations."""
        check_limit(limit)
        check_limit(start_limit, "start-limit")
        if budget is not None:
            check_limit(budget, "budget")
        request = Request(
            implementations=implementations,
            only=only or (),
            law=law,
            profile=profile,
            seed=seed_of(seed),
            limit=limit,
            device=device,
            jobs=jobs,
            start_limit=start_limit,
            budget=math.inf if budget is None else budget,
            reach=Reach(coordinates=dim, rounds=rounds, clients=clients),
        )
        begun = time.monotonic()
        results, code, failure = _run(request, Report(report) if report else None)
        with unbroken():
            if as_json:
                emit([r.record() for r in results])
            elif results:
                _print(results, request, details, time.monotonic() - begun)
        if failure:
            complaints().print(f"fedspec: {failure}")
        raise typer.Exit(code)


def _run(request: Request, report: Report | None) -> tuple[list[Result], int, str]:
    """Judge, up to the end or to an interrupt: what came of it, the exit code, and what else went wrong."""
    results: list[Result] = []
    failure, code = "", 0
    try:
        with spinner() as progress:
            for result in check(request, progress):
                results.append(result)
                if report:
                    report.write(result)
        code = exit_code(results)
    except KeyboardInterrupt as interrupt:
        code = 143 if isinstance(interrupt, Terminated) else 130
        failure = f"interrupted: {len(results)} offers were judged before"
    finally:
        if report:
            report.close()
    if report and report.failure:
        code, failure = code if code >= 128 else 2, "; ".join(filter(None, (failure, report.failure)))
    return results, code, failure


def _print(results: list[Result], request: Request, details: bool, seconds: float) -> None:
    ran = f"profile {request.profile}, seed {request.seed}, {seconds:.0f} s"
    verdicts.show(results, console(), ran, details=details)
