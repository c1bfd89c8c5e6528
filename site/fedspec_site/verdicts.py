"""Style of each verdict on a page: a word and a sign beside each colour."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fedspec_suite.report import badges
from fedspec_suite.report.badges import CONFORMS, DEVIATES, NO_ANSWER, NOT_OFFERED, PART, Kind

KINDS = (CONFORMS, PART, DEVIATES, NO_ANSWER, NOT_OFFERED)
"""Kinds that the results of `make conformance` may have, if nothing is expected to fail."""


def of(verdict: str) -> Kind:
    """The kind of a verdict of results.jsonl; what has no colour of its own there has no answer."""
    kind = badges.of(verdict)
    return kind if kind in KINDS else NO_ANSWER


def mark(kind: Kind, words: str = "") -> Markup:
    """A verdict on a page."""
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind.name, kind.sign, words or kind.word
    )


def pill(name: str, words: str) -> Markup:
    """A verdict of the ledger."""
    sign = {"shown": "✓", "open": "◐", "refuted": "✗", "repaired": "↻"}[name]
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(name, sign, words)


def count_kinds(kinds: Sequence[Kind]) -> list[tuple[Kind, int]]:
    """Number of each kind, in the order of the kinds."""
    return badges.counted(kinds, KINDS)
