"""The command ``fedspec replay``: run the failures in a capsule on an implementation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fedspec.errors import ParameterError
from fedspec_suite.judge import locate
from fedspec_suite.judge.capsules.file_format import read
from fedspec_suite.judge.capsules.replay import exit_code, replay_capsule
from fedspec_suite.measure.process import LIMIT, START_LIMIT
from fedspec_suite.report import capsules
from fedspec_suite.report.terminal import Json, console, emit, spinner

EPILOG = "Exit code: 0 all pass now, 1 one still fails, 2 usage or adapter error, 3 undecided."


def replay_(
    file: Annotated[Path, typer.Argument(metavar="CAPSULE", help="File that `fedspec check --capsules` wrote.")],
    implementation: Annotated[str, typer.Argument(metavar="ADAPTER", help="; ".join(locate.KINDS))],
    limit: Annotated[float, typer.Option(min=1e-9, help="Seconds that one answer may take.")] = LIMIT,
    start_limit: Annotated[
        float, typer.Option(min=1e-9, help="Seconds that the adapter may take to start, with its imports.")
    ] = START_LIMIT,
    device: Annotated[str, typer.Option(help="Device of `torch`, fedspec's own PyTorch code: cpu or cuda.")] = "cpu",
    details: Annotated[bool, typer.Option("--details", help="Describe what happens in each case.")] = False,
    as_json: Json = False,
) -> None:
    """Run the failures in a capsule again, for example after a fix.

    Name your adapter on the command line: fedspec runs nothing that the capsule names.
    """
    capsule = read(file)
    (name, *others) = locate.expand(implementation)
    if others:
        raise ParameterError(f"replay: {implementation} stands for {name}, {', '.join(others)}; name one of them")
    with (
        spinner() as progress,
        locate.opened(name, limit=limit, start_limit=start_limit, device=device, progress=progress) as subject,
    ):
        found = replay_capsule(capsule, subject)
        info = subject.info
    if as_json:
        emit([r.record() for r in found])
    else:
        capsules.show(capsule, found, info, console(), details=details)
    raise typer.Exit(exit_code(found))
