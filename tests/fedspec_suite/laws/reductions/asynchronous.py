"""Reductions among the algorithms whose updates arrive late, and to their synchronous namesakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Arrival, Event, Round
from fedspec_suite.laws.reductions.edge import Edge, told
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

Numbers = Callable[[Scenario, int], dict[str, Any]]


def _buffer(s: Scenario) -> int:
    return int(s.case.hyper["buffer"])


def _in_time(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every client once in every buffer, from the present version; equal steps where changes are per step."""
    assert s.case.problem is not None
    n = len(s.case.problem.H)
    K = 2 ** draw(st.integers(0, 2))
    per_step = s.case.options.get("normalise") == "per-step"
    events: list[Event] = []
    for _ in range(draw(st.integers(1, 3))):
        for i in draw(st.permutations(range(n))):
            events.append(Arrival(i, K if per_step else draw(st.integers(1, 4)), 0))
    return replace(with_hyper(s, buffer=n), events=tuple(events))


def _full(s: Scenario, k: int) -> int:
    return (k + 1) // _buffer(s) - 1


def _rounds(s: Scenario) -> list[Event]:
    arrivals = [e for e in s.events if isinstance(e, Arrival)]
    groups = [arrivals[k : k + _buffer(s)] for k in range(0, len(arrivals), _buffer(s))]
    return [Round(tuple(a.client for a in group), tuple(a.steps for a in group)) for group in groups]


def _synchronous(target: str, numbers: Numbers, options: Mapping[str, str] | None = None) -> Callable[..., Scenario]:
    """The same rounds at the namesake, whose Delta is K times as large; K = 1 where changes are not per step."""

    def carry(s: Scenario) -> Scenario:
        first = s.events[0]
        assert isinstance(first, Arrival)
        K = first.steps if s.case.options.get("normalise") == "per-step" else 1
        hyper = numbers(s, K)
        own = {"weights": "uniform", **(options or {})}
        return told(s, target, _rounds(s), level="round", options=own, hyper=hyper)

    return carry


def _stabiliser(name: str) -> Numbers:
    def numbers(s: Scenario, K: int) -> dict[str, Any]:
        h = s.case.hyper
        return {name: K ** (2 if s.case.options["epsilon"] == "inside" else 1) * h[name], "v0": K * K * h["v0"]}

    return numbers


def _namesake(source: str, target: str, carry: Callable[[Scenario], Scenario], said: str, **more: Any) -> Edge:
    when = "every client fills one place of every buffer in time, with K steps each"
    return Edge(
        f"{source}-is-{target}",
        source,
        target,
        f"{when}{said}",
        "Client-Centric, L97-111: its servers are those of Alg. 1 on changes per step",
        "trace",
        carry,
        **{"narrow": _in_time, "needs": ("buffer",), "at": _full, **more},
    )


def _one_by_one(s: Scenario) -> list[Event]:
    return [Round((a.client,), (a.steps,)) for a in s.events if isinstance(a, Arrival)]


