"""Diagnose mutants while the catalogue of mutants is closed: ``python scripts/closed_book.py [--check | --store]``.

Each mutant is judged as a stranger's mistake would be: no listed mutant may name it. The script prints each diagnosis,
and the share that got a name; whether a name is right is for a reader. ``--store`` keeps the records of a sample in
closed_book.jsonl. ``--check`` compares the same mutants with the stored records, prints the names that were lost and
found, and exits with 1 if a name is another.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.contract import SubjectInfo
from fedspec_suite import mutants
from fedspec_suite.diagnosis import variants
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.measure.bench import bench_of
from fedspec_suite.measure.in_process import InProcess
from fedspec_suite.measure.setting import setting_of

STORED = Path(__file__).with_name("closed_book.jsonl")


def record(name: str) -> dict[str, Any]:
    """Diagnose a mutant, and return what was found."""
    variants.MUTANTS = {}
    mutant = mutants.find(name)
    subject = mutants.Mutated(mutant)
    offers = [o for o in subject.info.offers if mutant.options.items() <= setting_of(o).options.items()]
    offer = replace((offers or [*subject.info.offers])[0], dtypes=("float64",))
    written: Any = SimpleNamespace(info=SubjectInfo("written", "1", (offer,)), start=subject.start)
    setting, begun = setting_of(offer), time.process_time()
    with np.errstate(all="ignore"):
        d = identify(bench_of(InProcess(written), offer, setting), setting, further=False)
    return {
        "mutant": name,
        "offer": f"{offer.algorithm}/{offer.level}/{offer.reading}",
        "found": [f"{f.words} at {f.equation}" for f in d.found],
        "seen": in_words(d, model_failed=True) if not d.found else "",
        "seconds": round(time.process_time() - begun, 1),
    }


def records(names: Sequence[str], jobs: int) -> Iterator[dict[str, Any]]:
    """Diagnose mutants in several processes, and print each diagnosis."""
    with ProcessPoolExecutor(jobs) as pool:
        for r in pool.map(record, names):
            print(f"{r['mutant']} [{r['offer']}], {r['seconds']} s\n    is: {mutants.find(r['mutant']).words}")
            print(f"    said: {'; or '.join(r['found']) or r['seen']}", flush=True)
            yield r


def main() -> int:
    """Print the diagnoses; store them, or compare them with the stored ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="mutants, in place of a sample")
    parser.add_argument("--sample", type=int, default=60)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--store", action="store_true")
    given = parser.parse_args()
    before = {r["mutant"]: r for r in map(json.loads, STORED.read_text(encoding="utf-8").splitlines())}
    sample = given.names or random.Random(given.seed).sample(sorted(mutants.MUTANTS), given.sample)
    # A check takes the stored sample: one that is drawn is another when a mutant joins.
    found = [*records(sorted(before if given.check else sample), given.jobs)]
    print(
        f"{sum(map(bool, (r['found'] for r in found)))} of {len(found)} named, "
        f"{sum(r['seconds'] for r in found) / len(found):.1f} s of processor each"
    )
    if given.store:
        STORED.write_text("".join(f"{json.dumps(r)}\n" for r in found), encoding="utf-8")
    other = [r for r in found if given.check and r["found"] != before[r["mutant"]]["found"]]
    for r in other:
        print(f"{r['mutant']}: was {before[r['mutant']]['found']}, is {r['found']}")
    return int(bool(other))


if __name__ == "__main__":
    sys.exit(main())
