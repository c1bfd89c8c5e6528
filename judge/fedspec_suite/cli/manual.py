"""The commands, each imported only when it runs, and ``fedspec --help``: commands by purpose, exit codes, examples."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from fedspec_suite import extensions


@dataclass(frozen=True)
class Command:
    """Command that is imported only when it runs.

    Attributes:
        words: description of the command in the help.
        where: MODULE:ATTRIBUTE of the function that it runs, or of a ``Typer`` of its own. Empty: the entry point of
            another distribution says it, or a function that takes a ``Typer``.
    """

    words: str
    where: str = ""


PURPOSES: dict[str, dict[str, Command]] = {
    "Judge an implementation": {
        "adapter": Command(
            "Write an adapter: the file that connects your implementation to fedspec, with a line to fill in.",
            "fedspec_suite.cli.adapter:adapter",
        ),
        "check": Command(
            "Check whether your code computes the update rule that its adapter claims.",
            "fedspec_suite.cli.check:check_",
        ),
        "report": Command(
            "Write a page about stored results, compare two runs, or make a badge.",
            "fedspec_suite.cli.report:report_",
        ),
        "replay": Command(
            "Run the failures in a capsule again, for example after a fix.", "fedspec_suite.cli.replay:replay_"
        ),
        "identify": Command(
            "Name the variant that your code computes: a reading, a known defect, two at once, or another rule.",
            "fedspec_suite.cli.identify:identify_",
        ),
        "smoke": Command(
            "Run one small case of each claim, and print your numbers beside those of its reading; nothing is judged.",
            "fedspec_suite.cli.smoke:smoke",
        ),
        "faults": Command(
            "Send servers messages that aren't right, such as a change that holds NaN, and print what each does.",
            "fedspec_suite.cli.faults:faults",
        ),
        "packages": Command("List the packages that have a bundled adapter.", "fedspec_suite.cli.subjects:subjects"),
        "lora": Command(
            "Judge a function that averages the low-rank matrices (LoRA) of clients: FedIT, FFA-LoRA, RoLoRA, FLoRA, "
            "FedEx.",
            "fedspec_suite.cli.lora:lora_",
        ),
    },
    "Look things up": {
        "list": Command("List the algorithms, or those that match a word.", "fedspec_suite.cli.catalogue:list_"),
        "show": Command(
            "Show one algorithm: its box, its equations, its readings, and how to claim it.",
            "fedspec_suite.cli.catalogue:show",
        ),
        "graph": Command(
            "Draw which algorithm is which other one under a restriction.", "fedspec_suite.cli.catalogue:graph"
        ),
        "laws": Command("List the laws, or print everything about one.", "fedspec_suite.cli.laws:laws"),
        "papers": Command(
            "The five papers: authors, venue, ids, the text that is specified, what other versions change.",
            "fedspec_suite.cli.catalogue:papers",
        ),
        "vectors": Command("Cases on disk with what the rule gives; docs/vectors.md.", "fedspec_suite.cli.vectors:app"),
    },
    "Train with an algorithm": {
        "simulate": Command("Train a model with an algorithm of the catalogue, and others beside it, on real data."),
    },
    "Bring an own algorithm": {
        "new": Command(
            "Write a file with an algorithm of your own: its box, rule, row, what it reduces to and two mistakes.",
            "fedspec_suite.cli.new:new",
        ),
    },
    "The papers' statements, and beyond": {
        "claims": Command(
            "The statements of the five papers: what is proved, checked, refuted or repaired, and the evidence."
        ),
        "reproduce": Command("Run a paper's claim and say whether it appears here, and by how much."),
        "worst-case": Command(
            "Certify how far from the minimiser x* rounds may end that begin at most 1 away from it, "
            "whatever the clients."
        ),
    },
    "Test the checks themselves": {
        "mutants": Command("Wrong implementations, and the laws that kill them.", "fedspec_suite.cli.mutants:app"),
    },
}
"""Commands by purpose, in the order in which a new user needs them."""

FORMERLY = {"subjects": "packages"}
"""Present names of renamed commands, by their earlier names."""

COMMANDS = {name: command for commands in PURPOSES.values() for name, command in commands.items()}


SECTIONS: dict[str, tuple[tuple[str, str], ...]] = {
    "Exit codes": (
        ("0", "everything conforms in what was compared or fails as expected, or the command did its work"),
        ("1", "something does not conform, still fails, or an expected failure passes"),
        ("2", "a usage error, an adapter that gave no answer, or a file that could not be written"),
        ("3", "too little could be decided"),
        ("130, 143", "interrupted, terminated; fedspec prints and reports what it judged before"),
    ),
    "Environment": (
        ("FEDSPEC_CACHE", "where environments of bundled packages are kept (~/.cache/fedspec)"),
        ("FEDSPEC_PLUGINS", "files with own algorithms, as --plugin names them, separated as in PATH"),
        ("COLUMNS, NO_COLOR", "how wide the tables are, and whether they have colours"),
    ),
    "Examples": (
        ("fedspec check mine.py", "judge an adapter in a file"),
        ("fedspec check 'cmd:node mine.mjs'", "judge a program in any language"),
        ("fedspec check flwr --only fedadam", "judge a bundled package"),
        ("fedspec check mine.py --report r.jsonl", "store the results"),
        ("fedspec report r.jsonl -o r.html", "make a page of them"),
        ("fedspec check mine.py --capsules kept", "store the failures"),
        ("fedspec replay kept/FILE.json mine.py", "run one again"),
        ("fedspec show fedadam", "an algorithm, its readings, and how to claim it"),
    ),
}


@cache
def loaded(name: str) -> Any:
    """Import and return the Typer command of a name."""
    # Nothing is to be left in the folder that the command runs in, by the processes that it starts either.
    from fedspec_suite.subjects import environments

    os.environ.setdefault("HYPOTHESIS_STORAGE_DIRECTORY", str(environments.cache_folder() / "hypothesis"))
    where, _, attribute = COMMANDS[name].where.partition(":")
    of_other = None if where else extensions.found(extensions.COMMANDS, name, name)
    module: Any = None if of_other else import_module(where)
    found = of_other.load() if of_other else getattr(module, attribute)
    alone = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    elif of_other:
        found(alone)
    else:
        alone.command(name, epilog=getattr(module, "EPILOG", None))(found)
    return typer.main.get_group(alone).commands[name]


class Manual(TyperGroup):
    """Typer group of the commands; its help is laid out like a manual page and imports no command."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.commands: Any = dict.fromkeys(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Import and return a command, by its present or an earlier name."""
        name = FORMERLY.get(cmd_name, cmd_name)
        return self.commands.get(name) or (loaded(name) if name in COMMANDS else None)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:
        """Complete a word for a shell, without importing any command."""
        whole = self.commands
        self.commands = {name: TyperCommand(name, short_help=c.words) for name, c in sorted(COMMANDS.items())}
        try:
            return super().shell_complete(ctx, incomplete)
        finally:
            self.commands = whole

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the commands by purpose into the help."""
        # One column for all of them, so that they read as one list.
        widest = max(map(len, COMMANDS))
        for purpose, commands in PURPOSES.items():
            with formatter.section(purpose):
                formatter.write_dl([(name.ljust(widest), command.words) for name, command in commands.items()])

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write the exit codes, examples and other common sections into the help."""
        for title, rows in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(list(rows), col_max=36)
        formatter.write_paragraph()
        formatter.write_text("`fedspec COMMAND --help` describes each.")
