"""App. E: FedAvg's and FedProx's constants in closed form; Corollary 1, and the best alpha of Corollary 2."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product
from typing import Any

import numpy as np

from fedspec.algorithms.fednova import FedNova
from fedspec.mixing.accumulation import accumulation
from fedspec.mixing.nova import effective_steps, general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver, TauEff
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, curried, decide, exact, identities, several
from fedspec_proofs.fednova.kit.bounds import drift, printed, rational, reach, spread, squares
from fedspec_proofs.fednova.kit.responses import below_one, shares
from fedspec_proofs.fednova.kit.settings import Setting

STEPS = ((1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3))


def _made(p: Any, steps: tuple[int, ...], solver: Solver, **rates: Any) -> tuple[list[Any], Any, Any]:
    """a_i, the implied weights and tau_eff, by the rules."""
    a = [accumulation(solver, tau, **rates) for tau in steps]
    norms = p * 0 + np.array([sum(a_i) for a_i in a], dtype=object)
    w = general_weights(p, norms, NovaWeights.IMPLIED)
    return a, w, effective_steps(p, norms, steps, TauEff.WEIGHTED_NORM)


@curried
def _fedavg(draw: Draw, steps: tuple[int, ...], solver: Solver = Solver.SGD) -> Iterable[Any]:
    """(121)-(124) minus the values from the accumulation vectors."""
    p = shares(draw, len(steps))
    a, w, length = _made(p, steps, solver, rho=rational(1, 2))
    mean = sum(p_i * tau for p_i, tau in zip(p, steps, strict=True))
    variance = sum(p_i * tau**2 for p_i, tau in zip(p, steps, strict=True)) - mean**2
    yield length - mean
    yield spread(a, w, length) - len(steps) * sum(p_i**2 * tau for p_i, tau in zip(p, steps, strict=True)) / mean
    yield drift(a, w) - (mean - 1 + variance / mean)
    yield max(map(reach, a)) - max(steps) * (max(steps) - 1)


@claim(
    "fednova.eq-11",
    statement="FedAvg has tau_eff = E_p tau, A = m sum p_i^2 tau_i / E_p tau, B = E_p tau - 1 + var_p tau / E_p tau, "
    "C = tau_max (tau_max - 1)",
    source="eq. (11) (L181), eqs. (121)-(125) (L719-726)",
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"sgd": "the local solver is SGD: a_i is a vector of ones"},
)
def fedavg_constants() -> Finding:
    """Proof for five choices of tau_i, every p. With p = 1/m the constants are FedNova's (125): A = 1, and so on.

    For any tau: ||a||_1 = ||a||_2^2 = tau. Without the assumption momentum.
    """
    bodies = {f"tau = {steps}": _fedavg(steps) for steps in STEPS}
    return identities(bodies, without={"sgd": {"momentum, tau = (1, 2)": _fedavg((1, 2), Solver.MOMENTUM)}})


@curried
def _fedprox(draw: Draw, steps: tuple[int, ...], solver: Solver = Solver.PROXIMAL) -> Iterable[Any]:
    """(127)-(131) minus the values from the accumulation vectors."""
    p, alpha = shares(draw, len(steps)), below_one(draw("alpha", positive=True))
    b = 1 - alpha
    a, w, length = _made(p, steps, solver, alpha=alpha)
    r = [1 - b**tau for tau in steps]
    total = sum(p_i * r_i for p_i, r_i in zip(p, r, strict=True))
    second = [(1 - b ** (2 * tau)) / (1 - b**2) for tau in steps]
    for a_i, s_i, w_i, p_i, r_i in zip(a, second, w, p, r, strict=True):
        yield squares(a_i) - s_i
        yield w_i - p_i * r_i / total
    yield length - total / alpha
    yield spread(a, w, length) - len(steps) * alpha / total * sum(
        p_i**2 * s_i for p_i, s_i in zip(p, second, strict=True)
    )
    yield drift(a, w) - sum(p_i * r_i / total * (s_i - 1) for p_i, r_i, s_i in zip(p, r, second, strict=True))
    yield from (reach(a_i) - r_i / alpha * (r_i / alpha - 1) for a_i, r_i in zip(a, r, strict=True))


@claim(
    "fednova.eq-127",
    statement="The closed forms of w, tau_eff, A, B and of ||a_i||_1 (||a_i||_1 - 1), whose largest is C, for FedProx",
    source="eqs. (127)-(131) (L744-751)",
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"proximal": "the local solver is proximal SGD"},
)
def fedprox_constants() -> Finding:
    """Proof for five choices of tau_i, every p and alpha. (131) is at tau_max, since ||a||_1 grows with tau.
    Counterexample: SGD.
    """
    bodies = {f"tau = {steps}": _fedprox(steps) for steps in STEPS}
    return identities(bodies, without={"proximal": {"SGD, tau = (1, 2)": _fedprox((1, 2), Solver.SGD)}}, instances=10)


@curried
def _no_pull(draw: Draw, steps: tuple[int, ...], alpha: Any = 0) -> Iterable[Any]:
    """FedProx's constants at alpha = 0 less FedAvg's."""
    p = shares(draw, len(steps))
    both = []
    for solver, pull in ((Solver.PROXIMAL, alpha), (Solver.SGD, 0)):
        a, w, length = _made(p, steps, solver, alpha=p[0] * 0 + pull)
        both.append((length, spread(a, w, length), drift(a, w), *map(reach, a)))
    yield from (x - y for x, y in zip(*both, strict=True))


@claim(
    "fednova.eq-132",
    statement="As alpha -> 0 the constants A, B, C of FedProx tend to those of FedAvg",
    source="eq. (132) (L757)",
    sizes="tau = (1, 1), (1, 2), (2, 3), (4, 2), (1, 2, 3)",
    assumptions={"alpha": "alpha -> 0"},
)
def no_pull() -> Finding:
    """Proof: the specification's vectors are polynomials in alpha, so the limit of the closed forms, which equal
    them (``fednova.eq-127``), is their value at 0, with no 0/0. Counterexample without the assumption: alpha = 1/2.
    """
    bodies = {f"tau = {steps}": _no_pull(steps) for steps in STEPS}
    return identities(bodies, without={"alpha": {"tau = (1, 2)": _no_pull((1, 2), rational(1, 2))}})


def _as_in_126(steps: tuple[int, ...], examples: tuple[int, ...]) -> bool:
    """True if tau_eff, A, B and C of FedAvg's implied weights are those of (126)."""
    m, mean = len(steps), rational(sum(steps), len(steps))
    variance = rational(sum(t**2 for t in steps), m) - mean**2
    unused = QuadraticClients(exact.vector(*[1] * m).reshape(m, 1, 1), exact.vector(*[0] * m).reshape(m, 1))
    c = printed(Setting(FedNova(eta_l=rational(1), nova_weights=NovaWeights.IMPLIED), unused, steps, examples))
    said = (mean, 1, mean - 1 + variance / mean, max(steps) * (max(steps) - 1))
    return (c.tau_eff, c.A, c.B, c.C) == said


