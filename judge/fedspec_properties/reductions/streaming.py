"""Reductions of streaming DiLoCo."""

from __future__ import annotations

from fedspec_properties.reductions.edge import pinned, told

EDGES = (
    pinned(
        source="streaming-diloco",
        target="diloco",
        cited="external: Douillard et al. (2025): one fragment that travels in no time and is taken whole",
        level="round",
        values={"P": 1, "overlap": 0, "own": 0.0},
        carry=lambda s: told(s, "diloco", options={"weights": "uniform"}),
        roots=True,
    ),
)
