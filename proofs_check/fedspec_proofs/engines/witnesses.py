"""Stored results of a claim's searches as integer choices, so that a later run can replay them and search less.

A search is long because it looks for the worst instance. Its result is short: the choices of the instance that comes
nearest to the bound, of an instance that breaks it with a part missing, of a smallest counterexample. Every run makes
these instances again from their choices, by the same code, and judges them again, beside the instances that it searches
for; a brief run searches for a small share. A stored instance that no longer shows its result is not reported again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

SHARE = 20
"""Divisor of the number of searched instances in a brief run."""


@dataclass(frozen=True)
class Found:
    """Result of a search, as the integer choices of its instances.

    Attributes:
        tried: number of instances.
        met: number of instances that met the assumptions.
        choices: the integer choices of each stored instance.
        ratio: the largest left/right among these, as a decimal.
        noticed: number of parts of the bound whose absence the instances reveal; for a smallest counterexample, 1 if it
            exists.
    """

    tried: int
    met: int
    choices: Sequence[Sequence[int]]
    ratio: str = ""
    noticed: int = 0


@dataclass
class Book:
    """Searches of one run of a claim: stored results, new results, and a count of the searches under each description.

    Attributes:
        known: results of an earlier run.
        brief: True if the search is short because stored results are known.
        found: results of this run.
        lost: searches whose stored instances no longer show their result.
    """

    known: Mapping[str, Found] = field(default_factory=dict)
    brief: bool = False
    found: dict[str, Found] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

    def page(self, what: str) -> str:
        """Return a name for the next search with this description: the description and its running number."""
        self.asked[what] += 1
        return f"{what} {self.asked[what]}"


_OPEN: ContextVar[Book | None] = ContextVar("book", default=None)


@contextmanager
def recording(book: Book) -> Iterator[None]:
    """Context in which searches start from the stored results in ``book`` and write their new results into it."""
    token = _OPEN.set(book)
    try:
        yield
    finally:
        _OPEN.reset(token)


def page(what: str) -> tuple[Found | None, bool, str]:
    """Stored result of the next search with this description, whether the search is brief, and its name."""
    book = _OPEN.get()
    name = book.page(what) if book else ""
    known = book.known.get(name) if book else None
    return known, bool(book and book.brief and known), name


def keep(name: str, found: Found) -> None:
    """Store the result of a search under its name."""
    if book := _OPEN.get():
        book.found[name] = found


def lose(name: str) -> None:
    """Record that the stored instances of a search no longer show their result."""
    if (book := _OPEN.get()) and name not in book.lost:
        book.lost.append(name)
