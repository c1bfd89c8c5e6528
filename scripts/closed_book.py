"""Diagnose mutants while the catalogue of mutants is closed: ``python scripts/closed_book.py [--check] [--count 60]``.

Each mutant of a fixed sample is judged as a stranger's mistake would be: no listed mutant may name it. One JSON line
a mutant goes to closed_book.jsonl: what was found wrong, where, and the names that fit. A change of the diagnosis is
compared with these lines (``--check``: exit code 1 if a place or a name is another; the names that were lost and found
are printed).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.contract import SubjectInfo
from fedspec_suite.diagnosis import variants
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of
from fedspec_suite.mutants import MUTANTS, Mutated

STORED = Path(__file__).with_name("closed_book.jsonl")


def rows(sample: list[str]) -> Iterator[dict[str, Any]]:
    """Diagnose each mutant of a sample, and yield its record."""
    mutants = {name: MUTANTS[name] for name in sample}
    variants.MUTANTS = {}  # type: ignore[attr-defined]
    for name in sorted(sample):
        subject = Mutated(mutants[name])
        offers = [o for o in subject.info.offers if mutants[name].options.items() <= setting_of(o).options.items()]
        offer = replace((offers or [*subject.info.offers])[0], dtypes=("float64",))
        written: Any = SimpleNamespace(info=SubjectInfo("written", "1", (offer,)), start=subject.start)
        setting, begun = setting_of(offer), time.process_time()
        with np.errstate(all="ignore"):
            d = identify(bench_of(InProcess(written), offer, setting), setting, further=False)
        yield {
            "mutant": name,
            "offer": f"{offer.algorithm}/{offer.level}/{offer.reading}",
            "found": [f"{f.words} at {f.equation}" for f in d.found],
            "seen": d.seen if isinstance(d.seen, str) else "",
            "seconds": round(time.process_time() - begun, 1),
        }


def main() -> int:
    """Write the records, or compare them with the stored ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--count", type=int, default=60)
    given = parser.parse_args()
    before = {r["mutant"]: r for r in map(json.loads, STORED.read_text(encoding="utf-8").splitlines())}
    # A check takes the stored sample: one that is drawn is another when a mutant joins.
    found = [*rows([*before] if given.check else random.Random(7).sample(sorted(MUTANTS), given.count))]
    print(
        f"{sum(map(bool, (r['found'] for r in found)))} of {len(found)} named, "
        f"{sum(r['seconds'] for r in found) / len(found):.1f} s of processor each"
    )
    if not given.check:
        STORED.write_text("".join(f"{json.dumps(r)}\n" for r in found), encoding="utf-8")
        return 0
    other = [r for r in found if r["found"] != before[r["mutant"]]["found"]]
    for r in other:
        print(f"{r['mutant']}: was {before[r['mutant']]['found']}, is {r['found']}")
    return int(bool(other))


if __name__ == "__main__":
    sys.exit(main())
