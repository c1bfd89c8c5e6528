"""Which settings a law is asked of: those whose algorithm has the facts, and the options, that the law rests on."""

from __future__ import annotations

from collections.abc import Callable

from fedspec.facts import Fact
from fedspec_suite.measure.setting import Setting

Applies = Callable[[Setting], str]
"""The empty string where a law applies, else why not."""


def about(*facts: Fact, **options: str) -> Applies:
    """Algorithms that have all of these facts, under these options where they have them."""

    def why_not(setting: Setting) -> str:
        if missing := [fact for fact in facts if not setting.algorithm.has(fact)]:
            return f"it is about {missing[0]}"
        return next((f"it is about {n} = {v}" for n, v in options.items() if setting.options.get(n, v) != v), "")

    return why_not


def about_any(*facts: Fact) -> Applies:
    """Algorithms that have one of these facts."""
    words = f"it is about {' or '.join(facts)}"
    return lambda setting: "" if any(map(setting.algorithm.has, facts)) else words


def without(fact: Fact) -> Applies:
    """Algorithms that do not have the fact."""
    return lambda setting: f"it is not about {fact}" if setting.algorithm.has(fact) else ""


def unless(*reasons: Applies) -> Applies:
    """Settings against which none of the reasons speaks."""
    return lambda setting: next(filter(None, (reason(setting) for reason in reasons)), "")
