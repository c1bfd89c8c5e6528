"""Differences between two runs: offers that newly fail, pass again, are new or missing, and changed versions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields

from fedspec_suite.measure.verdict import Conformity, Result
from fedspec_suite.report import sentences
from fedspec_suite.report.results_file import ResultsFile, Run

FAILS = {Conformity.DOES_NOT, Conformity.ERROR}
HOLDS = {Conformity.CONFORMS, Conformity.IN_PART, Conformity.ASKED_IN_PART}


@dataclass(frozen=True)
class Change:
    """Change of one offer between two runs.

    Attributes:
        kind: one of KINDS.
        name: name of the offer.
        said: the old and the new state, in words.
    """

    kind: str
    name: str
    said: str


KINDS = {
    "fails": ("newly fails", "newly fail"),
    "mended": ("is mended", "are mended"),
    "otherwise": ("fails otherwise than before", "fail otherwise than before"),
    "verdict": ("has another verdict", "have another verdict"),
    "new": ("is new", "are new"),
    "gone": ("is gone", "are gone"),
}
"""Phrases for one and for several offers, the most urgent kind first."""


def changes(old: ResultsFile, new: ResultsFile) -> list[Change]:
    """List every offer that changed, by kind."""
    before, now = _named(old.results), _named(new.results)
    found = [c for label, r in now.items() if (c := _change(before.get(label), r, label)) is not None]
    found += [Change("gone", label, f"it was: {_verdict(r)}") for label, r in before.items() if label not in now]
    return [c for kind in KINDS for c in found if c.kind == kind]


def _named(results: Sequence[Result]) -> dict[str, Result]:
    return dict(zip(sentences.labels(results), results, strict=True))


def _change(old: Result | None, new: Result, name: str) -> Change | None:
    if old is None:
        return Change("new", name, _verdict(new))
    was, now = old.verdict, new.verdict
    if was not in FAILS and now in FAILS:
        return Change("fails", name, f"{_verdict(new)}; it was: {old.said}")
    if was in FAILS and now in HOLDS:
        return Change("mended", name, f"{new.said}; it was: {_verdict(old)}")
    if old.said != new.said:
        return Change("verdict", name, f"{_verdict(new)}; it was: {_verdict(old)}")
    if now in FAILS and sentences.head(old) != sentences.head(new):
        return Change("otherwise", name, f"{sentences.head(new)}; it was: {sentences.head(old)}")
    return None


def _verdict(r: Result) -> str:
    """The verdict, and why where it fails."""
    return f"{r.verdict}: {sentences.head(r)}" if r.verdict in FAILS else r.said


def tally(found: Sequence[Change], offers: int) -> str:
    """Format the number of changes of each kind as a sentence; ``offers`` is the number of offers in the later file."""
    said = []
    for kind, (one, many) in KINDS.items():
        if n := sum(c.kind == kind for c in found):
            said.append(f"{n} {one if n == 1 else many}")
    same = offers - sum(c.kind != "gone" for c in found)
    said += [f"{same} {'is' if same == 1 else 'are'} as before"] if same or not said else []
    return ", ".join(said) + "."


def versions(old: ResultsFile, new: ResultsFile) -> list[str]:
    """List the other differences as phrases: versions of subjects and of fedspec, profile, seed, laws."""
    found = [*_apart(_subjects(old.results), _subjects(new.results))]
    for f in fields(Run):
        if f.name != "date":
            a, b = (", ".join(dict.fromkeys(str(getattr(run, f.name)) for run in one.runs)) for one in (old, new))
            found += [f"{_NAMES.get(f.name, f.name)} {a or 'unknown'} to {b or 'unknown'}"] if a != b else []
    return found


_NAMES = {"python": "Python", "numpy": "NumPy", "law": "laws"}


def _subjects(results: Sequence[Result]) -> dict[str, str]:
    return {r.subject: r.version for r in results}


def _apart(old: dict[str, str], new: dict[str, str]) -> Iterator[str]:
    for name, version in new.items():
        if name in old and old[name] != version:
            yield f"{name} {old[name]} to {version}"
