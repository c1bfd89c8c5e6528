"""What the searches of a claim found, as choices, so that the claim is checked again without searching as long again.

A search is long because it looks for what is worst. What it found is short: the choices of the instance that comes
nearest to the bound, of one that breaks it with a part missing, of a smallest counterexample. Every run makes these
instances anew from their choices, by the same code, and judges them anew, beside those that it searches for; a brief
run searches for a small share. Whatever no longer shows what it showed is not told of again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

SHARE = 20
"""Which part of the instances of a search a brief run makes."""


@dataclass(frozen=True)
class Found:
    """What one search found.

    Attributes:
        tried: how many instances it made.
        met: how many of them met the assumptions.
        choices: of each instance that shows something.
        ratio: the largest left/right among these, in digits.
        noticed: how many parts of the bound they show to be missed; of a smallest counterexample, 1 if there is one.
    """

    tried: int
    met: int
    choices: Sequence[Sequence[int]]
    ratio: str = ""
    noticed: int = 0


@dataclass
class Book:
    """The searches of one run of a claim, by what they look for, in the order of those that look for the same.

    Attributes:
        known: what an earlier run found.
        brief: whether little is searched for beside what is known.
        found: what this run finds.
        lost: searches whose known instances do not show what they are kept for.
    """

    known: Mapping[str, Found] = field(default_factory=dict)
    brief: bool = False
    found: dict[str, Found] = field(default_factory=dict)
    asked: Counter[str] = field(default_factory=Counter)
    lost: list[str] = field(default_factory=list)

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


def page(what: str) -> tuple[Found | None, bool, str]:
    """What is known of the next search for this, whether that is nearly all to be looked at, and its name."""
    book = _OPEN.get()
    name = book.page(what) if book else ""
    known = book.known.get(name) if book else None
    return known, bool(book and book.brief and known), name


def keep(name: str, found: Found) -> None:
    """Write down what a search found."""
    if book := _OPEN.get():
        book.found[name] = found


def lose(name: str) -> None:
    """Write down that what is known of a search no longer shows what it showed."""
    if (book := _OPEN.get()) and name not in book.lost:
        book.lost.append(name)
