"""Count of the catalogue's mutants that the vectors alone detect, from the kills stored in them."""

from __future__ import annotations

from collections.abc import Iterable

from fedspec_suite.mutants import MUTANTS
from fedspec_suite.vectors.store import AlgorithmVectors

_TIE = "shows only where v equals the square; rounding may turn the sign, so no bound is finite; law tie-stays asks it"

SURVIVORS: dict[str, str] = {
    "yogi-tie-falls": _TIE,
    "fedyogi-tie-grows": _TIE,
    "top-k-last-of-equals": "it differs where sizes are equal; rounding may part them, so no bound is finite; law "
    "first-of-equals asks it",
    "multi-krum-cut-from-the-end": "it differs where fewer take part than are kept; in vectors those are two, who tie",
    **dict.fromkeys(
        ("trimmed-mean-clipped", "trimmed-mean-around-the-median"),
        "it differs where five clients or more take part, and in vectors four do at most",
    ),
}
"""Reasons why no vector distinguishes some mutants from the rule."""


def count_kills(files: Iterable[AlgorithmVectors]) -> dict[str, int]:
    """Count the vectors that distinguish each mutant from the rule, in the order of the catalogue."""
    found = dict.fromkeys(MUTANTS, 0)
    for stored in files:
        for vector in stored.vectors:
            for name in {n for names in vector["kills"].values() for n in names} & found.keys():
                found[name] += 1
    return found
