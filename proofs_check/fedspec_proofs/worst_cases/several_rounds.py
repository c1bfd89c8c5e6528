"""Several rounds of FedAvg or FedNova: bounded together, and bounded one after another.

Clients are any mu-strongly convex functions with 1-Lipschitz gradients of mean square zeta^2 at x*, the minimiser of
their mean; all take part, from |x_0 - x*| <= 1. They are the same in every round, and so is zeta. Two numbers bound
|x_R - x*|^2:

* R rounds as one program, which knows that every round meets the same functions;
* a chain of single rounds: if |x_r - x*|^2 <= D_r, D_(r+1) bounds what one round makes of it, whatever functions of
  the class it meets.

A chain is not the power of one number. With x = x* + sqrt(D) y and G_i(y) = F_i(x) / D clients stay in their class,
take the same steps, and have the mean square zeta^2 / D at the minimiser. So a link from D is a round from distance 1
at zeta^2 / D: as the model comes nearer, the same clients are more unlike. Each link is the least that holds of one
round, rounded up to a thousandth, so that no other numbers of single rounds say more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from fedspec.catalogue import CATALOGUE
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.worst_cases import any_rounds
from fedspec_proofs.worst_cases.any_rounds import Rounds
from fedspec_proofs.worst_cases.one_round import MU


@dataclass(frozen=True)
class Several:
    """Several rounds of one row of a table.

    Attributes:
        algorithm: the algorithm's id.
        steps: local steps of each client.
        eta_l: the clients' learning rate, in units of 1/L.
        zeta2: mean squared gradient of the clients at x*, in units of L^2 |x_0 - x*|^2.
        rounds: R, the number of rounds.
        start: upper bound of |x_0 - x*|^2; a link of a chain begins at the previous bound.
    """

    algorithm: str
    steps: tuple[int, ...]
    eta_l: str
    zeta2: Fraction
    rounds: int
    start: Fraction = Fraction(1)

    @property
    def asked(self) -> Rounds:
        """The question rescaled to an initial distance of 1."""
        numbers = {"eta_l": Fraction(self.eta_l)}
        return Rounds(CATALOGUE[self.algorithm], self.steps, numbers, MU, self.zeta2 / self.start, self.rounds)

    def __str__(self) -> str:
        where = f", from {self.start}" if self.start != 1 else ""
        last = f"zeta^2 = {self.zeta2}, {self.rounds} rounds{where}"
        return f"{self.algorithm}, tau = {self.steps}, eta_l = {self.eta_l}, {last}"


def problem_of(r: Several, bound: Fraction) -> Problem:
    """Problem whose claim is |x_R - x*|^2 <= bound."""
    return any_rounds.problem_of(r.asked, bound / r.start)
