"""Rows that vectors are made for: each offer of the specification, pairs of options, and offers with fixed numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

from fedspec.catalogue import CATALOGUE, Algorithm
from fedspec.contract import Level, Offer
from fedspec.errors import ParameterError
from fedspec.reference import SUBJECT
from fedspec_suite.judge.mutant_runs import offers_of
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.setting import Setting, setting_of
from fedspec_suite.mutants import MUTANTS

DTYPE = "float64"


@dataclass(frozen=True, eq=False)
class Row:
    """Offer that vectors are made for.

    Attributes:
        number: number of the offer; pairs come after the specification's own offers. An offer with a fixed
            hyper-parameter has the number of the same offer without it.
        offer: the claim of a subject.
        setting: the same, all options resolved; no number is held, so it has the rivals of the offer without.
        bench: reads answers.
        drawn: the setting for which candidates are drawn: ``setting`` with the fixed hyper-parameters.
    """

    number: int
    offer: Offer
    setting: Setting
    bench: Bench
    drawn: Setting

    @property
    def name(self) -> str:
        """Algorithm, level, reading, changed options, fixed hyper-parameters and varying rates, as one string."""
        turned = [f"{n}={v}" for n, v in sorted(self.offer.options.items()) if not plain_clients(self.offer, n)]
        held = [f"{n}={v:g}" for n, v in sorted(self.offer.fixed.items())]
        anew = [f"rates={self.offer.rates}"] if self.offer.rates != "one" else []
        return " ".join([f"{self.offer.algorithm}/{self.offer.level}/{self.offer.reading}", *turned, *held, *anew])

    @property
    def alone(self) -> bool:
        """True if the row has a single vector: a pair, a row with fixed hyper-parameters, or one with varying rates."""
        return self.paired or _holds(self.offer) or bool(self.drawn.varies)

    @property
    def canonical(self) -> bool:
        """True if it is its algorithm's first offer at its level, which also has vectors of edge cases."""
        first = next(o for o in offers() if (o.algorithm, o.level) == (self.offer.algorithm, self.offer.level))
        return self.offer is first

    @property
    def paired(self) -> bool:
        """True if two options are changed, or one option under a reading that is not canonical."""
        return self.number >= len(SUBJECT.info.offers)

    @property
    def turned(self) -> bool:
        """True if an option differs from the plain row of the reading."""
        usual = {"solver"} if self.offer.level == "server" else set[str]()
        return self.paired or bool(set(self.offer.options) - usual)

    @property
    def shown(self) -> tuple[str, ...]:
        """Names that an answer may contain."""
        return ("x", *self.offer.intermediates)


def plain_clients(offer: Offer, option: str) -> bool:
    """True if an option only states that a server's clients take plain SGD steps; row names leave it out.

    The dice of a row are its name, and it was called so when its vectors were made.
    """
    return offer.level == "server" and option == "solver" and offer.options[option] == "sgd"


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
            claimed = {"solver"} if level == "server" else set[str]()
            turned = {n: v for n, v in told.items() if v != a.defaults()[n] or n in claimed}
            if _plays_a_part(a, reading.name, turned):
                yield Offer(a.id, level, reading.name, turned, intermediates=a.shows_at(level))


def _plays_a_part(a: Algorithm, reading: str, options: Mapping[str, str]) -> bool:
    """True if every option that is turned decides something beside the others."""
    try:
        a.resolve(reading, options)
    except ParameterError:
        return False
    return True


_V0, _TIED, _ETA = {"v0": 0.0}, {"v0": "tau-squared"}, {"eta": 1.0}
_UNIFORM, _EXAMPLES, _STEPS = {"weights": "uniform"}, {"weights": "examples"}, {"weights": "steps"}

