"""HTML page of a user's results, in one file without network access or scripts.

First how many conform, then what does not, each with the number that is wrong; all else is folded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.resources import files

from fedspec.catalogue import find
from fedspec.errors import FedspecError
from fedspec_suite.judge.expected_failures import Complaint
from fedspec_suite.judge.runner import about
from fedspec_suite.measure.input_ranges import in_words
from fedspec_suite.measure.verdict import Conformity, Deviation, Obligation, Result, Status, counted
from fedspec_suite.report import badges, sentences
from fedspec_suite.report.changes import KINDS, Change
from fedspec_suite.report.deviation_plot import picture, words
from fedspec_suite.report.html import Html, Part, tag
from fedspec_suite.report.results_file import ResultsFile, Run, differing

TOLD = (Conformity.DOES_NOT, Conformity.ERROR, Conformity.INCONCLUSIVE)
"""Verdicts that the page shows first; offers with other verdicts need no repair."""

SIGNS = {
    Status.PASS: ("✓", "conforms"),
    Status.FAIL: ("✗", "deviates"),
    Status.XFAIL: ("◐", "expected"),
    Status.ERROR: ("!", "error"),
    Status.INCONCLUSIVE: ("?", "open"),
}

NOTHING = Html()

Named = Sequence[tuple[Result, str]]


def page(stored: Sequence[ResultsFile], since: Html = NOTHING, complaints: Sequence[Complaint] = ()) -> str:
    """Return the text of the HTML file.

    Args:
        stored: files of results, whose offers are told one after another.
        since: words about an earlier run.
        complaints: faults of the file of expected failures.
    """
    results = [r for one in stored for r in one.results]
    named = [*zip(results, sentences.names(results), strict=True)]
    bad = [pair for verdict in TOLD for pair in named if pair[0].verdict is verdict]
    verdict = sentences.tally(results)
    body = tag(
        "main",
        tag("header", tag("h1", verdict), tag("p", _ran(stored), class_="quiet"), _beyond(results)),
        _complaints(complaints),
        since,
        [_told(r, name, k) for k, (r, name) in enumerate(bad)],
        _rest(stored, named),
    )
    head = tag(
        "head",
        Html('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        # Words of a subject are escaped; should one get through, nothing is loaded or run.
        Html("""<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">"""),
        tag("title", f"fedspec: {verdict.rstrip('.')}"),
        tag("style", Html(files("fedspec_suite.report").joinpath("results_page.css").read_text(encoding="utf-8"))),
    )
    return f"<!doctype html>\n{tag('html', head, tag('body', body), lang='en')}\n"


def since(old: ResultsFile, found: Sequence[Change], said: str, others: Sequence[str]) -> Html:
    """Return the section that compares with an earlier run: counts by kind, the offers, and other differences."""
    parts: list[Part] = [tag("h2", f"Since {old.name}"), tag("p", said, class_="lead")]
    for kind, (one, many) in KINDS.items():
        if mine := [c for c in found if c.kind == kind]:
            listed = [tag("li", tag("b", c.name), f": {c.said}") for c in mine]
            parts += [tag("h3", one if len(mine) == 1 else many), tag("ul", listed)]
    if others:
        parts += [tag("h3", "also other than before"), tag("ul", [tag("li", other) for other in others])]
    return tag("section", parts, class_="changes")


def _ran(stored: Sequence[ResultsFile]) -> Part:
    """Line on what was judged, when and how."""
    runs = differing([run for one in stored for run in one.runs])
    said = runs[0].said if len(runs) == 1 else f"{len(runs)} runs, told at the end"
    subjects = ", ".join(dict.fromkeys(sentences.subject(r) for one in stored for r in one.results))
    return f"{subjects}: {said}"


def _beyond(results: Sequence[Result]) -> Html:
    """Paragraph on the largest sizes of the cases."""
    said = sentences.beyond(results)
    return tag("p", said, class_="quiet") if said else NOTHING


def _complaints(complaints: Sequence[Complaint]) -> Html:
    if not complaints:
        return NOTHING
    listed = tag("ul", [tag("li", str(c)) for c in complaints])
    return tag("section", tag("h2", "What is wrong with the expected failures"), listed, class_="changes")


def _pill(r: Result) -> Html:
    kind = badges.of(r.verdict)
    return tag("span", tag("span", kind.sign, aria_hidden="true"), f" {r.said}", class_=f"v v-{kind.name}")


