"""Expected failures: a TOML file that lists which obligations may fail, why, and until when.

[[expect]]
offer = "fedadam/server"        # as --only takes it
law = "follows-v"               # with * and ?; all laws unless told
dtype = "float32"               # both unless told
reason = "v0 cannot be set"
issue = "https://example.org/issues/7"
until = 2027-01-31
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any

from fedspec.errors import ContractError
from fedspec.parsing import parse_toml
from fedspec.schema import said
from fedspec_suite.laws import retired
from fedspec_suite.measure.verdict import Conformity, Obligation, Result, Status, counted

KEYS = {"claim": str, "law": str, "dtype": str, "reason": str, "issue": str, "until": date}
REQUIRED = ("claim", "reason")

LARGEST = 1 << 20
"""Largest file size that is read, in bytes."""

HOW = "docs/in-your-ci.md shows a whole file"


@dataclass(frozen=True)
class Expectation:
    """Entry of the file of expected failures.

    Attributes:
        file: path of the file.
        number: number of the entry, from 1.
        line: the line that it begins in; 0 where that is not known.
        offer: the pattern of the offers.
        reason: reason for the failures.
        law: the pattern of the laws.
        dtype: the floating-point type; empty: every one.
        issue: link to a discussion.
        until: the last day on which it counts.
    """

    file: str
    number: int
    line: int
    offer: str
    reason: str
    law: str = "*"
    dtype: str = ""
    issue: str = ""
    until: date | None = None

    @property
    def place(self) -> str:
        """File and line of the entry, or file and number if the line is unknown."""
        return f"{self.file}:{self.line} (entry {self.number})" if self.line else f"{self.file} (entry {self.number})"

    @property
    def words(self) -> str:
        """Reason of the failure, and its issue if there is one."""
        return f"{self.reason} ({self.issue})" if self.issue else self.reason

    def about(self, o: Obligation) -> bool:
        """True if the entry's patterns match an obligation's law and floating-point type."""
        return fnmatch.fnmatchcase(o.law, self.law) and self.dtype in {"", o.dtype}

    def expired(self, today: date | None) -> bool:
        """True if the entry's last day is over."""
        return self.until is not None and today is not None and self.until < today


@dataclass(frozen=True)
class Complaint:
    """Fault of an entry, such as an expired date.

    Attributes:
        entry: the faulty entry.
        words: description of the fault, with a remedy.
    """

    entry: Expectation
    words: str

    def __str__(self) -> str:
        return f"expect: {self.entry.place}: {self.words}"


