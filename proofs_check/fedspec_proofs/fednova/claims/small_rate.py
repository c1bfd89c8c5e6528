"""Limits of the fixed points as the rate tends to zero: eq. (30), extended to every solver and to FedNova.

Beside it exact numbers: where the iteration diverges, and FedProx's limit at alpha = 1 and a finite rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedprox import FedProx
from fedspec.arith import Scalar, Vector, numbers
from fedspec.hyper import Hyper
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, TauEff
from fedspec_proofs.claim import Dropped, Engine, Finding, Second, Verdict, claim
from fedspec_proofs.engines import Draw, Rationals, curried, exact, identities, symbolic
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.symbolic import normal_form, vanishes
from fedspec_proofs.fednova.claims.limits import STEPS, blank, hyper, own_weights, scalar
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.fednova.kit.responses import below_one
from fedspec_proofs.fednova.kit.settings import Setting, algorithms, label
from fedspec_proofs.solvers import sympy


def small() -> Any:
    """Symbol eta > 0 of the rate."""
    return sympy.Symbol("eta", positive=True)


Case = tuple[str, Setting, Vector]
"""Label, setting at a rate, and the claimed limit of its fixed point."""


def _cases(draw: Draw, eta: Any, steps: tuple[int, ...]) -> Iterator[Case]:
    """FedAvg, eq. (30) as printed, FedProx and FedNova, with mu fixed (so that alpha -> 0) and with alpha fixed."""
    h = {**hyper(draw), "eta_l": eta}
    avg = scalar(draw, FedAvg(eta_l=eta), steps)
    tau = numbers(steps, avg.problem.e[0])
    p = avg.shares()
    yield "FedAvg", avg, avg.problem.minimiser(p * tau)
    printed = scalar(draw, FedAvg(eta_l=eta), steps, unit=True, equal=True)
    yield "eq. (30)", printed, sum(tau[:, None] * printed.problem.e) / sum(tau)
    alpha = draw("alpha", positive=True)
    # A fixed alpha below one, at fractions.
    alpha = below_one(alpha)
    for mu, name in ((h["mu"], "mu"), (alpha / eta, "alpha")):
        prox = replace(avg, h=FedProx(eta_l=eta, mu=mu))
        yield f"FedProx, {name} fixed", prox, avg.problem.minimiser(p * (tau if name == "mu" else prox.norms()))
        for s in algorithms(avg.problem, steps, avg.examples, **{**h, "mu": mu}):
            if isinstance(s.h, FedNova):
                a = numbers([_norm_at(s.h, t, alpha if name == "alpha" else alpha * 0) for t in steps], p)
                yield f"{label(s)}, {name} fixed", s, avg.problem.minimiser(p if own_weights(s) else p * a)


def _norm_at(h: FedNova, tau: int, alpha: Any) -> Any:
    """||a||_1 as eta_l -> 0: with alpha fixed it does not change, with mu fixed alpha vanishes."""
    return a_norm(h.solver, tau, alpha=alpha, rho=h.rho, gamma=h.gamma)


def _tends(case: Case) -> Any:
    """Limit of x~ minus its claimed value: the reduced fraction at eta = 0, where it has no pole."""
    _, s, target = case
    value = normal_form(s.limit()[0])
    below = sympy.fraction(value)[1].subs(small(), 0)
    assert sympy.expand(below) != 0
    return value.subs(small(), 0) - target[0]


def _shrinks(steps: tuple[int, ...], rng: np.random.Generator) -> tuple[int, list[str]]:
    """At fractions: x~ less its claimed limit is 2000 times smaller at a rate 2000 times smaller, within a tenth."""
    draw, rate = Rationals(rng), rational(1, 10**5)
    pairs = zip(_cases(draw, rate, steps), _cases(draw, rate / 2000, steps), strict=True)
    count, wrong = 0, []
    for (name, s, target), (_, smaller, at) in pairs:
        far, near = abs(s.limit()[0] - target[0]), abs(smaller.limit()[0] - at[0])
        if 1800 * near <= far <= 2200 * near:
            count += 1
        else:
            wrong.append(f"{name}, steps {steps}: {float(far)} at {rate}, then {float(near)}")
    return count, wrong


@claim(
    "fednova.limit-small-rate",
    statement="Quadratics of any curvature, as eta_l -> 0: the limit of FedAvg tends to the minimiser of sum p_i tau_i "
    "F_i, that of averaging with any solver to the minimiser of sum p_i ||a_i||_1 F_i, and that of FedNova to the "
    "minimiser of sum p_i F_i",
    source="ours, after eq. (30) (L385), which has H_i = I and FedAvg: Lemma 1 beyond them",
    engine=Engine.SYMBOLIC,
    sizes="d = 1, two clients, tau = (1, 2), (2, 3)",
    assumptions={"rate": "eta_l -> 0"},
)
def small_rate() -> Finding:
    """Proof for one coordinate, two clients, tau = (1, 2) and (2, 3), with mu fixed (so that alpha -> 0) and with alpha
    fixed.

    For curvatures 1 and equal sample sizes this is eq. (30), which ``fednova.lemma-1`` has for every tau.
    """
    rng = generator()
    count, again, wrong = 0, 0, []
    for steps in STEPS:
        for case in _cases(symbolic, small(), steps):
            test = vanishes([_tends(case)], rng)
            count += 1
            if test.zero is not True:
                wrong.append(f"{case[0]}, steps {steps}: {dict(test.witness)}")
        for _ in range(2):
            agreed, not_agreed = _shrinks(steps, rng)
            again, wrong = again + agreed, wrong + not_agreed
    if wrong:
        return Finding(Verdict.REFUTED, "\n".join(wrong))
    s = Setting(FedAvg(eta_l=rational(1, 4)), *blank())
    s = replace(s, problem=replace(s.problem, e=exact.vector(0, 1).reshape(2, 1)))
    finite = Dropped(s.limit()[0] != rational(2, 3), f"eta_l = 1/4, e = (0, 1), tau = (1, 2): {s.limit()[0]}, not 2/3")
    return Finding(
        Verdict.PROVED,
        f"{count} limits; tau in {STEPS}; h_i, e_i, n_i, mu or alpha, rho, gamma, tau_eff are variables",
        {"rate": finite},
        Second(Engine.EXACT, again, "random fractions: x~ nears the point in proportion to eta_l"),
    )


@claim(
    "fednova.limit-proximal-alpha-one",
    statement="At alpha = 1 FedProx weights the clients by p_i: tau_eff = 1, w = p, and its limit tends to the "
    "minimiser of sum p_i F_i as eta_l -> 0",
    source="eq. (7) and the discussion of mu (L124-126, L185)",
    sizes="d = 1, two clients, tau = (1, 2), (2, 3)",
    assumptions={"alpha": "alpha = eta_l mu = 1"},
)
def alpha_one() -> Finding:
    """Proof for one coordinate, two clients, tau = (1, 2) and (2, 3); counterexample: alpha = 1/2."""

    @curried
    def body(draw: Draw, steps: tuple[int, ...], alpha: Any = 1) -> Iterable[Any]:
        eta = small() if draw is symbolic else draw("eta", positive=True) / 97
        s = scalar(draw, FedProx(eta_l=eta, mu=alpha / eta), steps)
        p, norms = s.shares(), s.norms()
        yield from norms - 1
        yield from general_weights(p, norms, NovaWeights.IMPLIED) - p
        if draw is symbolic:
            yield _tends(("", s, s.problem.minimiser(p)))

    half = sympy.Rational(1, 2)
    return identities(
        {f"tau = {steps}": body(steps) for steps in STEPS}, without={"alpha": {"tau = (1, 2)": body((1, 2), half)}}
    )


def iso(h: Hyper, steps: tuple[int, ...]) -> Setting:
    """Two clients with H = 1 and equal sample sizes."""
    problem = QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(0, 1).reshape(2, 1))
    return Setting(h, problem, steps, (1, 1))


def _rounded(q: Fraction, like: str) -> str:
    return f"{float(q):.{len(like.partition('.')[2])}f}"


@claim(
    "fednova.default-tau-eff-diverges",
    statement="FedNova with its default tau_eff can diverge where FedAvg converges: H = 1, tau = (1, 100), eta_l = "
    "0.1, and tau = (10, 100), eta_l = 0.5",
    source="ours, about eq. (12) (L198); the proof of Theorem 1 asks eta_l L tau_eff <= 1/2",
    engine=Engine.EXACT,
    assumptions={"default": "tau_eff = sum p_i ||a_i||_1"},
)
def divergence() -> Finding:
    """Factors M of a round: 0.450 against -1.777, 0.000 against -2.02. With tau_eff = 1 FedNova converges too."""
    cases = (((1, 100), "1/10", "0.450", "-1.777"), ((10, 100), "1/2", "0.000", "-2.02"))
    lines, small = [], []
    for steps, rate, avg, nova in cases:
        eta = exact.number(rate)
        for h, want in ((FedAvg(eta_l=eta), avg), (FedNova(eta_l=eta), nova)):
            M = iso(h, steps).linear_part(exact.vector(0))[0, 0]
            if _rounded(M, want) != want or (abs(M) < 1) != isinstance(h, FedAvg):
                return Finding(Verdict.REFUTED, f"{type(h).__name__}, tau = {steps}: M = {float(M)}, expected {want}")
            lines.append(f"{type(h).__name__}, tau = {steps}, eta_l = {rate}: M = {_rounded(M, want)}")
        short = FedNova(eta_l=eta, tau_eff=1, tau_eff_choice=TauEff.FIXED)
        small.append(iso(short, steps).linear_part(exact.vector(0))[0, 0])
    words = ", ".join(f"M = {float(M):.3f}" for M in small) + " with tau_eff = 1"
    return Finding(Verdict.PROVED, "; ".join(lines), {"default": Dropped(all(abs(M) < 1 for M in small), words)})


def proximal_example(eta: Scalar) -> Setting:
    """F_1 = x^2 / 2, F_2 = (x - 1)^2, p = 1/2, two proximal steps each at alpha = 1."""
    problem = QuadraticClients(exact.vector(1, 2).reshape(2, 1, 1), exact.vector(0, 2).reshape(2, 1))
    return Setting(FedProx(eta_l=eta, mu=1 / eta), problem, (2, 2), (1, 1))


@claim(
    "fednova.limit-proximal-finite-rate",
    statement="FedProx at alpha = 1 has w = p, yet for F_1 = x^2/2, F_2 = (x-1)^2, two steps, its limit is 12/19 at "
    "eta_l = 1/8, where the gradient of F is -1/19",
    source="ours, against the consistency at alpha = 1 (L185) and Theorem 1 for FedProx (L155-165)",
    engine=Engine.EXACT,
    assumptions={"finite": "the rate is not taken to zero"},
)
def proximal_numbers() -> Finding:
    """The minimiser is 2/3. At eta_l = 1/16 the gradient of F at the limit is -1/43, and it shrinks with the rate."""
    lines = []
    for rate, gradient in (("1/8", rational(-1, 19)), ("1/16", rational(-1, 43))):
        s = proximal_example(exact.number(rate))
        x, p = s.limit(), s.shares()
        slope = sum(p_i * g(0, x) for p_i, g in zip(p, s.problem.clients, strict=True))
        contracts = abs(s.linear_part(x * 0)[0, 0]) < 1
        same = (general_weights(p, s.norms(), NovaWeights.IMPLIED) == p).all() and (s.norms() == 1).all()
        if (s.round(x) != x).any() or slope[0] != gradient or not (contracts and same):
            return Finding(Verdict.REFUTED, f"eta_l = {rate}: limit {x[0]}, gradient {slope[0]}")
        lines.append(f"eta_l = {rate}: limit {x[0]}, gradient of F {slope[0]}")
    tiny = proximal_example(exact.number("1/1000000"))
    gap = abs(tiny.limit() - tiny.problem.minimiser(tiny.shares()))[0]
    words = f"at eta_l = 10^-6 the limit is {float(gap):.1e} from the minimiser"
    evidence = "; ".join(lines) + f"; minimiser of F {s.problem.minimiser(p)[0]}"
    return Finding(Verdict.PROVED, evidence, {"finite": Dropped(gap < rational(1, 10**6), words)})
