"""The results of `make conformance`, offer by offer."""

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
from fedspec_suite.report.badges import PART, Kind

FOLDER = ROOT / "docs" / "conformance"
CAPSULES = FOLDER / "capsules"
_SAID = tomllib.loads((FOLDER / "remarks.toml").read_text(encoding="utf-8"))
KINDS: Mapping[str, str] = _SAID["kinds"]
"""Kinds of remarks on an offer that does not conform."""


@dataclass(frozen=True)
class Offer:
    """A line of results.jsonl.

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
        """The bundled name without a variant."""
        return str(self.row["impl"]).partition(":")[0]

    @property
    def interface(self) -> str:
        """Interface of a package that has several; else empty."""
        return str(self.row["subject"]).partition(" (")[2].rstrip(")")

    @property
    def kind(self) -> Kind:
        """The kind of its verdict."""
        return verdicts.of(self.row["verdict"])

    @property
    def anchor(self) -> str:
        """Anchor on the package's page, unique among all pages' anchors."""
        return f"{slug(self.package)}-{self.slug}"

    @property
    def slug(self) -> str:
        """Slug that is unique among the package's offers."""
        return slug(f"{self.row['algorithm']} {self.row['level']} {self.row['claimed']} {self.interface}")

    @property
    def first(self) -> str:
        """Place of the first deviation, in the words of the sentence."""
        return str(self.row["sentence"]).partition("first seen in ")[2]

    @property
    def words(self) -> str:
        """The sentence without where it was first seen."""
        return str(self.row["sentence"]).partition("; first seen in ")[0]

    @property
    def numbers(self) -> list[Mapping[str, Any]]:
        """Obligations that fail by a number, with the number and the right one; only the first one of each law."""
        found: dict[str, Mapping[str, Any]] = {}
        for o in self.row["obligations"]:
            if o["status"] == "fail" and {"got", "want"} <= {*o.get("deviation", ())}:
                found.setdefault(o["id"].partition("/")[0], o)
        return list(found.values())

    @property
    def left(self) -> Sequence[tuple[str, Sequence[str]]]:
        """Obligations that were not asked or not decided, by the reason."""
        found: dict[str, list[str]] = {}
        for o in self.row["obligations"]:
            if o["status"] not in ("pass", "fail"):
                found.setdefault(f"{o['status']}: {o.get('reason', '')}", []).append(o["id"])
        return list(found.items())

    @property
    def mark(self) -> Any:
        """Its verdict on a page; one that conforms in part says in what."""
        return verdicts.mark(self.kind, self.row["verdict"] if self.kind is PART else "")


@cache
def offers() -> tuple[Offer, ...]:
    """Every offer, package by package."""
    said = {(name, r["version"]): r for r in _SAID["remark"] for name in r["offers"]}
    out = []
    for line in (FOLDER / "results.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        key = f"{row['subject']}/{row['algorithm']}/{row['level']}/{row['claimed']}"
        out.append(Offer(row, said.get((key, row["version"]))))
    return tuple(out)


def changes() -> dict[str, Any]:
    """Changes since a package was last judged, by package."""
    found: dict[str, Any] = json.loads((FOLDER / "changes.json").read_text(encoding="utf-8"))
    return found


def by_package() -> dict[str, list[Offer]]:
    """The offers of each package."""
    out: dict[str, list[Offer]] = {}
    for o in offers():
        out.setdefault(o.package, []).append(o)
    return out


def of_algorithm(id: str) -> list[Offer]:
    """The offers of an algorithm."""
    return [o for o in offers() if o.row["algorithm"] == id]
