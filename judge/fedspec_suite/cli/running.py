"""How the command runs and ends: what it prints of errors, and its exit codes."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from typing import Any

import typer

from fedspec import plugins
from fedspec.errors import FedspecError
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
    """Run the command; what fedspec refuses is printed as it is, without a traceback, and exits 2."""
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
