"""Variants that a subject may compute instead of its claim: another reading or rule, a known edit, a generic defect."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from types import FunctionType
from typing import Any, TypeAlias

import numpy as np

from fedspec.catalogue import CATALOGUE, Algorithm, find
from fedspec.contract import Case, Session
from fedspec.errors import FedspecError
from fedspec.params import layers, shapes
from fedspec.parts import PartsSession, smaller
from fedspec.rules import printed
from fedspec_suite import mutants
from fedspec_suite.diagnosis.defects import Defect, defects
from fedspec_suite.diagnosis.defects.defect import Running
from fedspec_suite.diagnosis.edits.claimed import places, running
from fedspec_suite.diagnosis.edits.memory import Memory
from fedspec_suite.diagnosis.edits.systematic import edits
from fedspec_suite.diagnosis.edits.unguarded import opened
from fedspec_suite.measure.bench import Shown, reference
from fedspec_suite.measure.closed_form_rounding import with_room
from fedspec_suite.measure.edited_sessions import form_of
from fedspec_suite.measure.function_copies import Edits
from fedspec_suite.measure.scenario import Scenario, with_hyper, with_sent
from fedspec_suite.measure.setting import Setting
from fedspec_suite.mutants import MUTANTS, Mutant

CANNOT = (FedspecError, ArithmeticError, LookupError, NameError, TypeError, ValueError, AttributeError, RuntimeError)
"""Errors of a variant that makes no sense on a sample: some defects lead out of the domain of a rule."""

BROKEN = {
    "weights": "delta",
    "second_moment": "v",
    "maximum_of": "v_hat",
    "option": "v_hat",
    "nova_weights": "w",
    "tau_eff_choice": "tau_eff",
    "bias_correction": "m_hat",
    "solver": "d",
    "stored": "d",
    "control": "c_i",
    "divisor": "v_i",
    "sampled_weights": "w",
    "sampled_steps": "tau_eff",
    "buffer_holds": "v",
    "direction": "D",
    "cover": "nu",
    "idle": "nu",
    "start": "u",
    "normalise": "delta_i",
    "momentum_sum": "v",
    "maximum_start": "v_hat",
    "staleness": "mix_t",
    "age": "mix_t",
}
"""Symbol of the equation that each option changes; other options change the step."""


DIGITS = 6
"""Largest number of digits of a number in words."""

Edition: TypeAlias = Callable[[Case], Session]
"""Function that starts a session of the specification, with or without edits."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Variant:
    """Specification with changes: other options or another algorithm, edits, or defects.

    Attributes:
        words: description of the variant.
        equation: the equation in which it differs; none where the whole rule is another.
        algorithm: the row that runs.
        options: every option of it.
        mutants: edits of rules, no two of one rule.
        defects: generic ones, applied in turn.
        parts: number of its parts.
        kind: ``reading``, ``mutant``, ``generic``, ``edit`` or ``rule``; ``composed`` where it is two of these at once.
        names: its parts as data: the reading or the options turned, a mutant's id, a defect's words, the algorithm and
            reading of another rule.
        rank: order within its kind: 0 for the likeliest mistakes.
        halves: the two variants that it combines; empty if it combines none.
    """

    words: str
    equation: str
    algorithm: str
    options: Mapping[str, str]
    mutants: tuple[Mutant, ...] = ()
    defects: tuple[Defect, ...] = ()
    parts: int = 1
    kind: str = "reading"
    names: tuple[Mapping[str, str], ...] = ()
    rank: int = 0
    halves: tuple[Variant, ...] = ()

    def told(self, s: Scenario) -> Scenario:
        """Return a scenario as the variant receives it, with its options and its defects' changes."""
        options = {**self.options, **{n: v for m in self.mutants for n, v in m.options.items()}}
        s = replace(s, case=_as_told(s.case, self.algorithm, options))
        if s.case.population is not None and CATALOGUE[self.algorithm].served is None:
            s = _of_participants(s)
        for d in self.defects:
            s = d.given(s)
        return s

    def begin(self, s: Scenario, edition: Edition) -> Running:
        """Start a session of the variant on a scenario from :meth:`told`."""
        case: Case = kept(_SMALLER, id(s.case), lambda: (s.case, smaller(s.case))) if s.case.parts else s.case
        session, within = edition(case), replace(s, case=case)
        for d in self.defects:
            session = d.session(session, within)
        return PartsSession(s.case, session) if s.case.parts else session

    @contextmanager
    def _session(self, s: Scenario, edition: Edition) -> Iterator[Running]:
        """A session whose copied functions are released when the ``with`` block ends, not by the garbage collector."""
        session = self.begin(s, edition)
        try:
            yield session
        finally:
            if hasattr(session, "spec"):
                session.spec.give_up()

    def exact(self, s: Scenario, edition: Edition) -> list[Shown]:
        """Return the variant's answers in running numbers."""
        with ExitStack() as stack:
            return reference(self.told(s), lambda lifted: stack.enter_context(self._session(lifted, edition)))

    def quick(self, s: Scenario, edition: Edition) -> Iterator[Any]:
        """Yield the variant's answers in floating point."""
        told = self.told(s)
        with ExitStack() as stack:
            with np.errstate(all="ignore"):
                session = stack.enter_context(self._session(told, edition))
            for e in told.events:
                with np.errstate(all="ignore"):
                    answer = session.step(e)
                yield answer

    def followed(self, s: Scenario, edition: Edition, same: Callable[[int, Any], bool]) -> int:
        """Return the number of events before the first whose answer in floating point differs, by ``same``."""
        told = self.told(s)
        with np.errstate(all="ignore"), self._session(told, edition) as session:
            return next((k for k, e in enumerate(told.events) if not same(k, session.step(e))), len(told.events))

    def answers(self, s: Scenario) -> list[Any]:
        """Return the answers in floating point; empty if the variant cannot run."""
        try:
            return list(self.quick(s, self.editions()()))
        except CANNOT:
            return []

    def bounded(self, s: Scenario) -> list[Shown]:
        """Return the answers in running numbers; empty if the variant cannot run."""
        try:
            return self.exact(s, self.editions()())
        except CANNOT:
            return []

    def editions(self) -> Callable[[], Edition]:
        """Return a factory that gives the edition of each session in turn; some edits keep state between sessions."""
        if not self.mutants and not self.defects:
            return lambda: _plain
        after = {m: mutants.editions(m) for m in self.mutants}
        return lambda: partial(_edited, self, {m: each() for m, each in after.items()})


