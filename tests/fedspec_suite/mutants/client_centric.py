"""Mutants of what the client-centric algorithms' clients send, and of their servers."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_M = "fedspec.mixing.arrivals."
_S = "fedspec.server."

_CC = ("cc-fedavg", "cc-fedsgd", "cc-fedavgm", "cc-fedadagrad", "cc-fedadam", "cc-fedams")
_ADAPTIVE = ("cc-fedadam", "cc-fedadagrad", "cc-fedams")

_SENDING = (
    Mutant(
        id="cc-divided-twice",
        words="the change is divided by the number of steps twice",
        algorithms=_CC,
        rule=_M + "local_change",
        old="change / steps if",
        new="change / steps / steps if",
    ),
    Mutant(
        id="cc-uphill",
        words="the change has the paper's sign and is added",
        algorithms=(*_ADAPTIVE, "cc-fedavg", "cc-fedsgd", "cc-fedavgm"),
        rule=_M + "local_change",
        old="change = x - x_mu",
        new="change = x_mu - x",
    ),
    Mutant(
        id="cc-half-divided",
        words="only the local model is divided by the number of steps",
        algorithms=_CC,
        rule=_M + "local_change",
        old="change / steps if",
        new="x / steps - x_mu if",
    ),
    Mutant(
        id="cc-steps-miscounted",
        words="the change is divided by one step too many",
        algorithms=_CC,
        rule=_M + "local_change",
        old="change / steps if",
        new="change / (steps + 1) if",
    ),
    Mutant(
        id="cc-against-present",
        words="the change is taken against the present model, not the version downloaded",
        algorithms=_CC,
        rule=_A + "client_centric.client_centric",
        old="local_change(x, x_mu,",
        new="local_change(x, state.x,",
    ),
    Mutant(
        id="fedbuff-against-present",
        words="the change is taken against the present model, not the version downloaded",
        algorithms=("fedbuff",),
        rule=_A + "fedbuff.step",
        old="local_change(x, x_mu,",
        new="local_change(x, state.x,",
    ),
    Mutant(
        id="cc-trains-present",
        words="training begins at the present model, the change is taken against the version downloaded",
        algorithms=_CC,
        rule=_A + "client_centric.client_centric",
        old="x = x_mu",
        new="x = state.x",
    ),
    Mutant(
        id="fedbuff-trains-present",
        words="training begins at the present model, the change is taken against the version downloaded",
        algorithms=("fedbuff",),
        rule=_A + "fedbuff.step",
        old="x = x_mu",
        new="x = state.x",
    ),
    Mutant(
        id="cc-other-client",
        words="another client's gradients are used",
        algorithms=_CC,
        rule="fedspec.population.each_arrival",
        old="clients[a.client]",
        new="clients[a.client - 1]",
    ),
    Mutant(
        id="cc-one-step-more",
        words="one local step too many is taken, and not counted",
        algorithms=_CC,
        rule=_A + "client_centric.client_centric",
        old="range(K)",
        new="range(K + 1)",
    ),
    Mutant(
        id="cc-discounted",
        words="late changes are divided by their age",
        algorithms=_CC,
        rule=_A + "client_centric.client_centric",
        old="each_arrival(client, clients, arrivals, state.versions)",
        new="[delta / (1 + a.delay) for delta, a in "
        "zip(each_arrival(client, clients, arrivals, state.versions), arrivals)]",
    ),
    Mutant(
        id="cc-sends-gradient",
        words="the mean gradient is sent: the change is divided by eta_l, too",
        algorithms=_CC,
        rule=_A + "client_centric.client_centric",
        old="normalise=h.normalise)",
        new="normalise=h.normalise) / h.eta_l",
    ),
    Mutant(
        id="fedbuff-per-step",
        words="changes are divided by the number of steps",
        algorithms=("fedbuff",),
        rule=_A + "fedbuff.step",
        old="Normalise.NONE",
        new="Normalise.PER_STEP",
    ),
)

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
        rule=_A + "client_centric.cc_fedadam",
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
        rule=_A + "client_centric.init_ams",
        old="m=zeros(x), v=v,",
        new="m=zeros(x), v=zeros(x),",
    ),
    Mutant(
        id="cc-v0-ignored",
        words="v_0 is ignored",
        algorithms=("cc-fedadam", "cc-fedadagrad"),
        rule=_A + "client_centric.init_v",
        old="constant(h.v0, x)",
        new="constant(h.v0 * 0, x)",
    ),
    Mutant(
        id="cc-v0-squared",
        words="v_0 is squared",
        algorithms=("cc-fedadagrad", "cc-fedadam"),
        rule=_A + "client_centric.init_v",
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

MUTANTS = (*_SENDING, *_SERVERS, *_INSIDE)
