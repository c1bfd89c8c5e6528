"""Reductions of delayed Nesterov: to the momentum that moves in every round, and to what has none."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from fedspec.contract import Arrival, Event, Round
from fedspec_properties.reductions.edge import Edge, pinned, told
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting


def _begun_together(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Blocks of one update of every client, all begun where the block begins, without activation; or blocks of one."""
    assert s.case.problem is not None
    n = len(s.case.problem.H)
    N = draw(st.sampled_from((n, n, 1)))
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        who = draw(st.permutations(range(n)))
        events += [Arrival(i, draw(st.integers(1, 4)), at % N) for at, i in enumerate(who)]
    s = with_hyper(s, N=N) if N == 1 else with_hyper(s, N=N, c=0.0)
    return replace(s, events=tuple(events))


def _blocks(s: Scenario) -> list[Event]:
    arrivals, N = [e for e in s.events if isinstance(e, Arrival)], int(s.case.hyper["N"])
    groups = [arrivals[k : k + N] for k in range(0, len(arrivals), N)]
    return [Round(tuple(a.client for a in group), tuple(a.steps for a in group)) for group in groups]


def _at_the_end(s: Scenario, k: int) -> int | None:
    block, over = divmod(k + 1, int(s.case.hyper["N"]))
    return None if over else block - 1


EDGES = (
    Edge(
        id="delayed-nesterov-is-fedavgm",
        source="delayed-nesterov",
        target="fedavgm",
        when="a block's updates begin where it does, and c = 0 or N = 1: Nesterov's momentum, at the end of a block",
        cited="external: Liu et al. (2024); the N moves of a block sum to eta (Delta / N + beta m)",
        level="trace",
        carry=lambda s: told(
            s,
            "fedavgm",
            _blocks(s),
            level="round",
            options={"momentum": "nesterov", "momentum_sum": "sum", "weights": "uniform"},
        ),
        narrow=_begun_together,
        needs=("N", "c"),
        zeroes=("c",),
        at=_at_the_end,
    ),
    pinned(
        source="delayed-nesterov",
        target="fedbuff",
        cited="external: Liu et al. (2024): without momentum every update is added at once, over N",
        level="trace",
        values={"beta": 0.0},
        carry=lambda s: told(
            s,
            "fedbuff",
            options={"staleness": "constant"},
            hyper={"buffer": 1, "eta": s.case.hyper["eta"] / s.case.hyper["N"]},
        ),
    ),
)
