"""Laws of DiLoCo: what clients keep outlives the round, and every outer step is a sum over all mean changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from fedspec.arith import Array, digits
from fedspec_properties.closed_forms import diloco
from fedspec_suite.laws.asked import both, entry, sets_rates
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, running
from fedspec_suite.measure.varied import varied_scenarios

WRITTEN = entry(diloco.KNOWN, "sum over its history (closed_forms/diloco.py)")


def _follows(models: Callable[[Scenario], Iterator[Array]]) -> Check:
    def check(bench: Bench, s: Scenario) -> None:
        # What is known no more of a path that has gone far is no warning: the law then says nothing.
        with digits(), np.errstate(invalid="ignore", over="ignore"):
            want = list(models(running(s)))
        bench.follows(s, want)

    return check


LAWS = (
    Law(
        id="inner-history",
        words="clients from all gradients that their moments hold, the server from all mean changes, in sums",
        levels=("round",),
        source="external: Douillard et al. (2023): AdamW's state stays in the client, the outer one in the server",
        cases=round_scenarios,
        check=_follows(diloco.rounds),
        applies=WRITTEN,
    ),
    Law(
        id="outer-rates",
        words="where rounds say the outer rate anew, each move is a sum of all changes at the rates that reached them",
        levels=("server",),
        source="external: Sutskever et al. (2013), with the rate at the step or inside the buffer",
        cases=varied_scenarios,
        check=_follows(diloco.servers),
        applies=both(sets_rates, WRITTEN),
    ),
)
