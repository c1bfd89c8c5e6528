"""The traps of the catalogue's rows as wrong implementations, and whether the comparison with the rule refuses them.

``traps.toml`` says for each sentence what falls into it: a mutant, another reading, an edit, or a rule that is applied
to each block by itself; or why nothing that a case plays can. A list of words is one of mutants, a sentence is why none
can, and an edit stands in its answer as ``rule``, ``old``, ``new``, and ``options`` or ``leaks`` of a mutant. The names
of rules and functions leave out ``fedspec.``.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from test_judge.by_blocks import by_blocks

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import LEVELS, Level, Offer, Subject
from fedspec.reference import SUBJECT
from fedspec_suite.judge.runner import PROFILES, run_law
from fedspec_suite.laws import LAWS, Law, far, follows_rule
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import RATES_AT, Setting, setting_of
from fedspec_suite.measure.verdict import Status
from fedspec_suite.mutants import Mutant, Mutated, find

COMPARISON: tuple[Law, ...] = tuple(LAWS[law.id] for law in (*follows_rule.LAWS, *far.LAWS))
"""The laws that compare with the rule, and nothing beside them."""

UNREACHED: dict[str, tuple[Level, ...]] = {"zeros": ("round",), "products": LEVELS}
"""Cases that profile quick lacks, or has by chance, and the levels. An answer that needs such cases names the word.

When you add such cases, remove the word, or a level of it: from then on these answers must be refused there.

zeros: a change that is zero after others that were not; the second round of level server has one. products: a product
that is whole in floats, and not in the numbers that these are.
"""

WAYS = ("mutants", "edit", "reading", "blocks", "why")
"""Kinds of answers: several things to play, or one reason."""
EDITED = {"rule", "old", "new", "options", "leaks"}
"""Fields of an edit."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Wrong implementation that falls into a trap, or the reason why none can.

    Attributes:
        trap: the sentence.
        rows: the algorithms that it is the answer for.
        mutants: ids of catalogued mutants that are this very mistake; each must be refused.
        edit: an edit that is catalogued nowhere: ``rule``, ``old``, ``new``, and so on.
        reading: another reading of the row, or one of its options, which is done where the canonical one is claimed.
        blocks: the dotted name of a function that is applied to each block by itself.
        why: reason why it cannot be played.
        claims: the claimed reading and options, if they are not the canonical ones.
        rates: ``rounds`` or ``clients``: the rates that an event gives, if it does not show at one rate for all.
        levels: the levels where it is a mistake; empty: at all levels of the row.
        needs: a word of UNREACHED, if the cases must have something special.
        on: the row that it is played on, if it shows in another row that contains this one.
        dtype: the floating-point type in which it shows.
    """

    trap: str
    rows: tuple[str, ...] = ()
    mutants: tuple[str, ...] = ()
    edit: Mapping[str, Any] = field(default_factory=dict)
    reading: Mapping[str, str] = field(default_factory=dict)
    blocks: str = ""
    why: str = ""
    claims: Mapping[str, str] = field(default_factory=dict)
    rates: str = ""
    levels: tuple[Level, ...] = ()
    needs: str = ""
    on: str = ""
    dtype: str = "float64"


@cache
def answers() -> tuple[Answer, ...]:
    """The table as it is written."""
    table = tomllib.loads(Path(__file__).with_name("traps.toml").read_text(encoding="utf-8"))
    return tuple(_answer(trap, one) for trap, said in table.items() for one in _each(said))


def _each(said: Any) -> list[dict[str, Any]]:
    """The answers of a trap, however short they are written."""
    match said:
        case str():
            return [{"why": said}]
        case [str(), *_]:
            return [{"mutants": said}]
    return said if isinstance(said, list) else [said]


def _answer(trap: str, said: Mapping[str, Any]) -> Answer:
    fields: dict[str, Any] = {
        k: tuple(v) if k in {"rows", "mutants", "levels"} else v for k, v in said.items() if k not in EDITED
    }
    edit = {k: f"fedspec.{v}" if k == "rule" else v for k, v in said.items() if k in EDITED}
    blocks = f"fedspec.{said['blocks']}" if "blocks" in said else ""
    return Answer(trap=trap, **{**fields, "blocks": blocks}, edit=edit)


def answers_of(row: str, trap: str) -> list[Answer]:
    """The answers for a trap of a row: those that name the row, else those that name none."""
    said = [a for a in answers() if a.trap == trap]
    return [a for a in said if row in a.rows] or [a for a in said if not a.rows]


@dataclass(frozen=True)
class Wrong:
    """A wrong implementation on one offer of the specification.

    Attributes:
        words: description of the implementation.
        subject: the subject.
        offer: the claimed offer.
        dtype: the floating-point type that it is asked in.
    """

    words: str
    subject: Subject
    offer: Offer
    dtype: str

    def refused_by(self, seed: int = 0) -> str:
        """The first law of the comparison that finds a deviation in the cases of profile quick; empty if none does."""
        setting = setting_of(self.offer, self.dtype)
        bench = bench_of(InProcess(self.subject), self.offer, setting)
        for law in COMPARISON:
            if law.why_not(setting, self.offer.intermediates, concurrent=True):
                continue
            obligation = run_law(law, bench, setting, PROFILES["quick"], seed)
            assert obligation.status is not Status.ERROR, f"{self.words} does not run: {obligation.reason}"
            if obligation.status is Status.FAIL:
                return law.id
        return ""


def wrongs(row: str, answer: Answer) -> Iterator[Wrong]:
    """Yield the wrong implementations of a row's trap: on one offer of each level at which it is a mistake."""
    row = answer.on or row
    for words, subject, mutant in _subjects(row, answer):
        for offer in _claimed(row, answer, mutant):
            yield Wrong(f"{words} at {offer.level}", subject, offer, answer.dtype)