def _never_late(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return replace(s, events=tuple(replace(e, delay=0) for e in s.events if isinstance(e, Arrival)))


def _never_late_unpulled(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(_never_late(draw, setting, s), mu=0.0)


def _no_momentum(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, beta=0.0)


def _from_zero(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(_in_time(draw, setting, s), v0=0.0)


def _first_update(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(replace(s, events=s.events[: _buffer(s)]), v0=0.0)


def _never_beaten(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """v_0 above all squares to come, and a denominator of 2^11."""
    inside = s.case.options["epsilon"] == "inside"
    return with_hyper(s, v0=2.0**20, eps=3 * 2.0**20 if inside else 2.0**10)


EDGES = (
    Edge(
        "cc-fedavg-is-cc-fedsgd",
        "cc-fedavg",
        "cc-fedsgd",
        "eta = 1 there",
        "Client-Centric, L322 and L334",
        "trace",
        lambda s: told(s, "cc-fedsgd", hyper={"eta": 1.0}),
    ),
    Edge(
        "cc-fedavgm-is-cc-fedsgd",
        "cc-fedavgm",
        "cc-fedsgd",
        "beta = 0",
        "Client-Centric, L554",
        "trace",
        lambda s: told(s, "cc-fedsgd"),
        _no_momentum,
        needs=("beta",),
        zeroes=("beta",),
    ),
    _namesake(
        "cc-fedavg",
        "fedavg",
        _synchronous("fedavg", lambda s, K: {"eta": 1 / K}),
        ": eta = 1 / K there",
    ),
    _namesake(
        "cc-fedsgd",
        "fedavg",
        _synchronous("fedavg", lambda s, K: {"eta": s.case.hyper["eta"] / K}),
        ": eta / K for eta there",
    ),
    _namesake(
        "cc-fedavgm",
        "fedavgm",
        _synchronous(
            "fedavgm",
            lambda s, K: {"eta": s.case.hyper["eta"] * (1 - s.case.hyper["beta"]) / K},
            {"momentum": "heavy-ball", "momentum_sum": "sum"},
        ),
        ": eta (1 - beta) / K for eta there",
        options={"momentum_sum": "average"},
    ),
    _namesake(
        "cc-fedadagrad",
        "fedadagrad",
        _synchronous("fedadagrad", _stabiliser("tau")),
        ": K tau (K^2 tau inside the root) and K^2 v_0 there",
        roots=True,
    ),
    _namesake(
        "cc-fedadam",
        "fedadam",
        _synchronous("fedadam", _stabiliser("tau")),
        ": K tau (K^2 tau inside the root) and K^2 v_0 there",
        roots=True,
    ),
    _namesake(
        "cc-fedams",
        "fedamsgrad",
        _synchronous("fedamsgrad", _stabiliser("eps")),
        ", and v_0 = 0: K eps there, K^2 eps inside the root",
        roots=True,
        narrow=_from_zero,
        needs=("buffer", "v0"),
        zeroes=("v0",),
    ),
    Edge(
        "cc-fedams-is-fedams",
        "cc-fedams",
        "fedams",
        "every client fills one place of every buffer in time, with K steps each, v_0 = 0 and eps stands inside the "
        "root: option 2 with K^2 eps there",
        "Client-Centric, L107-111; external: Wang, Lin and Chen (2022), option 2",
        "trace",
        _synchronous("fedams", _stabiliser("eps"), {"option": "2"}),
        _from_zero,
        {"epsilon": "inside"},
        needs=("buffer", "v0"),
        zeroes=("v0",),
        at=_full,
        roots=True,
    ),
    Edge(
        "cc-fedams-is-cc-fedadam",
        "cc-fedams",
        "cc-fedadam",
        "v_0 = 0, at its first step",
        "Client-Centric, L189: the first maximum is v itself",
        "trace",
        lambda s: told(s, "cc-fedadam", hyper={"tau": s.case.hyper["eps"]}),
        _first_update,
        needs=("v0",),
        zeroes=("v0",),
        roots=True,
    ),
    Edge(
        "cc-fedams-is-cc-fedavgm",
        "cc-fedams",
        "cc-fedavgm",
        "no square ever exceeds v_0: eta / (sqrt(v_0) + eps) for eta there",
        "Client-Centric, L659 and L707, which hold together only where v_hat stays v_0",
        "trace",
        lambda s: told(
            s,
            "cc-fedavgm",
            hyper={"eta": s.case.hyper["eta"] / 2**11, "beta": s.case.hyper["beta1"]},
            options={"momentum_sum": "average"},
        ),
        _never_beaten,
        {"maximum_start": "v0"},
        needs=("v0", "eps"),
        undecided=True,
    ),
    Edge(
        "fedbuff-is-cc-fedsgd",
        "fedbuff",
        "cc-fedsgd",
        "changes are not divided by the number of steps there",
        "Client-Centric, L390-392",
        "trace",
        lambda s: told(s, "cc-fedsgd", options={"normalise": "none"}),
        options={"staleness": "constant"},
    ),
    Edge(
        "fedasync-is-fedbuff",
        "fedasync",
        "fedbuff",
        "no update is late and mu = 0: a buffer of one, and mix for eta there",
        "external: Nguyen et al. (2022), Xie et al. (2019)",
        "trace",
        lambda s: told(
            s, "fedbuff", options={"staleness": "constant"}, hyper={"buffer": 1, "eta": s.case.hyper["mix"]}
        ),
        _never_late_unpulled,
        {"age": "delay"},
        needs=("mu",),
        zeroes=("mu",),
    ),
    Edge(
        "fedasync-is-fedprox",
        "fedasync",
        "fedprox",
        "no update is late: one participant a round, and mix for eta there",
        "external: Xie et al. (2019), Algorithm 1",
        "trace",
        lambda s: told(s, "fedprox", _one_by_one(s), level="round", hyper={"eta": s.case.hyper["mix"]}),
        _never_late,
        {"age": "delay"},
    ),
)
