"""Search for a failing case of a law: Hypothesis draws cases, or laws with the same strategy share earlier ones."""

from __future__ import annotations

import itertools
import pickle
from collections.abc import Callable, Hashable, MutableMapping
from typing import Any, TypeAlias

from hypothesis import Phase
from hypothesis.strategies import SearchStrategy

from fedspec_suite.measure.seeded_draws import run_cases
from fedspec_suite.measure.verdict import Undecided

Trial: TypeAlias = Callable[[Any], None]
"""Function that runs a law on a case and raises if the law is violated."""

Kept: TypeAlias = list[tuple[bytes, bool]]
"""Cases of a search, pickled so that no trial can have changed them, each with whether it was undecided."""

Drawn: TypeAlias = MutableMapping[Hashable, Kept]
"""Cache of the cases of searches that found no violation."""


class _Held:
    """A case that Hypothesis does not spell out, which takes long where thousands of numbers fail."""

    def __init__(self, case: Any) -> None:
        self.case = case


def search(cases: SearchStrategy[Any], examples: int, seed: int, trial: Trial) -> None:
    """Draw cases and try them; shrink the first failing case and raise the exception of the smallest."""
    run_cases(cases.map(_Held), examples, seed, (Phase.generate, Phase.shrink), lambda held: trial(held.case))


def once(drawn: Drawn, key: Hashable, searched: Callable[[Trial], None], trial: Trial) -> None:
    """Search, but reuse the cases drawn before under the same key.

    What Hypothesis draws depends on the seed and on whether the cases before were passed or undecided. So where none
    failed, they are the next search's cases too, up to the first that turns out otherwise. From there on Hypothesis
    takes over: it is told what became of the cases up to there, and none of them is tried twice.

    Args:
        drawn: the cases of the searches in which none failed.
        key: identity of the search: equal keys draw equal cases.
        searched: a search.
        trial: function that tries a case.
    """
    if key not in drawn:
        seen: Kept = []

        def noted(case: Any) -> None:
            pickled = pickle.dumps(case)
            try:
                trial(case)
            except Undecided:
                seen.append((pickled, True))
                raise
            seen.append((pickled, False))

        searched(noted)
        drawn[key] = seen
        return
    same, raised = replayed(drawn[key], trial)
    # Not where it is handled: what is raised later would be told apart from it by that.
    if same < len(drawn[key]):
        searched(_from(drawn[key][:same], raised, trial))


def replayed(kept: Kept, trial: Trial) -> tuple[int, Exception | None]:
    """Try kept cases: how many turn out as before, and the exception of the next."""
    for number, (case, undecided) in enumerate(kept):
        raised: Exception | None = None
        try:
            trial(pickle.loads(case))
        except Exception as error:
            raised = error
        if not (isinstance(raised, Undecided) if undecided else raised is None):
            return number, raised
    return len(kept), None


def paired(kept: Kept) -> Kept:
    """Pair each kept case with the next one, and the last with the first."""
    cases = [pickle.loads(case) for case, _ in kept]
    return [(pickle.dumps(pair), False) for pair in zip(cases, cases[1:] + cases[:1], strict=True)]


def _from(kept: Kept, raised: Exception | None, trial: Trial) -> Trial:
    """A trial that knows what became of the kept cases, and what the next one raises."""
    tried = itertools.count()

    def resumed(case: Any) -> None:
        now = next(tried)
        if now > len(kept):
            trial(case)
        elif now == len(kept):
            if raised is not None:
                raise raised
        elif kept[now][1]:
            raise Undecided

    return resumed
