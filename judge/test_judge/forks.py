"""Runs the command as often as it is asked to, each time in a process of its own that has imported much already.

A request a line on standard input, as JSON: arguments, environment, folder, how many cases the quick profile draws,
whether what does not conform is explained, whether a failure is made smaller, and the files that take its output. The
answer is a line with its exit status. It saves a second of imports for every command that the tests run.

All is imported, or, with the argument ``own``, nothing of fedspec's that has to know first which own algorithms there
are: the command then starts as it is installed.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from contextlib import suppress
from typing import Any

import hypothesis.strategies  # noqa: F401
import numpy as np  # noqa: F401
import rich.table  # noqa: F401
import typer.main  # noqa: F401

from fedspec_suite.cli import plugin_files, start

OWN = sys.argv[1:] == ["own"]
if not OWN:
    import fedspec_suite.cli.app
    from fedspec_suite.cli.manual import COMMANDS, loaded

    for command in COMMANDS:
        loaded(command)


def few(cases: int, explained: bool, shrunk: bool) -> None:
    """Let the judge spend less."""
    from fedspec_suite.diagnosis.diagnosis import Diagnosis
    from fedspec_suite.judge import explained as explaining
    from fedspec_suite.judge import runner

    runner.PROFILES["quick"] = cases
    if not explained:
        explaining.explanation = lambda *given: (Diagnosis(0, 0.0), "not looked for")
    if not shrunk:
        runner.SHRINKING = 0


def main() -> None:
    """The command, as it is installed where its own algorithms are not known yet."""
    start.main() if OWN else fedspec_suite.cli.app.main()


def run(
    arguments: list[str],
    environment: dict[str, str],
    folder: str,
    judging: tuple[int, bool, bool] | None,
    out: str,
    err: str,
) -> int:
    """The command's exit status, as a shell would see it; what it prints goes into the files."""
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.path[1:1] = filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["-c", *arguments]
    status: Any = 0
    try:
        if judging and OWN:
            sys.argv[1:] = plugin_files.prepare(sys.argv[1:])
        if judging:
            few(*judging)
        main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError):
            stream.flush()
    if isinstance(status, str):
        os.write(2, status.encode())
    return status if isinstance(status, int) else int(status is not None)


def serve() -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        child = os.fork()
        if not child:
            os._exit(run(**json.loads(line)))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    serve()