def _plain(case: Case) -> Session:
    """A session of the specification as it stands."""
    form = with_room(form_of(find(case.algorithm), case.level))
    return _begun(form.kind, form.row, case)


def _edited(v: Variant, after: Mapping[Mutant, FunctionType], case: Case) -> Session:
    """A session under edits of rules, which may lead out of their domains."""
    # An edited function may run before the first event, when no defect has told the record anything yet.
    blocks = kept(_BLOCKS, id(case), lambda: (case, layers(shapes(case.x0))))
    memory = Memory(blocks=[*blocks], hyper={**case.hyper})
    session: Any = session_with(case, mutants.edits(after, memory), bool(v.defects))
    session.memory = memory
    return session  # type: ignore[no-any-return]


def session_with(case: Case, edits: Edits, everything: bool = False) -> Session:
    """Start a session of the specification without argument checks, with some functions replaced."""
    return opened(form_of(CATALOGUE[case.algorithm], case.level)).started(case, edits, everything, _begun)


KEPT = 256
"""Number of cases whose derived data are cached, enough for one diagnosis."""

_TOLD: dict[tuple[int, str, tuple[tuple[str, str], ...]], tuple[Case, Case]] = {}
_PREPARED: dict[int, tuple[Case, Session]] = {}
_SMALLER: dict[int, tuple[Case, Case]] = {}
_BLOCKS: dict[int, tuple[Case, tuple[slice, ...]]] = {}


def _as_told(case: Case, algorithm: str, options: Mapping[str, str]) -> Case:
    """The case of an algorithm under options: the same object where it is asked for again."""
    told: Case = kept(
        _TOLD,
        (id(case), algorithm, tuple(options.items())),
        lambda: (case, replace(case, algorithm=algorithm, options=options)),
    )
    return told


