"""The commands: what each is for, where it is, and its line of the help, so that only the one that runs is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command that is imported when it runs.

    Attributes:
        words: what it does, as the help says it.
        where: MODULE:ATTRIBUTE of what adds it to the command line: a function that takes a ``Typer``, or a ``Typer``
            of its own. Empty: the entry point of another distribution says it.
    """

    words: str
    where: str = ""


PURPOSES: dict[str, dict[str, Command]] = {
    "Judge an implementation": {
        "check": Command("Judge implementations.", "fedspec_suite.cli.check:mount"),
        "report": Command(
            "Write one page about your own runs, say what changed between two, make a badge.",
            "fedspec_suite.cli.report:mount",
        ),
        "replay": Command("Play the failures of a capsule again.", "fedspec_suite.cli.replay:mount"),
        "identify": Command(
            "Say which variant each offer is: a reading, a known or a generic defect, two at once, another rule.",
            "fedspec_suite.cli.identify:mount",
        ),
        "smoke": Command(
            "Play one small case of each offer; the numbers of its reading stand beside the answer, and nothing is "
            "judged.",
            "fedspec_suite.cli.smoke:mount",
        ),
        "subjects": Command("List the bundled subjects.", "fedspec_suite.cli.subjects:mount"),
        "adapters": Command(
            "Judge a function that mixes the low-rank adapters (LoRA) of clients: FedIT, FFA-LoRA, RoLoRA, FLoRA, "
            "FedEx.",
            "fedspec_suite.cli.adapters:mount",
        ),
    },
    "Look things up": {
        "list": Command(
            "List the algorithms, all or those that a word is said of.", "fedspec_suite.cli.catalogue:mount"
        ),
        "show": Command(
            "Show one algorithm: its box beside its code, equations, readings, laws, reductions, costs, traps.",
            "fedspec_suite.cli.catalogue:mount",
        ),
        "graph": Command(
            "Draw which algorithm is which other one under a restriction.", "fedspec_suite.cli.catalogue:mount"
        ),
        "laws": Command("List the laws, or say all of one.", "fedspec_suite.cli.laws:mount"),
        "papers": Command(
            "The five papers: authors, venue, ids, the text that is specified, what other versions change.",
            "fedspec_suite.cli.catalogue:mount",
        ),
        "vectors": Command("Cases on disk with what the rule gives; docs/vectors.md.", "fedspec_suite.cli.vectors:app"),
    },
    "Train with an algorithm": {
        "simulate": Command("Train a model with an algorithm of the catalogue, and others beside it, on real data."),
    },
    "Bring an own algorithm": {
        "new": Command(
            "Write a file with an algorithm of your own: its box, rule, row, what it reduces to and two mistakes.",
            "fedspec_suite.cli.new:mount",
        ),
    },
    "The papers' statements, and beyond": {
        "claims": Command(
            "The statements of the five papers: what is proved, checked, refuted or repaired, and the evidence."
        ),
        "reproduce": Command("Run a paper's claim and say whether it appears here, and by how much."),
        "worst-case": Command(
            "How far from the minimiser x* may rounds end that begin at most 1 away from it, whatever the clients?"
        ),
    },
    "Does the suite bite": {
        "mutants": Command("Wrong implementations, and the laws that kill them.", "fedspec_suite.cli.mutants:app"),
    },
}
"""The commands by what they are for, in the order in which somebody new needs them."""

COMMANDS = {name: command for commands in PURPOSES.values() for name, command in commands.items()}
