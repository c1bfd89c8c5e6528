"""Output of ``fedspec show --mirror``: the functions of an algorithm, and the fast versions that replace some."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedspec.catalogue import ADDED, Algorithm, LocalSolver
from fedspec.errors import FedspecError, to_install


def parts(a: Algorithm) -> tuple[Any, ...]:
    """Return the functions of an algorithm's text, with their fast versions.

    Raises:
        FedspecError: torch, or another package that the mirror needs, isn't installed.
    """
    try:
        found: tuple[Any, ...] = import_module("fedspec_torch.fast_paths.text_parts").parts(a)
    except ModuleNotFoundError as missing:
        raise FedspecError(f"show: --mirror needs {missing.name}: {to_install('', 'fedspec-torch')}") from missing
    return found


def show(a: Algorithm, parts: Sequence[Any], out: Console) -> None:
    """Print each function of the text, the fast version that runs in its place, and the tests that compare the two.

    Args:
        a: the row of the algorithm.
        parts: the algorithm's parts, from ``fedspec_torch.fast_paths.text_parts``.
        out: the stream to print to.
    """
    out.print(Text.assemble((a.id, "bold"), "  what the mirror runs"))
    if isinstance(a.run, LocalSolver):
        printed = a.run.rule
        rule = f"{printed.__module__}.{printed.__qualname__}"
        out.print(Text(f"\nA rule by itself: the mirror steps a stack of clients with {rule} as it stands."))
        return
    t = Table.grid(padding=(0, 2))
    t.add_column(no_wrap=True)
    t.add_column(overflow="fold")
    for part in parts:
        waits = f", {part.when}" if part.when else ""
        t.add_row()
        t.add_row(part.what, Text(f"{part.by}{waits}" if part.by else f"the text: {part.text}"))
        if part.how:
            t.add_row("", Text(part.how, style="dim"))
        if part.holds:
            t.add_row("", Text(f"holds {part.holds}", style="dim"))
        for test in part.held_by if a.id in ADDED else part.held_by[:-1]:
            t.add_row("", Text(f"held to it by {test}", style="dim"))
    out.print(t)
    if a.id in ADDED:
        compared = f"`fedspec check torch --only {a.id} --plugin FILE` compares it with the specification"
        whole = f"fedspec's tests of all of it together run the catalogue's rows and not this one: {compared}"
    else:
        whole = f"all of it together, beside the specification in NumPy: {parts[0].held_by[-1]}"
    out.print(Text(f"\n{whole}", style="dim"))
    out.print(Text("how gradients are found is no part of the text: `Federation.choices` says it", style="dim"))
