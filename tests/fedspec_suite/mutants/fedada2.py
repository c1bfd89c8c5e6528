"""Mutants of FedAda2's local solvers: the delay, what is carried over it, and the dead zone."""

from __future__ import annotations

from fedspec_suite.mutants.mutant import Mutant

_C = "fedspec.client."
_AGDU, _ADMU = _C + "agdu.agdu", _C + "admu.admu"
_SM3 = {a: f"{_C}sm3_delayed.{a.replace('-', '_')}" for a in ("sm3-i-delayed", "sm3-ii-delayed")}
_ADAM = _C + "sm3_adam.sm3_adam"
_RULES = {"agdu": _AGDU, "admu": _ADMU, **_SM3, "sm3-adam": _ADAM}
_ALL = tuple(_RULES)
_ROOT = {"agdu": "v", "admu": "v_hat", **dict.fromkeys(_SM3, "nu"), "sm3-adam": "nu_hat"}

MUTANTS = (
    *(
        Mutant(
            id=f"{a}-epsilon-inside-root",
            words=f"eps inside the root: sqrt({_ROOT[a]} + eps)",
            algorithms=(a,),
            rule=rule,
            old=f"(sqrt({_ROOT[a]}) + eps)\n",
            new=f"sqrt({_ROOT[a]} + eps)\n",
        )
        for a, rule in _RULES.items()
    ),
    *(
        Mutant(
            id=f"{a}-no-dead-zone",
            words="the dead zone is left out",
            algorithms=(a,),
            rule=rule,
            old="unless_short(u, u, eps_s)",
            new="u",
        )
        for a, rule in _RULES.items()
    ),
    Mutant(
        id="delay-late",
        words="the preconditioner is updated at steps z, 2z, ... instead of 1, z + 1, ...",
        algorithms=_ALL,
        rule=_C + "delay.due",
        old="(t - 1) // epoch",
        new="t // epoch",
    ),
    Mutant(
        id="delay-of-steps",
        words="the delay counts steps, not epochs",
        algorithms=_ALL,
        rule=_C + "delay.due",
        old="(t - 1) // epoch % z",
        new="(t - 1) % z",
    ),
    Mutant(
        id="delay-one-step-an-epoch",
        words="only the first step of an epoch updates",
        algorithms=_ALL,
        rule=_C + "delay.due",
        old="(t - 1) // epoch % z == 0",
        new="(t - 1) % (z * epoch) == 0",
    ),
    Mutant(
        id="delay-epochs-counted",
        words="the correction counts epochs instead of updates",
        algorithms=("admu", "sm3-adam"),
        rule=_C + "delay.updates",
        old="period * epoch + (step + 1 if due(t, z, epoch) else epoch)",
        new="period + 1",
    ),
    Mutant(
        id="dead-zone-unsquared",
        words="the dead zone compares the squared length with eps_s",
        algorithms=_ALL,
        rule=_C + "delay.unless_short",
        old="where_shorter(u, eps_s, y * 0, y)",
        new="where_less(total(u * u), eps_s, y * 0, y)",
    ),
    Mutant(
        id="dead-zone-coordinates",
        words="the dead zone looks at each coordinate by itself",
        algorithms=_ALL,
        rule=_C + "delay.unless_short",
        old="where_shorter(u, eps_s, y * 0, y)",
        new="where_less(u * u, eps_s**2, y * 0, y)",
    ),
    Mutant(
        id="dead-zone-long-steps",
        words="the dead zone leaves out the long steps",
        algorithms=_ALL,
        rule=_C + "delay.unless_short",
        old="y * 0, y)",
        new="y, y * 0)",
    ),
    Mutant(
        id="agdu-dead-zone-of-the-gradient",
        words="the dead zone measures the gradient instead of the step",
        algorithms=("agdu",),
        rule=_AGDU,
        old="unless_short(u, u, eps_s)",
        new="unless_short(u, g, eps_s)",
    ),
    Mutant(
        id="agdu-dead-zone-after-the-rate",
        words="the dead zone measures eta_l u instead of u",
        algorithms=("agdu",),
        rule=_AGDU,
        old="unless_short(u, u, eps_s)",
        new="unless_short(u, eta_l * u, eps_s)",
    ),
    Mutant(
        id="agdu-stale",
        words="the step uses the accumulator of the step before",
        algorithms=("agdu",),
        rule=_AGDU,
        old="(sqrt(v) + eps)\n",
        new="(sqrt(state.v) + eps)\n",
    ),
    Mutant(
        id="agdu-forgets",
        words="an update replaces the accumulator",
        algorithms=("agdu",),
        rule=_AGDU,
        old="state.v + g**2 if",
        new="g**2 if",
    ),
    Mutant(
        id="admu-steps-counted",
        words="the correction of v counts the steps instead of the updates",
        algorithms=("admu",),
        rule=_ADMU,
        old="beta2 ** updates(t, z, epoch)",
        new="beta2**t",
    ),
    Mutant(
        id="admu-updates-counted",
        words="the correction of m counts the updates instead of the steps",
        algorithms=("admu",),
        rule=_ADMU,
        old="beta1**t",
        new="beta1 ** updates(t, z, epoch)",
    ),
    Mutant(
        id="admu-not-carried",
        words="between updates the uncorrected v is used",
        algorithms=("admu",),
        rule=_ADMU,
        old="else state.v_hat",
        new="else v",
    ),
    Mutant(
        id="admu-momentum-delayed",
        words="the first moment is delayed too",
        algorithms=("admu",),
        rule=_ADMU,
        old="m = beta1 * state.m + (1 - beta1) * g",
        new="m = beta1 * state.m + (1 - beta1) * g if due(t, z, epoch) else state.m",
    ),
    Mutant(
        id="admu-momentum-unused",
        words="the momentum is computed and not used",
        algorithms=("admu",),
        rule=_ADMU,
        old="u = m_hat / (sqrt(v_hat) + eps)\n",
        new="u = g / (sqrt(v_hat) + eps)\n",
    ),
    Mutant(
        id="admu-literal-too-early",
        words="a short step clears the momentum and is not taken either",
        algorithms=("admu",),
        rule=_ADMU,
        old="x=state.x - eta_l * u, m",
        new="x=state.x - eta_l * unless_short(u, u, eps_s), m",
        options={"dead_zone": "momentum"},
    ),
    *(
        Mutant(
            id=f"{a}-forgets",
            words="every update starts from empty accumulators",
            algorithms=(a,),
            rule=rule,
            old="(state.mu, g**2, cover)",
            new="(0 * state.mu, g**2, cover)",
        )
        for a, rule in _SM3.items()
    ),
    *(
        Mutant(
            id=f"{a}-stale",
            words="the step uses the bounds of the step before",
            algorithms=(a,),
            rule=rule,
            old="(sqrt(nu) + eps)\n",
            new="(sqrt(state.nu) + eps)\n",
        )
        for a, rule in _SM3.items()
    ),
    Mutant(
        id="sm3-i-delayed-swapped",
        words=f"the accumulators are those of SM3-{'ii'.upper()}",
        algorithms=("sm3-i-delayed",),
        rule=_SM3["sm3-i-delayed"],
        old="accumulate_i(",
        new="accumulate_ii(",
    ),
    Mutant(
        id="sm3-ii-delayed-swapped",
        words=f"the accumulators are those of SM3-{'i'.upper()}",
        algorithms=("sm3-ii-delayed",),
        rule=_SM3["sm3-ii-delayed"],
        old="accumulate_ii(",
        new="accumulate_i(",
    ),
    Mutant(
        id="sm3-delayed-no-v0",
        words="v_0 does not enter the accumulators",
        algorithms=tuple(_SM3),
        rule=_C + "sm3_delayed.begin",
        old="constant(v0,",
        new="constant(0 * v0,",
    ),
    Mutant(
        id="sm3-i-delayed-never-waits",
        words="the accumulators are updated at every step",
        algorithms=("sm3-i-delayed",),
        rule=_SM3["sm3-i-delayed"],
        old=" if due(t, z, epoch) else (state.mu, state.nu)",
        new="",
    ),
    Mutant(
        id="sm3-ii-delayed-half-waits",
        words="only the bounds wait: the accumulators are updated at every step",
        algorithms=("sm3-ii-delayed",),
        rule=_SM3["sm3-ii-delayed"],
        old="else waiting(state, cover, idle)",
        new="else (accumulate_ii(state.mu, g**2, cover)[0], state.nu)",
    ),
    Mutant(
        id="sm3-adam-never-decays",
        words="beta2 does not multiply the accumulators",
        algorithms=("sm3-adam",),
        rule=_C + "sm3_adam.average_ii",
        old="beta2 * cover.least",
        new="cover.least",
    ),
    Mutant(
        id="sm3-adam-exchanged",
        words="beta2 and 1 - beta2 are exchanged",
        algorithms=("sm3-adam",),
        rule=_C + "sm3_adam.average_ii",
        old="beta2 * cover.least(mu) + (1 - beta2) *",
        new="(1 - beta2) * cover.least(mu) + beta2 *",
    ),
    Mutant(
        id="sm3-adam-first-coordinate",
        words="a set takes the bound of its first coordinate instead of the largest",
        algorithms=("sm3-adam",),
        rule=_C + "sm3_adam.average_ii",
        old="cover.greatest(nu)",
        new="array([nu[S_r[0]] for S_r in cover.sets], nu)",
    ),
    Mutant(
        id="sm3-adam-steps-counted",
        words="the correction of nu counts the steps instead of the updates",
        algorithms=("sm3-adam",),
        rule=_ADAM,
        old="beta2 ** updates(t, z, epoch)",
        new="beta2**t",
    ),
    Mutant(
        id="sm3-adam-momentum-unused",
        words="the momentum is computed and not used",
        algorithms=("sm3-adam",),
        rule=_ADAM,
        old="u = m_hat / (sqrt(nu_hat) + eps)\n",
        new="u = g / (sqrt(nu_hat) + eps)\n",
    ),
)