def _told(r: Result, name: str, number: int) -> Html:
    """An offer that does not conform: its sentence, the first number that is wrong, its picture and its command."""
    facts = tag("dl", [tag("div", tag("dt", name), tag("dd", said)) for name, said in _facts(r)])
    shown: Part = facts
    if r.course is not None:
        shown = tag("div", facts, tag("figure", picture(r.course), tag("figcaption", _caption(r))), class_="both")
    commands = [line for line in (r.command, *sentences.replays(r)) if line]
    return tag(
        "article",
        tag("header", tag("h2", name, id=f"claim-{number}"), _pill(r)),
        tag("p", sentences.head(r), class_="lead"),
        shown,
        _laws(r),
        tag("pre", [_command(line) for line in commands]) if commands else "",
        _obligations(r, name, "every check"),
        aria_labelledby=f"claim-{number}",
    )


def _command(line: str) -> Part:
    return (tag("span", "$ ", class_="prompt"), line, "\n")


def _facts(r: Result) -> Iterator[tuple[str, Part]]:
    """Facts about an offer, by name."""
    if r.algorithm:
        yield "claimed", (f"{r.algorithm} at level {r.level}, ", tag("code", r.declared))
    for one in sentences.differences(r):
        for at, yours, wanted in one:
            both = (("yours", yours), ("wanted", wanted)) if wanted else (("also", yours),)
            yield at or "beside", [tag("p", f"{label}: ", tag("code", said)) for label, said in both if said]
    yield "passed", sentences.passed_of(r)
    o = sentences.first_failure(r)
    if o is not None and o.deviation is not None:
        yield from _deviation(r, o, o.deviation)
    if r.notes:
        yield "note", r.notes
    yield from (("remedy", said) for said in sentences.remedies(r))


def _deviation(r: Result, o: Obligation, d: Deviation) -> Iterator[tuple[str, Part]]:
    if o.call:
        yield "call", tag("code", o.call)
    if d.equation:
        yield "equation", (tag("code", d.equation), f": {said}" if (said := _equation(r, d.equation)) else "")
    if d.where:
        yield d.where.partition(" ")[0], d.where.rpartition(" ")[2]
    at = (about(o) + (f"[{d.component}]" if d.component is not None else "")) if d.got is not None else ""
    if d.got is not None and d.want is not None:
        got, want = sentences.distinct_digits(d.got, d.want)
        yield "got", tag("code", f"{at} = {got}")
        yield "want", tag("code", f"{at} = {want}")
    if d.note:
        yield "found", d.note
    if not o.reads:
        yield "law", f"{o.law}: {sentences.words(o.law)}"


def _equation(r: Result, id: str) -> str:
    """An equation as it is printed, where this fedspec knows it."""
    try:
        row = find(r.algorithm)
        running = row.running(row.resolve(r.reading, {n: v for n, v in r.options.items() if n in row.options}))
    except FedspecError:
        # A line may come from another version, or be about an own algorithm that is not loaded.
        return ""
    return next((e.text for e in running if e.id == id), "")


def _caption(r: Result) -> str:
    c = r.course
    assert c is not None
    kind = c.where[0].rpartition(" ")[0]
    return f"{words(c)}. After each {kind} of a small case ({c.call}): the number that is farthest off."


def _laws(r: Result) -> Part:
    """Broken laws and those that hold, if no known variant matches."""
    broken, holds = (sentences.broken(r), sentences.holds(r)) if sentences.unknown(r) else ([], [])
    parts: list[Part] = []
    if broken:
        parts += [tag("h3", "It breaks"), tag("ul", [tag("li", law) for law in broken])]
    if holds:
        listed = tag("ul", [tag("li", law) for law in holds])
        counted = f"it holds {len(holds)} {'property' if len(holds) == 1 else 'properties'}"
        parts.append(tag("details", tag("summary", counted), listed))
    return parts


def _obligations(r: Result, name: str, title: str, beside: str = "") -> Html:
    """A line for each law, a column for each type; what was not offered is below."""
    asked = [o for o in r.obligations if o.status is not Status.SKIP]
    left = [o for o in r.obligations if o.status is Status.SKIP]
    types = list(dict.fromkeys(o.dtype for o in asked))
    rows = []
    by: dict[str, list[Obligation]] = {}
    for o in asked:
        by.setdefault(o.law, []).append(o)
    for law, mine in by.items():
        failed = any(o.status is Status.FAIL for o in mine)
        said = [tag("div", f"{o.dtype}: {found}") for o in mine if (found := sentences.finding(o, r))]
        told = tag("th", tag("code", law), said, scope="row")
        cells = [[_cell(o) for o in mine if o.dtype == dtype] for dtype in types]
        rows.append(
            tag("tr", told, [tag("td", cell, class_="n") for cell in cells], class_="fail" if failed else False)
        )
    head = tag("tr", [tag("th", column, scope="col") for column in ("law", *types)])
    table = tag("table", tag("thead", head), tag("tbody", rows))
    reasons = dict.fromkeys(f"{o.law}: {o.reason.removeprefix('skipped: ')}" for o in left)
    details = [o.detail.rstrip() for o in asked if o.detail.strip()]
    return tag(
        "details",
        tag("summary", title, tag("span", beside, class_="quiet") if beside else ""),
        _scrolled(table, f"checks of {name}") if rows else "",
        tag("p", "skipped: ", "; ".join(reasons), class_="quiet") if reasons else "",
        tag("p", f"cases: {in_words(r.extent)}", class_="quiet") if r.extent else "",
        tag("p", "what the adapter says:", class_="quiet") if details else "",
        [tag("pre", said) for said in dict.fromkeys(details)],
    )


