"""FedNova's accumulation vectors (App. B), for every local solver and all values of all parameters.

Models have two coordinates, which is enough to see that coordinates do not mix.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from fedspec.client.momentum import Momentum
from fedspec.client.sgd import decayed_sgd
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.readings import Solver
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.engines.draw import Draw, curried, several
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.kit.responses import CLOSED, Hyper, Step, hyper, inside_buffer, left_over, responses

STEPS = (1, 2, 3, 4)


def _change(solver: Solver, tau: int, vector: Solver | None = None) -> Body:
    """The change of tau local steps, plus eta sum a_k g_k with the vector of a solver."""
    return lambda draw: left_over(draw, solver, tau, vector or solver, tau)


@claim(
    "fednova.accumulation",
    statement="After tau local steps Delta = -eta_l sum_k a_k g_k for any gradients g_k, with a the accumulation "
    "vector of the solver",
    source="App. B, eqs. (31)-(43) (L397-434); the last four solvers are ours",
    sizes="tau <= 4, d = 2",
    assumptions={"own": "a is the vector of the solver that takes the steps"},
)
def accumulation_vectors() -> Finding:
    """Proof for every local solver, tau = 1..4; counterexample without the assumption: momentum, vector of SGD.

    The identity contains the impulse responses: the coefficient of g_k is a_k. For any tau see
    :func:`accumulation_every_tau`.
    """
    bodies = {f"{solver}, tau = {tau}": _change(solver, tau) for solver in Solver for tau in STEPS}
    other = {"momentum, tau = 2, a = (1, 1)": _change(Solver.MOMENTUM, 2, Solver.SGD)}
    return identities(bodies, without={"own": other}, instances=10)


@curried
def _linear(draw: Draw, step: Callable[[Hyper], Step]) -> Iterable[Any]:
    move = step(hyper(draw))
    c, e = draw("c", 2)
    one = [draw(n, 2) for n in ("x", "u", "g", "z")]
    two = [draw(n, 2) for n in ("X", "U", "G", "Z")]
    left, right, both = (
        move(Momentum(x, u), g, z) for x, u, g, z in (one, two, [c * p + e * q for p, q in zip(one, two, strict=True)])
    )
    still = move(Momentum(one[0], one[0] * 0), one[0] * 0, one[0])
    yield from both.x - c * left.x - e * right.x
    yield from both.u - c * left.u - e * right.u
    yield from still.x - one[0]
    yield from still.u


@curried
def _impulse(draw: Draw, solver: Solver, answers: Solver | None = None) -> Iterable[Any]:
    """A unit gradient, and one step without a gradient from n steps after it; B, R: (1 - alpha)^n, rho^n."""
    h, g, B, R = hyper(draw), draw("g", 2), draw("B", positive=True), draw("R", positive=True)
    closed, move = responses(h)[answers or solver].closed, responses(h)[solver].step
    first, buffer = closed(1 - h.alpha, h.rho)
    hit = move(Momentum(g * 0, g * 0), g, g * 0)
    now, later = closed(B, R), closed((1 - h.alpha) * B, h.rho * R)
    free = move(Momentum(-h.eta * now[0] * g, now[1] * g), g * 0, g * 0)
    yield from hit.x + h.eta * first * g
    yield from hit.u - buffer * g
    yield from free.x + h.eta * later[0] * g
    yield from free.u - later[1] * g


def _recurrence(draw: Draw) -> Iterable[Any]:
    h, g, (y, before) = hyper(draw), draw("g", 2), draw("y", 2)
    inside = inside_buffer(h)
    hit = inside(Momentum(g * 0, g * 0), g, g * 0)
    free = inside(Momentum(-h.eta * y * g, (y - before) * g), g * 0, g * 0)
    after = (1 + h.rho - h.alpha) * y - h.rho * before
    for difference in (hit.x + h.eta * g, hit.u - g, free.x + h.eta * after * g, free.u - (after - y) * g):
        yield from difference


@curried
def _decay(draw: Draw, k: int) -> Iterable[Any]:
    h, x, g = hyper(draw), draw("x", 2), draw("g", 2)
    yield from decayed_sgd(x, g, k=k, eta_l=h.eta, gamma=h.gamma) - x + h.eta * h.gamma**k * g


@curried
def _entries(draw: Draw, solver: Solver) -> Iterable[Any]:
    h = hyper(draw)
    closed = responses(h)[solver].closed
    for tau in range(1, 7):
        a = accumulation(solver, tau, alpha=h.alpha, rho=h.rho, gamma=h.gamma)
        yield from (a[k] - closed((1 - h.alpha) ** (tau - k), h.rho ** (tau - k))[0] for k in range(tau))


def _other_entries(draw: Draw) -> Iterable[Any]:
    h = hyper(draw)
    numbers = [h.eta * 0, h.eta * 0 + 1]
    for _ in range(6):
        numbers.append((1 + h.rho - h.alpha) * numbers[-1] - h.rho * numbers[-2])
    for tau in range(1, 7):
        a = accumulation(Solver.MOMENTUM_PROXIMAL_INSIDE, tau, alpha=h.alpha, rho=h.rho)
        yield from (a[k] - numbers[tau - k] for k in range(tau))
        yield from (a_k - h.gamma**k for k, a_k in enumerate(accumulation(Solver.DECAYED, tau, gamma=h.gamma)))


def _step(solver: Solver, h: Hyper) -> Step:
    return responses(h)[solver].step


def _every_tau() -> Mapping[str, Body]:
    bodies: dict[str, Body] = {}
    for solver in CLOSED:
        bodies[f"{solver}, linear"] = _linear(partial(_step, solver))
        bodies[f"{solver}, impulse"] = _impulse(solver)
        bodies[f"{solver}, entries"] = _entries(solver)
    bodies["inside, linear"], bodies["inside, impulse"] = _linear(inside_buffer), _recurrence
    bodies["inside and decayed, entries"] = _other_entries
    return bodies | {f"decayed, k = {k}": _decay(k) for k in range(6)}


@claim(
    "fednova.accumulation-every-tau",
    statement="The accumulation vectors hold for every number of local steps tau, in the closed forms of App. B",
    source="App. B, eqs. (34), (43) (L406, L434); four of the solvers are ours",
    sizes="d = 2; decayed rates up to k = 5",
    assumptions={"own": "the closed form is that of the solver that takes the steps"},
)
def accumulation_every_tau() -> Finding:
    """Proof by superposition and impulse response of a single local step, which local training only repeats.

    (1) A step of a solver is linear in the state, the gradient and the anchor together; so the end point is the sum
    of what each gradient alone brings about from x = anchor = u = 0, plus x when there is no gradient at all (which
    stays where it is). (2) A unit gradient moves the state by -eta_l y_1 with buffer b_1, and one step without a
    gradient leads from (-eta_l y_n, b_n) to (-eta_l y_(n+1), b_(n+1)), for arbitrary n, the powers (1-alpha)^n and
    rho^n being variables. Hence a_k = y_(tau-k). The inside reading of momentum with a proximal pull has the
    recurrence y_(n+1) = (1+rho-alpha) y_n - rho y_(n-1) in place of a closed form; decay has a_k = gamma^k because a
    step adds -eta_l gamma^k g and nothing else, which is looked at for k < 6. (3) For tau up to 6 the specification's
    vectors are these numbers.
    """
    other = {"Nesterov with the closed form of momentum": _impulse(Solver.NESTEROV, Solver.MOMENTUM)}
    return identities(_every_tau(), without={"own": other}, instances=10)


NORMS: dict[Solver, Callable[[Hyper, Any, Any, Any, Any], Any]] = {
    Solver.SGD: lambda h, n, B, R, C: n,
    Solver.PROXIMAL: lambda h, n, B, R, C: (1 - B) / h.alpha,
    Solver.DECAYED: lambda h, n, B, R, C: (1 - C) / (1 - h.gamma),
    Solver.MOMENTUM: lambda h, n, B, R, C: (n - h.rho * (1 - R) / (1 - h.rho)) / (1 - h.rho),
}
"""Closed forms of ||a||_1 printed in App. B, as functions of tau, (1 - alpha)^tau, rho^tau and gamma^tau."""


@curried
def _norm(draw: Draw, solver: Solver, of: Solver | None = None) -> Iterable[Any]:
    h = hyper(draw)
    for tau in range(1, 7):
        closed = NORMS[of or solver](h, tau, (1 - h.alpha) ** tau, h.rho**tau, h.gamma**tau)
        yield a_norm(solver, tau, alpha=h.alpha, rho=h.rho, gamma=h.gamma) - closed
    n, B, R, C = several(draw, "tau, B, R, C", positive=True)
    added = C if solver is Solver.DECAYED else responses(h)[solver].closed((1 - h.alpha) * B, h.rho * R)[0]
    norm = NORMS[of or solver]
    yield norm(h, n + 1, (1 - h.alpha) * B, h.rho * R, h.gamma * C) - norm(h, n, B, R, C) - added


@claim(
    "fednova.a-norm",
    statement="The closed forms of ||a||_1 in App. B equal the sums of the accumulation vectors, for every tau",
    source="eq. (7) and App. B, eq. (45) (L120-130, L439)",
    extent=Extent.WHOLE,
    assumptions={"own": "the closed form is that of the solver"},
)
def a_norms() -> Finding:
    """Proof for SGD, proximal, decay and momentum; counterexample: momentum with SGD's norm.

    The specification's ``a_norm`` equals the closed form for tau = 1..6, and the closed form grows from tau to tau + 1
    by the entry that is new (the largest age for the solvers with constant coefficients, gamma^tau for decay), with
    the powers of arbitrary exponent tau as variables.
    """
    bodies = {str(solver): _norm(solver) for solver in NORMS}
    return identities(bodies, without={"own": {"momentum": _norm(Solver.MOMENTUM, Solver.SGD)}})
