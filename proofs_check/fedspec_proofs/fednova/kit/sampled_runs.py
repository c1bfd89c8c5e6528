"""Random instances for Corollary 3: sampling with replacement, and exact means over rounds, samples and noise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from fedspec.algorithms import fednova_sampled
from fedspec.algorithms.fednova_sampled import FedNovaSampled
from fedspec.arith import Vector
from fedspec.mixing.accumulation import accumulation
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import SampledSteps, SampledWeights
from fedspec_proofs.engines import Choose, exact, mean, with_replacement
from fedspec_proofs.fednova.kit.bounds import drift, gap, rational, reach
from fedspec_proofs.fednova.kit.runs import SCHEDULES, dissimilarity_constants, quadratics
from fedspec_proofs.fednova.kit.settings import record_of

ONE = rational(1)


@dataclass(frozen=True)
class Sampled:
    """Scalar clients, q draws with replacement, and the constants that the bound is given."""

    h: FedNovaSampled
    problem: QuadraticClients
    steps: tuple[int, ...]
    examples: tuple[int, ...]
    q: int
    variance: Any
    x: Any
    T: int
    L: Any
    sigma2: Any
    beta2: Any
    kappa2: Any
    kappa_holds: bool

    @property
    def p(self) -> Any:
        """Sampling probabilities."""
        return exact.vector(*(rational(n, sum(self.examples)) for n in self.examples))

    @property
    def vectors(self) -> list[list[Any]]:
        """Accumulation vectors."""
        return [accumulation(self.h.solver, tau, rho=self.h.rho, gamma=self.h.gamma) for tau in self.steps]

    @property
    def top(self) -> Any:
        """Largest second derivative."""
        return max(rational(H[0, 0]) for H in self.problem.H)

    def samples(self) -> Iterator[tuple[Fraction, tuple[int, ...]]]:
        """Every sample with its probability."""
        return with_replacement(self.p, self.q)

    def round(self, x: Any, who: tuple[int, ...], noise: Vector | None = None) -> Any:
        """Model after a round of the algorithm; every gradient consumes the next entry of the noise, also if a
        client is sampled twice.
        """
        calls = iter(noise if noise is not None else ())

        def client(i: int) -> Oracle:
            plain = self.problem.clients[i]
            return plain if noise is None else lambda k, y: plain(k, y) + next(calls)

        clients = [client(i) for i in range(len(self.steps))]
        plan = Plan(who, tuple(self.steps[i] for i in who), tuple(self.examples[i] for i in who), repeats=True)
        state = fednova_sampled.init(self.h, exact.vector(x), Setup(self.examples, {"x": (1,)}))
        return fednova_sampled.step(self.h, state, clients, plan)[0].x[0]


def sample_maps(s: Sampled) -> list[tuple[Fraction, tuple[Any, Any, Any]]]:
    """For every sample: its probability, and M, b and the squared norm of N of x' = M x + b + N xi."""
    out = []
    for chance, who in s.samples():
        b = s.round(0, who)
        n = sum(s.steps[i] for i in who) if s.variance else 0
        unit = [exact.vector(*(int(k == j) for k in range(n))) for j in range(n)]
        out.append((chance, (s.round(1, who) - b, b, sum((s.round(0, who, u) - b) ** 2 for u in unit))))
    return out


def average(s: Sampled) -> Any:
    """Mean (1/T) sum E|grad F|^2: the model's mean and second moment are propagated through the maps exactly."""
    maps = sample_maps(s)
    slope, at = sum(s.p * s.problem.H[:, 0, 0]), sum(s.p * s.problem.e[:, 0])
    M, b = mean(lambda m: m[0], maps), mean(lambda m: m[1], maps)
    MM, Mb, bb = (mean(f, maps) for f in (lambda m: m[0] ** 2, lambda m: m[0] * m[1], lambda m: m[1] ** 2))
    noise = s.variance * mean(lambda m: m[2], maps)
    first, second, total = s.x, s.x**2, rational(0)
    for _ in range(s.T):
        total += slope**2 * second - 2 * slope * at * first + at**2
        first, second = M * first + b, MM * second + 2 * Mb * first + bb + noise
    return total / s.T


