"""The command ``fedspec``."""

from __future__ import annotations

import platform
import sys
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec import __version__
from fedspec_suite.cli import own_files, project
from fedspec_suite.cli.manual import Manual
from fedspec_suite.cli.running import run

app = typer.Typer(
    cls=Manual,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="An executable specification of federated optimisation, and the judge of implementations.",
)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(f"fedspec {__version__} (Python {platform.python_version()}, NumPy {version_of('numpy')})")
        raise typer.Exit


@app.callback(help=app.info.help)
def common(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the versions and exit.")
    ] = False,
    plugin: Annotated[list[str] | None, typer.Option(own_files.OPTION, metavar="FILE", help=own_files.HELP)] = None,
    trusted: Annotated[str | None, typer.Option(own_files.PROJECT, metavar="DIR", help=own_files.PROJECT_HELP)] = None,
    alone: Annotated[bool, typer.Option(own_files.NO_PROJECT, help=own_files.NO_PROJECT_HELP)] = False,
) -> None:
    """Options of the command itself; all but ``--version`` are taken, wherever they stand, before this is read."""


def _defaults() -> dict[str, Any]:
    """Those of the project, where its implementations are to be judged."""
    judged = own_files.command_of(sys.argv[1:]) == "check"
    return {"check": project.defaults(Path.cwd())} if judged else {}


def main() -> None:
    """Run the command."""
    run(app, _defaults())
