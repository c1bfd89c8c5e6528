"""Theorem 3, for T >= 1 local steps, and the discussion of it. Fed-LAMB, eq. (22) (L706-716) and L718-729."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from fedspec.arith import sqrt
from fedspec_proofs.claim import Engine, Finding, Verdict, claim, false
from fedspec_proofs.engines.algebra import Statement, decide
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.fed_lamb import bounds
from fedspec_proofs.fed_lamb.bounds import Constants
from fedspec_proofs.fed_lamb.problems import Problem, vector
from fedspec_proofs.fed_lamb.rounds import F, begin, lamb, local_models, noiseless, run
from fedspec_proofs.fed_lamb.shared import FOUR, at, every
from fedspec_proofs.fed_lamb.theorem_1 import hill
from fedspec_proofs.piecewise import huber
from fedspec_proofs.refutation import refutation


@claim(
    "fed-lamb.theorem-3-printed",
    statement="(1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22), cst included",
    source=at("Theorem 3, eq. (22) (L706-712)"),
    engine=Engine.EXACT,
    verdict=Verdict.UNDECIDABLE,
)
def printed() -> Finding:
    """A bound with a constant that may be anything refuses nothing."""
    return Finding(
        Verdict.UNDECIDABLE,
        "cst is not specified; with the one that its proof ends with (L808) it falls, fed-lamb.theorem-3 and "
        "theorem-3-steps; what stands of the order that follows it (L716) is fed-lamb.theorem-3-order-repaired",
    )


@claim(
    "fed-lamb.theorem-3",
    statement="Ours: (1/tau) sum_t E||f'(x_t)/v_hat_t^(1/4)||^2 is at most the right side of (22) with a cst, which "
    "Theorem 3 does not specify, taken from the end of its proof (L808, for M <= 1); here T = 1",
    source=at("ours, Theorem 3, eq. (22) (L706-712) with the cst of L808"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def theorem_3() -> Finding:
    """c = 1/10 of x^2/2; sigma = 3c/4, so that the root in (22) is rational, which only makes the right side larger."""
    h = hill(F(1, 10), sigma=F(3, 40))
    return refutation(
        instance="x^2/20 near 0 from 1, one client, R = tau = 50, T = 1, rates 1/100 to 451/50000, beta1 = 0, v0 = "
        "1/100, sigma = 3/40",
        conditions={**h.conditions, "M <= 1 (L806)": h.k.M <= 1},
        left=h.mean(sqrt),
        right=bounds.theorem_3(h.k, h.k.L_bar),
    )


@claim(
    "fed-lamb.theorem-3-steps",
    statement="The same for T = 2 local steps, x_t the mean of the local models at every iteration",
    source=at("ours, Theorem 3, eq. (22) (L706-712) with the cst of L808"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
    assumptions=FOUR,
)
def theorem_3_steps() -> Finding:
    """tau counts local steps (L733): 50 of them are 25 rounds."""
    c, R, T, alpha = F(1, 20), 25, 2, F(1, 200)
    problem, h = Problem(((huber(c),),), (1,)), lamb(eta_l=alpha, v0=c**2)
    states = run(h, begin(h, vector([F(1)]), 1), problem.clients, R, T)[:-1]
    # One client: the mean of the local models is its own, at the start of a round and after its first step.
    met = [(x, s.v_hat[0]) for s in states for x in (s.x, local_models(h, s, problem.clients, 1)[0])]
    k = Constants(
        gap=c / 2,
        M=c,
        sigma=3 * c / 4,
        R=F(R * T),
        T=F(T),
        alpha=alpha,
        least_alpha=alpha,
        beta2=h.beta2,
        L_bar=c,
        v0=c**2,
    )
    return refutation(
        instance="x^2/40 near 0 from 1, one client, 25 rounds of T = 2 steps, tau = 50, alpha = 1/200, beta1 = 0, v0 = "
        "1/400, sigma = 3/80",
        conditions={
            **noiseless(h, problem, c, k.sigma),
            "M <= 1 (L806)": c <= 1,
            "v_hat stays v0": all(s.v_hat[0] == c**2 for s in states),
            "50 iterations": len(met) == R * T,
        },
        left=sum(problem.gradient(x)[0] ** 2 / sqrt(v_hat) for x, v_hat in met) / (R * T),
        right=bounds.theorem_3(k, c),
    )


def _balance(power: int = 5) -> Body:
    """tau = a^2, L = b^4, n = u^4, p = w^4, T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4), so that no root occurs."""

    def body(draw: Draw) -> Iterable[Any]:
        a, b, u, w = (draw(name, positive=True) for name in ("a", "b", "u", "w"))
        more = a * b**power / (u * w)
        last = more**2 * w**4 / (a**3 * b**12)
        first = w**2 / u**2 / (b**2 * a)
        return [last - first]

    return body


@claim(
    "fed-lamb.remark-local-steps",
    statement="T - 1 = sqrt(tau) L^(5/4)/(n p)^(1/4) makes the last term of L716 as large as its first one over M",
    source=at("discussion (L718-720)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"L^(5/4)": "the power of L, which is smoothness in one term and the number of layers in the other"},
)
def balance() -> Finding:
    """So the remark follows from the display; the display does not hold."""
    return identities({"fourth powers": _balance()}, without={"L^(5/4)": {"fourth powers": _balance(power=4)}})


@false("fed-lamb.false-local-steps", of=balance, statement="The same with L^(3/2)")
def _false_balance() -> Finding:
    return identities({"fourth powers": _balance(power=6)})


@claim(
    "fed-lamb.remark-rounds",
    statement="With that many local steps tau iterations are O(sqrt(tau)/n^(1/4)) rounds: tau/T <= sqrt(tau)/n^(1/4), "
    "where L^(5/4)/p^(1/4) = 1",
    source=at("ours, a reading of the discussion (L720-723): O() with a constant that does not depend on n, here 1"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def rounds() -> Finding:
    """That is T. There are tau/T = sqrt(tau) n^(1/4) rounds, which grow with n, as the next sentence has it."""
    tau, root_n = F(64), F(2)
    T = sqrt(tau) / root_n
    return refutation(
        instance="tau = 64 iterations, n = 16 clients, T = sqrt(tau)/n^(1/4) = 4; left over right is sqrt(n) for "
        "every n",
        conditions={"T is the largest allowed": T**4 * root_n**4 == tau**2},
        left=tau / T,
        right=sqrt(tau) / root_n,
    )


def _sums(draw: Draw) -> Statement:
    first, more, share, eps = (draw(name) for name in ("first", "more", "share", "eps"))
    holds = {"terms >= 0": every(first >= 0, more >= 0), "tau > 0": share > 0}
    return Statement({**holds, "R rounds do": (first + more) * share <= eps}, {"one does": first * share <= eps})


@claim(
    "fed-lamb.remark-stationary",
    statement="As printed, with the sum up to R and the mean over tau, R rounds reach an eps-stationary point only if "
    "one round does",
    source=at("ours, about the discussion (L727-729)"),
    engine=Engine.SMT,
    verdict=Verdict.PROVED,
    assumptions={
        "terms >= 0": "squares are summed",
        "tau > 0": "there are iterations (share is 1/tau)",
        "R rounds do": "(1/tau) sum up to R is at most eps",
    },
)
def stationary() -> Finding:
    """The sum grows with R while tau stays: it defines no number of rounds that are needed."""
    return decide(_sums)


@claim(
    "fed-lamb.theorem-3-vanishes",
    statement="The right side of (22), with the cst of L808, vanishes as tau grows with the rate 1/(L sqrt(tau)), "
    "beta1 > 0: it is 100 times smaller after 10^8 times as many iterations",
    source=at("ours, about Theorem 3, cst in L808"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def floor() -> Finding:
    """cst has the term of L559 that nothing makes smaller, and two that do not fall with tau alone."""
    k = Constants(gap=F(1, 2), beta1=F(9, 10), beta2=F(99, 100), L_bar=F(1))
    few, many = (replace(k, R=R, alpha=1 / sqrt(R), least_alpha=1 / sqrt(R)) for R in (F(10**4), F(10**12)))
    return refutation(
        instance="M = L = v0 = p = n = Lay = T = phi_M = 1, gap = 1/2, sigma = 0, beta1 = 9/10, beta2 = 99/100, tau = "
        "10^4 and 10^12",
        conditions={"the rate is 1/(L sqrt(tau))": few.alpha == F(1, 100) and many.alpha == F(1, 10**6)},
        left=100 * bounds.theorem_3(many, k.L_bar),
        right=bounds.theorem_3(few, k.L_bar),
    )
