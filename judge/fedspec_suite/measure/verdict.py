"""Verdicts: outcomes of obligations and of offers, and the description of a deviation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any, TypeAlias

from fedspec.catalogue import CATALOGUE
from fedspec.contract import BESIDE, Offer, SubjectInfo
from fedspec_suite.measure.input_ranges import Extent, widen


class Status(StrEnum):
    """Outcome of one obligation."""

    PASS = "pass"
    FAIL = "fail"
    XFAIL = "xfail"
    ERROR = "error"
    SKIP = "skip"
    INCONCLUSIVE = "inconclusive"


class Conformity(StrEnum):
    """Outcome of one offer."""

    CONFORMS = "conforms"
    IN_PART = "conforms in part"
    ASKED_IN_PART = "asked in part"
    EXPECTED = "fails as expected"
    DOES_NOT = "does not conform"
    ERROR = "error"
    INCONCLUSIVE = "inconclusive"


NOT_ASKED = "not asked"
"""Words at the end of a table row if some obligations of the offer were left out."""

ADAPTER = "adapter: "
"""Prefix of a deviation's note if the adapter's answer was malformed, whatever the law."""


@dataclass(frozen=True)
class Deviation:
    """Difference between a number of the subject and the number that a law expects.

    Attributes:
        equation: the equation id it belongs to.
        where: round or local step, counted from 1.
        component: index in the flat model, if it is about one number.
        got: the subject's number.
        want: the number that the law requires.
        ratio: |got - want| / (epsilon * scale); above the threshold it is a deviation.
        note: in words, where numbers do not say it.
        shown: the intermediate that the number is of, where the law does not say it.
    """

    equation: str
    where: str
    component: int | None = None
    got: float | None = None
    want: float | None = None
    ratio: float | None = None
    note: str = ""
    shown: str = ""

    @property
    def event(self) -> int:
        """Number of the round or step, from 1; 0 if ``where`` gives no number."""
        number = self.where.rpartition(" ")[2]
        return int(number) if number.isdigit() else 0

    @property
    def unread(self) -> bool:
        """True if the answer could not be read, so that its numbers are unknown."""
        return self.note.startswith(ADAPTER)

    def __str__(self) -> str:
        return self.told(f"{self.equation} {self.where}".strip())

    def told(self, head: str) -> str:
        """Format the deviation's numbers and note after a head, which names the place."""
        parts = [head]
        if self.got is not None and self.want is not None:
            at = f"[{self.component}]" if self.component is not None else ""
            parts.append(f"got{at} {self.got:.9g}, want {self.want:.9g}")
        if self.ratio is not None:
            # Where nothing is rounded the scale is the smallest float, and the number says nothing.
            parts.append(f"ratio {self.ratio:.3g}" if self.ratio < 1e20 else "no rounding can explain it")
        if self.note:
            parts.append(self.note)
        return "; ".join(parts)


class Deviates(AssertionError):
    """Exception raised by a law that a subject breaks.

    Attributes:
        deviation: the deviation that was found.
        case: the case in which it does, where that is another than the one that the law was given.
    """

    def __init__(self, deviation: Deviation, case: Any = None) -> None:
        super().__init__(str(deviation))
        self.deviation = deviation
        self.case = case


class NotOffered(Exception):
    """Exception raised by a law that needs a quantity which the subject doesn't return."""


class Beyond(Exception):
    """Exception raised for a case that exceeds the limits declared in the offer."""


class Undecided(Exception):
    """Exception raised by a law for a case whose rounding errors could hide any deviation."""