def read(path: Path) -> tuple[Expectation, ...]:
    """Read the entries of a file of expected failures.

    Raises:
        ContractError: it cannot be read, is no TOML, or an entry has an unknown key, a wrong type or no reason.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
        if len(data) > LARGEST:
            raise ContractError(f"expect: {path} is larger than {LARGEST >> 20} MB; give the file of expected failures")
        text = data.decode()
        body = parse_toml(text)
    except ContractError:
        raise
    except OSError as error:
        raise ContractError(f"expect: cannot read {path} ({error.strerror}); give a file that exists") from error
    except ValueError as error:
        what = " ".join(str(error).split())[:200]
        raise ContractError(f"expect: {path} is no TOML in UTF-8: {what}; {HOW}") from error
    entries = body.get("expect", [])
    if set(body) - {"expect"} or not isinstance(entries, list) or not all(isinstance(e, dict) for e in entries):
        raise ContractError(f"expect: {path}: holds {', '.join(map(said, body))}; write entries as [[expect]]")
    heads = [n for n, line in enumerate(text.splitlines(), 1) if re.match(r"\s*\[\[\s*[\"']?expect[\"']?\s*\]\]", line)]
    lines = heads if len(heads) == len(entries) else [0] * len(entries)
    return tuple(_entry(str(path), k, line, e) for k, (line, e) in enumerate(zip(lines, entries, strict=True), 1))


def _entry(file: str, number: int, line: int, given: dict[str, Any]) -> Expectation:
    where = f"expect: {Expectation(file, number, line, '', '').place}"
    # `offer` is the former name of `claim`.
    given = {"claim" if name == "offer" else name: value for name, value in given.items()}
    for name, value in given.items():
        kind = KEYS.get(name)
        if kind is None:
            raise ContractError(f"{where}: has an unknown key {said(name)}; known: {', '.join(KEYS)}")
        if not isinstance(value, kind) or isinstance(value, datetime):
            want = "a date such as 2027-01-31, without quotes" if kind is date else "a string"
            raise ContractError(f"{where}: {name}: got {said(value)}; want {want}")
    if missing := [name for name in REQUIRED if not str(given.get(name, "")).strip()]:
        raise ContractError(f"{where}: has no {' and no '.join(missing)}; every entry needs claim and reason")
    if given.get("dtype", "") not in {"", "float64", "float32", "any"}:
        raise ContractError(f"{where}: dtype: got {said(given['dtype'])}; want float64, float32 or any")
    return Expectation(file, number, line, given.pop("claim"), **given)


def excused(obligations: Sequence[Obligation], entries: Sequence[Expectation], today: date | None) -> list[Obligation]:
    """Mark the failed obligations that an entry excuses as expected failures.

    Args:
        obligations: the outcomes of the offer's obligations.
        entries: the entries about the offer.
        today: today's date: an entry whose last day is past excuses nothing.
    """
    valid = [e for e in entries if not e.expired(today)]

    def one(o: Obligation) -> Obligation:
        entry = next((e for e in valid if e.about(o)), None) if o.status is Status.FAIL else None
        return o if entry is None else replace(o, status=Status.XFAIL, reason=entry.words)

    return [one(o) for o in obligations]


def complaints(
    entries: Sequence[Expectation],
    results: Sequence[Result],
    today: date | None,
    *,
    only: Sequence[str] | None,
    law: str,
) -> list[Complaint]:
    """Return the faults of the entries, given the results of all offers.

    Args:
        entries: all of the file.
        results: the offers, each with the numbers of the entries about it.
        today: the day.
        only: the patterns of the offers that were asked alone; None where what is offered is not known.
        law: the pattern of the laws that were asked. Entries about other offers and laws are left alone, and one of
            which a part was asked is not called needless.
    """
    out = []
    for e in entries:
        mine = [r for r in results if e.number in r.expected]
        asked = [o for r in mine for o in r.obligations if e.about(o)]
        # What gave no answer, or failed at once, was not asked everything.
        stopped = (Conformity.ERROR, Conformity.DOES_NOT)
        broken = any(r.verdict in stopped and (r.unasked or r.verdict is Conformity.ERROR) for r in mine)
        if words := wrong(e, asked, today, only=None if broken else only, law=law):
            out.append(Complaint(e, words))
    return out


def wrong(
    e: Expectation, mine: Sequence[Obligation], today: date | None, *, only: Sequence[str] | None, law: str
) -> str:
    """Describe the fault of an entry, given the obligations that match it; empty if it has no fault.

    Args:
        e: the entry.
        mine: the obligations, as far as they were asked.
        today: the day.
        only: the patterns of the offers that were asked alone; None where what is offered is not known.
        law: the patterns of the laws that were asked.
    """
    narrowed = only is None or bool(only) or law != "*"
    each = "*" not in e.law and "?" not in e.law
    by_law = any(p in ("*", e.law) or (each and fnmatch.fnmatchcase(e.law, p)) for p in law.split(","))
    by_offer = only is not None and (not only or any(f"{e.offer}/".startswith(f"{p}/") for p in only))
    asked = [o for o in mine if o.status is not Status.SKIP]
    if not asked and (narrowed or e.law in retired()):
        return ""
    if e.expired(today):
        return f"expired on {e.until}; mend what it excuses, or give a later `until`"
    if not asked:
        about = f"{e.offer!r} and law {e.law!r}{f' in {e.dtype}' if e.dtype else ''}"
        what = "only skipped checks are" if mine else "no check is"
        return f"{what} about {about}; correct the entry, or delete it"
    if by_law and by_offer and all(o.status is Status.PASS for o in asked):
        return f"everything that it excuses passes now ({counted(len(asked), 'check')}); delete the entry"
    return ""
