"""A claim of the ledger: a statement, its assumptions, its expected verdict and the function that checks it.

A verdict is never typed in by hand alone: a claim carries the one that is expected, its evidence gives the one that
came out, and the ledger is wrong wherever the two differ.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from functools import cached_property
from types import CodeType, FunctionType
from typing import Any, TypeVar

from fedspec.papers import PAPERS
from fedspec_proofs.words import both

Check = TypeVar("Check", bound=Callable[..., Any])


class Verdict(StrEnum):
    """Strength of the evidence for a printed statement."""

    PROVED = "proved"
    """Holds for everything that the statement quantifies over: by SMT (with induction over steps if the statement
    has steps), as an identity, or by enumerating every case.
    """
    PROVED_AT_SIZES = "proved at sizes"
    """Proved at the sizes (dimension, clients, steps, ...) that the claim names, and at no other sizes."""
    CERTIFIED = "certified"
    """Holds for every function of the class and every dimension, at the sizes and rates that the claim names:
    multipliers of known inequalities prove it, checked in exact fractions.
    """
    TIGHT = "tight"
    """Certified, and almost attained: for each size, at the largest rate, a function of the class is built in exact
    fractions at which the claim's left side is within a thousandth of its right side.
    """
    CHECKED = "checked"
    """No violation found by a search that comes within a factor two of the bound and finds one if any term is
    dropped or the bound is halved; or exact equality at every instance tried, which fails with a part spoiled.
    """
    NOT_CONTRADICTED = "not contradicted"
    """No violation found by a weaker search, which stays far below the bound or misses that a term was dropped."""
    REFUTED = "refuted"
    """False by an exact counterexample that meets every printed assumption, replayed through the rules of fedspec."""
    UNDECIDABLE = "undecidable-here"
    """No run decides the statement; the evidence gives the reason."""
    UNKNOWN = "unknown"
    """The evidence failed: an engine gave up, or a step failed without a counterexample. Never expected."""


class Extent(StrEnum):
    """Part of the printed statement that a claim covers."""

    WHOLE = "whole"
    """All of it; for a correction, all of the corrected statement."""
    PART = "part"
    """The claim covers less: a special case, some sizes, a step towards the statement, or a weaker version."""
    REMARK = "remark"
    """A reading, an instance or a consequence that we state and the paper does not."""


class Severity(StrEnum):
    """Consequence of a false printed line for a reader who relies on the line."""

    FALSE_RESULT = "false result"
    """The paper's conclusion at that line is false, and no change of a constant makes it true."""
    PROOF_BREAKS = "proof breaks"
    """A step of a proof is false; the result that it should prove may still hold."""
    CONSTANT = "constant"
    """True with another constant, factor or range."""
    SLIP = "slip"
    """A misprint: the lines beside it, or the paper elsewhere, print it correctly."""


class Engine(StrEnum):
    """Method by which a verdict is reached."""

    EXACT = "exact"
    """Exact fractions: single instances, or every case of a finite set."""
    SYMBOLIC = "symbolic"
    """sympy: identities of rational functions."""
    SMT = "smt"
    """z3: real algebra, and induction over a rule's step."""
    SEARCH = "search"
    """Search for the instance with the largest ratio left side / right side."""
    WORST_CASE = "worst case"
    """A semidefinite program over the rule's runs on linear forms; its dual solution is the proof."""
    MOMENTS = "moments"
    """Exact means and covariances of a linear recursion with noise."""


def by(engine: Engine) -> Callable[[Check], Check]:
    """Decorator that marks a check with its engine, which is then the engine of the claims that call the check."""

    def mark(check: Check) -> Check:
        check.engine = engine  # type: ignore[attr-defined]
        return check

    return mark


def engines_of(named: Any, seen: set[Any]) -> set[Engine]:
    """Engines of a claim or check; of another function, those of all that its code names in this package.

    Args:
        named: any value; one that is neither a claim nor a function has no engines.
        seen: functions whose code has been read.
    """
    if isinstance(named, Claim):
        return engines_of(named.body, seen)
    # Another value may stand for a solver that isn't installed, and must not be looked into.
    if not isinstance(named, FunctionType):
        return set()
    if isinstance(engine := getattr(named, "engine", None), Engine):
        return {engine}
    if named in seen or (seen and not named.__module__.startswith("fedspec_proofs.")):
        return set()
    seen.add(named)
    names = {name for code in codes(named.__code__) for name in code.co_names}
    return {engine for name in names for engine in engines_of(named.__globals__.get(name), seen)}