@dataclass(frozen=True)
class Obligation:
    """Outcome of one law on one offer in one floating-point type."""

    law: str
    dtype: str
    status: Status
    equations: tuple[str, ...]
    cases: int = 0
    ratio: float = 0.0
    reason: str = ""
    deviation: Deviation | None = None
    reads: bool = False
    """True if the law compares with the rule itself, so that its deviation names an equation."""
    extent: Extent = field(default_factory=dict, repr=False)
    """Ranges of the inputs of its cases: least and greatest value by quantity."""
    detail: str = ""
    """Subject's own report of a missing answer, such as a traceback."""
    case: Any = field(default=None, repr=False, compare=False)
    """The smallest case found that breaks the law; kept until the offer is judged."""
    call: str = ""
    """Failing call: algorithm and level, round or step, and the hyper-parameters of the case."""
    seconds: float = field(default=0.0, repr=False, compare=False)
    """Duration in seconds; left out of records, so that records don't depend on the time."""

    @property
    def id(self) -> str:
        """Identifier: law and floating-point type."""
        return f"{self.law}/{self.dtype}"

    @property
    def said(self) -> str:
        """Deviation in words, after the failing call."""
        if self.deviation is None or not self.call:
            return str(self.deviation or "")
        return self.deviation.told("; ".join(filter(None, (self.call, self._equation))))

    @property
    def brief(self) -> str:
        """Deviation in words, as printed below the name of the offer."""
        if self.deviation is None or not self.call:
            return str(self.deviation or "")
        return self.deviation.told(f"{self._equation} {self.deviation.where}".strip())

    @property
    def _equation(self) -> str:
        """The equation, unless it is called after another algorithm, which runs the same rule."""
        equation, mine = self.deviation.equation if self.deviation else "", self.call.partition("/")[0]
        return "" if equation.partition(".")[0] in {*CATALOGUE} - {mine} else equation

    def record(self) -> dict[str, Any]:
        """Return the outcome as JSON values, without the case and the duration."""
        body = {"id": self.id, **asdict(replace(self, case=None))}
        del body["case"], body["seconds"]
        return body


@dataclass(frozen=True)
class Unseen:
    """Equation, or word, of a claim that affects no compared quantity.

    Attributes:
        equation: its id; a word itself, such as ``clip-norm 1``.
        text: as it is printed.
        shown_by: the quantities that would show it.
    """

    equation: str
    text: str
    shown_by: tuple[str, ...]

    @property
    def is_word(self) -> bool:
        """True for a word of the claim."""
        return self.equation == self.text

    @property
    def symbol(self) -> str:
        """Symbol that the equation computes, from its id; x for a step; a word itself."""
        if self.is_word:
            return self.equation
        tail = self.equation.rpartition(".")[2]
        return "x" if tail == "step" else tail


@dataclass(frozen=True)
class Course:
    """Error of an implementation after each event of one case, in the number with the largest error.

    Attributes:
        quantity: ``x``, or the intermediate that is looked at.
        call: algorithm and level, and the hyper-parameters of the case.
        where: the rounds or steps.
        off: |got - want| of that number after each of them.
        allowed: rounding tolerance of that number after each of them.
    """

    quantity: str
    call: str
    where: tuple[str, ...]
    off: tuple[float, ...]
    allowed: tuple[float, ...]


def subject_name(info: SubjectInfo, offer: Offer | None) -> str:
    """Return a subject's name, followed by its variant and the offer's variant if there are any."""
    variants = ", ".join(filter(None, (info.variant, offer.variant if offer else "")))
    return f"{info.name} ({variants})" if variants else info.name


def format_claim(of: Declares) -> str:
    """Format the claimed reading and the declared options."""
    return " ".join([of.reading, *(f"{n}={v}" for n, v in of.options.items())])


