"""Right sides of the convergence bounds: Theorem 20, and the changes of Theorem 25 and Corollaries 27 and 29.

    (Psi1 + Psi2 + Psi3 + Psi4 + Psi5) / Psi6    (L842)

as printed, or with what the proof lacks put right: L^2 in place of L in Psi4, and in Psi3 a bound D on the squared
distance between the gradient of a client at the start of a round and the one that some client's step used, in place of
Ltilde |Phi1|^2. Norms of Phi1 and Phi2 are of vectors of d equal coordinates.

Roots and logarithms come from a record, so that the same lines give a floating-point number, or a rational upper bound:
with :data:`ABOVE` every root and logarithm is taken from above, and the right side rises in each of them, except in the
root of v_0, which must be rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec_proofs.engines import enclosure


@dataclass(frozen=True)
class Functions:
    """Functions for the bounds: root, logarithm and minimum, exact or as bounds."""

    sqrt: Callable[[Any], Any]
    log: Callable[[Any], Any]
    least: Callable[[Any, Any], Any] = min


FLOAT = Functions(math.sqrt, math.log)
ABOVE = Functions(enclosure.sqrt_above, lambda q: enclosure.log(q)[1])

LONG = 200
"""Number of rounds from which 1 - beta1^T is replaced by its bound 1."""


@dataclass(frozen=True)
class Setting:
    """Numbers that the bounds depend on.

    Attributes:
        T, K, z, d: number of rounds, of local steps, delay, dimension.
        eta, eta_l, eps, eps_s, tau, b, v0, vt0: hyper-parameters; b is the server's beta1, vt0 its v_0.
        L, G: smoothness and gradient bound of Assumptions 1 and 2.
        gap: f(x_0) - f(x*).
    """

    T: int
    K: int
    z: int
    d: int
    eta: Any
    eta_l: Any
    eps: Any
    eps_s: Any
    tau: Any
    b: Any
    v0: Any
    vt0: Any
    L: Any
    G: Any
    gap: Any

    @property
    def updates(self) -> int:
        """Number ceil(K/z) of preconditioner updates."""
        return -(-self.K // self.z)

    @property
    def ends(self) -> Any:
        """Factor 1 - b^T, or its bound 1 for many rounds."""
        return 1 - self.b**self.T if self.T < LONG else 1

    @property
    def lags(self) -> Any:
        """Constant c(b)."""
        return c(self.b)


def phi1(s: Setting, by: Functions, *, printed: bool = True) -> Any:
    """Phi_1^K of Lemma 15 (L741), with its stray factor eta_l if ``printed``."""
    n = s.updates
    first = by.sqrt(n * by.log(1 + n * s.G**2 / s.eps**2))
    other = (s.K - n) * s.G / (by.sqrt(s.v0) + s.eps)
    return s.eta_l * (first + (s.eta_l * other if printed else other))


def phi2(s: Setting, by: Functions, phi: Any) -> Any:
    """Phi_2^K of Lemma 16 (L778), with the largest of its values over the rounds."""
    return by.least(s.eta * by.sqrt(1 - s.b), s.eta * phi / s.tau)


def c(b: Any) -> Any:
    """c(beta1) (L859), with natural numbers from 1 on: the partial sum of b^u u^2 up to u_0, plus 1/u_0."""
    u0 = cut(b)
    return sum((b**u * u**2 for u in range(u0 + 1)), start=Fraction(1, u0))


def cut(b: Any) -> int:
    """Index u_0 from which on b^u u^4 < 1; this decreases for u > 4 / ln(1/b), which (4 + 1)/(1 - b) exceeds."""
    last = 0
    for u in range(1, int(5 / (1 - b)) + 2):
        if b**u * u**4 >= 1:
            last = u
    u = int(5 / (1 - b)) + 2
    while b**u * u**4 >= 1:
        last, u = u, u + 1
    return last + 1


@dataclass(frozen=True)
class Constants:
    """Constants that differ between the theorems.

    Attributes:
        phi1: the bound on each coordinate of a client's change.
        gamma1: lower bound of gamma_r.
        drift: the factor of (1 - b^T) eta eta_l T in Psi3, and of (1 - b) eta eta_l T in Psi4.
    """

    phi1: Any
    gamma1: Any
    drift: Any


def theorem_20(s: Setting, by: Functions, *, printed: bool = True) -> Constants:
    """Constants of Theorem 20 (L842)."""
    root = by.sqrt(s.v0 + s.d * s.K * s.G**2) + s.eps
    alpha1_inverse = 2 * root
    drift = s.K * alpha1_inverse / (s.tau * (by.sqrt(s.v0) + s.eps) ** 2)
    return Constants(phi1(s, by, printed=printed), s.eta_l * s.K / root, drift)


def psis(s: Setting, k: Constants, by: Functions, D: Any = None) -> tuple[Any, ...]:
    """Psi1 to Psi6: as printed if D is None, else with L^2 and D."""
    squared = s.d * k.phi1**2
    length = by.sqrt(s.d) * k.phi1
    Ltilde = None if D is not None else 2 * by.sqrt(s.d) * s.G / (s.eta_l * s.eps_s)
    moved = s.d * phi2(s, by, k.phi1) ** 2
    psi3 = s.ends * s.eta * s.eta_l * s.T * k.drift * (Ltilde * squared if Ltilde is not None else D)
    psi4 = (1 - s.b) * s.eta * s.eta_l * s.T * k.drift * (s.L if D is None else s.L**2) * s.lags * moved
    return (
        s.gap,
        s.eta**2 * s.L * s.T * s.d * squared / s.tau**2,
        psi3,
        psi4,
        s.eta * s.d * length * s.G * (1 - s.b + by.log(1 + s.T * squared / s.tau**2)) / s.tau,
        3 * (1 - s.b) * s.eta * k.gamma1 * s.T / (4 * (by.sqrt(s.T * squared + s.vt0) + s.tau)),
    )


def terms(s: Setting, k: Constants, by: Functions, D: Any = None) -> dict[str, Any]:
    """Terms of the right side of the bound."""
    *above, below = psis(s, k, by, D)
    return {f"Psi{i}/Psi6": psi / below for i, psi in enumerate(above, 1)}


def right(s: Setting, k: Constants, by: Functions) -> Any:
    """Right side of the bound as printed."""
    return sum(terms(s, k, by).values())
