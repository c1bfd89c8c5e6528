"""Bench: runs scenarios on a subject and on the specification, and compares the two lists of answers."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from fedspec.arith import Array, digits
from fedspec.catalogue import Algorithm, find
from fedspec.contract import Blocks, Case, Offer, Session, Subject, blocks_like
from fedspec.division import stabiliser_of_zero
from fedspec.errors import ContractError, FedspecError, ParameterError
from fedspec.params import flatten, layers, shapes
from fedspec.parts import PartsSession, shared
from fedspec_suite.measure import buffer_cases
from fedspec_suite.measure.carried_error import CarriedError, carried
from fedspec_suite.measure.closed_form_rounding import with_room
from fedspec_suite.measure.declared_limits import broken_limit
from fedspec_suite.measure.edited_sessions import form_of
from fedspec_suite.measure.input_ranges import Extent, extent_of, widen
from fedspec_suite.measure.process import SubjectError, SubjectRaised
from fedspec_suite.measure.running_error import RUNNING, Running, bounds_of
from fedspec_suite.measure.scenario import Scenario, describe, running
from fedspec_suite.measure.setting import SETTINGS, Setting
from fedspec_suite.measure.tagged_numbers import SHORT
from fedspec_suite.measure.verdict import ADAPTER, Beyond, Deviates, Deviation, Undecided, listed

THRESHOLD = 30.0
"""A ratio above this is a deviation, in every precision and on every device."""

HOPELESS = 2.0**-10
"""If threshold times epsilon times scale exceeds this share of the largest expected number, nothing is decided."""

SMALL = 10_000
REMEMBERED = 500
"""Most scenarios of at most ``SMALL`` bytes whose reference results are cached, since laws share scenarios."""

UNPLAYED = (FedspecError, Undecided, Beyond, Deviates)
"""Exceptions where a subject doesn't play a case, or a comparison decides nothing."""

WORDS = {"dtype", "touched"}
"""Keys of an answer whose values are not vectors."""

Shown = dict[str, Array]
"""Answer of a subject: ``x`` and intermediates as flat vectors (a scalar is a vector of length one)."""


@dataclass
class Measured:
    """Record of the comparisons made on a bench.

    Attributes:
        worst: the largest ratio that did not exceed the threshold.
        compared: number of compared vectors.
        extent: ranges that the played scenarios cover.
    """

    worst: float = 0.0
    compared: int = 0
    extent: Extent = field(default_factory=dict)


