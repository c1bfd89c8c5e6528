"""Judges mutants in a process without the tests' import hook: an id a line in, a JSON object a line out."""

from __future__ import annotations

import json
import sys
from typing import Any

from fedspec.reference import SUBJECT
from fedspec_suite import mutants
from fedspec_suite.diagnosis.identify import diagnose
from fedspec_suite.judge import runner
from fedspec_suite.kills.asking import CASES, offered, offers_of
from fedspec_suite.laws import Law, every
from fedspec_suite.measure.bench import Bench, bench_of
from fedspec_suite.measure.verdict import Status

LIKELY = ("follows-x", "unrolled", "affine-round", "joint-history", "arrivals-unrolled", "peers-recursion")
"""The laws that kill most mutants."""


def kills(law: Law, mutant: mutants.Mutant, number: int) -> bool:
    """Whether a law that applies finds a deviation on an offer of the specification."""
    bench = mutated(mutant, number)
    setting = offered(number)
    if law.why_not(setting, bench.offer.intermediates, concurrent=True):
        return False
    return runner.run_law(law, bench, setting, CASES, seed=0).status is Status.FAIL


def mutated(mutant: mutants.Mutant, number: int) -> Bench:
    """A bench with a mutant that remembers nothing yet."""
    return bench_of(mutants.Mutated(mutant), SUBJECT.info.offers[number], offered(number))


def judge(name: str) -> dict[str, Any]:
    """A rule-following law and another that kill a mutant, an offer where they do, and what the diagnosis says there.

    The laws that kill most mutants are tried first.
    """
    mutant = mutants.find(name)
    laws = sorted(every().values(), key=lambda law: law.id not in LIKELY)
    found: dict[str, Any] = {}
    for number in offers_of(mutant):
        offer = SUBJECT.info.offers[number]
        follows = next((w.id for w in laws if w.reads_rule and kills(w, mutant, number)), None)
        other = next((w.id for w in laws if not w.reads_rule and kills(w, mutant, number)), None) if follows else None
        if found.get("nearest") and not other:
            continue
        where = f"{offer.algorithm}/{offer.level}/{offer.reading}"
        found = {"offer": where, "follows": follows, "other": other, "nearest": ""}
        if follows and other:
            found["nearest"] = diagnose(mutated(mutant, number), offered(number))
            # Where the models do not show it, as at a server whose variate is wrong, it has no name.
            if mutant.words in found["nearest"]:
                return found
    return found


def main() -> None:
    """Answer until the input ends."""
    # The outcome matters here, not the smallest case.
    runner.SHRINKING = 0
    for line in sys.stdin:
        print(json.dumps(judge(line.strip())), flush=True)


if __name__ == "__main__":
    main()
