"""Mutants of FedNova with sampled clients, with a solver for each client, and under servers with a memory."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant

_WEIGHTS = "fedspec.mixing.sampling.sampled_weights"
_STEPS = "fedspec.mixing.sampling.sampled_steps"
_UPDATE = "fedspec.mixing.sampling.sampled_update"
_SAMPLED = "fedspec.algorithms.fednova_sampled.step"
_CHANGE = "fedspec.mixing.nova.general_change"
_MOMENTUM = "fedspec.server.nova_momentum.nova_momentum"
_SERVER = "fedspec.algorithms.fednova_momentum.server"
_SERVERS = "fedspec.algorithms.fednova_adaptive.server"
_SOLVERS = "fedspec.algorithms.fednova_solvers.step"

_REPLACED = {"sampled_weights": "with-replacement", "sampled_steps": "fixed"}
_UNIFORM = {"sampled_weights": "without-replacement", "sampled_steps": "fixed"}
_UNIFORM_SAMPLE = {"sampled_weights": "without-replacement", "sampled_steps": "sample"}
_TEXT = {"sampled_steps": "sum"}
_SLOWMO = {"buffer_holds": "gradients"}

_fednova_sampled = partial(Mutant, algorithms=("fednova-sampled",))

_SAMPLING = (
    _fednova_sampled(
        id="fednova-sampled-not-normalised",
        words="the weights do not sum to one",
        rule=_WEIGHTS,
        old="p / sum(p)",
        new="p",
    ),
    _fednova_sampled(
        id="fednova-sampled-inverse-shares",
        words="small clients weigh more than large ones",
        rule=_WEIGHTS,
        old="p / sum(p)",
        new="(1 / p) / sum(1 / p)",
    ),
    _fednova_sampled(
        id="fednova-sampled-over-all",
        words="the draws are divided by the number of all clients",
        rule=_WEIGHTS,
        old="+ 1) / len(p)",
        new="+ 1) / clients",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-weighted-draws",
        words="clients drawn with probabilities p_i are weighted by p_i again",
        rule=_WEIGHTS,
        old="(p * 0 + 1) / len(p)",
        new="p",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-scaled-twice",
        words="N/K is applied twice",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p * clients * clients / len(p) / len(p)",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-not-scaled",
        words="N/K is not applied",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-upside-down",
        words="K/N is applied",
        rule=_WEIGHTS,
        old="p * clients / len(p)",
        new="p * len(p) / clients",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-unweighted",
        words="tau_eff is the plain mean over the sample",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms",
        new="a_norms / len(a_norms)",
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-largest",
        words="tau_eff is the largest of the sample",
        rule=_STEPS,
        old="sum((w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms)",
        new="greatest(w * 0 + a_norms)",
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-squared",
        words="the weights enter tau_eff twice",
        rule=_STEPS,
        old="p) * a_norms",
        new="p) * w * a_norms",
    ),
    _fednova_sampled(
        id="fednova-sampled-constant-ignored",
        words="the constant tau_eff is taken to be 1",
        rule=_STEPS,
        old="return tau_eff",
        new="return tau_eff / tau_eff",
        options=_REPLACED,
    ),
    _fednova_sampled(
        id="fednova-sampled-sum-over-mean",
        words="the undivided sum is divided by the number of draws",
        rule=_STEPS,
        old="else p) * a_norms",
        new="else p / len(p)) * a_norms",
        options=_TEXT,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-by-shares",
        words="tau_eff of draws without replacement counts the shares p_i, without m/q",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p)",
        new="p",
        options=_UNIFORM_SAMPLE,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-of-mean",
        words="tau_eff of draws without replacement is a weighted mean over the sample",
        rule=_STEPS,
        old="(w if sampled_steps is SampledSteps.SAMPLE else p)",
        new="p / sum(p)",
        options=_UNIFORM_SAMPLE,
    ),
    _fednova_sampled(
        id="fednova-sampled-uphill",
        words="the step goes uphill",
        rule=_UPDATE,
        old="x - tau_eff *",
        new="x + tau_eff *",
    ),
    _fednova_sampled(
        id="fednova-sampled-tau-eff-unused",
        words="tau_eff is computed and not used",
        rule=_UPDATE,
        old="tau_eff * (weigh",
        new="(weigh",
    ),
    _fednova_sampled(
        id="fednova-sampled-rate-lost",
        words="the client rate is left out of the step",
        rule=_UPDATE,
        old=" * eta_l)",
        new=")",
    ),
    _fednova_sampled(
        id="fednova-sampled-shares-of-sample",
        words="the shares p_i are those among the sample",
        rule=_SAMPLED,
        old="p = state.p[S]",
        new="p = state.p[S] / sum(state.p[S])",
        options=_UNIFORM,
    ),
    _fednova_sampled(
        id="fednova-sampled-steps-normaliser",
        words="changes are normalised by tau_i instead of ||a_i||_1",
        rule=_SAMPLED,
        old="a_i = local_norm(h, tau)",
        new="a_i = numbers([tau], x)[0]",
        options={"solver": "momentum", **_REPLACED},
    ),
)

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

MUTANTS = (
    *_SAMPLING,
    *_BUFFER,
    *_ADAPTIVE,
    *_EACH_ITS_OWN,
)