def _cell(o: Obligation) -> Part:
    sign, kind = SIGNS[o.status]
    word = "passed" if o.status is Status.PASS else str(o.status)
    ratio = f", {o.ratio:.2g}" if o.status is Status.PASS and o.ratio else ""
    return tag("span", sign, class_=f"v v-{kind}", role="img", aria_label=word), f" {o.cases or ''}{ratio}"


def _scrolled(table: Html, name: str) -> Html:
    """A table that may be wider than a narrow screen; the keyboard can move it too."""
    return tag("div", table, class_="wide", tabindex="0", role="region", aria_label=name)


def _rest(stored: Sequence[ResultsFile], named: Named) -> Iterator[Html]:
    """Folded sections: offers without a fault, offers not seen or not offered, the runs, the laws."""
    of = {v: [(r, name) for r, name in named if r.verdict is v] for v in Conformity}
    for verdict, one, many in (
        (Conformity.CONFORMS, "claim that conforms", "claims that conform"),
        (Conformity.IN_PART, "claim of which not all was seen", "claims of which not all was seen"),
        (Conformity.ASKED_IN_PART, "claim of which not all was checked", "claims of which not all was checked"),
        (Conformity.EXPECTED, "claim that fails as expected", "claims that fail as expected"),
    ):
        if mine := of[verdict]:
            yield _folded(f"{len(mine)} {one if len(mine) == 1 else many}", [_quiet(r, name) for r, name in mine])
    skipped: dict[str, list[str]] = {}
    for r, name in named:
        for o in r.obligations:
            if o.status is Status.SKIP:
                skipped.setdefault(f"{o.law}: {o.reason.removeprefix('skipped: ')}", []).append(name)
    if skipped:
        count = sum(o.status is Status.SKIP for r, _ in named for o in r.obligations)
        listed = [tag("li", tag("b", what), f" ({'; '.join(dict.fromkeys(who))})") for what, who in skipped.items()]
        yield _folded(f"{counted(count, 'check')} skipped", tag("ul", listed))
    yield _folded("versions, profile, seed and date", _runs(stored))
    laws = sorted({o.law for r, _ in named for o in r.obligations})
    if laws:
        rows = [tag("div", tag("dt", tag("code", law)), tag("dd", sentences.words(law))) for law in laws]
        note = (
            "In the tables a sign is followed by the number of cases that decided, and the largest deviation in units "
            "of what rounding may do: above 30 it would be one."
        )
        yield _folded("what the laws say", [tag("p", note, class_="quiet"), tag("dl", rows)])


def _folded(title: str, within: Part) -> Html:
    return tag("details", tag("summary", title), within)


def _quiet(r: Result, name: str) -> Html:
    """An offer of which there is nothing to mend, with its obligations."""
    beside = f"{r.reading}, {r.passed} of {r.required}"
    if r.verdict in {Conformity.IN_PART, Conformity.ASKED_IN_PART}:
        beside = sentences.head(r)
    elif r.verdict is Conformity.EXPECTED:
        beside = r.said
    return _obligations(r, name, name, beside)


def _runs(stored: Sequence[ResultsFile]) -> Part:
    """Runs of each file, and the version of each subject."""
    rows = []
    for one in stored:
        runs = differing(one.runs)
        subjects = ", ".join(dict.fromkeys(sentences.subject(r) for r in one.results))
        told = (("file", one.name), ("implementations", subjects))
        rows += [tag("div", tag("dt", name), tag("dd", said)) for name, said in told if said]
        for run in runs:
            rows += [tag("div", tag("dt", name), tag("dd", said)) for name, said in _of_run(run)]
    return tag("dl", rows)


def _of_run(run: Run) -> Iterator[tuple[str, str]]:
    seed = "" if run.seed is None else str(run.seed)
    laws = "all" if run.law == "*" else f"{run.law} alone: this is no full verdict"
    for name, said in (
        ("fedspec", run.fedspec),
        ("Python", run.python),
        ("NumPy", run.numpy),
        ("profile", run.profile),
        ("seed", seed),
        ("laws", laws),
        ("date", run.date),
    ):
        yield name, said or "not told"