@dataclass(frozen=True)
class Bench:
    """Test bench for one offer of a subject in one floating-point type; it records its comparisons in ``measured``."""

    subject: Subject
    algorithm: Algorithm
    offer: Offer
    options: Mapping[str, str]
    dtype: str
    measured: Measured = field(default_factory=Measured)
    told: dict[bytes, tuple[list[Shown], list[Shown]]] = field(default_factory=dict, repr=False)
    wanted: dict[bytes, list[Shown]] = field(default_factory=dict, repr=False)
    keeps_all: bool = False
    """True: ``wanted`` keeps the results of any number of cases, of any size."""
    drawn: dict[Hashable, list[tuple[bytes, bool]]] = field(default_factory=dict, repr=False)
    """Cache of the cases of the laws, filled by ``judge.case_search``."""
    broken: list[bytes] = field(default_factory=list, repr=False)
    """Small cases in which a comparison with the rule failed, pickled; the next comparison tries them first."""
    plainly: dict[bool, Deviates] = field(default_factory=dict, repr=False)
    """Deviations that large cases shrank to without any unusual feature, by whether the model deviates in them."""

    def cover(self, s: Scenario) -> None:
        """Widen the ranges that the verdict covers by those of a scenario."""
        widen(self.measured.extent, extent_of(s))

    def play(self, s: Scenario, *, covers: bool = True) -> list[Shown]:
        """Run a scenario on the subject and return one answer for each event.

        Without ``covers`` the caller covers what it compares.

        Raises:
            Beyond: the offer says that the subject cannot take it.
            Deviates: an answer has the wrong shape.
            Undecided: a stabiliser is 0 and so may be what it stands beside, which a subject may refuse.
        """
        if beyond := broken_limit(self.offer, s):
            raise Beyond(f"skipped: {beyond}")
        self.check_defined(s)
        if covers:
            self.cover(s)
        with raising("when the session started"):
            session = self.subject.start(s.case)
        out: list[Shown] = []
        for k, event in enumerate(s.events):
            with raising(f"in {describe(event)} {k + 1}"):
                answer = session.step(event)
            out.append(self.read(answer, s, k, describe(event)))
        stop = getattr(session, "stop", None)
        if stop is not None:
            stop()
        return out

    def check_defined(self, s: Scenario) -> None:
        """Raise if the scenario may divide by 0 because a stabiliser such as epsilon is 0.

        Raises:
            Undecided: a stabiliser is 0 and so may be what it stands beside, which a subject may refuse.
            Beyond: the same, where the offer fixes it at 0: no case of it is another.
        """
        zero = stabiliser_of_zero(s.case.hyper)
        if zero and not (all(np.isfinite(bounds_of(want["x"])).all() for want in self.expect(s)) and _in_floats(s)):
            if zero in self.offer.fixed:
                raise Beyond(f"skipped: {zero} is fixed at 0, so that the rule may divide by 0")
            raise Undecided(f"{zero} is 0, so that the rule may divide by 0")

    def read(self, answer: Mapping[str, Any], s: Scenario, k: int, kind: str) -> Shown:
        """Convert an answer to flat vectors by name.

        Raises:
            SubjectError: ``x`` is missing.
            Deviates: a vector has the wrong shape or is none.
        """
        where = f"{kind} {k + 1}"
        if "x" not in answer:
            raise SubjectError(f"adapter: its answer to {where} has no 'x'; return at least the model")
        shown: Shown = {}
        for name in ("x", *(n for n in self.offer.intermediates if answer.get(n) is not None)):
            try:
                shown[name] = _vector(answer[name], s, name)
            except (ContractError, KeyError, TypeError, ValueError) as error:
                why = str(error) if isinstance(error, ContractError) else f"{name} is not an array of numbers"
                raise Deviates(Deviation(self.equation_of(name), where, note=ADAPTER + why, shown=name)) from error
        if s.case.buffers is not None:
            try:
                shown |= buffer_cases.read(answer, s.case.buffers)
            except ContractError as error:
                raise Deviates(Deviation(self.equation_of("buffers"), where, note=str(error))) from error
        for name in WORDS:
            if answer.get(name) is not None:
                shown[name] = np.array([str(answer[name])])
        return shown

    def finite(self, name: str, got: Array, where: str) -> None:
        """Raise ``Deviates`` if a vector holds NaN or infinities.

        Raises:
            Deviates: an entry is NaN or infinite.
        """
        if not np.isfinite(got).all():
            j = int(np.argmin(np.isfinite(got)))
            raise Deviates(Deviation(self.equation_of(name), where, j, note=f"{name}[{j}] is {float(got[j])}"))

    def expect(self, s: Scenario) -> list[Shown]:
        """Run a scenario on the specification in running arithmetic, and cache the result if the scenario is small."""
        key = pickle.dumps(s)
        if key in self.wanted:
            return self.wanted[key]
        want = reference(s)
        if self.keeps_all or (len(key) <= SMALL and len(self.wanted) < REMEMBERED):
            self.wanted[key] = want
        return want

    def decided(self, s: Scenario) -> list[Shown]:
        """Return the expected answers; if exact numbers tie in a comparison, the rule's own tie-breaking applies."""
        want = self.expect(s)
        if few_bits(s) and not all(np.isfinite(bounds_of(shown["x"])).all() for shown in want):
            return reference(s, numbers=SHORT)
        return want

    def both(self, s: Scenario) -> tuple[list[Shown], list[Shown]]:
        """Return the answers of the specification and of the subject, cached for all laws that use this scenario."""
        key = pickle.dumps(s)
        if key not in self.told:
            self.told[key] = self.decided(s), self.play(s)
        self.cover(s)
        return self.told[key]

    def follows(
        self,
        s: Scenario,
        want: Sequence[Array],
        name: str = "x",
        rounded: bool = False,
        beside: Scenario | None = None,
    ) -> None:
        """Play a scenario; compare ``x``, or another vector, after each event with ``want``, up to rounding.

        Args:
            s: the scenario.
            want: the wanted vectors, one after each event.
            name: name of the compared vectors.
            rounded: True: the wanted vectors are rounded once more, so that standing still may not be exact.
            beside: a scenario near by whose rounding errors are those allowed, where those of this one are not known.

        Raises:
            Deviates: a vector is another.
            Undecided: the rule's rounding errors could hide it.
        """
        scale = self.expect(beside or s)
        for k, got in enumerate(self.play(s)):
            bounds = bounds_of(scale[k][name]) + (np.abs(want[k]) if rounded else 0)
            self.compare(name, got[name], want[k], f"{describe(s.events[k])} {k + 1}", bounds)

    def compare(self, name: str, got: Array, want: Array, where: str, scale: Array | None = None) -> None:
        """Compare one vector with the expected one, in units of its rounding-error scale.

        Args:
            name: ``x`` or the intermediate's name.
            got: floats of the subject.
            want: running numbers (or floats, with a scale).
            where: round or step, for the report.
            scale: error scale of each component; that of ``want`` by default.

        Raises:
            Deviates: a ratio exceeds the threshold.
            Undecided: the scale is too large to decide.
        """
        self.measured.compared += 1
        if got.shape != want.shape:
            raise Deviates(
                Deviation(self.equation_of(name), where, note=f"{name} has shape {got.shape}, want {want.shape}")
            )
        wanted = np.array([float(w) for w in want])
        if scale is None:
            scale = bounds_of(want)
        info = np.finfo(self.dtype)
        allowed = float(info.eps) * scale + float(info.tiny)
        if not decides(wanted, scale, info):
            raise Undecided(f"{name} at {where}: rounding errors could hide a deviation")
        self.finite(name, got, where)
        ratios = np.abs(got.astype(float) - wanted) / allowed
        j = int(np.argmax(ratios))
        ratio = float(ratios[j])
        if not ratio <= THRESHOLD:
            numbers = float(got[j]), float(wanted[j]), ratio
            raise Deviates(Deviation(self.equation_of(name), where, j, *numbers, shown=name))
        self.measured.worst = max(self.measured.worst, ratio)

    def missing(self, names: Sequence[str], where: str, waits: bool = False) -> Deviates:
        """Return the fault of an answer without declared intermediates that the rule shows at that event.

        It is the adapter's, unless the server may have waited where the claimed one steps.
        """
        it = "it" if len(names) == 1 else "them"
        remedy = f"return {it} from `step`, or leave {it} out of `intermediates`"
        note = f"{ADAPTER}the answer has no {listed(names, 'or')}; {remedy}"
        if waits:
            note = f"the claimed server steps, the answer has no {listed(names, 'or')}; if yours steps too, {remedy}"
        return Deviates(Deviation(self.equation_of(names[0]), where, note=note, shown=names[0]))

    @property
    def step_equation(self) -> str:
        """Id of the equation that computes ``x``."""
        return self.equation_of("x")

    def equation_of(self, name: str) -> str:
        """Return the id of the equation that computes ``x`` or an intermediate."""
        tail = "step" if name == "x" else name
        return self.algorithm.equation(tail, self.options) or f"{self.algorithm.id}.{tail}"


