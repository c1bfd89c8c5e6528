"""Entry point of the command ``fedspec``; it imports no optional package, so that it can name a missing one."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from fedspec.errors import FedspecError, to_install

NEEDED = ("hypothesis", "rich", "typer")


def main() -> None:
    """Run the command, or print which packages to install."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        sys.stderr.write(
            f"fedspec: the command needs {', '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed; {to_install('suite')}\n"
        )
        raise SystemExit(2)
    if words := clash():
        sys.stderr.write(f"fedspec: {words}\n")
        raise SystemExit(2)
    from fedspec_suite.cli import plugin_files

    try:
        sys.argv[1:] = plugin_files.prepare(sys.argv[1:])
        from fedspec_suite.cli.app import main as run
    except FedspecError as error:
        sys.stderr.write(f"fedspec: {error}\n")
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        # While it imports.
        raise SystemExit(130) from None
    run()


def clash() -> str:
    """Return why the installed Typer does not work with the installed Click; empty if it does.

    Typer before 0.16 lets an index bring a Click that came later, and then takes no default and prints no help.
    """
    try:
        typer, click = version("typer"), version("click")
    except PackageNotFoundError:
        # Later versions of Typer need none.
        return ""
    if _number(typer) < (0, 16) and _number(click) >= (8, 2):
        return f"typer {typer} does not work with click {click}; pip install 'click<8.2', or 'typer>=0.16'"
    return ""


def _number(text: str) -> tuple[int, ...]:
    """The first two parts of a version."""
    return tuple(int("".join(c for c in part if c.isdigit()) or 0) for part in text.split(".")[:2])
