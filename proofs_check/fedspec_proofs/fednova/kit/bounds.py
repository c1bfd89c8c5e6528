"""Constants of FedNova's bounds, exactly: A, B, C of eq. (9), dissimilarity of quadratics, initial gap."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.fednova import FedNova
from fedspec.arith import Array, Vector, Weights
from fedspec.linear import solve
from fedspec.mixing.accumulation import accumulation
from fedspec.mixing.nova import effective_steps, general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec_proofs.fednova.kit.settings import Setting

rational: Callable[..., Any] = Fraction
"""Makes a fraction; type checkers see a scalar, as in :data:`fedspec.arith.Scalar`."""


@dataclass(frozen=True)
class Constants:
    """Constants A, B and C, and the effective number of steps in a round."""

    A: Any
    B: Any
    C: Any
    tau_eff: Any


def vectors(s: Setting, *, less: int = 0) -> list[list[Any]]:
    """Accumulation vectors a_i of all clients, or the vectors of their first tau_i - ``less`` steps."""
    h = s.h
    assert isinstance(h, FedNova)
    return [
        accumulation(h.solver, tau - less, alpha=h.eta_l * h.mu, rho=h.rho, gamma=h.gamma) if tau > less else []
        for tau in s.steps
    ]


def weights(s: Setting) -> Weights:
    """Weights w, by the rule."""
    assert isinstance(s.h, FedNova)
    return general_weights(s.shares(), s.norms(), s.h.nova_weights)


def tau_eff(s: Setting) -> Any:
    """Effective steps tau_eff, by the rule."""
    assert isinstance(s.h, FedNova)
    return effective_steps(s.shares(), s.norms(), s.steps, s.h.tau_eff_choice, s.h.tau_eff)


def spread(a: Sequence[Sequence[Any]], w: Any, tau_eff: Any) -> Any:
    """Constant A = m tau_eff sum w_i^2 ||a_i||_2^2 / ||a_i||_1^2."""
    return len(a) * tau_eff * sum(w_i**2 * squares(a_i) / sum(a_i) ** 2 for w_i, a_i in zip(w, a, strict=True))


def squares(a: Sequence[Any]) -> Any:
    """Squared norm ||a||_2^2."""
    return sum(a_k**2 for a_k in a)


def drift(a: Sequence[Sequence[Any]], w: Any) -> Any:
    """Constant B = sum w_i (||a_i||_2^2 - a_(i,-1)^2)."""
    return sum(w_i * (squares(a_i) - a_i[-1] ** 2) for w_i, a_i in zip(w, a, strict=True))


def reach(a: Sequence[Any]) -> Any:
    """||a||_1 (||a||_1 - a_(-1)); the constant C is its maximum over clients."""
    return sum(a) * (sum(a) - a[-1])


def printed(s: Setting) -> Constants:
    """Constants A, B, C of eq. (9)."""
    a, w, steps = vectors(s), weights(s), tau_eff(s)
    return Constants(spread(a, w, steps), drift(a, w), max(map(reach, a)), steps)


def repaired(s: Setting) -> Constants:
    """Constants with the accumulation vector a^(k) of the first k steps, k < tau; (69) uses the first k entries of a.

    B' = sum w_i max_k ||a_i^(k)||_2^2 and C' = max_i max_k ||a_i^(k)||_1^2, k <= tau_i - 1.
    """
    a, w, steps = vectors(s), weights(s), tau_eff(s)
    earlier = [[v[i] for v in (vectors(s, less=n) for n in range(1, max(s.steps) + 1))] for i in range(len(a))]
    B = sum(w_i * max(map(squares, ks)) for w_i, ks in zip(w, earlier, strict=True))
    return Constants(spread(a, w, steps), B, max(sum(v) ** 2 for ks in earlier for v in ks), steps)


def mixed(w: Weights, stack: Array) -> Array:
    """Weighted sum of a stack, with weights w_i."""
    total: Array = sum(w_i * part for w_i, part in zip(w, stack, strict=True))
    return total


def gap(problem: QuadraticClients, w: Weights, x: Vector) -> Any:
    """Gap F_w(x) - inf F_w."""
    z = x - problem.minimiser(w)
    return z @ mixed(w, problem.H) @ z / 2


def gradient(problem: QuadraticClients, w: Weights, x: Vector) -> Vector:
    """Gradient of F_w at x, from the clients' gradients."""
    total: Vector = sum(w_i * g(0, x) for w_i, g in zip(w, problem.clients, strict=True))
    return total


def _definite(Q: Array) -> bool:
    """True if a symmetric matrix of one or two rows is positive definite (Sylvester)."""
    return bool(Q[0, 0] > 0 and (len(Q) == 1 or Q[0, 0] * Q[1, 1] > Q[0, 1] ** 2))


def least_kappa(problem: QuadraticClients, w: Weights, beta2: Any) -> Any:
    """Smallest kappa^2 with sum w_i |grad F_i|^2 <= beta^2 |grad F_w|^2 + kappa^2 everywhere; None if there is none.

    Let x_w minimise F_w, H_i be the Hessian of F_i and H_w that of F_w. With x = x_w + z, r_i = grad F_i(x_w) and
    b = sum w_i H_i r_i, kappa^2 is sum w_i |r_i|^2 plus the supremum over z of 2 b'z - z'Qz, where
    Q = beta^2 H_w^2 - sum w_i H_i^2. The supremum is b' Q^(-1) b if Q is positive definite. A singular Q is answered
    only where Q = 0 and b = 0; elsewhere None is said, which is on the safe side.
    """
    x = problem.minimiser(w)
    r = [g(0, x) for g in problem.clients]
    base = sum(w_i * (r_i @ r_i) for w_i, r_i in zip(w, r, strict=True))
    b = sum(w_i * (H_i @ r_i) for w_i, H_i, r_i in zip(w, problem.H, r, strict=True))
    Hw = mixed(w, problem.H)
    Q = beta2 * (Hw @ Hw) - sum(w_i * (H_i @ H_i) for w_i, H_i in zip(w, problem.H, strict=True))
    if _definite(Q):
        return base + b @ solve(Q, b)
    return base if (Q == 0).all() and (b == 0).all() else None


def chi_squared(p: Any, w: Any) -> Any:
    """Divergence chi^2(p||w) = sum (p_i - w_i)^2 / w_i."""
    return sum((p_i - w_i) ** 2 / w_i for p_i, w_i in zip(p, w, strict=True))


def theorem_1_terms(
    c: Constants, *, gap: Any, eta: Any, L: Any, sigma2: Any, kappa2: Any, m: int, T: int
) -> dict[str, Any]:
    """Terms of the right side of eq. (97), by origin."""
    return {
        "gap": 4 * gap / (eta * c.tau_eff * T),
        "A": 4 * eta * L * sigma2 * c.A / m,
        "B": 6 * (eta * L) ** 2 * sigma2 * c.B,
        "C": 12 * (eta * L) ** 2 * kappa2 * c.C,
    }


def theorem_1(c: Constants, **of: Any) -> Any:
    """Right side of eq. (97)."""
    return sum(theorem_1_terms(c, **of).values())


def theorem_1_rates(c: Constants, *, eta: Any, L: Any, beta2: Any) -> tuple[bool, bool]:
    """True, each, if eqs. (98) and (99) hold: eta L <= 1 / (2 tau_eff), and D = 4 eta^2 L^2 C <= 1 / (2 beta^2 + 1)."""
    first = eta * L * 2 * c.tau_eff <= 1
    second = 4 * (eta * L) ** 2 * c.C * (2 * beta2 + 1) <= 1
    return bool(first), bool(second)
