"""Conditions by which a law chooses its algorithms; each condition gives a reason for its answer.

A word is asked about a setting, an algorithm at a level under options, and answers in terms of the row: a fact, an
option, a hyper-parameter, a rule that it has or lacks. So whoever writes a row reads what to say in it, or to deny.
What the claim pins, and the algorithm does not, begins with ``skipped: ``.

A hyper-parameter is named where its name is the meaning, as one name means one thing in the whole catalogue (``mu`` is
the proximal pull). Stabilisers and what has a unit are known by their part and their dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from fedspec.catalogue import Algorithm, Method
from fedspec.domains import Dimension
from fedspec.facts import READ_OFF, Fact
from fedspec_suite.measure.scheduled_cases import of_rounds
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import listed

SKIPPED = "skipped: "
"""Prefix of the reason if the adapter or its claim, not the algorithm, makes a check impossible."""

NEEDS = "needs "
"""Beginning of the reason of a check that the claim would have to ask for, before the field that does."""

NOT_RETURNED = "the adapter doesn't return "
"""Reason for a skipped check, to be followed by the name of the missing quantity."""


class Answer(NamedTuple):
    """Decision whether a law applies, with the property that decides it."""

    asked: bool
    words: str


@dataclass(frozen=True)
class Word:
    """Condition of a law: its label, and its answer for a setting."""

    label: str
    answer: Callable[[Setting], Answer]

    def __call__(self, setting: Setting) -> Answer:
        """Return the answer for a setting, with its reason."""
        return self.answer(setting)


def where(has: Callable[[Setting], bool], label: str, otherwise: str) -> Word:
    """Condition that a predicate holds, with its label and the reason if it doesn't hold."""
    return Word(label, lambda setting: Answer(True, label) if has(setting) else Answer(False, otherwise))


always = where(lambda setting: True, "", "")
"""Condition that always holds."""


# How words are put together.


def both(*words: Word) -> Word:
    """Condition that all of the given ones hold; the reason is that of the first which doesn't."""

    def answer(setting: Setting) -> Answer:
        said = []
        for word in words:
            said.append(word(setting))
            if not said[-1].asked:
                return said[-1]
        return Answer(True, _listed(a.words for a in said))

    return Word(" and ".join(word.label for word in words), answer)


def either(*words: Word) -> Word:
    """Condition that one of the given ones holds; if one is merely skipped, its reason is the answer."""

    def answer(setting: Setting) -> Answer:
        said = [word(setting) for word in words]
        pinned = (a for a in said if a.words.startswith(SKIPPED))
        none = Answer(False, "; and ".join(a.words for a in said))
        return next((a for a in said if a.asked), None) or next(pinned, None) or none

    return Word(" or ".join(word.label for word in words), answer)


def unless(word: Word, why: str = "") -> Word:
    """Condition that another one does not hold; ``why`` explains the exclusion."""
    label = f"{'not both' if ' and ' in word.label else 'no'} {word.label}"

    def answer(setting: Setting) -> Answer:
        said = word(setting)
        has = f"it has {said.words}" + (f": {why}" if why else "")
        return Answer(False, has) if said.asked else Answer(True, label)

    return Word(label, answer)


def by_level(**words: Word) -> Word:
    """Condition that depends on the level, one for each of the law's levels."""
    labels = dict.fromkeys(word.label for word in words.values())
    return Word(" or ".join(labels), lambda setting: words[setting.level](setting))


def _listed(words: Iterator[str]) -> str:
    return ", ".join(filter(None, words))


# By what the row says, or shows.


def fact(*facts: Fact) -> Word:
    """Condition that the algorithm has all of these facts."""
    label = " and ".join(f"Fact.{f.name}" for f in facts)

    def answer(setting: Setting) -> Answer:
        row = setting.algorithm
        return next((Answer(False, _lacks(row, f)) for f in facts if not row.has(f)), Answer(True, label))

    return Word(label, answer)


def _lacks(row: Algorithm, fact: Fact) -> str:
    if fact in row.denies:
        return f"its row denies Fact.{fact.name} ({fact}): {row.denies[fact]}"
    return f"its row {'shows' if fact in READ_OFF else 'says'} no Fact.{fact.name} ({fact})"


def any_fact(*facts: Fact) -> Word:
    """Condition that the algorithm has one of these facts."""
    return either(*map(fact, facts))


def option(name: str, *values: str) -> Word:
    """Condition that the setting has an option, and at one of the values if values are given."""
    wanted = listed(values, "or") if values else ""
    label = f"{name} = {wanted}" if values else f"option {name}"

    def answer(setting: Setting) -> Answer:
        value = setting.options.get(name)
        if value is None:
            return Answer(False, f"it has no option {name}")
        if values and value not in values:
            return Answer(False, f"its option {name} is {value}, not {wanted}")
        return Answer(True, f"{name} = {value}")

    return Word(label, answer)


