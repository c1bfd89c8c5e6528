"""Mutants of FedNova with sampled clients, with a solver for each client, and under servers with a memory."""

from __future__ import annotations

from fedspec_suite.mutants.controls import Edit, edits_of

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

_SAMPLING: tuple[Edit, ...] = (
    ("not-normalised", "the weights do not sum to one", _WEIGHTS, "p / sum(p)", "p"),
    ("inverse-shares", "small clients weigh more than large ones", _WEIGHTS, "p / sum(p)", "(1 / p) / sum(1 / p)"),
    (
        "over-all",
        "the draws are divided by the number of all clients",
        _WEIGHTS,
        "+ 1) / len(p)",
        "+ 1) / clients",
        _REPLACED,
    ),
    (
        "weighted-draws",
        "clients drawn with probabilities p_i are weighted by p_i again",
        _WEIGHTS,
        "(p * 0 + 1) / len(p)",
        "p",
        _REPLACED,
    ),
    (
        "scaled-twice",
        "N/K is applied twice",
        _WEIGHTS,
        "p * clients / len(p)",
        "p * clients * clients / len(p) / len(p)",
        _UNIFORM,
    ),
    ("not-scaled", "N/K is not applied", _WEIGHTS, "p * clients / len(p)", "p", _UNIFORM),
    ("upside-down", "K/N is applied", _WEIGHTS, "p * clients / len(p)", "p * len(p) / clients", _UNIFORM),
    (
        "steps-unweighted",
        "tau_eff is the plain mean over the sample",
        _STEPS,
        "(w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms",
        "a_norms / len(a_norms)",
    ),
    (
        "steps-largest",
        "tau_eff is the largest of the sample",
        _STEPS,
        "sum((w if sampled_steps is SampledSteps.SAMPLE else p) * a_norms)",
        "greatest(w * 0 + a_norms)",
    ),
    ("steps-squared", "the weights enter tau_eff twice", _STEPS, "p) * a_norms", "p) * w * a_norms"),
    (
        "constant-ignored",
        "the constant tau_eff is taken to be 1",
        _STEPS,
        "return tau_eff",
        "return tau_eff / tau_eff",
        _REPLACED,
    ),
    (
        "sum-over-mean",
        "the undivided sum is divided by the number of draws",
        _STEPS,
        "else p) * a_norms",
        "else p / len(p)) * a_norms",
        _TEXT,
    ),
    (
        "steps-by-shares",
        "tau_eff of draws without replacement counts the shares p_i, without m/q",
        _STEPS,
        "(w if sampled_steps is SampledSteps.SAMPLE else p)",
        "p",
        _UNIFORM_SAMPLE,
    ),
    (
        "steps-of-mean",
        "tau_eff of draws without replacement is a weighted mean over the sample",
        _STEPS,
        "(w if sampled_steps is SampledSteps.SAMPLE else p)",
        "p / sum(p)",
        _UNIFORM_SAMPLE,
    ),
    ("uphill", "the step goes uphill", _UPDATE, "x - tau_eff *", "x + tau_eff *"),
    ("tau-eff-unused", "tau_eff is computed and not used", _UPDATE, "tau_eff * (weigh", "(weigh"),
    ("rate-lost", "the client rate is left out of the step", _UPDATE, " * eta_l)", ")"),
    (
        "shares-of-sample",
        "the shares p_i are those among the sample",
        _SAMPLED,
        "p = state.p[S]",
        "p = state.p[S] / sum(state.p[S])",
        _UNIFORM,
    ),
    (
        "steps-normaliser",
        "changes are normalised by tau_i instead of ||a_i||_1",
        _SAMPLED,
        "a_i = local_norm(h, tau)",
        "a_i = numbers([tau], x)[0]",
        {"solver": "momentum", **_REPLACED},
    ),
)

