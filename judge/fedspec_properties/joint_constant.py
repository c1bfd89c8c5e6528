"""FedAda2's methods on clients with constant gradients, where every local step is known in closed form.

AdaGrad   u_k = g / (sqrt(v_0 + ceil(k/z) g^2) + eps)
Adam      u_k = g / (|g| + eps), whatever the decays and the delay, where m_0 = v_0 = 0
SM3-II    the same with (n - 1) max g^2 + g^2 for n g^2, where sets do not overlap
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, digits, sqrt
from fedspec.contract import Round
from fedspec.facts import Fact
from fedspec.params import flatten
from fedspec.readings import DeadZone, Received, Strategy
from fedspec_properties.closed_forms.delayed_solvers import updating
from fedspec_properties.closed_forms.fedada2 import aggregate, clients_own, rates, read, sent, server, strategy
from fedspec_properties.closed_forms.sums import length, total
from fedspec_properties.joint import law
from fedspec_suite.laws.asked import fact
from fedspec_suite.measure.bench import Bench
from fedspec_suite.measure.cases import round_scenarios
from fedspec_suite.measure.scenario import Scenario, running, with_hyper
from fedspec_suite.measure.setting import Setting

Sets = Sequence[Sequence[int]]


def square(kind: str, g: Array, k: int, sets: Sets, h: Mapping[str, Any], o: Mapping[str, str]) -> Array:
    """What step k divides by the root of."""
    z, epoch = h["z"], h["epoch"]
    at = updating(k, z, epoch)
    n = len(at)
    own = g * g
    peak = np.array([next(max(own[i] for i in S) for S in sets if j in S) for j in range(len(g))], dtype=object)
    b = h["beta2"]
    match kind:
        case Strategy.ADAGRAD:
            return np.asarray(h["v0"] + n * own)
        case Strategy.ADAM if o.get("received") == Received.WITHOUT_START:
            return own
        case Strategy.ADAM if o.get("received") in (Received.UNCORRECTED, Received.M_CORRECTED):
            return np.asarray(b**n * h["v0"] + (1 - b**n) * own)
        case Strategy.ADAM:
            return np.asarray(b**n * h["v0"] / (1 - b**n) + own)
        case Strategy.SM3_ADAM:
            return np.asarray(((b - b**n) * peak + (1 - b) * own) / (1 - b**n))
    if o.get("idle") == "recomputed" and at[-1] != k - 1:
        return np.asarray(h["v0"] + n * peak)
    if o.get("idle") == "reset" and z > 1:
        since = sum(j // (z * epoch) == at[-1] // (z * epoch) for j in at)
        return np.asarray((since - 1) * peak + own + (h["v0"] if since == n else 0))
    return np.asarray(h["v0"] + (n - 1) * peak + own)


def direction(kind: str, g: Array, k: int, sets: Sets, h: Mapping[str, Any], o: Mapping[str, str]) -> Array:
    """Step k of a client whose gradient is g everywhere; 0 in the dead zone."""
    if kind == Strategy.SGD:
        u = g
    else:
        start = h["beta1"] ** k * h["m0"] / (1 - h["beta1"] ** k) if kind == Strategy.ADAM else 0
        u = (g + start) / (sqrt(square(kind, g, k, sets, h, o)) + h["eps"])
        if kind == Strategy.ADAM and o.get("received") == Received.UNCORRECTED:
            u = u * (1 - h["beta1"] ** k)
    return u * 0 if length(u) < h["eps_s"] else u


def models(s: Scenario, sets: Sets) -> list[Array]:
    """The model after each round of a scenario whose clients' gradients are -e_i."""
    h, o, problem = s.case.hyper, s.case.options, s.case.problem
    assert problem is not None
    x, past, out = flatten(s.case.x0), list[Array](), list[Array]()
    for e in s.events:
        assert isinstance(e, Round)
        own = clients_own(h)
        if sent(o):
            own["v0"] = server(s, past).v
        changes = []
        for p, (i, tau) in enumerate(zip(e.participants, e.steps, strict=True)):
            kind = strategy(s, p, e)
            g = read(-problem.e[i], h, o)
            steps = [eta * direction(kind, g, k, sets, own, o) for k, eta in enumerate(rates(h, o, tau), 1)]
            changes.append(np.asarray(-total(steps)))
        past.append(aggregate(s, e, changes))
        x = x + h["eta"] * server(s, past).step
        out.append(x)
    return out


def _flat(setting: Setting) -> st.SearchStrategy[Scenario]:
    """Linear objectives; one block, whose slices are its coordinates."""

    def flat(s: Scenario) -> Scenario:
        problem = s.case.problem
        assert problem is not None
        x0 = {"w": flatten(s.case.x0)}
        s = replace(s, case=replace(s.case, x0=x0, problem=replace(problem, H=problem.H * 0)))
        # A cleared momentum has no closed form.
        return with_hyper(s, eps_s=0.0) if s.case.options.get("dead_zone") == DeadZone.MOMENTUM else s

    return round_scenarios(setting).map(flat)


def _check(bench: Bench, s: Scenario) -> None:
    d = flatten(s.case.x0).size
    sets = [range(d)] if s.case.options.get("cover") == "one" else [(j,) for j in range(d)]
    with digits():
        want = models(running(s), sets)
    bench.follows(s, want)


LAWS = (
    law(
        id="joint-constant",
        words="clients with constant gradients: every step in closed form, and the server's sums of them",
        source="Algs. 2, 4, 7 and 9 with a constant gradient; eq. (SU) (L100)",
        cases=_flat,
        check=_check,
        applies=fact(Fact.JOINT),
    ),
)
