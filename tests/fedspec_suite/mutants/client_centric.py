"""Mutants of what the client-centric algorithms' clients send."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_A = "fedspec.algorithms."
_M = "fedspec.mixing.arrivals."

_PLAIN = ("cc-fedavg", "cc-fedsgd", "cc-fedavgm")
_ADAPTIVE = ("cc-fedadam", "cc-fedadagrad", "cc-fedams")
_CC = (*_PLAIN, *_ADAPTIVE)

MUTANTS = (
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
        algorithms=(*_ADAPTIVE, *_PLAIN),
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