def codes(code: CodeType) -> Iterator[CodeType]:
    """Code of a function and of the functions inside it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from codes(inner)


@dataclass(frozen=True)
class Source:
    """Place where a statement is printed.

    Attributes:
        paper: the title of the paper.
        place: number of the statement, and the line of the text conversion as ``L123``; it starts with "ours" when the
            paper does not print the statement.
    """

    paper: str
    place: str

    def __str__(self) -> str:
        return f"{self.paper}, {self.place}"


@dataclass(frozen=True)
class Dropped:
    """Outcome of checking a claim with one of its assumptions dropped.

    Attributes:
        matters: True if the claim fails without the assumption.
        words: the smallest counterexample found; without one, the extent of the search.
    """

    matters: bool
    words: str


@dataclass(frozen=True)
class Second:
    """Confirmation of a proof by a second engine.

    Attributes:
        engine: the second engine.
        instances: number of instances that the second engine checked.
        words: description of these instances.
    """

    engine: Engine
    instances: int
    words: str = ""


CLOSE = 0.5
"""Ratio left/right that a search must reach before it counts as evidence for the bound."""


@dataclass(frozen=True)
class Sharpness:
    """Sensitivity of a search to its bound: the largest ratio reached, and which parts were noticed when spoiled.

    Attributes:
        ratio: the largest ratio left/right that the search reached.
        noticed: for each part of the right side, by name: True if the search found a violation after the part was
            removed (a negative part: doubled), halved or given a deliberate error.
    """

    ratio: float
    noticed: Mapping[str, bool] = field(default_factory=dict)

    @property
    def sharp(self) -> bool:
        """True if the search comes within a factor two of the bound and notices every part of it (at least one)."""
        return self.ratio >= CLOSE and bool(self.noticed) and all(self.noticed.values())

    def __str__(self) -> str:
        words = f"largest left/right {self.ratio:.4g}, {'at least' if self.ratio >= CLOSE else 'below'} {CLOSE:g}"
        for noticed, what in ((True, "noticed when it is missing"), (False, "NOT noticed when it is missing")):
            names = [name for name, seen in self.noticed.items() if seen is noticed]
            words += f"; {what}: {', '.join(names)}" if names else ""
        return words


@dataclass(frozen=True)
class Finding:
    """Result of running a claim's evidence.

    Attributes:
        verdict: verdict of the evidence.
        evidence: sizes, invariants, counts, the tightest ratio or the counterexample, as text.
        dropped: for each assumption, by name, the outcome without it.
        second: confirmation by a second engine; a proof by SMT or symbols without it doesn't count.
        sharpness: sensitivity of the search, or of the equality at instances; without it, or if it isn't sharp, the
            verdict is at most "not contradicted".
    """

    verdict: Verdict
    evidence: str
    dropped: Mapping[str, Dropped] = field(default_factory=dict)
    second: Second | None = None
    sharpness: Sharpness | None = None


NEAR = 1e-9
"""Relative tolerance between the right side and its second computation, for enclosed roots and floats."""


def refutation(
    *, instance: str, conditions: Mapping[str, Any], left: Any, right: Any, relation: str = "<=", again: Any = None
) -> Finding:
    """Refuted if every condition holds and the claimed relation does not; else unknown, with the conditions that fail.

    Args:
        instance: description of the counterexample.
        conditions: for each printed assumption, by its description, True if it holds for the instance, decided by code.
        left: the left side, an exact number. If it is irrational, a rational bound on the side that makes the
            refutation harder; describe this in ``instance``.
        right: the right side, an exact number or a rational bound, as for ``left``.
        relation: ``"<="``, ``">="`` or ``"="``.
        again: the printed right side, typed a second time from the numbers of the instance, without the code that
            computed ``right``; the two must agree.

    Raises:
        TypeError: a side is a floating-point number.
    """
    for side in (left, right):
        if not isinstance(side, numbers.Rational) and not getattr(side, "is_Rational", False):
            raise TypeError(f"refutation: got {side!r} of type {type(side).__name__}; both sides must be exact")
    if again is not None:
        agrees = right == again or abs(float(right) - float(again)) <= NEAR * abs(float(again))
        conditions = {**conditions, f"the right side, typed a second time, is {float(again):.6g}": agrees}
    holds = {"<=": left <= right, ">=": left >= right, "=": left == right}[relation]
    missing = [words for words, met in conditions.items() if not met]
    lines = [instance, *(f"{'met' if met else 'NOT MET'}: {words}" for words, met in conditions.items())]
    lines.append(f"left side {both(left)}, right side {both(right)}; claimed: left {relation} right")
    refuted = not missing and not bool(holds)
    return Finding(Verdict.REFUTED if refuted else Verdict.UNKNOWN, "\n".join(lines))


@dataclass(frozen=True)
class Record:
    """Outcome of one run of a claim.

    Attributes:
        id: id of the claim.
        verdict: the outcome of this run.
        evidence: as in :class:`Finding`.
        dropped: as in :class:`Finding`.
        second: as in :class:`Finding`.
        seconds: seconds of this run.
        sharpness: as in :class:`Finding`.
    """

    id: str
    verdict: Verdict
    evidence: str
    dropped: Mapping[str, Dropped]
    second: Second | None
    seconds: float
    sharpness: Sharpness | None = None

    @property
    def blind(self) -> bool:
        """True if assumptions were dropped and none mattered, which suggests that the check sees nothing."""
        return bool(self.dropped) and not any(d.matters for d in self.dropped.values())

    def record(self) -> dict[str, Any]:
        """The record as JSON values."""
        return asdict(self)


SUMMED = "the links of {}"
"""Opening words of the evidence of a claim that adds up the proof steps of another claim."""


SIZED = (Verdict.PROVED_AT_SIZES, Verdict.CERTIFIED, Verdict.TIGHT)
"""Verdicts that require a claim to name its sizes."""


@dataclass(frozen=True)
class Claim:
    """A claim of the ledger.

    Attributes:
        id: stable slug, ``paper.statement``.
        statement: statement of the claim, in our words.
        source: place where the statement is printed.
        given: engine of the evidence, or a claim that has the same; None if it is that of :data:`SHOWN_BY` or of the
            checks that the body calls.
        verdict: the recorded verdict.
        body: the function that runs the evidence.
        assumptions: descriptions of the assumptions, by a short name.
        sizes: sizes to which a proof is confined, if the statement covers more; else empty.
        repairs: id of the refuted claim that this claim corrects; else empty.
        false_of: id of the true claim that this claim falsifies on purpose, to test that the engines notice; else
            empty.
        chain: ids of the claims from which this claim follows, in the order of the argument; for a refuted claim, the
            links of its printed proof. A verdict is never stronger than the weakest link in the chain.
        extent: the part of the statement that the claim shows; None if it shows nothing.
        severity: consequence of a refuted statement of the paper; else None.
    """

    id: str
    statement: str
    source: Source
    given: Engine | Claim | None
    verdict: Verdict
    body: Callable[[], Finding]
    assumptions: Mapping[str, str] = field(default_factory=dict)
    sizes: str = ""
    repairs: str = ""
    false_of: str = ""
    chain: tuple[str, ...] = ()
    extent: Extent | None = None
    severity: Severity | None = None

    @cached_property
    def engine(self) -> Engine:
        """Engine of the evidence; of a proof with several checks, z3 if z3 decides one of them.

        Raises:
            ValueError: the claim names no engine, and nothing that its body calls has one.
        """
        if engine := self.given or SHOWN_BY.get(self.verdict):
            return engine.engine if isinstance(engine, Claim) else engine
        called = engines_of(self.body, set())
        if not called:
            raise ValueError(f"claim: {self.id} is {self.verdict}, but has no engine; pass engine=, which decides it")
        return next(engine for engine in (Engine.SMT, Engine.SYMBOLIC, *called) if engine in called)

    @property
    def paper(self) -> str:
        """Key of the claim's paper, such as ``fednova``."""
        return self.id.partition(".")[0]

    @property
    def printed(self) -> bool:
        """True if the paper prints the statement; False for a correction, a reading or a consequence of ours."""
        return not self.repairs and not self.source.place.startswith("ours")

    @property
    def said(self) -> str:
        """Verdict as the ledger prints it."""
        return f"repaired, {self.verdict}" if self.repairs else str(self.verdict)

    @property
    def share(self) -> str:
        """Part of the printed statement that the claim covers, or the severity of its refutation."""
        return str(self.severity or self.extent or "")

    @property
    def told(self) -> str:
        """Verdict, followed by the part of the statement or the severity, for printing."""
        return ", ".join(filter(None, (self.said, self.share)))


