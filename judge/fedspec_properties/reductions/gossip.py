"""Reductions among AFGA's algorithms, whose clients exchange models and whose server adapts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Exchange, Quadratics, Round
from fedspec_properties.reductions.edge import Edge, told
from fedspec_properties.reductions.exchanges import (
    FOUR,
    changed,
    complete,
    embedded,
    evened,
    exchanges,
    halves,
    one_cluster,
    one_set,
    size,
    unmixed,
)
from fedspec_suite.measure.parts import draw_some
from fedspec_suite.measure.scenario import Scenario
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.traces import draw_mixing


def _in_halves(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    n = size(s)
    m = draw(st.integers(1, n // 2))

    def divide(e: Exchange) -> Exchange:
        W = np.zeros((n, n), dtype=e.mixing.dtype)
        for V in halves(n):
            W[np.ix_(V, V)] = draw_mixing(draw, len(V), setting.dtype)
        senders = tuple(i for V in halves(n) for i in draw(st.permutations(V))[:m])
        return replace(e, senders=senders, mixing=W)

    return exchanges(s, divide)


def _any_senders(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return exchanges(s, lambda e: replace(complete(e), senders=draw_some(draw, size(s))))


def _rounds(s: Scenario, algorithm: str = "fedamsgrad") -> Scenario:
    """Every exchange as a round in which the senders take its local steps."""
    events = [Round(e.senders, (len(e.computing),) * len(e.senders)) for e in s.events if isinstance(e, Exchange)]
    return told(s, algorithm, events, level="round")


def _as(algorithm: str, change: Callable[[Exchange], Exchange] = lambda e: e) -> Callable[[Scenario], Scenario]:
    def carry(s: Scenario) -> Scenario:
        return told(s, algorithm, exchanges(s, lambda e: change(replace(e, clusters=()))).events)

    return carry


def _embedded(algorithm: str) -> Callable[[Scenario], Scenario]:
    return lambda s: told(s, algorithm, exchanges(s, lambda e: embedded(e, size(s))).events)


def _as_cafga(s: Scenario) -> Scenario:
    return told(s, "cafga", exchanges(s, lambda e: replace(e, clusters=halves(size(s)))).events)


def _as_one_client(s: Scenario) -> Scenario:
    """One client whose objective is everybody's mean."""
    problem = s.case.problem
    assert problem is not None
    mean = Quadratics(problem.H.mean(axis=0)[None], problem.e.mean(axis=0)[None], np.ones(1))
    events = [Round((0,), (len(e.computing),)) for e in s.events if isinstance(e, Exchange)]
    return told(replace(s, case=replace(s.case, problem=mean)), "fedamsgrad", events, level="round")


_BOX: Sequence[str] = ("AFGA, L220-223", "AFGA, Alg. 2 (L355-402)", "AFGA, footnote 4 (L476-479)")

EDGES = (
    Edge(
        id="afga-is-fedamsgrad",
        source="afga",
        target="fedamsgrad",
        when="nobody mixes (W = I) and S_(r,t) = S_r",
        cited=_BOX[0],
        level="trace",
        carry=_rounds,
        narrow=changed(unmixed, one_set),
        roots=True,
    ),
    Edge(
        id="afga-is-gossip-fedamsgrad",
        source="afga",
        target="gossip-fedamsgrad",
        when="S_(r,t) = S_r",
        cited="AFGA, Table 4 (L561-567)",
        level="trace",
        carry=_as("gossip-fedamsgrad"),
        narrow=changed(one_set),
        roots=True,
    ),
    Edge(
        id="afga-is-one-client",
        source="afga",
        target="fedamsgrad",
        when="W = J and everybody computes: one client with the mean objective, whoever sends",
        cited="AFGA, eq. (10)",
        level="trace",
        carry=_as_one_client,
        narrow=_any_senders,
        draw=FOUR,
        roots=True,
    ),
    Edge(
        id="afga-is-cafga",
        source="afga",
        target="cafga",
        when="W is block-diagonal and equally many of each block send",
        cited=_BOX[1],
        level="trace",
        carry=_as_cafga,
        narrow=_in_halves,
        draw={"clients": (2, 4)},
        roots=True,
    ),
    Edge(
        id="gossip-fedamsgrad-is-afga",
        source="gossip-fedamsgrad",
        target="afga",
        when="always: its sets are S_(r,t) = S_r",
        cited="AFGA, Table 4 (L561-567)",
        level="trace",
        carry=_as("afga"),
        roots=True,
    ),
    Edge(
        id="gossip-fedamsgrad-is-fedamsgrad",
        source="gossip-fedamsgrad",
        target="fedamsgrad",
        when="nobody mixes (W = I)",
        cited=_BOX[0],
        level="trace",
        carry=_rounds,
        narrow=changed(unmixed),
        roots=True,
    ),
    Edge(
        id="cafga-is-afga",
        source="cafga",
        target="afga",
        when="K = 1",
        cited=_BOX[1],
        level="trace",
        carry=_as("afga"),
        narrow=changed(one_cluster),
        options={"broadcast": "all"},
        roots=True,
    ),
    Edge(
        id="cafga-is-afga-in-blocks",
        source="cafga",
        target="afga",
        when="equally many of each cluster send",
        cited=_BOX[1],
        level="trace",
        carry=_as("afga"),
        narrow=changed(evened),
        options={"broadcast": "all", "cluster_weights": "equal"},
        roots=True,
    ),
    Edge(
        id="afga-a-is-afga",
        source="afga-a",
        target="afga",
        when="the others talk to nobody, and S_(r,t) = S_r",
        cited=_BOX[2],
        level="trace",
        carry=_embedded("afga"),
        options={"sampling": "round"},
        roots=True,
    ),
    Edge(
        id="afga-a-is-fedamsgrad",
        source="afga-a",
        target="fedamsgrad",
        when="nobody mixes (W = I)",
        cited=_BOX[2],
        level="trace",
        carry=_rounds,
        narrow=changed(unmixed),
        options={"sampling": "round"},
        roots=True,
    ),
    Edge(
        id="afga-a-is-afga-unmixed",
        source="afga-a",
        target="afga",
        when="nobody mixes (W = I), re-sampled",
        cited=_BOX[2],
        level="trace",
        carry=lambda s: told(s, "afga", exchanges(s, lambda e: replace(e, mixing=np.eye(size(s)))).events),
        narrow=changed(unmixed),
        options={"sampling": "step"},
        roots=True,
    ),
    Edge(
        id="cafga-a-is-afga-a",
        source="cafga-a",
        target="afga-a",
        when="K = 1",
        cited="AFGA, L440-442",
        level="trace",
        carry=_as("afga-a"),
        narrow=changed(one_cluster),
        roots=True,
    ),
    Edge(
        id="cafga-a-is-cafga",
        source="cafga-a",
        target="cafga",
        when="the others talk to nobody, and S_(r,t) = S_r",
        cited="AFGA, L440-442",
        level="trace",
        carry=_embedded("cafga"),
        options={"sampling": "round"},
        roots=True,
    ),
)
