"""Random instances for searches: clients with piecewise linear gradients, some rounds of Fed-LAMB, one more to check.

Where every layer has one coordinate and v0 is at least every squared gradient, v_hat stays v0, all lengths are rational
and the whole instance is exact; with larger layers it runs on floating-point numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from typing import Any, TypeVar

import numpy as np

from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.local_ams import State
from fedspec.arith import Stack, Vector
from fedspec.client.lamb import scaling
from fedspec.readings import Normalisation, Phi
from fedspec_proofs.claim import Finding, Verdict
from fedspec_proofs.engines import Choose, by_hand
from fedspec_proofs.engines.search import Inequality, hunt, searched
from fedspec_proofs.fed_lamb.kit.bounds import Constants
from fedspec_proofs.fed_lamb.kit.problems import Problem, vector
from fedspec_proofs.fed_lamb.kit.rounds import F, begin, lamb, local_models, run
from fedspec_proofs.kit.piecewise import Piecewise, huber
from fedspec_proofs.kit.recorded import Asked, recorded
from fedspec_proofs.words import as_text


@dataclass(frozen=True)
class Walk:
    """Fed-LAMB on a problem, up to the round that is checked.

    Attributes:
        problem: the clients.
        x: the model before the first round.
        w: the square root of v0.
        T: number of local steps.
        before: number of rounds before the round that is checked.
        phi_M: claimed bound of phi.
        lipschitz: claimed Lipschitz constant of every gradient.
        largest: M, the claimed bound of the gradients.
        options: hyper-parameters and readings.
    """

    problem: Problem
    x: Vector
    w: Any
    T: int
    before: int
    phi_M: Any
    lipschitz: Any
    largest: Any
    options: tuple[tuple[str, Any], ...]

    @property
    def h(self) -> FedLamb:
        """Hyper-parameters as the algorithm's record."""
        return lamb(v0=self.w * self.w, **dict(self.options))

    @cached_property
    def start(self) -> State:
        """State before the round that is checked."""
        first = begin(self.h, self.x, len(self.problem.parts), self.problem.sizes)
        return run(self.h, first, self.problem.clients, self.before, self.T)[-1]

    @cached_property
    def path(self) -> tuple[Stack, ...]:
        """Local models of the round after 1, 2, ..., T local steps."""
        asked: Asked = []
        clients = tuple(recorded(client, asked) for client in self.problem.clients)
        ends = local_models(self.h, self.start, clients, self.T)
        return (*(np.stack([x for j, x, _ in asked if j == k]) for k in range(1, self.T)), ends)

    @property
    def ends(self) -> Stack:
        """Local models that the server averages."""
        return self.path[-1]

    @cached_property
    def mean(self) -> Vector:
        """Model after the round."""
        return run(self.h, self.start, self.problem.clients, 1, self.T)[-1].x

    @property
    def n(self) -> int:
        """Number of clients."""
        return len(self.problem.parts)

    @property
    def Lay(self) -> int:
        """Number of layers."""
        return len(self.problem.sizes)

    @property
    def constants(self) -> Constants:
        """Constants of the printed lemmas."""
        return Constants(
            M=self.largest,
            p=len(self.x),
            n=self.n,
            Lay=self.Lay,
            T=self.T,
            alpha=self.h.eta_l,
            phi_M=self.phi_M,
            beta2=self.h.beta2,
            L_bar=self.Lay * self.lipschitz,
            v0=self.w * self.w,
        )

    @property
    def scaled_as_claimed(self) -> bool:
        """True if H4 holds: phi <= phi_M at every model from which a local step of the round starts."""
        h, froms = self.h, [self.start.x, *(x for models in self.path[:-1] for x in models)]
        return all(scaling(x[at], h.phi, h.phi_m, h.phi_M) <= self.phi_M for x in froms for at in self.start.layers)

    @property
    def normalised(self) -> bool:
        """True if steps are normalised."""
        return self.h.normalisation is Normalisation.LAYER

    @property
    def smooth_as_claimed(self) -> bool:
        """True if H1 holds for every client: no layer's gradient changes faster than the given constant."""
        return bool(max(self.problem.lipschitz) <= self.lipschitz)

    @property
    def bounded_as_claimed(self) -> bool:
        """True if H2 holds: no gradient is longer than the given bound."""
        return bool(self.problem.largest_squared <= self.largest**2)


def bent(choose: Choose) -> Piecewise:
    """Random function with piecewise linear derivative, with two or three kinks."""
    corners = choose.whole(2, 3)
    first = choose.rational(-3, 1, 2)
    widths = [choose.of(F(1), F(1, 2), F(2), F(1, 4)) for _ in range(corners - 1)]
    at = [first + sum(widths[:k], F(0)) for k in range(corners)]
    return Piecewise(tuple(at), tuple(choose.rational(-2, 2, 4) for _ in at))


def inexact(problem: Problem) -> Problem:
    """Convert a problem to floating point."""

    def turned(f: Piecewise) -> Piecewise:
        return f.floats()

    return Problem(tuple(tuple(map(turned, row)) for row in problem.parts), problem.sizes)


def root_above(q: Any) -> F:
    """Whole number with a square of at least q."""
    return F(isqrt(int(q)) + 1)