def right_side(s: Sampled) -> dict[str, Any]:
    """Terms of the right side of eq. (182)."""
    eta, length = s.h.eta_l, s.h.tau_eff
    B, C = drift(s.vectors, s.p), max(map(reach, s.vectors))
    return {
        "gap": 8 * gap(s.problem, s.p, exact.vector(s.x)) / (eta * length * s.T),
        "noise": 8 * length * eta * s.L * s.sigma2 / s.q,
        "draws": 24 * length * eta * s.L * s.kappa2 / s.q,
        "B": 48 * (eta * s.L) ** 2 * s.sigma2 * B,
        "C": 96 * (eta * s.L) ** 2 * s.kappa2 * C,
    }


def rates(s: Sampled) -> tuple[bool, bool]:
    """True, each, if 6 tau_eff eta L (1 + beta^2 / q) <= 1/2 and D <= 1 / (12 beta^2 + 1)."""
    y = s.h.tau_eff * s.h.eta_l * s.L
    C = max(map(reach, s.vectors))
    return bool(12 * y * (1 + s.beta2 / s.q) <= 1), bool(4 * (s.h.eta_l * s.L) ** 2 * C * (12 * s.beta2 + 1) <= 1)


CONDITIONS = {
    "smooth": "L is at least the largest second derivative (Assumption 1)",
    "variance": "sigma^2 is at least the variance of a gradient, fresh for every draw (Assumption 2)",
    "dissimilar": "beta^2 and kappa^2 bound the dissimilarity for the weights p (Assumption 3)",
    "rate": "6 tau_eff eta L (1 + beta^2 / q) <= 1/2",
    "drift": "4 eta^2 L^2 C <= 1 / (12 beta^2 + 1)",
    "fixed": "tau_eff does not depend on the sample",
}


def sampled(choose: Choose) -> Sampled:
    """Random instance: two clients that differ, one or two draws; any constant given to the bound may be wrong."""
    problem, top = quadratics(choose, 2, 1)
    eta = choose.of(*(rational(2) ** k for k in (-6, -7, -5, -3, 1))) / top
    h = record_of(
        FedNovaSampled,
        eta_l=eta,
        rho=choose.of(ONE / 2, ONE * 3 / 4),
        gamma=choose.of(ONE / 2, ONE * 3 / 4),
        tau_eff=choose.of(*map(rational, ("1", "2", "1/2", "8"))),
        solver=choose.of(*SCHEDULES),
        sampled_weights=SampledWeights.WITH_REPLACEMENT,
        sampled_steps=SampledSteps.FIXED,
    )
    steps, examples = (choose.of(1, 2, 4), choose.of(2, 1, 4)), (choose.of(1, 3), 1)
    p = exact.vector(*(rational(n, sum(examples)) for n in examples))
    beta2, kappa2, holds = dissimilarity_constants(choose, problem, p)
    variance = choose.of(*map(rational, ("0", "1", "1/16")))
    L, sigma2 = top * choose.of(ONE, ONE, ONE / 8), variance * choose.of(1, 1, 0)
    x = problem.minimiser(p)[0] + choose.rational(-2, 2, 1)
    T, q = choose.of(16, 4, 32), choose.of(1, 2)
    return Sampled(h, problem, steps, examples, q, variance, x, T, L, sigma2, beta2, kappa2, holds)


def opposite(steps: tuple[int, int], **of: Any) -> Sampled:
    """Instance with F_i = (x -+ 1)^2 / 2, p = 1/2, one draw, x_0 = 1, no noise, tau_eff the mean of tau."""
    h = FedNovaSampled(
        eta_l=ONE / 64,
        tau_eff=rational(sum(steps), 2),
        sampled_weights=SampledWeights.WITH_REPLACEMENT,
        sampled_steps=SampledSteps.FIXED,
    )
    problem = QuadraticClients(exact.vector(1, 1).reshape(2, 1, 1), exact.vector(1, -1).reshape(2, 1))
    zero = rational(0)
    return replace(Sampled(h, problem, steps, (1, 1), 1, zero, ONE, 16, ONE, zero, ONE, ONE, True), **of)
