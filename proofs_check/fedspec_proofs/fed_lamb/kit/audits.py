"""Rounds of one local step in the quantities of Theorem 1's proof, and an instance that breaks most of its displays.

The instance: f' = 1, 1/5, 1 at x = 1, 1 - alpha, 1 - 2 alpha, one client, one coordinate, beta1 = 1/2. Then m = 1/2 and
7/20, and Gamma = phi / (sqrt(v_hat) ||p||) = 1/|m| is 2 and 20/7.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import State
from fedspec.arith import Vector
from fedspec_proofs.engines.exact import vector
from fedspec_proofs.fed_lamb.kit.problems import Problem
from fedspec_proofs.fed_lamb.kit.rounds import HALF, F, Seen, begin, lamb, noiseless, round_quantities, run, shifted
from fedspec_proofs.kit.piecewise import Piecewise


@dataclass(frozen=True)
class Audit:
    """Rounds of one local step, in the proof's quantities; x_0 = x_1 is the initial model (L687)."""

    h: FedLamb
    problem: Problem
    x: Vector
    R: int

    @cached_property
    def states(self) -> list[State]:
        """States before the first and after each round."""
        return run(self.h, begin(self.h, self.x, len(self.problem.parts)), self.problem.clients, self.R)

    @cached_property
    def rounds(self) -> list[Seen]:
        """Quantities of each round."""
        return [round_quantities(self.h, state, self.problem.clients) for state in self.states[:-1]]

    @cached_property
    def shifted(self) -> list[Vector]:
        """Auxiliary sequence (8), from the initial model on."""
        return shifted([s.x for s in self.states], self.h.beta1)

    def moved(self, r: int) -> Vector:
        """Step vartheta_(r+1) - vartheta_r of the auxiliary sequence; r = 0 is the first round."""
        return self.shifted[r + 1] - self.shifted[r]

    def memory(self, r: int) -> Vector:
        """Momentum term beta1/(1 - beta1) 1/n sum_i (Gamma_r - Gamma_(r-1)) m_(r-1)."""
        now = self.rounds[r]
        earlier = self.rounds[r - 1].Gamma if r else now.Gamma * 0
        ratio = self.h.beta1 / (1 - self.h.beta1)
        total: Vector = ratio * ((now.Gamma - earlier) * now.old).sum(axis=0) / len(now.g)
        return total

    def fresh(self, r: int) -> Vector:
        """Gradient term 1/n sum_i Gamma_r g_r."""
        now = self.rounds[r]
        total: Vector = (now.Gamma * now.g).sum(axis=0) / len(now.g)
        return total


def bump(alpha: F) -> Audit:
    """Instance of this module, over two rounds."""
    f = Piecewise((1 - 2 * alpha, 1 - alpha, F(1)), (F(1), F(1, 5), F(1)))
    return Audit(lamb(eta_l=alpha, beta1=HALF), Problem(((f,),), (1,)), vector(1), 2)


def conditions(a: Audit) -> dict[str, bool]:
    """Printed assumptions, each with True if a noiseless instance with M = 1 meets it."""
    return {
        **noiseless(a.h, a.problem, F(1)),
        "v_hat stays v0": all(s.v_hat[0] == a.h.v0 for s in a.states),
    }


INSTANCE = "f' = 1, 1/5, 1 at x = 1, 9/10, 8/10, one client, alpha = 1/10, beta1 = 1/2, v0 = 1; second of two rounds"
