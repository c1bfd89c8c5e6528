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
"""The place of a row that does not say one."""


class Family(StrEnum):
    """Difference between an algorithm and federated averaging, in the order of the catalogue."""

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
    """Row of the catalogue.

    Attributes:
        id: stable slug.
        family: its difference from federated averaging; the catalogue is sorted by families.
        place: its place in its family; rows without a place come last, by id.
        title: one line in words.
        source: place of its definition; starts with "external" when none of the five papers defines it.
        basis: origin of its text: the publication, or code that claims to be the algorithm.
        levels: levels at which it can be judged.
        rules: its rules, in the order they run; read off its functions, as are ``shows`` and ``when``.
        readings: its published definitions; the first is canonical.
        shows: intermediates that the specification shows beside ``x``.
        run: its functions.
        under: options of its rules that it fixes to a value other than their canonical reading.
        when: rules that run under one value of an option only, by ``option=value``.
        costs: floats that are sent in a round and kept, under the canonical reading.
        traps: common mistakes of implementers, in our words.
        facts: facts by which laws choose it, except for the facts that are read off the rest of the row.
        denies: reasons why it lacks a fact that would be read off, or breaks a law: by the fact, or the law's id.
        dimensions: dimensions of its hyper-parameters, if not the usual ones of their names.
        usual: default values of its hyper-parameters, if not the usual ones of their names (:mod:`fedspec.usual`).
        symbols: its source's symbols, by our name, where the two differ in more than the alphabet.
        aliases: other names that lookups accept for its id, each with its source.
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
        """True if it has all of these facts."""
        return self.known.issuperset(facts)

    @cached_property
    def known(self) -> frozenset[Fact]:
        """Its facts: those that it says, and those that can be read off the row and that it does not deny."""
        return frozenset({*self.facts, *(fact for fact, shows in READ_OFF.items() if shows(self))}) - {*self.denies}

    def dimension(self, name: str) -> Dimension:
        """Dimension of one of its hyper-parameters, in terms of the changes."""
        return self.dimensions.get(name, DIMENSIONS.get(name, Dimension.RATIO))

    def runs(self, rule: str) -> bool:
        """True if a rule of that name is among its rules."""
        return any(r.__name__ == rule for r in self.rules)

    @property
    def event(self) -> str:
        """Step of a program: a round, an exchange or an arrival."""
        return self.run.event if isinstance(self.run, Program) else ""

    @property
    def takes(self) -> tuple[str, ...]:
        """Names of the extra case fields that a ``Program`` needs; empty for other algorithms."""
        return self.run.takes if isinstance(self.run, Program) else ()

    @property
    def served(self) -> Served | None:
        """The server of a program by itself."""
        return self.run.served if isinstance(self.run, Program) else None

    @property
    def losses(self) -> bool:
        """True if its server reads the clients' losses."""
        return isinstance(self.run, Method) and self.run.losses

    def shows_at(self, level: Level) -> tuple[str, ...]:
        """The intermediates that the specification shows at a level."""
        return self.served.shows if self.served and level == "server" else self.shows

    @property
    def steps(self) -> tuple[Callable[..., typing.Any], ...]:
        """The functions that run."""
        match self.run:
            case LocalSolver(rule=rule):
                return (rule,)
            case Method():
                return self.run.steps
        return (self.run.step,)

    def entered(self, **decided: str) -> Rules:
        """The rules that its functions enter if some options have these values."""
        options = {n: kind(decided[n]) if n in decided else UNKNOWN for n, kind in self.options.items()}
        return tuple(entered(self.steps, options).rules)

    def readings_at(self, level: Level) -> tuple[Reading, ...]:
        """Its readings that can be judged at a level."""
        return tuple(r for r in self.readings if not r.levels or level in r.levels)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        """The equations of its rules under the canonical reading, in order."""
        return self.running(self.resolve(self.readings[0].name, {}))

    def resting(self, options: Mapping[str, str]) -> set[Callable[..., typing.Any]]:
        """The rules that do not run under the options."""
        chosen = {f"{n}={v}" for n, v in options.items()}
        return {r for said, rules in self.when.items() if said not in chosen for r in rules}

    def running(self, options: Mapping[str, str]) -> tuple[Equation, ...]:
        """The equations that run under the options, in order."""
        resting = self.resting(options)
        return tuple(e for r in self.rules if r not in resting for e in equations(r, {**self.under, **options}))

    def equation(self, tail: str, options: Mapping[str, str] | None = None) -> str:
        """The id of its last equation for that symbol, or ``step``, under the options; empty when there is none."""
        running = self.running(options or self.defaults())
        return next((e.id for e in reversed(running) if e.id.endswith(f".{tail}")), "")

    @cached_property
    def parameters(self) -> dict[str, type]:
        """Every hyper-parameter and option with its type, in the order of its record or rule."""
        if isinstance(self.run, LocalSolver):
            return _of_rule(self.run.rule, self.run.begin)
        record: typing.Any = self.run.hyper
        return _of_record(record)

    @property
    def numbers(self) -> tuple[str, ...]:
        """Its hyper-parameters."""
        return tuple(n for n in self.parameters if n in DOMAINS)

    @property
    def options(self) -> dict[str, type[StrEnum]]:
        """Its options (readings of single ambiguities), by name."""
        return {n: t for n, t in self.parameters.items() if n not in DOMAINS}

    def numbers_at(self, level: Level) -> tuple[str, ...]:
        """The hyper-parameters that play a part at a level: a server does not see the client rate."""
        if level != "server":
            return self.numbers
        read, spared = (self.served.reads, self.served.spares) if self.served else ((), ())
        if isinstance(self.run, Method):
            read = self.run.reads
        return tuple(n for n in self.numbers if n in read or not (n in spared or DOMAINS[n].of_clients))

    def unseen(self, level: Level) -> dict[str, int]:
        """Hyper-parameters that its record requires and no function reads at a level, each with a valid number."""
        if isinstance(self.run, LocalSolver):
            return {}
        unread = {*self.numbers} - {*self.numbers_at(level)}
        asked = (f.name for f in fields(self.run.hyper) if f.default is MISSING and f.name in unread)
        return {n: int(DOMAINS[n].domain is POSITIVE) for n in asked}

    def numbers_under(self, level: Level, options: Mapping[str, str]) -> tuple[str, ...]:
        """The hyper-parameters that play a part at a level under these options."""
        return tuple(n for n in self.numbers_at(level) if plays_part(self.plays, n, options))

    @property
    def plays(self) -> Mapping[str, tuple[str, ...]]:
        """Options under which a hyper-parameter plays a part, as ``option=value``."""
        return self.run.plays if isinstance(self.run, LocalSolver) else self.run.hyper.plays

    def idle(self, options: Mapping[str, str]) -> tuple[str, ...]:
        """The options, all of which are named, that are not at their canonical value and play no part."""
        defaults = self.defaults()
        return tuple(n for n, v in options.items() if v != defaults[n] and not plays_part(self.plays, n, options))

    def reading(self, name: str) -> Reading:
        """The reading that has that name, or had it.

        Raises:
            UnknownNameError: the algorithm has no such reading.
        """
        for reading in self.readings:
            if name in (reading.name, *reading.formerly):
                return reading
        known = ", ".join(r.name for r in self.readings)
        raise UnknownNameError(f"reading: {self.id} has no reading {name!r}; known: {known}")

    def defaults(self) -> dict[str, str]:
        """Every option at its canonical value."""
        values = _defaults(self.run.rule if isinstance(self.run, LocalSolver) else self.run.hyper)
        return {n: values[n] for n in self.options}

    def resolve(self, reading: str, options: Mapping[str, str]) -> dict[str, str]:
        """Every option, from the reading, then the declared choices, then the canonical values.

        Raises:
            UnknownNameError: an option or its value is unknown.
            ParameterError: a declared choice contradicts the reading, or plays no part.
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
    """The keywords of a local solver's rule with their types, and those of what its state begins with."""
    hints = typing.get_type_hints(rule)
    told = inspect.signature(rule).parameters.items()
    keywords = {n: hints[n] for n, p in told if p.kind is p.KEYWORD_ONLY and n != "k"}
    first = inspect.signature(begin).parameters if begin else {}
    if "v0" in first:
        keywords["v0"] = typing.Any
    if "cover" in first:
        keywords["cover"] = CoverName
    return keywords
