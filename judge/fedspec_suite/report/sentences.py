"""Sentences on a verdict: the offer's name, its fault, the laws that it breaks and the properties that hold."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import starmap
from math import isfinite
from typing import Any

from fedspec.catalogue import CATALOGUE
from fedspec_suite.diagnosis.cases.features import OTHERWISE
from fedspec_suite.diagnosis.diagnosis import AT_ONCE, CLAIMED, FOLLOWS, INSIDE, NONE, SMALL, SOME, unnamed
from fedspec_suite.judge.refused_zeros import REFUSALS, TAKES_BLOCKS, TAKES_ZERO
from fedspec_suite.judge.runner import ITSELF, REQUIREMENT, UNDECIDED, about
from fedspec_suite.laws import LAWS, law_named, retired, telling
from fedspec_suite.laws.applicability import NOT_RETURNED
from fedspec_suite.measure.bench import THRESHOLD
from fedspec_suite.measure.input_ranges import Extent, covered, widen
from fedspec_suite.measure.verdict import (
    ADAPTER,
    Conformity,
    Deviation,
    Obligation,
    Result,
    Status,
    counted,
    format_limits,
    some,
)
from fedspec_suite.report.partial_conformance import one_line, refused_zeros, refuses, to_be_seen

SINGLE = THRESHOLD * 2.0**29
"""Largest ratio in float64 of a result that is right in float32, whose epsilon is 2^29 times as large."""

SEEN_SINGLE = INSIDE.format("float32")
NEARLY = 2.0**20
"""Largest ratio in float64 of a result that is right to about ten digits, more than float32 can give."""

LATER = re.compile(r"(^|; )(from \w+ \d+ on)\b")
"""Pattern of a cause that states only the event from which the model deviates."""

NO_NUMBER = re.compile(r"\] is (nan|-?inf)$")

RAISED = re.compile(r"(adapter: )?[A-Z]\w*: ")
"""Beginning of the reason of a missing answer that is an exception."""

FIRST_NUMBER = re.compile(r"(; first seen|:) in \w+ \d+:? \S+\[\d+\] is ")
"""Beginning of the first wrong number at the end of a reason."""

SINGLE_ONLY = "agrees to float32 accuracy only"

TOLD = {
    Conformity.DOES_NOT: ("does not", "do not"),
    Conformity.ERROR: ("gave no answer", "gave no answer"),
    Conformity.INCONCLUSIVE: ("is inconclusive", "are inconclusive"),
    Conformity.IN_PART: ("conforms in part", "conform in part"),
    Conformity.ASKED_IN_PART: ("was checked in part", "were checked in part"),
}
"""Verdicts whose offers the summary describes, with phrases for one offer and for several."""

TALLIED = {**TOLD, Conformity.EXPECTED: ("fails as expected", "fail as expected")}
"""Verdicts and expected failures again, with phrases for one offer and for several."""

SEEN = "seen"
"""Law id for an unseen part of a claim, in file formats that need a law."""

ASKED = "asked"
"""Law id for obligations that were left out, in file formats that need a law."""

OPEN_IN = {Conformity.IN_PART: SEEN, Conformity.ASKED_IN_PART: ASKED}
"""Law id by verdict, for verdicts that leave a part of the claim open."""

_PARTS: tuple[Callable[[Result], str], ...] = (
    lambda r: r.level,
    lambda r: r.reading,
    lambda r: " ".join(f"{n}={v}" for n, v in r.options.items()),
    format_limits,
)
"""Parts of a name by which two offers of an algorithm may differ; the first difference is enough."""


def subject(r: Result) -> str:
    """Return the name, version and variant of the subject."""
    name, _, variant = r.subject.partition(" ")
    return one_line(f"{name} {r.version} {variant}")


def names(results: Sequence[Result]) -> list[str]:
    """Name each offer by subject and algorithm, and as much more as distinguishes it."""
    words = [[subject(r), r.algorithm] for r in results]
    rivals = _grouped(range(len(results)), lambda k: tuple(words[k]))
    for part in _PARTS:
        apart: list[list[int]] = []
        for group in rivals:
            found = _grouped(group, lambda k, part=part: part(results[k]))  # type: ignore[misc]
            for k in group if len(found) > 1 else ():
                words[k].append(part(results[k]))
            apart += found
        rivals = apart
    return [" ".join(filter(None, [*said, which])) for said, which in zip(words, ordinals(results), strict=True)]


def _grouped(numbers: Iterable[int], key: Callable[[int], Hashable]) -> list[list[int]]:
    """Numbers with the same key together, each group where its first stands."""
    groups: dict[Hashable, list[int]] = {}
    for k in numbers:
        groups.setdefault(key(k), []).append(k)
    return [*groups.values()]


def labels(results: Sequence[Result]) -> list[str]:
    """Name each offer without a version, so that runs can be compared."""
    return [one_line(f"{r.id.rstrip('/ ')} {which}") for r, which in zip(results, ordinals(results), strict=True)]


def ordinals(results: Sequence[Result]) -> list[str]:
    """Return "(1 of 2)" for offers with the same claim; empty for an offer whose claim is unique."""
    keys = [(r.algorithm, subject(r), r.id) for r in results]
    many, met = Counter(keys), Counter[tuple[str, str, str]]()
    out = []
    for key in keys:
        met[key] += 1
        out.append(f"({met[key]} of {many[key]})" if many[key] > 1 else "")
    return out


def head(r: Result) -> str:
    """Return the reason for an offer's verdict, without the offer's name."""
    match r.verdict:
        case Conformity.DOES_NOT:
            # What raises is mended first: the checks that it ended say nothing.
            return "; ".join(filter(None, (_unanswered(r), _wrong(r), refuses(r))))
        case Conformity.ERROR if refuses(r):
            return "; ".join(filter(None, (refuses(r), _unanswered(r))))
        case Conformity.ERROR:
            said = one_line(r.first_deviation.removeprefix("adapter: "))
            return "; ".join(filter(None, (said, _unanswered(r))))
        case Conformity.INCONCLUSIVE if r.first_deviation:
            return one_line(r.first_deviation)
        case Conformity.INCONCLUSIVE if not r.required:
            return "no check is about what it claims"
        case Conformity.INCONCLUSIVE:
            open_ = [o for o in r.obligations if o.status is Status.INCONCLUSIVE]
            which = ", ".join(dict.fromkeys(o.law for o in open_))
            of = counted(r.required, "check")
            return f"{len(open_)} of {of} could not be decided, rounding errors too large: {which}"
        case Conformity.IN_PART:
            return f"{r.said}: {to_be_seen(r)}"
        case Conformity.ASKED_IN_PART if r.seen and r.unseen:
            return f"{r.said}; {to_be_seen(r)}"
    return r.said


def facts(r: Result) -> list[str]:
    """List what is known of a deviation without a name: the first wrong number, where it deviates, what fails."""
    before, seen, number = head(r).partition("; first seen ")
    cause, *said = before.split("; ")
    # What the number's own note says stays beside it.
    said = [f"first seen {number}", *said] if seen else said
    fails, held = broken(r), holds(r)
    if fails:
        said.append(f"fails: {fails[0]}{_more(fails)}")
    if held:
        said.append(f"holds: {min(held, key=len)}{_more(held)}")
    return [cause, *said]


def _more(items: Sequence[str]) -> str:
    return f"; and {len(items) - 1} more (--details)" if len(items) > 1 else ""


def tally(results: Sequence[Result]) -> str:
    """Return the sentence that counts the offers by verdict."""
    of = {verdict: sum(r.verdict is verdict for r in results) for verdict in Conformity}
    good = of[Conformity.CONFORMS]
    found = [(of[v], _counted(v, results)) for v in TALLIED if of[v]]
    if good or not _left_out(results):
        found.insert(0, (good, "conforms" if 1 in {good, len(results)} else "conform"))
    (first, words), *others = found
    said = (f"{first} of {counted(len(results), 'claim')} {words}", *(f"{n} {said}" for n, said in others))
    return ", ".join(said) + "."


def beyond(results: Sequence[Result]) -> str:
    """Return a sentence on the sizes of a run's cases; empty if the run had no case."""
    whole: Extent = {}
    for r in results:
        widen(whole, r.extent)
    sizes = covered(whole)
    return f"fedspec ran cases of {sizes}; the verdict doesn't cover larger ones." if sizes else ""


