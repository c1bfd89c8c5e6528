"""Laws independent of the rule: repeated runs agree, sessions don't interact, dtypes stay, inputs stay unchanged."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec.contract import LEVELS
from fedspec_suite.laws.law import PURITY, Law
from fedspec_suite.laws.relations import same_bits
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.process import SubjectError, SubjectHangs
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.verdict import Deviates, Deviation, NotOffered


def pairs(setting: Setting) -> st.SearchStrategy[tuple[Scenario, Scenario]]:
    """Return the strategy of two usual cases."""
    return st.tuples(scenarios(setting), scenarios(setting))


def _repeats(bench: Bench, s: Scenario) -> None:
    same_bits(bench, s, bench.both(s)[1], bench.play(s), "a second run of the same case differs from the first")


def _isolated(bench: Bench, both: tuple[Scenario, Scenario]) -> None:
    s, other = both
    bench.check_defined(other)
    alone = bench.both(s)[1]
    got = []
    try:
        mine, theirs = bench.subject.start(s.case), bench.subject.start(other.case)
        for k, event in enumerate(s.events):
            got.append(bench.read(mine.step(event), s, k, describe(event)))
            if k < len(other.events):
                theirs.step(other.events[k])
    except SubjectHangs:
        raise
    except SubjectError as error:
        note = f"a second session open at the same time makes it fail: {error}"
        raise Deviates(Deviation(bench.step_equation, "", note=note)) from error
    for session in (mine, theirs):
        getattr(session, "stop", lambda: None)()
    same_bits(bench, s, alone, got, "a second session open at the same time changes the first")


def _dtype(bench: Bench, s: Scenario) -> None:
    for k, got in enumerate(bench.both(s)[1]):
        if "dtype" not in got:
            raise NotOffered("skipped: the answers carry no dtype, such as float32")
        if got["dtype"][0] != s.case.dtype:
            where = f"{describe(s.events[k])} {k + 1}"
            note = f"x comes back as {got['dtype'][0]} from {s.case.dtype}"
            if (got["dtype"][0], s.case.dtype) == ("float64", "float32"):
                note += ": keep its type where your code computes it, since a NumPy float64 scalar or weight "
                note += "widens an array"
            raise Deviates(Deviation(bench.step_equation, where, note=note))


def _inputs(bench: Bench, s: Scenario) -> None:
    touched = [got.get("touched") for got in bench.both(s)[1]]
    if None in touched:
        raise NotOffered("skipped: the answers do not say whether inputs were changed")
    for k, what in enumerate(touched):
        if what is not None and what[0]:
            raise Deviates(Deviation(bench.step_equation, f"{describe(s.events[k])} {k + 1}", note=what[0]))


LAWS = (
    Law(
        id="repeats",
        words="the same case gives the same bits",
        levels=LEVELS,
        source=PURITY,
        cases=scenarios,
        check=_repeats,
    ),
    Law(
        id="isolated",
        words="two sessions at once do not disturb each other",
        levels=LEVELS,
        source=PURITY,
        cases=pairs,
        check=_isolated,
        needs_concurrency=True,
    ),
    Law(
        id="dtype",
        words="the model keeps its floating-point type",
        levels=LEVELS,
        source=PURITY,
        cases=scenarios,
        check=_dtype,
    ),
    Law(
        id="inputs",
        words="what is handed in is not changed in place",
        levels=LEVELS,
        source=PURITY,
        cases=scenarios,
        check=_inputs,
    ),
)
