"""What ``fedspec --help`` prints: the commands by what they are for, exit codes, environment, examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, MutableMapping
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fedspec_suite import brought
from fedspec_suite.cli.commands import COMMANDS, PURPOSES

SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Exit codes": (
        ("0", "everything conforms in what was seen or fails as expected, or what was asked for was done"),
        ("1", "something does not conform, still fails, or an expected failure is none"),
        ("2", "a usage error, a subject that gave no answer, or a file that could not be written"),
        ("3", "too little could be decided"),
        ("130, 143", "interrupted, terminated; what was judged before is printed and reported"),
    ),
    "Environment": (
        ("FEDSPEC_CACHE", "where environments of bundled packages are kept (~/.cache/fedspec)"),
        ("FEDSPEC_PLUGINS", "files with own algorithms, as --plugin names them, separated as in PATH"),
        ("COLUMNS, NO_COLOR", "how wide the tables are, and whether they have colours"),
    ),
    "Examples": (
        ("fedspec check py:mine.py:Subject", "judge an adapter in a file"),
        ("fedspec check 'cmd:node mine.mjs'", "judge a program in any language"),
        ("fedspec check flwr --only fedadam", "judge a bundled package"),
        ("fedspec check IMPL --report r.jsonl", "keep what was found"),
        ("fedspec report r.jsonl -o r.html", "make a page of it"),
        ("fedspec check IMPL --capsules kept", "keep what fails"),
        ("fedspec replay kept/FILE.json IMPL", "play it again"),
        ("fedspec show fedadam", "all about one algorithm"),
    ),
}


@cache
def loaded(name: str) -> Any:
    """The command of that name; it and what it needs are imported for it."""
    # Nothing is to be left in the folder that the command runs in, by the processes that it starts either.
    from fedspec_suite.subjects import environments

    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(environments.cache_folder() / "hypothesis"))
    module, _, attribute = COMMANDS[name].where.partition(":")
    of_other = None if module else brought.found(brought.COMMANDS, name, name)
    found = of_other.load() if of_other else getattr(import_module(module), attribute)
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        found(alone)
    return typer.main.get_group(alone).commands[name]


class Lazy(MutableMapping[str, Any]):
    """The commands by name, each loaded when it is asked for."""

    def __init__(self) -> None:
        self.others: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        return self.others[name] if name in self.others or name not in COMMANDS else loaded(name)

    def __setitem__(self, name: str, command: Any) -> None:
        self.others[name] = command

    def __delitem__(self, name: str) -> None:
        del self.others[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**COMMANDS, **self.others})

    def __len__(self) -> int:
        return len({**COMMANDS, **self.others})


class Manual(TyperGroup):
    """The command, with a help that is read like a manual page and loads no command."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands = Lazy()

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """What a shell may complete a word to; no command is loaded for its line of the help."""
        whole = self.commands
        self.commands = {name: TyperCommand(name, short_help=c.words) for name, c in sorted(COMMANDS.items())}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = whole

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by purpose."""
        # One column for all of them, so that they read as one list.
        widest = max(map(len, COMMANDS))
        for purpose, commands in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(name.ljust(widest), command.words) for name, command in commands.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the commands have in common."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(rows), col_max=36)
        formatter.write_paragraph()
        formatter.write_text("`fedspec COMMAND --help` says more of each.")
