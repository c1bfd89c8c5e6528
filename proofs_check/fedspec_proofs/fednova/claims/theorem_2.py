"""Lemma 3, the distance between the gradients of surrogate and objective; Theorem 2, which follows from it."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from fedspec.algorithms.fedavg import FedAvg
from fedspec.arith import numbers
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import Extent, Finding, Severity, claim, refutation
from fedspec_proofs.engines import Draw, Statement, all_proved, curried, decide, every, exact, identities, several
from fedspec_proofs.fednova.kit.bounds import chi_squared, rational
from fedspec_proofs.fednova.kit.settings import Setting

LEMMA = {
    "dissimilar": "sum w_i |g_i|^2 <= beta^2 |sum w_i g_i|^2 + kappa^2, beta^2 >= 1 and kappa^2 >= 0 (Assumption 3 at "
    "the point)",
    "positive": "w_i > 0",
    "sums": "p and w sum to one",
}


def _parts(p: Any, w: Any, g: Any) -> tuple[Any, Any, Any, Any, Any]:
    """|grad F - grad F~|^2, chi^2, sum w_i |g_i - mean|^2, the squares that Cauchy-Schwarz drops, and the mean."""
    mean, u = sum(w * g), (p - w) / w
    v = g - mean
    pairs = [(i, j) for j in range(len(w)) for i in range(j)]
    squares = sum(w[i] * w[j] * (u[i] * v[j] - u[j] * v[i]) ** 2 for i, j in pairs)
    return sum((p - w) * g) ** 2, chi_squared(p, w), sum(w * v**2), squares, mean


@curried
def _lagrange(draw: Draw, m: int, *, sums: bool = True) -> Iterable[Any]:
    """chi^2 V = |grad F - grad F~|^2 + squares, and V = sum w_i g_i^2 - mean^2, for gradients of one coordinate."""
    p, w, g = draw("p", m, positive=True), draw("w", m, positive=True), draw("g", m)
    if sums:
        p[-1], w[-1] = 1 - sum(p[:-1]), 1 - sum(w[:-1])
    difference, chi2, V, squares, mean = _parts(p, w, g)
    yield chi2 * V - difference - squares
    yield V - (sum(w * g**2) - mean**2)


def _one_client(draw: Draw) -> Iterable[Any]:
    """Addition of one client to the sums: w |v - theta u S|^2 with u = (p - w) / w, and w |g - G|^2.

    Summed over any number of clients: V - 2 theta S.S + theta^2 chi^2 |S|^2 for S = sum (p_i - w_i) v_i, and sum w_i
    |g_i|^2 - |G|^2 for G = sum w_i g_i; S is grad F - grad F~, since the p_i - w_i sum to zero.
    """
    p, w, theta = draw("p", positive=True), draw("w", positive=True), draw("theta")
    v, S, G = draw("v", 3), draw("S", 3), draw("G", 3)
    apart = v - theta * (p - w) / w * S
    yield (
        w * (apart @ apart) - w * (v @ v) + 2 * theta * ((p - w) * (v @ S)) - theta**2 * chi_squared([p], [w]) * (S @ S)
    )
    g = v + G
    yield w * (v @ v) - w * (g @ g) + 2 * w * (g @ G) - w * (G @ G)


def _concludes(draw: Draw) -> Statement:
    """Lemma 3 from these sums at theta = 1 / chi^2; ``apart`` is |grad F - grad F~|^2."""
    apart, chi2, V, theta, mean2 = several(draw, "apart, chi2, V, theta, mean2")
    beta2, kappa2 = draw("beta2"), draw("kappa2")
    square = V - 2 * theta * apart + theta**2 * chi2 * apart
    return Statement(
        {
            "dissimilar": V + mean2 <= beta2 * mean2 + kappa2,
            "positive": every(square >= 0, chi2 >= 0, apart >= 0),
            "sums": theta * chi2 == 1,
            "signs": every(mean2 >= 0, beta2 >= 1, kappa2 >= 0),
        },
        {"Lemma 3": apart <= chi2 * ((beta2 - 1) * mean2 + kappa2)},
    )


@claim(
    "fednova.lemma-3",
    statement="|grad F - grad F~|^2 <= chi^2(p||w) [(beta^2 - 1) |grad F~|^2 + kappa^2]",
    source="Lemma 3 (L643)",
    extent=Extent.WHOLE,
    assumptions=LEMMA,
)
def any_clients() -> Finding:
    """Proof for any number of clients and coordinates; only inner products are used.

    sum w_i |v_i - theta u_i S|^2 >= 0 is a sum over the clients whose single summands are expanded (an identity of one
    client, by sympy); at theta = 1 / chi^2 it is Cauchy-Schwarz, and Lemma 3 follows from that and Assumption 3 (by
    z3). Where chi^2 = 0 all u_i are 0, and with them the left side.

    Beside it the whole sums for m = 2, 3, 4 in one coordinate: the two sides of Cauchy-Schwarz differ by squares with
    weights w_i w_j.
    """
    squares = identities(
        {f"m = {m}": _lagrange(m) for m in (2, 3, 4)}, without={"sums": {"m = 2": _lagrange(2, sums=False)}}
    )
    parts = {
        "m clients": squares,
        "one client's share": identities({"d = 3": _one_client}),
        "Lemma 3": decide(_concludes, sample=_met),
    }
    return all_proved(parts, LEMMA)


def _met(rng: np.random.Generator) -> dict[str, Fraction]:
    """Real gradients and weights of three clients, with kappa^2 the smallest for beta^2 = 1."""
    p, w = (exact.vector(*(rational(int(n)) for n in rng.integers(1, 9, size=3))) for _ in range(2))
    p, w, g = p / sum(p), w / sum(w), exact.rationals(rng, 3)
    difference, chi2, V, _, mean = _parts(p, w, g)
    named = {"apart": difference, "chi2": chi2, "V": V, "mean2": mean**2, "theta": 1 / chi2 if chi2 else rational(0)}
    return {**named, "beta2": rational(1), "kappa2": V}


def _passes(draw: Draw) -> Statement:
    """(109)-(110): from Lemma 3 and |a + b|^2 <= 2 |a|^2 + 2 |b|^2, a = grad F - grad F~ and b = grad F~."""
    aa, bb, chi2, beta2, kappa2 = several(draw, "aa, bb, chi2, beta2, kappa2", positive=True)
    ab = draw("ab")
    return Statement(
        {
            "Lemma 3": aa <= chi2 * ((beta2 - 1) * bb + kappa2),
            "square": aa - 2 * ab + bb >= 0,
            "signs": every(aa >= 0, bb >= 0, ab * ab <= aa * bb, chi2 >= 0, beta2 >= 1, kappa2 >= 0),
        },
        {"(110)": aa + 2 * ab + bb <= 2 * (chi2 * (beta2 - 1) + 1) * bb + 2 * chi2 * kappa2},
    )


@claim(
    "fednova.eq-110",
    statement="|grad F|^2 <= 2 [chi^2 (beta^2 - 1) + 1] |grad F~|^2 + 2 chi^2 kappa^2 follows from Lemma 3",
    source="eqs. (109)-(110) (L668-669)",
    extent=Extent.WHOLE,
    assumptions={
        "Lemma 3": "|grad F - grad F~|^2 <= chi^2 [(beta^2 - 1) |grad F~|^2 + kappa^2], beta^2 >= 1 and kappa^2 >= 0"
    },
)
def true_objective() -> Finding:
    """Proof for any number of coordinates, from |a|^2, a.b, |b|^2 and |a - b|^2 >= 0."""

    return all_proved({"in inner products": decide(_passes)}, ("Lemma 3",))


DISSIMILAR = {"dissimilar": "beta^2 >= 1 and kappa^2 bound the dissimilarity for the weights w (Assumption 3)"}


def _averages(draw: Draw) -> Statement:
    """(110) of one more round, or outcome, of share s, passes on to the average; the least is at most the average."""
    one, more, near, next_near, least, s = several(draw, "one, more, near, next_near, least, s")
    factor, floor = draw("factor"), draw("floor")
    so_far = [one <= factor * near + floor, more <= factor * next_near + floor, least <= one, least <= more]
    average = (1 - s) * one + s * more
    return Statement(
        {"rounds": every(*so_far), "share": every(s >= 0, s <= 1)},
        {"(112)": average <= factor * ((1 - s) * near + s * next_near) + floor, "(111)": least <= average},
    )


@claim(
    "fednova.theorem-2",
    statement="min_t E|grad F|^2 <= (1/T) sum E|grad F|^2 <= 2 [chi^2(p||w) (beta^2 - 1) + 1] eps_opt + 2 chi^2(p||w) "
    "kappa^2, eps_opt = (1/T) sum E|grad F~|^2",
    source="Theorem 2 (L169), with the expectation that its left side lacks, and eqs. (111)-(113)",
    extent=Extent.PART,
    assumptions=DISSIMILAR,
)
def by_lemma_3() -> Finding:
    """Proof by Lemma 3 and (110) at every model, averaged over rounds and outcomes by induction.

    The other assumptions of Theorem 1 only enter eps_opt, which is the average itself here.
    """
    parts = {
        "Lemma 3": any_clients.body(),
        "(109)-(110)": true_objective.body(),
        "averages": decide(_averages, ablate=False),
    }
    return all_proved(parts, DISSIMILAR)


@claim(
    "fednova.only-two-cases",
    statement="Taken literally: there is no objective inconsistency only where all clients take the same steps with "
    "the same solver or have the same function",
    source="discussion of Theorem 2 (L177), with the decayed rates of L128",
    severity=Severity.FALSE_RESULT,
)
def a_third_case() -> Finding:
    """Counterexample: with decayed rates that differ between clients the ||a_i||_1 can be equal for different steps:
    w = p, and the surrogate is F for all functions. Also different functions with the same minimiser, which every
    surrogate shares.
    """
    quarter, three = rational(1, 4), rational(3, 4)
    norms = numbers(
        [a_norm(Solver.DECAYED, 3, gamma=rational(1, 2)), a_norm(Solver.DECAYED, 2, gamma=three)], exact.vector(1)
    )
    shares = exact.vector("1/3", "2/3")
    w = general_weights(shares, norms, NovaWeights.IMPLIED)
    problem = QuadraticClients(exact.vector(1, 2).reshape(2, 1, 1), exact.vector(1, 2).reshape(2, 1))
    s = Setting(FedAvg(eta_l=quarter), problem, (1, 2), (1, 1))
    x, best = s.limit(), problem.minimiser(s.shares())
    gap = abs(x[0] - best[0])
    found = refutation(
        instance="any two functions that differ, p = (1/3, 2/3), tau = (3, 2), gamma = (1/2, 3/4): ||a_i||_1 = 7/4 "
        "both; claimed: chi^2(p||w) > 0, w of eq. (6); left: whether it is. Then F_1 = (x-1)^2/2, F_2 = (x-1)^2, tau = "
        "(1, 2), p = 1/2, eta = 1/4, SGD: FedAvg's limit is x*",
        conditions={
            "decayed rates: the norms are 7/4": (norms == rational(7, 4)).all(),
            "and F~ = F: w = p": (w == shares).all(),
            "SGD: the limit is x*": gap == 0,
            "the numbers of steps differ": s.steps[0] != s.steps[1],
            "the functions differ": (problem.H[0] != problem.H[1]).all(),
            "the limit is a fixed point of FedAvg's round": (s.round(x) == x).all(),
            "and attracts: |M| < 1": abs(s.linear_part(x * 0)[0, 0]) < 1,
        },
        left=rational(int(chi_squared(shares, w) > 0)),
        right=rational(1),
        relation=">=",
    )
    return found
