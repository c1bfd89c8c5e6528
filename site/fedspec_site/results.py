"""Results of `make conformance`, claim by claim."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from fedspec_site import verdicts
from fedspec_site.text import slug
from fedspec_site.writing import ROOT
from fedspec_suite.report import sentences
from fedspec_suite.report.badges import PART, Kind

FOLDER = ROOT / "docs" / "conformance"
CAPSULES = FOLDER / "capsules"
_SAID = tomllib.loads((FOLDER / "remarks.toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, str] = _SAID["kinds"]
"""Kinds of remarks on a claim that doesn't conform."""


@dataclass(frozen=True)
class Offer:
    """Claim of a package, from a line of results.jsonl.

    Attributes:
        row: the stored line.
        remark: remark on the source of that version; None if there is none.
    """

    row: Mapping[str, Any]
    remark: Mapping[str, Any] | None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self.row[name]

    @property
    def package(self) -> str:
        """Name of the bundled package, without its variant."""
        return str(self.row["impl"]).partition(":")[0]

    @property
    def interface(self) -> str:
        """Interface of the package, if it has several; else empty."""
        return str(self.row["subject"]).partition(" (")[2].rstrip(")")

    @property
    def kind(self) -> Kind:
        """Kind of the claim's verdict."""
        return verdicts.of(self.row["verdict"])

    @property
    def anchor(self) -> str:
        """Anchor on the package's page, unique among all pages' anchors."""
        return f"{slug(self.package)}-{self.slug}"

    @property
    def slug(self) -> str:
        """Slug that is unique among the package's claims."""
        return slug(f"{self.row['algorithm']} {self.row['level']} {self.row['claimed']} {self.interface}")

    @property
    def first(self) -> str:
        """Place of the first deviation, from the stored sentence."""
        return str(self.row["sentence"]).partition("first seen in ")[2]

    @property
    def words(self) -> str:
        """Stored sentence without the place of the first deviation."""
        return str(self.row["sentence"]).partition("; first seen in ")[0]

    @property
    def differences(self) -> list[tuple[str, str, str]]:
        """Place, own equation and wanted equation of each difference of the variants found."""
        return [d for one in sentences.differences_in(self.row["nearest_data"]) for d in one]

    @property
    def remedy(self) -> str:
        """Remedy by a claim under which the implementation conforms; empty if there is none."""
        return sentences.claim_in(self.row["nearest_data"])

    @property
    def numbers(self) -> list[Mapping[str, Any]]:
        """First failing check of each law that has a wrong number, with that number and the right one."""
        found: dict[str, Mapping[str, Any]] = {}
        for o in self.row["obligations"]:
            if o["status"] == "fail" and {"got", "want"} <= {*o.get("deviation", ())}:
                found.setdefault(o["id"].partition("/")[0], o)
        return list(found.values())

    @property
    def left(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Checks that were skipped or undecided, by the reason."""
        found: dict[str, list[str]] = {}
        for o in self.row["obligations"]:
            if o["status"] not in ("pass", "fail"):
                found.setdefault(f"{o['status']}: {o.get('reason', '')}", []).append(o["id"])
        return list(found.items())

    @property
    def mark(self) -> Any:
        """Verdict as HTML; if the claim conforms in part, with the part."""
        return verdicts.mark(self.kind, self.row["verdict"] if self.kind is PART else "")


@cache
def offers() -> tuple[Offer, ...]:
    """Return every claim, package by package."""
    said = {(name, r["version"]): r for r in _SAID["remark"] for name in r["offers"]}
    out = []
    for line in (FOLDER / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = f"{row['subject']}/{row['algorithm']}/{row['level']}/{row['claimed']}"
        out.append(Offer(row, said.get((key, row["version"]))))
    return tuple(out)


def changes() -> dict[str, Any]:
    """Return the changes since each package was last checked, by package."""
    found: dict[str, Any] = json.loads((FOLDER / "changes.json").read_text(encoding="utf-8"))
    return found


def by_package() -> dict[str, list[Offer]]:
    """Return the claims of each package."""
    out: dict[str, list[Offer]] = {}
    for o in offers():
        out.setdefault(o.package, []).append(o)
    return out


def of_algorithm(id: str) -> list[Offer]:
    """Return the claims about an algorithm."""
    return [o for o in offers() if o.row["algorithm"] == id]
