"""FedNova's accumulation vectors: every local solver of the specification run on sympy symbols.

Models have two coordinates, which is enough to see that coordinates do not mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import sympy

from fedspec.algorithms.local import local_solve
from fedspec.arith import Vector
from fedspec.client.momentum import (
    Momentum,
    dampened,
    momentum,
    momentum_proximal_inside,
    momentum_proximal_outside,
    nesterov,
)
from fedspec.client.proximal import proximal_sgd
from fedspec.client.sgd import decayed_sgd, sgd
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.problems.quadratic import given
from fedspec.readings import Solver
from fedspec_proofs.engines.exact import generator
from fedspec_proofs.engines.symbolic import ZeroTest, symbol, symbols, vanishes, vector
from fedspec_proofs.record import FEDNOVA, IDENTITY, Finding, Source, Verdict, identity, proof

STEPS = (1, 2, 3, 4)
ETA, MU, RHO, GAMMA = (symbol(name, positive=True) for name in ("eta", "mu", "rho", "gamma"))
ALPHA = ETA * MU


@proof(
    "fednova.accumulation",
    statement="After tau local steps Delta = -eta_l sum_k a_k g_k for any gradients g_k, with a the accumulation "
    "vector of the solver",
    source=Source(FEDNOVA, "App. B, eqs. (31)-(43) (L397-434); the last four solvers are ours"),
    engine=IDENTITY,
)
def accumulation_vectors() -> Finding:
    """Every local solver, tau = 1..4: x, all gradients and all hyper-parameters are symbols.

    The identity contains the impulse responses: the coefficient of g_k is a_k. For any tau see
    :func:`accumulation_every_tau`.
    """
    rng = generator()

    def tests() -> Iterable[tuple[str, ZeroTest]]:
        for solver in Solver:
            for tau in STEPS:
                x, g = symbols("x", 2), symbols("g", tau, 2)
                end = local_solve(solver, x, given(list(g)), tau, eta_l=ETA, mu=MU, rho=RHO, gamma=GAMMA)
                a = accumulation(solver, tau, alpha=ALPHA, rho=RHO, gamma=GAMMA)
                yield f"{solver}, tau = {tau}", vanishes(end - x + ETA * sum(a[k] * g[k] for k in range(tau)), rng)

    return identity(tests(), f"{len(Solver)} solvers, tau in {STEPS}; x, g_k, eta_l, mu, rho, gamma symbolic")


@dataclass(frozen=True)
class Response:
    """How a solver with constant coefficients answers a unit gradient, n steps after it, in closed form.

    Attributes:
        step: one step of the solver from a state, a gradient and the anchor.
        closed: from (1 - alpha)^n and rho^n to y_n, the displacement over -eta_l, and b_n, the buffer.
    """

    step: Callable[[Momentum, Vector, Vector], Momentum]
    closed: Callable[[Any, Any], tuple[Any, Any]]


def _plain(rule: Callable[[Vector, Vector, Vector], Vector]) -> Callable[[Momentum, Vector, Vector], Momentum]:
    return lambda state, g, anchor: Momentum(rule(state.x, g, anchor), state.u)


B, R = symbol("B", positive=True), symbol("R", positive=True)
"""(1 - alpha)^n and rho^n for an arbitrary n >= 1; one step later they are (1 - alpha) B and rho R."""

RESPONSES: dict[Solver, Response] = {
    Solver.SGD: Response(
        _plain(lambda x, g, anchor: sgd(x, g, eta_l=ETA)),
        lambda B, R: (1, 0),
    ),
    Solver.PROXIMAL: Response(
        _plain(lambda x, g, anchor: proximal_sgd(x, g, anchor, eta_l=ETA, mu=MU)),
        lambda B, R: (B / (1 - ALPHA), 0),
    ),
    Solver.MOMENTUM: Response(
        lambda state, g, anchor: momentum(state, g, eta_l=ETA, rho=RHO),
        lambda B, R: ((1 - R) / (1 - RHO), R / RHO),
    ),
    Solver.NESTEROV: Response(
        lambda state, g, anchor: nesterov(state, g, eta_l=ETA, rho=RHO),
        lambda B, R: ((1 - RHO * R) / (1 - RHO), R / RHO),
    ),
    Solver.DAMPENED: Response(
        lambda state, g, anchor: dampened(state, g, k=0, eta_l=ETA, rho=RHO),
        lambda B, R: (1 - R, (1 - RHO) * R / RHO),
    ),
    Solver.MOMENTUM_PROXIMAL_OUTSIDE: Response(
        lambda state, g, anchor: momentum_proximal_outside(state, g, anchor, eta_l=ETA, rho=RHO, mu=MU),
        lambda B, R: ((B - R) / (1 - ALPHA - RHO), R / RHO),
    ),
}


@proof(
    "fednova.accumulation-every-tau",
    statement="The accumulation vectors hold for every number of local steps tau, in the closed forms of App. B",
    source=Source(FEDNOVA, "App. B, eqs. (34), (43) (L406, L434); four of the solvers are ours"),
    engine=IDENTITY + ", induction over the steps since a gradient",
)
def accumulation_every_tau() -> Finding:
    """Superposition and impulse response, both of the rule itself, which local training does nothing but repeat.

    (1) A step of a solver is linear in the state, the gradient and the anchor together; so the end point is the sum
    of what each gradient alone brings about from x = anchor = u = 0, plus x when there is no gradient at all (which
    stays where it is). (2) A unit gradient moves the state by -eta_l y_1 with buffer b_1, and one step without a
    gradient leads from (-eta_l y_n, b_n) to (-eta_l y_(n+1), b_(n+1)), for arbitrary n, the powers (1-alpha)^n and
    rho^n being symbols. Hence a_k = y_(tau-k). The inside reading of momentum with a proximal pull has the
    recurrence y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1) in place of a closed form; decay has a_k = gamma^k because a
    step adds -eta_l gamma^k g and nothing else. (3) For tau up to 6 the specification's vectors are these numbers.
    """
    rng = generator()
    zero = vector(0, 0)
    y, before = symbols("y", 2)
    inside = _inside()

    def linear(step: Callable[[Momentum, Vector, Vector], Momentum]) -> Iterable[Any]:
        c, e = symbols("c", 2)
        one = [symbols(n, 2) for n in ("x", "u", "g", "z")]
        two = [symbols(n, 2) for n in ("X", "U", "G", "Z")]
        left, right, both = (
            step(Momentum(x, u), g, z)
            for x, u, g, z in (one, two, [c * p + e * q for p, q in zip(one, two, strict=True)])
        )
        still = step(Momentum(one[0], zero), zero, one[0])
        return [
            *(both.x - c * left.x - e * right.x),
            *(both.u - c * left.u - e * right.u),
            *(still.x - one[0]),
            *still.u,
        ]

    def impulse(response: Response) -> Iterable[Any]:
        g = symbols("g", 2)
        first, buffer = response.closed(1 - ALPHA, RHO)
        hit = response.step(Momentum(zero, zero), g, zero)
        now, later = response.closed(B, R), response.closed((1 - ALPHA) * B, RHO * R)
        free = response.step(Momentum(-ETA * now[0] * g, now[1] * g), zero, zero)
        return [
            *(hit.x + ETA * first * g),
            *(hit.u - buffer * g),
            *(free.x + ETA * later[0] * g),
            *(free.u - later[1] * g),
        ]

    def recurrence() -> Iterable[Any]:
        g = symbols("g", 2)
        hit = inside(Momentum(zero, zero), g, zero)
        free = inside(Momentum(-ETA * y * g, (y - before) * g), zero, zero)
        after = (1 + RHO - ALPHA) * y - RHO * before
        return [*(hit.x + ETA * g), *(hit.u - g), *(free.x + ETA * after * g), *(free.u - (after - y) * g)]

    def decay() -> Iterable[Any]:
        x, g, k = symbols("x", 2), symbols("g", 2), sympy.Symbol("k", integer=True, nonnegative=True)
        return [*(decayed_sgd(x, g, k=k, eta_l=ETA, gamma=GAMMA) - x + ETA * GAMMA**k * g)]

    def spelled(solver: Solver, response: Response) -> Iterable[Any]:
        for tau in range(1, 7):
            a = accumulation(solver, tau, alpha=ALPHA, rho=RHO, gamma=GAMMA)
            yield from (a[k] - response.closed((1 - ALPHA) ** (tau - k), RHO ** (tau - k))[0] for k in range(tau))

    def spelled_recurrence() -> Iterable[Any]:
        numbers = [0, 1]
        for _ in range(6):
            numbers.append((1 + RHO - ALPHA) * numbers[-1] - RHO * numbers[-2])
        for tau in range(1, 7):
            a = accumulation(Solver.MOMENTUM_PROXIMAL_INSIDE, tau, alpha=ALPHA, rho=RHO)
            yield from (a[k] - numbers[tau - k] for k in range(tau))
        for tau in range(1, 7):
            yield from (a_k - GAMMA**k for k, a_k in enumerate(accumulation(Solver.DECAYED, tau, gamma=GAMMA)))

    def tests() -> Iterable[tuple[str, ZeroTest]]:
        for solver, response in RESPONSES.items():
            yield f"{solver}, linear", vanishes(linear(response.step), rng)
            yield f"{solver}, impulse", vanishes(impulse(response), rng)
            yield f"{solver}, entries", vanishes(spelled(solver, response), rng)
        yield "inside, linear", vanishes(linear(inside), rng)
        yield "inside, impulse", vanishes(recurrence(), rng)
        yield "decayed", vanishes(decay(), rng)
        yield "inside and decayed, entries", vanishes(spelled_recurrence(), rng)

    return identity(tests(), f"{len(Solver)} solvers, any tau; state, gradient, hyper-parameters symbolic")


def _inside() -> Callable[[Momentum, Vector, Vector], Momentum]:
    return lambda state, g, anchor: momentum_proximal_inside(state, g, anchor, eta_l=ETA, rho=RHO, mu=MU)


N = sympy.Symbol("tau", integer=True, positive=True)

NORMS: dict[Solver, Callable[[Any, Any, Any, Any], Any]] = {
    Solver.SGD: lambda n, B, R, C: n,
    Solver.PROXIMAL: lambda n, B, R, C: (1 - B) / ALPHA,
    Solver.DECAYED: lambda n, B, R, C: (1 - C) / (1 - GAMMA),
    Solver.MOMENTUM: lambda n, B, R, C: (n - RHO * (1 - R) / (1 - RHO)) / (1 - RHO),
}
"""||a||_1 as App. B prints it, from tau, (1 - alpha)^tau, rho^tau and gamma^tau."""


@proof(
    "fednova.a-norm",
    statement="The closed forms of ||a||_1 in App. B equal the sums of the accumulation vectors, for every tau",
    source=Source(FEDNOVA, "eq. (7) and App. B, eq. (45) (L120-130, L439)"),
    engine=IDENTITY + ", induction over tau",
)
def a_norms() -> Finding:
    """SGD, proximal, decayed and momentum.

    The specification's ``a_norm`` equals the closed form for tau = 1..6, and the closed form grows from tau to tau + 1
    by the entry that is new (the largest age for the solvers with constant coefficients, gamma^tau for decay), with
    the powers of arbitrary exponent tau as symbols.
    """
    rng = generator()
    C = symbol("C", positive=True)
    new: dict[Solver, Any] = {
        **{s: r.closed((1 - ALPHA) * B, RHO * R)[0] for s, r in RESPONSES.items() if s in NORMS},
        Solver.DECAYED: C,
    }

    def tests() -> Iterable[tuple[str, ZeroTest]]:
        for solver, norm in NORMS.items():
            sums = (
                a_norm(solver, tau, alpha=ALPHA, rho=RHO, gamma=GAMMA)
                - norm(tau, (1 - ALPHA) ** tau, RHO**tau, GAMMA**tau)
                for tau in range(1, 7)
            )
            yield f"{solver}, tau to 6", vanishes(sums, rng)
            growth = norm(N + 1, (1 - ALPHA) * B, RHO * R, GAMMA * C) - norm(N, B, R, C) - new[solver]
            yield f"{solver}, tau to tau + 1", vanishes([growth], rng)

    return identity(tests(), f"{', '.join(NORMS)}; tau and all hyper-parameters symbolic")


@proof(
    "fednova.dampened-vector",
    statement="Momentum with dampening has the accumulation vector of momentum without",
    source=Source(FEDNOVA, "ours: a false statement about eqs. (35)-(36) (L414-415)"),
    engine=IDENTITY,
)
def dampened_vector() -> Finding:
    """One step suffices: 1 - rho is not 1."""
    x, g = symbols("x", 1), symbols("g", 1, 1)
    end = local_solve(Solver.DAMPENED, x, given(list(g)), 1, eta_l=ETA, rho=RHO)
    (a,) = accumulation(Solver.MOMENTUM, 1, rho=RHO)
    test = vanishes(end - x + ETA * a * g[0], generator())
    return Finding(Verdict.REFUTED if test.zero is False else Verdict.UNKNOWN, f"not zero at {dict(test.witness)}")
