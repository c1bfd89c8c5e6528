"""What a law is: a property that every correct implementation has, as data, with its cases and its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from fedspec.contract import Level
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates

Check = Callable[[Bench, Any], None]
Simplify = Callable[[Bench, Any, Deviates], Deviates]


def always(setting: Setting) -> str:
    """The law applies wherever its level does."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Law:
    """A property and how to look for a violation.

    Attributes:
        id: stable slug.
        words: the property, in words.
        levels: where it can be checked.
        source: the statement it comes from.
        cases: the strategy of its cases in a setting.
        check: plays a case; raises ``Deviates`` when the property fails.
        applies: the empty string where it applies, else why not.
        shows: the intermediate that it reads, if any: an offer that does not show it is not judged on the law.
        needs: hyper-parameters that it varies: they must not be pinned by the subject.
        zeroes: hyper-parameters that it sets to zero.
        reads_rule: whether it compares with the specification's own rule.
        needs_concurrency: whether it keeps two sessions open at once.
        costs: how many times as much one of its cases costs: so many times fewer are drawn.
        simplify: makes the first case that fails simpler, and says how that one does, where Hypothesis shall not.
    """

    id: str
    words: str
    levels: tuple[Level, ...]
    source: str
    cases: Callable[[Setting], SearchStrategy[Any]]
    check: Check
    applies: Callable[[Setting], str] = always
    shows: str = ""
    needs: tuple[str, ...] = ()
    zeroes: tuple[str, ...] = ()
    reads_rule: bool = False
    needs_concurrency: bool = False
    costs: int = 1
    simplify: Simplify | None = None

    def why_not(self, setting: Setting, shown: tuple[str, ...], concurrent: bool) -> str:
        """Why the law is not asked of an offer; empty when it is."""
        if setting.level not in self.levels:
            return f"is about level {' and '.join(self.levels)}"
        if self.id in setting.algorithm.denies:
            return setting.algorithm.denies[self.id]
        if reason := self.applies(setting):
            denied = [why for what, why in setting.algorithm.denies.items() if reason.endswith(what)]
            reason += f", and {denied[0]}" if denied else ""
            limited = not reason.startswith("not offered") and not self.applies(setting.unlimited)
            return f"not offered: {reason}" if limited else reason
        if self.shows and self.shows not in setting.algorithm.shows_at(setting.level):
            return f"{setting.algorithm.id} has no {self.shows}"
        if self.shows and self.shows not in shown:
            return f"not offered: {self.shows} is not shown"
        if pinned := [n for n in self.needs if n in setting.fixed]:
            return f"not offered: {', '.join(pinned)} cannot be set"
        if refused := [n for n in self.zeroes if n in setting.nonzero]:
            return f"not offered: {', '.join(refused)} = 0 is refused"
        if self.needs_concurrency and not concurrent:
            return "not offered: one session at a time"
        return ""
