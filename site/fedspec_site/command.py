"""Reference of the command, generated from Typer."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer

from fedspec_site.writing import Source
from fedspec_suite.cli.app import app
from fedspec_suite.cli.manual import SECTIONS


@dataclass(frozen=True)
class Command:
    """Help of one command.

    Attributes:
        name: name of the command.
        usage: its first line.
        paragraphs: description of the command.
        parameters: parameters of the command, each with its description.
        after: text at the end of its help.
        under: the names of its commands.
    """

    name: str
    usage: str
    paragraphs: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...]
    after: str
    under: tuple[str, ...]


def commands() -> Iterator[Command]:
    """Yield each command and its subcommands."""
    # The help must not depend on who makes it.
    os.environ.update(COLUMNS="1000", HOME="/home/you")
    yield from _below(typer.main.get_command(app), None, "fedspec")


def _below(command: Any, parent: Any, name: str) -> Iterator[Command]:
    context = type(command).context_class(command, parent=parent, info_name=name.rpartition(" ")[2])
    under: dict[str, Any] = {}
    if hasattr(command, "list_commands"):
        under = {n: command.get_command(context, n) for n in command.list_commands(context)}
    records = [found for p in command.params if (found := p.get_help_record(context))]
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    help = tuple(" ".join(part.split()) for part in (command.help or "").split("\n\n") if part.strip())
    after = " ".join((command.epilog or "").split())
    yield Command(name, usage, help, tuple(records), after, tuple(f"{name} {n}" for n in under))
    for n, one in under.items():
        if not one.hidden:
            yield from _below(one, context, f"{name} {n}")


def write(source: Source) -> None:
    """Write the page."""
    found = [*commands()]
    source.page("reference/command", "command", commands=found, sections=SECTIONS, anchor=_anchor)


def _anchor(name: str) -> str:
    return "command-" + re.sub(r"[^a-z]+", "-", name)
