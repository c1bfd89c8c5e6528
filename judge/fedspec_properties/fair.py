"""Laws of servers that read what clients lose."""

from __future__ import annotations

from fedspec.arith import digits
from fedspec_properties.closed_forms import fair
from fedspec_suite.laws.asked import both, entry, reads_losses
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.scenario import Scenario, running


def _follows_shares(bench: Bench, s: Scenario) -> None:
    with digits():
        want = fair.models(running(s))
    bench.follows(s, want)


LAWS = (
    Law(
        id="fair-shares",
        words="the mean of the changes by shares F_i^q, over 1 + (q / eta_l) times the mean of |Delta_i|^2 / F_i",
        levels=("server", "round"),
        source="external: Li et al. (2020), Algorithm 2, written with shares; on quadratics Delta_i by its matrix",
        cases=scenarios,
        check=_follows_shares,
        applies=both(reads_losses, entry(fair.KNOWN, "closed form by shares")),
    ),
)
