"""Laws of steps along matrices: what becomes of singular values, of rows in another order, of a turned block.

Where a step is O(M) of a matrix M, O acts on its singular values alone.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.contract import Round
from fedspec.facts import Fact
from fedspec_properties.closed_forms import diloco_muon, muon
from fedspec_suite.laws.asked import entry, fact
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import client_scenarios, round_scenarios
from fedspec_suite.measure.scenario import Scenario, with_dtype, with_hyper
from fedspec_suite.measure.setting import Setting

SOURCE = "Jordan et al. (2024), with X = U diag(s) V': "


def _decomposed(bench: Bench, s: Scenario) -> None:
    # In double precision, whatever that of the subject.
    bench.follows(s, muon.models(with_dtype(s, "float64"), muon.by_singular_values))


def _of_rounds(bench: Bench, s: Scenario) -> None:
    bench.follows(s, [*diloco_muon.rounds(with_dtype(s, "float64"))])


@st.composite
def _sitting_out(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Two clients, of whom the first sits out the second of three rounds; a step each."""
    s: Scenario = draw(round_scenarios(setting, rounds=(1, 1), clients=(2, 2), everyone=True))
    rounds = (Round(S, (1,) * len(S)) for S in ((0, 1), (1,), (0, 1)))
    return with_hyper(replace(s, events=tuple(rounds)), ns_steps=1)


_SUMMED = entry(diloco_muon.KNOWN, "sum over its history (closed_forms/diloco_muon.py)")

LAWS = (
    Law(
        id="singular-values",
        words="each singular value of the momentum goes through the quintic by itself, and its two directions stay",
        levels=("client",),
        source=SOURCE + "a X + (b X X' + c (X X')^2) X is U diag(a s + b s^3 + c s^5) V'",
        cases=client_scenarios,
        check=_decomposed,
        applies=fact(Fact.MATRICES),
    ),
    Law(
        id="momentum-sits-out",
        words="a client goes on from the momentum with which it left, however long it stayed away",
        levels=("round",),
        source="Therien et al. (2025): the inner optimiser's state is its worker's",
        cases=_sitting_out,
        check=_of_rounds,
        applies=_SUMMED,
        needs=("ns_steps",),
    ),
)
