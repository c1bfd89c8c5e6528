"""Reductions of DiLoCo, of its variant with Muon, and of streaming DiLoCo.

To servers with less, to itself with the rate elsewhere, by its memory, and without rounds that change nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Event, Round
from fedspec.readings import Rated
from fedspec_properties.reductions.edge import reduces, rooted
from fedspec_properties.reductions.rounds import ALONE, in_rounds
from fedspec_suite.measure.scenario import Scenario, in_one_coordinate, posed, problem_of
from fedspec_suite.measure.setting import Setting


def _in_single_steps(s: Scenario) -> Scenario:
    """Split rounds so that each local step is a round of its own."""
    events = (replace(e, steps=(1,)) for e in s.events if isinstance(e, Round) for _ in range(e.steps[0]))
    return replace(s, events=tuple(events))


def _last_of_round(s: Scenario, k: int) -> int:
    """Index of the round of single steps that ends with round k."""
    return sum(e.steps[0] for e in s.events[: k + 1] if isinstance(e, Round)) - 1


def _elsewhere(h: Any, o: Any) -> str:
    """The other place of the rate."""
    return Rated.BUFFER.value if o["rated"] == Rated.STEP.value else Rated.STEP.value


def _second_idle(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Three rounds of one client each, of whom the second has an objective that is 0 everywhere."""
    p, still = problem_of(s), np.array([1, 0])
    s = posed(s, H=p.H * still[:, None, None].astype(p.H.dtype), e=p.e * still[:, None].astype(p.e.dtype))
    steps = draw(st.tuples(*[st.integers(1, 2)] * 3))
    events = tuple(Round((i,), (K,)) for i, K in zip((0, 1, 0), steps, strict=True))
    return replace(s, events=events)


def _is_idle(e: Event) -> bool:
    return isinstance(e, Round) and e.participants == (1,)


CITED = "external: Douillard et al. (2023)"
ELSEWHERE = "the rate stays what it is, as with the rate inside the buffer where it was outside, or outside it"
ONE_MODEL = "one client, eta = 1 and beta = 0: a round of H steps is H rounds of one step, since its"
GOING_ON: dict[str, Any] = {"eta": 1.0, "beta": 0.0, "everyone": True, **ALONE}

EDGES = (
    reduces("diloco", "fedavg", f"{CITED}; by its definition", levels=("server",)).under(beta=0.0),
    reduces("diloco", "fedavgm", f"{CITED}, OuterOpt; Hsu, Qi and Brown (2019)", levels=("server",)).under(
        "its rate is outside the buffer, which is a sum; the server alone", momentum_sum="sum", rated="step"
    ),
    rooted("diloco", "diloco", "by its definition: v inside is eta times v outside")
    .named("diloco-rate-elsewhere")
    .under(ELSEWHERE)
    .told(rated=_elsewhere),
    in_rounds("diloco", "diloco", "by its definition: the mean of one client is its model", roots=True)
    .named("diloco-in-single-steps")
    .under(f"{ONE_MODEL} state goes on", inner="kept", **GOING_ON)
    .told(_in_single_steps, at=_last_of_round),
    reduces(
        "diloco", "fedavg-normalised", "by its definition: in one dimension g / (sqrt(g^2) + eps) is g over its length"
    ).under(
        "the model has one coordinate and nothing remembers: beta1 = beta2 = beta = 0, wd = 0, eta = 1",
        in_one_coordinate,
        weights="uniform",
        beta1=0.0,
        beta2=0.0,
        wd=0.0,
        eta=1.0,
        beta=0.0,
    ),
    rooted("diloco-muon", "diloco-muon", "by its definition: nobody's momentum moves but that of who takes part")
    .named("diloco-muon-idle-round")
    .under("a round of a client whose objective is 0 is left out, beta = 0 and wd = 0: others keep their momentum")
    .under(narrow=_second_idle, wd=0.0, beta=0.0, clients=(2, 2), everyone=True)
    .told(
        lambda s: replace(s, events=tuple(e for e in s.events if not _is_idle(e))),
        at=lambda s, k: sum(not _is_idle(e) for e in s.events[: k + 1]) - 1,
    ),
    rooted("diloco-muon", "diloco-muon", "by its definition: v inside is eta times v outside")
    .named("diloco-muon-rate-elsewhere")
    .under(ELSEWHERE)
    .told(rated=_elsewhere),
    rooted("diloco-muon", "diloco-muon", "by its definition: the mean of one client is its model")
    .named("diloco-muon-in-single-steps")
    .under(f"{ONE_MODEL} momentum goes on", **GOING_ON)
    .told(_in_single_steps, at=_last_of_round),
    rooted(
        "streaming-diloco",
        "diloco",
        "external: Douillard et al. (2025): one fragment that travels in no time and is taken whole",
    ).under(P=1, overlap=0, own=0.0),
)
