"""The kill matrix: which law kills which mutant, on every offer of the specification where the edit can show."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from typing import Any

from fedspec.reference import SUBJECT
from fedspec_suite.kills.mutant_runs import CASES, CRASHED, MutantResult, ask, offers_of
from fedspec_suite.kills.mutant_runs import name as called
from fedspec_suite.laws import all_laws
from fedspec_suite.mutants import find


@dataclass(frozen=True)
class Row:
    """Results of a mutant, on every offer where its edit can show."""

    mutant: str
    offers: Mapping[str, MutantResult]

    @property
    def killed(self) -> tuple[str, ...]:
        """The laws that kill it on some offer."""
        return tuple(sorted({law for a in self.offers.values() for law in a.killed}))

    @property
    def survived(self) -> tuple[str, ...]:
        """The laws that were asked and kill it nowhere."""
        return tuple(sorted({law for a in self.offers.values() for law in a.survived} - set(self.killed)))

    def record(self) -> dict[str, Any]:
        """The row as JSON values."""
        offers = {offer: asdict(asked) for offer, asked in self.offers.items()}
        head = {"id": self.mutant, "killed": self.killed, "survived": self.survived}
        return {**head, "offers": offers}


@dataclass(frozen=True)
class Matrix:
    """The mutants, the laws that were asked about them and how the cases were drawn."""

    seed: int
    cases: int
    laws: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def crashes(self) -> tuple[str, ...]:
        """Crashes of laws on mutants: bugs of laws."""
        return tuple(
            f"{', '.join(laws)} on {row.mutant}, {offer}: {why.removeprefix(CRASHED)}"
            for row in self.rows
            for offer, asked in row.offers.items()
            for why, laws in asked.not_asked.items()
            if why.startswith(CRASHED)
        )

    def record(self) -> dict[str, Any]:
        """The matrix as JSON values."""
        rows = [row.record() for row in self.rows]
        return {"seed": self.seed, "cases": self.cases, "laws": self.laws, "mutants": rows}


def run(
    names: Sequence[str],
    *,
    laws: Sequence[str] = tuple(all_laws()),
    seed: int = 0,
    cases: int = CASES,
    jobs: int = 1,
    progress: Callable[[str], None] = lambda text: None,
) -> Matrix:
    """Ask laws about mutants; the result depends on their names, the seed and the number of cases alone.

    Raises:
        UnknownNameError: there is no such mutant.
    """
    tasks: dict[int, list[str]] = {}
    for name in sorted(names):
        for number in offers_of(find(name)):
            tasks.setdefault(number, []).append(name)
    offers: dict[str, dict[str, MutantResult]] = {name: {} for name in sorted(names)}
    for done, (number, results) in enumerate(_all(tasks, sorted(laws), seed, cases, jobs), 1):
        o = SUBJECT.info.offers[number]
        progress(f"kill matrix: {done} of {len(tasks)} offers")
        for name, asked in results.items():
            offers[name][called(o)] = asked
    rows = [Row(n, dict(sorted(found.items()))) for n, found in offers.items()]
    return Matrix(seed, cases, tuple(sorted(laws)), tuple(rows))


def _all(
    tasks: Mapping[int, list[str]], laws: Sequence[str], seed: int, cases: int, jobs: int
) -> Iterator[tuple[int, dict[str, MutantResult]]]:
    if jobs == 1 or len(tasks) == 1:
        for number, names in tasks.items():
            yield number, ask(number, names, laws, seed, cases)
        return
    # Not forked: the progress display has a thread of its own.
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        waiting = {pool.submit(ask, number, names, laws, seed, cases): number for number, names in tasks.items()}
        for done in as_completed(waiting):
            yield waiting[done], done.result()
