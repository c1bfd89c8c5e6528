"""Reductions among the algorithms whose clients exchange models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Event, Exchange, Quadratics, Round
from fedspec.params import flatten
from fedspec_suite.laws.reductions.edge import Edge, told
from fedspec_suite.measure.cases import draw_mixing, draw_some
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

Narrow = Callable[[st.DrawFn, Setting, Scenario], Scenario]


def size(s: Scenario) -> int:
    """How many clients there are."""
    assert s.case.problem is not None
    return len(s.case.problem.H)


def exchanges(s: Scenario, f: Callable[[Exchange], Event]) -> Scenario:
    """The scenario with every exchange changed."""
    return replace(s, events=tuple(f(e) if isinstance(e, Exchange) else e for e in s.events))


def unmixed(e: Exchange) -> Exchange:
    """W = I."""
    return replace(e, mixing=np.eye(len(e.mixing), dtype=e.mixing.dtype))


def complete(e: Exchange) -> Exchange:
    """W = J, exact where the number of clients is a power of two."""
    return replace(e, mixing=np.full_like(e.mixing, 1 / len(e.mixing)))


def one_set(e: Exchange) -> Exchange:
    """S_(r,t) = S_r."""
    return replace(e, computing=(e.senders,) * len(e.computing))


def one_cluster(e: Exchange) -> Exchange:
    """K = 1."""
    return replace(e, clusters=(tuple(sorted(i for V in e.clusters for i in V)),))


def evened(e: Exchange) -> Exchange:
    """One sender in each cluster."""
    return replace(e, senders=tuple(next(i for i in e.senders if i in V) for V in e.clusters))


def embedded(e: Exchange, n: int) -> Exchange:
    """The matrix of the senders among all n clients, of whom the others talk to nobody."""
    W = np.eye(n, dtype=e.mixing.dtype)
    W[np.ix_(e.senders, e.senders)] = e.mixing
    return replace(e, mixing=W)


def halves(n: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Two clusters."""
    return tuple(range(n // 2)), tuple(range(n // 2, n))


def _all(*changes: Callable[[Exchange], Exchange]) -> Narrow:
    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        for change in changes:
            s = exchanges(s, change)
        return s

    return narrow


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


def _maximum(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, beta3=0.0)


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


def _first_row(s: Scenario) -> dict[str, Array]:
    return {"w": flatten(s.case.x0)[: flatten(s.case.x0).size // size(s)]}


def _for_everyone(s: Scenario, x: Array) -> Array:
    return np.tile(x, size(s))


def _steps(s: Scenario) -> list[int]:
    return [len(e.computing) for e in s.events if isinstance(e, Exchange)]


def _after_steps(s: Scenario, k: int) -> int:
    """The number, from 0, of the local step that event k ends with."""
    return sum(_steps(s)[: k + 1]) - 1


def _single_steps(s: Scenario) -> list[Event]:
    everyone = tuple(range(size(s)))
    return [Round(everyone, (1,) * len(everyone)) for tau in _steps(s) for _ in range(tau)]


def _local_sgd(s: Scenario) -> Scenario:
    everyone = tuple(range(size(s)))
    events = [Round(everyone, (tau,) * len(everyone)) for tau in _steps(s)]
    options = {"weights": "uniform"}
    return told(s, "fedavg", events, level="round", options=options, hyper={"eta": 1.0}, x0=_first_row(s))


def _minibatches(s: Scenario) -> Scenario:
    options = {"weights": "uniform"}
    events = _single_steps(s)
    return told(s, "fedavg", events, level="round", options=options, hyper={"eta": 1.0}, x0=_first_row(s))


def _as_dsgd(s: Scenario) -> Scenario:
    return told(s, "dsgd", options={"order": "adapt-then-combine"})


def _alone(s: Scenario) -> Scenario:
    """Rounds of one local step with rate 1: the change is minus the gradient."""
    hyper = {"eta": s.case.hyper["eta_l"], "eta_l": 1.0}
    options = {"epsilon": "outside"}
    events = _single_steps(s)
    return told(s, "fedamsgrad", events, level="round", options=options, hyper=hyper, x0=_first_row(s))


FOUR = {"clients": (4, 4), "everyone": True}
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
        narrow=_all(unmixed, one_set),
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
        narrow=_all(one_set),
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
        narrow=_all(unmixed),
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
        narrow=_all(one_cluster),
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
        narrow=_all(evened),
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
        narrow=_all(unmixed),
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
        narrow=_all(unmixed),
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
        narrow=_all(one_cluster),
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
    Edge(
        id="dsgd-is-fedavg",
        source="dsgd",
        target="fedavg",
        when="W = J: rounds of one local step of everybody",
        cited="Lian et al. (2017), Algorithm 1",
        level="trace",
        carry=_minibatches,
        narrow=_all(complete),
        options={"order": "adapt-then-combine"},
        back=_for_everyone,
        at=_after_steps,
        draw=FOUR,
    ),
    Edge(
        id="gossip-pga-is-fedavg",
        source="gossip-pga",
        target="fedavg",
        when="nobody mixes (W = I) but at the end of a period",
        cited="Chen et al. (2021), Gossip-PGA: local SGD is its W = I",
        level="trace",
        carry=_local_sgd,
        narrow=_all(unmixed),
        back=_for_everyone,
    ),
    Edge(
        id="gossip-pga-is-dsgd",
        source="gossip-pga",
        target="dsgd",
        when="W = J",
        cited="Chen et al. (2021), Gossip-PGA",
        level="trace",
        carry=_as_dsgd,
        narrow=_all(complete),
        draw=FOUR,
    ),
    Edge(
        id="dadam-is-fedamsgrad",
        source="dadam",
        target="fedamsgrad",
        when="there is one client and beta3 = 0: rounds of one local step with rate 1",
        cited="Nazari et al. (2019), Algorithm 1",
        level="trace",
        carry=_alone,
        narrow=_maximum,
        options={"denominators": "local"},
        needs=("beta3",),
        zeroes=("beta3",),
        at=_after_steps,
        draw={"clients": (1, 1)},
        roots=True,
    ),
)
