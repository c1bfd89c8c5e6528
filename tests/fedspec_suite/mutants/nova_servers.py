"""Mutants of FedNova with a buffer or an adaptive server, and with a solver for each client."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_CHANGE = "fedspec.mixing.nova.general_change"
_MOMENTUM = "fedspec.server.nova_momentum.nova_momentum"
_SERVER = "fedspec.algorithms.fednova_momentum.server"
_SERVERS = "fedspec.algorithms.fednova_adaptive.server"
_SOLVERS = "fedspec.algorithms.fednova_solvers.step"
_SLOWMO = {"buffer_holds": "gradients"}

_fednova_momentum = partial(Mutant, algorithms=("fednova-momentum",))

_BUFFER = (
    _fednova_momentum(
        id="fednova-momentum-tau-eff-unused",
        words="tau_eff is computed and not used",
        rule=_CHANGE,
        old="-tau_eff * (w",
        new="-(w",
    ),
    _fednova_momentum(
        id="fednova-momentum-uphill",
        words="the change goes uphill",
        rule=_CHANGE,
        old="-tau_eff * (w",
        new="tau_eff * (w",
    ),
    _fednova_momentum(
        id="fednova-momentum-clients-counted",
        words="the number of clients multiplies the change",
        rule=_CHANGE,
        old="-tau_eff * (w",
        new="-len(w) * tau_eff * (w",
    ),
    _fednova_momentum(
        id="fednova-momentum-dampened",
        words="the buffer averages: v = beta v + (1 - beta) P",
        rule=_MOMENTUM,
        old="state.v + delta",
        new="state.v + (1 - beta) * delta",
    ),
    _fednova_momentum(
        id="fednova-momentum-forgets",
        words="the buffer is emptied every round",
        rule=_MOMENTUM,
        old="beta * state.v + delta",
        new="delta",
    ),
    _fednova_momentum(
        id="fednova-momentum-no-decay",
        words="the buffer is a plain sum",
        rule=_MOMENTUM,
        old="beta * state.v + delta",
        new="state.v + delta",
    ),
    _fednova_momentum(
        id="fednova-momentum-stale",
        words="the model moves by the buffer of the round before",
        rule=_MOMENTUM,
        old="state.x + v",
        new="state.x + state.v",
    ),
    _fednova_momentum(
        id="fednova-momentum-change-twice",
        words="the change enters the model beside the buffer",
        rule=_MOMENTUM,
        old="state.x + v",
        new="state.x + v + delta",
    ),
    _fednova_momentum(
        id="fednova-momentum-slowmo-sign",
        words="SlowMo's buffer holds the change, not the gradient",
        rule=_MOMENTUM,
        old="state.v - delta",
        new="state.v + delta",
        options=_SLOWMO,
    ),
    _fednova_momentum(
        id="fednova-momentum-slowmo-decays-new",
        words="the decay multiplies the new gradient as well",
        rule=_MOMENTUM,
        old="beta * state.v - delta / eta_l",
        new="beta * (state.v - delta / eta_l)",
        options=_SLOWMO,
    ),
    _fednova_momentum(
        id="fednova-momentum-slowmo-stale",
        words="the step uses SlowMo's old buffer",
        rule=_MOMENTUM,
        old="eta_l * v",
        new="eta_l * state.v",
        options=_SLOWMO,
    ),
    _fednova_momentum(
        id="fednova-momentum-weights-implied",
        words="the changes themselves are averaged: nothing is normalised",
        rule=_SERVER,
        old="general_change(d, p,",
        new="general_change(d, p * a / (p @ a),",
    ),
)

_fednova_adaptive = partial(Mutant, algorithms=("fednova-adaptive",), rule=_SERVERS)

_ADAPTIVE = (
    _fednova_adaptive(
        id="fednova-adaptive-weights-implied",
        words="the changes themselves are averaged: nothing is normalised",
        old="general_change(d, p,",
        new="general_change(d, p * a / (p @ a),",
    ),
    _fednova_adaptive(
        id="fednova-adaptive-direction",
        words="the server sees the mean direction, without tau_eff",
        old="tau_eff=tau_eff,",
        new="tau_eff=1,",
    ),
    _fednova_adaptive(
        id="fednova-adaptive-gradient",
        words="the server takes the change for a gradient",
        old="adam(state, delta",
        new="adam(state, -delta",
    ),
    _fednova_adaptive(
        id="fednova-adaptive-yogi-is-adam",
        words="Yogi's second moment is Adam's",
        old="general_yogi(state,",
        new="general_adam(state,",
        options={"server": "yogi"},
    ),
    _fednova_adaptive(
        id="fednova-adaptive-adagrad-decays",
        words="AdaGrad's second moment decays like Adam's",
        old="general_adagrad(state, delta, eta=h.eta, beta1=h.beta1,",
        new="general_adam(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta1,",
        options={"server": "adagrad"},
    ),
)

_fednova_solvers = partial(Mutant, algorithms=("fednova-solvers",), rule=_SOLVERS)

_EACH_ITS_OWN = (
    _fednova_solvers(
        id="fednova-solvers-one-solver",
        words="everybody runs the first participant's solver",
        old='"strategies", strategy)',
        new='"strategies", plan.strategies[0])',
    ),
    _fednova_solvers(
        id="fednova-solvers-norm-of-sgd",
        words="all changes are normalised as plain SGD's",
        old="a_norm(solver, tau,",
        new="a_norm(Solver.SGD, tau,",
    ),
    _fednova_solvers(
        id="fednova-solvers-norm-of-first",
        words="all changes are normalised as the first participant's solver's",
        old="a_norm(solver, tau,",
        new="a_norm(Solver(plan.strategies[0]), tau,",
    ),
    _fednova_solvers(
        id="fednova-solvers-tau-eff-in-steps",
        words="tau_eff counts steps",
        old="TauEff.WEIGHTED_NORM",
        new="TauEff.WEIGHTED_STEPS",
    ),
)

_code_norm = partial(
    Mutant,
    algorithms=("fednova",),
    rule="fedspec.mixing.accumulation.code_norm",
    options={
        "solver": "momentum-proximal-inside",
        "norm": "code",
        "nova_weights": "nova",
        "tau_eff_choice": "weighted-steps",
    },
)

_COUNTED = (
    _code_norm(
        id="fednova-code-momentum-not-pulled",
        words="the count of momentum is added after the pull of its step",
        old="(1 - alpha) * (n + b) + 1",
        new="(1 - alpha) * n + b + 1",
    ),
    _code_norm(
        id="fednova-code-pull-reversed",
        words="the pull has the wrong sign: 1 + alpha",
        old="(1 - alpha) * (n + b) + 1",
        new="(1 + alpha) * (n + b) + 1",
    ),
    _code_norm(
        id="fednova-code-step-counted-once",
        words="the step of the pull is not counted beside that of momentum",
        old="(1 - alpha) * (n + b) + 1",
        new="(1 - alpha) * n + b",
    ),
)

MUTANTS = (*_BUFFER, *_ADAPTIVE, *_EACH_ITS_OWN, *_COUNTED)