SHOWN_BY = {
    Verdict.REFUTED: Engine.EXACT,
    Verdict.UNDECIDABLE: Engine.EXACT,
    Verdict.CHECKED: Engine.SEARCH,
    Verdict.NOT_CONTRADICTED: Engine.SEARCH,
    Verdict.CERTIFIED: Engine.WORST_CASE,
    Verdict.TIGHT: Engine.WORST_CASE,
}
"""Engine for each verdict, used if a claim names no engine; for a proof, the body tells it."""


REPAIRED = "-repaired"
"""Suffix of the id of a claim that repairs the claim with the id before the suffix."""


def claim(
    id: str,
    *,
    statement: str,
    source: str,
    engine: Engine | None = None,
    verdict: Verdict | None = None,
    assumptions: Mapping[str, str] | None = None,
    sizes: str = "",
    repairs: str | None = None,
    chain: str = "",
    extent: Extent | None = None,
    severity: Severity | None = None,
) -> Callable[[Callable[[], Finding]], Claim]:
    """Turn a function that returns a finding into a claim of the paper that its id begins with.

    ``source`` is the place in that paper, as in :class:`Source`. A claim with a severity is refuted, one with sizes
    proved at these, any other one proved, if it names no verdict. If nothing is said of its extent, what is shown at
    sizes is part of a printed statement, and what is ours a remark. A chain names links without the paper: ``"lemma-2
    eq-90"``. A claim named ``...-repaired`` repairs the one of the name before that, if it does not say.

    Raises:
        ValueError: the claim is proved at sizes or certified but has no sizes, or has sizes without such a verdict; its
            extent and severity contradict its verdict.
    """
    stands = verdict or (Verdict.REFUTED if severity else Verdict.PROVED_AT_SIZES if sizes else Verdict.PROVED)
    if bool(sizes) != (stands in SIZED):
        raise ValueError(
            f"claim: {id} is {stands} with sizes {sizes!r}; give them if it is {' or '.join(SIZED)}, else none"
        )

    def decorate(body: Callable[[], Finding]) -> Claim:
        paper, named = id.partition(".")[0], id.removesuffix(REPAIRED) * id.endswith(REPAIRED)
        mended = named if repairs is None else repairs
        shown, links = assumptions or {}, tuple(f"{paper}.{link}" for link in chain.split())
        printed = Source(PAPERS[paper].title, source)
        one = Claim(id, statement, printed, engine, stands, body, shown, sizes, mended, "", links, extent, severity)
        return _placed(one)

    return decorate


