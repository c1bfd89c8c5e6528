"""Pages of the papers' statements: an index with each numbered statement, and a page for each claim with its
evidence.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from fedspec.papers import PAPERS
from fedspec_proofs import chain, stored
from fedspec_proofs import ledger as book
from fedspec_proofs.claim import Claim, Extent, Record, Verdict
from fedspec_proofs.report.claims import JUDGED, SHARES, how
from fedspec_proofs.report.headings import headings
from fedspec_site import verdicts
from fedspec_site.drawn import sides
from fedspec_site.formulas import prose
from fedspec_site.writing import Source

LOOKS = {
    Verdict.PROVED: "shown",
    Verdict.PROVED_AT_SIZES: "shown",
    Verdict.CERTIFIED: "shown",
    Verdict.TIGHT: "shown",
    Verdict.CHECKED: "shown",
    Verdict.NOT_CONTRADICTED: "open",
    Verdict.UNDECIDABLE: "open",
    Verdict.UNKNOWN: "open",
    Verdict.REFUTED: "refuted",
}
"""CSS style of each verdict."""

SIDES = re.compile(
    r"left side (?P<left>[-+\d.e]+)[^,;]*, right side (?P<right>[-+\d.e]+)[^,;]*; "
    r"claimed: left (?P<sign><=|>=|=|<|>) right"
)


def mark(claim: Claim, share: str = "") -> Markup:
    """Return a claim's verdict as HTML."""
    look = "repaired" if claim.repairs and claim.verdict is not Verdict.REFUTED else LOOKS[claim.verdict]
    return verdicts.pill(look, ", ".join(filter(None, (claim.said, share or claim.share))))


@dataclass(frozen=True)
class Entry:
    """Numbered statement of a paper, with the claims about it.

    Attributes:
        statement: the statement.
        first: the claim that says most of it: what refutes it as printed, else the whole of it, else a part.
        repaired: the claim beside it that stands corrected.
        others: the other claims about it.
        steps: refuted steps of its printed proof.
    """

    statement: book.Statement
    first: Claim | None
    repaired: Claim | None
    others: tuple[Claim, ...]
    steps: tuple[Claim, ...] = ()

    @property
    def anchor(self) -> str:
        """Anchor of the statement on its page."""
        return re.sub(r"[^a-z0-9]+", "-", self.statement.label.lower()).strip("-")

    @property
    def words(self) -> str:
        """Introduction to the statement's verdict."""
        if self.first is None:
            return "Nothing was looked at."
        if self.first.severity:
            return f"False as printed ({self.first.severity}):"
        if self.first.verdict is Verdict.REFUTED:
            return "A reading of it is false:"
        whole = book.share(self.first, self.statement)
        said = {"whole": "", "part": "In part: ", "remark": "A remark: "}.get(whole, "")
        return said

    @property
    def mended(self) -> str:
        """ "True with:" if the corrected statement is proved as a whole, else "Repaired:"."""
        one = self.repaired
        whole = one is not None and one.verdict is Verdict.PROVED and one.extent is Extent.WHOLE
        return "True with:" if whole else "Repaired:"

    def mark(self, claim: Claim) -> Markup:
        """Return a claim's verdict as HTML, with how much of this statement it covers."""
        return mark(claim, book.share(claim, self.statement))


def entry(s: book.Statement, steps: tuple[str, ...] = ()) -> Entry:
    """Group a statement's claims: the main one, its correction, and the others."""
    known = book.claims()
    mine = [known[id] for id in s.claims]

    def rank(c: Claim) -> int:
        if c.severity:
            return 0
        order = (Extent.WHOLE, Extent.PART, Extent.REMARK)
        share = book.share(c, s)
        return 1 + (order.index(Extent(share)) if share in tuple(order) else 3)

    first = min((c for c in mine if not c.repairs), key=rank, default=mine[0] if mine else None)
    repairs = [c for c in mine if c.repairs and first is not None and c.repairs == first.id and c is not first]
    if first is not None and not repairs:
        repairs = [c for c in known.values() if c.repairs == first.id and c is not first]
    repaired = repairs[0] if repairs else None
    others = tuple(c for c in mine if c not in (first, repaired))
    return Entry(s, first, repaired, others, tuple(known[id] for id in steps))


def write(source: Source) -> None:
    """Write the pages."""
    known, found = book.claims(), stored.load()
    everything, titles = {**known, **book.variants()}, headings(book)
    heads = {key: [entry(h.statement, h.steps) for h in book.headlines(key)] for key in PAPERS}
    counts = {key: Counter(book.kind(c) for c in known.values() if c.paper == key) for key in PAPERS}
    source.page(
        "ledger/index",
        "ledger",
        papers=PAPERS,
        heads=heads,
        counts=counts,
        kinds=book.verdicts(),
        claims=known,
        variants=len(book.variants()),
        statements=len(book.statements()),
        SHARES=SHARES,
        JUDGED=JUDGED,
        titles=titles,
    )
    for key, paper in PAPERS.items():
        entries = [entry(s) for s in book.statements() if s.paper == key]
        filed = {id for s in book.statements() for id in s.claims}
        loose = [c for c in known.values() if c.paper == key and c.id not in filed]
        source.page(f"ledger/{key}", "paper", paper=paper, entries=entries, loose=loose, mark=mark)
    repairs = {c.repairs: c for c in everything.values() if c.repairs}
    false = {c.false_of: c for c in everything.values() if c.false_of}
    for id, claim in everything.items():
        record = found.get(id)
        source.page(
            f"ledger/{id}",
            "claim",
            claim=claim,
            record=record,
            paper=PAPERS[claim.paper],
            labels=book.labels(claim),
            mark=mark,
            known=everything,
            repaired=repairs.get(id),
            false=false.get(id),
            tree=_tree(claim),
            weak=chain.weakest(claim) if claim.chain else (),
            argument=how(claim, everything),
            drawing=_sides(record),
            parts=_parts(record),
            JUDGED=JUDGED,
            titles=titles,
        )


def _tree(claim: Claim) -> Markup:
    """Claims that a claim follows from, as lists in lists."""
    out, depth = Markup(), 0
    for link in chain.links(claim):
        # An item ends where the next one is no deeper.
        out += Markup("<ul>") if link.depth > depth else Markup("</li></ul>") * (depth - link.depth) + Markup("</li>")
        depth = link.depth
        said = "as above" if link.again else prose(link.claim.statement)
        line = Markup('<li><a href="{}.html">{}</a> {} {}')
        out += line.format(link.claim.id, link.claim.id.partition(".")[2], mark(link.claim), said)
    return out + Markup("</li></ul>") * depth


def _sides(record: Record | None) -> Markup | str:
    """Both sides of a counterexample, where its evidence says them as numbers."""
    m = SIDES.search(record.evidence) if record and record.verdict is Verdict.REFUTED else None
    return sides(float(m["left"]), float(m["right"]), m["sign"]) if m else ""


def _parts(record: Record | None) -> Mapping[str, bool]:
    """The parts of a bound that a search left out, and whether it noticed."""
    return record.sharpness.noticed if record and record.sharpness else {}
