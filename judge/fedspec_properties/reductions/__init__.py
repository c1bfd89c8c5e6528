"""Graph of reductions: all edges, and the law that each edge defines."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from fedspec import plugins
from fedspec.catalogue import find, rows_of
from fedspec.discovered import said
from fedspec.errors import PluginError
from fedspec_properties.reductions.edge import Edge, law_of, reduces, translated
from fedspec_suite.own import Reduction

__all__ = ["EDGES", "LAWS", "Edge"]

_FIRST = (
    "solvers",
    "synchronous",
    "control",
    "nova",
    "one_client",
    "layerwise",
    "gossip",
    "peers",
    "asynchronous",
    "joint",
)


class _Own(Edge):
    """Edge of a plugin: its law is asked, and no other test has checked it."""

    exact = "floats"
    symbolic = "its law alone"


def _added() -> Iterator[Edge]:
    """The reductions that plugins say."""
    for module in plugins.loaded():
        for r in getattr(module, "EDGES", ()):
            if not isinstance(r, Reduction):
                where = plugins.where(module)
                raise PluginError(f"plugin: EDGES of {where} holds {r!r}; want fedspec_suite.own.Reduction")
            row, target = rows_of(module)[0] if not r.algorithm else find(r.algorithm), find(r.target)
            unknown = [n for n in r.values if n not in row.numbers]
            unknown += [n for n in r.hyper or () if n not in target.numbers]
            unknown += [n for n in r.options or () if n not in target.options]
            if unknown or not {*r.levels} <= {*row.levels} & {*target.levels}:
                about = f"names {', '.join(unknown)}, which it lacks" if unknown else "has other levels"
                raise PluginError(
                    f"plugin: the Reduction of {row.id} to {r.target} {about}; see `fedspec show {r.target}`"
                )
            values: dict[str, Any] = {**r.values}
            edge = reduces(row.id, target.id, r.cited, levels=r.levels).under(**values)
            carry = partial(translated, algorithm=target.id, hyper=r.hyper, options=r.options)
            yield _Own(**vars(edge.having(carry=carry)))


def without_decay(edge: Edge) -> Edge:
    """Restrict an edge to weight decay 0 at the source, if its target has no decay and the edge doesn't set one."""
    here, there = (find(name).numbers_at(edge.level) for name in (edge.source, edge.target))
    if "wd" not in here or "wd" in (*there, *edge.needs):
        return edge
    return edge.under(" and ".join(filter(None, (edge.when, "wd = 0"))), wd=0.0)


EDGES: tuple[Edge, ...] = (
    *(
        without_decay(edge)
        for package, first in ((__name__, _FIRST), ("fedspec_properties.closed_forms", ()))
        for edges in said(package, "EDGES", first)
        for edge in edges
    ),
    *_added(),
)
"""All reductions: from this package, from the closed-form modules, and from plugins."""

LAWS = tuple(map(law_of, EDGES))
