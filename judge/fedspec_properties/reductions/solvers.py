"""Reductions among the local solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient
from fedspec_properties.reductions.edge import Edge, fixing, pinned, told
from fedspec_suite.measure.scenario import Scenario, change_events
from fedspec_suite.measure.setting import Setting

ONE_STEP = {"steps": (1, 1)}
FEDNOVA_B = "FedNova, App. B"


def _at_smaller_rate(s: Scenario) -> Scenario:
    return told(s, "momentum", hyper={"eta_l": s.case.hyper["eta_l"] * (1 - s.case.hyper["rho"])})


def _signs(a: Array) -> Array:
    return np.where(a < 0, -1, 1).astype(a.dtype)


def _growing(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """No coordinate of a gradient is smaller than at the step before."""
    least: Mapping[str, Array] = {}
    events: list[Event] = []
    for e in s.events:
        if isinstance(e, Begin):
            least = {}
        elif isinstance(e, Gradient):
            least = {n: np.maximum(np.abs(a), least.get(n, np.zeros_like(a))) for n, a in e.g.items()}
            e = Gradient({n: _signs(a) * least[n] for n, a in e.g.items()})
        events.append(e)
    return replace(s, events=tuple(events))


def _alike(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Every gradient has one magnitude in all its coordinates."""

    def level(g: Mapping[str, Array]) -> Gradient:
        size = abs(next(iter(g.values())).flat[0])
        return Gradient({n: _signs(a) * size for n, a in g.items()})

    return replace(s, events=tuple(level(e.g) if isinstance(e, Gradient) else e for e in s.events))


