"""HTML of verdicts: a word and a sign in addition to each colour."""

from __future__ import annotations

from collections.abc import Sequence

from markupsafe import Markup

from fedspec_suite.report import badges
from fedspec_suite.report.badges import CONFORMS, DEVIATES, NO_ANSWER, NOT_OFFERED, PART, Kind

KINDS = (CONFORMS, PART, DEVIATES, NO_ANSWER, NOT_OFFERED)
"""Kinds of verdicts in the results of `make conformance`."""


def of(verdict: str) -> Kind:
    """Return the kind of a verdict of results.jsonl; a verdict without its own colour counts as no answer."""
    kind = badges.of(verdict)
    return kind if kind in KINDS else NO_ANSWER


def mark(kind: Kind, words: str = "") -> Markup:
    """Return a package's verdict as HTML."""
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind.name, kind.sign, words or kind.word
    )


def pill(name: str, words: str) -> Markup:
    """Return a statement's verdict as HTML."""
    sign = {"shown": "✓", "open": "◐", "refuted": "✗", "repaired": "↻"}[name]
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(name, sign, words)


def count_kinds(kinds: Sequence[Kind]) -> list[tuple[Kind, int]]:
    """Return the number of verdicts of each kind, in the order of the kinds."""
    return badges.counted(kinds, KINDS)
