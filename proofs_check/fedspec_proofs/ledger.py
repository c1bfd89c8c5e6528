"""The ledger: every claim about the five papers, in order, and the numbered statements of the papers.

A paper is a package of this one. Its ``MODULES`` name the modules of its ``claims`` in the paper's order. Its
``statements.toml`` lists what the paper numbers, with the claims about each, its ``errata.toml`` the lines that are
misprinted.
"""

from __future__ import annotations

import importlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from fedspec.errors import FedspecError, UnknownNameError, none_called
from fedspec.papers import PAPERS, Paper
from fedspec_proofs.claim import Claim, Extent, Verdict
from fedspec_proofs.errata import filed


@dataclass(frozen=True)
class Statement:
    """A statement that a paper numbers, or a step of its proofs that gets a verdict.

    Attributes:
        paper: the key of the paper.
        label: the statement's number, as printed.
        kind: assumption, definition, lemma, proposition, theorem, corollary, remark, algorithm, equation, step.
        line: the statement's line in the text conversion.
        claims: ids of the claims about it.
    """

    paper: str
    label: str
    kind: str
    line: int
    claims: tuple[str, ...]


def _claims(paper: Paper) -> Iterator[Claim]:
    modules: tuple[str, ...] = importlib.import_module(f"fedspec_proofs.{paper.package}").MODULES
    for module in modules:
        for value in vars(importlib.import_module(f"fedspec_proofs.{paper.package}.claims.{module}")).values():
            # What a module imports from another one stands in the other's place.
            if isinstance(value, Claim) and value.paper == paper.key:
                yield value
    yield filed(paper)


@cache
def _all() -> Mapping[str, Claim]:
    found: dict[str, Claim] = {}
    for paper in PAPERS.values():
        for one in _claims(paper):
            if found.setdefault(one.id, one) is not one:
                raise FedspecError(f"claims: two have the id {one.id}; ids must be unique")
    return found


def claims() -> dict[str, Claim]:
    """Claims of all papers, by id."""
    return {id: one for id, one in _all().items() if not one.false_of}


def variants() -> dict[str, Claim]:
    """Deliberately false variants of true claims, by id; the evidence must refute every one of them."""
    return {id: one for id, one in _all().items() if one.false_of}


def find(id: str) -> Claim:
    """Find a claim or false variant by its id.

    Raises:
        UnknownNameError: no claim has that id; if a paper prints a statement with this label, the message lists the
            claims about it.
    """
    if id in _all():
        return _all()[id]
    printed = [s for s in statements() if id.lower() in (s.label.lower(), f"{s.paper} {s.label}".lower())]
    if about := list(dict.fromkeys(claim for s in printed for claim in s.claims)):
        raise UnknownNameError(f"claim: {id!r} labels a printed statement; claims about it: {', '.join(about)}")
    raise none_called("claim", id, _all(), "fedspec claims")


@cache
def statements() -> tuple[Statement, ...]:
    """Statements that the papers number, paper by paper, in printed order."""
    found = []
    for paper in PAPERS.values():
        text = (files(f"fedspec_proofs.{paper.package}") / "statements.toml").read_text(encoding="utf-8")
        for row in tomllib.loads(text)["statement"]:
            found.append(Statement(paper.key, row["label"], row["kind"], row["line"], tuple(row["claims"])))
    return tuple(found)


def verdicts() -> tuple[str, ...]:
    """Words for a claim's verdict: all but "unknown", with "repaired" before the last."""
    kinds = [str(v) for v in Verdict if v is not Verdict.UNKNOWN]
    return (*kinds[:-1], "repaired", kinds[-1])


def kind(claim: Claim) -> str:
    """Word for a claim's verdict, from :func:`verdicts`: "repaired" for every claim that repairs another one."""
    return "repaired" if claim.repairs else str(claim.verdict)


LEADING = ("theorem", "lemma", "proposition", "corollary")
"""Kinds of statements that count as main results; steps, assumptions, remarks and equations do not."""


@dataclass(frozen=True)
class Headline:
    """A main result of a paper: a theorem, lemma, proposition or corollary.

    Attributes:
        statement: the statement.
        steps: ids of refuted claims about printed steps of the statement's own proof, as far as their labels name it.
    """

    statement: Statement
    steps: tuple[str, ...]


def headlines(paper: str = "") -> list[Headline]:
    """Main results of the papers, or of one paper, in printed order."""
    known, out = claims(), []
    for s in statements():
        if s.kind not in LEADING or paper not in ("", s.paper):
            continue
        steps = [
            id
            for step in statements()
            if step.paper == s.paper and step.kind not in LEADING and _of_proof(step.label, s.label)
            for id in step.claims
            if known[id].severity and id not in s.claims
        ]
        out.append(Headline(s, tuple(dict.fromkeys(steps))))
    return out


def _of_proof(label: str, of: str) -> bool:
    """True if a step's label names the proof that it is in: it begins with the statement, or with "Proof of" it."""
    return label.removeprefix("Proof of ").startswith((f"{of},", f"{of} ("))


def share(claim: Claim, statement: Statement) -> str:
    """Part of a statement that a claim covers, for printing: at most "part", if the claim's source does not name the
    statement.
    """
    name = re.escape(statement.label.partition(",")[0])
    whole = claim.extent is not Extent.WHOLE or re.search(rf"\b{name}(?![\d.]*\d)", claim.source.place)
    return claim.share if whole else str(Extent.PART)


def labels(claim: Claim) -> tuple[str, ...]:
    """Labels of the numbered statements that a claim is about."""
    return tuple(s.label for s in statements() if claim.id in s.claims)
