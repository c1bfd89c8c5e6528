"""A row of the catalogue in its plain form: the box as it is printed, in the place of the one with options."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache, wraps
from inspect import signature
from typing import Any

from fedspec.catalogue import CATALOGUE, LocalSolver, Method, Program
from fedspec.rules import plain


@contextmanager
def in_plain_form(algorithm: str) -> Iterator[None]:
    """The specification with the row's plain form in the place of the one with options, until the block ends."""
    row = CATALOGUE[algorithm]
    CATALOGUE[algorithm] = replace(row, run=plain_run(row.run))
    try:
        yield
    finally:
        CATALOGUE[algorithm] = row


def plain_run(run: LocalSolver | Method | Program) -> LocalSolver | Method | Program:
    """What runs, in its plain form where there is one."""
    if isinstance(run, LocalSolver):
        f = run.plain or plain(run.rule)
        # As its module has it now: it may stand edited there.
        now = getattr(sys.modules[f.__module__], f.__name__)
        return run if f is run.rule else replace(run, rule=_without_options(now))
    if run.plain is None:
        return run
    return replace(run, server=run.plain) if isinstance(run, Method) else replace(run, step=run.plain)


@lru_cache(maxsize=256)
def _without_options(rule: Callable[..., Any]) -> Callable[..., Any]:
    """The rule, for who hands it options too."""
    known = signature(rule).parameters

    @wraps(rule)
    def call(*args: Any, **keywords: Any) -> Any:
        return rule(*args, **{n: v for n, v in keywords.items() if n in known})

    return call
