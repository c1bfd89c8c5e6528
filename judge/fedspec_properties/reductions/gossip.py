"""Reductions among AFGA's algorithms, whose clients exchange models and whose server is adaptive."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.contract import Exchange, Quadratics, Round
from fedspec_properties.reductions.edge import rooted
from fedspec_properties.reductions.rounds import (
    FOUR,
    complete,
    each,
    evened,
    exchanges,
    halves,
    one_cluster,
    one_set,
    size,
    unmixed,
)
from fedspec_suite.measure.case_parts import draw_some
from fedspec_suite.measure.scenario import Scenario, problem_of
from fedspec_suite.measure.setting import Setting
from fedspec_suite.measure.trace_cases import draw_mixing


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


def _in_rounds(s: Scenario) -> Scenario:
    """Every exchange as a round in which the senders take its local steps."""
    events = (Round(e.senders, (len(e.computing),) * len(e.senders)) for e in s.events if isinstance(e, Exchange))
    return replace(s, events=tuple(events))


def _of_the_mean(s: Scenario) -> Scenario:
    """Replace all clients by a single one with the mean of their objectives."""
    p = problem_of(s)
    events = (Round((0,), (len(e.computing),)) for e in s.events if isinstance(e, Exchange))
    mean = Quadratics(p.H.mean(axis=0)[None], p.e.mean(axis=0)[None], np.ones(1))
    return replace(s, case=replace(s.case, problem=mean), events=tuple(events))


def _embedded(s: Scenario) -> Scenario:
    """The matrix of the senders among all clients, of whom the others talk to nobody."""

    def embed(e: Exchange) -> Exchange:
        W = np.eye(size(s), dtype=e.mixing.dtype)
        W[np.ix_(e.senders, e.senders)] = e.mixing
        return replace(e, mixing=W)

    return exchanges(s, embed)


EDGES = (
    rooted("afga", "fedamsgrad", "AFGA, L220-223")
    .under("nobody mixes (W = I) and S_(r,t) = S_r", each(unmixed, one_set))
    .told(_in_rounds),
    rooted("afga", "gossip-fedamsgrad", "AFGA, Table 4 (L561-567)").under("S_(r,t) = S_r", each(one_set)),
    rooted("afga", "fedamsgrad", "AFGA, eq. (10)")
    .named("afga-is-one-client")
    .under(
        "W = J and everybody computes: one client with the mean objective, whoever sends", narrow=_any_senders, **FOUR
    )
    .told(_of_the_mean),
    rooted("afga", "cafga", "AFGA, Alg. 2 (L355-402)")
    .under("W is block-diagonal and equally many of each block send", narrow=_in_halves, clients=(2, 4))
    .told(lambda s: exchanges(s, lambda e: replace(e, clusters=halves(size(s))))),
    rooted("gossip-fedamsgrad", "afga", "AFGA, Table 4 (L561-567)").under("always: its sets are S_(r,t) = S_r"),
    rooted("gossip-fedamsgrad", "fedamsgrad", "AFGA, L220-223")
    .under("nobody mixes (W = I)", each(unmixed))
    .told(_in_rounds),
    rooted("cafga", "afga", "AFGA, Alg. 2 (L355-402)").under("K = 1", each(one_cluster), broadcast="all"),
    rooted("cafga", "afga", "AFGA, Alg. 2 (L355-402)")
    .named("cafga-is-afga-in-blocks")
    .under("equally many of each cluster send", each(evened), broadcast="all", cluster_weights="equal"),
    rooted("afga-a", "afga", "AFGA, footnote 4 (L476-479)")
    .under("the others talk to nobody, and S_(r,t) = S_r", sampling="round")
    .told(_embedded),
    rooted("afga-a", "fedamsgrad", "AFGA, footnote 4 (L476-479)")
    .under("nobody mixes (W = I)", each(unmixed), sampling="round")
    .told(_in_rounds),
    rooted("afga-a", "afga", "AFGA, footnote 4 (L476-479)")
    .named("afga-a-is-afga-unmixed")
    .under("nobody mixes (W = I), re-sampled", each(unmixed), sampling="step")
    .told(_embedded),
    rooted("cafga-a", "afga-a", "AFGA, L440-442").under("K = 1", each(one_cluster)),
    rooted("cafga-a", "cafga", "AFGA, L440-442")
    .under("the others talk to nobody, and S_(r,t) = S_r", sampling="round")
    .told(_embedded),
)
