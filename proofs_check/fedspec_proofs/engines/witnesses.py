"""What the searches of a claim found, as choices, so that the claim is checked again without searching as long again.

A search is long because it looks for what is worst. What it found is short: the choices of the instance that comes
nearest to the bound, of one that breaks it with a part missing, of a smallest counterexample. To check a claim again,
these instances are made anew from their choices, by the same code, and judged anew; beside them a search of a small
share of the instances looks for a violation. Whatever no longer shows what it showed changes the verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

SHARE = 20
"""Which part of the instances of a search is made again, beside those that are known."""


@dataclass(frozen=True)
class Found:
    """What one search found.

    Attributes:
        tried: how many instances it made.
        met: how many of them met the assumptions.
        choices: of each instance that shows something.
    """

    tried: int
    met: int
    choices: Sequence[Sequence[int]]


@dataclass
class Book:
    """The searches of one run of a claim, by what they look for, in the order of those that look for the same.

    Attributes:
        known: what an earlier run found; empty where everything is searched for.
        found: what this run finds.
    """

    known: Mapping[str, Found] = field(default_factory=dict)
    found: dict[str, Found] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)

    def page(self, what: str) -> str:
        """The name of the next search for this."""
        self.asked[what] += 1
        return f"{what} {self.asked[what]}"


_OPEN: ContextVar[Book | None] = ContextVar("book", default=None)


@contextmanager
def written(book: Book) -> Iterator[None]:
    """Searches inside begin from what the book knows, and are written in it."""
    token = _OPEN.set(book)
    try:
        yield
    finally:
        _OPEN.reset(token)


def page(what: str) -> tuple[Found | None, str]:
    """What is known of the next search for this, and its name."""
    book = _OPEN.get()
    name = book.page(what) if book else ""
    return (book.known.get(name) if book else None), name


def keep(name: str, found: Found) -> None:
    """Write down what a search found."""
    if book := _OPEN.get():
        book.found[name] = found
