"""Laws ``follows-*``: each vector that the subject returns agrees with the rule, in every round or step."""

from __future__ import annotations

from hypothesis import strategies as st

from fedspec.catalogue import CATALOGUE
from fedspec.contract import LEVELS, Arrival, Begin
from fedspec_suite.laws.law import Check, Law
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.buffer_cases import MEAN, buffered_scenarios, draw_buffers, sending_buffers
from fedspec_suite.measure.cases import scenarios
from fedspec_suite.measure.scenario import Scenario, describe
from fedspec_suite.measure.setting import Setting

_ORDER = (
    *("mix_t", "delta_i", "delta", "w", "c_i", "tau_eff", "u", "m", "v", "m_i", "s_i", "v_hat", "u_tilde", "nu"),
    *("c", "lam_i", "h", "rate", "x", "v_i"),
)
"""Intermediates in the order in which a step computes them, so that the first deviation is the cause."""

SHOWN = (*_ORDER, *sorted({name for a in CATALOGUE.values() for name in a.shows} - {*_ORDER}))


def _follows(name: str) -> Check:
    def check(bench: Bench, s: Scenario) -> None:
        want, answers = bench.both(s)
        for k, got in enumerate(answers):
            if isinstance(s.events[k], Begin) or name not in want[k]:
                continue
            where = f"{describe(s.events[k])} {k + 1}"
            if name not in got:
                raise bench.missing([name], where, waits=isinstance(s.events[k], Arrival))
            bench.compare(name, got[name], want[k][name], where)

    return check


@st.composite
def _buffered(draw: st.DrawFn, setting: Setting) -> Scenario:
    """Draw a case whose buffers are large beside the model, which depends on none of them."""
    s: Scenario = draw(buffered_scenarios(setting))
    assert s.case.buffers is not None
    d = len(s.case.buffers[MEAN])
    return sending_buffers(s, lambda m: draw_buffers(draw, d, setting.dtype, most=10**6))


def _cases(setting: Setting) -> st.SearchStrategy[Scenario]:
    """The small cases, with buffers if the offer says what becomes of them."""
    return _buffered(setting) if setting.buffers else scenarios(setting)


def law_of(name: str) -> str:
    """Return the id of the law that compares ``x`` or an intermediate with the rule's."""
    return f"follows-{name.replace('_', '-')}"


def following(name: str) -> Law:
    """Return the law that an intermediate agrees with the rule."""
    return Law(
        id=law_of(name),
        words=f"{name} equals the rule's, in every round or step",
        levels=LEVELS,
        source="the rule itself",
        cases=_cases,
        check=_follows(name),
        shows="" if name == "x" else name,
        reads_rule=True,
    )


LAWS = tuple(map(following, SHOWN))
