"""Variants that agree with a subject's answers: first those that agree in all quantities, else in the model alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fedspec_suite.diagnosis.comparing import Evidence, Given, close, measured
from fedspec_suite.diagnosis.differences import Difference, claim, differences
from fedspec_suite.diagnosis.known import Known
from fedspec_suite.diagnosis.lasting import Larger
from fedspec_suite.diagnosis.plain_words import in_plain_words
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting

NAMED = 2
"""Largest number of variants that are named if several agree."""

FEW = 8
"""Number of variants that agree in small cases only, after which the search for a better variant stops."""

IGNORED = " is ignored (taken as "
"""Part of the words for a hyper-parameter that has no effect."""


@dataclass(frozen=True)
class Found:
    """Variant that agrees with the subject's models.

    Attributes:
        words: description of the variant.
        equation: the equation in which it differs from the claim; none where the whole rule is another.
        ratio: the largest distance, in units of the rounding bound.
        parts: number of its parts.
        kind: ``reading``, ``mutant``, ``generic``, ``edit``, ``rule``, or ``composed`` of two.
        names: the variant's parts as data, as in :class:`~fedspec_suite.diagnosis.variants.Variant`.
        decided: the share of all components that were decided.
        unlike: other quantities of the subject that differ from the variant's.
        like: quantities of the subject that agree with the variant's.
        small: True if the subject deviates from it in larger cases.
        differences: the equations that it computes differently.
        claim: fields of a claim, by name, under which the subject is right; empty if there is no such claim.
    """

    words: str
    equation: str
    ratio: float
    parts: int
    kind: str
    names: tuple[Mapping[str, str], ...]
    decided: float
    unlike: tuple[str, ...] = ()
    like: tuple[str, ...] = ("x",)
    small: bool = False
    differences: tuple[Difference, ...] = ()
    claim: Mapping[str, str] = field(default_factory=dict)

    @property
    def said(self) -> str:
        """Words for the variant, after the quantities in which it agrees if other quantities differ."""
        part = f"in {' and '.join(self.like)}, not in {', '.join(self.unlike)}: " if self.unlike else ""
        return part + self.words

    @property
    def data(self) -> dict[str, Any]:
        """Variant as a JSON object."""
        return {
            "kind": self.kind,
            "words": self.said,
            "equation": self.equation,
            "names": [dict(name) for name in self.names],
            "decided": self.decided,
            "ratio": self.ratio,
            "differences": [vars(d) for d in self.differences],
            "claim": dict(self.claim),
        }

    def __str__(self) -> str:
        at = f" at {self.equation}" if self.equation else ""
        return f"{self.said}{at} (ratio {self.ratio:.2g})"


def found_as(
    setting: Setting,
    v: Variant,
    words: str,
    ratio: float,
    decided: float,
    unlike: tuple[str, ...],
    like: tuple[str, ...] = ("x",),
    small: bool = False,
) -> Found:
    """Return the record of a variant that agrees, with its differences from the claim."""
    # What fits small cases or the model alone doesn't conform under another claim.
    more = differences(setting, v), {} if small or unlike else claim(setting, v)
    return Found(words, v.equation, ratio, v.parts, v.kind, v.names, decided, unlike, like, small, *more)


def first(
    stages: Iterable[Iterable[Variant]],
    known: Known,
    given: Given,
    told: Evidence,
    names: tuple[str, ...],
    beyond: Larger,
) -> tuple[Found, ...]:
    """Return the agreeing variants of the first stage that has one which agrees in all quantities.

    If no stage has one: the variants that give the named quantities, pairs of them last, then those that do so in small
    cases only.
    """
    part: tuple[Found, ...] = ()
    pair: tuple[Found, ...] = ()
    little: tuple[Found, ...] = ()
    for among in stages:
        asked = (*names, *part[0].unlike) if part else names
        found = _agreeing(known, among, given, told, asked, beyond)
        if found and found[0].small:
            little = little or found
        elif found and not found[0].unlike:
            return found
        elif found and found[0].parts > 1:
            # Of two things at once many leave out a quantity: one thing that does so says more.
            pair = pair or found
        else:
            part = part or found
    return part or pair or little


def _agreeing(
    known: Known, variants: Iterable[Variant], given: Given, told: Evidence, names: tuple[str, ...], beyond: Larger
) -> tuple[Found, ...]:
    """The first variants that the subject agrees with, those first that give all that is shown, in larger cases too.

    One that does not agree in a longer run is another; one that does not in a larger case is said of small ones. A
    second one is said where it asks for something else: to mend another equation, or to claim another rule.
    """
    found: list[Found] = []
    small: list[Found] = []
    for v in variants:
        if not close(known, v, given, told, names):
            continue
        said = in_plain_words(v.words, known.setting)
        if said in {f.words for f in found}:
            continue
        near = measured(known, v, given, told)
        if not near.near or set(names) & set(near.unlike):
            continue
        lasts, wide = beyond.fits(v)
        if not lasts or (v.parts > 1 and not beyond.anew(v)):
            continue
        if elsewhere := beyond.elsewhere(v):
            beyond.refuted.setdefault(said, elsewhere)
            continue
        words = said if wide else f"in small cases {said}"
        one = found_as(known.setting, v, words, near.ratio, near.decided, near.unlike, names, small=not wide)
        (found if wide else small).append(one)
        if sum(not f.unlike for f in found) == NAMED or len(small) > FEW:
            break
    everything = found or small
    whole = [f for f in everything if not f.unlike] or everything
    # Two things at once are not said beside one of them.
    whole = [f for f in whole if f.parts == min(g.parts for g in whole)]
    asks: dict[str, Found] = {}
    for f in whole[:NAMED]:
        # Of what stands in no equation nobody can say that it asks to mend another one. But a hyper-parameter that is
        # ignored asks for another offer, unless it has been named.
        own = f.kind in {"reading", "rule"}
        name, ignored, _ = f.words.partition(IGNORED)
        own = own or (ignored != "" and not any(name in g.words.split() for g in asks.values()))
        if own or not asks or (f.equation and all(g.equation or g.kind == "rule" for g in asks.values())):
            asks.setdefault(f.words if own else f.equation, f)
    return tuple(asks.values())
