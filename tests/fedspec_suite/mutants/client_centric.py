"""Mutants of what the client-centric algorithms' clients send, and of their servers."""

from __future__ import annotations

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
    *(
        Mutant(
            id=f"{name}-against-present",
            words="the change is taken against the present model, not the version downloaded",
            algorithms=algorithms,
            rule=rule,
            old="local_change(x, x_mu,",
            new="local_change(x, state.x,",
        )
        for name, algorithms, rule in (
            ("cc", _CC, _A + "client_centric.cc_local"),
            ("fedbuff", ("fedbuff",), _A + "fedbuff.step"),
        )
    ),
    *(
        Mutant(
            id=f"{name}-trains-present",
            words="training begins at the present model, the change is taken against the version downloaded",
            algorithms=algorithms,
            rule=rule,
            old="local_sgd(h, x_mu,",
            new="local_sgd(h, state.x,",
        )
        for name, algorithms, rule in (
            ("cc", _CC, _A + "client_centric.cc_local"),
            ("fedbuff", ("fedbuff",), _A + "fedbuff.step"),
        )
    ),
    Mutant(
        id="cc-other-client",
        words="another client's gradients are used",
        algorithms=_CC,
        rule=_A + "client_centric.cc_local",
        old="clients[arrival.client]",
        new="clients[arrival.client - 1]",
    ),
    Mutant(
        id="cc-one-step-more",
        words="one local step too many is taken, and not counted",
        algorithms=_CC,
        rule=_A + "client_centric.cc_local",
        old="clients[arrival.client], arrival.steps)",
        new="clients[arrival.client], arrival.steps + 1)",
    ),
    Mutant(
        id="cc-discounted",
        words="late changes are divided by their age",
        algorithms=_CC,
        rule=_A + "client_centric.cc_local",
        old="normalise=h.normalise)",
        new="normalise=h.normalise) / (1 + arrival.delay)",
    ),
    Mutant(
        id="cc-sends-gradient",
        words="the mean gradient is sent: the change is divided by eta_l, too",
        algorithms=_CC,
        rule=_A + "client_centric.cc_local",
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
        rule=_A + "buffered.collect",
        old="after = server(state.server,",
        new="after = server(replace(state.server, m=0 * state.server.m),",
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
        algorithms=("cc-fedavgm",),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="beta * state.v + (1 - beta) * delta",
        new="(1 - beta) * state.v + beta * delta",
    ),
    Mutant(
        id="cc-fedavgm-stale",
        words="the step uses the average of the round before",
        algorithms=("cc-fedavgm",),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="eta * v",
        new="eta * state.v",
    ),
    Mutant(
        id="cc-fedavgm-rate-in-average",
        words="the rate enters the average and the step",
        algorithms=("cc-fedavgm",),
        rule=_S + "averaged_momentum.averaged_momentum",
        old="(1 - beta) * delta",
        new="(1 - beta) * eta * delta",
    ),
    Mutant(
        id="cc-fedadagrad-no-momentum",
        words="there is no momentum",
        algorithms=("cc-fedadagrad",),
        rule=_S + "adagrad.general_adagrad",
        old="m = beta1 * state.m + (1 - beta1) * delta",
        new="m = delta",
    ),
    Mutant(
        id="cc-fedadagrad-forgets",
        words="v is the last square alone",
        algorithms=("cc-fedadagrad",),
        rule=_S + "adagrad.general_adagrad",
        old="v = state.v + (",
        new="v = 0 * state.v + (",
    ),
    Mutant(
        id="cc-fedadam-v-from-m",
        words="v averages the square of m",
        algorithms=("cc-fedadam",),
        rule=_S + "adam.general_adam",
        old="(delta if second_moment is SecondMoment.PSEUDO_GRADIENT else m)",
        new="m",
    ),
    Mutant(
        id="cc-fedadam-stale-v",
        words="the step uses the second moment of the round before",
        algorithms=("cc-fedadam",),
        rule=_S + "adam.general_adam",
        old="v_hat = corrected(v,",
        new="v_hat = corrected(state.v,",
    ),
    Mutant(
        id="cc-fedadam-corrected",
        words="both moments are corrected for their start",
        algorithms=("cc-fedadam",),
        rule=_S + "adam.general_adam",
        old="t = state.t + 1",
        new="t, bias_correction = state.t + 1, BiasCorrection.MOMENTS",
    ),
    Mutant(
        id="cc-fedams-no-max",
        words="the maximum is never taken",
        algorithms=("cc-fedams",),
        rule=_S + "amsgrad.general_amsgrad",
        old="v_hat = maximum(state.v_hat, corrected(v, beta2, t, before))",
        new="v_hat = corrected(v, beta2, t, before)",
    ),
    Mutant(
        id="cc-fedams-recursive-max",
        words="v averages over its maximum so far",
        algorithms=("cc-fedams",),
        rule=_S + "amsgrad.general_amsgrad",
        old="v = beta2 * state.v +",
        new="v = beta2 * state.v_hat +",
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
        old="v0=h.v0",
        new="v0=h.v0 * 0",
    ),
    Mutant(
        id="cc-v0-squared",
        words="v_0 is squared",
        algorithms=("cc-fedadagrad", "cc-fedadam"),
        rule=_A + "client_centric.init_v",
        old="v0=h.v0",
        new="v0=h.v0 * h.v0",
    ),
)

MUTANTS = (*_SENDING, *_SERVERS)
