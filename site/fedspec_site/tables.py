"""Reference pages of tables: known defects, invariants, misprints and loose bounds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from markupsafe import Markup

from fedspec.papers import PAPERS
from fedspec_proofs import ledger
from fedspec_proofs.engines.worst_case.attained import Attained, share
from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, load
from fedspec_proofs.errata import errata as lines
from fedspec_properties.invariants import BEYOND, of_paper
from fedspec_site.writing import Source
from fedspec_suite.mutants import MUTANTS
from fedspec_suite.report.markdown import table


def code(words: Iterable[object]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def plain(text: str) -> str:
    """Escape asterisks and tildes, so that Markdown doesn't read them as emphasis."""
    return re.sub(r"([*~])", r"\\\1", text)


def threads() -> str:
    """Return the table of public threads that describe a known defect."""
    rows = ([f"`{m.id}`", t.link, t.says, t.read] for m in MUTANTS.values() for t in m.seen)
    return table(["id", "thread", "the defect, in our words", "read"], rows)


def mutants() -> str:
    """Return the table of known defects."""
    return table(["id", "what is wrong"], ([f"`{m.id}`", m.words] for m in MUTANTS.values()))


def invariants() -> str:
    """Return tables of the papers' statements, with the laws, tests and proofs that check each."""
    parts = []
    for paper in PAPERS.values():
        rows = []
        for v in of_paper(paper.key):
            seen = [*(f"law `{w}`" for w in v.laws), *(f"test `{t}`" for t in v.tests)]
            seen += [f"statement `{p}`" for p in v.proofs]
            rows.append([str(v.number), plain(v.says), v.source, ", ".join(seen), plain(v.why)])
        head = ["", "statement", "source", "looked after by", "what is not covered, and why"]
        parts.append(f"### {paper.name}\n\n{table(head, rows)}")
    return "\n".join(parts)


def beyond() -> str:
    """Return the table of laws that no statement of a paper asks for."""
    return table(["laws", "what they are for"], ([code(b.laws), b.why] for b in BEYOND))


def loose() -> str:
    """Return the table of certified bounds, with the share of each bound that is needed."""
    known, rows = ledger.claims(), []
    for id, cases in ((id, CERTIFIED[id]) for id in known if id in CERTIFIED):
        for name, case in cases.items():
            certificate = load(id, name)
            needs = certificate.needs
            if needs is None:
                continue
            problem = case.make(case.high)
            built = needs.attained
            attained = f"{float(share(problem, built)):.4g}, d = {built.d}" if built else "none built"
            spare = [term for term, one in certificate.lacking.items() if one and not isinstance(one, Attained)]
            rows.append([f"`{id}`", plain(name), f"{float(needs.most):.4g}", attained, ", ".join(spare)])
    return table(["claim", "sizes and rates", "enough", "needed by functions", "terms not needed there"], rows)


def errata() -> str:
    """Return the table of misprinted lines."""
    rows = []
    for paper in PAPERS.values():
        for row in lines(paper.package):
            at = ", ".join(f"{name} = {value}" for name, value in row.at.items())
            shown = [f"`{row.fails}` is false, `{row.holds}` true" + f" at `{at}`" * bool(at)] if row.fails else []
            cells = [paper.name, row.place, row.printed, row.mended, str(row.severity)]
            rows.append([*map(plain, cells), "; ".join([*shown, *filter(None, [row.words])])])
    return table(["paper", "place", "as printed", "should be", "severity", "seen by"], rows)


PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "defects": (threads, mutants),
    "invariants": (invariants, beyond),
    "claims": (loose, errata),
}
"""Functions that make each page's tables, by the name of the page and of its template."""


def write(source: Source) -> None:
    """Write the pages."""
    for name, tables in PAGES.items():
        source.page(f"reference/{name}", name, **{made.__name__: Markup(made()) for made in tables})
