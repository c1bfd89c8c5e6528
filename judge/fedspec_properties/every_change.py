"""Laws of servers that read every change of a round, and not their mean alone."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec.facts import Fact
from fedspec_properties.unrolled import WRITTEN
from fedspec_properties.unrolled import check as follows_history
from fedspec_suite.laws.asked import any_fact, both
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.cases import server_scenarios
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting

FAR = 2.0**20
"""What nobody else comes near."""


def _several(setting: Setting) -> st.SearchStrategy[Scenario]:
    return server_scenarios(setting, rounds=(1, 2), clients=(5, 7))


TOGETHER = (Fact.ORDERED, Fact.ELECTING, Fact.DISTANT, Fact.CENTRED, Fact.EXTRAPOLATING)
LAWS = (
    Law(
        id="of-several",
        words="where five clients or more take part, the model is what all their changes make",
        levels=("server",),
        source="ranks by subsets; lengths by what changes are apart",
        cases=_several,
        check=follows_history,
        applies=both(any_fact(*TOGETHER), WRITTEN),
    ),
)
