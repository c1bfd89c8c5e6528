"""Selection of a few cases as vectors, which together distinguish the rule from all known similar rules."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fedspec_suite.judge.mutant_runs import runs
from fedspec_suite.measure.edge_cases import all_edge_cases
from fedspec_suite.measure.edge_features import EDGES, edges_of
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.seeded_cases import UNSCALED, candidate
from fedspec_suite.vectors.alternatives import Edit, Kill, Rival, Want, edit_of, edits, rivals, separated, want_of
from fedspec_suite.vectors.rows import Row

FIRST = 12
"""Number of candidates on which every rival is tried."""

FURTHER = 48
"""Total number of candidates, the further ones for mutants that the first don't distinguish."""

LAST = 72
"""Total number of candidates for mutants that no row of the algorithm distinguishes."""

EXTRA, OTHERS = 2, 3
"""Number of a row's vectors for systematic edits, and number of candidates among which they are chosen."""

LEAST, LEAST_TURNED = 3, 2
"""Least number of a row's vectors, if it has as many candidates; of a row with an option changed."""

AT_EDGES = 1000
"""Number of the first candidate that is an edge case; the other edge cases follow in their order."""

LONGEST, USUAL = 6000, 3000
"""Largest size in bytes of an edge-case vector, and of another vector."""

SHORT = 1600
"""Preferred largest size in bytes of a row's only vector."""


Size: TypeAlias = Callable[[Scenario, Want], int]
"""Function for the size of a case in bytes, before its kills are listed."""


@dataclass(frozen=True, eq=False)
class SelectedCase:
    """Case that becomes a vector.

    Attributes:
        number: number of the candidate.
        scenario: the case.
        want: the rule's answers.
        kills: the rivals that it tells from the rule, by id, and how each shows.
        size: bytes that it takes.
    """

    number: int
    scenario: Scenario
    want: Want
    kills: Mapping[str, Kill] = field(default_factory=dict)
    size: int = 0


def choose(r: Row, size: Size, tried: set[Edit]) -> tuple[SelectedCase, ...]:
    """Choose the vectors of a row, in order of selection.

    Args:
        r: the row.
        size: function that returns the bytes of a case.
        tried: the systematic edits that were tried in other rows; those that are tried here join them.
    """
    if r.alone:
        return _one(_pool(r, size, range(FIRST)))
    against = rivals(r)
    pool = _pool(r, size, range(FIRST))
    left = _living(against, pool)
    pool += _until_seen(r, size, left, range(FIRST, FURTHER))
    chosen = _fewest(pool, LEAST_TURNED if r.turned else LEAST)
    if "scales" in r.setting.takes:
        chosen += _one(_pool(r, size, range(UNSCALED, UNSCALED + FIRST)))
    if r.canonical:
        chosen += at_edges(r, size, chosen)
    others = [c for c in pool if c not in chosen and c.kills]
    # Where an option is turned, the same functions run.
    return chosen if r.turned else (*chosen, *_against_edits(r, chosen, others, tried))


def at_edges(r: Row, size: Size, chosen: Sequence[SelectedCase]) -> tuple[SelectedCase, ...]:
    """Return cases for the edge features that the chosen cases lack."""
    missing = {edge.name for edge in EDGES if r.setting.level in edge.levels and edge.possible(r.drawn)}
    missing -= {edge.name for c in chosen for edge in edges_of(c.scenario)}
    out = []
    for c in _pool(r, size, range(AT_EDGES, AT_EDGES + len(all_edge_cases(r.drawn)))):
        shown = {edge.name for edge in edges_of(c.scenario)}
        if missing & shown and c.kills:
            out.append(c)
            missing -= shown
    return tuple(out)


def _pool(r: Row, size: Size, numbers: Iterable[int]) -> list[SelectedCase]:
    """The candidates of these numbers that decide something and are not too long."""
    return [c for n in numbers if (c := evaluated(r, n, size, rivals(r))) and c.size <= _most(n)]


def _most(number: int) -> int:
    return LONGEST if number >= AT_EDGES else USUAL


def _one(pool: Sequence[SelectedCase]) -> tuple[SelectedCase, ...]:
    """The case that tells most other readings and options from the rule, then most of all; a short one first."""
    told = [c for c in pool if c.kills]
    best = max(told, key=lambda c: (c.size <= SHORT, _claims_told(c), len(c.kills), -c.size), default=None)
    return (best,) if best else ()


def _claims_told(c: SelectedCase) -> int:
    return sum(name.startswith(("reading:", "option:")) for name in c.kills)


