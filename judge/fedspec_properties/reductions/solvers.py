"""Reductions among local solvers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array
from fedspec.contract import Begin, Event, Gradient
from fedspec_properties.reductions.edge import Edge, reduces, rooted
from fedspec_suite.measure.scenario import Scenario, change_events, with_blocks
from fedspec_suite.measure.setting import Setting

FEDNOVA_B = "FedNova, App. B"


def _signs(a: Array) -> Array:
    return np.where(a < 0, -1, 1).astype(a.dtype)


def _growing(s: Scenario) -> Scenario:
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


def _alike(s: Scenario) -> Scenario:
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

    return Scenario(replace(s.case, x0=cut(s.case.x0)), tuple(with_blocks(e, cut) for e in s.events))


def _singletons(source: str, target: str, cited: str, **options: Any) -> Edge:
    return rooted(source, target, cited).under(
        "every set of the cover is one coordinate", narrow=_single_sets, **options
    )


EDGES = (
    reduces("momentum", "sgd", FEDNOVA_B).under(rho=0.0),
    reduces("nesterov", "sgd", FEDNOVA_B).under(rho=0.0),
    reduces("dampened", "sgd", FEDNOVA_B).under(rho=0.0),
    reduces("proximal-sgd", "sgd", f"{FEDNOVA_B}, eq. (31) with alpha = 0").under(mu=0.0),
    reduces("decayed-sgd", "sgd", FEDNOVA_B).under(gamma=1.0),
    reduces("momentum-proximal-outside", "momentum", f"{FEDNOVA_B}, eqs. (35)-(36)").under(mu=0.0),
    reduces("momentum-proximal-outside", "proximal-sgd", f"{FEDNOVA_B}, eq. (31)").under(rho=0.0),
    reduces("momentum-proximal-inside", "momentum", f"{FEDNOVA_B}, eqs. (35)-(36)").under(mu=0.0),
    reduces("momentum-proximal-inside", "proximal-sgd", f"{FEDNOVA_B}, eq. (31)").under(rho=0.0),
    reduces("dampened", "momentum", f"{FEDNOVA_B}: a_k = 1 - rho^(tau-k) is (1 - rho) times that of momentum")
    .under("its buffer starts at zero; the rate is (1 - rho) eta_l", start="zero")
    .told(eta_l=lambda h, o: h["eta_l"] * (1 - h["rho"])),
    rooted("adam", "adagrad", "FedAda2, Alg. 6 (L1335): m_hat = g and v_hat = g^2 at the first step").under(
        "its moments are corrected and a round has one step; v_0 = 0", bias_correction="moments", steps=(1, 1)
    ),
    rooted(
        "yogi", "adam", "external: Zaheer et al. (2018), Algorithm 2: from zero both moments become (1 - beta2) g^2"
    ).under("v_0 = 0 and a round has one step", v0=0.0, steps=(1, 1)),
    rooted(
        "amsgrad", "adam", "external: Reddi, Kale and Kumar (2018), Algorithm 2: the maximum is the last second moment"
    ).under("no coordinate of the gradient gets smaller during a round", _growing, about=("beta2",)),
    _singletons("sm3-i", "adagrad", "FedAda2, Algs. 3-4 and 9 with z = 1 (L701)", zero="epsilon"),
    _singletons("sm3-ii", "adagrad", "FedAda2, Algs. 3-4 and 9 with z = 1 (L717)", zero="epsilon"),
    rooted("sm3-ii", "sm3-i", "FedAda2, Algs. 3-4 (L701, L717): the bounds of both are the sum of the squares").under(
        "all coordinates of a gradient have the same magnitude", _alike
    ),
    rooted("adamw", "adam", "external: Loshchilov and Hutter (2019), Algorithm 2 without its decay"),
    rooted("agdu", "adagrad", "FedAda2, Alg. 9 with z = 1 (L1490)").under(z=1, eps_s=0.0),
    rooted("admu", "adam", "FedAda2, Alg. 7 with z = 1 (L1357)")
    .under(z=1, eps_s=0.0, v0=0.0)
    .told(bias_correction="moments"),
    rooted("sm3-i-delayed", "sm3-i", "FedAda2, Alg. 3 with z = 1 (L701)").under(z=1, eps_s=0.0, v0=0.0),
    rooted("sm3-ii-delayed", "sm3-ii", "FedAda2, Alg. 4 with z = 1 (L717)").under(z=1, eps_s=0.0, v0=0.0),
    _singletons("sm3-i-delayed", "agdu", "FedAda2, Algs. 3 and 9 (L701, L1490)"),
    _singletons("sm3-ii-delayed", "agdu", "FedAda2, Algs. 4 and 9 (L717, L1490)", idle="carried"),
    _singletons("sm3-adam", "admu", "FedAda2, Algs. 4 and 7 (L717, L1357)"),
)