@claim(
    "fednova.corollary-1-constants",
    statement="For FedAvg with p = 1/m tau_eff = tau_bar, A = 1, B = tau_bar - 1 + var tau / tau_bar and C = tau_max "
    "(tau_max - 1), so that (97) at eta = sqrt(m / (tau_bar T)) is (126), and its rounds those of "
    "fednova.theorem-1-round for SGD",
    source="Corollary 1 (L730): from (97) to (126)",
    engine=Engine.EXACT,
    sizes="m <= 3, tau_i <= 4",
    assumptions={"equal": "p = 1/m"},
)
def constants() -> Finding:
    """Proof on the rules for a_i, w and tau_eff for all these steps; for any steps, w_i = tau_i / sum tau_j."""
    sizes = [steps for m in (1, 2, 3) for steps in product((1, 2, 3, 4), repeat=m)]
    held = all(_as_in_126(steps, (1,) * len(steps)) for steps in sizes)
    other = Dropped(not _as_in_126((1, 2), (3, 1)), "tau = (1, 2), p = (3/4, 1/4): they are not those")
    return Finding(Verdict.PROVED if held else Verdict.REFUTED, f"{len(sizes)} runs of steps", {"equal": other})


def _best(draw: Draw, *, cube: bool = True) -> Iterable[Any]:
    """(139)-(140) with m = M^2, tau_bar = N^2, T = S^6: f at alpha = c M / (N S), c^3 = 2, less (3/2) c S^-4, and f'.

    2 is a variable of its own where c is not its root.
    """
    M, N, S, c = several(draw, "M, N, S, c", positive=True)
    two = c**3 if cube else draw("two", positive=True)
    alpha = c * M / (N * S)
    first, second = alpha * N**2 / (M * N * S**3), M**2 / (alpha**2 * N**2 * S**6)
    yield first + second - c / S**4 - c / (two * S**4)
    # f'(alpha) = 0: the first term is alpha f_1', the second -2 / alpha of itself.
    yield first - two * second


@claim(
    "fednova.eq-139",
    statement="alpha tau_bar / sqrt(m tau_bar T) + m / (alpha^2 tau_bar T) is smallest at alpha = 2^(1/3) (m / "
    "tau_bar)^(1/2) T^(-1/6), where it is (3/2) 2^(1/3) T^(-2/3)",
    source="eqs. (139)-(141) (L786-794), with the factor that O() swallows",
    engine=Engine.SYMBOLIC,
    extent=Extent.WHOLE,
    assumptions={"cube": "c^3 = 2"},
)
def best_alpha() -> Finding:
    """Proof: value and zero derivative are identities in m, tau_bar, T, written as powers; it is the minimum since x
    + 1/(2 x^2) >= 3/2 for x > 0 (z3), x being alpha over the best alpha. T^(-2/3) <= 1/sqrt(m tau_bar T) is tau_bar
    <= K^(1/4) m^(-3/4), K = tau_bar T, to the sixth power.
    """
    exactly = identities({"value": _best}, without={"cube": {"c free": lambda draw: _best(draw, cube=False)}})

    def least(draw: Draw) -> Statement:
        x = draw("x")
        return Statement({"cube": x > 0}, {"least": 2 * x**3 + 1 >= 3 * x**2})

    smallest = decide(least)
    ok = exactly.verdict is Verdict.PROVED and smallest.verdict is Verdict.PROVED
    words = f"{exactly.evidence}\n{smallest.evidence}"
    return Finding(Verdict.PROVED if ok else Verdict.UNKNOWN, words, exactly.dropped, exactly.second)
