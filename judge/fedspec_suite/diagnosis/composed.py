"""Pairs of explanations, the simplest first: another reading, an edit or a defect, two at once."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations
from typing import Any

from fedspec_suite.diagnosis.edits.systematic import put_statement, statements
from fedspec_suite.diagnosis.variants import Variant
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import Mutant, parsed, texts

RANK = {"reading": 0, "mutant": 1, "generic": 2}
"""Rank of the parts of a pair, the simplest first. Systematic edits and other rules have no rank and are not paired
with one another: they are many and explain little."""


def pairs(setting: Setting, standing: Mapping[Variant, str]) -> list[tuple[Variant, Variant]]:
    """Return pairs of variants that may explain the deviation together: readings, then catalogued edits, then defects.

    Two that do nothing in the event in which a subject deviates soonest do not explain it together, nor does one that
    does something else there with one that does nothing.

    Args:
        setting: the setting of the claim.
        standing: the variants to combine, each with its effect on that event: ``still``, ``idle``, ``fits`` or ``off``.
    """
    mine = [v for v in standing if v.algorithm == setting.algorithm.id and v.kind in RANK]
    both = sorted(combinations(mine, 2), key=lambda two: sum(RANK[v.kind] for v in two))
    return [two for two in both if _may({standing[v] for v in two})]


def _may(how: set[str]) -> bool:
    return "fits" in how or not how & {"still", "idle"}


def doubled(setting: Setting, halves: Sequence[Variant], others: Sequence[Variant]) -> list[tuple[Variant, Variant]]:
    """Pairs of a half and another variant, both of the setting's algorithm; each pair once.

    Args:
        setting: the setting of the claim.
        halves: variants that give the subject's answers in some case where the subject deviates.
        others: variants that may come with a half.
    """
    seen: set[frozenset[Variant]] = set()
    out: list[tuple[Variant, Variant]] = []
    for v in halves:
        for other in others:
            both = frozenset((v, other))
            if len(both) < 2 or both in seen or {v.algorithm, other.algorithm} != {setting.algorithm.id}:
                continue
            seen.add(both)
            out.append((v, other))
    return out


def together(setting: Setting, a: Variant, b: Variant) -> Variant | None:
    """Variant that combines two variants; None if these contradict each other or are about the same thing."""
    changed = [{n: v for n, v in one.options.items() if v != setting.options[n]} for one in (a, b)]
    if changed[0].keys() & changed[1].keys():
        return None
    about = [{d.about for d in one.defects if d.about} for one in (a, b)]
    if about[0] & about[1]:
        return None
    if any(changed) and any(m.within for m in (*a.mutants, *b.mutants)):
        # A folded text is that of the options that are claimed.
        return None
    edits = combined(a.mutants, b.mutants)
    if edits is None:
        return None
    # Each half is said with its own place, where that is another; the last place stands behind the words.
    first = f" at {a.equation}" if a.equation and a.equation != b.equation else ""
    return replace(
        a,
        words=f"{a.words}{first}, and {b.words}",
        equation=b.equation,
        options={**a.options, **changed[1]},
        mutants=edits,
        defects=(*a.defects, *b.defects),
        parts=2,
        kind="composed",
        names=(*a.names, *b.names),
        halves=(a, b),
    )


def combined(first: tuple[Mutant, ...], second: tuple[Mutant, ...]) -> tuple[Mutant, ...] | None:
    """Edits of both; two edits of the same rule become a single edit. None if the two touch the same text."""
    if not (first and second) or first[0].rule != second[0].rule:
        return (*first, *second)
    if len(first) + len(second) > 2:
        return None
    one = _merged(first[0], second[0])
    return (one,) if one else None


@lru_cache(maxsize=4096)
def _merged(a: Mutant, b: Mutant) -> Mutant | None:
    source, first = texts(a)
    if a.within != b.within:
        return None
    if first.count(b.old) == 1 and source.replace(b.old, b.new).count(a.old) == 1:
        new: str | None = first.replace(b.old, b.new)
    else:
        new = _both(source, first, texts(b)[1])
    if new is None:
        return None
    return replace(
        a,
        id=f"{a.id}+{b.id}",
        old=source,
        new=new,
        options={**a.options, **b.options},
        leaks=a.leaks or b.leaks,
        given={**a.given, **b.given},
        asking={**a.asking, **b.asking},
    )


def _both(source: str, first: str, second: str) -> str | None:
    """Text with the statements of two edits of it; None if these edit the same statement, or add statements."""
    into, others = _dumped(source), [_dumped(text) for text in (first, second)]
    changed: dict[int, ast.stmt] = {}
    for theirs in others:
        if [way for way, *_ in theirs] != [way for way, *_ in into]:
            return None
        for k, ((_, mine, _), (_, dump, new)) in enumerate(zip(into, theirs, strict=True)):
            if mine != dump:
                if k in changed:
                    return None
                changed[k] = new
    if len(changed) < len(others):
        return None
    tree = parsed(source)
    for k, new in changed.items():
        put_statement(tree, into[k][0], new)
    return ast.unparse(tree)


@lru_cache(maxsize=8192)
def _dumped(text: str) -> list[tuple[Any, str, ast.stmt]]:
    """The way to every statement that computes something, that as text and as it is."""
    return [(way, ast.dump(s), s) for way, s in statements(parsed(text))]
