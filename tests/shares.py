"""Who runs what: of each test as much as its profile has time for, by what its cases took when they were last timed.

`make times` writes the table. A test that is not in it is run in every profile.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import TypeVar

TIMES: dict[str, list[float]] = json.loads(Path(__file__).with_name("times.json").read_text(encoding="utf-8"))
"""Of each test of a second or more, its cases together: how many there are, and how many seconds they took."""

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """What a profile runs of a test.

    Attributes:
        longest: seconds; a test whose cases take longer on the average is left out.
        together: seconds of all its cases; one is run whatever it takes.
    """

    longest: float
    together: float

    def of(self, name: str, cases: list[tuple[str, T]]) -> list[T]:
        """Those of a test's cases that are run: those with the least checksums of their ids, which lie everywhere."""
        many, seconds = TIMES.get(name, (1, 0))
        each = seconds / many
        if each > self.longest:
            return []
        if each * len(cases) <= self.together:
            return [case for _, case in cases]
        room = max(1, round(self.together / each))
        return [case for _, case in sorted(cases, key=lambda c: (zlib.crc32(c[0].encode()), c[0]))[:room]]


QUICK = Share(0.3, 0.3)
TEST = Share(1.5, 2)
OUTSIDE = Share(inf, 3)
ALL = Share(inf, inf)


def tables(ids: Iterable[tuple[str, T]]) -> dict[str, list[tuple[str, T]]]:
    """The cases of each test by its name."""
    found: dict[str, list[tuple[str, T]]] = {}
    for id_, case in ids:
        found.setdefault(id_.partition("[")[0], []).append((id_, case))
    return found
