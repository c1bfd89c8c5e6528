"""Mutants as data: every named wrong implementation, by id."""

from __future__ import annotations

from fedspec.discovered import said
from fedspec.errors import none_called
from fedspec_suite.mutants.mutant import (
    Mutant,
    Mutated,
    Thread,
    applied,
    blamed,
    edited,
    editions,
    fresh,
    looked_up,
    original,
    parsed,
    source_of,
    texts,
    wrapped,
)

__all__ = [
    "MUTANTS",
    "Mutant",
    "Mutated",
    "Thread",
    "applied",
    "blamed",
    "edited",
    "editions",
    "find",
    "fresh",
    "looked_up",
    "original",
    "parsed",
    "source_of",
    "texts",
    "wrapped",
]

_FIRST = (
    "server",
    "server_systematic",
    "mixing",
    "client",
    "client_systematic",
    "client_adaptive",
    "preconditioner",
    "fedada2",
    "joint",
    "joint_clients",
    "bounded",
    "gossiping",
    "peers",
    "layerwise",
    "layerwise_rounds",
    "client_centric",
    "client_centric_servers",
    "late",
    "controls",
    "duals",
    "corrections",
    "sampled",
    "nova_servers",
    "symmetries",
)
"""The files whose mutants come first, in the order in which they are stored; any other file joins after them."""

MUTANTS: dict[str, Mutant] = {m.id: m for mutants in said(__name__, "MUTANTS", _FIRST) for m in mutants}


def find(name: str) -> Mutant:
    """The mutant of that id.

    Raises:
        UnknownNameError: no mutant has that id.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    raise none_called("mutant", name, MUTANTS, "fedspec mutants list")
