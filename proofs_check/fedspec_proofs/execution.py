"""Running claims, one after the other or in several processes, each under a time limit."""

from __future__ import annotations

import multiprocessing
import re
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis.configuration import set_hypothesis_home_dir, storage_directory

from fedspec_proofs import stored
from fedspec_proofs.chain import links, run_evidence
from fedspec_proofs.claim import Record, Verdict
from fedspec_proofs.engines.limit import within
from fedspec_proofs.engines.witnesses import Book, Found, recording
from fedspec_proofs.ledger import find

LIMIT = 120.0
"""Default limit for one claim, in seconds of processor time."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of the run of a claim.

    Attributes:
        id: id of the claim.
        expected: the verdict in the ledger.
        record: the result of the run; None if there is none.
        error: reason why there is no result: the time limit, or an error of the evidence.
        seconds: processor time of the run, in seconds.
        found: the results of the claim's searches.
        broken: links of the claim's chain that ran in the same call and got a verdict other than the ledger's.
        lost: searches whose stored instances, checked again, don't show their result.
        stale: True if the stored evidence has other words than that of this run.
    """

    id: str
    expected: Verdict
    record: Record | None
    error: str
    seconds: float
    found: Mapping[str, Found] = field(default_factory=dict)
    broken: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    stale: bool = False

    @property
    def as_it_stands(self) -> bool:
        """True if the claim and its chain gave the verdicts of the ledger, and what is stored is what they show."""
        came = self.record is not None and self.record.verdict is self.expected
        return came and not (self.broken or self.lost or self.stale)

    @property
    def why(self) -> str:
        """Reason for a failed run in one line; empty if the run agrees with the ledger."""
        if self.record is None:
            return self.error.strip().splitlines()[-1]
        if self.record.verdict is not self.expected:
            return f"came out {self.record.verdict}, stands as {self.expected}: {self.record.evidence.splitlines()[0]}"
        if self.lost:
            return f"its witnesses no longer show what they showed, in the search {', '.join(self.lost)}"
        if self.stale:
            return f"its stored evidence has other words; renew it: {stored.COMMAND.format(self.id)}"
        return f"a link did not come out as it stands: {', '.join(self.broken)}" if self.broken else ""


def run_one(id: str, limit: float = LIMIT, book: Book | None = None) -> Outcome:
    """Run one claim or false variant; only in the main thread of a process, since the time limit is a signal.

    Args:
        id: id of the claim.
        limit: time limit in seconds of processor time.
        book: known results of the claim's searches.
    """
    claim, begun = find(id), time.perf_counter()
    record, error, book = None, "", book or Book()
    try:
        with within(limit), recording(book):
            record = run_evidence(claim)
    except TimeoutError:
        error = f"timed out after {limit:g} s of processor time"
    except Exception:
        # A broken proof must not end the run of the others; it is told of as an outcome.
        error = traceback.format_exc()
    return Outcome(id, claim.verdict, record, error, time.perf_counter() - begun, book.found, lost=tuple(book.lost))


VARYING = re.compile(r" at (?!most|least).*|-?\d[\d.,/e+^()-]*")
"""Pattern of what the evidence of two right runs may differ in: instances after ``at``, and numbers."""

TIME = re.compile(r"\s*in [\d.]+ s")
"""Pattern of a line that says how long a proof took."""


def words_of(evidence: str) -> list[str]:
    """Return the lines of an evidence without times, numbers and instances."""
    return [VARYING.sub("#", line) for line in evidence.splitlines() if not TIME.fullmatch(line)]


def _stale(one: Outcome, last: Mapping[str, Record]) -> bool:
    known, now = last.get(one.id), one.record
    return known is not None and now is not None and words_of(known.evidence) != words_of(now.evidence)


def joined(outcomes: Mapping[str, Outcome]) -> dict[str, Outcome]:
    """Add to each outcome the ids of the claims in its chain that ran and disagree with the ledger."""
    wrong = {id for id, one in outcomes.items() if not one.as_it_stands}
    told = {}
    for id, one in outcomes.items():
        follows = {link.claim.id for link in links(find(id))} if one.record else set()
        told[id] = replace(one, broken=tuple(sorted(follows & wrong)))
    return told


def run(ids: Sequence[str], *, jobs: int = 1, limit: float = LIMIT, again: bool = False) -> Iterator[Outcome]:
    """Run claims and yield their outcomes; several processes start with the slowest and yield in order of completion.

    Args:
        ids: ids of the claims.
        jobs: number of processes.
        limit: time limit of one claim, in seconds of processor time.
        again: True: repeat searches in a fraction of their time, in addition to checking the stored instances, and
            compare the words of the stored evidence.
    """
    books = {id: Book(found, brief=again) for id, found in stored.load_found().items()}
    last = stored.load()

    def compared(one: Outcome) -> Outcome:
        # Another version of a solver may word an evidence otherwise: who only runs a claim isn't told.
        return replace(one, stale=again and _stale(one, last))

    if jobs == 1 or len(ids) == 1:
        yield from (compared(run_one(id, limit, books.get(id))) for id in ids)
        return
    longest = sorted(ids, key=lambda id: last[id].seconds if id in last else 0, reverse=True)
    context: Any = multiprocessing.get_context("spawn")
    # Hypothesis keeps a folder; its place is whatever it is here.
    home = str(storage_directory().path)
    with ProcessPoolExecutor(min(jobs, len(ids)), context, set_hypothesis_home_dir, (home,)) as pool:
        for done in as_completed([pool.submit(run_one, id, limit, books.get(id)) for id in longest]):
            yield compared(done.result())
