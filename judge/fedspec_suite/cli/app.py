"""The command ``fedspec``: its global options and the handling of errors."""

from __future__ import annotations

import platform
import sys
import traceback
from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Annotated, Any

import typer

from fedspec import __version__, plugins
from fedspec.errors import FedspecError
from fedspec_suite.cli import plugin_files, project
from fedspec_suite.cli.manual import Manual
from fedspec_suite.measure.interrupts import status, terminable
from fedspec_suite.report.output import NO_ROOM, written


def _hyper_parameter(error: Any) -> str:
    """The hyper-parameter that an unknown option is called by, where the command has ``--set``; else nothing."""
    name = str(getattr(error, "option_name", "")).lstrip("-").replace("-", "_")
    command = getattr(getattr(error, "ctx", None), "command", None)
    if not any("--set" in p.opts for p in getattr(command, "params", ())):
        return ""
    from fedspec.domains import DOMAINS

    return name if name in DOMAINS else ""


def _complain(words: str) -> None:
    """Print a line on standard error; what prints it loads only for this."""
    from fedspec_suite.report.terminal import complaints

    complaints().print(f"fedspec: {words}")


def run(app: typer.Typer, defaults: Mapping[str, Any] | None = None) -> None:
    """Run a Typer app as ``fedspec``; print a ``FedspecError`` as one line, without traceback, and exit with 2."""
    with written():
        try:
            with terminable():
                app(prog_name="fedspec", default_map=defaults or {})
        except FedspecError as error:
            _complain(str(error))
            raise SystemExit(2) from None
        except KeyboardInterrupt as early:
            raise SystemExit(status(early)) from None
        except SystemExit as end:
            # Typer makes one exit code of all interrupts.
            interrupt = getattr(end.__context__, "__cause__", None)
            if isinstance(interrupt, KeyboardInterrupt):
                raise SystemExit(status(interrupt)) from None
            if name := _hyper_parameter(end.__context__):
                _complain(f"{name} is a hyper-parameter: --set {name}=...")
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno in NO_ROOM:
                raise
            if (whose := plugins.blamed(error)).startswith("mend"):
                _complain(f"{type(error).__name__}: {error}; {whose}")
                raise SystemExit(2) from None
            traceback.print_exc()
            sys.stderr.write(f"fedspec: internal error: {whose}\n")
            raise SystemExit(2) from None


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
    plugin: Annotated[
        list[str] | None, typer.Option(plugin_files.OPTION, metavar="FILE", help=plugin_files.HELP)
    ] = None,
    trusted: Annotated[
        str | None, typer.Option(plugin_files.PROJECT, metavar="DIR", help=plugin_files.PROJECT_HELP)
    ] = None,
    alone: Annotated[bool, typer.Option(plugin_files.NO_PROJECT, help=plugin_files.NO_PROJECT_HELP)] = False,
) -> None:
    """Declare the global options; all but ``--version`` take effect before Typer parses the command line."""
    if any(plugins.said("MUTANTS")):
        # A plugin's mistake that edits nothing is refused before anything is judged.
        import_module("fedspec_suite.mutants.listed")


def _defaults() -> dict[str, Any]:
    """Return the project's defaults for ``fedspec check``; nothing for other commands."""
    judged = plugin_files.command_of(sys.argv[1:]) == "check"
    return {"check": project.defaults(Path.cwd())} if judged else {}


def main() -> None:
    """Run the command ``fedspec``."""
    run(app, _defaults())
