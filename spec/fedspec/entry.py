"""Row of the catalogue: an algorithm with its rules, hyper-parameters, readings and shown intermediates."""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from functools import cache, cached_property, lru_cache

from fedspec.contract import Level
from fedspec.costs import UNRECORDED, Costs
from fedspec.deciding import UNKNOWN
from fedspec.definition import Basis, Reading, Requirement, above_zero, v0_at_least_tau_squared
from fedspec.derived import ReadOff, entered, shown_names
from fedspec.domains import DIMENSIONS, DOMAINS, POSITIVE, Dimension
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.facts import READ_OFF, Fact
from fedspec.functions import LocalSolver, Method, Program, Served
from fedspec.hyper import plays_part
from fedspec.readings import CoverName, choice
from fedspec.rules import Equation, equations, printed

__all__ = [
    "LAST",
    "Algorithm",
    "Basis",
    "Family",
    "LocalSolver",
    "Method",
    "Program",
    "Reading",
    "Requirement",
    "Served",
    "above_zero",
    "v0_at_least_tau_squared",
]

Rules: typing.TypeAlias = tuple[Callable[..., typing.Any], ...]

LAST = 1000
"""Default ``place`` of a row, behind every row that sets one."""


class Family(StrEnum):
    """Group of algorithms by their difference from federated averaging, in the order of the catalogue."""

    LOCAL_SOLVERS = "local solvers"
    SERVERS = "servers"
    JOINT = "adaptive on both sides"
    LAYERWISE = "layerwise"
    CONTROL = "control variates"
    COMPRESSED = "compressed messages"
    GOSSIP = "gossip"
    ASYNCHRONOUS = "asynchronous"


def _rules(a: Algorithm) -> Rules:
    """Its rules under any options: the canonical ones in their order, each other one after the one before it."""
    found = [*a.entered(**a.resolve(a.readings[0].name, {}))]
    whole = a.entered()
    for before, rule in zip((None, *whole), whole, strict=False):
        if rule not in found:
            found.insert(found.index(before) + 1 if before else 0, rule)
    return tuple(found)


def _shows(a: Algorithm) -> tuple[str, ...]:
    """The names that its last function returns, and the fields of its state, of which a rule prints equations."""
    begin = a.run.begin if isinstance(a.run, LocalSolver) else a.run.init
    symbols = {e.id.rpartition(".")[2] for rule in a.entered() for e in printed(rule)}
    return tuple(n for n in shown_names(begin, a.steps[-1:], a.event or "round") if n in symbols)


def _when(a: Algorithm) -> Mapping[str, Rules]:
    found: dict[str, Rules] = {}
    for name, kind in a.options.items():
        under = {str(v): a.entered(**{name: str(v)}) for v in kind if len(kind) > 1}
        for value, rules in under.items():
            others = {rule for v in under if v != value for rule in under[v]}
            if alone := tuple(rule for rule in rules if rule in a.rules and rule not in others):
                found[f"{name}={value}"] = alone
    return found


