"""Mutants as data: every named wrong implementation, by id."""

from __future__ import annotations

from fedspec.errors import UnknownNameError
from fedspec_suite.mutants import (
    bounded,
    client,
    client_adaptive,
    client_centric,
    client_systematic,
    controls,
    corrections,
    fedada2,
    gossiping,
    joint,
    late,
    layerwise,
    mixing,
    preconditioner,
    sampled,
    server,
    server_systematic,
    symmetries,
)
from fedspec_suite.mutants.mutant import Mutant, Mutated, applied, blamed, edited, fresh, original, sessions, texts

__all__ = [
    "MUTANTS",
    "Mutant",
    "Mutated",
    "applied",
    "blamed",
    "edited",
    "find",
    "fresh",
    "original",
    "sessions",
    "texts",
]

MUTANTS: dict[str, Mutant] = {
    m.id: m
    for m in (
        *server.MUTANTS,
        *server_systematic.MUTANTS,
        *mixing.MUTANTS,
        *client.MUTANTS,
        *client_systematic.MUTANTS,
        *client_adaptive.MUTANTS,
        *preconditioner.MUTANTS,
        *fedada2.MUTANTS,
        *joint.MUTANTS,
        *bounded.MUTANTS,
        *gossiping.MUTANTS,
        *layerwise.MUTANTS,
        *client_centric.MUTANTS,
        *late.MUTANTS,
        *controls.MUTANTS,
        *corrections.MUTANTS,
        *sampled.MUTANTS,
        *symmetries.MUTANTS,
    )
}


def find(name: str) -> Mutant:
    """The mutant of that id.

    Raises:
        UnknownNameError: no mutant has that id.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    raise UnknownNameError(f"mutant: unknown {name!r}; known: {', '.join(MUTANTS)}")
