"""Printed right sides of Theorem 20 and related theorems, computed a second time from an instance's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Typed:
    """Numbers that differ between the theorems: Phi1 and gamma1 over eta_l, and the factor of Psi3 and Psi4.

    The defaults are those of Theorem 20 with d = K = z = eps = tau = G = 1 and v_0 = 0: Phi1 = sqrt(log 2), gamma1 =
    1/2, 1/alpha1 = 4.
    """

    phi: float = math.sqrt(math.log(2))
    gamma: float = 1 / 2
    factor: float = 4


def typed(T: int, beta1: float, eps_s: float, gap: float, c: float, of: Typed = Typed()) -> float:
    """Printed right side, computed again (L848-870) in floating point: eta = eps = tau = G = L = d = 1, the server's
    v_0 = 1, eta_l = T^(-1/2); c is c(beta1) and gap f(x_0) - f*.
    """
    eta_l: float = T**-0.5
    Phi1 = eta_l * of.phi
    Phi2 = min(math.sqrt(1 - beta1), Phi1)
    Ltilde = 2 / (eta_l * eps_s)
    Psi2 = T * Phi1**2
    Psi3: float = (1 - beta1**T) * eta_l * T * of.factor * Ltilde * Phi1**2
    Psi4 = (1 - beta1) * eta_l * T * of.factor * c * Phi2**2
    Psi5 = Phi1 * (1 - beta1 + math.log(1 + T * Phi1**2))
    Psi6 = 3 * (1 - beta1) * eta_l * of.gamma * T / (4 * (math.sqrt(T * Phi1**2 + 1) + 1))
    whole: float = (gap + Psi2 + Psi3 + Psi4 + Psi5) / Psi6
    return whole


HALF_C = sum(u**2 / 2**u for u in range(18)) + 1 / 17
"""Constant c(1/2) with u_0 = 17, since 2^(-16) 16^4 is 1."""