@contextmanager
def raising(where: str) -> Iterator[None]:
    """Add to an exception of the subject when it was raised.

    Raises:
        SubjectRaised: the exception, with these words at its end.
    """
    try:
        yield
    except SubjectRaised as error:
        raise SubjectRaised(error.said, error.detail, where) from error


def _in_floats(s: Scenario) -> bool:
    """True if the specification takes a scenario: a step that is divided by 0 and then held back shows in no model."""
    try:
        with np.errstate(all="ignore"):
            session = specified(s)
            for event in s.events:
                session.step(event)
    except ParameterError:
        return False
    return True


def few_bits(s: Scenario) -> bool:
    """True if the model and the hyper-parameters are multiples of 1/64, so that steps may need no rounding."""
    numbers = [*flatten(s.case.x0).tolist(), *map(float, s.case.hyper.values())]
    return all(not x * 64 % 1 for x in numbers)


@lru_cache(maxsize=SETTINGS)
def shared_of(setting: Setting) -> tuple[dict[Hashable, list[tuple[bytes, bool]]], dict[bytes, list[Shown]]]:
    """Return the caches ``drawn`` and ``wanted`` for all benches of a setting: they don't depend on the subject."""
    return {}, {}


def of_models(bench: Bench) -> Bench:
    """Return the bench of the offer without its intermediates."""
    return replace(bench, offer=replace(bench.offer, intermediates=()))


def bench_of(subject: Subject, offer: Offer, setting: Setting) -> Bench:
    """Return the bench of one offer of a subject, in the algorithm, options and floating-point type of a setting."""
    return Bench(subject, setting.algorithm, offer, setting.options, setting.dtype)


def specified(s: Scenario) -> Session:
    """Return a session of the specification whose error bounds also cover the papers' closed forms."""
    form = with_room(form_of(find(s.case.algorithm), s.case.level))
    return PartsSession.begun(s.case, lambda case: form.kind(form.row, case))