def in_a_line(r: Result, name: str) -> str:
    """Format a claim, its verdict, and the sizes of the cases that the verdict covers."""
    if r.verdict in {Conformity.ERROR, Conformity.INCONCLUSIVE}:
        return f"{name}: {r.said}: {head(r)}"
    sizes = covered(r.extent)
    return f"{name}: {r.said}, {passed_of(r)} passed" + (f"; covers {sizes}" if sizes else "")


def passed_of(r: Result) -> str:
    """Format the number of passed checks: 9 of 19 checks."""
    return f"{r.passed} of {counted(r.required, 'check')}"


def skipped(results: Sequence[Result]) -> str:
    """Count the skipped checks, and name what the adapter has to return to run them; empty if none was skipped."""
    reasons = [o.reason for r in results for o in r.obligations if o.status is Status.SKIP]
    if not reasons:
        return ""
    names = list(dict.fromkeys(name for reason in reasons if (name := reason.partition(NOT_RETURNED)[2])))
    n = sum(NOT_RETURNED in reason for reason in reasons)
    these = f"{n} of them" if n < len(reasons) else "them" if n > 1 else "it"
    them = "them" if len(names) > 1 else "it"
    todo = f"; to run {these}, return {some(names, 6)} from `step` and list {them} in `intermediates`"
    return f"{counted(len(reasons), 'check')} skipped{todo if names else ''} (--details lists all)"


