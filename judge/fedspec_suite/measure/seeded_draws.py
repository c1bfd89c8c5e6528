"""Reproducible Hypothesis draws: the same strategy, count and seed give the same cases."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity
from hypothesis.internal.conjecture import providers
from hypothesis.strategies import SearchStrategy

from fedspec_suite.measure.verdict import Undecided


class _Without:
    """The number of running blocks, and the replacement that ends with the last of them.

    Hypothesis draws now and then a number that it read in the source of a module which is not installed
    (``internal/conjecture/providers.py``). So the cases of a seed would differ between a clone and a wheel, and with
    the files of the person who judges. No setting turns that off.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running = 0
        self.patches: list[Any] = []
        # A Hypothesis that calls it otherwise still judges; the test of this file then says that cases are its own.
        if hasattr(providers, "_get_local_constants"):
            # What was kept for others holds their constants, and what is kept here holds none.
            kept = type(providers.CONSTANTS_CACHE)(1024)
            none = vars(providers)["Constants"]
            self.patches += [mock.patch.multiple(providers, _get_local_constants=none, CONSTANTS_CACHE=kept)]


_without = _Without()


@contextmanager
def not_local() -> Iterator[None]:
    """Keep Hypothesis from drawing constants of local modules while the block runs, in any thread."""
    with _without.lock:
        if _without.running == 0:
            for patch in _without.patches:
                patch.start()
        _without.running += 1
    try:
        yield
    finally:
        with _without.lock:
            _without.running -= 1
            if _without.running == 0:
                for patch in _without.patches:
                    patch.stop()


def run_cases(
    cases: SearchStrategy[Any], count: int, seed: int, phases: Sequence[Phase], seen: Callable[[Any], None]
) -> None:
    """Draw cases and call ``seen`` with each; raise the exception of the smallest failing case found.

    Args:
        cases: the strategy of the cases.
        count: largest number of cases.
        seed: seed of the draws.
        phases: phases of Hypothesis; with ``shrink`` a case that raises is made smaller.
        seen: is shown a case; an Undecided leaves it out.
    """

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=phases,
        suppress_health_check=list(HealthCheck),
        verbosity=Verbosity.quiet,
        report_multiple_bugs=False,
        print_blob=False,
    )
    @hypothesis.given(cases)
    def every(case: Any) -> None:
        try:
            seen(case)
        except Undecided:
            hypothesis.reject()

    # There is no database; without this Hypothesis reads the source of the function, to find its cases in one.
    every._hypothesis_internal_database_key = None  # type: ignore[attr-defined]
    with not_local():
        every()


def draw_cases(
    cases: SearchStrategy[Any], count: int, seed: int, allowed: Callable[[Any], None] | None = None
) -> list[Any]:
    """Return the cases that a strategy draws, without those for which ``allowed`` raises ``Undecided``."""
    found: list[Any] = []

    def collect(case: Any) -> None:
        if allowed is not None:
            allowed(copy.deepcopy(case))
        found.append(case)

    try:
        run_cases(cases, count, seed, (Phase.generate,), collect)
    except hypothesis.errors.Unsatisfiable:
        return []
    return found
