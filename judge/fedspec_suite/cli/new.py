"""The command ``fedspec new``: write a template of a file with an own algorithm."""

from __future__ import annotations

import ast
import keyword
import re
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from fedspec.catalogue import ALIASES, CATALOGUE
from fedspec.checked_rows import ID, SLUG
from fedspec.errors import UnknownNameError
from fedspec_suite import extensions
from fedspec_suite.report.output import write_new
from fedspec_suite.report.terminal import console


class Kind(StrEnum):
    """Part of the algorithm that is new, which selects the template."""

    SERVER = "server"
    SOLVER = "solver"
    CLIENTS = "clients"
    GOSSIP = "gossip"
    LATE = "late"


BEGINS = {
    Kind.SERVER: "FedAvg with a server that averages its changes",
    Kind.SOLVER: "SGD that averages its gradients, a local solver",
    Kind.CLIENTS: "FedAvg whose clients remember and average their changes",
    Kind.GOSSIP: "decentralised SGD whose clients average their gradients",
    Kind.LATE: "FedBuff with a server that averages its changes",
}
"""Algorithm in the template, before the user changes it."""


def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its id: small letters, digits and hyphens.")],
    kind: Annotated[
        Kind,
        typer.Option(
            help="What is new: the server's step, a client's local step, what clients keep, the gossip, or what "
            "is made of late updates."
        ),
    ] = Kind.SERVER,
    folder: Annotated[Path, typer.Option(help="Where the file goes.")] = Path(),
) -> None:
    """Write a file with an algorithm of your own: its box, rule, row, what it reduces to and two mistakes."""
    if not SLUG.fullmatch(name):
        raise UnknownNameError(f"name: got {name!r}; {ID}")
    if name in CATALOGUE or name in ALIASES:
        raise UnknownNameError(f"name: an algorithm is called {name!r} already (fedspec show {name}); take another")
    path = folder / f"{name.replace('-', '_')}.py"
    text = files("fedspec_suite.cli").joinpath(f"own_{kind}.txt").read_text(encoding="utf-8")
    words = [part.capitalize() for part in name.split("-")]
    parts = {"NAME": name, "RULE": name.replace("-", "_"), "RECORD": "".join(words), "TITLE": " ".join(words)}
    if taken := sorted({parts["RULE"], parts["RECORD"]} & _names(text)):
        raise UnknownNameError(f"name: {name!r} would be {taken[0]} in Python, which the file uses; take another")
    for mark, said in parts.items():
        text = text.replace(f"<{mark}>", said)
    write_new(path, text, "new", "choose another name, or --folder")
    out = console()
    out.print(f"{path} holds {BEGINS[kind]}, under the name {name}. Look at it:")
    asks = [f"show {name}", f"check spec --only {name} --profile quick", f"mutants run '{name}-*'"]
    # A local solver alone is nothing to be simulated; of rounds with a server linear ones have a worst case.
    if kind is not Kind.SOLVER:
        asks.append(f"simulate {name} --rounds 5")
    if kind in (Kind.SERVER, Kind.CLIENTS) and "worst-case" in extensions.installed(extensions.COMMANDS):
        asks.append(f"worst-case {name}")
    for asked in asks:
        out.print(f"  fedspec {asked} --plugin {path}", soft_wrap=True, highlight=False)


def _names(template: str) -> set[str]:
    """Names in a template, and those that Python keeps to itself."""
    tree = ast.parse(re.sub(r"<([A-Z]+)>", r"_\1", template))
    bound = {getattr(node, field, None) for node in ast.walk(tree) for field in ("id", "name", "arg")}
    return {str(name) for name in bound} | {*keyword.kwlist}