def _single_sets(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Blocks on which the cover, whichever it is, has one set for each coordinate."""
    match setting.options["cover"]:
        case "singletons":
            return s
        case "axes":
            return change_events(s, np.ravel, np.ravel)
    if setting.one_block:
        return change_events(s, lambda a: a.reshape(-1)[:1], lambda a: a.reshape(-1)[:1])

    def cut(blocks: Mapping[str, Array]) -> dict[str, Array]:
        return {f"{n}{j}": a.reshape(-1)[j : j + 1] for n, a in blocks.items() for j in range(a.size)}

    def event(e: Event) -> Event:
        match e:
            case Gradient(g=g):
                return Gradient(cut(g))
            case Begin(x=x):
                return Begin(cut(x))
        return e

    return Scenario(replace(s.case, x0=cut(s.case.x0)), tuple(map(event, s.events)))


def _undelayed(
    *, source: str, target: str, cited: str, options: Mapping[str, str] | None = None, v0: bool = True
) -> Edge:
    """A solver with delay and dead zone, without them."""
    values = {"z": 1, "eps_s": 0.0} | ({"v0": 0.0} if v0 else {})
    return pinned(
        source=source,
        target=target,
        cited=cited,
        level="client",
        values=values,
        carry=lambda s: told(s, target, options=options),
        roots=True,
    )


def _singletons(*, source: str, target: str, cited: str, options: Mapping[str, str] | None = None) -> Edge:
    """A solver over a cover whose every set is one coordinate."""
    return Edge(
        id=f"{source}-is-{target}",
        source=source,
        target=target,
        when="every set of the cover is one coordinate",
        cited=cited,
        level="client",
        carry=lambda s: told(s, target, hyper={"v0": s.case.hyper.get("v0", 0)}),
        narrow=_single_sets,
        options=options or {},
        roots=True,
    )


PLAIN = (
    pinned(source="momentum", target="sgd", cited=FEDNOVA_B, level="client", values={"rho": 0.0}),
    pinned(source="nesterov", target="sgd", cited=FEDNOVA_B, level="client", values={"rho": 0.0}),
    pinned(source="dampened", target="sgd", cited=FEDNOVA_B, level="client", values={"rho": 0.0}),
    pinned(
        source="proximal-sgd",
        target="sgd",
        cited=f"{FEDNOVA_B}, eq. (31) with alpha = 0",
        level="client",
        values={"mu": 0.0},
    ),
    pinned(source="decayed-sgd", target="sgd", cited=FEDNOVA_B, level="client", values={"gamma": 1.0}),
    pinned(
        source="momentum-proximal-outside",
        target="momentum",
        cited=f"{FEDNOVA_B}, eqs. (35)-(36)",
        level="client",
        values={"mu": 0.0},
    ),
    pinned(
        source="momentum-proximal-outside",
        target="proximal-sgd",
        cited=f"{FEDNOVA_B}, eq. (31)",
        level="client",
        values={"rho": 0.0},
    ),
    pinned(
        source="momentum-proximal-inside",
        target="momentum",
        cited=f"{FEDNOVA_B}, eqs. (35)-(36)",
        level="client",
        values={"mu": 0.0},
    ),
    pinned(
        source="momentum-proximal-inside",
        target="proximal-sgd",
        cited=f"{FEDNOVA_B}, eq. (31)",
        level="client",
        values={"rho": 0.0},
    ),
    Edge(
        id="dampened-is-momentum",
        source="dampened",
        target="momentum",
        when="its buffer starts at zero; the rate is (1 - rho) eta_l",
        cited=f"{FEDNOVA_B}: a_k = 1 - rho^(tau-k) is (1 - rho) times that of momentum",
        level="client",
        carry=_at_smaller_rate,
        options={"start": "zero"},
    ),
)

ADAPTIVE = (
    Edge(
        id="adam-is-adagrad",
        source="adam",
        target="adagrad",
        when="its moments are corrected and a round has one step; v_0 = 0",
        cited="FedAda2, Alg. 6 (L1335): m_hat = g and v_hat = g^2 at the first step",
        level="client",
        carry=lambda s: told(s, "adagrad", hyper={"v0": 0}),
        options={"bias_correction": "moments"},
        draw=ONE_STEP,
        roots=True,
    ),
    Edge(
        id="yogi-is-adam",
        source="yogi",
        target="adam",
        when="v_0 = 0 and a round has one step",
        cited="external: Zaheer et al. (2018), Algorithm 2: from zero both moments become (1 - beta2) g^2",
        level="client",
        carry=lambda s: told(s, "adam"),
        narrow=fixing(v0=0.0),
        needs=("v0",),
        zeroes=("v0",),
        draw=ONE_STEP,
        roots=True,
    ),
    Edge(
        id="amsgrad-is-adam",
        source="amsgrad",
        target="adam",
        when="no coordinate of the gradient gets smaller during a round",
        cited="external: Reddi, Kale and Kumar (2018), Algorithm 2: the maximum is the last second moment",
        level="client",
        carry=lambda s: told(s, "adam"),
        narrow=_growing,
        about=("beta2",),
        roots=True,
    ),
    *(
        _singletons(
            source=f"sm3-{roman}",
            target="adagrad",
            cited=f"FedAda2, Algs. 3-4 and 9 with z = 1 (L{line})",
            options={"zero": "epsilon"},
        )
        for roman, line in (("i", 701), ("ii", 717))
    ),
    Edge(
        id="sm3-ii-is-sm3-i",
        source="sm3-ii",
        target="sm3-i",
        when="all coordinates of a gradient have the same magnitude",
        cited="FedAda2, Algs. 3-4 (L701, L717): the bounds of both are the sum of the squares",
        level="client",
        carry=lambda s: told(s, "sm3-i"),
        narrow=_alike,
        roots=True,
    ),
)

DECAYING = (
    pinned(
        source="adamw",
        target="adam",
        cited="external: Loshchilov and Hutter (2019), Algorithm 2 without its decay",
        level="client",
        values={"wd": 0.0},
        roots=True,
    ),
)

DELAYED = (
    _undelayed(source="agdu", target="adagrad", cited="FedAda2, Alg. 9 with z = 1 (L1490)", v0=False),
    _undelayed(
        source="admu", target="adam", cited="FedAda2, Alg. 7 with z = 1 (L1357)", options={"bias_correction": "moments"}
    ),
    _undelayed(source="sm3-i-delayed", target="sm3-i", cited="FedAda2, Alg. 3 with z = 1 (L701)"),
    _undelayed(source="sm3-ii-delayed", target="sm3-ii", cited="FedAda2, Alg. 4 with z = 1 (L717)"),
    _singletons(source="sm3-i-delayed", target="agdu", cited="FedAda2, Algs. 3 and 9 (L701, L1490)"),
    _singletons(
        source="sm3-ii-delayed",
        target="agdu",
        cited="FedAda2, Algs. 4 and 9 (L717, L1490)",
        options={"idle": "carried"},
    ),
    _singletons(source="sm3-adam", target="admu", cited="FedAda2, Algs. 4 and 7 (L717, L1357)"),
)

EDGES = (*PLAIN, *ADAPTIVE, *DECAYING, *DELAYED)
