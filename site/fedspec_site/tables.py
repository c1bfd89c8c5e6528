"""Reference: the catalogue, the reductions, the invariants and the ledger's lists, each as one page of tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable

from markupsafe import Markup

from fedspec.catalogue import CATALOGUE
from fedspec.papers import PAPERS, Paper
from fedspec_proofs import chain, ledger
from fedspec_proofs.claim import Claim, Verdict
from fedspec_proofs.engines.worst_case.attained import Attained, share
from fedspec_proofs.engines.worst_case.certificates import CERTIFIED, load
from fedspec_proofs.errata import errata as lines
from fedspec_properties.invariants import BEYOND, of_paper
from fedspec_properties.reductions import EDGES
from fedspec_site.writing import Source
from fedspec_suite.mutants import MUTANTS
from fedspec_suite.report.graph import by_family, checked, restriction
from fedspec_suite.report.markdown import table


def code(words: Iterable[object]) -> str:
    return ", ".join(f"`{word}`" for word in words)


def plain(text: str) -> str:
    """Symbols that are no emphasis."""
    return re.sub(r"([*~])", r"\\\1", text)


def _links(p: Paper) -> str:
    return ", ".join(f"[{said}]({link})" for said, link in p.links.items())


def _numbers(c: Claim) -> str:
    return plain(", ".join(ledger.labels(c)))


def _said(c: Claim) -> str:
    return f"{c.told}: {plain(c.sizes)}" if c.sizes else c.told


def papers() -> str:
    """The papers: how each is cited, and which text is specified."""
    head = ["short name", "paper", "text that is specified", "what other versions change", "what is used of it"]
    shown = ([p.name, f"{p.cited} {_links(p)}", p.specified, p.later or "not known", p.used] for p in PAPERS.values())
    return table(head, shown)


def catalogue() -> str:
    """Each algorithm, where it is defined and what its text was typed after."""
    rows = []
    for a in CATALOGUE.values():
        also = "".join(f"; also `{name}`: {words}" for name, words in a.aliases.items())
        rows.append([f"`{a.id}`", a.title + also, ", ".join(a.levels), a.source, a.basis])
    return table(["id", "what", "levels", "source", "typed after"], rows)


def readings() -> str:
    """Each reading of each algorithm."""
    rows = []
    for a in CATALOGUE.values():
        for reading in a.readings:
            asks = "".join(f"; asks {r.words}" for r in reading.requires)
            rows.append([f"`{a.id}`", f"`{reading.name}`", reading.told + asks])
    return table(["algorithm", "reading", "what it says"], rows)


def equations() -> str:
    """Each printed equation once, with its rule."""
    seen: dict[str, list[str]] = {}
    for a in CATALOGUE.values():
        for e in a.equations:
            seen.setdefault(e.id, [f"`{e.id}`", f"`{e.text}`", f"`{e.rule.removeprefix('fedspec.')}`"])
    return table(["id", "equation, in our words", "rule, in `fedspec.`"], seen.values())


def threads() -> str:
    """The public threads that describe a known defect."""
    rows = ([f"`{m.id}`", t.link, t.says, t.read] for m in MUTANTS.values() for t in m.seen)
    return table(["id", "thread", "what it says of the defect, in our words", "read"], rows)


def mutants() -> str:
    """Every known defect."""
    return table(["id", "what is wrong"], ([f"`{m.id}`", m.words] for m in MUTANTS.values()))


def reductions() -> str:
    """Table of the algorithms that reduce to another one, family by family."""
    parts = []
    for family, edges in by_family(EDGES).items():
        rows = [[f"`{e.source}`", f"`{e.target}`", restriction(e), checked(e), e.cited] for e in edges]
        parts.append(f"### {family.capitalize()}\n\n{table(['algorithm', 'is', 'when', 'checked in', 'source'], rows)}")
    return "\n".join(parts)


def invariants() -> str:
    """The papers' statements, and what looks after each."""
    parts = []
    for paper in PAPERS.values():
        rows = []
        for v in of_paper(paper.key):
            seen = [*(f"law `{w}`" for w in v.laws), *(f"test `{t.removeprefix('tests/')}`" for t in v.tests)]
            seen += [f"claim `{p}`" for p in v.proofs]
            rows.append([str(v.number), plain(v.says), v.source, ", ".join(seen), plain(v.why)])
        head = ["", "statement", "source", "looked after by", "what is not covered, and why"]
        parts.append(f"### {paper.name}\n\n{table(head, rows)}")
    return "\n".join(parts)


def beyond() -> str:
    """The laws that no statement asks for."""
    return table(["laws", "what they are for"], ([code(b.laws), b.why] for b in BEYOND))


def loose() -> str:
    """Table of the share of each certified bound that is needed."""
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


def chains() -> str:
    """Table of the chains of theorems and corollaries, printed and repaired: links by verdict, and the weakest link."""
    rows = []
    for id in dict.fromkeys(id for h in ledger.headlines() for id in h.statement.claims):
        c = ledger.claims()[id]
        if not c.chain:
            continue
        found = {link.claim.id: link.claim for link in chain.links(c)}
        counts = Counter(str(one.verdict) for one in found.values())
        weak = chain.weakest(c)
        breaks = bool(weak) and weak[0].verdict is Verdict.REFUTED
        words = (
            f"breaks at {code(one.id.partition('.')[2] for one in weak)}" if breaks else code(one.id for one in weak)
        )
        said = ", ".join(f"{n} {verdict}" for verdict, n in counts.most_common())
        rows.append([_numbers(c), f"`{c.id}`", _said(c), said, words or "every link is proved"])
    return table(["number", "claim", "verdict", "links", "weakest link"], rows)


def refuted() -> str:
    """The printed statements that are false."""
    repairs = {c.repairs: c.id for c in ledger.claims().values() if c.repairs}
    rows = []
    for s in ledger.statements():
        for c in (ledger.claims()[id] for id in s.claims):
            if c.verdict is Verdict.REFUTED and c.printed:
                repaired = f"`{repairs[c.id]}`" if c.id in repairs else ""
                name = PAPERS[s.paper].name
                rows.append([name, plain(s.label), s.kind, f"`{c.id}`", str(c.severity), plain(c.statement), repaired])
    return table(["paper", "number", "kind", "claim", "severity", "what is false", "repaired in"], rows)


def errata() -> str:
    """The misprinted lines."""
    rows = []
    for paper in PAPERS.values():
        for row in lines(paper.package):
            at = ", ".join(f"{name} = {value}" for name, value in row.at.items())
            shown = [f"`{row.fails}` is false, `{row.holds}` true" + f" at `{at}`" * bool(at)] if row.fails else []
            cells = [paper.name, row.place, row.printed, row.mended, str(row.severity)]
            rows.append([*map(plain, cells), "; ".join([*shown, *filter(None, [row.words])])])
    return table(["paper", "place", "as printed", "should be", "severity", "seen by"], rows)


PAGES: dict[str, tuple[Callable[[], str], ...]] = {
    "catalogue": (papers, catalogue, readings, equations, threads, mutants),
    "graph": (reductions,),
    "invariants": (invariants, beyond),
    "claims": (loose, chains, refuted, errata),
}
"""Each page, which has a template of its name, and its tables."""


def write(source: Source) -> None:
    """Write the pages."""
    for name, tables in PAGES.items():
        source.page(f"reference/{name}", name, **{made.__name__: Markup(made()) for made in tables})