def _until_seen(r: Row, size: Size, left: Sequence[Rival], numbers: Iterable[int]) -> Iterator[SelectedCase]:
    """Candidates that tell some of the rivals apart, until all are."""
    for n in numbers:
        if not left:
            return
        if (c := evaluated(r, n, size, left)) and c.kills:
            whole = _with_kills(c, separated(r, c.scenario, c.want, rivals(r)))
            if whole.size <= USUAL:
                yield whole
                left = [rival for rival in left if rival.id not in c.kills]


def further(r: Row, size: Size, unseen: Collection[str]) -> Iterator[SelectedCase]:
    """Yield vectors of a row for mutants that no vector of its algorithm distinguishes."""
    left = [v for v in rivals(r) if v.variant.mutants and v.id in unseen]
    return _until_seen(r, size, left, range(FURTHER, LAST))


def _against_edits(
    r: Row, chosen: Sequence[SelectedCase], others: Sequence[SelectedCase], tried: set[Edit]
) -> list[SelectedCase]:
    """Further cases that tell systematic edits from the rule, which those chosen do not; each is tried in one row."""
    plain = [c.scenario for c in chosen]
    left = {edit_of(e): e for e in edits(r) if edit_of(e) not in tried}
    running = {edit[0]: runs(e.variant.mutants[0], plain) for edit, e in left.items()}
    left = {edit: e for edit, e in left.items() if running[edit[0]]}
    tried.update(left)

    def found(c: SelectedCase) -> set[Edit]:
        return {edit for edit, e in left.items() if separated(r, c.scenario, c.want, [e])}

    for c in chosen:
        now = found(c)
        left = {edit: e for edit, e in left.items() if edit not in now}
    by = {c: found(c) for c in others[:OTHERS]} if left else {}
    extra: list[SelectedCase] = []
    while len(extra) < EXTRA and (best := max(by, key=lambda c: (len(by[c]), -c.size), default=None)) and by[best]:
        extra.append(best)
        now = by.pop(best)
        by = {c: of - now for c, of in by.items()}
    return extra


def evaluated(r: Row, number: int, size: Size, against: Sequence[Rival]) -> SelectedCase | None:
    """Return a candidate with the rivals that it distinguishes; None if rounding hides deviations or it is too long."""
    s = all_edge_cases(r.drawn)[number - AT_EDGES] if number >= AT_EDGES else candidate(r.drawn, r.name, number)
    want = want_of(r, s)
    if want is None or (taken := size(s, want)) > _most(number):
        return None
    return _with_kills(SelectedCase(number, s, want, size=taken), separated(r, s, want, against))


def _with_kills(c: SelectedCase, kills: Mapping[str, Kill]) -> SelectedCase:
    return replace(c, kills=kills, size=c.size + _written(kills) - _written(c.kills))


def _written(kills: Mapping[str, Kill]) -> int:
    """About how many bytes they take: each name with its number, and the places where they show."""
    return sum(len(name) + 14 for name in kills) + sum(len(place) + 6 for place in {k.place for k in kills.values()})


def _living(against: Iterable[Rival], pool: Sequence[SelectedCase]) -> list[Rival]:
    """The mutants that no case tells apart though what they edit runs."""
    seen = {name for c in pool for name in c.kills}
    plain = [c.scenario for c in pool]
    return [v for v in against if v.id not in seen and v.variant.mutants and runs(v.variant.mutants[0], plain)]


def _fewest(pool: Sequence[SelectedCase], least: int) -> tuple[SelectedCase, ...]:
    """Cases that together see all that any of the pool sees, and in the model where any does; and at least so many."""
    chosen: list[SelectedCase] = []
    left = list(pool)
    while left and _gain(best := max(left, key=lambda c: _gain(c, chosen)), chosen)[0] > 0:
        chosen.append(best)
        left.remove(best)
    # What nobody thought of may show elsewhere: cases that see much, and not what the others see.
    left = [c for c in left if c.kills]
    while left and len(chosen) < least:
        best = max(left, key=lambda c: (len(_patterns([*chosen, c])), len(c.kills), -c.size))
        chosen.append(best)
        left.remove(best)
    return tuple(chosen)


def _patterns(chosen: Sequence[SelectedCase]) -> set[tuple[bool, ...]]:
    """The sets of vectors that some rival fails."""
    names = {name for c in chosen for name in c.kills}
    return {tuple(name in c.kills for c in chosen) for name in names}


def _gain(c: SelectedCase, chosen: Sequence[SelectedCase]) -> tuple[int, int, int]:
    """Rank of a case: rivals that only it sees, number of types in which it decides, and how small it is."""
    seen = {name for other in chosen for name in other.kills}
    by_x = {name for other in chosen for name, kill in other.kills.items() if kill.place == "x"}
    new = sum(name not in seen for name in c.kills)
    better = sum(kill.place == "x" and name in seen - by_x for name, kill in c.kills.items())
    return new + better, len(c.want.dtypes), -c.size
