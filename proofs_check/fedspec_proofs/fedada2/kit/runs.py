"""Random instances of the convergence theorems: Huber clients, any of the algorithms, any horizon.

The left side is known for horizons of any length where a round leaves the server's state as it was; elsewhere the
horizon is cut to the rounds that are run. Everything starts at the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedspec.algorithms import fedada2, fedadaadagrad, fedadaadam, fedblended
from fedspec.arith import Vector
from fedspec.plan import Plan
from fedspec_proofs.claim import Dropped
from fedspec_proofs.engines import Choose, Inequality, Sides, curried, exact
from fedspec_proofs.fedada2.kit.bounds import FLOAT, Constants, Setting, terms, theorem_20
from fedspec_proofs.fedada2.kit.local_runs import HELD_WORDS
from fedspec_proofs.fedada2.kit.problems import Huber, Round, Run, gradients, problem, rounds
from fedspec_proofs.fedada2.kit.rational import F

ROUNDS, LONG = 8, 16
"""Number of rounds that are run if the horizon exceeds ``LONG``; shorter horizons are run completely."""

STEPS: Mapping[type, Round] = {
    fedada2.FedAda2: fedada2.step,
    fedadaadagrad.FedAdaAdagrad: fedadaadagrad.step,
    fedadaadam.FedAdaAdam: fedadaadam.step,
    fedblended.FedBlended: fedblended.step,
}


@dataclass(frozen=True)
class Case:
    """An instance of a convergence theorem.

    Attributes:
        f: the clients, in one dimension.
        h: the algorithm's hyper-parameters.
        who: the participants of every round.
        T: the horizon.
        K: local steps.
        L, G, D: the constants in the bound, as multiples of the true constants.
    """

    f: Huber
    h: Any
    who: Plan
    T: int
    K: int
    L: Fraction
    G: Fraction
    D: Fraction


@curried
def drawn(choose: Choose, make: Callable[[Choose, dict[str, Any]], tuple[Any, dict[str, Any]]]) -> Case:
    """Return a maker of random instances of an algorithm; ``make`` adds its hyper-parameters to the common ones.

    Args:
        make: function from random choices and the common hyper-parameters to the record and the further fields of the
            plan, which have one value for each participant.
    """
    N = choose.whole(1, 3)
    # Far from them f falls in a straight line, which is where its fall from the start is all that counts.
    far = choose.of(1, 8, 64)
    centres = exact.vector(*(-choose.rational(-1, 1, 3) * far for _ in range(N)))[:, None]
    scales = exact.vector(*(choose.of(F(1), F(1, 2)) for _ in range(N)))
    T, K = choose.of(1, 8, LONG, 10**6, 10**10, 10**14), choose.of(1, 1, 2, 3)
    tau = choose.of(F(1), F(1, 2), F(2))
    # At most one assumption is left at a time, so that instances which leave just that one are not rare.
    left = choose.of("", "", "", "L", "G", "D", "v0")
    h, more = make(
        choose,
        {
            "eta_l": choose.of(F(1), F(1, 10), F(1, round(T**0.5))),
            "eps": choose.of(F(1), F(2), F(1, 2), F(8)),
            "eta": choose.of(F(1), F(1, 2), F(2)),
            "beta1": choose.of(F(0), F(1, 2)),
            "tau": tau,
            "v0": tau**2 * (F(0) if left == "v0" else choose.of(F(1), F(4))),
            "z": choose.of(1, 2),
            "eps_s": choose.of(F(1, 100), F(1, 4), F(1, 2)),
        },
    )
    S = choose.of(tuple(range(N)), (0,))
    others: dict[str, Any] = {n: (v,) * len(S) for n, v in more.items()}
    who = Plan(S, (K,) * len(S), (1,) * len(S), **others)
    given = {name: F(1, 1000) if left == name else F(1) for name in ("L", "G", "D")}
    return Case(Huber(centres, scales), h, who, T, K, **given)


def outcome(case: Case, T: int) -> tuple[Run, float]:
    """Run T rounds; return the run and its constant D."""
    run = rounds(STEPS[type(case.h)], case.h, case.f, exact.vector(0), case.who, T)
    return run, largest_drift(case, run.starts)


def largest_drift(case: Case, starts: Iterable[Vector]) -> float:
    """D: the largest squared distance between a client's gradient at the start of a round and a gradient used by a
    step of that round, 0 for a dropped step. With momentum, a step also uses the earlier gradients.
    """
    f, step = case.f.floats(), STEPS[type(case.h)]
    remembers = isinstance(case.h, fedadaadam.FedAdaAdam) or "adam" in case.who.strategies
    apart = [0.0]
    for x in starts:
        there = [client(0, x.astype(float)) for client in f.clients]
        for row in gradients(step, case.h, case.f, x, case.who):
            used = [g * taken for g, taken in row]
            if remembers:
                used += [g for k, (g, _) in enumerate(row) if any(taken for _, taken in row[k:])]
            apart += [float(((v - g) ** 2).sum()) for g in used for v in there]
    return max(apart)


def setting(case: Case, T: int) -> Setting:
    """Arguments of the bound for an instance."""
    h, f = case.h, case.f
    L, G = f.L * case.L, f.G * case.G
    gap = f.gap(exact.vector(0))
    return Setting(T, case.K, h.z, 1, h.eta, h.eta_l, h.eps, h.eps_s, h.tau, h.beta1, F(0), h.v0, L, G, gap)


MET: Mapping[str, Callable[[Case], bool]] = {
    "smooth": lambda c: c.L == 1,
    "bounded": lambda c: c.G == 1,
    "v~_0 >= tau^2": lambda c: bool(c.h.v0 >= c.h.tau**2),
}
"""Tests of the printed assumptions, for :func:`inequality`."""

DRIFT: Mapping[str, Callable[[Case], bool]] = {"drift": lambda c: c.D == 1}

WORDS = {
    "smooth": "Assumption 1: every F_i is L-smooth",
    "bounded": "Assumption 2: |grad F_i| <= G in every coordinate",
    "v~_0 >= tau^2": "the server's second moment starts at tau^2 or above",
}
DRIFT_WORDS = {
    "drift": "D is at least |grad F_i'(x_(r-1)) - g|^2 for every client i', round r and gradient g that a step used, "
    "0 for a step in the dead zone; 4 d G^2 always is"
}

SETTING_WORDS = {
    "objective": "f is the mean of the F_i (eq. (1)) and has a minimiser (L90); clients use the gradients of their F_i "
    "themselves, full batches (L128)",
    "server": "AdaGrad with m_0 = 0 and beta1 in [0, 1); eps, tau, eta, eta_l > 0; the mean over those drawn, "
    "whichever they are",
    "pace": "the delay z counts steps, not epochs; the rate is eta_l at every step, without warm-up",
}
"""Conditions that every instance meets by construction."""


def steps_of(how_many: str) -> dict[str, str]:
    """Assumption on the number of steps of the sampled clients."""
    return {"steps": f"everybody drawn takes {how_many} in every round"}


ALGORITHM_2 = {
    "clients": "AdaGrad over SM3, any cover; v_0 >= 0, the same in every round",
    **HELD_WORDS,
    **steps_of("K steps"),
    **SETTING_WORDS,
}
"""Assumptions of Theorem 20."""


def inequality(
    instance: Callable[[Choose], Case],
    constants: Callable[[Case, Setting], Constants],
    *,
    printed: bool,
) -> Inequality[Case]:
    """Inequality min |grad f(x_(t-1))|^2 <= right side, as printed or corrected."""

    def sides(case: Case) -> Iterable[Sides]:
        T = case.T if case.T <= LONG else ROUNDS
        run, D = outcome(case, T)
        T = case.T if run.still else T
        s = setting(case, T)
        k = constants(case, s)
        parts = terms(s, k, FLOAT, None if printed else D * float(case.D))
        yield float(run.least(case.f)), {name: float(part) for name, part in parts.items()}

    return Inequality(instance, {**MET} if printed else {**MET, **DRIFT}, sides)


def astray(h: Any, words: str, constants: Callable[[Case, Setting], Constants], K: int = 1, **plan: Any) -> Dropped:
    """Dropped assumption: 1600 rounds of one Huber client with one step a round, which hardly moves from its start.

    Args:
        h: the hyper-parameters.
        words: description of the violated assumption.
        constants: constants of the bound.
        K: the number of local steps in the bound.
        plan: further fields of the plan.
    """
    f = problem((1, -1))
    case = Case(f, h, Plan((0,), (1,), (1,), **plan), 1600, K, F(1), F(1), F(1))
    run, D = outcome(case, case.T)
    s = setting(case, case.T)
    left, right = float(run.least(f)), float(sum(terms(s, constants(case, s), FLOAT, D).values()))
    told = (
        f"{words}; one Huber client about -1, x_0 = 0, K = {K}, T = 1600: left side {left:.4g}, right side {right:.4g}"
    )
    return Dropped(left > right, told)


SLOW: Mapping[str, Any] = {
    "eta_l": F(1, 50),
    "eps": F(1),
    "eta": F(1, 2),
    "beta1": F(0),
    "tau": F(1),
    "v0": F(1),
    "z": 1,
    "eps_s": F(0),
}
"""Hyper-parameters for :func:`astray`."""
TIRED: Mapping[str, Any] = {**SLOW, "eps": F(100), "z": 100}
"""Hyper-parameters with which a hundred steps move as far as one step with :data:`SLOW`."""


def dawdling(h: Any, constants: Callable[[Case, Setting], Constants], **plan: Any) -> dict[str, Dropped]:
    """Dropped assumption ``pace``: a warm-up of the rate, so that the client hardly moves."""
    return {"pace": astray(replace(h, warm_up=10**6), "the rate warms up over 10^6 steps", constants, **plan)}


def algorithm_2(choose: Choose, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Hyper-parameters of Algorithm 2; one coordinate has only one cover."""
    return fedada2.FedAda2(**common), {}


def known(printed: bool) -> Inequality[Case]:
    """Inequality of Theorem 20, as printed or corrected."""

    def constants(case: Case, s: Setting) -> Constants:
        return theorem_20(s, FLOAT, printed=printed)

    return inequality(drawn(algorithm_2), constants, printed=printed)
