"""Runs the command as often as it is asked to, each time in a process of its own that has imported everything already.

A request a line on standard input, as JSON: arguments, environment, folder, how many cases the quick profile draws,
whether what does not conform is explained, and the files that take its output. The answer is a line with its exit
status. It saves a second of imports for every command that the tests run.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from typing import Any

from fedspec_suite.cli import main
from fedspec_suite.diagnosis.identify import Diagnosis
from fedspec_suite.judge import check
from fedspec_suite.judge.runner import PROFILES


def run(
    arguments: list[str], environment: dict[str, str], folder: str, cases: int, explained: bool, out: str, err: str
) -> int:
    """The command's exit status, as a shell would see it; what it prints goes into the files."""
    PROFILES["quick"] = cases
    if not explained:
        check.explanation = lambda *given: (Diagnosis(0, 0.0), "not looked for")
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in ((1, out), (2, err)):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.argv = ["-c", *arguments]
    status: Any = 0
    try:
        main()
    except SystemExit as end:
        status = end.code
    except BaseException:
        traceback.print_exc()
        status = 1
    sys.stdout.flush()
    sys.stderr.flush()
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
