"""Laws of servers that read what clients lose."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec.arith import digits
from fedspec_properties.closed_forms import fair
from fedspec_suite.laws.asked import both, entry, reads_losses, settable
from fedspec_suite.laws.law import Law
from fedspec_suite.laws.relations import same
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios, server_scenarios
from fedspec_suite.measure.scenario import Scenario, losing, running, with_hyper
from fedspec_suite.measure.setting import Setting


def _follows_shares(bench: Bench, s: Scenario) -> None:
    with digits():
        want = fair.models(running(s))
    bench.follows(s, want)


def _in_another_unit(setting: Setting) -> st.SearchStrategy[tuple[Scenario, Scenario]]:
    def scaled(s: Scenario) -> tuple[Scenario, Scenario]:
        h = s.case.hyper
        return s, with_hyper(losing(s, 4.0), eta_l=h["eta_l"] / 4, guard=h["guard"] * 4)

    return server_scenarios(setting).map(scaled)


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
    Law(
        id="loss-unit",
        words="the same changes, with losses and guard times 4 and eta_l over 4: the same path",
        levels=("server",),
        source="external: Li et al. (2020), Algorithm 2: sum d_i and sum h_i both grow by 4^(q + 1)",
        cases=_in_another_unit,
        check=same,
        applies=both(reads_losses, settable("eta_l", "guard")),
    ),
)
