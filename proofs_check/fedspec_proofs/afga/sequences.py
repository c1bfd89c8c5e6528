"""The sequences of the proof: mean models, the mean change that Delta_r is an unbiased draw of, and z_r.

Doubly stochastic matrices are convex combinations of permutations (Birkhoff), so that weights of permutations stand for
every one of their size.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import combinations, permutations
from typing import Any

import numpy as np

from fedspec.algorithms import afga
from fedspec.algorithms.afga import mean_change
from fedspec.arith import Array, Mixing
from fedspec.mixing.gossip import cluster_mean
from fedspec.plan import Exchange, Oracle
from fedspec.problems.quadratic import given as problem_given
from fedspec.server.amsgrad import AmsGrad, general_amsgrad, init
from fedspec_proofs.afga.constants import doubly_stochastic
from fedspec_proofs.afga.formulas import hyper
from fedspec_proofs.afga.networks import blended_permutation
from fedspec_proofs.afga.rounds import models
from fedspec_proofs.claim import AFGA, Dropped, Engine, Finding, Source, Verdict, claim, false
from fedspec_proofs.engines import exact
from fedspec_proofs.engines.draw import Draw
from fedspec_proofs.engines.identities import Body, identities
from fedspec_proofs.engines.mutation import mutate
from fedspec_proofs.refutation import refutation


def doubly(draw: Draw, n: int, name: str = "p") -> Mixing:
    """Any doubly stochastic n x n matrix: permutations with weights."""
    orders = list(permutations(range(n)))
    share = draw(name, len(orders), positive=True)
    total = sum(share[1:], start=share[0])
    W = np.empty((n, n), dtype=object)
    for i, j in np.ndindex(n, n):
        W[i, j] = sum(s for s, order in zip(share, orders, strict=True) if order[i] == j) / total
    return W


def row_stochastic(draw: Draw, n: int) -> Mixing:
    """Any matrix whose rows sum to one."""
    W = draw("p", n, n, positive=True)
    out: Mixing = W / W.sum(axis=1)[:, None]
    return out


def given(g: Array) -> list[Oracle]:
    """Clients with gradient g[t, i] at local step t, wherever they are."""
    return [problem_given(list(g[:, i])) for i in range(g.shape[1])]


def _mean_moves(n: int, sets: tuple[tuple[int, ...], ...], matrix: Callable[[Draw, int], Mixing]) -> Body:
    """xbar_t - x_r + eta_l/n sum of the gradients of the sets, after each local step."""

    def body(draw: Draw) -> list[Any]:
        x, eta_l, g = draw("x", 2), draw("eta_l", positive=True), draw("g", len(sets), n, 2)
        W, found = matrix(draw, n), []
        for t in range(1, len(sets) + 1):
            X = models(eta_l, x, given(g), sets[:t], W)
            taken = sum(g[s, i] for s, S in enumerate(sets[:t]) for i in S)
            found.append(X.sum(axis=0) / n - x + eta_l * taken / n)
        return list(np.ravel(found))

    return body


SETS: dict[str, tuple[int, tuple[tuple[int, ...], ...]]] = {
    "n = 2": (2, ((0,), (1,), (0, 1))),
    "n = 3": (3, ((0,), (1, 2))),
}


@claim(
    "afga.eq-9",
    statement="The mean model moves by -(eta_l/n) sum of the gradients of those who compute, whatever the mixing "
    "does: xbar_(t+1) = xbar_t - eta_l gbar_t and Deltabar = -eta_l sum_t gbar_t (n = 2 and 3, up to three steps)",
    source=Source(AFGA, "eqs. (9)-(11) (L1130-1177)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"columns of W sum to one": "1'W = 1', the half of Assumption 4.5 that the mean needs"},
)
def eq_9() -> Finding:
    """n = 2 with three steps, n = 3 with two, d = 2; the induction over steps and the sum over clusters are alike."""
    bodies = {size: _mean_moves(n, sets, doubly) for size, (n, sets) in SETS.items()}
    rows = {"rows only, n = 2": _mean_moves(2, ((0,), (1,)), row_stochastic)}
    return identities(bodies, without={"columns of W sum to one": rows}, instances=8)


def _drawn(K: int, n: int, m: int, weight: Any = 1) -> Body:
    """The mean of Delta_r over the senders less the mean change of all clients."""

    def body(draw: Draw) -> list[Any]:
        X, x = draw("X", K * n, 1), draw("x", 1)
        sets = list(combinations(range(n), m))
        one = [mean_change(X[k * n : (k + 1) * n], x, S) for k in range(K) for S in sets]
        means: list[Any] = [sum(one[k * len(sets) : (k + 1) * len(sets)]) / F(len(sets)) for k in range(K)]
        share = exact.vector(*[F(1, K)] * K)
        return list(cluster_mean(np.stack(means), share) * weight - (X.sum(axis=0) / F(K * n) - x))

    return body


SIZES = [(1, 2, 1), (1, 3, 2), (1, 4, 2), (2, 2, 1), (2, 3, 2), (3, 2, 1)]


def _dependent() -> Dropped:
    """W = I-like mixing and S_(r,0) = S_r: who sends has computed, so that Delta is larger than the mean change."""
    W, x = blended_permutation(2, (0, 1), F(1, 2)), exact.vector(0)
    oracles = given(np.array([[exact.vector(1), exact.vector(1)]]))
    changes = [afga.change(hyper(F(1, 8)), x, oracles, Exchange((i,), ((i,),), W))[0] for i in (0, 1)]
    mean, every = sum(changes) / 2, F(-1, 16)
    words = f"by hand: two equal clients, W = (I + J)/2, S_(r,0) = S_r: E[Delta] = {mean}, E[Deltabar] = {every}"
    return Dropped(mean != every, words)


@claim(
    "afga.eq-12",
    statement="Given the local runs, the mean of Delta_r over the senders is Deltabar_r, the one of all clients (K <= "
    "3, n <= 4)",
    source=Source(AFGA, "eq. (12) (L1180-1239), whose words have it the other way round"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    assumptions={"S_r independent": "the senders are drawn without regard to who computed"},
)
def eq_12() -> Finding:
    """K <= 3 clusters of n <= 4; the clusters' draws are independent, so that means add up. Every set is as likely."""
    found = identities({f"K = {K}, n = {n}, m = {m}": _drawn(K, n, m) for K, n, m in SIZES})
    return Finding(found.verdict, found.evidence, {"S_r independent": _dependent()}, found.second)


