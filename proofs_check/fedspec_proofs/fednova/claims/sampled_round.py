"""FedNova's round with sampled clients against (182), for all smooth clients and any noise, in every dimension.

Every sample is gone through, so that the expectation over the draws is a sum; a client that is drawn twice trains once
for each draw, with noise of its own. Noise is as in :mod:`.noisy_round`. In the mean over x the bound telescopes: its
sum over rounds is (182) for every T.

App. G: steps of the proof of Corollary 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from fedspec.algorithms import fednova_sampled
from fedspec.algorithms.fednova_sampled import FedNovaSampled
from fedspec.arith import Vector
from fedspec.plan import Oracle, Plan, Setup
from fedspec.readings import SampledSteps, SampledWeights
from fedspec_proofs.claim import Extent, Finding, Verdict, claim
from fedspec_proofs.engines import decide, exact
from fedspec_proofs.engines.worst_case.certificates import Case, certified
from fedspec_proofs.engines.worst_case.classes import Function, mean, smooth
from fedspec_proofs.engines.worst_case.forms import Form, basis, vector
from fedspec_proofs.engines.worst_case.proof import Problem
from fedspec_proofs.engines.worst_case.values import Value, inner, square
from fedspec_proofs.fednova.claims.corollary_3 import without
from fedspec_proofs.fednova.claims.descent import drift_step, small_drift
from fedspec_proofs.fednova.claims.noisy_round import NOISE, SIGMA2
from fedspec_proofs.fednova.kit.bounds import drift, rational, reach
from fedspec_proofs.fednova.kit.sampled_runs import CONDITIONS
from fedspec_proofs.fednova.kit.settings import record_of

BETA2 = rational(3, 2)


@dataclass(frozen=True)
class Drawn:
    """Two equally likely clients with these local steps of SGD, q draws, tau_eff fixed; L = kappa^2 = 1."""

    steps: tuple[int, int]
    q: int

    @property
    def tau_eff(self) -> Any:
        """Mean number of local steps, fixed over the draws."""
        return rational(sum(self.steps), 2)

    @property
    def vectors(self) -> list[list[Any]]:
        """Accumulation vectors of SGD."""
        return [[rational(1)] * tau for tau in self.steps]

    @property
    def largest(self) -> Any:
        """Largest rate with 6 tau_eff eta L (1 + beta^2 / q) <= 1/2; the other condition holds there too."""
        eta = 1 / (12 * self.tau_eff * (1 + BETA2 / self.q))
        assert 4 * eta**2 * max(map(reach, self.vectors)) * (12 * BETA2 + 1) <= 1, "D <= 1/(12 beta^2 + 1)"
        return eta

    def __str__(self) -> str:
        return f"tau = {self.steps}, q = {self.q}"


@dataclass
class Runs:
    """Local runs of all draws; a client's run for the l-th draw is the same in every sample."""

    functions: tuple[Function, ...]
    asked: dict[tuple[int, int, int], Form]

    def clients(self) -> list[Oracle]:
        """Oracles for one sample, with separate noise for every draw."""
        draws = iter(range(len(self.functions) ** 9))
        now = [0]

        def of(i: int) -> Oracle:
            def gradient(k: int, y: Vector) -> Vector:
                if k == 0:
                    now[0] = next(draws)
                g = self.functions[i].at(y[0]).g
                self.asked[i, now[0], k] = g
                return vector(g + noise(i, now[0], k))

            return gradient

        return [of(i) for i in range(len(self.functions))]

    def noise_is(self) -> dict[str, Value]:
        """Values that are <= 0 by the noise assumptions: variance, and orthogonality to all vectors but later ones."""
        given = {}
        for one in self.asked:
            xi, name = noise(*one), "draw {1} of client {0}, step {2}".format(*one)
            given[f"variance, {name}"] = square(xi) - SIGMA2
            others = {str(noise(*other)): noise(*other) for other in self.asked if other < one}
            others |= {str(g): g for other, g in self.asked.items() if other[:2] != one[:2] or other[2] <= one[2]}
            for other, form in others.items():
                product_ = inner(xi, form)
                given |= {f"{name}: {other}": product_, f"{name}: {other}, less": -product_}
        return given


def noise(i: int, draw: int, k: int) -> Form:
    """Vector of the noise of client i at step k in its run for a draw."""
    return basis(f"noise {i},{draw},{k}")


