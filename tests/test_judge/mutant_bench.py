"""Judges mutants in a process without the tests' import hook: an id a line in, a JSON object a line out."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import Any

from fedspec.contract import Offer
from fedspec_suite import mutants
from fedspec_suite.judge import runner
from fedspec_suite.judge.bench import Bench
from fedspec_suite.judge.diagnosis import diagnose
from fedspec_suite.judge.verdict import Status
from fedspec_suite.laws import LAWS, Law
from fedspec_suite.laws.cases import Setting

CASES = 12


def telling_offer(mutant: mutants.Mutant, offers: tuple[Offer, ...]) -> Offer:
    """An offer on which the edited rule runs, and under the reading of the edit if one has it."""
    client = mutant.rule.startswith("fedspec.client.")
    seen = [replace(o, dtypes=("float64",)) for o in offers if not (client and o.level == "server")]
    apt = [o for o in seen if mutant.options.items() <= runner.setting_of(o, "float64").options.items()]
    return (apt or seen)[0]


def kills(law: Law, bench: Bench, setting: Setting) -> bool:
    """Whether a law that applies finds a deviation."""
    if law.why_not(setting, bench.offer.intermediates, concurrent=True):
        return False
    return runner.run_law(law, bench, setting, CASES, seed=0).status is Status.FAIL


def judge(name: str) -> dict[str, Any]:
    """The rule-following law and the first other law that kill a mutant, and what the diagnosis says."""
    mutant = mutants.find(name)
    subject = mutants.Mutated(mutant)
    offer = telling_offer(mutant, subject.info.offers)
    setting = runner.setting_of(offer, "float64")
    bench = Bench(subject, setting.algorithm, offer, setting.options, "float64")
    others = (law.id for law in LAWS.values() if not law.reads_rule and kills(law, bench, setting))
    return {
        "offer": f"{offer.algorithm}/{offer.level}/{offer.reading}",
        "follows": kills(LAWS["follows-x"], bench, setting),
        "other": next(others, None),
        "nearest": diagnose(bench, setting),
    }


def main() -> None:
    """Answer until the input ends."""
    # The outcome matters here, not the smallest case.
    runner.SHRINKING = 0
    for line in sys.stdin:
        print(json.dumps(judge(line.strip())), flush=True)


if __name__ == "__main__":
    main()