def _begun(kind: type[Any], row: Algorithm, case: Case) -> Session:
    """A session of a row; what does not hang on its functions is made once for a case."""
    session: Any = copy(kept(_PREPARED, id(case), lambda: (case, kind(row, case))))
    session.__class__, session.algorithm = kind, row
    session.restart()
    return session  # type: ignore[no-any-return]


def kept(table: dict[Any, tuple[Any, Any]], key: Any, make: Callable[[], tuple[Any, Any]]) -> Any:
    """Look up the data made of a case or setting, or make them; it is kept too, so that its id stays its own."""
    found = table.get(key)
    if found is None:
        if len(table) >= KEPT:
            table.clear()
        found = table[key] = make()
    return found[1]


def _of_participants(s: Scenario) -> Scenario:
    """The scenario for a server that counts who takes part, and reads no control variates."""
    return with_sent(replace(s, case=replace(s.case, population=None)), lambda m: replace(m, control=None))


def as_claimed(setting: Setting) -> Variant:
    """Return the variant without any change: the claimed specification."""
    return Variant(words="", equation="", algorithm=setting.algorithm.id, options=setting.options, parts=0)


def of_defect(setting: Setting, d: Defect) -> Variant:
    """Return the variant with one generic defect."""
    names, equation = ({"defect": d.words},), equation_of(setting, d.tail)
    one = replace(as_claimed(setting), parts=1, kind="generic", names=names)
    return replace(one, words=d.words, equation=equation, defects=(d,))


def of_own(setting: Setting, yours: str, wanted: str, equation: str, **more: Any) -> Variant:
    """Return the variant with an equation that is written out, beside what is wanted; ``more`` are its other fields."""
    names = ({"yours": yours, "wanted": wanted, "equation": equation},)
    own = replace(as_claimed(setting), words=f"yours: {yours}, wanted: {wanted}", equation=equation, parts=1)
    return replace(own, **{"kind": "written", "names": names, **more})


def single(setting: Setting) -> Iterator[Variant]:
    """Yield variants with one change from the claim; catalogued variants come before generic ones."""
    one = replace(as_claimed(setting), parts=1)
    for words, options in _readings(setting):
        turned = next(n for n in options if options[n] != setting.options[n])
        equation = equation_of(setting, BROKEN.get(turned, "")) or equation_of(setting, "step")
        changed = {n: v for n, v in options.items() if v != setting.options[n]}
        reading = {"reading": words.removeprefix("reading ")} if words.startswith("reading ") else {}
        yield replace(one, words=words, equation=equation, options=options, names=({**reading, **changed},))
    # Of two that do the same, that whose options are claimed.
    written = sorted(_written(setting), key=lambda m: not m.options.items() <= setting.options.items())
    for m in (*written, *_lent(setting)):
        names = ({"mutant": m.id},)
        yield replace(one, words=m.words, equation=mutants.blamed(m), mutants=(m,), kind="mutant", names=names)
    yield from (of_defect(setting, d) for d in defects(setting))
    for words, other, options, _ in relatives(setting, 0):
        said = _reading_in(words) or CATALOGUE[other].readings[0].name
        names = ({"algorithm": other, "reading": said},)
        yield replace(one, words=words, algorithm=other, options=options, kind="rule", names=names)


def _reading_in(words: str) -> str:
    return words.partition(", reading ")[2].partition(",")[0]


def without_rate(setting: Setting) -> Iterator[Variant]:
    """Yield other algorithms whose server has a rate that this one lacks, with the rate set to 1."""
    one, seen = replace(as_claimed(setting), parts=1), list[tuple[Any, str]]()
    for words, other, options, more in relatives(setting, 1):
        # FedProx has FedAvg's server.
        does = getattr(CATALOGUE[other].run, setting.level, None), options.get("weights", "")
        if more == ("eta",) and (does[0] is None or does not in seen):
            seen.append(does)
            yield at_number(one, words, other, options, "eta", 1.0)


def at_number(one: Variant, words: str, other: str, options: Mapping[str, str], n: str, value: float) -> Variant:
    """Return another algorithm as a variant, with a value for the one hyper-parameter that the claim lacks."""
    said, number = _reading_in(words) or CATALOGUE[other].readings[0].name, f"{value:.{DIGITS}g}"
    return replace(
        one,
        words=f"{words}, with {n} = {number}",
        equation="",
        algorithm=other,
        options=options,
        defects=(Defect(words="", given=lambda s: with_hyper(s, **{n: value})),),
        kind="rule",
        names=({"algorithm": other, "reading": said, n: number},),
    )


