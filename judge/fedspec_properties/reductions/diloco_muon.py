"""Reductions of DiLoCo with Muon.

To itself by its memory, without rounds that change nothing, and with the rate elsewhere.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Event, Round
from fedspec_properties.reductions.diloco import ELSEWHERE, in_single_steps, last_of_round
from fedspec_properties.reductions.edge import fixing, told
from fedspec_properties.reductions.rounds import ALONE, of_rounds
from fedspec_suite.measure.scenario import Scenario, posed, problem_of, with_hyper
from fedspec_suite.measure.setting import Setting


def _second_idle(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Three rounds of one client each, of whom the second has an objective that is 0 everywhere."""
    p, still = problem_of(s), np.array([1, 0])
    s = posed(s, H=p.H * still[:, None, None].astype(p.H.dtype), e=p.e * still[:, None].astype(p.e.dtype))
    steps = draw(st.tuples(*[st.integers(1, 2)] * 3))
    events = tuple(Round((i,), (K,)) for i, K in zip((0, 1, 0), steps, strict=True))
    return with_hyper(replace(s, events=events), wd=0.0, beta=0.0)


def _is_idle(e: Event) -> bool:
    return isinstance(e, Round) and e.participants == (1,)


def _without_the_second(s: Scenario) -> Scenario:
    return told(s, "diloco-muon", tuple(e for e in s.events if not _is_idle(e)))


EDGES = (
    of_rounds(
        id="diloco-muon-idle-round",
        source="diloco-muon",
        target="diloco-muon",
        when="a round of a client whose objective is 0 is left out, beta = 0 and wd = 0: others keep their momentum",
        cited="by its definition: nobody's momentum moves but that of who takes part",
        carry=_without_the_second,
        narrow=_second_idle,
        needs=("wd", "beta"),
        zeroes=("wd", "beta"),
        at=lambda s, k: sum(not _is_idle(e) for e in s.events[: k + 1]) - 1,
        draw={"clients": (2, 2), "everyone": True},
        roots=True,
    ),
    of_rounds(
        id="diloco-muon-rate-elsewhere",
        source="diloco-muon",
        target="diloco-muon",
        when="the rate stays what it is, as with the rate inside the buffer where it was outside, or outside it",
        cited="by its definition: v inside is eta times v outside",
        carry=lambda s: told(s, "diloco-muon", options={"rated": ELSEWHERE[s.case.options["rated"]]}),
        roots=True,
    ),
    of_rounds(
        id="diloco-muon-in-single-steps",
        source="diloco-muon",
        target="diloco-muon",
        when="one client, eta = 1 and beta = 0: a round of H steps is H rounds of one step, since its momentum goes on",
        cited="by its definition: the mean of one client is its model",
        carry=in_single_steps("diloco-muon"),
        narrow=fixing(eta=1.0, beta=0.0),
        needs=("eta", "beta"),
        zeroes=("beta",),
        at=last_of_round,
        draw={**ALONE, "everyone": True},
        roots=True,
    ),
)
