"""Output of the graph of reductions: as text, for Mermaid and for Graphviz."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fedspec.catalogue import FAMILIES, find
from fedspec_properties.reductions import EDGES, Edge
from fedspec_suite.report.terminal import table

LEGEND = (
    "Every edge is a law of its source; `--format json` gives its id. fractions, decimals: what the two sides are "
    "compared in, without rounding, or to 45 digits where roots are irrational. identity: on a small instance sympy "
    "reduces their difference to 0 for all values of what the restriction leaves free; points: they agree at random "
    "rational points, which proves nothing."
)
ROOMY, WIDE = 110, 160
"""Width from which the text is a table, and width from which the table has a column of sources."""


def around(algorithm: str = "", edges: Iterable[Edge] = EDGES) -> list[Edge]:
    """Return the edges from or to an algorithm; all edges if no algorithm is given."""
    return [e for e in edges if not algorithm or algorithm in {e.source, e.target}]


def row(e: Edge) -> dict[str, Any]:
    """Return an edge as a JSON object."""
    return {
        "id": e.id,
        "source": e.source,
        "target": e.target,
        "when": e.when,
        "options": dict(e.options),
        "cited": e.cited,
        "levels": list(e.levels),
        "exact": e.exact,
        "symbolic": e.symbolic,
        "family": find(e.source).family.value,
        "target_family": find(e.target).family.value,
    }


def restriction(e: Edge) -> str:
    """Return the condition of an edge: its words, and the options that the words don't mention."""
    asked = ", ".join(f"{n} = {v}" for n, v in e.options.items())
    return f"{e.when} ({asked})" if asked and asked not in e.when else e.when


def text(edges: Sequence[Edge], out: Console) -> None:
    """Print the edges, grouped by the family of their source."""
    for family, members in by_family(edges).items():
        out.print(Text(f"\n{family}", style="bold"))
        if out.width < ROOMY:
            _stacked(members, out)
            continue
        t = table("algorithm", "is", "when", "checked in", *(["source"] if out.width >= WIDE else []))
        before = ""
        for e in members:
            source = "" if e.source == before else e.source
            t.add_row(source, e.target, Text(restriction(e)), checked(e), *([e.cited] if out.width >= WIDE else []))
            before = e.source
        for column in t.columns[:2]:
            column.no_wrap = True
        out.print(t)
    out.print()
    out.print(Text(LEGEND, style="dim"))


def by_family(edges: Sequence[Edge]) -> dict[str, list[Edge]]:
    """Group the edges by the family of their source."""
    out: dict[str, list[Edge]] = {}
    for family, members in FAMILIES.items():
        inside = [e for a in members for e in edges if e.source == a.id]
        if inside:
            out[family] = inside
    return out


def checked(e: Edge) -> str:
    """Return the arithmetic in which an edge was checked, and the kind of its symbolic check."""
    return f"{e.exact}, {e.symbolic}"


def _stacked(edges: Sequence[Edge], out: Console) -> None:
    before = ""
    for e in edges:
        if e.source != before:
            out.print(Text(e.source))
        t = Table.grid(padding=(0, 1))
        t.add_row("  is", Text.assemble((e.target, "bold"), f" when {restriction(e)} ", (f"[{checked(e)}]", "dim")))
        out.print(t)
        before = e.source


def _node(algorithm: str) -> str:
    return algorithm.replace("-", "_")


def mermaid(edges: Sequence[Edge]) -> str:
    """Return a Mermaid flowchart with one node per algorithm, grouped by family."""
    lines = ["flowchart LR"]
    drawn = {name for e in edges for name in (e.source, e.target)}
    for k, (family, members) in enumerate(FAMILIES.items()):
        inside = [a.id for a in members if a.id in drawn]
        if inside:
            lines.append(f'  subgraph family{k}["{family}"]')
            lines += [f'    {_node(name)}["{name}"]' for name in inside]
            lines.append("  end")
    for source, target in dict.fromkeys((e.source, e.target) for e in edges):
        lines.append(f"  {_node(source)} --> {_node(target)}")
    return "\n".join(lines)


def dot(edges: Sequence[Edge]) -> str:
    """Return the graph of reductions for Graphviz, with the restrictions as labels of the edges."""
    lines = ["digraph reductions {", "  rankdir=LR;", '  node [shape=box, fontname="Helvetica"];']
    lines.append('  edge [fontname="Helvetica", fontsize=9];')
    drawn = {name for e in edges for name in (e.source, e.target)}
    for k, (family, members) in enumerate(FAMILIES.items()):
        inside = [a.id for a in members if a.id in drawn]
        if inside:
            lines.append(f'  subgraph cluster_{k} {{ label="{family}"; style=rounded; color=gray;')
            lines += [f'    "{name}";' for name in inside]
            lines.append("  }")
    for e in edges:
        label = "\\n".join(textwrap.wrap(restriction(e), 28)).replace('"', '\\"')
        lines.append(f'  "{e.source}" -> "{e.target}" [label="{label}"];')
    return "\n".join([*lines, "}"])
