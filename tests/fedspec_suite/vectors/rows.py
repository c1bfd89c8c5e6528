"""What vectors are about: each offer of the specification, and some with two options turned at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import Level, Offer
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec_suite.kills.asking import offers_of
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.mutants import MUTANTS

DTYPE = "float64"


@dataclass(frozen=True, eq=False)
class Row:
    """One offer: what its vectors are about.

    Attributes:
        number: of the offer; those of pairs come after the specification's own.
        offer: what a subject claims.
        setting: the same, all options resolved.
        bench: reads answers.
    """

    number: int
    offer: Offer
    setting: Setting
    bench: Bench

    @property
    def name(self) -> str:
        """Algorithm, level, reading and the options that are turned."""
        turned = " ".join(f"{n}={v}" for n, v in sorted(self.offer.options.items()))
        return f"{self.offer.algorithm}/{self.offer.level}/{self.offer.reading} {turned}".strip()

    @property
    def paired(self) -> bool:
        """Whether two options are turned, or one under a reading that is not the canonical one."""
        return self.number >= len(SUBJECT.info.offers)

    @property
    def turned(self) -> bool:
        """Whether it is not the row of a reading but one with an option turned."""
        usual = {"solver"} if self.offer.level == "server" else set[str]()
        return self.paired or bool(set(self.offer.options) - usual)

    @property
    def shown(self) -> tuple[str, ...]:
        """What an answer may hold."""
        return ("x", *self.offer.intermediates)


def _pairs(a: Algorithm) -> Iterator[Offer]:
    """Two options at once, at the first level: each two of the canonical reading's, and each under each other reading.

    Of every option the first value that the usual row does not have. The specification does not offer these, because
    laws ask about one option at a time; but most implementations turn two, such as FedAdam with a bias correction and
    a mean by examples.
    """
    level: Level = a.levels[0]
    usual = {**a.defaults(), **({"solver": "momentum"} if level == "server" and "solver" in a.options else {})}
    other = {n: next(str(v) for v in kind if str(v) != usual[n]) for n, kind in a.options.items()}
    for k, reading in enumerate(a.readings_at(level)):
        free = [n for n in a.options if n not in reading.fixes]
        for names in combinations(free, 1 if k else 2):
            told = {n: other[n] if n in names else usual[n] for n in free}
            turned = {n: v for n, v in told.items() if v != a.defaults()[n]}
            if _plays_a_part(a, reading.name, turned):
                yield Offer(a.id, level, reading.name, turned, intermediates=a.shows_at(level))


def _plays_a_part(a: Algorithm, reading: str, options: Mapping[str, str]) -> bool:
    """Whether every option that is turned decides something beside the others."""
    try:
        a.resolve(reading, options)
    except ParameterError:
        return False
    return True


@cache
def offers() -> tuple[Offer, ...]:
    """Those of the specification, by their numbers, then the pairs."""
    return (*SUBJECT.info.offers, *(o for a in CATALOGUE.values() for o in _pairs(a)))


@cache
def row(number: int) -> Row:
    """The row of that number."""
    offer = offers()[number]
    setting = setting_of(offer, DTYPE)
    return Row(number, offer, setting, bench_of(SUBJECT, offer, setting))


def all_rows() -> Iterator[Row]:
    """Every row, those of the specification's own offers first."""
    return map(row, range(len(offers())))


def rows_of(algorithm: str) -> list[Row]:
    """The rows of an algorithm."""
    return [row(i) for i, o in enumerate(offers()) if o.algorithm == algorithm]


def can_show(mutant: str, r: Row) -> bool:
    """Whether a mutant is looked for in a row: where what it edits is claimed."""
    if r.paired:
        m = MUTANTS[mutant]
        return r.offer.algorithm in m.algorithms and m.options.items() <= r.setting.options.items()
    return r.number in _asked_on(mutant)


@cache
def _asked_on(mutant: str) -> frozenset[int]:
    return frozenset(offers_of(MUTANTS[mutant]))
