"""Laws: properties of every correct implementation as data, each with its cases and its check."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hypothesis.strategies import SearchStrategy

from fedspec.contract import BESIDE, Level
from fedspec_suite.laws.applicability import NOT_RETURNED, SKIPPED, Answer, Word, always
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates

Check = Callable[[Bench, Any], None]
Simplify = Callable[[Bench, Any, Deviates], Deviates]


PURITY = "purity"
"""Source of the laws about manners: the same bits, sessions apart, types kept."""


@dataclass(frozen=True, kw_only=True)
class Law:
    """Property of an implementation, with a strategy of cases and a check that searches for a violation.

    Attributes:
        id: stable slug.
        words: the property, in words.
        levels: levels at which it can be checked.
        source: the statement it comes from.
        cases: the strategy of its cases in a setting.
        check: plays a case; raises ``Deviates`` when the property fails.
        applies: whom it asks, in the words of ``laws.applicability``.
        shows: the intermediate that it reads, if any: an offer that does not show it is not judged on the law.
        needs: hyper-parameters that it varies: they must not be pinned by the subject.
        zeroes: hyper-parameters that it sets to zero.
        reads_rule: True if it compares with the specification's own rule.
        needs_concurrency: True if it keeps two sessions open at once.
        costs: cost of a case, relative to other laws: so many times fewer cases are drawn.
        simplify: makes the first case that fails simpler, and says how that one does, where Hypothesis shall not.
    """

    id: str
    words: str
    levels: tuple[Level, ...]
    source: str
    cases: Callable[[Setting], SearchStrategy[Any]]
    check: Check
    applies: Word = always
    shows: str = ""
    needs: tuple[str, ...] = ()
    zeroes: tuple[str, ...] = ()
    reads_rule: bool = False
    needs_concurrency: bool = False
    costs: int = 1
    simplify: Simplify | None = None

    def why_not(self, setting: Setting, shown: tuple[str, ...], concurrent: bool) -> str:
        """Return why the law does not apply to an offer; empty if it does."""
        asked, words = self.answer(setting, shown, concurrent)
        return "" if asked else words

    def answer(self, setting: Setting, shown: tuple[str, ...], concurrent: bool) -> Answer:
        """Decide whether the law applies to an offer, with the reason."""
        row = setting.algorithm
        if setting.level not in self.levels:
            return Answer(False, f"is about level {' and '.join(self.levels)}")
        if self.id in row.denies:
            return Answer(False, f"its row denies {self.id}: {row.denies[self.id]}")
        changed = any(getattr(setting, name) for name in BESIDE)
        if changed and not (self.reads_rule or self.source == PURITY):
            return Answer(
                False, "is about rates, gradients, messages and blocks as they are, and the claim changes them"
            )
        asked, words = self.applies(setting)
        if not asked:
            limited = not words.startswith(SKIPPED) and self.applies(setting.unlimited).asked
            return Answer(False, f"{SKIPPED}{words}" if limited else words)
        if self.shows and self.shows not in row.shows_at(setting.level):
            return Answer(False, f"{row.id} has no {self.shows}")
        if limit := self._limit(setting, shown, concurrent):
            return Answer(False, f"{SKIPPED}{limit}")
        has = [f"has {words}" if words else "", f"shows {self.shows}" if self.shows else ""]
        return Answer(True, ", ".join(filter(None, has)) or "is judged at this level")

    def _limit(self, setting: Setting, shown: tuple[str, ...], concurrent: bool) -> str:
        """Name what the law needs and the adapter does not return or does not let its user set; empty if nothing."""
        if self.shows and self.shows not in shown:
            return f"{NOT_RETURNED}{self.shows}"
        if pinned := [n for n in self.needs if n in setting.fixed]:
            return f"{', '.join(pinned)} cannot be set"
        if refused := [n for n in self.zeroes if n in setting.nonzero]:
            return f"{', '.join(refused)} = 0 is refused"
        return "one session at a time" if self.needs_concurrency and not concurrent else ""