def format_limits(of: Declares) -> str:
    """Format the hyper-parameters that the user cannot set, and the other limits of the cases."""
    fixed = ["fixed", *(f"{n}={v:g}" for n, v in of.fixed.items())] if of.fixed else []
    nonzero = ["nonzero", *of.nonzero] if of.nonzero else []
    kept = [f"{n}={v}" for n, v in (("blocks", of.blocks), ("participation", of.participation)) if v != "any"]
    rates = [f"rates={of.rates}"] if of.rates != "one" else []
    buffers = ["buffers", *(f"{kind}={reading}" for kind, reading in of.buffers.items())] if of.buffers else []
    schedules = ["schedules", *(f"{n}={said}" for n, said in of.schedules.items())] if of.schedules else []
    chain = ["gradients", ", ".join(of.gradients)] if of.gradients else []
    passed = ["messages", ", ".join(of.messages)] if of.messages else []
    parts = ["parts", *(f"{block}={said}" for block, said in of.parts.items())] if of.parts else []
    steps = ["steps", ", ".join(of.steps)] if of.steps else []
    return " ".join([*fixed, *nonzero, *kept, *rates, *buffers, *schedules, *chain, *passed, *parts, *steps])


def format_declaration(of: Declares) -> str:
    """Format a declaration as the table prints it: a server with a fixed v_0 is judged at that value alone."""
    return " ".join(filter(None, [format_claim(of), format_limits(of)]))


@dataclass(frozen=True)
class Result:
    """Outcome of one offer: one row of the table."""

    subject: str
    version: str
    algorithm: str
    level: str
    reading: str
    options: dict[str, str]
    fixed: dict[str, float]
    verdict: Conformity
    exercised: int
    passed: int
    required: int
    nonzero: tuple[str, ...] = ()
    blocks: str = "any"
    participation: str = "any"
    limits: tuple[str, ...] = ()
    """Phrases for the other declared limits that its cases respected."""
    variant: str = ""
    """Variant of the offer; part of the subject's name."""
    rates: str = "one"
    buffers: Mapping[str, str] = field(default_factory=dict)
    schedules: Mapping[str, str] = field(default_factory=dict)
    gradients: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()
    parts: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[str, ...] = ()
    first_deviation: str = ""
    nearest: str = ""
    notes: str = ""
    obligations: tuple[Obligation, ...] = field(default=(), repr=False)
    command: str = ""
    nearest_data: tuple[dict[str, Any], ...] = ()
    """Data of ``nearest`` for programs: an object for each variant, with kind, names, share decided and ratio."""
    searched: tuple[str, ...] = ()
    """Searches for an explanation, in order, each with the number of candidates tried and in total."""
    capsule: str = ""
    """Path of the file with its failing cases, if one was requested."""
    script: str = ""
    """Path of the script beside the capsule."""
    expected: tuple[int, ...] = ()
    """Numbers of the entries in the file of expected failures that concern the offer."""
    made: Any = field(default=None, repr=False, compare=False)
    """Contents of the capsule and its script."""
    seen: tuple[str, ...] = ()
    """Quantities that were compared with the rule, if all required obligations passed."""
    unseen: tuple[Unseen, ...] = ()
    """Equations of the claim that affect none of the compared quantities."""
    course: Course | None = None
    """Error after each event of a small deviating case, if the offer doesn't conform and there is such a case."""
    properties: dict[str, str] = field(default_factory=dict)
    """Outcome (``fail`` or ``pass``) of each property by id, if no known variant explains the deviation."""
    unasked: int = 0
    """Number of obligations of the offer that were left out, for example by ``--law``."""
    profile: str = ""
    """Profile, which determines the number of cases drawn."""

    @property
    def id(self) -> str:
        """Identifier of the table row."""
        return f"{self.subject}/{self.algorithm}/{self.level}/{self.declared}"

    @property
    def declared(self) -> str:
        """Claimed reading, declared options, fixed hyper-parameters and limits."""
        return format_declaration(self)

    @property
    def excused(self) -> int:
        """Number of obligations that failed as expected."""
        return sum(o.status is Status.XFAIL for o in self.obligations)

    @property
    def said(self) -> str:
        """Verdict in words, with the quantities compared or the number of expected failures."""
        match self.verdict:
            case Conformity.EXPECTED:
                return "; ".join(filter(None, (f"{self.verdict} ({self.excused} of {self.required})", self._left_out)))
            case Conformity.ASKED_IN_PART:
                return "; ".join(filter(None, (self._passed_so_far, self._not_seen, self._left_out)))
            case Conformity.IN_PART if not self.seen:
                return "conforms in nothing that was compared"
            case Conformity.IN_PART:
                return f"conforms in {some(self.seen)}; {self._not_seen}"
        return str(self.verdict)

    @property
    def _passed_so_far(self) -> str:
        """Describe what passed of an offer that was asked in part, and in which cases."""
        laws = len({o.law for o in self.obligations if o.status is not Status.SKIP})
        passed = f"follows {some(self.seen)}" if self.seen else f"passes {counted(laws, 'check')}"
        cases = "quick cases" if self.profile == "quick" else f"cases of profile {self.profile or 'unknown'}"
        return f"{passed} in {cases}"

    @property
    def _not_seen(self) -> str:
        """The quantities whose equations show in nothing that was compared; empty if all equations show."""
        missing = list(dict.fromkeys(u.symbol for u in self.unseen))
        return f"{some(missing)} {'was' if len(missing) == 1 else 'were'} not seen" if missing else ""

    @property
    def _left_out(self) -> str:
        """Describe how many obligations were not asked; empty if all were."""
        if self.unasked:
            return f"{counted(self.unasked, 'check')} {NOT_ASKED}"
        # A line of an earlier fedspec does not count them.
        return f"other checks {NOT_ASKED}" if self.verdict is Conformity.ASKED_IN_PART else ""

    @property
    def extent(self) -> Extent:
        """Ranges of the inputs of the cases of all its obligations: least and greatest value by quantity."""
        whole: Extent = {}
        for o in self.obligations:
            widen(whole, o.extent)
        return whole

    def record(self, obligations: bool = True) -> dict[str, Any]:
        """Return the result as JSON values."""
        body = asdict(replace(self, obligations=(), made=None))
        body.pop("made")
        body.pop("obligations")
        for name in ("buffers", *BESIDE):
            # Who has no use for it never hears of it.
            if not body[name]:
                body.pop(name)
        if obligations:
            body["obligations"] = [o.record() for o in self.obligations]
        return {"id": self.id, "said": self.said, "extent": self.extent, **body}


