"""What ``fedspec --help`` prints: the commands by what they are for, exit codes, environment, examples."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

PURPOSES: dict[str, tuple[str, ...]] = {
    "Judge an implementation": ("check", "report", "replay", "identify", "smoke", "subjects", "adapters"),
    "Look things up": ("list", "show", "graph", "laws", "papers", "vectors"),
    "Train with an algorithm": ("simulate",),
    "Bring an own algorithm": ("new",),
    "The papers' statements, and beyond": ("claims", "reproduce", "worst-case"),
    "Does the suite bite": ("mutants",),
}
"""The commands, in the order in which somebody new needs them; what is missing here comes last."""

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


class Manual(TyperGroup):
    """The command, with a help that is read like a manual page."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by purpose."""
        there = {name: self.get_command(ctx, name) for name in self.list_commands(ctx)}
        listed = {name for names in PURPOSES.values() for name in names}
        groups = {**PURPOSES, "More": tuple(name for name in there if name not in listed)}
        # One column for all of them, so that they read as one list.
        widest = max(map(len, there))
        for purpose, names in groups.items():
            rows = [
                (name.ljust(widest), command.get_short_help_str(200))
                for name in names
                if (command := there.get(name)) is not None and not command.hidden
            ]
            if rows:
                with formatter.section(purpose):
                    formatter.write_dl(rows)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write what the commands have in common."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(rows), col_max=36)
        formatter.write_paragraph()
        formatter.write_text("`fedspec COMMAND --help` says more of each.")