@claim(
    "afga.eq-15-delta",
    statement="Delta_r = (m/n) Deltabar_r with the Deltabar_r of eq. (11), in expectation or on any draw",
    source=Source(AFGA, "the sentence after eq. (15) (L1352)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def eq_15_delta() -> Finding:
    """Deltabar_r has the factor m/n already, as eq. (12) says.

    The last term of the sentence, with the gradients of all clients, is what Delta_r is in mean: were that meant by
    Deltabar_r, it would be right.
    """
    W, x, eta_l = blended_permutation(2, (0, 1), F(0)), exact.vector(0), F(1, 8)
    oracles = given(np.array([[exact.vector(1), exact.vector(1)]]))
    draws = [(s, i) for s in (0, 1) for i in (0, 1)]
    changes = [afga.change(hyper(eta_l), x, oracles, Exchange((s,), ((i,),), W))[0] for s, i in draws]
    models = [models(eta_l, x, oracles, ((i,),), W) for _, i in draws]
    every = [mean_change(X, x, (0, 1))[0] for X in models]
    return refutation(
        instance="two equal clients f_i = x, m = 1, W = J, eta_l = 1/8, one step: Delta_r = Deltabar_r always; the "
        "means over all draws",
        conditions={
            "every draw gives the same Delta_r": len(set(changes)) == 1,
            "eq. (11): Deltabar_r is -eta_l/n times the gradient of who computed": set(every) == {-eta_l / 2},
            "4.5: W = J is doubly stochastic": doubly_stochastic(W),
        },
        left=sum(changes) / 4,
        right=F(1, 2) * sum(every) / 4,
        relation="=",
    )


@false(
    "afga.false-12-share",
    of=eq_12,
    statement="m/n times the mean of Delta_r is Deltabar_r",
)
def share_twice() -> Finding:
    """As the sentence after eq. (15) has it."""
    return identities({"K = 1, n = 3, m = 2": _drawn(1, 3, 2, F(2, 3))})


def dividing(rule: Any, by: Any) -> Any:
    """A server rule that divides by this, whatever its root would be."""
    try:
        return mutate(rule, root=lambda v, eps, place: v * 0 + by)
    except KeyError:
        return rule


def _z_identity(draw: Draw, kappa: Callable[[Any], Any]) -> list[Any]:
    """z_(r+1) - z_r less what it is said to be, in one coordinate of the server's rule."""
    h: dict[str, Any] = {name: draw(name, positive=True) for name in ("eta", "beta1", "beta2", "eps")}
    x, m, v, v_hat, delta = (draw(name, 1) for name in ("x", "m", "v", "v_hat", "Delta"))
    before = AmsGrad(x=x, m=m, v=v, v_hat=v_hat, t=1)
    new_root, old_root = draw("root", positive=True), draw("root_before", positive=True)
    after = dividing(general_amsgrad, new_root)(before, delta, **h)
    old, new, factor = h["eta"] / old_root, h["eta"] / new_root, kappa(h["beta1"])
    # x_(r-1), from the round before.
    x_before = before.x[0] - old * before.m[0]
    z_new = after.x[0] + factor * (after.x[0] - before.x[0])
    z_old = before.x[0] + factor * (before.x[0] - x_before)
    return [z_new - z_old - new * delta[0] + factor * (old - new) * before.m[0]]


@claim(
    "afga.eq-13",
    statement="With z_r = x_r + beta1/(1 - beta1) (x_r - x_(r-1)): z_(r+1) - z_r = eta V_r^(-1/2) Delta_r - eta "
    "beta1/(1 - beta1) (V_(r-1)^(-1/2) - V_r^(-1/2)) m_(r-1)",
    source=Source(AFGA, "eq. (13) and the display after it (L1243-1268), where one 1/beta1 is to be 1/(1 - beta1)"),
    engine=Engine.SYMBOLIC,
    verdict=Verdict.PROVED,
    repairs="afga.eq-13-display",
)
def eq_13() -> Finding:
    """One coordinate of the server's rule; V_r^(1/2) is what the rule divides by, here any positive number."""
    return identities({"one coordinate": lambda draw: _z_identity(draw, lambda b: b / (1 - b))})


@claim(
    "afga.eq-13-display",
    statement="z_(r+1) - z_r = 1/beta1 (x_(r+1) - x_r) - beta1/(1 - beta1)(x_r - x_(r-1)); a slip, the line after it "
    "is right",
    source=Source(AFGA, "the display after eq. (13), first line (L1248-1249)"),
    engine=Engine.EXACT,
    verdict=Verdict.REFUTED,
)
def eq_13_display() -> Finding:
    """1/(1 - beta1) is meant; both are 2 at beta1 = 1/2."""
    beta1, delta = F(1, 3), exact.vector("3/8")
    numbers: dict[str, Any] = {"eta": F(1), "beta1": beta1, "beta2": F(0), "eps": F(1, 4)}
    states = [init(exact.vector(0))]
    for _ in range(2):
        states.append(general_amsgrad(states[-1], delta, **numbers))
    before, now, after = (s.x[0] for s in states)
    kappa = beta1 / (1 - beta1)
    return refutation(
        instance="beta1 = 1/3, beta2 = 0, eps = 1/4, eta = 1, Delta_1 = Delta_2 = 3/8 from x_1 = 0; r = 2",
        conditions={"two steps of the server": states[-1].t == 2},
        left=(after + kappa * (after - now)) - (now + kappa * (now - before)),
        right=(after - now) / beta1 - kappa * (now - before),
        relation="=",
    )


@false(
    "afga.false-13-beta1",
    of=eq_13,
    statement="The same with z_r = x_r + beta1 (x_r - x_(r-1))",
)
def z_with_beta1() -> Finding:
    """The momentum's sum is 1/(1 - beta1)."""
    return identities({"one coordinate": lambda draw: _z_identity(draw, lambda b: b)})