def _left_out(results: Sequence[Result]) -> bool:
    """True if obligations of some offer were left out."""
    return any(r.unasked or r.verdict is Conformity.ASKED_IN_PART for r in results)


def _counted(verdict: Conformity, results: Sequence[Result]) -> str:
    """Phrase for the offers of a verdict; for a single one that was seen or asked in part, its own words."""
    mine = [r for r in results if r.verdict is verdict]
    if verdict in OPEN_IN and len(mine) == 1:
        return mine[0].said
    if verdict is Conformity.DOES_NOT and _left_out(results):
        return f"{TALLIED[verdict][len(mine) > 1]} conform"
    if verdict is Conformity.ERROR and all(map(refuses, mine)):
        what = "a zero" if all(map(refused_zeros, mine)) else "what the claim allows"
        return f"{('refuses', 'refuse')[len(mine) > 1]} {what}"
    if verdict is Conformity.ERROR and all(RAISED.match(r.first_deviation) for r in mine):
        return "raised an error"
    return TALLIED[verdict][len(mine) > 1]


def replays(r: Result) -> list[str]:
    """List the commands that replay the offer's failures, if they were kept."""
    if not r.capsule or not r.command:
        return []
    words = shlex.split(r.command)
    # A replay runs no own algorithm but what its own line names.
    own = words[words.index("--plugin") :] if "--plugin" in words else []
    out = [shlex.join(["fedspec", "replay", r.capsule, words[2], *own])]
    return [*out, shlex.join(["python", r.script])] if r.script else out


def _wrong(r: Result) -> str:
    """Describe the variant that it computes instead of its claim, and the deviation that the report shows first."""
    cause, (where, said) = _cause(r), _first(r)
    manners = {o.law: o.deviation.note for o in _failed(r) if o.law in ("dtype", "inputs") and o.deviation}
    touched = manners.get("inputs", "")
    if unnamed(r.nearest) and (manner := touched or manners.get("dtype", "")):
        cause, touched = f"{manner}: mend that first, since it may change every other number; {cause}", ""
    if said.startswith(ADAPTER):
        return f"{said} (seen in {where})" if where else said
    if cause == FOLLOWS:
        return _beside_models(r)
    if said and not cause.startswith((SMALL, SOME)) and not said.startswith("x["):
        # What is seen in general is seen of the model.
        cause = LATER.sub(r"\1x \2", cause)
    return "; ".join(filter(None, (cause, touched, f"first seen in {where}: {said}" if where else said)))


def _beside_models(r: Result) -> str:
    """The finding of an offer whose models are right, and after it that they are."""
    o, (where, said) = first_failure(r), _first(r)
    if o is None or o.deviation is None:
        return f"{said}; {FOLLOWS}"
    note = one_line(o.deviation.note)
    if o.law == "resumes":
        # The numbers are those of the run without interruption.
        at = f"in {where} " if where and "(restored after" not in note else ""
        return f"{at}{note}; without interruption {FOLLOWS}"
    if note and o.deviation.got is not None:
        return f"{note}: {f'in {where} ' if where else ''}{said.replace(f'; {note}', '', 1)}; {FOLLOWS}"
    return f"{f'in {where} ' if where else ''}{said}; {FOLLOWS}"


