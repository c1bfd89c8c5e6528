"""Reductions among the local solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient
from fedspec_suite.laws.reductions.edge import Edge, fixing, pinned, told
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


def _undelayed(source: str, target: str, cited: str, options: Mapping[str, str] | None = None, v0: bool = True) -> Edge:
    """A solver with delay and dead zone, without them."""
    values = {"z": 1, "eps_s": 0.0} | ({"v0": 0.0} if v0 else {})
    return pinned(
        source,
        target,
        cited,
        "client",
        values,
        lambda s: told(s, target, options=options),
    )


def _singletons(source: str, target: str, cited: str, options: Mapping[str, str] | None = None) -> Edge:
    """A solver over a cover whose every set is one coordinate."""
    return Edge(
        f"{source}-is-{target}",
        source,
        target,
        "every set of the cover is one coordinate",
        cited,
        "client",
        lambda s: told(s, target, hyper={"v0": s.case.hyper.get("v0", 0)}),
        _single_sets,
        options or {},
    )


PLAIN = (
    pinned("momentum", "sgd", FEDNOVA_B, "client", {"rho": 0.0}),
    pinned("nesterov", "sgd", FEDNOVA_B, "client", {"rho": 0.0}),
    pinned("dampened", "sgd", FEDNOVA_B, "client", {"rho": 0.0}),
    pinned("proximal-sgd", "sgd", f"{FEDNOVA_B}, eq. (31) with alpha = 0", "client", {"mu": 0.0}),
    pinned("decayed-sgd", "sgd", FEDNOVA_B, "client", {"gamma": 1.0}),
    pinned("momentum-proximal-outside", "momentum", f"{FEDNOVA_B}, eqs. (35)-(36)", "client", {"mu": 0.0}),
    pinned("momentum-proximal-outside", "proximal-sgd", f"{FEDNOVA_B}, eq. (31)", "client", {"rho": 0.0}),
    pinned("momentum-proximal-inside", "momentum", f"{FEDNOVA_B}, eqs. (35)-(36)", "client", {"mu": 0.0}),
    pinned("momentum-proximal-inside", "proximal-sgd", f"{FEDNOVA_B}, eq. (31)", "client", {"rho": 0.0}),
    Edge(
        "dampened-is-momentum",
        "dampened",
        "momentum",
        "its buffer starts at zero; the rate is (1 - rho) eta_l",
        f"{FEDNOVA_B}: a_k = 1 - rho^(tau-k) is (1 - rho) times that of momentum",
        "client",
        _at_smaller_rate,
        options={"start": "zero"},
    ),
)

ADAPTIVE = (
    Edge(
        "adam-is-adagrad",
        "adam",
        "adagrad",
        "its moments are corrected and a round has one step; v_0 = 0",
        "FedAda2, Alg. 6 (L1335): m_hat = g and v_hat = g^2 at the first step",
        "client",
        lambda s: told(s, "adagrad", hyper={"v0": 0}),
        options={"bias_correction": "moments"},
        draw=ONE_STEP,
    ),
    Edge(
        "yogi-is-adam",
        "yogi",
        "adam",
        "v_0 = 0 and a round has one step",
        "external: Zaheer et al. (2018), Algorithm 2: from zero both moments become (1 - beta2) g^2",
        "client",
        lambda s: told(s, "adam"),
        fixing(v0=0.0),
        needs=("v0",),
        zeroes=("v0",),
        draw=ONE_STEP,
    ),
    Edge(
        "amsgrad-is-adam",
        "amsgrad",
        "adam",
        "no coordinate of the gradient gets smaller during a round",
        "external: Reddi, Kale and Kumar (2018), Algorithm 2: the maximum is the last second moment",
        "client",
        lambda s: told(s, "adam"),
        _growing,
        about=("beta2",),
    ),
    *(
        _singletons(f"sm3-{roman}", "adagrad", f"FedAda2, Algs. 3-4 and 9 with z = 1 (L{line})", {"zero": "epsilon"})
        for roman, line in (("i", 701), ("ii", 717))
    ),
    Edge(
        "sm3-ii-is-sm3-i",
        "sm3-ii",
        "sm3-i",
        "all coordinates of a gradient have the same magnitude",
        "FedAda2, Algs. 3-4 (L701, L717): the bounds of both are the sum of the squares",
        "client",
        lambda s: told(s, "sm3-i"),
        _alike,
    ),
)

DELAYED = (
    _undelayed("agdu", "adagrad", "FedAda2, Alg. 9 with z = 1 (L1490)", v0=False),
    _undelayed("admu", "adam", "FedAda2, Alg. 7 with z = 1 (L1357)", {"bias_correction": "moments"}),
    _undelayed("sm3-i-delayed", "sm3-i", "FedAda2, Alg. 3 with z = 1 (L701)"),
    _undelayed("sm3-ii-delayed", "sm3-ii", "FedAda2, Alg. 4 with z = 1 (L717)"),
    _singletons("sm3-i-delayed", "agdu", "FedAda2, Algs. 3 and 9 (L701, L1490)"),
    _singletons("sm3-ii-delayed", "agdu", "FedAda2, Algs. 4 and 9 (L717, L1490)", {"idle": "carried"}),
    _singletons("sm3-adam", "admu", "FedAda2, Algs. 4 and 7 (L717, L1357)"),
)

SOLVERS = (*PLAIN, *ADAPTIVE, *DELAYED)
