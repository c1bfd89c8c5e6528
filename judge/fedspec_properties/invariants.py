"""Invariants of each paper's algorithms, as data: the statement, and the laws, tests and proofs that check it.

The table is ``invariants.toml``; :data:`INVARIANTS` holds it in the order of the papers and of their numbers.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError, UnknownNameError
from fedspec.papers import PAPERS
from fedspec.reference import SUBJECT
from fedspec_properties.reductions import EDGES
from fedspec_suite.laws import all_laws
from fedspec_suite.measure.setting import setting_of


@cache
def rows(law: str) -> tuple[str, ...]:
    """Return the algorithms to which a law applies, under any reading and option that the specification offers."""
    asked = {
        offer.algorithm
        for offer in SUBJECT.info.offers
        if not all_laws()[law].why_not(setting_of(offer), offer.intermediates, SUBJECT.info.concurrent)
    }
    return tuple(name for name in CATALOGUE if name in asked)


@dataclass(frozen=True)
class Invariant:
    """Statement of a paper that must hold, with the laws, tests and proofs that check it.

    Attributes:
        paper: its key among ``fedspec.papers.PAPERS``.
        number: its number among the paper's.
        says: the statement, in words.
        source: place in the paper, or "by the rule".
        laws: ids of laws that look for a violation.
        tests: tests of the specification, ``file::name``.
        proofs: ids of claims of the ledger, ``fedspec claims``.
        why: the part that nothing covers, with the reason; empty if everything is covered.
    """

    paper: str
    number: int
    says: str
    source: str
    laws: tuple[str, ...] = ()
    tests: tuple[str, ...] = ()
    proofs: tuple[str, ...] = ()
    why: str = ""

    @property
    def id(self) -> str:
        """Identifier: paper and number."""
        return f"{self.paper}.{self.number}"

    @property
    def covered(self) -> bool:
        """True if something checks the statement, or a part of it."""
        return bool(self.laws or self.tests or self.proofs)

    @property
    def algorithms(self) -> tuple[str, ...]:
        """Algorithms on which its laws run."""
        run = {name for law in self.laws for name in rows(law)}
        return tuple(name for name in CATALOGUE if name in run)

    @property
    def equations(self) -> tuple[str, ...]:
        """Equations of these algorithms."""
        return tuple(dict.fromkeys(e.id for name in self.algorithms for e in CATALOGUE[name].equations))

    def record(self) -> dict[str, Any]:
        """Return the entry as a JSON object."""
        return {
            "id": self.id,
            "paper": PAPERS[self.paper].name,
            "number": self.number,
            "says": self.says,
            "source": self.source,
            "laws": list(self.laws),
            "tests": list(self.tests),
            "proofs": list(self.proofs),
            "why": self.why,
            "algorithms": list(self.algorithms),
            "equations": list(self.equations),
        }


@dataclass(frozen=True)
class Beyond:
    """Laws that check no statement of a paper, and their purpose."""

    laws: tuple[str, ...]
    why: str


def _entry(where: str, kind: type[Any], table: dict[str, Any], **more: Any) -> Any:
    try:
        return kind(**more, **{n: tuple(v) if isinstance(v, list) else v for n, v in table.items()})
    except TypeError as error:
        raise FedspecError(f"invariants.toml: {where}: {error}; see the head of the file") from error


def read(text: str) -> tuple[tuple[Invariant, ...], tuple[Beyond, ...]]:
    """Parse the table and return the invariants, and the laws beyond them.

    Raises:
        FedspecError: a paper or a key is not known, or one is missing.
    """
    table = tomllib.loads(text)
    beyond = tuple(_entry("beyond", Beyond, t) for t in table.pop("beyond", []))
    if unknown := set(table) - set(PAPERS):
        raise FedspecError(f"invariants.toml: no paper is called {min(unknown)!r}; known: {', '.join(PAPERS)}")
    named = ((paper, t) for paper in PAPERS for t in table.get(paper, []))
    return tuple(_entry(f"{paper}.{t.get('number')}", Invariant, t, paper=paper) for paper, t in named), beyond


INVARIANTS, _BEYOND = read(files(__package__).joinpath("invariants.toml").read_text(encoding="utf-8"))


def _uncited() -> Beyond:
    cited = {law for v in INVARIANTS for law in v.laws}
    why = "reductions of the graph that the papers do not state among their algorithms' properties"
    return Beyond(tuple(edge.id for edge in EDGES if edge.id not in cited), why)


BEYOND = (*_BEYOND, _uncited())


def of_paper(paper: str = "") -> tuple[Invariant, ...]:
    """Return the invariants of one paper, or of all.

    Raises:
        UnknownNameError: no paper has that key.
    """
    if paper and paper not in PAPERS:
        raise UnknownNameError(f"paper: no invariants of {paper!r}; known: {', '.join(PAPERS)}")
    return tuple(v for v in INVARIANTS if paper in ("", v.paper))