def _cause(r: Result) -> str:
    # Whether it deviates at once is said with the event in which it does.
    near = re.sub(r" \(ratio [^)]*\)", "", r.nearest).removesuffix(f"; {AT_ONCE}")
    near = re.sub(r"( at \S+); or (.*)\1$", r"\1, or \2", near).replace("; or ", ", or ")
    if not single_only(r):
        return one_line(near)
    seen = near.removeprefix(NONE).removeprefix("; ")
    return f"{SINGLE_ONLY}, {SEEN_SINGLE}" if SEEN_SINGLE in seen or not seen else f"{SINGLE_ONLY}; {one_line(seen)}"


def single_only(r: Result) -> bool:
    """True if all failures are in float64, by no more than float32 rounds, and by more than a few bits.

    Not where it decides in what order clients come or how they are called, nor if large cases of some kind show
    nothing: rounding knows neither. Nor if the diagnosis says to how many decimals it is the claimed rule.
    """
    # A name gives all numbers, to the last bits: rounding needs no second cause.
    named = bool(r.nearest) and not unnamed(r.nearest) and not r.nearest.startswith(ITSELF)
    told = named or r.nearest.startswith(CLAIMED) or any(f"it deviates {where}" in r.nearest for where in OTHERWISE)
    spared = (o.law.startswith("far-") and o.dtype == "float64" and o.status is Status.PASS for o in r.obligations)
    told = told or (SEEN_SINGLE not in r.nearest and any(spared))
    failed = [] if told else _failed(r)
    by = [o.deviation.ratio if o.deviation else None for o in failed if o.dtype == "float64"]
    known = [ratio for ratio in by if ratio is not None]
    return bool(failed) and len(known) == len(failed) and NEARLY < max(known) <= SINGLE


def _failed(r: Result) -> list[Obligation]:
    return [o for o in r.obligations if o.status is Status.FAIL]


def first_failure(r: Result) -> Obligation | None:
    """Return the failed obligation that the report shows first."""
    return next((o for o in _failed(r) if o.said and r.first_deviation.startswith(o.said)), None)


def _first(r: Result) -> tuple[str, str]:
    """Words for the event that first shows a deviation, empty without an event, and for the deviation."""
    o = first_failure(r)
    if o is None or o.deviation is None:
        return "", one_line(r.first_deviation)
    d = o.deviation
    name = about(o)
    at = f"{name}[{d.component}]" if d.component is not None else name
    numbers = (
        f"{at} is {', not '.join(distinct_digits(d.got, d.want))}" if d.got is not None and d.want is not None else ""
    )
    said = "; ".join(filter(None, (numbers, d.note)))
    check = "" if o.reads or o.law == REQUIREMENT or d.unread else f" (check {o.law}: {words(o.law)})"
    return d.where, one_line(said) + check


def distinct_digits(got: float, want: float) -> tuple[str, str]:
    """Format two numbers with enough digits, at least nine, to tell them apart."""
    for digits in range(9, 17):
        if (pair := (f"{got:.{digits}g}", f"{want:.{digits}g}"))[0] != pair[1]:
            return pair
    return repr(got), repr(want)


def _unanswered(r: Result) -> str:
    """Sentence on obligations that got no answer while others did."""
    silent = [o.reason for o in r.obligations if o.status is Status.ERROR and not o.law.startswith(REFUSALS)]
    if not 0 < len(silent) < r.required:
        return ""
    what = "raised an error" if all(map(RAISED.match, silent)) else "got no answer"
    said = f"{len(silent)} of {counted(r.required, 'check')} {what}"
    # Where nothing failed, the first reason is what the sentence begins with.
    why = one_line(silent[0]).removeprefix("adapter: ")[:120] if r.verdict is Conformity.DOES_NOT else ""
    return f"{why} ({said})" if why else said


def finding(o: Obligation, r: Result) -> str:
    """Return the finding of an obligation in words; if large cases repeat it, a reference to the first."""
    for other in _failed(r) if o.law.startswith("far-") else ():
        if other is o:
            break
        if other.law.startswith("far-") and other.dtype == o.dtype and _same(other.deviation, o.deviation):
            return f"as {other.law}"
    return _found(o, o.brief)


def finding_alone(o: Obligation) -> str:
    """Return the finding of an obligation in words that need no context."""
    return _found(o, o.said)


def _found(o: Obligation, said: str) -> str:
    if o.status is Status.XFAIL:
        return "; ".join(filter(None, (f"expected: {o.reason}", said)))
    return said or o.reason


