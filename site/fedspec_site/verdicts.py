"""What a verdict looks like: a word and a sign beside each colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from markupsafe import Markup


class Kind(NamedTuple):
    """A kind of verdict: its name in addresses, its sign, its word of one and of many, the colours of its badge."""

    name: str
    sign: str
    word: str
    many: str
    badge: str
    shield: str


CONFORMS = Kind("conforms", "✓", "conforms", "conform", "#1a7f37", "success")
PART = Kind("part", "◐", "conforms in part", "conform in part", "#8a5a00", "yellow")
DEVIATES = Kind("deviates", "✗", "deviates", "deviate", "#b3261e", "critical")
NOT_OFFERED = Kind("not-offered", "–", "not offered", "not offered", "#57606a", "inactive")
NO_ANSWER = Kind("error", "!", "gave no answer", "gave no answer", "#57606a", "inactive")
KINDS = (CONFORMS, PART, DEVIATES, NO_ANSWER, NOT_OFFERED)


def of(verdict: str) -> Kind:
    """The kind of a verdict of results.jsonl: what conforms in some things and was not seen in others is in part."""
    if verdict == "conforms":
        return CONFORMS
    if verdict.startswith("conforms"):
        return PART
    return DEVIATES if verdict == "does not conform" else NO_ANSWER


def mark(kind: Kind, words: str = "") -> Markup:
    """A verdict on a page."""
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(
        kind.name, kind.sign, words or kind.word
    )


def pill(name: str, words: str) -> Markup:
    """A verdict of the ledger."""
    sign = {"shown": "✓", "open": "◐", "refuted": "✗", "repaired": "↻"}[name]
    return Markup('<span class="v v-{}"><span aria-hidden="true">{}</span> {}</span>').format(name, sign, words)


def counted(kinds: Sequence[Kind]) -> list[tuple[Kind, int]]:
    """How many there are of each kind, in the order of the kinds."""
    return [(kind, n) for kind in KINDS if (n := kinds.count(kind))]
