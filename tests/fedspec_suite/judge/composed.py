"""Two explanations at once, the simplest first: what is claimed read otherwise, edited twice, or defective too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import combinations

from fedspec_suite.judge.variants import Variant
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import Mutant, texts

RANK = {"reading": 0, "mutant": 1, "generic": 2}
"""How simple the parts of a pair are; systematic edits and other rules are none, they are many and explain little."""


def pairs(setting: Setting, standing: Mapping[Variant, str]) -> Iterator[Variant]:
    """Two of these at once, the simplest first: readings before catalogued edits before generic defects.

    Two that do nothing in the event in which a subject deviates soonest do not explain it together, nor does one that
    does something else there with one that does nothing.

    Args:
        setting: what the subject is judged on.
        standing: what may come alone, and how it stands to that event: ``still``, ``fits`` or ``off``.
    """
    mine = [v for v in standing if v.algorithm == setting.algorithm.id and v.kind in RANK]
    both = sorted(combinations(mine, 2), key=lambda two: sum(RANK[v.kind] for v in two))
    for a, b in both:
        if {standing[a], standing[b]} in ({"still"}, {"still", "off"}):
            continue
        composed = together(setting, a, b)
        if composed is not None:
            yield composed


def together(setting: Setting, a: Variant, b: Variant) -> Variant | None:
    """Both at once; none where they contradict each other or are about the same thing."""
    changed = [{n: v for n, v in one.options.items() if v != setting.options[n]} for one in (a, b)]
    if changed[0].keys() & changed[1].keys():
        return None
    about = [{d.about for d in one.defects if d.about} for one in (a, b)]
    if about[0] & about[1]:
        return None
    edits = combined(a.mutants, b.mutants)
    if edits is None:
        return None
    return replace(
        a,
        words=f"{a.words}, and {b.words}",
        equation=a.equation,
        options={**a.options, **changed[1]},
        mutants=edits,
        defects=(*a.defects, *b.defects),
        parts=2,
        kind="composed",
        names=(*a.names, *b.names),
    )


def combined(first: tuple[Mutant, ...], second: tuple[Mutant, ...]) -> tuple[Mutant, ...] | None:
    """The edits of both; two of one rule become one edit of it, and none where they touch the same text."""
    if not (first and second) or first[0].rule != second[0].rule:
        return (*first, *second)
    if len(first) + len(second) > 2:
        return None
    one = _merged(first[0], second[0])
    return (one,) if one else None


@cache
def _merged(a: Mutant, b: Mutant) -> Mutant | None:
    source, edited = texts(a)
    if edited.count(b.old) != 1 or source.replace(b.old, b.new).count(a.old) != 1:
        return None
    new = edited.replace(b.old, b.new)
    leaks = a.leaks or b.leaks
    return replace(a, id=f"{a.id}+{b.id}", old=source, new=new, options={**a.options, **b.options}, leaks=leaks)
