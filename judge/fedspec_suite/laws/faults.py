"""Law of faulty messages: the server treats each kind as its claim declares."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec.faults import KINDS, Treatment
from fedspec_suite.laws.applicability import has_faults
from fedspec_suite.laws.law import Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.fault_cases import (
    dealt,
    faulty_round,
    from_the_start,
    implied,
    in_another_block,
    observed,
    spoilt_block,
)
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation


def _cases(setting: Setting) -> st.SearchStrategy[Scenario]:
    return st.integers(0, 10**6).map(lambda number: dealt(setting, number))


def does(found: tuple[Treatment, ...], said: str) -> str:
    """Describe what a subject does with a faulty message."""
    if found == (Treatment.RAISES,):
        return f"raises ({said})"
    return " or ".join(found) if found else f"does something else ({said})"


def _as_declared(bench: Bench, s: Scenario) -> None:
    for kind, declared in bench.offer.faults.items():
        places = {"": s}
        if kind in ("nan", "infinite"):
            other = in_another_block(s)
            one, two = (spoilt_block(case, kind) for case in (s, other))
            if two != one:
                places[f" in block {two}, not {one}"] = other
        first = from_the_start(s)
        if kind != "stale" and _means_something(first, kind, declared):
            places[" in two messages"] = first
        for where, case in places.items():
            found, said = observed(bench, case, kind)
            if declared not in found:
                note = f"{KINDS[kind][0]}{where} ({kind}): declared {declared}, but {does(found, said)}"
                raise Deviates(Deviation(bench.step_equation, f"round {faulty_round(case) + 1}", note=note))


def _means_something(s: Scenario, kind: str, declared: str) -> bool:
    """False if the rule refuses what is left of the round, as rules with a least number of messages do."""
    return declared == Treatment.RAISES or implied(s, kind, Treatment(declared)) is not None


LAWS = (
    Law(
        id="faults-as-declared",
        words="the server does with messages that aren't right what its claim declares",
        levels=("server",),
        source="external: fedspec.faults",
        cases=_cases,
        check=_as_declared,
        applies=has_faults,
        costs=6,
        simplify=lambda bench, s, broken: broken,
    ),
)
