"""Eqs. (25) to (28): the printed conditions on the local learning rate, and the sign of the first term of eq. (28).

The conditions at K = 1, rho = 0, alpha = 1, beta1 = 0:

    C = C_(beta,eta) = 3 eta L/eps,    C_0^2 = eta_l^2 I^2 G^2 + eps,    s = sqrt(eps)

    (25)    eta_l <= 1/(4 C_0 C) [4/N^2 (m-1)/(n-1) + 2 (I+2) m/(N^2 n)]^(-1)
    (26)    3/(4 s) L^2 I^2 C_1 eta_l^2 + 32 eta_l^3 L^2 (n-m)/(n(n-1)) C I^2 C_1 <= 1/(8 C_0)
    (27)    eta_l^2 <= s/(18 L^2 C_0 C_1 I^2)

In eq. (27) the root of eps is read as the fourth one: the conversion writes the index of a root before it, as it does
in eqs. (16) and (17); and with it the first term of eq. (26) is a third of the right side.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction as F
from typing import Any

import numpy as np

from fedspec_proofs.afga.kit.bounds import C_1
from fedspec_proofs.claim import Extent, Finding, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, Statement, decide, every, several


@dataclass(frozen=True)
class Rates:
    """Sizes and learning rates of one network, as exact numbers.

    Attributes:
        n: number of clients.
        m: number of drawn clients.
        I: number of local steps.
        L: smoothness.
        G: bound of the gradients.
        eta: server learning rate.
        eta_l: client learning rate.
        s: square root of eps.
        C_0: square root of eta_l^2 I^2 G^2 + eps.
    """

    n: int
    m: int
    I: int
    L: F
    G: F
    eta: F
    eta_l: F
    s: F
    C_0: F

    @property
    def C(self) -> F:
        """Constant C_(beta,eta)."""
        return 3 * self.eta * self.L / self.s**2

    def sides_26(self) -> tuple[F, F]:
        """Both sides of eq. (26)."""
        n, common = self.n, self.L**2 * self.I**2 * C_1 * self.eta_l**2
        varied = F(32 * (n - self.m), n * (n - 1)) * self.eta_l * self.C
        return common * (3 / (4 * self.s) + varied), 1 / (8 * self.C_0)

    def conditions(self, *numbers: str) -> dict[str, bool]:
        """Common conditions on the learning rates and conditions of the given equations, each with True if it holds."""
        n, m, left, right = self.n, self.m, *self.sides_26()
        bracket = F(4 * (m - 1), n**2 * (n - 1)) + F(2 * (self.I + 2) * m, n**3)
        printed = {
            "25": 4 * self.C_0 * self.C * bracket * self.eta_l <= 1,
            "26": left <= right,
            "27": 18 * self.L**2 * self.C_0 * C_1 * self.I**2 * self.eta_l**2 <= self.s,
        }
        words = {"25": "eq. (25)", "26": f"eq. (26), C_1 = {C_1}", "27": f"eq. (27), fourth root of eps, C_1 = {C_1}"}
        return {
            "eta_l <= 1/(8IL)": self.eta_l * 8 * self.I * self.L <= 1,
            "C_0^2 = eta_l^2 I^2 G^2 + eps": (self.eta_l * self.I * self.G) ** 2 + self.s**2 == self.C_0**2,
            **{words[number]: printed[number] for number in numbers},
        }


@claim(
    "afga.eq-25",
    statement="Eq. (25) is enough for the last term of eq. (24) to be outweighed by the negative one: C_D 8 eta_l^2 I "
    "m/n <= eta eta_l/(4 C_0)",
    source="ours, about eqs. (24) and (25) (L1925-1961): what the constraint is for",
    verdict=Verdict.REFUTED,
)
def eq_25() -> Finding:
    """Eq. (25) has 2(I + 2)m/(N^2 n) and 4/N^2 (m - 1)/(n - 1), where eq. (24) needs 8Im/n and 16(m - 1)/(n - 1)."""
    at = Rates(n=4, m=2, I=4, L=F(1), G=F(48), eta=F(6), eta_l=F(1, 1024), s=F(1, 4), C_0=F(5, 16))
    return refutation(
        instance="K = 1, N = n = 4, m = 2, I = 4, L = 1, eta = 6, beta1 = 0, rho = 0, eps = 1/16, G = 48, eta_l = "
        "1/1024, so that C_0 = 5/16; C_(beta,eta) = 288, half of it in eq. (24)",
        conditions=at.conditions("25", "26", "27"),
        left=at.C / 2 * at.eta * 8 * at.eta_l**2 * at.I * F(at.m, at.n),
        right=at.eta * at.eta_l / (4 * at.C_0),
    )


def _needed(draw: Draw, first: Any, second: Any) -> Statement:
    """eta_l <= 1/(4 C_0 c) / (first (m - 1)/(n - 1) + second I m/n), c = C_D/eta, against both terms of eq. (24)."""
    c, eta_l, C_0, steps, u, p = several(draw, "c, eta_l, C_0, I, u, p")
    given = {
        "signs": every(c > 0, eta_l > 0, C_0 > 0, steps >= 1, u >= 0, u <= 1, p > 0, p <= 1),
        "eq. (25)": 4 * C_0 * c * eta_l * (first * u + second * steps * p) <= 1,
    }
    shown = {
        "1/N sum grad f_i": 4 * C_0 * c * 16 * eta_l**2 * u <= eta_l,
        "1/K sum grad fbar_k": 4 * C_0 * c * 8 * eta_l**2 * steps * p <= eta_l,
    }
    return Statement(given, shown)


def _sample_needed(rng: np.random.Generator) -> dict[str, F]:
    c, C_0, steps, u, p = (F(int(k), 4) for k in rng.integers(1, 5, 5))
    steps = 4 * steps
    return {"c": c, "C_0": C_0, "I": steps, "u": u, "p": p, "eta_l": 1 / (4 * C_0 * c * (16 * u + 8 * steps * p))}


@claim(
    "afga.eq-25-repaired",
    statement="eta_l <= 1/(4 C_0 c) [16 (m-1)/(n-1) + 8 I m/n]^(-1) with c = C_D/eta outweighs both last terms of eq. "
    "(24)",
    source="ours, for eq. (25) (L1947-1961)",
    extent=Extent.WHOLE,
    assumptions={
        "signs": "c, eta_l, C_0 > 0, I >= 1, u = (m-1)/(n-1) and p = m/n in [0, 1]",
        "eq. (25)": "the condition with the coefficients of eq. (24)",
    },
)
def eq_25_repaired() -> Finding:
    """Proof by real algebra, for all real values."""
    return decide(lambda draw: _needed(draw, 16, 8), sample=_sample_needed)
