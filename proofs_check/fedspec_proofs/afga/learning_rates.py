"""The printed conditions on the local learning rate, eqs. (25) to (27), at K = 1, rho = 0, alpha = 1, beta1 = 0.

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

from fedspec_proofs.afga.bounds import C_1


@dataclass(frozen=True)
class Rates:
    """Numbers of one network and the learning rates, all exact.

    Attributes:
        n: clients.
        m: how many are drawn.
        I: local steps.
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
        """C_(beta,eta)."""
        return 3 * self.eta * self.L / self.s**2

    def sides_26(self) -> tuple[F, F]:
        """Both sides of eq. (26)."""
        n, common = self.n, self.L**2 * self.I**2 * C_1 * self.eta_l**2
        varied = F(32 * (n - self.m), n * (n - 1)) * self.eta_l * self.C
        return common * (3 / (4 * self.s) + varied), 1 / (8 * self.C_0)

    def conditions(self, *numbers: str) -> dict[str, bool]:
        """Whether the learning rates meet the common conditions, and those of these equations."""
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