_BUFFER: tuple[Edit, ...] = (
    ("tau-eff-unused", "tau_eff is computed and not used", _CHANGE, "-tau_eff * (w", "-(w"),
    ("uphill", "the change goes uphill", _CHANGE, "-tau_eff * (w", "tau_eff * (w"),
    (
        "clients-counted",
        "the number of clients multiplies the change",
        _CHANGE,
        "-tau_eff * (w",
        "-len(w) * tau_eff * (w",
    ),
    (
        "dampened",
        "the buffer averages: v = beta v + (1 - beta) P",
        _MOMENTUM,
        "state.v + delta",
        "state.v + (1 - beta) * delta",
    ),
    ("forgets", "the buffer is emptied every round", _MOMENTUM, "beta * state.v + delta", "delta"),
    ("no-decay", "the buffer is a plain sum", _MOMENTUM, "beta * state.v + delta", "state.v + delta"),
    ("stale", "the model moves by the buffer of the round before", _MOMENTUM, "state.x + v", "state.x + state.v"),
    ("change-twice", "the change enters the model beside the buffer", _MOMENTUM, "state.x + v", "state.x + v + delta"),
    (
        "slowmo-sign",
        "SlowMo's buffer holds the change, not the gradient",
        _MOMENTUM,
        "state.v - delta",
        "state.v + delta",
        _SLOWMO,
    ),
    (
        "slowmo-decays-new",
        "the decay multiplies the new gradient as well",
        _MOMENTUM,
        "beta * state.v - delta / eta_l",
        "beta * (state.v - delta / eta_l)",
        _SLOWMO,
    ),
    ("slowmo-stale", "the step uses SlowMo's old buffer", _MOMENTUM, "eta_l * v", "eta_l * state.v", _SLOWMO),
    (
        "weights-implied",
        "the changes themselves are averaged: nothing is normalised",
        _SERVER,
        "general_change(d, p,",
        "general_change(d, p * a / (p @ a),",
    ),
)

_ADAPTIVE: tuple[Edit, ...] = (
    (
        "weights-implied",
        "the changes themselves are averaged: nothing is normalised",
        _SERVERS,
        "general_change(d, p,",
        "general_change(d, p * a / (p @ a),",
    ),
    ("direction", "the server sees the mean direction, without tau_eff", _SERVERS, "tau_eff=tau_eff,", "tau_eff=1,"),
    ("gradient", "the server takes the change for a gradient", _SERVERS, "adam(state, delta", "adam(state, -delta"),
    (
        "yogi-is-adam",
        "Yogi's second moment is Adam's",
        _SERVERS,
        "general_yogi(state,",
        "general_adam(state,",
        {"server": "yogi"},
    ),
    (
        "adagrad-decays",
        "AdaGrad's second moment decays like Adam's",
        _SERVERS,
        "general_adagrad(state, delta, eta=h.eta, beta1=h.beta1,",
        "general_adam(state, delta, eta=h.eta, beta1=h.beta1, beta2=h.beta1,",
        {"server": "adagrad"},
    ),
)

_EACH_ITS_OWN: tuple[Edit, ...] = (
    (
        "one-solver",
        "everybody runs the first participant's solver",
        _SOLVERS,
        '"strategies", strategy)',
        '"strategies", plan.strategies[0])',
    ),
    (
        "norm-of-sgd",
        "all changes are normalised as plain SGD's",
        _SOLVERS,
        "a_norm(solver, tau,",
        "a_norm(Solver.SGD, tau,",
    ),
    (
        "norm-of-first",
        "all changes are normalised as the first participant's solver's",
        _SOLVERS,
        "a_norm(solver, tau,",
        "a_norm(Solver(plan.strategies[0]), tau,",
    ),
    ("tau-eff-in-steps", "tau_eff counts steps", _SOLVERS, "TauEff.WEIGHTED_NORM", "TauEff.WEIGHTED_STEPS"),
)

MUTANTS = (
    *edits_of("fednova-sampled", _SAMPLING),
    *edits_of("fednova-momentum", _BUFFER),
    *edits_of("fednova-adaptive", _ADAPTIVE),
    *edits_of("fednova-solvers", _EACH_ITS_OWN),
)
