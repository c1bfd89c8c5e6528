"""Pools from which cases draw hyper-parameters: dyadic rationals, exact in every floating-point type.

Pairs of decays with (1 - beta1)^2 = 1 - beta2 are left out: there several variants of Adam agree in the first round.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import TypeAlias

from hypothesis import strategies as st

from fedspec.domains import COUNT, COUNTS, DECAY, DOMAINS, NONNEGATIVE, POSITIVE, SHARE, WHOLE, Domain
from fedspec_suite.measure.setting import Setting

_BY_DOMAIN: dict[Domain, tuple[float, ...]] = {
    COUNT: (1, 2, 3),
    WHOLE: (0, 1),
    DECAY: (0.25, 0.5, 0.875),
    SHARE: (0.25, 0.5, 0.75),
    POSITIVE: (0.5, 1.5, 3.0),
    NONNEGATIVE: (0.0, 0.5, 1.0),
}

_BY_NAME: dict[str, tuple[float, ...]] = {
    "eta": (0.125, 0.5, 1.0, 2.0),
    "eta_l": (0.0625, 0.125, 0.25, 0.5),
    "beta2": (0.5, 0.625, 0.9375),
    "beta2_l": (0.5, 0.625, 0.9375),
    "beta3": (0.0, 0.25, 0.5),
    "gamma": (0.5, 0.75, 1.5),
    "mu": (0.25, 0.5, 1.0),
    "eps": (0.015625, 0.0625, 0.25),
    "tau": (0.0625, 0.125, 0.5),
    "epoch": (1, 2),
    "eps_s": (0.0, 1.1875, 2.1875),
    "c": (0.0, 0.25, 0.5),
    "own": (0.0, 0.25, 0.5),
    "mix": (0.25, 0.5, 0.75, 1.0),
    "hinge_a": (0.5, 2.0),
    "clip_norm": (0.25, 1.0, 4.0),
    "lam": (0.125, 0.5, 0.0),
    "wd": (0.125, 0.5, 0.0),
    "phi_m": (0.25, 0.5),
    "phi_M": (1.0, 2.0),
    "trim": (0.25, 0.375, 0.4375),
    "chance": (0.125, 0.5, 0.75, 1.0),
    "q": (0.5, 1.0, 2.0),
    "radius": (0.25, 0.5, 2.0),
    "ns_steps": (1, 2, 3),
}
"""Pools of names that mean more than their domain: a usual size, or a size beside another one."""

_APART = {"v0"}
"""Drawn with what it stands beside."""

POOLS: dict[str, tuple[float, ...]] = {}
"""Pool of each hyper-parameter: its own entry above if it has one, else the pool of its domain."""

_EDGES_BY_DOMAIN: dict[Domain, tuple[float, ...]] = {
    COUNT: (1, 2, 5, 10, 20),
    WHOLE: (0, 1, 5, 10),
    DECAY: (0.0, 0.999, 0.9, 0.99),
    SHARE: (0.0, 0.1, 0.9, 1.0),
    POSITIVE: (0.001, 0.1, 3.3, 10.0),
    NONNEGATIVE: (0.0, 1e-8, 0.0, 0.1),
}

_EDGES_BY_NAME: dict[str, tuple[float, ...]] = {
    "eta_l": (0.001, 0.1),
    "gamma": (0.9, 1.0),
    "mu": (0.0, 0.1),
    "alpha": (0.0, 0.1, 1.0),
    "c": (0.0, 0.1, 0.001, 1.0),
    "P": (1, 2, 3),
    "overlap": (0, 1),
    "own": (0.0, 0.1, 0.9, 1.0),
    "mix": (0.001, 0.1, 0.9, 1.0),
    "phi_m": (0.001, 0.1),
    "phi_M": (1.1, 10.0),
    "trim": (0.0, 0.1, 0.49),
    "chance": (0.001, 0.1, 0.9, 1.0),
    "f": (0, 1),
    "smooth": (1e-5, 0.1),
    "passes": (1, 5),
    "q": (0.0, 0.1, 1.5),
    "ns_steps": (1, 4, 5),
}

EDGES: dict[str, tuple[float, ...]] = {}
"""Values of each hyper-parameter that lie on or near the boundary of its domain, or are not dyadic."""


def renew() -> None:
    """Fill the pools of all hyper-parameters that have a domain; call it again after declaring a hyper-parameter."""
    for name, p in DOMAINS.items():
        # A solver's parameter beside a server's has the solver's own pool.
        own = name if name in _BY_NAME else name.removesuffix("_l")
        if name not in _APART and (own in _BY_NAME or p.domain in _BY_DOMAIN):
            POOLS[name] = _BY_NAME[own] if own in _BY_NAME else _BY_DOMAIN[p.domain]
            EDGES[name] = _EDGES_BY_NAME.get(name, _EDGES_BY_DOMAIN.get(p.domain, ()))


renew()

_LONGER_EPS_S = (0.0, 1.1875, 9.1875)
_V0 = (0.0, 0.0625, 1.0)
_V0_OVER_TAU = (1, 4, 16)
_ANY_V0_OVER_TAU = (0, 1, 4, 16)

Pick: TypeAlias = Callable[[tuple[float, ...]], float]
"""Choice of one number of a pool."""


def picking(draw: st.DrawFn) -> Pick:
    """Return a function that draws a number of a pool with Hypothesis."""
    return lambda pool: draw(_one_of(pool))


_one_of = cache(st.sampled_from)


def draw_hypers(draw: Pick, setting: Setting, pools: Mapping[str, tuple[float, ...]] = POOLS) -> dict[str, float]:
    """Draw hyper-parameters from the pools; those that the subject fixes have its values."""

    def some(n: str, pool: tuple[float, ...]) -> float:
        # All of a pool that a subject refuses is no pool: what sets such a number says so.
        return draw((n in setting.nonzero and tuple(v for v in pool if v)) or pool)

    h = {n: some(n, pools[n]) for n in setting.numbers if n in POOLS and n not in setting.fixed}
    kinds = {n: int if n in COUNTS else float for n in setting.numbers}
    given = {**h, **setting.fixed}
    h = {n: kinds[n](given[n]) for n in setting.numbers if n in POOLS}
    if "v0" in setting.numbers:
        if "v0" in setting.fixed:
            h["v0"] = float(setting.fixed["v0"])
        elif setting.v0_is_tau_squared:
            h["v0"] = h["tau"] ** 2
        elif "buffer" in h:
            # Only the synchronous algorithms ask v_0 >= tau^2.
            h["v0"] = some("v0", _ANY_V0_OVER_TAU) * h["tau" if "tau" in h else "eps"] ** 2
        elif "tau" in h:
            h["v0"] = some("v0", pools.get("v0", _V0_OVER_TAU)) * h["tau"] ** 2
        else:
            h["v0"] = some("v0", _V0)
    if "strategies" in setting.takes and "eps_s" in h and "eps_s" not in setting.fixed:
        # Some steps are whole gradients, which are longer than quotients.
        h["eps_s"] = some("eps_s", _LONGER_EPS_S)
    return h