def if_option(name: str, *values: str) -> Word:
    """Condition that the setting lacks the option, or has it at one of these values."""
    word = option(name, *values)
    return Word(word.label, lambda setting: word(setting) if name in setting.options else Answer(True, ""))


def number(*names: str) -> Word:
    """Condition that one of these hyper-parameters is used in the setting."""
    label = listed(names, "or")

    def answer(setting: Setting) -> Answer:
        mine = [n for n in names if n in setting.numbers]
        return Answer(True, ", ".join(mine)) if mine else Answer(False, f"it has no hyper-parameter {label}")

    return Word(label, answer)


odd = unless(option("middle", "lower"), "of what is turned round its lower middle is the upper one")
"""Condition that negating all inputs negates the path; the lower middle of an even number breaks it."""


def rule(name: str) -> Word:
    """Condition that the algorithm runs the rule of that name."""
    return where(lambda s: s.algorithm.runs(name), f"the rule {name}", f"the rule {name} is none of its rules")


def takes(*names: str) -> Word:
    """Condition that the cases of the setting carry one of these inputs."""
    these = listed(names, "or")

    def answer(setting: Setting) -> Answer:
        mine = [n for n in names if n in setting.takes]
        return Answer(True, f"{', '.join(mine)} in its cases") if mine else Answer(False, f"its run takes no {these}")

    return Word(f"{these} in its cases", answer)


method = where(lambda s: isinstance(s.algorithm.run, Method), "a Method as its run", "its run is no Method")
"""Condition that the algorithm is a ``Method``: stateless clients send the sum of their steps to a server."""

reads_losses = where(
    lambda s: s.losses, "a server that reads losses", "its run has no server that reads what clients lose (losses)"
)
"""Condition that the messages carry the clients' losses."""

counts_clients = where(
    lambda s: s.counts_all, "a server that counts all clients", "its run has no server that counts all clients"
)
"""Condition that the cases state the number of all clients."""


def only(name: str) -> Word:
    """Condition that the algorithm is the one that a reduction or closed form is about."""
    return where(lambda s: s.algorithm.id == name, f"the id {name}", f"it is about {name}")


def entry(table: Container[str] | Callable[[], Container[str]], called: str) -> Word:
    """Condition that the algorithm has an entry in the law's own table."""

    def has(setting: Setting) -> bool:
        return setting.algorithm.id in (table() if callable(table) else table)

    return where(has, f"a {called}", f"it has no {called}")


# By what the subject lets its user set.


def measured(setting: Setting) -> tuple[str, ...]:
    """Return the hyper-parameters that scale with the unit of the changes."""
    return tuple(n for n in setting.numbers if setting.algorithm.dimension(n) is not Dimension.RATIO)


def settable(
    *names: str,
    of: Callable[[Setting], tuple[str, ...]] = lambda setting: (),
    fits: Callable[[float], bool] = lambda value: False,
) -> Word:
    """Condition that the subject doesn't fix the named hyper-parameters, or fixes them at fitting values."""

    def answer(setting: Setting) -> Answer:
        named = [n for n in (*names, *of(setting)) if n in setting.numbers]
        if setting.v0_is_tau_squared and setting.options.get("epsilon") == "inside" and {"v0", "tau"} <= {*named}:
            # Inside the root tau is a square, as v0 is: in another unit it is v0's root no more.
            return Answer(False, f"{SKIPPED}v0 cannot be set apart from tau")
        these = [n for n in named if n in setting.fixed]
        pinned = [n for n in these if not fits(setting.fixed[n])]
        return Answer(False, f"{SKIPPED}{', '.join(pinned)} cannot be set") if pinned else Answer(True, "")

    return Word("", answer)


def offered(has: Callable[[Setting], bool], otherwise: str) -> Word:
    """Condition on the subject's declaration; if it fails, the law is skipped."""
    return where(has, "", SKIPPED + otherwise)


carries_buffers = where(
    lambda s: bool(s.buffers), "buffers in its claim", f"{NEEDS}buffers={{...}} in the claim (docs/fields.md)"
)
"""Condition that the offer's models carry buffers."""


resumes = where(
    lambda s: s.resumes,
    "resumes in its claim",
    f"{NEEDS}resumes=True in the claim, and save and restore in the session (docs/resume.md)",
)
"""Condition that the offer's sessions can be saved and restored."""

has_faults = where(
    lambda s: bool(s.faults), "faults in its claim", f"{NEEDS}faults={{...}} in the claim (docs/faults.md)"
)
"""Condition that the offer declares its treatment of faulty messages."""

sets_each_rate = where(
    lambda s: s.each_rate, "rates = each in its claim", f'{NEEDS}rates="each" in the claim (docs/fields.md)'
)
"""Condition that the user of the subject sets the rate of every local step."""

sets_rates = where(
    lambda s: bool(of_rounds(s)),
    "rates that its claim lets vary",
    f'{NEEDS}rates="rounds" or "clients" in the claim (docs/fields.md)',
)
"""Condition that the user of the subject sets new rates in every round."""
