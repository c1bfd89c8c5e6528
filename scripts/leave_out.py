"""Measure the share of unlisted mistakes that the diagnosis names: ``python scripts/leave_out.py --sample 40 --seed
1``.

A mutant is a wrong rule that somebody wrote by hand. Each mutant of a random sample is diagnosed as a stranger's code
would be, with the whole catalogue of mutants closed: readings, other algorithms, generic defects and mechanical edits
are left. The script prints each diagnosis, and the share that got a name; whether a name is right is for a reader.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis import variants
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.identify import identify
from fedspec_suite.judge.mutant_runs import offer_setting, offers_of
from fedspec_suite.measure.bench import bench_of


def said_of(level: str, name: str) -> tuple[str, bool, str]:
    """Return a mutant's first claim on which its models deviate, whether the diagnosis names it, and the diagnosis.

    No offer stands for a mutant whose models are those of the claim on every sample: it has nothing to be named by.
    """
    variants.MUTANTS = {}
    mutant = mutants.find(name)
    for number in offers_of(mutant):
        offer = SUBJECT.info.offers[number]
        if level and offer.level != level:
            continue
        setting = offer_setting(number)
        found = identify(bench_of(mutants.Mutated(mutant), offer, setting), setting, further=True)
        if not found.follows:
            return (
                f"{offer.algorithm}/{offer.level}/{offer.reading}",
                bool(found.found or found.fitted),
                in_words(found, model_failed=True),
            )
    return "", False, ""


def main(argv: Sequence[str] | None = None) -> None:
    """Diagnose a sample of mutants, and print the results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="mutants, in place of a sample")
    parser.add_argument("--sample", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--level", default="", help="offers of this level alone")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args(argv)
    chosen = given.names or random.Random(given.seed).sample(sorted(mutants.MUTANTS), given.sample)
    begun, named, asked = time.monotonic(), 0, 0
    with ProcessPoolExecutor(given.jobs) as pool:
        for name, (offer, has, words) in zip(chosen, pool.map(partial(said_of, given.level), chosen), strict=True):
            asked, named = asked + bool(offer), named + has
            print(f"{'named' if has else 'UNNAMED' if offer else 'no deviation'}  {name} [{offer}]")
            print(f"    is: {mutants.find(name).words}\n    said: {words}", flush=True)
    print(f"{named} of {asked} named, {len(chosen) - asked} show no deviation; {time.monotonic() - begun:.0f} s")


if __name__ == "__main__":
    main()
