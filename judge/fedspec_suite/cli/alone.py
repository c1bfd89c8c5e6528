"""The command ``fedspec worst-case`` without the other commands, which take longer to load than a question takes."""

from __future__ import annotations

import typer

from fedspec_suite.cli import worst_case
from fedspec_suite.cli.manual import Manual
from fedspec_suite.cli.running import run

app = typer.Typer(cls=Manual, rich_markup_mode=None, pretty_exceptions_enable=False)


@app.callback()
def common() -> None:
    """Keep the command's word on the command line."""


worst_case.mount(app)


def main() -> None:
    """Run the command."""
    run(app)
