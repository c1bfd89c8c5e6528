"""Quadratic clients, for which FedNova's limit points are known in closed form.

    F_i(x) = x' H_i x / 2 - e_i' x + f_i,    grad F_i(x) = H_i x - e_i,    minimiser H_i^(-1) e_i

Every local solver of FedNova's App. B moves linearly on it: Delta_i = K_i (e_i - H_i x), with a matrix K_i that
commutes with H_i. Source: FedNova, eqs. (13)-(28).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Shaped

from fedspec.arith import Array, Scalar, Stack, Vector, Weights, check_array
from fedspec.domains import check_steps, require
from fedspec.errors import PlanError, ShapeError
from fedspec.linear import eye, solve
from fedspec.plan import Oracle
from fedspec.readings import Solver, choice
from fedspec.records import record


@record
class QuadraticClients:
    """Quadratic objectives of n clients in d dimensions.

    Attributes:
        H: [n, d, d] the matrices H_i, symmetric positive definite.
        e: [n, d] the vectors e_i.
        f: [n] the constants F_i(0); None: the clients have gradients but no losses.

    Raises:
        ShapeError: H, e and f differ in n or d, aren't arrays of reals, or have no client; or an H_i isn't symmetric.
    """

    H: Shaped[Array, "n d d"]
    e: Stack
    f: Weights | None = None

    def __post_init__(self) -> None:
        check_array("H", self.H)
        check_array("e", self.e)
        if not len(self.H) or self.H.ndim != 3 or self.e.ndim != 2 or self.H.shape != (*self.e.shape, self.e.shape[1]):
            raise ShapeError(
                f"quadratics: H {self.H.shape} and e {self.e.shape}; H is [n, d, d] and e is [n, d], n >= 1"
            )
        if self.f is not None:
            check_array("f", self.f)
            if self.f.shape != self.H.shape[:1]:
                raise ShapeError(f"quadratics: f {self.f.shape} for {len(self.H)} clients; f is [n]")
        for i, H_i in enumerate(self.H):
            if not (H_i == H_i.T).all():
                raise ShapeError(f"quadratics: H[{i}] is not symmetric; use (H + H') / 2")

    @property
    def clients(self) -> tuple[Oracle, ...]:
        """Exact gradient oracle of each client, the same at every local step; it has values too if f is given."""
        if self.f is not None:
            return tuple(map(Quadratic, self.H, self.e, self.f))
        return tuple(lambda k, x, H_i=H_i, e_i=e_i: H_i @ x - e_i for H_i, e_i in zip(self.H, self.e, strict=True))

    def smoothness(self) -> float:
        """Smoothness constant L, the largest eigenvalue of any H_i (floating point)."""
        return float(max(np.linalg.eigvalsh(H_i.astype(float))[-1] for H_i in self.H))

    def minimiser(self, p: Weights) -> Vector:
        """Minimiser of sum_i p_i F_i: x* = (sum_i p_i H_i)^(-1) sum_i p_i e_i. FedNova, eq. (14)."""
        return solve(_mix(p, self.H), _mix(p, self.e))


@record
class Quadratic:
    """Gradient oracle of a quadratic objective that also evaluates the objective."""

    H: Shaped[Array, "d d"]
    e: Vector
    f: Scalar

    def __call__(self, k: int, x: Vector) -> Vector:
        """Gradient H x - e of the objective."""
        slope: Vector = self.H @ x - self.e
        return slope

    def value(self, x: Vector) -> Scalar:
        """Value x' H x / 2 - e' x + f of the objective."""
        value: Scalar = x @ (self.H @ x) / 2 - self.e @ x + self.f
        return value


def constant(g: Vector) -> Oracle:
    """Gradient oracle of F(x) = g' x, which is g everywhere: Delta = -eta_l ||a||_1 g exactly."""
    return lambda k, x: g


def given(gradients: Sequence[Vector]) -> Oracle:
    """Gradient oracle that returns given gradients for any model: Delta = -eta_l G a exactly.

    Raises:
        PlanError: at a local step for which no gradient was given.
    """

    def gradient(k: int, x: Vector) -> Vector:
        if not 0 <= k < len(gradients):
            raise PlanError(f"gradients: {len(gradients)} given, and local step {k + 1} is taken; give one for each")
        return gradients[k]

    return gradient


def local_matrix(
    solver: Solver,
    H: Shaped[Array, "d d"],
    tau: int,
    *,
    eta_l: Scalar,
    mu: Scalar = 0,
    rho: Scalar = 0,
    gamma: Scalar = 1,
) -> Shaped[Array, "d d"]:
    """Matrix K with Delta = K (e - H x) after tau local steps.

        sgd, proximal    K_(k+1) = (I - eta_l (H + mu I)) K_k + eta_l I
        decayed          K_(k+1) = (I - eta_l gamma^k H) K_k + eta_l gamma^k I
        momentum         K_(k+1) = (1 + rho) K_k - rho K_(k-1) + eta_l (I - H K_k)

    from K_0 = 0 (and K_(-1) = 0); the others in the same way. Proximal in closed form: (H + mu I)^(-1) times
    I - (I - eta_l mu I - eta_l H)^tau. Source: FedNova, eqs. (17)-(21); momentum and decay derived alike.

    Raises:
        PlanError: tau is not a whole number >= 1.
        ParameterError: another argument is outside its domain.
        UnknownNameError: no solver has that name.
    """
    check_steps(tau)
    solver = choice(Solver, "solver", solver)
    for name, number in (("eta_l", eta_l), ("mu", mu), ("rho", rho), ("gamma", gamma)):
        require(name, number)
    one = eye(H)
    pull = mu if "proximal" in solver else mu * 0
    # U is the buffer as a multiple of (e - H x): u = -U (e - H x).
    K = U = one * 0
    for k in range(tau):
        residual = one - H @ K
        match solver:
            case Solver.SGD | Solver.PROXIMAL | Solver.DECAYED:
                step = residual - pull * K
            case Solver.DAMPENED:
                step = U = rho * U + (1 - rho) * residual
            case Solver.NESTEROV:
                U = rho * U + residual
                step = residual + rho * U
            case Solver.MOMENTUM_PROXIMAL_INSIDE:
                step = U = rho * U + residual - pull * K
            case _:
                U = rho * U + residual
                step = U - pull * K
        K = K + eta_l * (gamma**k if solver is Solver.DECAYED else 1) * step
    return K


def limit(W: Weights, K: Shaped[Array, "n d d"], problem: QuadraticClients) -> Vector:
    """Limit of the iteration x = x + c sum_i W_i Delta_i, if it converges.

        x~ = (sum_i W_i K_i H_i)^(-1) sum_i W_i K_i e_i

    W_i = p_i for FedAvg and FedProx (FedNova, eq. (28)); W_i = p_i / ||a_i||_1 for FedNova, whatever tau_eff.
    """
    KH = np.stack([K_i @ H_i for K_i, H_i in zip(K, problem.H, strict=True)])
    Ke = np.stack([K_i @ e_i for K_i, e_i in zip(K, problem.e, strict=True)])
    return solve(_mix(W, KH), _mix(W, Ke))


def _mix(W: Weights, stack: Array) -> Array:
    if len(W) != len(stack):
        raise ShapeError(f"weights: {len(W)} for {len(stack)} clients; give one for each")
    mixed: Array = sum(W_i * part for W_i, part in zip(W, stack, strict=True))
    return mixed
