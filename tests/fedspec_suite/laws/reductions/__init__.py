"""The graph of reductions: every edge, and the law that each one is."""

from __future__ import annotations

from fedspec.discovered import said
from fedspec_suite.laws.reductions.edge import Edge, law_of

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
    "bounded",
)

EDGES: tuple[Edge, ...] = tuple(
    edge
    for package, first in ((__name__, _FIRST), ("fedspec_suite.laws.closed_forms", ()))
    for edges in said(package, "EDGES", first)
    for edge in edges
)
"""Every reduction: those of this package's files, and those that stand beside their algorithm's closed form."""

LAWS = tuple(map(law_of, EDGES))
