"""The commands: what each is for, where it is, and its line of the help, so that only the one that runs is imported."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command that is imported when it runs.

    Attributes:
        where: MODULE:ATTRIBUTE of what adds it to the command line: a function that takes a ``Typer``, or a ``Typer``
            of its own.
        words: what it does, as the help says it.
    """

    where: str
    words: str


PURPOSES: dict[str, dict[str, Command]] = {
    "Judge an implementation": {
        "check": Command("fedspec_suite.cli.check:mount", "Judge implementations."),
        "report": Command(
            "fedspec_suite.cli.report:mount",
            "Write one page about your own runs, say what changed between two, make a badge.",
        ),
        "replay": Command("fedspec_suite.cli.replay:mount", "Play the failures of a capsule again."),
        "identify": Command(
            "fedspec_suite.cli.identify:mount",
            "Say which variant each offer is: a reading, a known or a generic defect, two at once, another rule.",
        ),
        "smoke": Command(
            "fedspec_suite.cli.smoke:mount",
            "Play one small case of each offer; the numbers of its reading stand beside the answer, and nothing is "
            "judged.",
        ),
        "subjects": Command("fedspec_suite.cli.subjects:mount", "List the bundled subjects."),
        "adapters": Command(
            "fedspec_suite.cli.adapters:mount",
            "Judge a function that mixes the low-rank adapters (LoRA) of clients: FedIT, FFA-LoRA, RoLoRA, FLoRA, "
            "FedEx.",
        ),
    },
    "Look things up": {
        "list": Command(
            "fedspec_suite.cli.catalogue:mount", "List the algorithms, all or those that a word is said of."
        ),
        "show": Command(
            "fedspec_suite.cli.catalogue:mount",
            "Show one algorithm: its box beside its code, equations, readings, laws, reductions, costs, traps.",
        ),
        "graph": Command(
            "fedspec_suite.cli.catalogue:mount", "Draw which algorithm is which other one under a restriction."
        ),
        "laws": Command("fedspec_suite.cli.laws:mount", "List the laws, or say all of one."),
        "papers": Command(
            "fedspec_suite.cli.catalogue:mount",
            "The five papers: authors, venue, ids, the text that is specified, what other versions change.",
        ),
        "vectors": Command("fedspec_suite.cli.vectors:app", "Cases on disk with what the rule gives; docs/vectors.md."),
    },
    "Train with an algorithm": {
        "simulate": Command(
            "fedspec_suite.cli.simulate:mount",
            "Train a model with an algorithm of the catalogue, and others beside it, on real data.",
        ),
    },
    "Bring an own algorithm": {
        "new": Command(
            "fedspec_suite.cli.new:mount",
            "Write a file with an algorithm of your own: its box, rule, row, what it reduces to and two mistakes.",
        ),
    },
    "The papers' statements, and beyond": {
        "claims": Command(
            "fedspec_suite.cli.claims:app",
            "The statements of the five papers: what is proved, checked, refuted or repaired, and the evidence.",
        ),
        "reproduce": Command(
            "fedspec_suite.cli.reproduce:mount",
            "Run a paper's claim and say whether it appears here, and by how much.",
        ),
        "worst-case": Command(
            "fedspec_suite.cli.worst_case:mount",
            "How far from the minimiser x* may rounds end that begin at most 1 away from it, whatever the clients?",
        ),
    },
    "Does the suite bite": {
        "mutants": Command("fedspec_suite.cli.mutants:app", "Wrong implementations, and the laws that kill them."),
    },
}
"""The commands by what they are for, in the order in which somebody new needs them."""

COMMANDS = {name: command for commands in PURPOSES.values() for name, command in commands.items()}
