"""What a proof hands to the ledger: the statement, where it comes from, how it was shown and what came out."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fedspec_proofs.engines.symbolic import ZeroTest

FEDADA2 = "Efficient Adaptive Federated Optimization"
AFGA = "On the Data Heterogeneity in Adaptive Federated Learning"
FEDNOVA = "Tackling the Objective Inconsistency Problem in Heterogeneous Federated Optimization"

IDENTITY = "identity of rational functions (sympy)"


class Verdict(StrEnum):
    """How far a statement was shown."""

    PROVED = "proved"
    """For every value of its variables: by SMT (with induction over steps where steps occur) or as an identity."""
    CHECKED = "checked"
    """Exactly, at every one of the listed instances."""
    REFUTED = "refuted"
    """By an exact counterexample, replayed through the rules of the specification."""
    UNKNOWN = "unknown"
    """An engine gave up (its time was over), or an identity could not be decided."""


@dataclass(frozen=True)
class Source:
    """Where a statement is printed.

    Attributes:
        paper: its title.
        place: number of the equation, algorithm or lemma, and the line of the text file as ``L123``; it starts
            with "ours" when the paper does not print the statement.
    """

    paper: str
    place: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.place}"


@dataclass(frozen=True)
class Finding:
    """What the body of a proof returns."""

    verdict: Verdict
    evidence: str


@dataclass(frozen=True)
class Record:
    """One line of the ledger.

    Attributes:
        id: stable slug, ``paper.statement``.
        statement: what is shown, in our words.
        source: where it is printed.
        engine: what showed it.
        verdict: the outcome of this run.
        evidence: sizes, assumptions, invariants, instances or the counterexample, as text.
        seconds: how long this run took.
    """

    id: str
    statement: str
    source: Source
    engine: str
    verdict: Verdict
    evidence: str
    seconds: float


def proof(
    id: str, *, statement: str, source: Source, engine: str
) -> Callable[[Callable[[], Finding]], Callable[[], Record]]:
    """Turn a function that returns a finding into one that returns the timed record of it."""

    def decorate(body: Callable[[], Finding]) -> Callable[[], Record]:
        @functools.wraps(body)
        def run() -> Record:
            start = time.perf_counter()
            finding = body()
            seconds = time.perf_counter() - start
            return Record(id, statement, source, engine, finding.verdict, finding.evidence, seconds)

        return run

    return decorate


def identity(tests: Iterable[tuple[str, ZeroTest]], sizes: str) -> Finding:
    """Proved if every test says zero; refuted if one says not zero, with the point."""
    listed = list(tests)
    wrong = [f"{name}: not zero at {dict(t.witness)}" for name, t in listed if t.zero is False]
    open_ = [f"{name}: not decided" for name, t in listed if t.zero is None]
    if wrong or open_:
        return Finding(Verdict.REFUTED if wrong else Verdict.UNKNOWN, "\n".join(wrong + open_))
    counted, points = sum(t.expressions for _, t in listed), min(t.points for _, t in listed)
    return Finding(
        Verdict.PROVED, f"{counted} expressions vanish identically, each also at {points} rational points; {sizes}"
    )
