"""Diagnosis of a subject as a record, in words and as data."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from fedspec_suite.measure.bench import THRESHOLD

if TYPE_CHECKING:
    # The search for a name, with all that is known, is loaded if something is wrong.
    from fedspec_suite.diagnosis.found import Found

NONE = "no known variant"
UNREPEATED = "the same case gives other numbers the second time: something outlives its session, or is drawn"
FOLLOWS = "x follows the claimed reading"
SMALL = "x follows the claimed reading in small cases"
SOME = "x follows the claimed reading in some cases"
CLAIMED = "the claimed rule, to "
"""Prefix of the sentence about a subject that is right to a number of decimals."""

INSIDE = "as if it computed in {} somewhere inside"
AT_ONCE = "from the first event on"


def unnamed(words: str) -> bool:
    """True if a diagnosis in these words names no variant of the rule."""
    return NONE in words or words.startswith((SMALL, SOME))


@dataclass(frozen=True)
class Diagnosis:
    """Comparison of a subject's models with the claim and with variants on sample cases.

    Attributes:
        played: number of sample cases that the subject played.
        claimed: its distance from the claimed reading; infinite where too few components are decided.
        found: the variants that it agrees with, the simplest first, where that is not the claimed one.
        seen: properties of the subject's steps and numbers, if no variant is found.
        unlike: intermediates that deviate from the claimed reading although the model follows it.
        gates: features of a case that decide whether the subject deviates.
        beside: number of cases without those features in which the subject follows the claim.
        fitted: True if ``seen`` gives a formula for every step.
        search: extent of a search without result, if it was cut short.
        passes: the passes of the search, with the extent of each.
        decimals: to how many decimals it is the claimed rule, if no more is wrong with it.
    """

    played: int
    claimed: float
    found: tuple[Found, ...] = ()
    seen: str = ""
    unlike: tuple[str, ...] = ()
    gates: tuple[str, ...] = ()
    beside: int = 0
    fitted: bool = False
    search: str = ""
    passes: tuple[str, ...] = ()
    decimals: str = ""

    @property
    def follows(self) -> bool:
        """True if the models, and everything else that the subject shows, are those of the claimed reading."""
        return self.claimed <= THRESHOLD and not self.unlike

    @property
    def _beside(self) -> str:
        """Words for the cases without the feature, which follow the claim; empty if there were none."""
        if not self.beside:
            return ""
        late = LATER.fullmatch(self.gates[0]) if len(self.gates) == 1 else None
        if late and late["what"] in {"round", "arrival", "step"}:
            fewer = f"one {late['what']}" if late["number"] == "2" else f"fewer than {late['number']} {late['what']}s"
            return f"; in none of the {self.beside} cases of {fewer}"
        return f", and in none of the {self.beside} other cases" if self.beside > 1 else ", and not in the other case"

    def instead(self, separator: str) -> str:
        """Describe the rule that the subject computes instead; if no known rule fits, the observations."""
        said = separator.join(map(str, self.found)) or self.decimals or (self.seen if self.fitted else "")
        if not said:
            where = f"it deviates {', or '.join(self.gates)}{self._beside}" if self.gates else ""
            said = "; ".join(filter(None, (NONE, where, self.seen, self.search)))
        return f"{FOLLOWS}, not {', '.join(self.unlike)}: {said}" if self.unlike else said


def unrepeated(d: Diagnosis) -> Diagnosis:
    """Adapt a diagnosis to a subject that answers a repeated case differently: drop where it deviates."""
    return d if d.found else replace(d, seen=UNREPEATED, gates=(), beside=0, fitted=False)


LATER = re.compile(r"from (?P<what>.+?) (?P<number>\d+) on(?:, in \d+ of \d+ cases)?")
"""Pattern of the words for the event from which a subject deviates."""


def not_before(d: Diagnosis, seen: Iterable[str]) -> Diagnosis:
    """Drop the event from which a subject deviates, if a law saw it deviate earlier."""
    earlier = {(what, int(number)) for what, _, number in (w.rpartition(" ") for w in seen) if number.isdigit()}

    def late(said: str) -> bool:
        m = LATER.fullmatch(said)
        return m is not None and any(what == m["what"] and k < int(m["number"]) for what, k in earlier)

    kept = "; ".join(part for part in d.seen.split("; ") if not late(part))
    d = d if kept == d.seen else replace(d, seen=kept)
    return replace(d, gates=(), beside=0) if any(map(late, d.gates)) else d


def in_words(d: Diagnosis, model_failed: bool, small: bool = True) -> str:
    """Format a diagnosis as a sentence; empty if no case was played.

    Args:
        d: the diagnosis.
        model_failed: True if a law about the model's own numbers was broken.
        small: True if the model deviated in larger cases alone.
    """
    if not d.played:
        return ""
    usual = SMALL if small else SOME
    if d.decimals:
        return d.decimals
    if d.follows and d.found:
        where = f"; it deviates {', or '.join(d.gates)}" if d.gates else ""
        return d.instead("; or ") + where
    if d.follows and d.gates:
        return f"{usual}; it deviates {', or '.join(d.gates)}"
    if d.follows:
        return "; ".join(filter(None, (usual, d.seen))) if model_failed else FOLLOWS
    said = d.instead("; or ")
    # The cases of the diagnosis do not show it; a law's own do.
    return f"in some cases {said}" if d.unlike and model_failed else said


def as_data(d: Diagnosis) -> list[dict[str, Any]]:
    """Return a diagnosis as JSON objects: one for each variant found, or one for each observation."""
    if d.found:
        return [f.data for f in d.found]
    none: dict[str, Any] = {"equation": "", "names": [], "decided": None, "ratio": None, "differences": [], "claim": {}}
    observed = [("gate", words) for words in d.gates] + [("fitted", said) for said in (d.decimals, d.seen) if said]
    return [{"kind": kind, "words": words, **none} for kind, words in observed]
