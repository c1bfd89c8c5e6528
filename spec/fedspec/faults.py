"""Invalid messages, and how a server may treat each kind: the words of ``Offer.faults``.

No paper defines how a server treats a change that contains NaN. Implementations differ, so a claim declares the
treatment by kind::

    Offer("fedavg", "server", "mcmahan-2017", faults={"nan": "skips", "negative-weight": "raises"})

External: no paper; public threads of the kinds are https://github.com/flwrlabs/flower/issues/7645 (``no-examples``
gives NaN) and https://github.com/google-parfait/tensorflow-federated/pull/1685 (``nan`` raises).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from fedspec.errors import UnknownNameError

__all__ = ["KINDS", "Treatment", "check_faults"]


class Treatment(StrEnum):
    """Outcome of a round with an invalid message."""

    RAISES = "raises"
    """The server raises an error and returns no model."""

    SKIPS = "skips"
    """The server ignores the message; the other weights sum to 1. If no message is left, the round changes nothing."""

    DROPS = "drops-round"
    """The server ignores all messages of the round, which changes nothing."""

    ZEROES = "zeroes"
    """The server puts 0 in the place of each number that isn't finite, and counts the message."""

    DIVISOR = "skips-divisor-kept"
    """The server counts the message as a change of zero, so it still counts in the divisor."""

    ONE = "counts-as-one"
    """The server gives the message a weight of 1."""

    PASSES = "passes-on"
    """The server runs the rule without a check: NaN if it divides zero by zero. A non-finite change also counts as
    passed on if the model isn't finite in the same place.
    """


_ROUND = (Treatment.RAISES, Treatment.SKIPS, Treatment.DIVISOR, Treatment.PASSES)
_CHANGE = (*_ROUND, Treatment.DROPS)
_NUMBER = (*_CHANGE, Treatment.ZEROES)
_WEIGHT = (Treatment.RAISES, Treatment.SKIPS, Treatment.ONE, Treatment.PASSES, Treatment.DROPS)

KINDS: dict[str, tuple[str, tuple[Treatment, ...]]] = {
    "nan": ("a change holds NaN", _NUMBER),
    "infinite": ("a change holds an infinite number", _NUMBER),
    "shape": ("a change has a single number in the place of a block", _CHANGE),
    "twice": ("a message comes twice in a round", _CHANGE),
    "stale": ("a client's message of the round before comes again instead of a new one", _CHANGE),
    "no-weight": ("a message has no weight", (Treatment.RAISES, Treatment.SKIPS, Treatment.ONE, Treatment.DROPS)),
    "nan-weight": ("a weight is NaN", _WEIGHT),
    "negative-weight": ("a weight is negative", _WEIGHT),
    "no-examples": ("all weights are zero", (*_ROUND, Treatment.ONE)),
    "no-message": ("a round has no message", _ROUND),
}
"""Kinds of invalid messages, each with a description and the treatments that a claim can declare."""


def check_faults(declared: Mapping[str, str]) -> None:
    """Raise UnknownNameError if a declared kind or treatment doesn't exist.

    Raises:
        UnknownNameError: a kind is unknown, or has no such treatment.
    """
    for kind, treatment in declared.items():
        if kind not in KINDS:
            raise UnknownNameError(f"faults: unknown kind {kind!r}; known: {', '.join(KINDS)}")
        if treatment not in (known := KINDS[kind][1]):
            raise UnknownNameError(f"faults: unknown treatment {treatment!r} of {kind}; known: {', '.join(known)}")
