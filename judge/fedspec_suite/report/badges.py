"""Badges for READMEs: kinds of verdicts with signs and colours, and a badge as shields.io JSON or SVG."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from fedspec_suite.measure.verdict import NOT_ASKED, Conformity, Result
from fedspec_suite.report.html import text


class Kind(NamedTuple):
    """Kind of verdict: its slug, sign, words for one and for many offers, and colours of its badge."""

    name: str
    sign: str
    word: str
    many: str
    badge: str
    shield: str


CONFORMS = Kind("conforms", "✓", "conforms", "conform", "#1a7f37", "success")
PART = Kind("part", "◐", "conforms in part", "conform in part", "#8a5a00", "yellow")
DEVIATES = Kind("deviates", "✗", "deviates", "deviate", "#b3261e", "critical")
NOT_OFFERED = Kind("not-offered", "–", "not claimed", "not claimed", "#57606a", "inactive")
ASKED_IN_PART = Kind("asked", "◐", "was asked in part", "were asked in part", "#8a5a00", "yellow")
NO_ANSWER = Kind("error", "!", "gave no answer", "gave no answer", "#57606a", "inactive")
EXPECTED = Kind("expected", "◐", "fails as expected", "fail as expected", "#8a5a00", "yellow")
OPEN = Kind("open", "?", "is inconclusive", "are inconclusive", "#57606a", "inactive")

WORST = (DEVIATES, NO_ANSWER, OPEN, EXPECTED, ASKED_IN_PART, PART, CONFORMS)
"""Kinds from the worst to the best; the badge of several offers has the colour of the worst."""

_OF = {
    Conformity.CONFORMS: CONFORMS,
    Conformity.EXPECTED: EXPECTED,
    Conformity.DOES_NOT: DEVIATES,
    Conformity.INCONCLUSIVE: OPEN,
    Conformity.ASKED_IN_PART: ASKED_IN_PART,
}


def of(verdict: str) -> Kind:
    """Return the kind of a verdict, given in one word or as in a table, such as ``conforms in x; m was not seen``."""
    found = _OF.get(verdict.partition(" (")[0])  # type: ignore[call-overload]
    if found is None and verdict.endswith(NOT_ASKED):
        return ASKED_IN_PART
    return found or (PART if verdict.startswith("conforms") else NO_ANSWER)


def counted(kinds: Sequence[Kind], among: Iterable[Kind]) -> list[tuple[Kind, int]]:
    """Count each kind that occurs, in the order of ``among``."""
    return [(kind, n) for kind in among if (n := kinds.count(kind))]


class Badge(NamedTuple):
    """Badge: its two texts, its colour as SVG, and the name of that colour at shields.io."""

    label: str
    message: str
    colour: str
    shield: str

    def endpoint(self) -> dict[str, Any]:
        """Convert the badge to shields.io's endpoint schema."""
        return {"schemaVersion": 1, "label": self.label, "message": self.message, "color": self.shield}

    def json(self) -> str:
        """Convert the badge to the text of a JSON file."""
        return json.dumps(self.endpoint()) + "\n"

    def svg(self) -> str:
        """Convert the badge to an SVG image."""
        a, b = (math.ceil(width(t)) + 12 for t in (self.label, self.message))
        label, message = text(self.label), text(self.message)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{a + b}" height="20" role="img" '
            f'aria-label="{label}: {message}"><title>{label}: {message}</title>'
            f'<rect width="{a + b}" height="20" rx="3" fill="{self.colour}"/>'
            f'<path d="M3 0h{a - 3}v20H3a3 3 0 0 1-3-3V3a3 3 0 0 1 3-3z" fill="#3d444d"/>'
            f'<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">'
            f'<text x="{a / 2}" y="14" textLength="{a - 12}">{label}</text>'
            f'<text x="{a + b / 2}" y="14" textLength="{b - 12}">{message}</text></g></svg>\n'
        )


def of_offer(algorithm: str, verdict: str) -> Badge:
    """Return the badge of one offer; its text is the whole verdict if the offer was seen or checked only in part."""
    kind = of(verdict)
    label = f"fedspec: {algorithm}" if algorithm else "fedspec"
    return Badge(label, verdict if kind in {PART, ASKED_IN_PART} else kind.word, kind.badge, kind.shield)


def of_results(results: Sequence[Result]) -> Badge:
    """Return the badge of one or several offers: the number that conform, in the colour of the worst verdict.

    If obligations were left out, the badge counts the offers that were asked in part.
    """
    if len(results) == 1:
        return of_offer(results[0].algorithm, results[0].said)
    kinds = [of(r.verdict) for r in results]
    algorithms = {r.algorithm for r in results}
    worst = next(kind for kind in WORST if kind in kinds)
    good = kinds.count(CONFORMS)
    label = "fedspec" + (f": {algorithms.pop()}" if len(algorithms) == 1 else "")
    said = f"{good} of {len(results)} conform{'s' * (good == 1)}"
    if not good and any(r.unasked for r in results):
        said = f"{kinds.count(ASKED_IN_PART)} of {len(results)} asked in part"
    return Badge(label, said, worst.badge, worst.shield)


THIN, WIDE = "fijlrt.,:;|!' ()[]-", "mwMW"


def width(text: str) -> float:
    """Estimate the width of a line of text in a sans-serif font of size 11."""
    return 11 * sum(0.36 if c in THIN else 0.92 if c in WIDE else 0.62 for c in text)