def problem_of(s: Drawn, eta: Any) -> Problem:
    """E F(x') - F(x) <= eta tau_eff (-|grad F|^2/8 + tau_eff eta (sigma^2 + 3)/q + 6 eta^2 sigma^2 B + 12 eta^2 C)."""
    h = record_of(
        FedNovaSampled,
        eta_l=eta,
        tau_eff=s.tau_eff,
        sampled_weights=SampledWeights.WITH_REPLACEMENT,
        sampled_steps=SampledSteps.FIXED,
    )
    runs, x = Runs(tuple(Function(f"F{i}", smooth(1)) for i in (0, 1)), {}), basis("x")
    state = fednova_sampled.init(h, vector(x), Setup((1, 1), {"x": (1,)}))
    ends = [_end(h, state, runs, s, who) for who in product((0, 1), repeat=s.q)]
    p = exact.vector(rational(1, 2), rational(1, 2))
    before = mean(p, runs.functions, x)
    after = sum((mean(p, runs.functions, end).f for end in ends), Value()) / len(ends)
    length, B, C = eta * s.tau_eff, drift(s.vectors, p), max(map(reach, s.vectors))
    terms = {
        "noise": length * (length / s.q) * SIGMA2,
        "draws": Value(constant=length * 3 * (length / s.q)),
        "B": length * 6 * eta**2 * B * SIGMA2,
        "C": Value(constant=length * 12 * eta**2 * C),
    }
    right = sum(terms.values(), Value())
    given = runs.noise_is() | {name: q for f in runs.functions for name, q in f.obeys().items()}
    each = sum((square(f.at(x).g) for f in runs.functions), Value()) / 2
    given["dissimilar"] = each - BETA2 * square(before.g) - 1
    return Problem(after - before.f + length * square(before.g) / 8 - right, given, right, terms=terms, relaxed=True)


def _end(h: FedNovaSampled, state: Any, runs: Runs, s: Drawn, who: Sequence[int]) -> Form:
    """The model after a round with this sample."""
    plan = Plan(tuple(who), tuple(s.steps[i] for i in who), (1,) * len(who), repeats=True)
    end: Form = fednova_sampled.step(h, state, runs.clients(), plan)[0].x[0]
    return end


def _case(s: Drawn, *, drop: bool) -> Case:
    return Case(lambda eta: problem_of(s, eta), s.largest / 2, s.largest, drop=drop)


SIZES = (Drawn((1, 2), 1), Drawn((2, 2), 1), Drawn((1, 2), 2))
CASES = {f"{s}, eta in [{s.largest / 2}, {s.largest}]": _case(s, drop=s is SIZES[0]) for s in SIZES}
ID = "fednova.eq-182-round"

drawn_round = claim(
    ID,
    statement="FedNova with q draws: E F(x') - F(x) <= eta tau_eff (-|grad F(x)|^2/8 + tau_eff eta L (sigma^2 + 3 "
    "kappa^2)/q + 6 eta^2 L^2 sigma^2 B + 12 eta^2 L^2 kappa^2 C) for a round from any x, in every dimension, for all "
    "clients with Lipschitz gradients and any noise; summed over rounds, (182) for every T",
    source="a round of the proof of (182) (L951): eqs. (157)-(179) (L860-940)",
    verdict=Verdict.CERTIFIED,
    assumptions={**CONDITIONS, "variance": f"{NOISE['noise']}; fresh for every draw"},
    sizes="; ".join(CASES) + "; SGD, two clients with p = 1/2, tau_eff = mean tau; eta in units of 1/L, beta^2 = 3/2; "
    "any sigma^2 and kappa^2",
)(certified(ID, CASES, without))


@claim(
    "fednova.eq-177",
    statement="D <= 1 / (12 beta^2 + 1) gives 1/(1-D) <= 1 + 1/(12 beta^2) <= 2 and 3 D beta^2 / (1-D) <= 1/4",
    source="the words above eq. (177) (L930)",
    extent=Extent.WHOLE,
    assumptions={"drift": "D <= 1 / (12 beta^2 + 1)", "beta": "beta^2 >= 1"},
)
def drift_constants() -> Finding:
    """Proof for all reals."""
    return decide(drift_step(12, rational(2), rational(1, 12)), sample=small_drift(12))