def _same(one: Deviation | None, two: Deviation | None) -> bool:
    return one is not None and two is not None and (one.equation, one.note) == (two.equation, two.note)


def offer_single(r: Result) -> str:
    """Remedy for float32 accuracy: the results in float32, and the claim of only that type."""
    single = [o for o in r.obligations if o.dtype == "float32" and o.status is not Status.SKIP]
    passed = sum(o.status is Status.PASS for o in single)
    found = f"in float32 {passed} of {counted(len(single), 'check')} pass; " if single else ""
    return f'{found}if that is all you need, claim dtypes=("float32",)'


IGNORED = re.compile(r"\b(?P<name>\w+) is ignored \(taken as (?P<value>[\d.]+)\)")
AT_ZERO = re.compile(r"\b\w+ starts at zero,? whatever v_0 is")
"""Patterns of the words for a number that isn't read, and for a second moment that doesn't begin at the case's."""


def offer_fixed(r: Result) -> str:
    """Remedy for an ignored hyper-parameter: the claim that fixes it; empty if none is ignored.

    An offer from before the hyper-parameter was added is such a one.
    """
    if r.verdict is not Conformity.DOES_NOT:
        return ""
    if AT_ZERO.search(r.nearest) and (row := CATALOGUE.get(r.algorithm)):
        starts = [n for n in ("v0", "v0_l", "v_hat0") if n in row.numbers]
        return f'if it always starts there, claim fixed={{"{starts[0]}": 0.0}}' if len(starts) == 1 else ""
    if (ignored := IGNORED.search(r.nearest)) is None:
        return ""
    name, value = ignored["name"], ignored["value"]
    return f'if your user cannot set {name}, or your claim is older than {name}, claim fixed={{"{name}": {value}}}'


def offer_denied(r: Result) -> str:
    """Remedy for an own row: how to deny laws that its rule breaks or that rounding decides; empty otherwise."""
    if r.nearest not in {ITSELF, UNDECIDED}:
        return ""
    broken = r.nearest == ITSELF
    open_ = [o for o in r.obligations if o.status is Status.INCONCLUSIVE and not o.reads]
    said = ", ".join(
        f'"{law}": "why"' for law in dict.fromkeys(o.law for o in [*(_failed(r) if broken else ()), *open_])
    )
    if not broken:
        return f"if its rule takes a sign or a branch that rounding turns there, say so in the row, denies={{{said}}}"
    return (
        f"mend the rule or what a law compares it with; or say in the row why it is not true of it, "
        f"denies={{{said}}}, or deny the fact that `fedspec laws --why {r.algorithm}` names"
    )


def differences(r: Result) -> list[list[tuple[str, str, str]]]:
    """Return, for each variant found, where it differs, the implementation's equation and the wanted one."""
    return differences_in(r.nearest_data)


def differences_in(nearest_data: Iterable[Mapping[str, Any]]) -> list[list[tuple[str, str, str]]]:
    """Return the same from the data of a diagnosis: place, own equation and wanted equation of each difference.

    The own equation is empty if the words of the variant say it and no wanted equation stands beside it.
    """
    found = [
        [
            (d["equation"], "" if _is_said(d, one.get("words", "")) else d["yours"], d["wanted"])
            for d in one.get("differences", ())
        ]
        for one in nearest_data
    ]
    # What no equation says, the sentence about it has said already. Two names may be of the same equations.
    shown = {frozenset(one): one for one in reversed(found) if any(wanted for _, _, wanted in one)}
    return [*reversed(shown.values())]


def _is_said(difference: Mapping[str, str], words: str) -> bool:
    """True if the words of a variant say a difference that no wanted equation stands beside."""
    return not difference["wanted"] and difference["yours"].replace(" ** ", "^") in words


def in_equations(r: Result) -> str:
    """Format the differences in one line, with their source; empty if no equation shows them."""
    said = "; or ".join("; ".join(starmap(_in_a_line, one)) for one in differences(r))
    return "; ".join(filter(None, (said, cited(r))))


def cited(r: Result) -> str:
    """Name the source of the wanted equations; empty if none is shown or the row names no source."""
    row = CATALOGUE.get(r.algorithm)
    # The words of a claim are nobody's.
    if row is None or not any(wanted and "." in at for one in differences(r) for at, _, wanted in one):
        return ""
    # The original publication comes first; lines of our texts of the papers mean nothing here.
    parts = sorted(LINES.sub("", row.source).split("; "), key=lambda part: not part.startswith("external: "))
    said = "; ".join(filter(None, (part.removeprefix("external: ").strip() for part in parts)))
    return f"wanted by {said}" if said else ""


