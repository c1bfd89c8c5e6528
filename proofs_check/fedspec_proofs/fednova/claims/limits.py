"""Fixed points of FedAvg, FedProx and FedNova on quadratics, computed by the algorithms: Lemma 1 and App. A.

What is under test are the closed forms of the specification, ``local_matrix`` and ``limit``, and with them FedNova's
eqs. (24)-(30). For single numbers see :mod:`fedspec_proofs.fednova.claims.small_rate`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.fedavg import FedAvg
from fedspec.algorithms.fednova import FedNova
from fedspec.client.proximal import proximal_sgd
from fedspec.hyper import Hyper
from fedspec.linear import eye
from fedspec.problems.quadratic import QuadraticClients, limit, local_matrix
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import Dropped, Engine, Extent, Finding, Sharpness, Verdict, claim
from fedspec_proofs.engines import Draw, Statement, curried, decide, every, exact, identities, several
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.symbolic import normal_form
from fedspec_proofs.fednova.kit.bounds import rational, tau_eff
from fedspec_proofs.fednova.kit.responses import below_one
from fedspec_proofs.fednova.kit.settings import Setting, algorithms, label
from fedspec_proofs.solvers import sympy

INSTANCES = 4
ROUNDS = 3
STEPS = ((1, 2), (2, 3))


def _instance(rng: np.random.Generator) -> Iterator[Setting]:
    """Random quadratics of two or three coordinates and clients, one to four local steps, every algorithm on them."""
    d, m = (int(n) for n in rng.integers(2, 4, size=2))
    problem = QuadraticClients(
        np.stack([exact.symmetric_positive(rng, d) for _ in range(m)]), exact.rationals(rng, m, d)
    )
    steps = tuple(int(t) for t in rng.integers(1, 5, size=m))
    examples = tuple(int(n) for n in rng.integers(1, 9, size=m))
    h = {
        "eta_l": rational(1, int(rng.integers(4, 17))),
        "mu": rational(int(rng.integers(1, 5)), 2),
        "rho": rational(int(rng.integers(1, 4)), 8),
        "gamma": rational(int(rng.integers(5, 8)), 8),
        "tau_eff": rational(int(rng.integers(1, 9)), 2),
    }
    return algorithms(problem, steps, examples, **h)


def own_weights(s: Setting) -> bool:
    """True if the algorithm is FedNova with w = p."""
    return isinstance(s.h, FedNova) and s.h.nova_weights is NovaWeights.NOVA


@claim(
    "fednova.limit-instances",
    statement="The closed-form limit is a fixed point of one round, and x_T - x~ = M^T (x_0 - x~), with M = I - c sum "
    "W_i K_i H_i: W_i = p_i where changes are averaged (c = 1), p_i / ||a_i||_1 for FedNova (c = tau_eff)",
    source="eqs. (24)-(28) (L357-373); FedNova and the solvers beyond proximal SGD are ours",
    engine=Engine.EXACT,
    verdict=Verdict.CHECKED,
    extent=Extent.WHOLE,
    assumptions={"weights": "W_i is p_i / ||a_i||_1 where FedNova's own weights are used"},
)
def instances() -> Finding:
    """Test of every algorithm and local solver on random quadratics with different Hessians and numbers of steps.

    All equalities are exact. The iteration is run for T rounds from a random start, whether it converges or not.
    """
    rng = generator()
    count, halved, without = 0, False, Dropped(False, "p_i in place of p_i / ||a_i||_1 gave the same limit everywhere")
    for _ in range(INSTANCES):
        for s in _instance(rng):
            d = s.problem.e.shape[1]
            zero, x0 = exact.vector(*[0] * d), exact.rationals(rng, d)
            M, x_lim = s.linear_part(zero), s.limit()
            c = tau_eff(s) if own_weights(s) else 1
            KH = [K_i @ H_i for K_i, H_i in zip(s.local_matrices(), s.problem.H, strict=True)]
            spelled = eye(M) - c * sum(W_i * A for W_i, A in zip(s.client_weights(), KH, strict=True))
            x = x0
            for T in range(1, ROUNDS + 1):
                x = s.round(x)
                if (x - x_lim != np.linalg.matrix_power(M, T) @ (x0 - x_lim)).any():
                    return Finding(Verdict.REFUTED, f"{label(s)}, T = {T}: {s}")
            if (s.round(x_lim) != x_lim).any() or (spelled != M).any():
                return Finding(Verdict.REFUTED, f"{label(s)}: {s}")
            halved = halved or (eye(M) + spelled != 2 * M).any()
            if own_weights(s) and not without.matters:
                other = limit(s.shares(), s.local_matrices(), s.problem)
                if (s.round(other) != other).any():
                    without = Dropped(True, f"{label(s)}, steps {s.steps}: the limit for W = p is not a fixed point")
            count += 1
    return Finding(
        Verdict.CHECKED,
        f"{count} runs: {INSTANCES} random problems (2 or 3 coordinates and clients, tau_i in 1..4) times "
        f"{count // INSTANCES} algorithms and solvers; T = 1..{ROUNDS}",
        {"weights": without},
        sharpness=Sharpness(1.0, {"half of c": bool(halved)}),
    )


# One coordinate, two clients, everything a variable.


def scalar(draw: Draw, h: Hyper, steps: tuple[int, ...], *, unit: bool = False, equal: bool = False) -> Setting:
    """Two clients of one coordinate; curvatures 1 if ``unit``, equal sample sizes if ``equal``."""
    H, e = draw("h", 2, positive=True), draw("e", 2)
    curvature = H * 0 + 1 if unit else H
    problem = QuadraticClients(curvature.reshape(2, 1, 1), e.reshape(2, 1))
    n = draw("n", 2, positive=True)
    return Setting(h, problem, steps, (n[0], n[0] if equal else n[1]))


def hyper(draw: Draw) -> dict[str, Any]:
    """Variables for the parameters; if sampled, eta_l is small, so that no denominator vanishes."""
    eta, mu, rho, gamma, steps = several(draw, "eta, mu, rho, gamma, tau_eff", positive=True)
    small = eta / 97 if isinstance(eta, Fraction) else eta
    return {"eta_l": small, "mu": mu, "rho": below_one(rho), "gamma": below_one(gamma), "tau_eff": steps}


def _settings(draw: Draw, steps: tuple[int, ...]) -> list[Setting]:
    h = hyper(draw)
    blank = scalar(draw, FedAvg(eta_l=h["eta_l"]), steps)
    return list(algorithms(blank.problem, steps, blank.examples, **h))


@curried
def _fixed(draw: Draw, steps: tuple[int, ...], number: int, *, plain: bool = False) -> Iterable[Any]:
    """R(x) = M x + b for any x, and (M - 1) N + b D = 0 where x~ = N / D."""
    s, x = _settings(draw, steps)[number], draw("x", 1)
    M, b = s.linear_part(x * 0), s.round(x * 0)
    W = s.shares() if plain else s.client_weights()
    (value,) = limit(W, s.local_matrices(), s.problem)
    above, below = sympy.fraction(normal_form(value)) if isinstance(value, sympy.Expr) else (value, 1)
    yield from s.round(x) - M @ x - b
    yield (M[0, 0] - 1) * above + b[0] * below


@claim(
    "fednova.limit-symbolic",
    statement="The closed-form limit is a fixed point of one round and x' - x~ = M (x - x~), for every curvature, "
    "minimiser, weight, rate and hyper-parameter",
    source="eqs. (24)-(28) (L357-373); FedNova and the solvers beyond proximal SGD are ours",
    sizes="d = 1, two clients, tau = (1, 2); FedAvg, FedProx and FedNova with momentum also at tau = (2, 3)",
    assumptions={"weights": "W_i is p_i / ||a_i||_1 where FedNova's own weights are used"},
)
def symbolic_limits() -> Finding:
    """Proof for FedAvg, FedProx and FedNova with every solver and reading at tau = (1, 2); three at (2, 3).

    FedNova's reading with a constant tau_eff has it as a variable, so that its limit does not depend on tau_eff. For
    any number of coordinates: R(x) = x + c sum W_i K_i (e_i - H_i x), which leaves x where the sum vanishes.
    """
    ones = [label(s) for s in algorithms(*blank(), eta_l=1, mu=1, rho=0, gamma=1, tau_eff=1)]
    bodies = {
        f"{one}, tau = {steps}": _fixed(steps, k)
        for steps in STEPS
        for k, one in enumerate(ones)
        if steps == (1, 2) or one in LONGER
    }
    nova = next(k for k, one in enumerate(ones) if "nova" in one)
    return identities(bodies, without={"weights": {"tau = (1, 2)": _fixed((1, 2), nova, plain=True)}}, instances=3)


LONGER = ("FedAvg", "FedProx", "FedNova(momentum, nova, weighted-norm)")


def blank() -> tuple[QuadraticClients, tuple[int, ...], tuple[int, ...]]:
    """Placeholder problem, steps and sample sizes, for results that do not depend on them."""
    return QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(0, 0).reshape(2, 1)), (1, 2), (1, 1)


def _one_more(draw: Draw) -> Iterable[Any]:
    """A proximal step from the x_n of eq. (21): it is again eq. (21), with B (I - eta mu I - eta H) for B.

    B, the power of I - eta mu I - eta H there, is any matrix that commutes with H.
    """
    a, b, c, eta, mu = draw("a"), draw("b"), draw("c"), draw("eta", positive=True), draw("mu", positive=True)
    e, x, (b0, b1) = draw("e", 2), draw("x", 2), draw("B", 2)
    H = np.array([[a, b], [b, c]], dtype=object)
    one = eye(H)
    P = H + mu * one
    adjoint = np.array([[P[1, 1], -P[0, 1]], [-P[1, 0], P[0, 0]]], dtype=object)
    whole = P[0, 0] * P[1, 1] - P[0, 1] * P[1, 0]

    def after(B: Any) -> Any:
        return x + (one - B) @ adjoint @ (e - H @ x) / whole

    B = b0 * one + b1 * H
    now = after(B)
    yield from proximal_sgd(now, H @ now - e, x, eta_l=eta, mu=mu) - after(B @ (one - eta * P))
    yield from after(one) - x


@claim(
    "fednova.eq-21",
    statement="x_tau - x_0 = K_i (e_i - H_i x_0), K_i (H_i + mu I) = I - (I - eta mu I - eta H_i)^tau, after any "
    "number tau of proximal steps",
    source="eqs. (15)-(21) (L330-344)",
    sizes="d = 2",
    assumptions={"pull": "mu is the same on both sides"},
)
def proximal_matrix() -> Finding:
    """Proof by induction over a local step from x_0, where the power is I; in two coordinates every polynomial in H,
    such as a power of I - eta mu I - eta H, is b_0 I + b_1 H.

    Beside it the specification's K, by its recursion, for tau = 1..4; without the assumption mu = 0 in K.
    """

    @curried
    def body(draw: Draw, tau: int, keep: int = 1) -> Iterable[Any]:
        a, b, c, eta, mu = draw("a"), draw("b"), draw("c"), draw("eta", positive=True), draw("mu", positive=True)
        H = np.array([[a, b], [b, c]], dtype=object)
        one = eye(H)
        K = local_matrix(Solver.PROXIMAL, H, tau, eta_l=eta, mu=keep * mu)
        yield from np.ravel(K @ (H + mu * one) - one + np.linalg.matrix_power(one - eta * mu * one - eta * H, tau))

    bodies = {"from n to n + 1 steps": _one_more} | {f"tau = {tau}": body(tau) for tau in (1, 2, 3, 4)}
    return identities(bodies, without={"pull": {"tau = 2": body(2, keep=0)}})


@claim(
    "fednova.limit-contraction",
    statement="FedAvg's round contracts, |M| < 1, wherever 0 < eta_l h_i < 2, so that the fixed point is the limit "
    "from every start",
    source="the condition above eq. (28) (L371); the sufficient condition is ours",
    sizes="d = 1, two clients, tau = (1, 2), (2, 3)",
    assumptions={"rate": "eta_l > 0", "stable": "h_i > 0 and eta_l h_i < 2", "sizes": "n_i > 0"},
)
def contraction() -> Finding:
    """Proof: the round's M is sum p_i (1 - eta_l h_i)^tau_i (an identity, tau = (1, 2) and (2, 3)); each power lies
    in (-1, 1), and so does their mean (z3). For any number of clients M is a mean of numbers in (-1, 1).
    """
    form = identities({f"tau = {steps}": _factor(steps) for steps in STEPS}, instances=10)
    powers = [decide(_power(tau)) for tau in (1, 2, 3)]
    whole = decide(_mean)
    proved = all(f.verdict is Verdict.PROVED for f in (form, *powers, whole))
    words = "\n".join(f.evidence for f in (form, *powers, whole))
    dropped = {**powers[1].dropped, "sizes": whole.dropped["sizes"]}
    refuted = form.verdict is Verdict.REFUTED
    verdict = Verdict.PROVED if proved else Verdict.REFUTED if refuted else Verdict.UNKNOWN
    return Finding(verdict, words, dropped, whole.second)


@curried
def _factor(draw: Draw, steps: tuple[int, ...]) -> Iterable[Any]:
    eta = draw("eta", positive=True)
    s = scalar(draw, FedAvg(eta_l=eta), steps)
    M = s.linear_part(draw("x", 1) * 0)[0, 0]
    h = s.problem.H[:, 0, 0]
    yield M - sum(p_i * (1 - eta * h_i) ** tau for p_i, h_i, tau in zip(s.shares(), h, steps, strict=True))


@curried
def _power(draw: Draw, tau: int) -> Statement:
    eta, h = draw("eta"), draw("h")
    power = (1 - eta * h) ** tau
    given = {"rate": eta > 0, "stable": every(h > 0, eta * h < 2)}
    return Statement(given, {f"power {tau} < 1": power < 1, f"power {tau} > -1": power > -1})


def _mean(draw: Draw) -> Statement:
    n, power = draw("n", 2), draw("power", 2)
    M = (n[0] * power[0] + n[1] * power[1]) / (n[0] + n[1])
    inside = every(*(z for q in power for z in (q < 1, q > -1)))
    return Statement({"powers": inside, "sizes": every(n[0] > 0, n[1] > 0)}, {"M < 1": M < 1, "M > -1": M > -1})
