"""Reductions among the algorithms whose server needs the clients' changes only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, sqrt
from fedspec.contract import Event, Messages, Round
from fedspec_properties.reductions.edge import Edge, fixing, pinned, told
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

NOVA = {"tau_eff_choice": "weighted-norm"}
IMPLIED = {**NOVA, "nova_weights": "implied"}
PLAIN = {"bias_correction": "none", "second_moment": "pseudo-gradient"}
EQUAL = "FedNova, eqs. (5)-(6)"


def _as_fedavg(s: Scenario) -> Scenario:
    return told(s, "fedavg", hyper={"eta": s.case.hyper.get("eta", 1)})


def _as_fedprox(s: Scenario) -> Scenario:
    return told(s, "fedprox", hyper={"eta": 1})


def _equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """All participants of all rounds take equally many steps, or send the same norm."""
    tau = draw(st.integers(1, 4))
    a = tau if setting.steps_only else draw(st.integers(1, 16)) / 4

    def event(e: Event) -> Event:
        match e:
            case Round(steps=steps):
                return replace(e, steps=(tau,) * len(steps))
            case Messages(messages=messages):
                return Messages(tuple(replace(m, steps=tau, a_norm=a) for m in messages))
        return e

    return replace(s, events=tuple(map(event, s.events)))


def _one_step(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return replace(s, events=tuple(replace(e, steps=(1,) * len(e.steps)) for e in s.events if isinstance(e, Round)))


def _unit_alpha(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    return with_hyper(s, mu=1 / s.case.hyper["eta_l"])


def _sized(size: Callable[[int, Array], Array]) -> Callable[[st.DrawFn, Setting, Scenario], Scenario]:
    """The restriction on the size of the changes: ``size`` makes it from the round and what was drawn.

    The clients of a round agree on the sign of each coordinate, so that their mean has a size in the same range.
    """

    def narrow(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
        events = []
        for t, e in enumerate(s.events):
            assert isinstance(e, Messages)
            signs = {n: np.where(a < 0, -1, 1).astype(a.dtype) for n, a in e.messages[0].delta.items()}
            sized = [{n: signs[n] * size(t, np.abs(a)).astype(a.dtype) for n, a in m.delta.items()} for m in e.messages]
            events.append(Messages(tuple(replace(m, delta=d) for m, d in zip(e.messages, sized, strict=True))))
        return replace(s, events=tuple(events))

    return narrow


def _size_of_v0(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    root = float(np.sqrt(s.case.hyper["v0"]))
    return _sized(lambda t, a: np.full_like(a, root))(draw, setting, s)


def _outgrowing(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Each change is larger than the root of all squares before it: 4 * 3^t is, where they are below 7 * 3^t."""
    return with_hyper(_sized(lambda t, a: (4 + a) * 3.0**t)(draw, setting, s), beta2=0.0)


def _as_momentum_over_root_v0(s: Scenario) -> Scenario:
    h = s.case.hyper
    root = sqrt(h["v0"]) + h["tau"] if s.case.options["epsilon"] == "outside" else sqrt(h["v0"] + h["tau"])
    return told(s, "fedavgm", hyper={"eta": h["eta"] * (1 - h["beta1"]) / root, "beta": h["beta1"]})


def _as_momentum_over_root_eps(s: Scenario) -> Scenario:
    h = s.case.hyper
    return told(s, "fedavgm", hyper={"eta": h["eta"] * (1 - h["beta1"]) / sqrt(h["eps"]), "beta": h["beta1"]})


def _as_adam(s: Scenario) -> Scenario:
    return told(s, "fedadam", hyper={"tau": s.case.hyper["eps"], "v0": 0})


