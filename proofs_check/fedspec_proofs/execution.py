"""Running claims: one after the other or in several processes, each within a limit of time."""

from __future__ import annotations

import multiprocessing
import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from typing import Any

from hypothesis.configuration import set_hypothesis_home_dir, storage_directory

from fedspec_proofs.claim import Record, Verdict
from fedspec_proofs.engines.identity import within
from fedspec_proofs.ledger import find

LIMIT = 120.0
"""Seconds that one claim may take."""


@dataclass(frozen=True)
class Outcome:
    """What became of one claim.

    Attributes:
        id: the claim.
        expected: the verdict that stands in the ledger.
        record: what came out; None where nothing did.
        error: why nothing came out: the time was over, or the evidence raised an error.
        seconds: how long it took.
    """

    id: str
    expected: Verdict
    record: Record | None
    error: str
    seconds: float

    @property
    def as_it_stands(self) -> bool:
        """Whether the run gave the verdict of the ledger."""
        return self.record is not None and self.record.verdict is self.expected

    @property
    def why(self) -> str:
        """What is wrong, in one line; empty where nothing is."""
        if self.record is None:
            return self.error.strip().splitlines()[-1]
        if self.record.verdict is not self.expected:
            return f"came out {self.record.verdict}, stands as {self.expected}: {self.record.evidence.splitlines()[0]}"
        return ""


def run_one(id: str, limit: float = LIMIT) -> Outcome:
    """Run one claim or false variant; in the main thread of a process only."""
    claim, begun = find(id), time.perf_counter()
    record, error = None, ""
    try:
        with within(limit):
            record = claim()
    except TimeoutError:
        error = f"timed out after {limit:g} s"
    except Exception:
        # A broken proof must not end the run of the others; it is told of as an outcome.
        error = traceback.format_exc()
    return Outcome(id, claim.verdict, record, error, time.perf_counter() - begun)


def run(ids: Sequence[str], *, jobs: int = 1, limit: float = LIMIT) -> Iterator[Outcome]:
    """Run claims; with several processes they come as they end."""
    if jobs == 1 or len(ids) == 1:
        yield from (run_one(id, limit) for id in ids)
        return
    context: Any = multiprocessing.get_context("spawn")
    # Hypothesis keeps a folder; its place is whatever it is here.
    home = str(storage_directory().path)
    with ProcessPoolExecutor(min(jobs, len(ids)), context, set_hypothesis_home_dir, (home,)) as pool:
        for done in as_completed([pool.submit(run_one, id, limit) for id in ids]):
            yield done.result()