def edits_of(row: str, answer: Answer) -> Iterator[Mutant]:
    """The edits among the answers for a row, as mutants of that row alone."""
    for name in answer.mutants:
        yield replace(find(name), algorithms=(row,))
    if answer.edit:
        yield Mutant(id=f"trap of {row}", words=answer.trap, algorithms=(row,), **answer.edit)


def _subjects(row: str, answer: Answer) -> Iterator[tuple[str, Subject, Mutant | None]]:
    for mutant in edits_of(row, answer):
        yield mutant.id, Mutated(mutant), mutant
    if answer.reading:
        yield "another reading", _otherwise(_options(CATALOGUE[row], answer.reading)), None
    if answer.blocks:
        yield f"{answer.blocks} block by block", by_blocks(answer.blocks), None


def _otherwise(options: Mapping[str, str]) -> Any:
    start = lambda case: SUBJECT.start(replace(case, options={**case.options, **options}))  # noqa: E731
    return SimpleNamespace(info=SUBJECT.info, start=start)


def _claimed(row: str, answer: Answer, mutant: Mutant | None) -> list[Offer]:
    """Offer of each level: the claimed one, or one with the options of a mutant, or the canonical one."""
    claims, rates = answer.claims, answer.rates or ("rounds" if mutant and mutant.rates else "one")
    options = dict(mutant.options if mutant else {}) | _options(CATALOGUE[row], claims)
    reading = claims.get("reading", CATALOGUE[row].readings[0].name)
    mine = [o for o in SUBJECT.info.offers if o.algorithm == row and o.rates == "one"]
    fits = [o for o in mine if not _says(setting_of(o), options)]
    likely = sorted(fits or mine, key=lambda o: o.reading != reading)
    by_level = {o.level: o for o in reversed(likely)}
    there = [level for level in RATES_AT.get(rates, LEVELS) if level in (answer.levels or LEVELS)]
    return [replace(o, rates=rates) for level, o in sorted(by_level.items()) if level in there]


def _options(row: Algorithm, said: Mapping[str, str]) -> Mapping[str, str]:
    """The options that a reading and what is said beside it fix."""
    more = {n: v for n, v in said.items() if n != "reading"}
    return {**(row.reading(said["reading"]).fixes if "reading" in said else {}), **more}


def _says(setting: Setting, options: Mapping[str, str]) -> bool:
    """True if the setting has another option than claimed."""
    return any(setting.options.get(n) != v for n, v in options.items())


def pairs() -> list[tuple[str, str]]:
    """Every row with each of its traps."""
    return [(row.id, trap) for row in CATALOGUE.values() for trap in row.traps]