_HOLDING: tuple[tuple[str, Level, str, Mapping[str, str], Mapping[str, float]], ...] = (
    ("fedadagrad", "server", "reddi-2021", {**_EXAMPLES, **_TIED}, {}),
    ("fedadagrad", "server", "reddi-2021", _EXAMPLES, {"beta1": 0.0}),
    ("fedadam", "server", "reddi-2021", _TIED, {}),
    ("fedadam", "server", "reddi-2021", {**_EXAMPLES, **_TIED}, {}),
    ("fedadam", "server", "kingma-ba", {}, _V0),
    ("fedadam", "server", "kingma-ba", _EXAMPLES, _V0),
    ("fedadam", "server", "kingma-ba", _STEPS, _V0),
    ("fedadam", "server", "kingma-ba-step", {}, _V0),
    ("fedadam", "server", "kingma-ba-step", _EXAMPLES, _V0),
    ("fedyogi", "server", "kingma-ba", _EXAMPLES, _V0),
    ("fedyogi", "server", "kingma-ba-step", _EXAMPLES, _V0),
    ("fedavg", "server", "mcmahan-2017", _UNIFORM, _ETA),
    ("fedavg", "server", "mcmahan-2017", _STEPS, _ETA),
    ("fedprox", "server", "fednova", {}, _ETA),
    ("scaffold", "server", "karimireddy-2020", {}, _ETA),
    ("scaffold", "round", "karimireddy-2020", {}, _ETA),
    ("fedasync", "trace", "xie-2019", {}, {"mu": 0.0}),
    ("fedasync", "trace", "xie-2019-polynomial", {}, {"mu": 0.0}),
)
"""Numbers as packages hold them, where no vector of another row has the same. None breaks what its reading asks:
under reddi-2021, v_0 = 0 is nobody's question."""


def _holding() -> Iterator[Offer]:
    for name, level, reading, options, fixed in _HOLDING:
        yield Offer(name, level, reading, options, fixed, intermediates=CATALOGUE[name].shows_at(level))


def _holds(offer: Offer) -> bool:
    return bool(offer.fixed) or "v0" in offer.options


@cache
def offers() -> tuple[Offer, ...]:
    """Return the specification's offers by number, then the pairs of options, then offers with fixed numbers.

    A reading has the name that it had first, so that no vector changes when it gets another.
    """
    found = (*SUBJECT.info.offers, *(o for a in CATALOGUE.values() for o in _pairs(a)), *_holding())
    return tuple(replace(o, reading=CATALOGUE[o.algorithm].reading(o.reading).stored) for o in found)


@cache
def row(place: int) -> Row:
    """Return the row of the offer at a position, cached."""
    offer = offers()[place]
    drawn = setting_of(offer, DTYPE)
    setting = replace(drawn, fixed={}, v0_is_tau_squared=False)
    return Row(_without(place), offer, setting, bench_of(SUBJECT, offer, setting), drawn)


def _without(place: int) -> int:
    """The place of the same offer with no number held, where there is one; else its own."""
    offer = offers()[place]
    if not _holds(offer):
        return place
    options = {n: v for n, v in offer.options.items() if n != "v0"}
    plain = replace(offer, options=options, fixed={})
    return next((k for k, o in enumerate(offers()) if o == plain), place)


def all_rows() -> Iterator[Row]:
    """Yield every row, those of the specification's own offers first."""
    return map(row, range(len(offers())))


def rows_of(algorithm: str) -> list[Row]:
    """Return the rows of an algorithm."""
    return [row(i) for i, o in enumerate(offers()) if o.algorithm == algorithm]


def can_show(mutant: str, r: Row) -> bool:
    """True if a mutant is relevant to a row, because the row claims the behaviour that the mutant edits."""
    if r.paired:
        m = MUTANTS[mutant]
        return r.offer.algorithm in m.algorithms and m.options.items() <= r.setting.options.items()
    return r.number in _asked_on(mutant)


@cache
def _asked_on(mutant: str) -> frozenset[int]:
    return frozenset(offers_of(MUTANTS[mutant]))
