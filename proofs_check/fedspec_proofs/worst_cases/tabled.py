"""Tables of docs/worst-cases.md: stored rows, the check of a row, and writing a page's sections."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any, Generic, TypeVar

from fedspec_proofs.claim import Dropped, Finding, Verdict
from fedspec_proofs.engines.worst_case.falling import Matrix, positive
from fedspec_proofs.engines.worst_case.proof import Problem, flaw

Row = dict[str, Any]
Q = TypeVar("Q")
Proof = Mapping[str, Fraction]

PAGE = Path(__file__).resolve().parents[3] / "docs" / "worst-cases.md"
"""Path of docs/worst-cases.md, in a checkout."""


@dataclass(frozen=True)
class Table(Generic[Q]):
    """Table of stored rows about one class of rounds.

    Attributes:
        name: name of the file with the rows.
        script: the program in ``scripts`` that computes the rows.
        kind: class of the record that describes a row's rounds.
        names: the fields of that record that identify a row.
        problem_of: function that makes a row's claim about its rounds, at a bound.
        among: function that extends rounds and multipliers from two clients to more.
    """

    name: str
    script: str
    kind: Callable[..., Q]
    names: tuple[str, ...]
    problem_of: Callable[[Q, Fraction], Problem]
    among: Callable[[Q, Proof, int], tuple[Q, Proof]] | None = None

    @property
    def path(self) -> Path:
        """Path of the table's file."""
        return Path(__file__).with_name(f"{self.name}.json")

    @property
    def renew(self) -> str:
        """Command that writes the file."""
        return f"python scripts/{self.script}.py"

    def rows(self) -> list[Row]:
        """Stored rows: rounds, their bounds and the multipliers."""
        found: list[Row] = json.loads(self.path.read_text(encoding="utf-8"))
        return found

    def write(self, rows: Iterable[Row]) -> None:
        """Write the file, with a line for each row."""
        self.path.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n", encoding="utf-8")

    def asked(self, row: Mapping[str, Any]) -> Q:
        """Make the record of the rounds from a row."""
        return self.kind(
            **{f.name: _read(row[f.name], "Fraction" in str(f.type)) for f in fields(self.kind) if f.name in row}  # type: ignore[arg-type]
        )

    def kept(self, found: Any) -> Row:
        """Make a row from a certified search result."""
        shown = {name: getattr(found.round, name) for name in self.names}
        shown |= {name: str(c) for name, c in shown.items() if isinstance(c, Fraction)}
        proof = {name: str(c) for name, c in found.proof.items()}
        return {**shown, "worst": round(found.worst, 6), "bound": str(found.bound), "proof": proof}

    def wrong_with(self, row: Mapping[str, Any], *more: int) -> str:
        """Reason why a row proves nothing; empty if its multipliers prove its bound with the current rule.

        Args:
            row: the row as stored.
            more: further numbers of clients for which the row must be proved.
        """
        r, bound, proof = self.asked(row), Fraction(row["bound"]), proof_of(row)
        ways: list[tuple[Any, Proof]] = [(r, proof)]
        if more:
            assert self.among
            ways += [self.among(r, proof, n) for n in more]
        for one, multipliers in ways:
            if getattr(one, "form", ()) and not positive(one.P):
                return "its form is not positive definite"
            if wrong := flaw(self.problem_of(one, bound), multipliers):
                return wrong
        return ""

    def finding(
        self, found: Sequence[Row], without: Callable[[Row], Mapping[str, Dropped]], *more: int, at: int = 0
    ) -> Finding:
        """Certified if every row checks; the assumptions are dropped at one of the rows."""
        for row in found:
            if wrong := self.wrong_with(row, *more):
                return Finding(Verdict.UNKNOWN, f"{self.asked(row)}: {wrong}; {self.renew}")
        most, where = max((float(Fraction(row["bound"])) - row["worst"], str(self.asked(row))) for row in found)
        evidence = (
            f"{len(found)} numbers, each by multipliers in fractions; at most {most:.4f} above what the program "
            f"attains ({where}); docs/worst-cases.md has them"
        )
        return Finding(Verdict.CERTIFIED, evidence, without(found[at]))


def _read(value: Any, fraction: bool) -> Any:
    if isinstance(value, list):
        return tuple(_read(one, fraction) for one in value)
    return Fraction(value) if fraction else value


def proof_of(row: Mapping[str, Any]) -> dict[str, Fraction]:
    """Multipliers of a row, as fractions."""
    return {name: Fraction(c) for name, c in row["proof"].items()}


def each(found: Iterable[Mapping[str, Any]], name: str) -> str:
    """Distinct values of a field of some rows, as text."""
    return ", ".join(dict.fromkeys(str(row[name]) for row in found))


def grows(ratio: Fraction, row: Mapping[str, Any], words: str) -> Dropped:
    """Dropped assumption, by an instance that multiplies a form by ``ratio``; it matters above the row's bound."""
    bound = Fraction(row["bound"])
    return Dropped(ratio > bound, f"{words}: the form grows by {float(ratio):.4g}, and not {float(bound)}")


def value(P: Matrix, u: Sequence[Any]) -> Fraction:
    """Value of a quadratic form at numbers."""
    return sum((c * a * b for row, a in zip(P, u, strict=True) for c, b in zip(row, u, strict=True)), Fraction(0))


def three(number: str | Fraction) -> str:
    """Format a number with three decimals, as the page prints it."""
    return f"{float(Fraction(number)):.3f}"


def markdown(heads: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Markdown table with these headings and lines."""
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in (heads, ["---"] * len(heads), *lines))


def with_sections(text: str, sections: Mapping[str, str]) -> str:
    """Replace sections of a page, each from ``<!-- NAME -->`` to ``<!-- end -->``, by new text."""
    place = re.compile(rf"(<!-- ({'|'.join(map(re.escape, sections))}) -->\n).*?(<!-- end -->)", re.DOTALL)
    return place.sub(lambda m: f"{m[1]}{sections[m[2]]}{m[3]}", text)


def write_sections(sections: Mapping[str, str], page: Path = PAGE) -> None:
    """Replace sections of a page and write it."""
    page.write_text(with_sections(page.read_text(encoding="utf-8"), sections), encoding="utf-8")
