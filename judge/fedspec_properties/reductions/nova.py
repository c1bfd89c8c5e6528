"""Reductions of FedNova's variants: variance reduction, sampling, other servers, a solver per client."""

from __future__ import annotations

from typing import Any

from fedspec_properties.reductions.edge import Change, reduces, rooted
from fedspec_properties.reductions.rounds import alone, begins, equal_steps, in_rounds, plans
from fedspec_suite.measure.scenario import Scenario, linear

MEMORY = "FedNova, L204"
SAMPLED = "FedNova, Alg. 1"
SGD: dict[str, Any] = {"solver": "sgd"}
OWN: dict[str, Any] = {"sampled_weights": "self-normalised"}
SAMPLE: dict[str, Any] = {"sampled_steps": "sample"}
SHIFTED: dict[str, Any] = {"loop": "shifted"}


def _one_drawn(s: Scenario) -> Scenario:
    return plans(s, participants=lambda e: e.participants[:1], steps=lambda e: e.steps[:1])


def _all_run(solver: str) -> Change:
    return lambda s: plans(s, strategies=lambda e: (solver,) * len(e.steps))


EDGES = (
    begins("fednova-vr", "fednova", f"{MEMORY} with d = 0"),
    alone("fednova-vr", "fednova", f"{MEMORY}: c_i = d_i - d_i"),
    reduces("fednova-vr", "fednova", f"{MEMORY}: sum p_i c_i = 0")
    .named("fednova-vr-linear-is-fednova")
    .under("the objectives are linear", linear),
    begins("fednova-alg2", "fednova", f"{MEMORY} with d = 0", **SHIFTED).told(solver="momentum"),
    alone("fednova-alg2", "fednova", f"{MEMORY}: c_i = d_i - d_i", **SHIFTED).told(solver="momentum"),
    reduces("fednova-alg2", "fednova", f"{MEMORY}: sum p_i c_i = 0")
    .named("fednova-alg2-linear-is-fednova")
    .under("the objectives are linear", linear, **SHIFTED)
    .told(solver="momentum"),
    reduces("fednova-alg2", "fednova-vr", f"{MEMORY} beside Alg. 2")
    .under("line 13 does not store the correction and the loop counts as in eqs. (35)-(36)", stored="uncorrected")
    .under(**SHIFTED)
    .told(solver="momentum"),
    reduces("fednova-sampled", "fednova", f"{SAMPLED} beside eq. (12)")
    .under("everybody is drawn", everyone=True, **OWN)
    .told(weights="examples"),
    reduces("fednova-sampled", "fednova", "FedNova, footnote 1: p_i m/q with q = m")
    .named("fednova-sampled-uniformly-is-fednova")
    .under("everybody is drawn and tau_eff is a constant", sampled_weights="without-replacement")
    .under(sampled_steps="fixed", everyone=True)
    .told(tau_eff_choice="fixed", weights="examples"),
    reduces("fednova-sampled", "fedavg", f"{SAMPLED}: ||a_i||_1 cancels")
    .named("fednova-sampled-one-is-fedavg")
    .under("one client of SGD is drawn and tau_eff is taken from the sample", _one_drawn, **OWN, **SAMPLE, **SGD)
    .told(weights="examples"),
    reduces("fednova-sampled", "fedavg", f"{SAMPLED}: ||a_i||_1 cancels")
    .named("fednova-sampled-one-replaced-is-fedavg")
    .under("one client of SGD is drawn with replacement and tau_eff is taken from the sample", _one_drawn)
    .under(sampled_weights="with-replacement", **SAMPLE, **SGD)
    .told(weights="examples"),
    reduces("fednova-sampled", "fedavg", f"{SAMPLED} beside eqs. (5)-(6)")
    .under("those that are drawn take equally many steps of SGD", narrow=equal_steps, **OWN, **SAMPLE, **SGD)
    .told(weights="examples"),
    reduces("fednova-momentum", "fednova", MEMORY, levels=("server",)).under(beta=0.0),
    in_rounds("fednova-momentum", "fedavgm", f"{MEMORY} with eqs. (5)-(6)").under(
        "everybody takes equally many steps of SGD", narrow=equal_steps, **SGD
    ),
    in_rounds("fednova-momentum", "slowmo", f"{MEMORY} with eqs. (5)-(6)")
    .under("its buffer holds gradients, and everybody takes equally many steps of SGD", narrow=equal_steps)
    .under(buffer_holds="gradients", **SGD),
    *(
        rooted("fednova-adaptive", f"fed{server}", f"{MEMORY} with eqs. (5)-(6)", levels=("round",))
        .named(f"fednova-adaptive-{server}-is-fed{server}")
        .under(
            f"everybody takes equally many steps of SGD under server {server}", narrow=equal_steps, server=server, **SGD
        )
        for server in ("adam", "adagrad", "yogi")
    ),
    *(
        reduces("fednova-solvers", "fednova", "FedNova, L206 beside eq. (12)")
        .named(f"fednova-solvers-of-{solver}-is-fednova")
        .under(f"everybody's solver is {solver}", _all_run(solver))
        .told(solver=solver)
        for solver in ("momentum", "proximal")
    ),
)