def walk(choose: Choose, *, simple: bool = False) -> Walk:
    """Random instance; ``simple`` ones have one local step, no momentum and no decay, as in the paper's proof."""
    n, T, sizes = choose.whole(1, 3), 1 if simple else choose.whole(1, 3), choose.of((1,), (1, 1), (2,), (1, 2))
    problem = Problem(tuple(tuple(bent(choose) for _ in range(sum(sizes))) for _ in range(n)), sizes)
    phi, phi_M = choose.of(Phi.CONSTANT, Phi.CLIP, Phi.IDENTITY), choose.of(F(1), F(2), F(3, 2))
    options: dict[str, Any] = {
        "eta_l": choose.of(F(1), F(1, 2), F(1, 8)),
        "phi": phi,
        "normalisation": choose.of(Normalisation.LAYER, Normalisation.LAYER, Normalisation.NONE),
        "beta2": choose.of(F(1, 2), F(99, 100)),
    }
    if not simple:
        options |= {"beta1": choose.of(F(0), F(1, 2), F(9, 10)), "lam": choose.of(F(0), F(1, 4))}
    if phi is Phi.CLIP:
        options |= {"phi_m": F(1, 4), "phi_M": phi_M}
    M = root_above(problem.largest_squared)
    before = choose.whole(0, 1)
    w = M if before else choose.of(F(1), F(1, 4), M)
    x = choose.vector(sum(sizes), -3, 3, 2)
    lipschitz = choose.of(max(problem.lipschitz), F(1), F(1, 4))
    largest = choose.of(M, M, F(1, 4))
    made = Walk(problem, x, w, T, before, phi_M, lipschitz, largest, tuple(options.items()))
    return made if max(sizes) == 1 else floating(made)


def floating(made: Walk) -> Walk:
    """Convert an instance to floating point."""
    options = tuple((name, float(v) if isinstance(v, F) else v) for name, v in made.options)
    return replace(
        made,
        problem=inexact(made.problem),
        x=vector(map(float, made.x)),
        w=float(made.w),
        phi_M=float(made.phi_M),
        lipschitz=float(made.lipschitz),
        largest=float(made.largest),
        options=options,
    )


def pulled(choose: Choose, T: int = 0) -> Walk:
    """Random instance whose gradients have their kinks exactly at the local models after one step, the worst case."""
    n, layers, alpha = choose.whole(2, 3), choose.whole(1, 2), choose.of(F(1), F(1, 2), F(1, 8))
    x, rise = choose.vector(layers, -2, 2, 2), choose.rational(1, 3, 1)

    def pull(a: Any) -> Piecewise:
        there = choose.rational(-6, 6, 1)
        straight = (there - rise, there, there + rise)
        free = tuple(choose.rational(-6, 6, 1) for _ in range(3))
        return Piecewise((a - alpha, a, a + alpha), choose.of(straight, straight, free))

    parts = tuple(tuple(pull(a) for a in x) for _ in range(n))
    problem = Problem(parts, (1,) * layers)
    beta2 = choose.of(F(99, 100), F(1, 2))
    options = (("eta_l", alpha), ("beta1", choose.of(F(0), F(1, 2))), ("beta2", beta2))
    T, w = T or choose.of(1, 1, 2), choose.of(F(1), F(1, 4), F(4))
    M = root_above(problem.largest_squared)
    lipschitz = max(problem.lipschitz)
    return Walk(problem, x, w, T, 0, F(1), choose.of(lipschitz, lipschitz, F(1)), M, options)


P = TypeVar("P")


def checked(inequality: Inequality[P], tries: int, without: Mapping[str, P]) -> Finding:
    """Search, with a given counterexample for each assumption, which violates only that assumption.

    Raises:
        ValueError: an instance violates another assumption too, or doesn't break the bound.
    """
    found = searched(inequality, tries, drop=0)
    dropped = {}
    for name, instance in without.items():
        dropped[name] = by_hand(inequality, name, as_text(instance), instance)
        if not dropped[name].matters:
            raise ValueError(f"without: the instance for {name} must violate {name} alone and break the bound")
    return replace(found, dropped=dropped)


def beside(
    finding: Finding,
    printed: Inequality[P],
    tries: int,
    fails: str = "a search of the printed inequality breaks it too",
    stands: str = "the search does not break it",
    *,
    shown: bool = False,
) -> Finding:
    """Finding with the result of a search for what is printed, and the worst instance if ``shown``; unknown if that
    stands.
    """
    found = hunt(printed, tries)
    if not found.violated:
        return replace(finding, verdict=Verdict.UNKNOWN, evidence=f"{finding.evidence}\n{stands}")
    words = f"{fails}, at worst by a factor of {found.ratio:.4g}" + f": {as_text(found.worst)}" * shown
    return replace(finding, evidence=f"{finding.evidence}\n{words}")


def plain(**changes: Any) -> Walk:
    """Instance with one client on x^2/2 (linear beyond |x| = 1) from x = 3, one step of length 1/2."""
    made = Walk(Problem(((huber(F(1)),),), (1,)), vector([F(3)]), F(1), 1, 0, F(1), F(1), F(1), (("eta_l", F(1, 2)),))
    return replace(made, **changes)
