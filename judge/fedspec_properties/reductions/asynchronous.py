"""Reductions among the algorithms whose updates arrive late, and to their synchronous namesakes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from fedspec.contract import Arrival, Event, Round
from fedspec_properties.reductions.edge import Edge, told
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


def _namesake(*, source: str, target: str, carry: Callable[[Scenario], Scenario], said: str, **more: Any) -> Edge:
    when = "every client fills one place of every buffer in time, with K steps each"
    return Edge(
        id=f"{source}-is-{target}",
        source=source,
        target=target,
        when=f"{when}{said}",
        cited="Client-Centric, L97-111: its servers are those of Alg. 1 on changes per step",
        level="trace",
        carry=carry,
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


def _late_at_most(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Nothing is later than tau_c."""
    return with_hyper(s, tau_c=max([0, *(e.delay for e in s.events if isinstance(e, Arrival))]))


def _late_at_most_single(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """The same, in single steps, which are changes per step."""
    single = replace(s, events=tuple(replace(e, steps=1) for e in s.events if isinstance(e, Arrival)))
    return _late_at_most(draw, setting, single)


def _never_slowed(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every delay counts, and none reaches 1 / eta; single steps."""
    return with_hyper(_late_at_most_single(draw, setting, s), tau_c=0, eta=2.0**-10)


WANG = "external: Wang, Wang, Lu and Chen (2024)"


def _told_cc(s: Scenario) -> Scenario:
    return told(s, "cc-fedams", options={"normalise": "none"}, hyper={"v0": 0 * s.case.hyper["eps"]})


SLOWED = (
    *(
        Edge(
            id=f"fadas-is-{target}",
            source="fadas",
            target=target,
            when=f"every client fills one place of every buffer in time{said}",
            cited=f"{WANG}, their code: its optimizer is that of Wang, Lin and Chen (2022)",
            level="trace",
            carry=_synchronous(target, numbers, options),
            narrow=_in_time,
            options=needed,
            needs=("buffer",),
            at=_full,
            roots=True,
        )
        for target, said, numbers, options, needed in (
            ("fedamsgrad", "; eps is outside the root", lambda s, K: {}, {"epsilon": "outside"}, {}),
            ("fedams-code", "; v_hat_0 = 0 there", lambda s, K: {"v_hat0": 0}, {}, {"bias_correction": "moments"}),
        )
    ),
    Edge(
        id="fadas-is-cc-fedams",
        source="fadas",
        target="cc-fedams",
        when="every update is of one step, none is later than tau_c, and v_0 = 0 there",
        cited=f"{WANG} beside Client-Centric, Alg. 2",
        level="trace",
        carry=_told_cc,
        narrow=_late_at_most_single,
        options={"bias_correction": "none"},
        needs=("tau_c",),
        roots=True,
    ),
    Edge(
        id="fadas-capped-is-cc-fedams",
        source="fadas",
        target="cc-fedams",
        when="every update is of one step, none is 1 / eta versions late, and v_0 = 0 there",
        cited=f"{WANG}, as restated: min(eta, 1 / tau_max) is eta",
        level="trace",
        carry=_told_cc,
        narrow=_never_slowed,
        options={"slowing": "capped", "bias_correction": "none"},
        needs=("tau_c", "eta"),
        roots=True,
    ),
)

EDGES = (
    *SLOWED,
    Edge(
        id="cc-fedavg-is-cc-fedsgd",
        source="cc-fedavg",
        target="cc-fedsgd",
        when="eta = 1 there",
        cited="Client-Centric, L322 and L334",
        level="trace",
        carry=lambda s: told(s, "cc-fedsgd", hyper={"eta": 1.0}),
    ),
    Edge(
        id="cc-fedavgm-is-cc-fedsgd",
        source="cc-fedavgm",
        target="cc-fedsgd",
        when="beta = 0",
        cited="Client-Centric, L554",
        level="trace",
        carry=lambda s: told(s, "cc-fedsgd"),
        narrow=_no_momentum,
        needs=("beta",),
        zeroes=("beta",),
    ),
    _namesake(
        source="cc-fedavg",
        target="fedavg",
        carry=_synchronous("fedavg", lambda s, K: {"eta": 1 / K}),
        said=": eta = 1 / K there",
    ),
    _namesake(
        source="cc-fedsgd",
        target="fedavg",
        carry=_synchronous("fedavg", lambda s, K: {"eta": s.case.hyper["eta"] / K}),
        said=": eta / K for eta there",
    ),
    _namesake(
        source="cc-fedavgm",
        target="fedavgm",
        carry=_synchronous(
            "fedavgm",
            lambda s, K: {"eta": s.case.hyper["eta"] * (1 - s.case.hyper["beta"]) / K},
            {"momentum": "heavy-ball", "momentum_sum": "sum"},
        ),
        said=": eta (1 - beta) / K for eta there",
        options={"momentum_sum": "average"},
    ),
    _namesake(
        source="cc-fedadagrad",
        target="fedadagrad",
        carry=_synchronous("fedadagrad", _stabiliser("tau")),
        said=": K tau (K^2 tau inside the root) and K^2 v_0 there",
        roots=True,
    ),
    _namesake(
        source="cc-fedadam",
        target="fedadam",
        carry=_synchronous("fedadam", _stabiliser("tau")),
        said=": K tau (K^2 tau inside the root) and K^2 v_0 there",
        roots=True,
    ),
    _namesake(
        source="cc-fedams",
        target="fedamsgrad",
        carry=_synchronous("fedamsgrad", _stabiliser("eps")),
        said=", and v_0 = 0: K eps there, K^2 eps inside the root",
        roots=True,
        narrow=_from_zero,
        needs=("buffer", "v0"),
        zeroes=("v0",),
    ),
    Edge(
        id="cc-fedams-is-fedams",
        source="cc-fedams",
        target="fedams",
        when="every client fills one place of every buffer in time, with K steps each, v_0 = 0 and eps stands inside "
        "the root: option 2 with K^2 eps there",
        cited="Client-Centric, L107-111; external: Wang, Lin and Chen (2022), option 2",
        level="trace",
        carry=_synchronous("fedams", _stabiliser("eps"), {"option": "2"}),
        narrow=_from_zero,
        options={"epsilon": "inside"},
        needs=("buffer", "v0"),
        zeroes=("v0",),
        at=_full,
        roots=True,
    ),
    Edge(
        id="cc-fedams-is-cc-fedadam",
        source="cc-fedams",
        target="cc-fedadam",
        when="v_0 = 0, at its first step",
        cited="Client-Centric, L189: the first maximum is v itself",
        level="trace",
        carry=lambda s: told(s, "cc-fedadam", hyper={"tau": s.case.hyper["eps"]}),
        narrow=_first_update,
        needs=("v0",),
        zeroes=("v0",),
        roots=True,
    ),
    Edge(
        id="cc-fedams-is-cc-fedavgm",
        source="cc-fedams",
        target="cc-fedavgm",
        when="no square ever exceeds v_0: eta / (sqrt(v_0) + eps) for eta there",
        cited="Client-Centric, L659 and L707, which hold together only where v_hat stays v_0",
        level="trace",
        carry=lambda s: told(
            s,
            "cc-fedavgm",
            hyper={"eta": s.case.hyper["eta"] / 2**11, "beta": s.case.hyper["beta1"]},
            options={"momentum_sum": "average"},
        ),
        narrow=_never_beaten,
        options={"maximum_start": "v0"},
        needs=("v0", "eps"),
        undecided=True,
    ),
    Edge(
        id="fedbuff-is-cc-fedsgd",
        source="fedbuff",
        target="cc-fedsgd",
        when="changes are not divided by the number of steps there",
        cited="Client-Centric, L390-392",
        level="trace",
        carry=lambda s: told(s, "cc-fedsgd", options={"normalise": "none"}),
        options={"staleness": "constant"},
    ),
    Edge(
        id="fedasync-is-fedbuff",
        source="fedasync",
        target="fedbuff",
        when="no update is late and mu = 0: a buffer of one, and mix for eta there",
        cited="external: Nguyen et al. (2022), Xie et al. (2019)",
        level="trace",
        carry=lambda s: told(
            s, "fedbuff", options={"staleness": "constant"}, hyper={"buffer": 1, "eta": s.case.hyper["mix"]}
        ),
        narrow=_never_late_unpulled,
        options={"age": "delay"},
        needs=("mu",),
        zeroes=("mu",),
    ),
    Edge(
        id="fedasync-is-fedprox",
        source="fedasync",
        target="fedprox",
        when="no update is late: one participant a round, and mix for eta there",
        cited="external: Xie et al. (2019), Algorithm 1",
        level="trace",
        carry=lambda s: told(s, "fedprox", _one_by_one(s), level="round", hyper={"eta": s.case.hyper["mix"]}),
        narrow=_never_late,
        options={"age": "delay"},
    ),
)
