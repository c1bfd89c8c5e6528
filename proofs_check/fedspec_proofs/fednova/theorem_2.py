"""Theorem 2: from the surrogate to the objective, by Lemma 3."""

from __future__ import annotations

from fedspec.algorithms.fedavg import FedAvg
from fedspec.arith import numbers
from fedspec.mixing.accumulation import a_norm
from fedspec.mixing.nova import general_weights
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import NovaWeights, Solver
from fedspec_proofs.claim import FEDNOVA, Engine, Finding, Source, Verdict, claim
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.combine import all_proved
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.smt import every
from fedspec_proofs.fednova.bounds import chi_squared, rational
from fedspec_proofs.fednova.lemma_3 import any_clients
from fedspec_proofs.fednova.settings import Setting
from fedspec_proofs.refutation import refutation


def _passes(draw: Draw) -> Statement:
    """(109)-(110): from Lemma 3 and |a + b|^2 <= 2 |a|^2 + 2 |b|^2, a = grad F - grad F~ and b = grad F~."""
    aa, ab, bb, chi2, beta2, kappa2 = (draw(n) for n in ("aa", "ab", "bb", "chi2", "beta2", "kappa2"))
    return Statement(
        {"Lemma 3": aa <= chi2 * ((beta2 - 1) * bb + kappa2), "square": aa - 2 * ab + bb >= 0},
        {"(110)": aa + 2 * ab + bb <= 2 * (chi2 * (beta2 - 1) + 1) * bb + 2 * chi2 * kappa2},
    )


@claim(
    "fednova.eq-110",
    statement="|grad F|^2 <= 2 [chi^2 (beta^2 - 1) + 1] |grad F~|^2 + 2 chi^2 kappa^2 follows from Lemma 3",
    source=Source(FEDNOVA, "eqs. (109)-(110) (L668-669)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={"Lemma 3": "|grad F - grad F~|^2 <= chi^2 [(beta^2 - 1) |grad F~|^2 + kappa^2]"},
)
def true_objective() -> Finding:
    """Any number of coordinates: only |a|^2, a.b and |b|^2 enter, and |a - b|^2 >= 0."""

    return all_proved({"in inner products": decide(_passes)}, ("Lemma 3",))


DISSIMILAR = {"dissimilar": "beta^2 >= 1 and kappa^2 bound the dissimilarity for the weights w (Assumption 3)"}


def _averages(draw: Draw) -> Statement:
    """(110) of one more round, or outcome, of share s, passes on to the average; the least is at most the average."""
    one, more, near, next_near, least, s = (draw(n) for n in ("one", "more", "near", "next_near", "least", "s"))
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
    source=Source(FEDNOVA, "Theorem 2 (L169), with the expectation that its left side lacks, and eqs. (111)-(113)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions=DISSIMILAR,
)
def by_lemma_3() -> Finding:
    """Lemma 3 and (110) at every model, averaged over rounds and outcomes, one after the other.

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
    source=Source(FEDNOVA, "discussion of Theorem 2 (L177), with the decayed rates of L128"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def a_third_case() -> Finding:
    """Decayed rates that differ from client to client can make the ||a_i||_1 equal though the steps differ: w = p, and
    the surrogate is F whatever the functions are. Beside it different functions with one minimiser: whatever the
    weights of the surrogate, its minimiser is that one."""
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
