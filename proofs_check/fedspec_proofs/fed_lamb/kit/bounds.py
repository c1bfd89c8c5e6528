"""Right sides of the paper's bounds, as printed and as corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.arith import sqrt

# Whole numbers would divide to floating-point ones.
ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Constants:
    """Constants of the bounds.

    The printed theorems let the rate fall and still have one alpha, outside of their sums. Here 1/alpha is taken at the
    smallest rate of the run and alpha at the largest, so that no reading of it makes a right side larger.

    Attributes:
        gap: f(start) - min f.
        M: the bound of the gradients.
        sigma: square root of the bound of each coordinate's variance.
        p: number of coordinates.
        n: number of clients.
        Lay: number of layers.
        R: number of rounds, or of iterations tau.
        T: local steps in a round.
        alpha: the largest learning rate.
        least_alpha: the smallest learning rate.
        phi_m: lower bound of phi.
        phi_M: upper bound of phi.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
        L_bar: sum of the layers' smoothness constants.
        v0: initial value of the second moments.
    """

    gap: Any = ZERO
    M: Any = ONE
    sigma: Any = ZERO
    p: Any = ONE
    n: Any = ONE
    Lay: Any = ONE
    R: Any = ONE
    T: Any = ONE
    alpha: Any = ONE
    least_alpha: Any = ONE
    phi_m: Any = ONE
    phi_M: Any = ONE
    beta1: Any = ZERO
    beta2: Any = ZERO
    L_bar: Any = ZERO
    v0: Any = ONE


def lemma_1(k: Constants) -> Any:
    """Bound of ||x_r - x_(r,i)||^2 in eq. (2), L198."""
    return k.alpha**2 * k.M**2 * k.phi_M**2 * (1 - k.beta2) * k.p / k.v0


def lemma_2(k: Constants) -> Any:
    """Term that eq. (3), L213, subtracts: Lemma 1's bound times L_bar."""
    return k.L_bar * lemma_1(k)


def initial(k: Constants) -> Any:
    """Term of the initial gap, the same in (4) and (22)."""
    return sqrt(k.M**2 * k.p / k.n) * k.gap / (k.Lay * k.least_alpha * k.R)


def noise(k: Constants) -> Any:
    """Term of the noise, the same in (4), L559 and (22)."""
    return k.phi_M * k.sigma**2 / (k.R * k.n) * sqrt((1 - k.beta2) / (k.M**2 * k.p))


def theorem_1(k: Constants) -> Any:
    """Right side of eq. (4), L252."""
    return initial(k) + lemma_2(k) / k.R + noise(k)


def momentum_floor(k: Constants) -> Any:
    """Term of (21) and L559 that depends on neither the rate nor the number of rounds."""
    return k.L_bar * k.beta1**2 * k.Lay * (1 - k.beta2) * k.M**2 * k.phi_M**2 * k.n / (2 * (1 - k.beta1) ** 2 * k.v0)


def a3(k: Constants) -> Any:
    """Right side of eq. (20), L651."""
    return k.alpha * k.beta1 / (1 - k.beta1) * sqrt((1 - k.beta2) * k.p) * k.Lay * k.M**2 / sqrt(k.v0)


def theorem_1_appendix(k: Constants) -> Any:
    """Right side of L559: the right side of (4) plus three terms."""
    return theorem_1(k) + k.alpha * k.phi_M * k.sigma * k.Lay * k.p * sqrt(k.n) + momentum_floor(k) + a3(k)


def bracket(k: Constants, L: Any) -> Any:
    """Bracket that 4 alpha multiplies in (22); L is a smoothness constant."""
    drift = k.alpha**2 * L / sqrt(k.v0) * k.M**2 * (k.T - 1) ** 2 * k.phi_M**2 * (1 - k.beta2) * k.p
    length = k.phi_M**2 * sqrt(k.M**2 + k.p * k.sigma**2)
    return drift + k.M**2 / sqrt(k.v0) + length + k.phi_M * k.Lay * k.sigma**2 / sqrt(k.n)


def theorem_3(k: Constants, L: Any) -> Any:
    """Right side of eq. (22), L712, with cst as L808 has it."""
    cst = a3(k) + lemma_2(k) / k.T + momentum_floor(k)
    cst += 2 * k.alpha**3 * L * k.p * k.phi_M**2 / sqrt(k.v0) * k.beta1**2 / (1 - k.beta1) ** 2
    return initial(k) + noise(k) + 4 * k.alpha * bracket(k, L) + cst


def per_layer_terms(k: Constants, errors: Mapping[str, Any]) -> dict[str, Any]:
    """Terms of our bound of the mean over rounds of sum_l ||D_r f'(x_(r-1))^l||, D_r = 1 / sqrt(v_hat_r), eps = 0.

    ``errors`` together bound the mean over clients and local steps of sum_l E||f'(x_(r-1))^l - g^l||.
    """
    s = k.phi_m * sqrt(k.v0)
    return {
        "start": k.gap / (k.least_alpha * k.T * k.R * s),
        "rate": k.alpha * k.T * k.phi_M**2 * k.L_bar / (2 * s),
        **{name: 2 * k.phi_M / s * error for name, error in errors.items()},
    }


def errors(k: Constants, zeta: Any, roots: Any, lipschitz: Sequence[Any]) -> dict[str, Any]:
    """Terms of the gradient error: heterogeneity, noise, drift; ``roots`` is the sum of sqrt(p_l)."""
    drift = k.alpha * (k.T - 1) / 2 * k.phi_M * sqrt(k.Lay) * sum(lipschitz)
    return {"heterogeneity": zeta, "noise": k.sigma * roots, "drift": drift}
