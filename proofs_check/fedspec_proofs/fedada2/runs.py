"""Instances of the convergence theorems, for an adversary: Huber clients, any of the algorithms, any horizon.

The left side is known for horizons of any length where a round leaves the server's state as it was; elsewhere the
horizon is cut to the rounds that are run. Everything starts at the origin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms import fedada2, fedadaadagrad, fedadaadam, fedblended
from fedspec.arith import Vector
from fedspec.plan import Oracle, Plan
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.choose import Choose
from fedspec_proofs.engines.search import Inequality, Sides
from fedspec_proofs.fedada2.bounds import FLOAT, Constants, Setting, right, theorem_20
from fedspec_proofs.fedada2.problems import Huber, Round, Run, rounds
from fedspec_proofs.fedada2.rational import F

ROUNDS = 8
"""How many rounds are run at most."""

STEPS: Mapping[type, Round] = {
    fedada2.FedAda2: fedada2.step,
    fedadaadagrad.FedAdaAdagrad: fedadaadagrad.step,
    fedadaadam.FedAdaAdam: fedadaadam.step,
    fedblended.FedBlended: fedblended.step,
}


@dataclass(frozen=True)
class Case:
    """One instance.

    Attributes:
        f: the clients, on the line.
        h: the algorithm with its hyper-parameters.
        who: who takes part in every round.
        T: the horizon that is asked for.
        K: local steps.
        L, G, D: the constants that the bound is given, as multiples of the true ones.
    """

    f: Huber
    h: Any
    who: Plan
    T: int
    K: int
    L: Fraction
    G: Fraction
    D: Fraction


def drawn(make: Callable[[Choose, dict[str, Any]], tuple[Any, dict[str, Any]]]) -> Callable[[Choose], Case]:
    """An instance maker for one algorithm, which gets the hyper-parameters that all have, and gives what it adds.

    Args:
        make: from choices and the common hyper-parameters: the record, and what the plan holds beside participants
            and steps, one value for each participant.
    """

    def instance(choose: Choose) -> Case:
        N = choose.whole(1, 3)
        centres = np.empty((N, 1), dtype=object)
        centres[:, 0] = [-choose.rational(-1, 1, 3) for _ in range(N)]
        scales = exact.vector(*(choose.of(F(1), F(1, 2)) for _ in range(N)))
        T, K = choose.of(1, 8, 10**6, 10**10, 10**14), choose.of(1, 1, 2, 3)
        tau = choose.of(F(1), F(1, 2), F(2))
        # At most one assumption is left at a time, so that instances which leave just that one are not rare.
        left = choose.of("", "", "", "L", "G", "D", "v0")
        h, more = make(
            choose,
            {
                "eta_l": choose.of(F(1), F(1, 10), F(1, round(T**0.5))),
                "eps": choose.of(F(1), F(2), F(1, 2)),
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

    return instance


@dataclass
class Recorded:
    """The gradients that clients gave: for each call the model at the start of the round and the gradient."""

    start: Vector
    seen: list[tuple[Vector, Vector]]

    def around(self, client: Oracle) -> Oracle:
        """The same client, watched."""

        def gradient(k: int, x: Vector) -> Vector:
            if k == 0:
                self.start = x
            g = client(k, x)
            self.seen.append((self.start, g))
            return g

        return gradient


@dataclass(frozen=True)
class Watched(Huber):
    """Huber clients whose gradients are recorded."""

    record: Recorded

    @property
    def clients(self) -> tuple[Oracle, ...]:
        """The clients, watched."""
        return tuple(self.record.around(client) for client in super().clients)

    def floats(self) -> Huber:
        """The same in floating point, recorded anew."""
        self.record.seen.clear()
        return Watched(self.centres.astype(float), self.scales.astype(float), self.record)


def outcome(case: Case, T: int) -> tuple[Run, Any]:
    """The run, and D: the largest squared distance between a gradient of a client at the start of a round and one that
    a step used; a step in the dead zone uses 0."""
    f = case.f
    record = Recorded(f.centres[0], [])
    watched = Watched(f.centres, f.scales, record)
    origin = exact.vector(0)
    run = rounds(STEPS[type(case.h)], case.h, watched, origin, case.who, T)
    D = F(0)
    for x, g in record.seen:
        for client in f.clients:
            there = client(0, x)
            D = max(D, ((there - g) ** 2).sum(), (there**2).sum())
    return run, D


def setting(case: Case, T: int) -> Setting:
    """What the bound takes from an instance."""
    h, f = case.h, case.f
    L, G = f.L * case.L, f.G * case.G
    gap = f.gap(exact.vector(0))
    return Setting(T, case.K, h.z, 1, h.eta, h.eta_l, h.eps, h.eps_s, h.tau, h.beta1, F(0), h.v0, L, G, gap)


MET: Mapping[str, Callable[[Case], bool]] = {
    "smooth": lambda c: c.L == 1,
    "bounded": lambda c: c.G == 1,
    "v~_0 >= tau^2": lambda c: bool(c.h.v0 >= c.h.tau**2),
}
"""The printed assumptions, for :func:`inequality`."""

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


def inequality(
    instance: Callable[[Choose], Case],
    constants: Callable[[Case, Setting], Constants],
    *,
    printed: bool,
) -> Inequality[Case]:
    """min |grad f(x_(t-1))|^2 <= the right side, as printed or repaired."""

    def sides(case: Case) -> Iterable[Sides]:
        run, D = outcome(case, min(case.T, ROUNDS))
        T = case.T if run.still else min(case.T, ROUNDS)
        s = setting(case, T)
        k = constants(case, s)
        yield float(run.least(case.f)), float(right(s, k, FLOAT, None if printed else D * case.D))

    return Inequality(instance, {**MET} if printed else {**MET, **DRIFT}, sides)


def algorithm_2(choose: Choose, common: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Algorithm 2; one coordinate has only one cover."""
    return fedada2.FedAda2(**common), {}


def known(printed: bool) -> Inequality[Case]:
    """Theorem 20, as printed or repaired."""

    def constants(case: Case, s: Setting) -> Constants:
        return theorem_20(s, FLOAT, printed=printed)

    return inequality(drawn(algorithm_2), constants, printed=printed)