def reference(
    s: Scenario,
    begin: Callable[[Scenario], Session] = specified,
    numbers: Mapping[str, type[Running]] = RUNNING,
) -> list[Shown]:
    """Run a scenario on the specification with running numbers, which carry rounding-error bounds.

    At level server a client's change is a difference of two models, each rounded: it starts with that error. So does
    the change of a control variate, a difference, too. A change that a claimed chain of messages takes is a number of
    its own, and exact. Where the bounds of a run have grown until they decide nothing, those of
    :mod:`fedspec_suite.measure.carried_error` take their place.

    Args:
        s: the scenario.
        begin: constructor of the session; by default the specification's own.
        numbers: the arithmetic of each floating-point type.
    """
    out, info = _played(s, begin, numbers), np.finfo(s.case.dtype)
    if numbers is not RUNNING:
        return out

    def decided(k: int, names: Iterable[str]) -> list[str]:
        return [n for n in names if n in out[k] and decides(out[k][n], bounds_of(out[k][n]), info)]

    known = decided(0, out[0])
    lost = (k for k in range(1, len(out)) if len(decided(k, known)) < len(known)) if "x" in known else ()
    first = next(iter(lost), len(out))
    if first == len(out):
        return out
    number, later = numbers[s.case.dtype], _played(s, begin, carried(s.case.dtype))[first:]
    return [*out[:first], *({n: _numbers(v, number) for n, v in shown.items()} for shown in later)]


def decides(wanted: Array, bounds: Array, info: np.finfo) -> bool:
    """True if a number that is off by the threshold times its bound is still near, beside the largest of a vector."""
    if not np.isfinite(bounds).all():
        return False
    allowed = float(info.eps) * float(bounds.max()) + float(info.tiny)
    return THRESHOLD * allowed <= HOPELESS * max(*(abs(float(x)) for x in wanted), float(info.eps))


def _played(s: Scenario, begin: Callable[[Scenario], Session], numbers: Mapping[str, type[Running]]) -> list[Shown]:
    # Bounds that are infinite meet zeros.
    with digits(), np.errstate(invalid="ignore", over="ignore"):
        lifted = running(s, numbers)
        session, number = begin(lifted), numbers[s.case.dtype]
        model, x0 = flatten(lifted.case.x0), lifted.case.x0
        places = dict(zip(x0, layers(shapes(x0)), strict=True))
        out: list[Shown] = []
        for event in lifted.events:
            if hasattr(event, "messages"):
                for m in event.messages:
                    for name, a in () if s.case.messages else m.delta.items():
                        flat, begun = a.reshape(-1), model[places[name]]
                        for j, x in enumerate(flat):
                            flat[j] = x.sent(begun[j])
                    for a in (m.control or {}).values():
                        flat = a.reshape(-1)
                        flat[:] = [number(x.value, abs(float(x.value))) for x in flat]
            answer = session.step(event)
            shown = {n: _numbers(v, number) for n, v in answer.items()}
            model = shown["x"]
            out.append(shown)
            if issubclass(number, CarriedError):
                number.clock.round += 1
        return out


def _numbers(value: Any, number: type[Running]) -> Array:
    out = np.empty(value.size if isinstance(value, np.ndarray) else 1, dtype=object)
    for j, x in enumerate(value.reshape(-1) if isinstance(value, np.ndarray) else [value]):
        kept = type(x) is number or not isinstance(x, Running)
        out[j] = (x if type(x) is number else number(x)) if kept else number(x.value, x.bound)
    return out


def _vector(value: Any, s: Scenario, name: str) -> Array:
    value = _plain(value)
    if name != "x" and not isinstance(value, Mapping | list | tuple) and np.ndim(value) == 0:
        return np.array([float(value)])
    whole = name in {"x", "m", "v", "v_hat", "u", "nu", "delta"} or isinstance(value, Mapping)
    like = s.case.x0
    if s.case.parts:
        like = like if name == "x" else shared(s.case)
        value = _in_parts(value, s.case, like)
    if not whole and not _is_blocks(value, like):
        return np.asarray(value, dtype=float).reshape(-1)
    return np.asarray(flatten(blocks_like(value, like, name)), dtype=float)


def _in_parts(value: Any, case: Case, like: Blocks) -> Any:
    """Add local blocks that a server's model lacks, and drop blocks that have a word from intermediates."""
    if not isinstance(value, Mapping):
        return value
    local = {n: case.x0[n] for n in like if case.level == "server" and case.parts.get(n) == "local"}
    return {**local, **{n: a for n, a in value.items() if n in like or n not in case.x0}}


def _is_blocks(value: Any, x0: Mapping[str, Array]) -> bool:
    """True for a list of arrays in the order of x0: rows of clients never have the shapes of several blocks."""
    if not isinstance(value, list | tuple) or len(value) != len(x0):
        return False
    return all(np.shape(part) == block.shape for part, block in zip(value, x0.values(), strict=True))


def _plain(value: Any) -> Any:
    """Turn the wire's words for numbers that are not finite into floats."""
    if isinstance(value, Mapping):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, str):
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[value]
    return value
