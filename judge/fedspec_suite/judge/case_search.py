"""Search for a failing case of a law: Hypothesis draws cases, or laws with the same strategy share earlier ones."""

from __future__ import annotations

import itertools
import pickle
from collections import Counter
from collections.abc import Callable, Hashable, MutableMapping
from functools import cache
from typing import Any, TypeAlias

from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from fedspec_suite.laws import LAWS
from fedspec_suite.measure.seeded_draws import run_cases

Trial: TypeAlias = Callable[[Any], None]
"""Function that runs a law on a case and raises if the law is violated."""

Drawn: TypeAlias = MutableMapping[Hashable, list[bytes]]
"""Cache of passed cases, pickled so that no trial can have changed them."""


class _Held:
    """A case that Hypothesis does not spell out, which takes long where thousands of numbers fail."""

    def __init__(self, case: Any) -> None:
        self.case = case


def search(cases: SearchStrategy[Any], examples: int, seed: int, trial: Trial) -> None:
    """Draw cases and try them; shrink the first failing case and raise the exception of the smallest."""
    run_cases(cases.map(_Held), examples, seed, (Phase.generate, Phase.shrink), lambda held: trial(held.case))


@cache
def shared() -> frozenset[Callable[..., Any]]:
    """Return the strategies that several laws use."""
    counted = Counter(law.cases for law in LAWS.values())
    return frozenset(cases for cases, laws in counted.items() if laws > 1)


def once(drawn: Drawn, key: Hashable, searched: Callable[[Trial], None], trial: Trial) -> None:
    """Search, but reuse the cases drawn before under the same key.

    What Hypothesis draws depends on the seed and on what became of the cases before. So where all were passed, they are
    the next law's cases too, up to the first that it does not pass. From there on Hypothesis takes over: it is told
    what became of the cases up to there, and none of them is tried twice.

    Args:
        drawn: the cases of the searches in which all were passed.
        key: what decides about the cases.
        searched: a search.
        trial: what is done with each case.
    """
    if key not in drawn:
        seen: list[bytes] = []
        passed = 0

        def noted(case: Any) -> None:
            nonlocal passed
            seen.append(pickle.dumps(case))
            trial(case)
            passed += 1

        searched(noted)
        if passed == len(seen):
            drawn[key] = seen
        return
    passed, raised = _again(drawn[key], trial)
    # Not where it is handled: what is raised later would be told apart from it by that.
    if raised is not None:
        searched(_from(passed, raised, trial))


def _again(kept: list[bytes], trial: Trial) -> tuple[int, Exception | None]:
    """Replay kept cases: how many pass, and the exception of the next."""
    for number, case in enumerate(kept):
        try:
            trial(pickle.loads(case))
        except Exception as raised:
            return number, raised
    return len(kept), None


def _from(number: int, raised: Exception, trial: Trial) -> Trial:
    """A trial for which so many cases are passed, and the next one is known to raise."""
    tried = itertools.count()

    def resumed(case: Any) -> None:
        now = next(tried)
        if now == number:
            raise raised
        if now > number:
            trial(case)

    return resumed
