"""Which form of a row of the catalogue runs: the printed one, or that with options."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from fedspec.catalogue import CATALOGUE


def in_plain_form(algorithm: str) -> AbstractContextManager[None]:
    """The specification with the row's printed form in the place of the one with options, until the block ends."""
    return _with(algorithm, lambda run: run.as_printed())


def in_general_form(algorithm: str) -> AbstractContextManager[None]:
    """The specification without the row's printed form, until the block ends: for edits of the one with options."""
    return _with(algorithm, lambda run: replace(run, plain=None))


@contextmanager
def _with(algorithm: str, form: Callable[[Any], Any]) -> Iterator[None]:
    row = CATALOGUE[algorithm]
    CATALOGUE[algorithm] = replace(row, run=form(row.run))
    try:
        yield
    finally:
        CATALOGUE[algorithm] = row
