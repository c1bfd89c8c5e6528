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
from typing import Any, TypeVar

TIMES: dict[str, list[float]] = json.loads(Path(__file__).with_name("times.json").read_text(encoding="utf-8"))
"""Of each test of a third of a second or more, its cases together: how many there are, and how many seconds they took;
and what a file sets up once for many of its tests (`FILE::@FIXTURE`).
"""

T = TypeVar("T")


@dataclass(frozen=True)
class Share:
    """What a profile runs of a test.

    Attributes:
        longest: seconds; a test whose cases take longer on the average is left out.
        together: seconds of all its cases; one is run whatever it takes.
        once: seconds; a test for which something is set up that takes longer is left out, though others may use it too.
        least: seconds that a case takes in any event, to be handed out, begun and told of.
    """

    longest: float
    together: float
    once: float
    least: float = 0

    def of(self, name: str, cases: list[tuple[str, T]], set_up: Iterable[str] = ()) -> list[T]:
        """Those of a test's cases that are run: those with the least checksums of their ids, which lie everywhere."""
        many, seconds = TIMES.get(name, (1, 0))
        each = max(seconds / many, self.least)
        if each > self.longest or any(TIMES.get(row, (1, 0))[1] > self.once for row in set_up):
            return []
        if each * len(cases) <= self.together:
            return [case for _, case in cases]
        room = max(1, round(self.together / each))
        return [case for _, case in sorted(cases, key=lambda c: (zlib.crc32(c[0].encode()), c[0]))[:room]]


QUICK = Share(0.4, 0.1, 1, 0.02)
TEST = Share(2.4, 0.5, 60)
OUTSIDE = Share(inf, 0.3, inf)
ALL = Share(inf, inf, inf)


LONG = 5
"""Seconds of a case from which on it is begun early."""


def spread(ids: list[tuple[str, T]], workers: int) -> list[T]:
    """In an order in which no worker is left alone with long cases at the end.

    pytest-xdist hands each worker a stretch of the list, about as many cases as to the others. The long ones are dealt
    out, the longest first, and stand where the stretches begin. All others stay in their order.
    """
    seconds = {name: TIMES[name][1] / TIMES[name][0] for name in {i.partition("[")[0] for i, _ in ids} if name in TIMES}
    each = [(seconds.get(i.partition("[")[0], 0), case) for i, case in ids]
    long = [case for _, case in sorted((e for e in each if e[0] >= LONG), key=lambda e: -e[0])]
    short = [case for s, case in each if s < LONG]
    found: list[T] = []
    for k in range(workers):
        size = (len(ids) - len(found)) // (workers - k)
        mine = long[k::workers][:size]
        found += [*mine, *short[: size - len(mine)]]
        del short[: size - len(mine)]
    return found


def once(item: Any) -> list[str]:
    """What the file of a test sets up for more than one test, and this one uses."""
    file = item.nodeid.partition("::")[0]
    found = getattr(item, "_fixtureinfo", None)
    used = found.name2fixturedefs.items() if found else ()
    return [
        f"{file}::@{name}"
        for name, fixtures in used
        if fixtures[-1].scope != "function" and fixtures[-1].baseid == file
    ]


def tables(ids: Iterable[tuple[str, T]]) -> dict[str, list[tuple[str, T]]]:
    """The cases of each test by its name."""
    found: dict[str, list[tuple[str, T]]] = {}
    for id_, case in ids:
        found.setdefault(id_.partition("[")[0], []).append((id_, case))
    return found
