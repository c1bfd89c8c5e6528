"""Generation of the vectors of every row in the catalogue; the bytes are the same on every machine."""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import TypeVar

from fedspec.catalogue import ADDED
from fedspec.errors import FedspecError
from fedspec.reference import SUBJECT
from fedspec_suite.vectors.alternatives import Edit, rivals
from fedspec_suite.vectors.rows import all_rows, rows_of
from fedspec_suite.vectors.selection import choose, evaluated, further
from fedspec_suite.vectors.store import FOLDER, INDEX, AlgorithmVectors, index, indexed, text
from fedspec_suite.vectors.vector import Vector, size, vector_of

T = TypeVar("T")

PICKS = Path(__file__).with_name("picks.json")
"""File with the candidate numbers of each row's vectors, so that a new mutant moves no existing vector."""


def algorithms() -> list[str]:
    """List the algorithms of the specification's offers, in the order of the catalogue."""
    return list(dict.fromkeys(o.algorithm for o in SUBJECT.info.offers))


def chosen(algorithm: str, known: Collection[str] = ()) -> dict[str, list[int]]:
    """Choose the candidates that become the vectors of an algorithm, by row, without the rows in ``known``."""
    tried: set[Edit] = set()
    rows = [r for r in rows_of(algorithm) if r.name not in known]
    found = [(r, c) for r in rows for c in choose(r, partial(size, r), tried)]
    for r in () if known else rows:
        unseen = {rival.id for rival in rivals(r)} - {name for _, c in found for name in c.kills}
        found += [(r, c) for c in further(r, partial(size, r), unseen)]
    return {r.name: [c.number for of, c in found if of is r] for r in rows}


def make_vectors(algorithm: str, numbers: Mapping[str, Sequence[int]]) -> AlgorithmVectors:
    """Compute the vectors of one algorithm from the numbers of their candidates.

    Args:
        algorithm: its id.
        numbers: numbers of the chosen candidates, by row.
    """
    defects: dict[str, Mapping[str, str]] = {}
    vectors: dict[str, Vector] = {}
    for r in rows_of(algorithm):
        for n in numbers[r.name]:
            c = evaluated(r, n, partial(size, r), rivals(r))
            if c is None or not c.kills:
                continue
            vector = vector_of(r, c)
            vectors[vector["id"]] = vector
            defects |= {v.id: {"words": v.words, "equation": v.equation} for v in rivals(r) if v.id in c.kills}
    return AlgorithmVectors(algorithm, defects, tuple(vectors.values()))


def files(
    names: Sequence[str], jobs: int = 1, progress: Callable[[str], None] = lambda text: None
) -> Iterator[tuple[str, str]]:
    """Yield the vector files of some algorithms as name and text."""
    for done, (name, body) in enumerate(_each(file_of, names, jobs), 1):
        progress(f"vectors: {done} of {len(names)} algorithms")
        yield f"{name}.json", body


def choose_anew(
    names: Sequence[str],
    jobs: int = 1,
    progress: Callable[[str], None] = lambda text: None,
    *,
    keep: bool = False,
) -> None:
    """Choose the candidates of some algorithms again and store their numbers; rows that no longer exist are dropped.

    Args:
        names: the algorithms.
        jobs: processes that share the work.
        progress: is told how far it is.
        keep: leave the rows alone that have some, so that a new reading moves no vector of another.
    """
    known, names = picked(), [name for name in names if name not in ADDED]
    of = partial(chosen, known=frozenset(known) if keep else frozenset())
    for done, (_, numbers) in enumerate(_each(of, names, jobs), 1):
        progress(f"vectors: chosen for {done} of {len(names)} algorithms")
        known |= numbers
    there = {r.name for r in all_rows()}
    keep_picks({name: numbers for name, numbers in known.items() if name in there})


def unchosen(names: Sequence[str]) -> list[str]:
    """Return those algorithms that have a row without stored candidates."""
    known = picked()
    return [name for name in names if name not in ADDED and any(r.name not in known for r in rows_of(name))]


def _each(of: Callable[[str], T], names: Sequence[str], jobs: int) -> Iterator[tuple[str, T]]:
    if jobs == 1 or len(names) <= 1:
        yield from ((name, of(name)) for name in names)
        return
    with ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn")) as pool:
        yield from zip(names, pool.map(of, names), strict=True)


def file_of(algorithm: str) -> str:
    """Return the vector file of one algorithm as text; candidates of a plugin are chosen each time, not stored.

    Raises:
        FedspecError: nothing is told from the rule, so that there is no vector.
    """
    stored = make_vectors(algorithm, chosen(algorithm) if algorithm in ADDED else picked())
    if not stored.vectors:
        raise FedspecError(
            f"vectors: {algorithm} has none, since no case tells a mistake or another reading from the rule; "
            f"declare a possible mistake in MUTANTS of its file (docs/own-algorithms.md)"
        )
    return text(stored)


def copy(found: Iterable[AlgorithmVectors], folder: Path) -> None:
    """Write vector files unchanged, with an index of them.

    Raises:
        OSError: the folder cannot be written.
    """
    bodies = {f"{stored.algorithm}.json": text(stored) for stored in found}
    for name, body in {**bodies, INDEX: index(bodies)}.items():
        (folder / name).write_text(body, encoding="utf-8", newline="\n")


def write(found: Iterable[tuple[str, str]], folder: Path = FOLDER) -> list[str]:
    """Write vector files into a folder and update its index, which keeps the files that are already there.

    In fedspec's own folder the vectors of an algorithm that is gone go. Elsewhere nothing does: an algorithm may be a
    plugin's that this command was not told of, and a file the user's.

    Returns:
        The names of the files whose content changed.

    Raises:
        FedspecError: the folder cannot be written.
    """
    changed, known = [], {f"{name}.json" for name in algorithms()}
    there = _named(folder, known)
    gone = there - known if folder == FOLDER else set()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in found:
            changed += _put(folder / name, body)
            there.add(name)
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        here = [name for name in sorted(there - gone) if (folder / name).exists()]
        changed += _put(folder / INDEX, index({name: (folder / name).read_text(encoding="utf-8") for name in here}))
    except OSError as error:
        raise FedspecError(f"vectors: cannot write {folder} ({error.strerror}); give another with --folder") from error
    return changed


def _named(folder: Path, known: set[str]) -> set[str]:
    """The files that the index of a folder names; where it cannot be read, those that are called as algorithms."""
    try:
        return set(indexed(folder))
    except FedspecError:
        return known if (folder / INDEX).exists() else set()


def _put(path: Path, body: str) -> list[str]:
    if path.exists() and path.read_text(encoding="utf-8") == body:
        return []
    path.write_text(body, encoding="utf-8", newline="\n")
    return [path.name]


def picked() -> dict[str, list[int]]:
    """Read the stored candidate numbers, by the name of the row.

    Raises:
        FedspecError: the file is none of this kind.
    """
    try:
        body = json.loads(PICKS.read_text(encoding="utf-8"))
        return {str(name): [int(n) for n in numbers] for name, numbers in body.items()}
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise FedspecError(f"vectors: {PICKS} cannot be read ({error}); take it from the release again") from error


def keep_picks(picks: Mapping[str, list[int]]) -> None:
    """Store the candidate numbers, one row per line.

    Raises:
        FedspecError: it cannot be written.
    """
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(numbers)}" for name, numbers in sorted(picks.items()))
    try:
        PICKS.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8", newline="\n")
    except OSError as error:
        raise FedspecError(f"vectors: cannot write {PICKS} ({error.strerror}); run from a source tree") from error
