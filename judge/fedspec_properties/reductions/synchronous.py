"""Reductions among algorithms whose server needs only the clients' changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fedspec.arith import Array, sqrt
from fedspec.contract import Event, Messages, Round
from fedspec_properties.reductions.edge import Change, reduces, rooted
from fedspec_properties.reductions.rounds import in_rounds, single_steps
from fedspec_suite.measure.scenario import Scenario, with_hyper
from fedspec_suite.measure.setting import Setting

NOVA: dict[str, Any] = {"tau_eff_choice": "weighted-norm"}
IMPLIED = {**NOVA, "nova_weights": "implied"}
PLAIN: dict[str, Any] = {"bias_correction": "none", "second_moment": "pseudo-gradient"}
SGD: dict[str, Any] = {"solver": "sgd"}
PROXIMAL: dict[str, Any] = {"solver": "proximal"}
EQUAL = "FedNova, eqs. (5)-(6)"


def _equal_steps(draw: st.DrawFn, setting: Setting, s: Scenario) -> Scenario:
    """Give all participants of all rounds equally many steps, or equal norms."""
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


def _sized(size: Callable[[int, Array], Array]) -> Change:
    """The restriction on the size of the changes: ``size`` makes it from the round and what was drawn.

    The clients of a round agree on the sign of each coordinate, so that their mean has a size in the same range.
    """

    def sized(s: Scenario) -> Scenario:
        events = []
        for t, e in enumerate(s.events):
            assert isinstance(e, Messages)
            signs = {n: np.where(a < 0, -1, 1).astype(a.dtype) for n, a in e.messages[0].delta.items()}
            deltas = [
                {n: signs[n] * size(t, np.abs(a)).astype(a.dtype) for n, a in m.delta.items()} for m in e.messages
            ]
            events.append(Messages(tuple(replace(m, delta=d) for m, d in zip(e.messages, deltas, strict=True))))
        return replace(s, events=tuple(events))

    return sized


def _size_of_v0(s: Scenario) -> Scenario:
    root = float(np.sqrt(s.case.hyper["v0"]))
    return _sized(lambda t, a: np.full_like(a, root))(s)


def _over_root_v0(h: Any, o: Any) -> Any:
    root = sqrt(h["v0"]) + h["tau"] if o["epsilon"] == "outside" else sqrt(h["v0"] + h["tau"])
    return h["eta"] * (1 - h["beta1"]) / root


def _over_root_eps(h: Any, o: Any) -> Any:
    return h["eta"] * (1 - h["beta1"]) / sqrt(h["eps"])


by_server = partial(reduces, levels=("server",))
WANG = "external: Wang, Lin and Chen (2022)"

AVERAGES = (
    in_rounds("fedprox", "fedavg", "FedNova, eq. (7)").under(mu=0.0),
    reduces("fedavgm", "fedavg", "FedNova, L204 and L244").under(beta=0.0),
    reduces("slowmo", "fedavg", "external: Wang, Tantia, Ballas and Rabbat (2020); by its definition").under(beta=0.0),
    reduces(
        "slowmo",
        "fedavgm",
        "FedNova, L204; external: Wang, Tantia, Ballas and Rabbat (2020): v is -eta_l times FedAvgM's",
    ).under("the clients' rate stays what it is"),
    in_rounds("fedprox", "fedavg", "FedNova, eq. (31): the first gradient is taken where the pull is zero")
    .named("fedprox-one-step-is-fedavg")
    .under("every participant takes one step", single_steps),
    in_rounds("fednova", "fedavg", EQUAL).under(
        "all participants take equally many steps of SGD", narrow=_equal_steps, **NOVA, **SGD
    ),
    by_server("fednova", "fedavg", f"{EQUAL} with equal ||a_i||_1")
    .named("fednova-equal-norms-is-fedavg")
    .under("all messages have the same ||a_i||_1", narrow=_equal_steps, **NOVA),
    in_rounds("fednova", "fedavg", EQUAL)
    .named("fednova-implied-is-fedavg")
    .under("w_i are the implied weights and the solver is SGD", **IMPLIED, **SGD),
    in_rounds("fednova", "fedprox", "FedNova, eq. (7)")
    .named("fednova-implied-is-fedprox")
    .under("w_i are the implied weights and the solver is proximal; eta = 1", **IMPLIED, **PROXIMAL),
    in_rounds("fednova", "fedprox", EQUAL).under(
        "all participants take equally many proximal steps; eta = 1", narrow=_equal_steps, **NOVA, **PROXIMAL
    ),
    in_rounds("fednova", "fedprox", "FedNova, eqs. (7) and (31) with alpha = 1")
    .named("fednova-unit-alpha-is-fedprox")
    .under(
        "the solver is proximal and eta_l mu = 1, so that every ||a_i||_1 is 1; eta = 1",
        lambda s: with_hyper(s, mu=1 / s.case.hyper["eta_l"]),
        needs=("mu",),
        about=("eta_l",),
        **NOVA,
        **PROXIMAL,
    ),
)

SECOND_MOMENTS = (
    rooted("fedams", "fedamsgrad", "AFGA, footnote 5: FedAMSGrad is one of the variants of FedAMS").under(
        "option = 2", option="2"
    ),
    by_server("fedams", "fedamsgrad", f"{WANG}, Algorithm 1: max(v_hat, v, eps) is max(v_hat, v)", roots=True)
    .named("fedams-without-eps-is-fedamsgrad")
    .under("option = 1 and no second moment is below eps; eps = 0", _sized(lambda t, a: 3 + a), about=("eps", "beta2"))
    .under(option="1")
    .told(eps=0),
    by_server("fedams", "fedavgm", f"{WANG}, Algorithm 1: max(v_hat, v, eps) is eps")
    .under(
        "option = 1 and no second moment is above eps; eta is eta (1 - beta1) / sqrt(eps)",
        _sized(lambda t, a: a / 32),
        about=("eps", "beta2"),
        option="1",
    )
    .told(eta=_over_root_eps, beta=lambda h, o: h["beta1"]),
    rooted("fedams-code", "fedamsgrad", f"{WANG}, their code")
    .under("v_hat_0 = 0; moments corrected after the maximum, eps outside", v_hat0=0.0)
    .told(bias_correction="moments", epsilon="outside"),
    by_server("fedamsgrad", "fedadam", "AFGA, eq. (2) (L112-130): the maximum is the last second moment", roots=True)
    .under(
        "no coordinate of Delta gets smaller from round to round; tau = eps, v_0 = 0",
        _sized(lambda t, a: 3 * t + a),
        about=("beta2",),
    )
    .told(tau=lambda h, o: h["eps"], v0=0),
    by_server("fedadam", "fedavgm", "FedAda2, App. C.2 (L1136): an average of equal squares is that square", roots=True)
    .under("Delta^2 = v_0 everywhere; eta is eta (1 - beta1) / (sqrt(v_0) + tau)", _size_of_v0, about=("v0", "tau"))
    .under(**PLAIN)
    .told(eta=_over_root_v0, beta=lambda h, o: h["beta1"]),
    # Each change is larger than the root of all squares before it: 4 * 3^t is, where they are below 7 * 3^t.
    by_server("fedyogi", "fedadagrad", "external: Reddi et al. (2021), Algorithm 2: sign(v - Delta^2) = -1", roots=True)
    .under("beta2 = 0 and every Delta^2 exceeds v", _sized(lambda t, a: (4 + a) * 3.0**t), about=("v0", "tau"))
    .under(beta2=0.0, **PLAIN),
)

EDGES = (*AVERAGES, *SECOND_MOMENTS)
