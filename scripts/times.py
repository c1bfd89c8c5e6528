"""Write tests/times.json, how long each test takes, from what pytest printed with --durations=0 -vv.

`make times` runs all and reads that. Of what no log holds, what was known stays, unless the test is gone; where a log
has some of a test's cases, the others are taken to be as long. What is set up once for many tests has a row of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "times.json"
WORTH = 0.3
"""Seconds that all cases of a test take together from which on it stands in the table."""

_LINE = re.compile(
    r"^(?P<seconds>[\d.]+)s (?P<what>call|setup|teardown) +(?P<test>tests/\S+::[^\[]+)(?P<case>\[.*\])?$"
)


class There:
    """The tests that can be collected: how many cases each has, and what of its file is set up once for all of them."""

    def __init__(self) -> None:
        import pytest

        self.cases: Counter[str] = Counter()
        self.once: dict[str, list[str]] = {}
        os.environ["FEDSPEC_PROFILE"] = "soak"
        if code := pytest.main(["--collect-only", "-qq"], plugins=[self]):
            sys.exit(f"pytest collects nothing: {code!r}")

    def pytest_collection_finish(self, session: object) -> None:
        from shares import once

        for item in session.items:  # type: ignore[attr-defined]
            name = item.nodeid.partition("[")[0]
            self.cases[name] += 1
            self.once[name] = once(item)


def read(lines: list[str], there: There) -> dict[str, tuple[int, float]]:
    """Of each test that was timed, the seconds of all its cases together; of what is set up once, its own."""
    cases: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = defaultdict(float)
    set_up: dict[str, float] = {}
    for line in lines:
        if not (found := _LINE.match(line)) or (test := found["test"]) not in there.cases:
            continue
        cases[test].add(found["case"] or "")
        if found["what"] == "setup" and there.once[test]:
            for row in there.once[test]:
                set_up[row] = max(set_up.get(row, 0), float(found["seconds"]))
        else:
            seconds[test] += float(found["seconds"])
    each = {test: (there.cases[test], seconds[test] * there.cases[test] / len(cases[test])) for test in cases}
    return each | {row: (1, taken) for row, taken in set_up.items()}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("logs", nargs="+", type=Path, help="what pytest printed")
    asked.add_argument("--scale", type=float, default=1, help="a second of the log in seconds of a quiet machine")
    given = asked.parse_args()
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT / "tests"))
    there = There()
    alive = {*there.cases, *(row for rows in there.once.values() for row in rows)}
    known = {test: tuple(row) for test, row in json.loads(TABLE.read_text()).items()} if TABLE.exists() else {}
    for log in given.logs:
        for test, (many, seconds) in read(log.read_text(errors="replace").splitlines(), there).items():
            known[test] = (many, round(given.scale * seconds, 2))
    rows = {test: row for test, row in sorted(known.items()) if row[1] >= WORTH and test in alive}
    lines = (f"  {json.dumps(test)}: {json.dumps(row)}" for test, row in rows.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(rows)} tests take {sum(row[1] for row in rows.values()):.0f} s of one processor together")


if __name__ == "__main__":
    main()
