"""Systematic mutants of aggregation: the weighted mean, FedNova's normalised averaging and its accumulation vectors."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_MEAN = "fedspec.mixing.weighted.weighted_mean"
_SHARES = "fedspec.mixing.weighted.shares"
_NOVA = "fedspec.mixing.nova."
_ACCUMULATION = "fedspec.mixing.accumulation."
_AVERAGING = ("fedavg", "fedprox", "fedavgm", "fedadam")
_BY_EXAMPLES = {"weights": "examples"}
_IMPLIED = {"nova_weights": "implied"}

MUTANTS = (
    *(
        Mutant(
            id=f"mean-{slug}",
            words=words,
            algorithms=_AVERAGING,
            rule=_MEAN,
            old="p @ deltas",
            new=new,
            options=options,
            seen=seen,
        )
        for slug, words, new, options, seen in (
            ("last-client", "only the last client counts", "deltas[-1]", {}, ""),
            (
                "first-twice",
                "the first client counts twice",
                "(p @ deltas + p[0] * deltas[0]) / (1 + p[0])",
                {},
                "discussed for PySyft (thread 3828)",
            ),
            ("sum", "a sum instead of a mean", "sum(deltas)", {}, ""),
            ("weights-squared", "the weights enter twice", "(p * p) @ deltas / sum(p * p)", _BY_EXAMPLES, ""),
            (
                "single-precision",
                "the mean is accumulated in single precision",
                "(p @ deltas).astype('float32').astype(deltas.dtype)",
                {},
                "",
            ),
        )
    ),
    Mutant(
        id="mean-not-reset",
        words="the accumulator is not reset between rounds",
        algorithms=_AVERAGING,
        rule=_MEAN,
        old="return p @ deltas",
        new="weighted_mean.sum = getattr(weighted_mean, 'sum', 0) + p @ deltas\n    return weighted_mean.sum",
        seen="discussed for flame (thread 95)",
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
    *(
        Mutant(
            id=f"nova-{slug}",
            words=words,
            algorithms=("fednova",),
            rule=f"{_NOVA}{rule}",
            old=old,
            new=new,
            options=options,
        )
        for rule, slug, words, old, new, options in (
            ("normalised_gradient", "sign", "the sign of d_i is reversed", "-delta /", "delta /", {}),
            (
                "normalised_gradient",
                "not-normalised",
                "the changes are not normalised",
                "(eta_l * a_norm)",
                "(eta_l + 0 * a_norm)",
                {},
            ),
            (
                "normalised_gradient",
                "rate-not-removed",
                "the client rate is not divided out",
                "(eta_l * a_norm)",
                "a_norm",
                {},
            ),
            (
                "effective_steps",
                "tau-eff-unweighted",
                "tau_eff is the plain mean over the clients",
                "sum(p * (",
                "sum((0 * p + 1) / len(p) * (",
                {},
            ),
            ("effective_steps", "tau-eff-sum", "tau_eff is the sum over the clients", "sum(p * (", "sum((", {}),
            (
                "effective_steps",
                "tau-eff-largest",
                "tau_eff is the largest of the clients",
                "sum(p * (",
                "greatest(0 * p + (",
                {},
            ),
            (
                "general_weights",
                "sizes-ignored",
                "the changes are averaged without the sample sizes",
                "return p if",
                "return (0 * p + 1) / len(p) if",
                {"nova_weights": "nova", **_BY_EXAMPLES},
            ),
            (
                "general_weights",
                "weights-inverse",
                "||a_i||_1 divides the weights instead of multiplying them",
                "p * a_norms / (p @ a_norms)",
                "p / a_norms / sum(p / a_norms)",
                _IMPLIED,
            ),
            (
                "general_weights",
                "weights-squared",
                "||a_i||_1 enters the weights twice",
                "p * a_norms / (p @ a_norms)",
                "p * a_norms**2 / (p @ a_norms**2)",
                _IMPLIED,
            ),
            (
                "general_update",
                "tau-eff-unused",
                "tau_eff is computed and not used",
                "tau_eff * (w",
                "(w",
                {},
            ),
            ("general_update", "uphill", "the step goes uphill", "x - tau_eff * ", "x + tau_eff * ", {}),
            (
                "general_update",
                "clients-counted",
                "the number of clients multiplies the step",
                "tau_eff * (w",
                "len(w) * tau_eff * (w",
                {},
            ),
            ("general_update", "rate-lost", "the client rate is left out of the step", "(eta_l * d)", "d", {}),
        )
    ),
    *(
        Mutant(
            id=f"accumulation-{slug}",
            words=words,
            algorithms=("fednova",),
            rule=f"{_ACCUMULATION}{rule}",
            old=old,
            new=new,
            options={"solver": solver},
        )
        for rule, slug, words, old, new, solver in (
            (
                "accumulation",
                "one-too-many",
                "a_i has an entry too many",
                "for k in range(tau)",
                "for k in range(tau + 1)",
                "decayed",
            ),
            ("accumulation", "first-entry", "every entry of a_i is its first", "(k, tau,", "(0, tau,", "momentum"),
            (
                "accumulation",
                "nesterov-plain",
                "Nesterov's changes are normalised as plain momentum's",
                "_ENTRY[solver](",
                "_ENTRY[Solver.MOMENTUM](",
                "nesterov",
            ),
            (
                "accumulation",
                "proximal-lost",
                "the changes of momentum with the proximal pull are normalised as without the pull",
                "_ENTRY[solver](",
                "_ENTRY[Solver.MOMENTUM](",
                "momentum-proximal-outside",
            ),
            (
                "a_norm",
                "squares",
                "the squares of a_i are summed instead of its entries",
                "sum(accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
                "sum(a * a for a in accumulation(solver, tau, alpha=alpha, rho=rho, gamma=gamma))",
                "momentum",
            ),
            ("_powers", "powers-long", "the geometric sum has a term too many", "range(n)", "range(n + 1)", "momentum"),
        )
    ),
)