LINES = re.compile(r" \(L\d[\d, L-]*\)")
"""Pattern of a bracket with line numbers of our texts of the papers, such as "(L1136)" in a source."""


def _in_a_line(at: str, yours: str, wanted: str) -> str:
    own = f"yours {yours}, " if yours else ""
    return f"{at}{at and ': '}{own}wanted {wanted}" if wanted else yours


def offer_claim(r: Result) -> str:
    """Remedy by another claim under which the implementation conforms; empty if there is none."""
    return claim_in(r.nearest_data) if r.verdict is Conformity.DOES_NOT else ""


def claim_in(nearest_data: Sequence[Mapping[str, Any]]) -> str:
    """Format the claim, from a diagnosis's data, under which the implementation conforms; empty without one."""
    claims = [claim for one in nearest_data if (claim := one.get("claim"))]
    said = " or ".join(", ".join(f"{n}={_as_written(value)}" for n, value in claim.items()) for claim in claims)
    change = "these" if any(len(one) > 1 for one in differences_in(nearest_data)) else "this"
    return f"either change {change}, or claim {said}" if said else ""


def _as_written(value: Any) -> str:
    """The value of a claim's field in Python; a tuple is a list in stored results, and a mapping is text."""
    if isinstance(value, str):
        return value if value.startswith("{") else f'"{value}"'
    said = ", ".join(f'"{v}"' for v in value)
    return f"({said}{',' * (len(value) == 1)})"


def remedies(r: Result) -> list[str]:
    """List the remedies other than changing the implementation."""
    single = offer_single(r) if single_only(r) else ""
    return [said for said in (offer_claim(r), offer_fixed(r), offer_denied(r), single) if said]


def unknown(r: Result) -> bool:
    """True if it does not conform and no known variant matches, or if only a law's own cases deviate."""
    return r.verdict is Conformity.DOES_NOT and (unnamed(r.nearest) or r.nearest.startswith(ITSELF))


def broken(r: Result) -> list[str]:
    """List the broken laws that don't run the rule, once each, except by NaN, infinite or unreadable values.

    The most telling laws come first.
    """
    out = {}
    for law, mine in _independent(r).items():
        failed = [o.dtype for o in mine if o.status is Status.FAIL and not _no_number(o.deviation)]
        if failed:
            elsewhere = any(o.status is not Status.FAIL for o in mine)
            out[law] = words(law) + (f" ({', '.join(failed)} alone)" if elsewhere else "")
    out |= {law: words(law) for law, status in r.properties.items() if status == Status.FAIL}
    return [out[law] for law in sorted(out, key=telling)]


def _no_number(d: Deviation | None) -> bool:
    """True if all that deviates is that something is no number, or cannot be read, which every law meets."""
    if d is None or d.unread:
        return d is not None
    return NO_NUMBER.search(d.note) is not None or (d.got is not None and not isfinite(d.got))


def holds(r: Result) -> list[str]:
    """List, in words, the properties that the implementation satisfies."""
    asked = {law: mine for law, mine in _independent(r).items() if law not in LAWS and law != REQUIREMENT}
    held = [law for law, mine in asked.items() if all(o.status is Status.PASS for o in mine)]
    return [words(law) for law in (*held, *(law for law, status in r.properties.items() if status == Status.PASS))]


def _independent(r: Result) -> dict[str, list[Obligation]]:
    """The obligations of laws and properties that don't run the rule, by law."""
    out: dict[str, list[Obligation]] = {}
    for o in r.obligations:
        if not o.reads and o.status is not Status.SKIP:
            out.setdefault(o.law, []).append(o)
    return out


def words(law: str) -> str:
    """Return the description of a law; its id if the law no longer exists."""
    if law == REQUIREMENT:
        return "the hyper-parameters that the claim fixes satisfy the conditions of its reading"
    if law == TAKES_BLOCKS:
        return "a model may have several blocks, as the claim allows"
    if law.startswith(TAKES_ZERO):
        return f"{law.removeprefix(TAKES_ZERO + '-')} may be zero, as the claim allows"
    if law == SEEN:
        return "every equation of the claim shows in something that the adapter returns"
    if law == ASKED:
        return "every check of the claim is run"
    known = law_named(law)
    return known.words if known else retired().get(law, {}).get("says", law)
