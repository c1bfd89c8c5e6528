"""Sampled clients: footnote 1, and weights and step length of Algorithm 1."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

from fedspec.algorithms import fednova_sampled
from fedspec.algorithms.fednova_sampled import FedNovaSampled
from fedspec.mixing.sampling import sampled_steps, sampled_update, sampled_weights
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import given
from fedspec.readings import SampledSteps, SampledWeights
from fedspec_proofs.claim import Finding, Verdict, claim, refutation
from fedspec_proofs.engines import Draw, curried, exact, mean, subsets, with_replacement
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fednova.kit.bounds import rational
from fedspec_proofs.fednova.kit.responses import shares

SIZES = ((2, 1), (2, 2), (3, 1), (3, 2), (3, 3))
"""Pairs of the number of clients and the number of draws."""


@curried
def _unbiased(draw: Draw, m: int, q: int, weights: SampledWeights, *, replace: bool) -> Iterable[Any]:
    """Mean of the new model, minus the update with all clients; tau_eff is a constant."""
    p, d, x = shares(draw, m), draw("d", m, 1), draw("x", 1)
    tau_eff, eta = draw("tau_eff", positive=True), draw("eta", positive=True)
    total = 0
    for chance, who in with_replacement(p, q) if replace else subsets(m, q):
        w = sampled_weights(p[list(who)], clients=m, sampled_weights=weights)
        total = total + chance * sampled_update(x, d[list(who)], w, tau_eff=tau_eff, eta_l=eta)
    yield from total - sampled_update(x, d, p, tau_eff=tau_eff, eta_l=eta)


def _scheme(weights: SampledWeights, *, replace: bool) -> Mapping[str, Body]:
    return {f"m = {m}, q = {q}": _unbiased(m, q, weights, replace=replace) for m, q in SIZES}


@claim(
    "fednova.footnote-1-with-replacement",
    statement="q draws with replacement with chances p_i and equal weights give the full update in expectation",
    source="footnote 1, scheme (i) (L87); eqs. (153)-(154) (L839-843)",
    sizes="up to three clients and draws, d = 1",
    assumptions={"law": "the chances are p_i", "fixed": "tau_eff does not depend on the sample"},
)
def with_replacement_unbiased() -> Finding:
    """Proof over every sample, for two and three clients and up to three draws, in variables p, d_i, x, tau_eff, eta.

    Without the law: the draws of scheme (ii). Without a fixed tau_eff: sum over the sample of w_i ||a_i||_1.
    """
    weights = SampledWeights.WITH_REPLACEMENT
    return identities(
        _scheme(weights, replace=True),
        without={
            "law": {"m = 2, q = 1, uniform": _unbiased(2, 1, weights, replace=False)},
            "fixed": {"m = 2, q = 1": lambda draw: _by_sample(draw, 2, 1, whole=False)},
        },
        instances=10,
    )


@claim(
    "fednova.footnote-1-without-replacement",
    statement="q uniform draws without replacement and weights p_i m / q give the full update in expectation",
    source="footnote 1, scheme (ii) (L87)",
    sizes="up to three clients and draws, d = 1",
    assumptions={"law": "the draws are uniform"},
)
def without_replacement_unbiased() -> Finding:
    """Proof over every sample; counterexample without the assumption: the draws of scheme (i)."""
    weights = SampledWeights.WITHOUT_REPLACEMENT
    other = {"m = 2, q = 1, chances p": _unbiased(2, 1, weights, replace=True)}
    return identities(_scheme(weights, replace=False), without={"law": other}, instances=10)


def _algorithm_1(p: tuple[int, int], who: tuple[int, ...], tau: tuple[int, int], d: tuple[int, int]) -> Fraction:
    """The change of one round of the box from x = 0, eta = 1, with constant gradients d."""
    h, setup = FedNovaSampled(eta_l=rational(1)), Setup(p, {"x": (1,)})
    clients = [given([exact.vector(g)] * t) for g, t in zip(d, tau, strict=True)]
    plan = Plan(who, tuple(tau[i] for i in who), tuple(p[i] for i in who))
    state = fednova_sampled.init(h, exact.vector(0), setup)
    out: Fraction = fednova_sampled.step(h, state, clients, plan)[0].x[0]
    return out


@claim(
    "fednova.algorithm-1",
    statement="For uniform draws or draws with chances p_i, the two laws of footnote 1, the mean of Algorithm 1's "
    "update is the full update",
    source="ours, about Algorithm 1, line 6 (L969), which states no law of its draws, with footnote 1 (L87) and "
    "App. G (L837)",
    verdict=Verdict.REFUTED,
)
def box_is_biased() -> Finding:
    """Counterexample: weights p_i / sum over S of p_j are biased, for uniform draws and for draws by p_i.

    The paper does not say that this box is unbiased; it says that convergence needs an update that is, and analyses
    another one, (153), in App. G.

    One of two clients is drawn, both take one step, p = (8/15, 7/15), gradients (7, -4): the full change is -28/15, the
    mean change -3/2 under uniform draws. With chances p_i and two draws (a client drawn twice counts once) it is off,
    too.
    """
    p, tau, d = (8, 7), (1, 1), (7, -4)
    uniform = mean(lambda who: _algorithm_1(p, who, tau, d), subsets(2, 1))
    chances = [rational(n, 15) for n in p]
    twice = mean(lambda who: _algorithm_1(p, tuple(sorted(set(who))), tau, d), with_replacement(chances, 2))
    full = _algorithm_1(p, (0, 1), tau, d)
    return refutation(
        instance=f"m = 2, q = 1, uniform; two draws with chances p give a mean of {twice}",
        conditions={
            "with everybody the box is eq. (12)": full == -rational(28, 15),
            "two draws with chances p are biased as well": twice != full,
        },
        left=uniform,
        right=full,
        relation="=",
    )


def _by_sample(draw: Draw, m: int, q: int, *, whole: bool = True) -> Iterable[Any]:
    """Mean of tau_eff(S) d(S) under scheme (i), minus its closed form, or minus the value for a fixed tau_eff."""
    p, d, a = shares(draw, m), draw("d", m, 1), draw("A", m, positive=True)
    total = 0
    for chance, who in with_replacement(p, q):
        at = list(who)
        w = sampled_weights(p[at], clients=m, sampled_weights=SampledWeights.WITH_REPLACEMENT)
        length = sampled_steps(p[at], w, a[at], sampled_steps=SampledSteps.SAMPLE)
        total = total - chance * sampled_update(d[0] * 0, d[at], w, tau_eff=length, eta_l=1)
    centre = sum(p * a) * (p @ d)
    extra = (sum(p_i * a_i * d_i for p_i, a_i, d_i in zip(p, a, d, strict=True)) - centre) / q
    yield from total - centre - (extra if whole else 0)