def head_of(info: SubjectInfo | None, offer: Offer | None, name: str = "") -> dict[str, Any]:
    """Return the first fields of a result: subject and claim; ``name`` is that of a subject which told nothing."""
    return {
        "subject": subject_name(info, offer) if info else name,
        "version": info.version if info else "",
        **{n: getattr(offer, n) if offer else "" for n in ("algorithm", "level", "reading")},
        **{n: dict(getattr(offer, n)) if offer else {} for n in ("options", "fixed")},
    }


Declares: TypeAlias = Offer | Result
"""Object that declares a reading: an offer, or the result of an offer."""


def counted(n: int, noun: str) -> str:
    """Format a number with its noun: 1 check, 2 checks."""
    return f"{n} {noun}{'s' * (n != 1)}"


def listed(words: Iterable[str], link: str = "and") -> str:
    """Join words with commas, and the last one with ``and`` or another word."""
    *others, last = words
    return f"{', '.join(others)} {link} {last}" if others else last


def some(names: Sequence[str], most: int = 3) -> str:
    """Join names with commas; names beyond the first ``most`` are only counted."""
    more = len(names) - most
    return ", ".join(names) if more < 2 else f"{', '.join(names[:most])} and {more} more"


def exit_code(results: list[Result], strict: bool = False) -> int:
    """Return 0 if all offers conform or fail as expected, 1 if one doesn't, 2 for an error, 3 if inconclusive.

    Args:
        results: the offers.
        strict: True: a claim that was seen or asked in part is inconclusive.
    """
    verdicts = {r.verdict for r in results}
    if Conformity.DOES_NOT in verdicts:
        return 1
    if Conformity.ERROR in verdicts:
        return 2
    undecided = {Conformity.INCONCLUSIVE, *([Conformity.IN_PART, Conformity.ASKED_IN_PART] if strict else [])}
    return 3 if undecided & verdicts or not results else 0
