"""A claim of the ledger: a statement, its assumptions, its expected verdict and the function that checks it.

A verdict is never typed in by hand alone: a claim carries the one that is expected, its evidence gives the one that
came out, and the ledger is wrong wherever the two differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from fedspec.papers import PAPERS

FEDADA2 = PAPERS["fedada2"].title
FED_LAMB = PAPERS["fed-lamb"].title
AFGA = PAPERS["afga"].title
CLIENT_CENTRIC = PAPERS["client-centric"].title
FEDNOVA = PAPERS["fednova"].title


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
        engine: engine of the evidence.
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
    engine: Engine
    verdict: Verdict
    body: Callable[[], Finding]
    assumptions: Mapping[str, str] = field(default_factory=dict)
    sizes: str = ""
    repairs: str = ""
    false_of: str = ""
    chain: tuple[str, ...] = ()
    extent: Extent | None = None
    severity: Severity | None = None

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
    Verdict.CHECKED: Engine.SEARCH,
    Verdict.NOT_CONTRADICTED: Engine.SEARCH,
    Verdict.CERTIFIED: Engine.WORST_CASE,
    Verdict.TIGHT: Engine.WORST_CASE,
}
"""Default engine for each verdict, used if a claim names no engine."""


REPAIRED = "-repaired"
"""Suffix of the id of a claim that repairs the claim with the id before the suffix."""


def claim(
    id: str,
    *,
    statement: str,
    source: Source,
    engine: Engine | None = None,
    verdict: Verdict | None = None,
    assumptions: Mapping[str, str] | None = None,
    sizes: str = "",
    repairs: str | None = None,
    chain: str = "",
    extent: Extent | None = None,
    severity: Severity | None = None,
) -> Callable[[Callable[[], Finding]], Claim]:
    """Turn a function that returns a finding into a claim.

    A claim with a severity is refuted, one with sizes proved at these, any other one proved, if it names no verdict.
    The engine is that of :data:`SHOWN_BY`, or the one on which the function runs, if it names none. If nothing is said
    of its extent, what is shown at sizes is part of a printed statement, and what is ours a remark. A chain names links
    without the paper: ``"lemma-2 eq-90"``. A claim named ``...-repaired`` repairs the one of the name before that,
    if it does not say.

    Raises:
        ValueError: the claim is proved at sizes or certified but has no sizes, or has sizes without such a verdict; its
            extent and severity contradict its verdict; or it is proved and names no engine.
    """
    stands = verdict or (Verdict.REFUTED if severity else Verdict.PROVED_AT_SIZES if sizes else Verdict.PROVED)
    if bool(sizes) != (stands in SIZED):
        raise ValueError(
            f"claim: {id} is {stands} with sizes {sizes!r}; give them if it is {' or '.join(SIZED)}, else none"
        )

    def decorate(body: Callable[[], Finding]) -> Claim:
        by = engine or SHOWN_BY.get(stands) or getattr(body, "engine", None)
        if by is None:
            raise ValueError(f"claim: {id} is {stands}, but has no engine; pass engine=, the one that decides it")
        named = id.removesuffix(REPAIRED) * id.endswith(REPAIRED)
        mended = named if repairs is None else repairs
        shown, links = assumptions or {}, tuple(f"{id.partition('.')[0]}.{link}" for link in chain.split())
        one = Claim(id, statement, source, by, stands, body, shown, sizes, mended, "", links, extent, severity)
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
        return Claim(id, statement, source, engine or of.engine, Verdict.REFUTED, body, false_of=of.id)

    return decorate
