"""Printed assumptions of the convergence theorems, tested on an instance, as the conditions of a refutation."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

from fedspec.arith import Vector
from fedspec_proofs.engines import every, exact, prove, reals
from fedspec_proofs.fedada2.kit.problems import Huber, slope

PRINTED = {
    "Assumption 1": "every F_i is L-smooth",
    "Assumption 2": "every gradient is at most G in every coordinate",
    "full batch": "clients use the gradients of their F_i themselves (L128)",
    "objective": "f is the mean of the F_i (eq. (1)) and has a minimiser (L90)",
    "server": "m_0 = 0, v_0 >= tau^2, eps, tau > 0, beta1 in [0, 1); any x_0 and any rates",
}
"""Assumptions of Theorem 20 and related theorems in words; :func:`printed` tests them."""

LOCAL = {
    "Assumption 2": "every gradient is at most G in every coordinate",
    "eps, eps_s > 0": "the clients' stabiliser, and the length below which a step is dropped",
}
"""Assumptions of the lemmas about a client's change; the instances also have full-batch gradients and are smooth."""


def ramp(x: Vector, L: Any, start: Any) -> Vector:
    """Gradient at x of an L-smooth convex scalar function; it is ``start`` at 0, clipped to [-1, 1]."""
    out: Vector = slope(L * x + start)
    return out


def lipschitz(gradient: Callable[[Any], Any], L: Any) -> bool:
    """True if |gradient(x) - gradient(y)| <= L |x - y| for all real x and y, by z3."""
    x, y = reals("x", 1), reals("y", 1)
    (change,), (apart,) = gradient(x) - gradient(y), x - y
    return bool(prove({"Lipschitz": change**2 <= (L * apart) ** 2}))


def smooth(f: Huber, L: Any) -> bool:
    """True if Assumption 1 holds on the line: |grad F_i(x) - grad F_i(y)| <= L |x - y| for all x, y and i, by z3."""
    return all(lipschitz(partial(client, 0), L) for client in f.clients)


def bounded(f: Huber, G: Any) -> bool:
    """True if Assumption 2 holds on the line: |grad F_i(x)| <= G for all x and i, by z3."""
    x = reals("x", 1)
    return bool(prove({f"client {i}": every(g[0] <= G, -g[0] <= G) for i, g in _all(f, x)}))


def _all(f: Huber, x: Any) -> list[tuple[int, Any]]:
    return [(i, client(0, x)) for i, client in enumerate(f.clients)]


def printed(f: Huber, L: Any, G: Any, h: Any) -> dict[str, bool]:
    """Assumptions of Theorem 20 and related theorems on clients and server's start, each with True if it holds."""
    third = exact.vector(Fraction(1, 3))
    return {
        f"Assumption 1: every F_i is {L}-smooth (z3, for all x and y)": smooth(f, L),
        f"Assumption 2: |grad F_i| <= {G} everywhere (z3)": bounded(f, G),
        "f has a minimiser: its gradient vanishes at one": not f.gradient(f.minimiser()).any(),
        "gradients are full-batch: at x = 1/3 they are the same at steps 0 to 9": all(
            (client(k, third) == client(0, third)).all() for client in f.clients for k in range(10)
        ),
        "the server starts from m_0 = 0 and v_0 >= tau^2": bool(h.v0 >= h.tau**2),
        "eps, tau, eta, eta_l > 0 and beta1 in [0, 1)": bool(
            min(h.eps, h.tau, h.eta, h.eta_l) > 0 and 0 <= h.beta1 < 1
        ),
    }
