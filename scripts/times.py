"""Write tests/times.json, how long each test takes, from what pytest printed with --durations=0 -vv.

`make times` runs all and reads that. Of what no log holds, what was known stays, unless the test is gone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
TABLE = ROOT / "tests" / "times.json"
WORTH = 1
"""Seconds that all cases of a test take together, from which on it stands in the table."""

_LINE = re.compile(r"^(?P<seconds>[\d.]+)s (?:call|setup|teardown) +(?P<test>tests/\S+::[^\[]+)(?P<case>\[.*\])?$")


def read(lines: list[str]) -> dict[str, tuple[int, float]]:
    """Of each test that was timed, how many cases there were and the seconds of all together."""
    cases: dict[str, set[str]] = defaultdict(set)
    seconds: dict[str, float] = defaultdict(float)
    for line in lines:
        if found := _LINE.match(line):
            cases[found["test"]].add(found["case"] or "")
            seconds[found["test"]] += float(found["seconds"])
    return {test: (len(cases[test]), seconds[test]) for test in cases}


def there() -> set[str]:
    """The tests that can be collected."""
    asked = [sys.executable, "-m", "pytest", "--collect-only", "-q"]
    ran = subprocess.run(
        asked, cwd=ROOT, capture_output=True, text=True, check=True, env=os.environ | {"FEDSPEC_PROFILE": "soak"}
    )
    return {line.partition("[")[0] for line in ran.stdout.splitlines() if "::" in line}


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("logs", nargs="+", type=Path, help="what pytest printed")
    asked.add_argument("--scale", type=float, default=1, help="a second of the log in seconds of a quiet machine")
    given = asked.parse_args()
    known = {test: tuple(row) for test, row in json.loads(TABLE.read_text()).items()} if TABLE.exists() else {}
    for log in given.logs:
        for test, (cases, seconds) in read(log.read_text(errors="replace").splitlines()).items():
            known[test] = (cases, round(given.scale * seconds, 1))
    alive = there()
    rows = {test: row for test, row in sorted(known.items()) if row[1] >= WORTH and test in alive}
    lines = (f"  {json.dumps(test)}: {json.dumps(row)}" for test, row in rows.items())
    TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(rows)} tests take {sum(row[1] for row in rows.values()):.0f} s of one processor together")


if __name__ == "__main__":
    main()