@dataclass(frozen=True, kw_only=True)
class Algorithm:
    """Row of the catalogue: one algorithm with its readings, functions, costs and facts.

    Attributes:
        id: stable slug.
        family: the algorithm's difference from federated averaging; the catalogue is sorted by families.
        place: position in the family; rows without a position come last, by id.
        title: one line in words.
        source: place of the definition; starts with "external" if none of the five papers defines the algorithm.
        basis: origin of the specification's text: the publication, or code that claims to be the algorithm.
        levels: levels at which the algorithm can be judged.
        rules: the algorithm's rules, in the order in which they run; derived from its functions, as are ``shows`` and
            ``when``.
        readings: published definitions of the algorithm; the first is canonical.
        shows: intermediates that the specification returns beside ``x``.
        run: the algorithm's functions.
        under: options of the rules that the algorithm fixes to a value other than their canonical reading.
        when: rules that run only under one value of an option, by ``option=value``.
        costs: floats sent in a round and floats kept from round to round, under the canonical reading.
        traps: common mistakes of implementers, in our words.
        facts: facts by which laws choose the algorithm, except for the facts that are derived from the rest of the row.
        denies: reasons why the algorithm lacks a derived fact, or breaks a law; by the fact, or the law's id.
        dimensions: dimensions of hyper-parameters, if they differ from the usual ones of their names.
        usual: default values of hyper-parameters, if they differ from the usual ones of their names
            (:mod:`fedspec.usual`).
        symbols: the paper's symbols, by our name, if they differ in more than the alphabet.
        aliases: other names of the algorithm that lookups accept, each with its source.
    """

    id: str
    family: Family
    place: int = LAST
    title: str
    source: str
    basis: Basis = Basis.UNSAID
    levels: tuple[Level, ...]
    rules: ReadOff[Rules] = ReadOff(_rules)
    readings: tuple[Reading, ...]
    shows: ReadOff[tuple[str, ...]] = ReadOff(_shows)
    run: Method | LocalSolver | Program
    under: Mapping[str, str] = field(default_factory=dict)
    when: ReadOff[Mapping[str, Rules]] = ReadOff(_when)
    costs: Costs = UNRECORDED
    traps: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    denies: Mapping[str, str] = field(default_factory=dict)
    dimensions: Mapping[str, Dimension] = field(default_factory=dict)
    usual: Mapping[str, float] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    def has(self, *facts: Fact) -> bool:
        """True if the algorithm has all of these facts."""
        return self.known.issuperset(facts)

    @cached_property
    def known(self) -> frozenset[Fact]:
        """Facts of the algorithm: declared in the row or derived from it, minus the facts that the row denies."""
        return frozenset({*self.facts, *(fact for fact, shows in READ_OFF.items() if shows(self))}) - {*self.denies}

    def dimension(self, name: str) -> Dimension:
        """Dimension of a hyper-parameter: the power of the scale of the model's changes that it scales by."""
        return self.dimensions.get(name, DIMENSIONS.get(name, Dimension.RATIO))

    def runs(self, rule: str) -> bool:
        """True if the algorithm has a rule called ``rule``."""
        return any(r.__name__ == rule for r in self.rules)

    @property
    def event(self) -> str:
        """Event of one step of a ``Program`` (round, exchange or arrival); empty for other algorithms."""
        return self.run.event if isinstance(self.run, Program) else ""

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the extra case fields that a ``Program`` or ``Method`` needs; empty for a local solver."""
        return () if isinstance(self.run, LocalSolver) else self.run.takes

    @property
    def served(self) -> Served | None:
        """Stand-alone server of a ``Program``; None if there is none."""
        return self.run.served if isinstance(self.run, Program) else None

    @property
    def losses(self) -> bool:
        """True if the algorithm's server reads the clients' losses."""
        return isinstance(self.run, Method) and self.run.losses

    def shows_at(self, level: Level) -> tuple[str, ...]:
        """Intermediates that the specification returns at a level."""
        return self.served.shows if self.served and level == "server" else self.shows

    @property
    def steps(self) -> tuple[Callable[..., typing.Any], ...]:
        """Functions that run in one step of the algorithm."""
        match self.run:
            case LocalSolver(rule=rule):
                return (rule,)
            case Method():
                return self.run.steps
        return (self.run.step,)

    def entered(self, **decided: str) -> Rules:
        """Rules that the algorithm's functions call under the options ``decided``, on all branches of other options."""
        options = {n: kind(decided[n]) if n in decided else UNKNOWN for n, kind in self.options.items()}
        return tuple(entered(self.steps, options).rules)

    def readings_at(self, level: Level) -> tuple[Reading, ...]:
        """Readings of the algorithm that fedspec can judge at a level."""
        return tuple(r for r in self.readings if not r.levels or level in r.levels)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """Equations of the algorithm's rules under the canonical reading, in order."""
        return self.running(self.resolve(self.readings[0].name, {}))

    def resting(self, options: Mapping[str, str]) -> set[Callable[..., typing.Any]]:
        """Rules that don't run under the given options."""
        chosen = {f"{n}={v}" for n, v in options.items()}
        return {r for said, rules in self.when.items() if said not in chosen for r in rules}

    def running(self, options: Mapping[str, str]) -> tuple[Equation, ...]:
        """Equations that run under the given options, in order."""
        resting = self.resting(options)
        return tuple(e for r in self.rules if r not in resting for e in equations(r, {**self.under, **options}))

    def equation(self, tail: str, options: Mapping[str, str] | None = None) -> str:
        """Id of the last equation for a symbol (or ``step``) that runs under the options; empty if there is none."""
        running = self.running(options or self.defaults())
        return next((e.id for e in reversed(running) if e.id.endswith(f".{tail}")), "")

    @cached_property
    def parameters(self) -> dict[str, type]:
        """Type of every hyper-parameter and option, in the order of the record's fields or the rule's keywords."""
        if isinstance(self.run, LocalSolver):
            return _of_rule(self.run.rule, self.run.begin)
        record: typing.Any = self.run.hyper
        return _of_record(record)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Names of the algorithm's hyper-parameters."""
        return tuple(n for n in self.parameters if n in DOMAINS)

    @property
    def options(self) -> dict[str, type[StrEnum]]:
        """Enum of each option (a choice that the sources leave ambiguous), by name."""
        return {n: t for n, t in self.parameters.items() if n not in DOMAINS}

    def numbers_at(self, level: Level) -> tuple[str, ...]:
        """Hyper-parameters that have an effect at a level; a server, for example, doesn't see the client rate."""
        if level != "server":
            return self.numbers
        read, spared = (self.served.reads, self.served.spares) if self.served else ((), ())
        if isinstance(self.run, Method):
            read = self.run.reads
        return tuple(n for n in self.numbers if n in read or not (n in spared or DOMAINS[n].of_clients))

    def unseen(self, level: Level) -> dict[str, int]:
        """Hyper-parameters that the record requires but no function reads at a level, each with a valid placeholder."""
        if isinstance(self.run, LocalSolver):
            return {}
        unread = {*self.numbers} - {*self.numbers_at(level)}
        asked = (f.name for f in fields(self.run.hyper) if f.default is MISSING and f.name in unread)
        return {n: int(DOMAINS[n].domain is POSITIVE) for n in asked}

    def numbers_under(self, level: Level, options: Mapping[str, str]) -> tuple[str, ...]:
        """Hyper-parameters that have an effect at a level under these options."""
        return tuple(n for n in self.numbers_at(level) if plays_part(self.plays, n, options))

    @property
    def plays(self) -> Mapping[str, tuple[str, ...]]:
        """Option values under which a hyper-parameter or option has an effect, as ``option=value``."""
        return self.run.plays if isinstance(self.run, LocalSolver) else self.run.hyper.plays

    def idle(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """Options, of all given ones, that aren't at their canonical value but have no effect beside the others."""
        defaults = self.defaults()
        return tuple(n for n, v in options.items() if v != defaults[n] and not plays_part(self.plays, n, options))

    def reading(self, name: str) -> Reading:
        """Return the reading that is, or formerly was, called ``name``.

        Raises:
            UnknownNameError: the algorithm has no such reading.
        """
        for reading in self.readings:
            if name in (reading.name, *reading.formerly):
                return reading
        known = ", ".join(r.name for r in self.readings)
        raise UnknownNameError(f"reading: {self.id} has no reading {name!r}; known: {known}")

    def defaults(self) -> dict[str, str]:
        """Canonical value of every option."""
        values = _defaults(self.run.rule if isinstance(self.run, LocalSolver) else self.run.hyper)
        return {n: values[n] for n in self.options}

    def resolve(self, reading: str, options: Mapping[str, str]) -> dict[str, str]:
        """Value of every option: fixed by the reading, else declared by the caller, else canonical.

        Raises:
            UnknownNameError: an option or its value is unknown.
            ParameterError: a declared choice contradicts the reading, or has no effect under the other options.
        """
        fixes = self.reading(reading).fixes
        for name, value in options.items():
            if name not in self.options:
                raise UnknownNameError(
                    f"option: {self.id} has no option {name!r}; known: {', '.join(self.options) or 'none'}"
                )
            choice(self.options[name], name, value)
            if fixes.get(name, value) != value:
                raise ParameterError(
                    f"{name}: declared {value!r}, but reading {reading!r} of {self.id} says {fixes[name]!r}; "
                    f"claim another reading or drop the option"
                )
        resolved = {**self.defaults(), **options, **fixes}
        for name in self.idle(resolved):
            raise ParameterError(
                f"{name}: {resolved[name]!r} plays no part in {self.id} with these options; "
                f"it does with {' or '.join(self.plays[name])}"
            )
        return resolved


# A row with another function in it is another row, often of the same record, and a diagnosis makes thousands of them.
@lru_cache(maxsize=256)
def _defaults(by: typing.Any) -> dict[str, str]:
    """Defaults of a record's fields, or of a rule's parameters, as strings; SM3's sets are slices along each axis."""
    told = fields(by) if isinstance(by, type) else inspect.signature(by).parameters.values()
    return {**{p.name: str(p.default) for p in told}, "cover": str(CoverName.AXES)}


@cache
def _of_record(record: type) -> dict[str, type]:
    """The fields of a record with their types."""
    hints = typing.get_type_hints(record)
    return {f.name: hints[f.name] for f in fields(record)}


@lru_cache(maxsize=256)
def _of_rule(rule: Callable[..., typing.Any], begin: Callable[..., typing.Any] | None) -> dict[str, type]:
    """Keywords of a local solver's rule with their types, and the keywords of its initial state."""
    hints = typing.get_type_hints(rule)
    told = inspect.signature(rule).parameters.items()
    keywords = {n: hints[n] for n, p in told if p.kind is p.KEYWORD_ONLY and n != "k"}
    first = inspect.signature(begin).parameters if begin else {}
    if "v0" in first:
        keywords["v0"] = typing.Any
    if "cover" in first:
        keywords["cover"] = CoverName
    return keywords
