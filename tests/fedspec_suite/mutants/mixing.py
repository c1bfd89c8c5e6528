"""Systematic mutants of aggregation: the weighted mean, FedNova's normalised averaging and its accumulation vectors."""

from __future__ import annotations

from functools import partial

from fedspec_suite.mutants.mutant import Mutant, Thread

_MEAN = "fedspec.mixing.weighted.weighted_mean"
_SHARES = "fedspec.mixing.weighted.shares"
_NOVA = "fedspec.mixing.nova."
_ACCUMULATION = "fedspec.mixing.accumulation."
_AVERAGING = ("fedavg", "fedprox", "fedavgm", "fedadam")
_BY_EXAMPLES = {"weights": "examples"}
_IMPLIED = {"nova_weights": "implied"}

_mean = partial(Mutant, algorithms=_AVERAGING, rule=_MEAN, old="weigh(p, deltas)")
_nova = partial(Mutant, algorithms=("fednova",))
_accumulation = partial(Mutant, algorithms=("fednova",))

MUTANTS = (
    _mean(id="mean-last-client", words="only the last client counts", new="deltas[-1]"),
    _mean(
        id="mean-first-twice",
        words="the first client counts twice",
        new="(p @ deltas + p[0] * deltas[0]) / (1 + p[0])",
    ),
    _mean(id="mean-sum", words="a sum instead of a mean", new="sum(deltas)"),
    _mean(
        id="mean-weights-squared",
        words="the weights enter twice",
        new="(p * p) @ deltas / sum(p * p)",
        options=_BY_EXAMPLES,
    ),
    _mean(
        id="mean-single-precision",
        words="the mean is accumulated in single precision",
        new="(p @ deltas).astype('float32').astype(deltas.dtype)",
    ),
    Mutant(
        id="mean-not-reset",
        words="the accumulator is not reset between rounds",
        algorithms=_AVERAGING,
        rule=_MEAN,
        old="return weigh(p, deltas)",
        new="weighted_mean.sum = getattr(weighted_mean, 'sum', 0) + p @ deltas\n    return weighted_mean.sum",
        seen=(
            Thread(
                link="https://github.com/cisco-open/flame/pull/95",
                says="The global weights of the round before were not reset before the next were computed.",
                read="2026-11-23",
            ),
        ),
        leaks="session",
    ),
    Mutant(
        id="shares-one-more",
        words="every client counts one example more than it has",
        algorithms=_AVERAGING,
        rule=_SHARES,
        old="counts / total",
        new="(counts + 1) / (total + len(counts))",
        options=_BY_EXAMPLES,
    ),
    Mutant(
        id="shares-reversed",
        words="the weights go to the wrong clients",
        algorithms=_AVERAGING,
        rule=_SHARES,
        old="counts / total",
        new="counts[::-1] / total",
        options=_BY_EXAMPLES,
    ),
    Mutant(
        id="shares-one-step-more",
        words="every client counts one local step more than it takes",
        algorithms=_AVERAGING,
        rule=_SHARES,
        old="Weighting.STEPS: steps",
        new="Weighting.STEPS: [tau + 1 for tau in steps]",
        options={"weights": "steps"},
    ),
    Mutant(
        id="shares-steps-reversed",
        words="the steps that clients weigh by are those of other clients",
        algorithms=_AVERAGING,
        rule=_SHARES,
        old="Weighting.STEPS: steps",
        new="Weighting.STEPS: steps[::-1]",
        options={"weights": "steps"},
    ),
    _nova(
        id="nova-sign",
        words="the sign of d_i is reversed",
        rule=_NOVA + "normalised_gradient",
        old="-delta /",
        new="delta /",
    ),
    _nova(
        id="nova-not-normalised",
        words="the changes are not normalised",
        rule=_NOVA + "normalised_gradient",
        old="(eta_l * a_norm)",
        new="(eta_l + 0 * a_norm)",
    ),
    _nova(
        id="nova-rate-not-removed",
        words="the client rate is not divided out",
        rule=_NOVA + "normalised_gradient",
        old="(eta_l * a_norm)",
        new="a_norm",
    ),
    _nova(
        id="nova-tau-eff-unweighted",
        words="tau_eff is the plain mean over the clients",
        rule=_NOVA + "effective_steps",
        old="sum(p * (",
        new="sum((0 * p + 1) / len(p) * (",
    ),
    _nova(
        id="nova-tau-eff-sum",
        words="tau_eff is the sum over the clients",
        rule=_NOVA + "effective_steps",
        old="sum(p * (",
        new="sum((",
    ),
    _nova(
        id="nova-tau-eff-largest",
        words="tau_eff is the largest of the clients",
        rule=_NOVA + "effective_steps",
        old="sum(p * (",
        new="greatest(0 * p + (",
    ),
    _nova(
        id="nova-sizes-ignored",
        words="the changes are averaged without the sample sizes",
        rule=_NOVA + "general_weights",
        old="return p if",
        new="return (0 * p + 1) / len(p) if",
        options={"nova_weights": "nova", **_BY_EXAMPLES},
    ),
    _nova(
        id="nova-weights-inverse",
        words="||a_i||_1 divides the weights instead of multiplying them",
        rule=_NOVA + "general_weights",
        old="p * a_norms / (p @ a_norms)",
        new="p / a_norms / sum(p / a_norms)",
        options=_IMPLIED,
    ),
    _nova(
        id="nova-weights-squared",
        words="||a_i||_1 enters the weights twice",
        rule=_NOVA + "general_weights",
        old="p * a_norms / (p @ a_norms)",
        new="p * a_norms**2 / (p @ a_norms**2)",
        options=_IMPLIED,
    ),
    _nova(
        id="nova-tau-eff-unused",
        words="tau_eff is computed and not used",
        rule=_NOVA + "general_update",
        old="tau_eff * (w",
        new="(w",
    ),
    _nova(
        id="nova-uphill",
        words="the step goes uphill",
        rule=_NOVA + "general_update",
        old="x - tau_eff * ",
        new="x + tau_eff * ",
    ),
    _nova(
        id="nova-clients-counted",
        words="the number of clients multiplies the step",
        rule=_NOVA + "general_update",
        old="tau_eff * (w",
        new="len(w) * tau_eff * (w",
    ),
    _nova(
        id="nova-rate-lost",
        words="the client rate is left out of the step",
        rule=_NOVA + "general_update",
        old=" * eta_l",
        new="",
    ),
    _accumulation(
        id="accumulation-one-too-many",
        words="a_i has an entry too many",
        rule=_ACCUMULATION + "accumulation",
        old="for k in range(tau)",
        new="for k in range(tau + 1)",
        options={"solver": "decayed"},
    ),
    _accumulation(
        id="accumulation-first-entry",
        words="every entry of a_i is its first",
        rule=_ACCUMULATION + "accumulation",
        old="(k, tau,",
        new="(0, tau,",
        options={"solver": "momentum"},
    ),
    _accumulation(
        id="accumulation-nesterov-plain",
        words="Nesterov's changes are normalised as plain momentum's",
        rule=_ACCUMULATION + "accumulation",
        old="_ENTRY[solver](",
        new="_ENTRY[Solver.MOMENTUM](",
        options={"solver": "nesterov"},
    ),
    _accumulation(
        id="accumulation-proximal-lost",
        words="the changes of momentum with the proximal pull are normalised as without the pull",
        rule=_ACCUMULATION + "accumulation",
        old="_ENTRY[solver](",
        new="_ENTRY[Solver.MOMENTUM](",
        options={"solver": "momentum-proximal-outside"},
    ),
    _accumulation(
        id="accumulation-squares",
        words="the squares of a_i are summed instead of its entries",
        rule=_ACCUMULATION + "a_norm",
        old="sum(accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
        new="sum(a * a for a in accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
        options={"solver": "momentum"},
    ),
    _accumulation(
        id="accumulation-powers-long",
        words="the geometric sum has a term too many",
        rule=_ACCUMULATION + "_powers",
        old="range(n)",
        new="range(n + 1)",
        options={"solver": "momentum"},
    ),
)
