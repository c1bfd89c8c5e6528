"""Mutants of the servers of the client-centric algorithms."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_S = "fedspec.server."

_ADAPTIVE = ("cc-fedadam", "cc-fedadagrad", "cc-fedams")

_SERVERS = (
    Mutant(
        id="cc-momentum-cleared",
        words="the momentum is cleared before every step of the server",
        algorithms=_ADAPTIVE,
        rule=_A + "client_centric.client_centric",
        old="server(state.server,",
        new="server(replace(state.server, m=0 * state.server.m),",
    ),
    Mutant(
        id="cc-fedsgd-rate-twice",
        words="the server rate is applied twice",
        algorithms=("cc-fedsgd", "fedbuff"),
        rule=_S + "average.average",
        old="x + eta * delta",
        new="x + eta * eta * delta",
    ),
    Mutant(
        id="cc-fedavgm-exchanged",
        words="beta and 1 - beta are exchanged",
        algorithms=("cc-fedavgm", "fedavgm"),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="beta * state.v + (1 - beta) * delta",
        new="(1 - beta) * state.v + beta * delta",
    ),
    Mutant(
        id="cc-fedavgm-stale",
        words="the step uses the average of the round before",
        algorithms=("cc-fedavgm", "fedavgm"),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="eta * v",
        new="eta * state.v",
    ),
    Mutant(
        id="cc-fedavgm-rate-in-average",
        words="the rate enters the average and the step",
        algorithms=("cc-fedavgm", "fedavgm"),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="(1 - beta) * delta",
        new="(1 - beta) * eta * delta",
    ),
    Mutant(
        id="cc-fedadagrad-no-momentum",
        words="there is no momentum",
        algorithms=("cc-fedadagrad",),
        rule=_S + "client_centric.cc_adagrad",
        old="m = beta1 * state.m + (1 - beta1) * delta",
        new="m = delta",
    ),
    Mutant(
        id="cc-fedadagrad-forgets",
        words="v is the last square alone",
        algorithms=("cc-fedadagrad",),
        rule=_S + "client_centric.cc_adagrad",
        old="v = state.v +",
        new="v = 0 * state.v +",
    ),
    Mutant(
        id="cc-fedadagrad-momentum-sums",
        words="the momentum is a sum: m = beta1 m + Delta",
        algorithms=("cc-fedadagrad",),
        rule=_S + "client_centric.cc_adagrad",
        old="(1 - beta1) * delta",
        new="delta",
    ),
    Mutant(
        id="cc-fedadam-v-from-m",
        words="v averages the square of m",
        algorithms=("cc-fedadam",),
        rule=_S + "client_centric.cc_adam",
        old="delta**2",
        new="m**2",
    ),
    Mutant(
        id="cc-fedadam-stale-v",
        words="the step uses the second moment of the round before",
        algorithms=("cc-fedadam",),
        rule=_S + "client_centric.cc_adam",
        old="state.x + eta * m / (sqrt(v)",
        new="state.x + eta * m / (sqrt(state.v)",
    ),
    Mutant(
        id="cc-fedadam-v-exchanged",
        words="beta2 and 1 - beta2 are exchanged",
        algorithms=("cc-fedadam",),
        rule=_S + "client_centric.cc_adam",
        old="beta2 * state.v + (1 - beta2) * delta**2",
        new="(1 - beta2) * state.v + beta2 * delta**2",
    ),
    Mutant(
        id="cc-fedadam-corrected",
        words="both moments are corrected for their start",
        algorithms=("cc-fedadam",),
        rule=_A + "cc_adaptive.cc_fedadam",
        old="after = cc_adam(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.tau)",
        new="t = len(state.versions); after = cc_adam(s, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta2, eps=h.tau); "
        "m_hat, v_hat = after.m / (1 - h.beta1**t), after.v / (1 - h.beta2**t); "
        "after = replace(after, x=s.x + h.eta * m_hat / (sqrt(v_hat) + h.tau))",
    ),
    Mutant(
        id="cc-fedams-no-max",
        words="the maximum is never taken",
        algorithms=("cc-fedams",),
        rule=_S + "client_centric.cc_ams",
        old="v_hat = maximum(state.v_hat, v)",
        new="v_hat = v",
    ),
    Mutant(
        id="cc-fedams-recursive-max",
        words="v averages over its maximum so far",
        algorithms=("cc-fedams",),
        rule=_S + "client_centric.cc_ams",
        old="v = beta2 * state.v +",
        new="v = beta2 * state.v_hat +",
    ),
    Mutant(
        id="cc-fedams-stale-max",
        words="the step uses the maximum of the round before",
        algorithms=("cc-fedams",),
        rule=_S + "client_centric.cc_ams",
        old="eta * m / (sqrt(v_hat)",
        new="eta * m / (sqrt(state.v_hat)",
    ),
    Mutant(
        id="cc-fedams-v0-in-max-only",
        words="v_0 enters the maximum only",
        algorithms=("cc-fedams",),
        rule=_A + "cc_adaptive.init_ams",
        old="m=zeros(x), v=v,",
        new="m=zeros(x), v=zeros(x),",
    ),
    Mutant(
        id="cc-v0-ignored",
        words="v_0 is ignored",
        algorithms=("cc-fedadam", "cc-fedadagrad"),
        rule=_A + "cc_adaptive.init_v",
        old="constant(h.v0, x)",
        new="constant(h.v0 * 0, x)",
    ),
    Mutant(
        id="cc-v0-squared",
        words="v_0 is squared",
        algorithms=("cc-fedadagrad", "cc-fedadam"),
        rule=_A + "cc_adaptive.init_v",
        old="constant(h.v0, x)",
        new="constant(h.v0 * h.v0, x)",
    ),
)

_cc_inside = partial(
    Mutant,
    algorithms=_ADAPTIVE,
    rule=_S + "client_centric.cc_inside",
    old="x = x + eta * m / sqrt(v_hat + eps)",
    options={"epsilon": "inside"},
)

_INSIDE = (
    _cc_inside(
        id="cc-inside-rate-twice",
        words="the server rate is applied twice",
        new="x = x + eta * eta * m / sqrt(v_hat + eps)",
    ),
    _cc_inside(
        id="cc-inside-both",
        words="epsilon stands inside the root and outside",
        new="x = x + eta * m / (sqrt(v_hat + eps) + eps)",
    ),
    _cc_inside(
        id="cc-inside-no-root", words="the step is divided by v, not by its root", new="x = x + eta * m / (v_hat + eps)"
    ),
)

MUTANTS = (*_SERVERS, *_INSIDE)
