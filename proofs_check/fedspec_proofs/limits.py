"""Fixed points of FedAvg, FedProx and FedNova on quadratics, through the algorithms as they run.

What is under test are the closed forms of the specification, ``local_matrix`` and ``limit``, and with them FedNova's
eqs. (24)-(30). For single numbers see :mod:`fedspec_proofs.limit_numbers`.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedprox import FedProx
from fedspec.algorithms.hyper import Hyper
from fedspec.arith import Vector, Weights, numbers
from fedspec.linear import eye
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import Quadratics
from fedspec.readings import NovaWeights, TauEff
from fedspec_proofs.engines import exact, reals
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.smt import Outcome, every, prove
from fedspec_proofs.engines.symbolic import ZeroTest, normal_form, symbol, symbols, vanishes
from fedspec_proofs.record import FEDNOVA, IDENTITY, Finding, Source, Verdict, identity, proof
from fedspec_proofs.settings import Setting, algorithms, label

INSTANCES = 6
ROUNDS = 3


def _instance(rng: np.random.Generator) -> Iterator[Setting]:
    """Random quadratics of two or three coordinates and clients, one to four local steps, every algorithm on them."""
    d, m = (int(n) for n in rng.integers(2, 4, size=2))
    problem = Quadratics(np.stack([exact.symmetric_positive(rng, d) for _ in range(m)]), exact.rationals(rng, m, d))
    steps = tuple(int(t) for t in rng.integers(1, 5, size=m))
    examples = tuple(int(n) for n in rng.integers(1, 9, size=m))
    h = {
        "eta_l": Fraction(1, int(rng.integers(4, 17))),
        "mu": Fraction(int(rng.integers(1, 5)), 2),
        "rho": Fraction(int(rng.integers(1, 4)), 8),
        "gamma": Fraction(int(rng.integers(5, 8)), 8),
        "tau_eff": Fraction(int(rng.integers(1, 9)), 2),
    }
    return algorithms(problem, steps, examples, **h)


@proof(
    "fednova.limit-instances",
    statement="The closed-form limit is a fixed point of one round, and x_T - x~ = M^T (x_0 - x~), with M = I - c sum "
    "W_i K_i H_i: W_i = p_i where changes are averaged (c = 1), p_i / ||a_i||_1 for FedNova (c = tau_eff)",
    source=Source(FEDNOVA, "eqs. (24)-(28) (L357-373); FedNova and the solvers beyond proximal SGD are ours"),
    engine="exact fractions, random instances",
)
def instances() -> Finding:
    """Every algorithm and every local solver on random quadratics with different Hessians and numbers of steps.

    All equalities are exact. The iteration is run for T rounds from a random start, whether it converges or not.
    """
    rng = generator()
    count = 0
    for _ in range(INSTANCES):
        for s in _instance(rng):
            d = s.problem.e.shape[1]
            zero, x0 = exact.vector(*[0] * d), exact.rationals(rng, d)
            M, x_lim = s.linear_part(zero), s.limit()
            nova = isinstance(s.h, FedNova) and s.h.nova_weights is NovaWeights.NOVA
            c = _tau_eff(s) if nova else 1
            KH = [K_i @ H_i for K_i, H_i in zip(s.local_matrices(), s.problem.H, strict=True)]
            spelled = eye(M) - c * sum(W_i * A for W_i, A in zip(s.client_weights(), KH, strict=True))
            x = x0
            for T in range(1, ROUNDS + 1):
                x = s.round(x)
                if (x - x_lim != exact.power(M, T) @ (x0 - x_lim)).any():
                    return Finding(Verdict.REFUTED, f"{label(s)}, T = {T}: {s}")
            if (s.round(x_lim) != x_lim).any() or (spelled != M).any():
                return Finding(Verdict.REFUTED, f"{label(s)}: {s}")
            count += 1
    return Finding(
        Verdict.CHECKED,
        f"{count} runs: {INSTANCES} random problems (2 or 3 coordinates and clients, tau_i in 1..4) times "
        f"{count // INSTANCES} algorithms and solvers; T = 1..{ROUNDS}",
    )


def _tau_eff(s: Setting) -> Any:
    assert isinstance(s.h, FedNova)
    return s.h.tau_eff if s.h.tau_eff_choice is TauEff.FIXED else s.shares() @ s.norms()


# One coordinate, two clients, everything symbolic.


def _scalar(h: Hyper, steps: tuple[int, ...], *, unit: bool = False) -> Setting:
    H, e = symbols("h", 2, positive=True), symbols("e", 2)
    curvature = H * 0 + 1 if unit else H
    problem = Quadratics(curvature.reshape(2, 1, 1), e.reshape(2, 1))
    return Setting(h, problem, steps, tuple(symbols("n", 2, positive=True)))


ETA, MU, RHO, GAMMA, TAU_EFF = (symbol(n, positive=True) for n in ("eta", "mu", "rho", "gamma", "tau_eff"))
STEPS = ((1, 2), (2, 3))
SYMBOLIC = {"eta_l": ETA, "mu": MU, "rho": RHO, "gamma": GAMMA, "tau_eff": TAU_EFF}


def _reduced(s: Setting) -> Vector:
    out = s.limit()
    for j, value in enumerate(out):
        out[j] = normal_form(value)
    return out


@proof(
    "fednova.limit-symbolic",
    statement="For one coordinate and two clients the closed-form limit is a fixed point of one round and x' - x~ = "
    "M (x - x~), for every curvature, minimiser, weight, rate and hyper-parameter",
    source=Source(FEDNOVA, "eqs. (24)-(28) (L357-373); FedNova and the solvers beyond proximal SGD are ours"),
    engine=IDENTITY,
)
def symbolic_limits() -> Finding:
    """tau = (1, 2) and (2, 3); FedAvg, FedProx, and FedNova with every solver in three readings.

    Two identities each: R(x) = M x + b for a symbolic x, and (M - 1) N + b D = 0 where x~ = N / D. So R(x~) = x~, and
    R(x) - x~ = M (x - x~). FedNova's reading with a constant tau_eff has it as a symbol, so that its limit does not
    depend on tau_eff. For any number of coordinates: R(x) = x + c sum W_i K_i (e_i - H_i x), which leaves x where the
    sum vanishes.
    """
    rng = generator()
    x = symbols("x", 1)
    zero = x * 0

    def tests() -> Iterator[tuple[str, ZeroTest]]:
        for steps in STEPS:
            blank = _scalar(FedAvg(eta_l=ETA), steps)
            for s in algorithms(blank.problem, steps, blank.examples, **SYMBOLIC):
                above, below = sympy.fraction(_reduced(s)[0])
                M, b = s.linear_part(zero), s.round(zero)
                affine = s.round(x) - M @ x - b
                fixed = (M[0, 0] - 1) * above + b[0] * below
                yield f"{label(s)}, tau = {steps}", vanishes([*affine, fixed], rng)

    return identity(tests(), f"tau in {STEPS}; h_i, e_i, n_i, x, eta_l, mu, rho, gamma, tau_eff symbolic")


def _surrogate(s: Setting, w: Weights) -> Vector:
    """argmin sum w_i F_i, from the problem itself."""
    return s.problem.minimiser(w)


def _small_rate(s: Setting) -> Any:
    """The limit of x~ as eta_l -> 0: the reduced fraction at eta_l = 0, where its denominator does not vanish."""
    (value,) = _reduced(s)
    below = sympy.fraction(value)[1].subs(ETA, 0)
    assert sympy.expand(below) != 0
    return value.subs(ETA, 0)


@proof(
    "fednova.limit-small-rate",
    statement="As eta_l -> 0 the limit of FedAvg tends to the minimiser of sum p_i tau_i F_i (Lemma 1, eq. (30)), that "
    "of averaging with any solver to the minimiser of sum p_i ||a_i||_1 F_i, and that of FedNova to the minimiser of "
    "sum p_i F_i",
    source=Source(FEDNOVA, "Lemma 1 and eq. (30) (L70, L385)"),
    engine=IDENTITY,
)
def small_rate() -> Finding:
    """One coordinate, two clients, tau = (1, 2) and (2, 3), with mu fixed (so that alpha -> 0) and with alpha fixed.

    For curvatures 1 and equal sample sizes this is eq. (30) as printed, which is tested as well.
    """
    rng = generator()
    alpha = symbol("alpha", positive=True)

    def tests() -> Iterator[tuple[str, ZeroTest]]:
        for steps in STEPS:
            tau = numbers(steps, symbols("x", 1))
            avg = _scalar(FedAvg(eta_l=ETA), steps)
            p = avg.shares()
            yield f"FedAvg {steps}", vanishes([_small_rate(avg) - _surrogate(avg, p * tau)[0]], rng)
            printed = _scalar(FedAvg(eta_l=ETA), steps, unit=True)
            n, e = printed.examples, printed.problem.e[:, 0]
            at_equal = _small_rate(printed).subs(n[1], n[0]) - sum(tau * e) / sum(tau)
            yield f"eq. (30) {steps}", vanishes([at_equal], rng)
            for mu, name in ((MU, "mu"), (alpha / ETA, "alpha")):
                prox = _scalar(FedProx(eta_l=ETA, mu=mu), steps)
                want = tau if name == "mu" else prox.norms()
                yield f"FedProx {name} {steps}", vanishes([_small_rate(prox) - _surrogate(prox, p * want)[0]], rng)
                for s in algorithms(avg.problem, steps, avg.examples, **{**SYMBOLIC, "mu": mu}):
                    if isinstance(s.h, FedNova):
                        implied = s.h.nova_weights is NovaWeights.IMPLIED
                        a = numbers([_norm_at(s, t, keep=name == "alpha") for t in steps], p)
                        target = _surrogate(s, p * a if implied else p)
                        yield f"{label(s)} {name} {steps}", vanishes([_small_rate(s) - target[0]], rng)

    return identity(tests(), f"tau in {STEPS}; h_i, e_i, n_i, mu or alpha, rho, gamma, tau_eff symbolic")


def _norm_at(s: Setting, tau: int, *, keep: bool) -> Any:
    """||a||_1 as eta_l -> 0: with alpha fixed it does not change, with mu fixed alpha vanishes."""
    assert isinstance(s.h, FedNova)
    alpha = sympy.sympify(s.h.eta_l * s.h.mu)
    return a_norm(s.h.solver, tau, alpha=alpha if keep else sympy.Integer(0), rho=s.h.rho, gamma=s.h.gamma)


@proof(
    "fednova.limit-proximal-alpha-one",
    statement="At alpha = 1 FedProx weights the clients by p_i: tau_eff = 1, w = p, and its limit tends to the "
    "minimiser of sum p_i F_i as eta_l -> 0",
    source=Source(FEDNOVA, "eq. (7) and the discussion of mu (L124-126, L185)"),
    engine=IDENTITY,
)
def alpha_one() -> Finding:
    """mu = 1 / eta_l, one coordinate, two clients, tau = (1, 2) and (2, 3)."""
    rng = generator()

    def tests() -> Iterator[tuple[str, ZeroTest]]:
        for steps in STEPS:
            s = _scalar(FedProx(eta_l=ETA, mu=1 / ETA), steps)
            p, norms = s.shares(), s.norms()
            w = general_weights(p, norms, NovaWeights.IMPLIED)
            yield f"weights {steps}", vanishes([*(norms - 1), *(w - p)], rng)
            yield f"limit {steps}", vanishes([_small_rate(s) - _surrogate(s, p)[0]], rng)

    return identity(tests(), f"tau in {STEPS}; h_i, e_i, n_i, eta_l symbolic")


@proof(
    "fednova.limit-contraction",
    statement="For one coordinate and two clients FedAvg's round contracts, |M| < 1, wherever 0 < eta_l h_i < 2, so "
    "that the fixed point is the limit from every start",
    source=Source(FEDNOVA, "the condition above eq. (28) (L371); the sufficient condition is ours"),
    engine="SMT (z3, nonlinear real arithmetic)",
)
def contraction() -> Finding:
    """M = sum p_i (1 - eta_l h_i)^tau_i comes from the round run on z3 reals, tau = (1, 2) and (2, 3).

    For any number of clients M is a mean of numbers of (-1, 1).
    """
    lines = []
    for steps in STEPS:
        h, e, n = reals.reals("h", 2), reals.reals("e", 2), reals.reals("n", 2)
        eta = reals.real("eta")
        s = Setting(FedAvg(eta_l=eta), Quadratics(h.reshape(2, 1, 1), e.reshape(2, 1)), steps, tuple(n))
        M = s.linear_part(e[:1] * 0)[0, 0]
        answer = prove(
            {"M < 1": M < 1, "M > -1": M > -1},
            {
                "eta_l > 0": eta > 0,
                "h_i > 0 and eta_l h_i < 2": every(z for h_i in h for z in (h_i > 0, eta * h_i < 2)),
                "n_i > 0": every(n_i > 0 for n_i in n),
            },
        )
        lines.append(f"tau = {steps}, {answer.seconds:.2f} s: {answer}")
        if not answer:
            refuted = answer.outcome is Outcome.COUNTEREXAMPLE
            return Finding(Verdict.REFUTED if refuted else Verdict.UNKNOWN, "\n".join(lines))
    return Finding(Verdict.PROVED, "\n".join(lines))
