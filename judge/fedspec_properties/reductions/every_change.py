"""Reductions of servers that read every change of a round."""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from hypothesis import strategies as st

from fedspec.contract import Messages, Round
from fedspec_properties.reductions.edge import UNIFORM, Edge, fixing, pinned, told
from fedspec_suite.measure.scenario import Scenario, posed, with_hyper
from fedspec_suite.measure.setting import Setting

NEARLY_HALF = 0.4375
"""Of four or three messages it leaves one out at either end, of two or one none: what is left is the middle."""
BEYOND = 1024.0
"""Farther than changes of small cases are from each other."""
MANY = 16
"""More than any small case has clients."""


def _as_mean(s: Scenario) -> Scenario:
    return told(s, "fedavg", hyper={"eta": s.case.hyper.get("eta", 1)}, options=UNIFORM)


def _all_alike(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """The power is 0; and no loss is, whatever the numbers of the case are."""
    s = with_hyper(s, q=0.0)
    f = None if s.case.problem is None else s.case.problem.f
    return s if f is None else posed(s, f=f + 16)


def _without_losses(s: Scenario) -> Scenario:
    events = (
        replace(e, messages=tuple(replace(m, loss=None) for m in e.messages)) if isinstance(e, Messages) else e
        for e in s.events
    )
    bare = told(s, "fedavg", events=tuple(events), hyper={"eta": 1}, options=UNIFORM)
    problem = bare.case.problem
    return bare if problem is None else replace(bare, case=replace(bare.case, problem=replace(problem, f=None)))


def _all_kept(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Nobody is left out: as many are kept as the largest round has clients, or one more, or more than anybody has."""
    most = max(len(e.messages if isinstance(e, Messages) else cast("Round", e).participants) for e in s.events)
    return with_hyper(s, keep=draw(st.sampled_from((most, most + 1, MANY))))


EDGES = (
    Edge(
        id="fedexp-is-fedavg",
        source="fedexp",
        target="fedavg",
        when="one client takes part in a round",
        cited="its definition: the rate is max(1, 1/2 or less)",
        level="server",
        carry=lambda s: told(s, "fedavg", hyper={"eta": 1}),
        draw={"clients": (1, 1)},
        also=("round",),
        undecided=True,
    ),
    pinned(
        source="geometric-median",
        target="fedavg",
        cited="its definition: all distances count as nu",
        level="server",
        values={"smooth": BEYOND},
        carry=lambda s: told(s, "fedavg", hyper={"eta": s.case.hyper.get("eta", 1)}),
        also=("round",),
        roots=True,
    ),
    pinned(
        source="centred-clipping",
        target="fedavg",
        cited="its definition: nothing is clipped, and v + mean of (Delta_i - v) is the mean",
        level="server",
        values={"clip_norm": BEYOND},
        carry=_as_mean,
        also=("round",),
        roots=True,
        undecided=True,
    ),
    pinned(
        source="multi-krum",
        target="krum",
        cited="Blanchard et al. (2017): m = 1",
        level="server",
        values={"keep": 1},
        also=("round",),
        roots=True,
    ),
    Edge(
        id="multi-krum-is-fedavg",
        source="multi-krum",
        target="fedavg",
        when="at least as many are kept as take part in a round",
        cited="Blanchard et al. (2017): m = n",
        level="server",
        carry=lambda s: told(s, "fedavg", hyper={"eta": s.case.hyper.get("eta", 1)}),
        narrow=_all_kept,
        needs=("keep",),
        also=("round",),
        roots=True,
    ),
    Edge(
        id="median-is-fedavg",
        source="median",
        target="fedavg",
        when="two clients take part in a round at most, and they are not weighed",
        cited="its definition: the middle of two is their mean",
        level="server",
        options={"middle": "mean"},
        carry=_as_mean,
        draw={"clients": (1, 2)},
        also=("round",),
    ),
    Edge(
        id="q-fedavg-is-fedavg",
        source="q-fedavg",
        target="fedavg",
        when="q = 0",
        cited="external: Li et al. (2020): its objective is then the sum of the F_i",
        level="server",
        carry=_without_losses,
        narrow=_all_alike,
        needs=("q",),
        zeroes=("q",),
        also=("round",),
    ),
    pinned(
        source="trimmed-mean",
        target="fedavg",
        cited="its definition: nothing is left out",
        level="server",
        values={"trim": 0.0},
        carry=_as_mean,
        also=("round",),
    ),
    Edge(
        id="trimmed-mean-is-median",
        source="trimmed-mean",
        target="median",
        when="trim = 0.4375 and four clients take part in a round at most",
        cited="its definition: what is left is the middle",
        level="server",
        carry=lambda s: told(s, "median"),
        narrow=fixing(trim=NEARLY_HALF),
        needs=("trim",),
        also=("round",),
    ),
)