AVERAGES = (
    pinned(
        source="fedprox", target="fedavg", cited="FedNova, eq. (7)", level="round", values={"mu": 0.0}, carry=_as_fedavg
    ),
    pinned(
        source="fedavgm",
        target="fedavg",
        cited="FedNova, L204 and L244",
        level="server",
        values={"beta": 0.0},
        carry=_as_fedavg,
        also=("round",),
    ),
    pinned(
        source="slowmo",
        target="fedavg",
        cited="external: Wang et al. (2020); by its definition",
        level="server",
        values={"beta": 0.0},
        also=("round",),
    ),
    Edge(
        id="slowmo-is-fedavgm",
        source="slowmo",
        target="fedavgm",
        when="the clients' rate stays what it is",
        cited="FedNova, L204; external: Wang et al. (2020): v is -eta_l times FedAvgM's",
        level="server",
        also=("round",),
        carry=lambda s: told(s, "fedavgm"),
    ),
    Edge(
        id="fedprox-one-step-is-fedavg",
        source="fedprox",
        target="fedavg",
        when="every participant takes one step",
        cited="FedNova, eq. (31): the first gradient is taken where the pull is zero",
        level="round",
        carry=_as_fedavg,
        narrow=_one_step,
    ),
    Edge(
        id="fednova-is-fedavg",
        source="fednova",
        target="fedavg",
        when="all participants take equally many steps of SGD",
        cited=EQUAL,
        level="round",
        carry=_as_fedavg,
        narrow=_equal_steps,
        options={**NOVA, "solver": "sgd"},
    ),
    Edge(
        id="fednova-equal-norms-is-fedavg",
        source="fednova",
        target="fedavg",
        when="all messages have the same ||a_i||_1",
        cited=f"{EQUAL} with equal ||a_i||_1",
        level="server",
        carry=_as_fedavg,
        narrow=_equal_steps,
        options=NOVA,
    ),
    Edge(
        id="fednova-implied-is-fedavg",
        source="fednova",
        target="fedavg",
        when="w_i are the implied weights and the solver is SGD",
        cited=EQUAL,
        level="round",
        carry=_as_fedavg,
        options={**IMPLIED, "solver": "sgd"},
    ),
    Edge(
        id="fednova-implied-is-fedprox",
        source="fednova",
        target="fedprox",
        when="w_i are the implied weights and the solver is proximal; eta = 1",
        cited="FedNova, eq. (7)",
        level="round",
        carry=_as_fedprox,
        options={**IMPLIED, "solver": "proximal"},
    ),
    Edge(
        id="fednova-is-fedprox",
        source="fednova",
        target="fedprox",
        when="all participants take equally many proximal steps; eta = 1",
        cited=EQUAL,
        level="round",
        carry=_as_fedprox,
        narrow=_equal_steps,
        options={**NOVA, "solver": "proximal"},
    ),
    Edge(
        id="fednova-unit-alpha-is-fedprox",
        source="fednova",
        target="fedprox",
        when="the solver is proximal and eta_l mu = 1, so that every ||a_i||_1 is 1; eta = 1",
        cited="FedNova, eqs. (7) and (31) with alpha = 1",
        level="round",
        carry=_as_fedprox,
        narrow=_unit_alpha,
        options={**NOVA, "solver": "proximal"},
        needs=("mu",),
        about=("eta_l",),
    ),
)

SECOND_MOMENTS = (
    Edge(
        id="fedams-is-fedamsgrad",
        source="fedams",
        target="fedamsgrad",
        when="option = 2",
        cited="AFGA, footnote 5: FedAMSGrad is one of the variants of FedAMS",
        level="server",
        carry=lambda s: told(s, "fedamsgrad"),
        options={"option": "2"},
        also=("round",),
        roots=True,
    ),
    Edge(
        id="fedams-without-eps-is-fedamsgrad",
        source="fedams",
        target="fedamsgrad",
        when="option = 1 and no second moment is below eps; eps = 0",
        cited="external: Wang, Lin and Chen (2022), Algorithm 1: max(v_hat, v, eps) is max(v_hat, v)",
        level="server",
        carry=lambda s: told(s, "fedamsgrad", hyper={"eps": 0}),
        narrow=_sized(lambda t, a: 3 + a),
        options={"option": "1"},
        about=("eps", "beta2"),
        roots=True,
    ),
    Edge(
        id="fedams-is-fedavgm",
        source="fedams",
        target="fedavgm",
        when="option = 1 and no second moment is above eps; eta is eta (1 - beta1) / sqrt(eps)",
        cited="external: Wang, Lin and Chen (2022), Algorithm 1: max(v_hat, v, eps) is eps",
        level="server",
        carry=_as_momentum_over_root_eps,
        narrow=_sized(lambda t, a: a / 32),
        options={"option": "1"},
        about=("eps", "beta2"),
    ),
    Edge(
        id="fedams-code-is-fedamsgrad",
        source="fedams-code",
        target="fedamsgrad",
        when="v_hat_0 = 0; moments corrected after the maximum, eps outside",
        cited="external: Wang, Lin and Chen (2022), their code",
        level="server",
        carry=lambda s: told(s, "fedamsgrad", options={"bias_correction": "moments", "epsilon": "outside"}),
        narrow=fixing(v_hat0=0.0),
        needs=("v_hat0",),
        zeroes=("v_hat0",),
        also=("round",),
        roots=True,
    ),
    Edge(
        id="fedamsgrad-is-fedadam",
        source="fedamsgrad",
        target="fedadam",
        when="no coordinate of Delta gets smaller from round to round; tau = eps, v_0 = 0",
        cited="AFGA, eq. (2) (L112-130): the maximum is the last second moment",
        level="server",
        carry=_as_adam,
        narrow=_sized(lambda t, a: 3 * t + a),
        about=("beta2",),
        roots=True,
    ),
    Edge(
        id="fedadam-is-fedavgm",
        source="fedadam",
        target="fedavgm",
        when="Delta^2 = v_0 everywhere; eta is eta (1 - beta1) / (sqrt(v_0) + tau)",
        cited="FedAda2, App. C.2 (L1136): an average of equal squares is that square",
        level="server",
        carry=_as_momentum_over_root_v0,
        narrow=_size_of_v0,
        options=PLAIN,
        about=("v0", "tau"),
        roots=True,
    ),
    Edge(
        id="fedyogi-is-fedadagrad",
        source="fedyogi",
        target="fedadagrad",
        when="beta2 = 0 and every Delta^2 exceeds v",
        cited="external: Reddi et al. (2021), Algorithm 2: sign(v - Delta^2) = -1",
        level="server",
        carry=lambda s: told(s, "fedadagrad"),
        narrow=_outgrowing,
        options=PLAIN,
        needs=("beta2",),
        zeroes=("beta2",),
        about=("v0", "tau"),
        roots=True,
    ),
)

EDGES = (*AVERAGES, *SECOND_MOMENTS)