def _placed(one: Claim) -> Claim:
    """Claim with its extent, if the extent follows from the rest of the claim."""
    if one.verdict is Verdict.REFUTED and one.printed:
        if one.extent or not one.severity:
            words = " or ".join(f"{s.value!r}" for s in Severity)
            raise ValueError(
                f"claim: {one.id} refutes a printed statement; set severity to {words}, and leave extent unset"
            )
        return one
    if one.severity:
        raise ValueError(f"claim: {one.id} has severity {one.severity!r}, but refutes no printed statement; remove it")
    if one.verdict is Verdict.UNDECIDABLE:
        return one
    ours = not one.printed and not one.repairs
    extent = one.extent or (Extent.REMARK if ours else Extent.PART if one.sizes else None)
    if extent is None or (one.sizes and extent is Extent.WHOLE) or (extent is Extent.REMARK and not ours):
        raise ValueError(
            f"claim: {one.id} is {one.said}{' at sizes' * bool(one.sizes)}, with extent {extent}; set it to whole or "
            "part of the printed statement (at sizes: part)"
        )
    return replace(one, extent=extent)


def false(
    id: str, *, of: Claim, statement: str, engine: Engine | None = None
) -> Callable[[Callable[[], Finding]], Claim]:
    """Turn a function that returns a finding into a false variant of a true claim, which has to come back refuted."""

    def decorate(body: Callable[[], Finding]) -> Claim:
        source = Source(of.source.paper, f"ours: a false variant of {of.id}")
        return Claim(id, statement, source, engine or of, Verdict.REFUTED, body, false_of=of.id)

    return decorate
