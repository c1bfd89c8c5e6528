"""Page for each algorithm: the content of `fedspec show`, and the packages that implement it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from fedspec.catalogue import CATALOGUE, FAMILIES, Algorithm
from fedspec.citations import ADDRESSES, CITATION
from fedspec.costs import SYMBOLS
from fedspec.errors import FedspecError
from fedspec_site import verdicts
from fedspec_site.lines import lines
from fedspec_site.results import of_algorithm
from fedspec_site.writing import Source
from fedspec_suite.report import graph, offer_page, page
from fedspec_suite.report.source import code_of


@dataclass(frozen=True)
class Change:
    """Equation of a reading that differs from the canonical reading's.

    Attributes:
        id: id of the equation.
        text: text of the equation; empty if the reading has none of that id.
        before: text of the canonical reading's equation of that id; empty if it has none.
    """

    id: str
    text: str
    before: str


def changes(a: Algorithm, reading: str) -> list[Change] | None:
    """List the equations in which a reading differs from the canonical one; None if the reading needs options."""
    usual = {e.id: e.text for e in a.equations}
    try:
        there = {e["id"]: e["text"] for e in offer_page.record(a, reading, {})["equations"]}
    except FedspecError:
        return None
    ids = dict.fromkeys((*there, *usual))
    return [Change(i, there.get(i, ""), usual.get(i, "")) for i in ids if there.get(i) != usual.get(i)]


def _readings(a: Algorithm, canonical: str) -> dict[str, str]:
    """The code of each reading whose code is not the canonical one's."""
    found = {r.name: code_of(a, r.name) for r in a.readings[1:]}
    return {name: code for name, code in found.items() if code != canonical}


def write(source: Source) -> None:
    """Write the algorithms' pages and their index."""
    offered = {id: verdicts.count_kinds([o.kind for o in of_algorithm(id)]) for id in CATALOGUE}
    source.page("algorithms/index", "algorithms", families=FAMILIES, offered=offered, count=len(CATALOGUE))
    for a in CATALOGUE.values():
        record = page.record(a)
        source.page(
            f"algorithms/{a.id}",
            "algorithm",
            a=a,
            cited=cited,
            record=record,
            readings=_readings(a, record["code"]),
            lines=lines(a),
            changes={r.name: changes(a, r.name) for r in a.readings[1:]},
            offers=of_algorithm(a.id),
            edges=graph.around(a.id),
            restriction=graph.restriction,
            checked=graph.checked,
            costs=[(text, words) for name, words in page.COSTS.items() if (text := getattr(a.costs, name)) != "0"],
            note=a.costs.note,
            symbols=_symbols([getattr(a.costs, name) for name in page.COSTS]),
        )


def cited(html: Markup) -> Markup:
    """Add links to the papers that some words cite."""
    return Markup(CITATION.sub(lambda m: f'<a href="{ADDRESSES[m[0]]}">{m[0]}</a>', html))


def _symbols(formulas: Sequence[str]) -> dict[str, str]:
    """Meaning of the letters in the formulas of costs."""
    letters = set(re.sub(r"[()]", " ", " ".join(formulas)).split())
    return {n: words for n, words in SYMBOLS.items() if n in letters}