def systematic(setting: Setting) -> Iterator[Variant]:
    """Yield every systematic edit of the rules, with the equation of the edited statement."""
    one = replace(as_claimed(setting), parts=1)
    own, of = printed_by(setting), places(setting)
    for e in edits(running(setting)):
        words = of.get(e.mutant.rule, "") + e.words
        # A function that another algorithm has too may print that one's equations.
        equation = e.equation if e.equation in own else equation_of(setting, e.symbol or e.equation.rpartition(".")[2])
        parts = 2 if e.words.endswith(" are kept") else 1
        names = ({"edit": words},)
        yield replace(one, words=words, equation=equation, parts=parts, mutants=(e.mutant,), kind="edit", names=names)


def printed_by(setting: Setting) -> set[str]:
    """Return the ids of an algorithm's equations under all options, as ``fedspec show`` lists them."""
    return {equation.id for rule in setting.algorithm.rules for equation in printed(rule)}


def equation_of(setting: Setting, tail: str) -> str:
    """Return the id of the setting's equation for a symbol; empty if there is none."""
    return setting.algorithm.equation(tail, setting.options) if tail else ""


def _written(setting: Setting) -> Iterator[Mutant]:
    """The mutants that were written for the algorithm."""
    for m in MUTANTS.values():
        if setting.algorithm.id in m.algorithms and (setting.varies or not m.rates):
            yield m


def _lent(setting: Setting) -> Iterator[Mutant]:
    """Mutants that were written for another algorithm, of rules that this algorithm runs too."""
    algorithm, options = setting.algorithm, setting.options
    running = set(mutants.functions(algorithm, setting.level)) - algorithm.resting(options)
    for m in MUTANTS.values():
        here = all(options.get(name, value) == value for name, value in m.options.items())
        if algorithm.id not in m.algorithms and not m.rates and here and mutants.original(m) in running:
            yield m


WEIGHED = {"weights": "uniform"}
"""Options under which all participants weigh the same; the usual weights are their examples."""


def relatives(setting: Setting, more: int) -> Iterator[tuple[str, str, dict[str, str], tuple[str, ...]]]:
    """Yield other algorithms in each of their readings that have ``more`` hyper-parameters which this one lacks.

    Args:
        setting: the setting of the claim.
        more: number of hyper-parameters that the claimed algorithm lacks.

    Yields:
        What is said of it, the algorithm, its options, and the hyper-parameters that are lacking.
    """
    mine = set(setting.numbers)
    for other in CATALOGUE.values():
        if setting.level not in other.levels or other.id == setting.algorithm.id:
            continue
        shared = {n: v for n, v in setting.options.items() if n in other.options}
        # Who has no option of weights may weigh in either way.
        either = "weights" in other.options and "weights" not in setting.options
        seen: list[dict[str, str]] = []
        for reading, weighed in product(other.readings_at(setting.level), ({}, WEIGHED)[: 1 + either]):
            options = {**other.defaults(), **shared, **weighed, **reading.fixes}
            lacking = tuple(n for n in other.numbers_under(setting.level, options) if n not in mine)
            if options not in seen and len(lacking) == more:
                seen.append(options)
                said = "" if reading is other.readings[0] else f", reading {reading.name}"
                said += ", weights = uniform" if weighed else ""
                yield f"the rule of {other.id}{said}", other.id, options, lacking


def _readings(setting: Setting) -> Iterator[tuple[str, dict[str, str]]]:
    """Every named reading, then every single option turned."""
    seen = [dict(setting.options)]
    for reading in setting.algorithm.readings:
        options = {**setting.options, **reading.fixes}
        if options not in seen:
            seen.append(options)
            yield f"reading {reading.name}", options
    for name, kind in setting.algorithm.options.items():
        for value in kind:
            options = {**setting.options, name: str(value)}
            if options not in seen:
                seen.append(options)
                yield f"{name} = {value}", options
