"""The graph of reductions: every edge, and the law that each one is."""

from __future__ import annotations

from fedspec_suite.laws.reductions.asynchronous import ASYNCHRONOUS
from fedspec_suite.laws.reductions.control import CONTROLLED, NOVA
from fedspec_suite.laws.reductions.edge import Edge, law_of
from fedspec_suite.laws.reductions.gossip import GOSSIP
from fedspec_suite.laws.reductions.joint import BOUNDED, JOINT
from fedspec_suite.laws.reductions.layerwise import LAYERWISE
from fedspec_suite.laws.reductions.one_client import ONE_CLIENT
from fedspec_suite.laws.reductions.solvers import SOLVERS
from fedspec_suite.laws.reductions.synchronous import SYNCHRONOUS

__all__ = ["EDGES", "LAWS", "Edge"]

EDGES: tuple[Edge, ...] = (
    *SOLVERS,
    *SYNCHRONOUS,
    *CONTROLLED,
    *NOVA,
    *ONE_CLIENT,
    *LAYERWISE,
    *GOSSIP,
    *ASYNCHRONOUS,
    *JOINT,
    *BOUNDED,
)
"""Every reduction."""

LAWS = tuple(map(law_of, EDGES))
