"""Lemmas F.1 and F.2 as sums of steps: the effect of one local step on drift and consensus error.

Every expectation is a variable, a mean over the clusters: drift and consensus error before and after the step, H2 of
|h_k|^2 with h_k the mean of the cluster's slopes at its models, V of the variance of these slopes in the cluster, G2 of
|grad fbar_k(x_r)|^2, S2 of the squared slopes at the models. fac = m(n-m)/(n(n-1)), p = m/n, e2 = eta_l^2.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as F
from itertools import combinations
from typing import Any

from fedspec.arith import Mixing, put
from fedspec.client.sgd import sgd
from fedspec.mixing.gossip import gossip
from fedspec.population import gradients
from fedspec_proofs.afga.claims.sequences import doubly, row_stochastic
from fedspec_proofs.afga.kit.bounds import consensus_terms, drift_terms, printed_growth
from fedspec_proofs.afga.kit.mixed import one_draw, variances
from fedspec_proofs.afga.kit.networks import DRAWN
from fedspec_proofs.afga.kit.rounds import given
from fedspec_proofs.claim import Extent, Finding, claim
from fedspec_proofs.engines import Draw, Statement, Step, Sum, curried, decided, every, identities, record, several
from fedspec_proofs.kit.adding import summed

F1_STEPS = {
    "one step": "drift after <= E|u - eta_l p h|^2 + e2 fac V/n + e2 m sigma^2/n^2 with u = xbar - x_r: "
    "afga.lemma-f-1-step",
    "Young": "E|u - eta_l p h|^2 <= 4I/(4I-1) drift + 4I e2 p^2 H2: afga.lemma-f-1-lines",
    "three parts": "H2 <= 4 L^2 consensus error + 2 L^2 drift + 4 G2: afga.lemma-f-1-lines, 4.1",
    "D.1 between": "G2 <= alpha^2 |grad f|^2 + sigma_c^2",
    "variance": "V <= 16 L^2 consensus error + 16/15 sbar_l^2: afga.lemma-f-1-lines, 4.1 and D.1 within",
    "p <= 1": "no more clients compute than there are: afga.lemma-f-1-sizes",
    "m <= n": "m sigma^2/n^2 <= sigma^2/n",
    "step": "64 I^2 e2 L^2 <= 1",
    "draws": "fac/n + p^2 <= 1: afga.lemma-f-1-sizes",
    "sizes": "1 <= n I",
}


def _step(draw: Draw, *more: str) -> Any:
    """The constants of one local step; I = 1 + more."""
    v = record(draw, " ".join(("more n m L eta_l fac sigma2 sbar2 heterogeneous away inner", *more)))
    v.I = 1 + v.more
    return v


def drift_step(draw: Draw) -> Sum:
    """Steps that add up to eq. (41) with the printed C_I = 1 + (3/2)/(4I-1), in the terms that the search uses."""
    v = _step(draw)
    after, U, H2, G2, V = several(draw, "after, U, H2, G2, V")
    I, n, L, fac, het, p, e2 = v.I, v.n, v.L, v.fac, v.heterogeneous, v.m / v.n, v.eta_l**2
    steps = {
        "one step": Step(1, after, U + e2 * fac * V / n + e2 * v.m * v.sigma2 / n**2),
        "Young": Step(1, U, 4 * I / (4 * I - 1) * v.away + 4 * I * e2 * p**2 * H2),
        "three parts": Step(4 * I * e2 * p**2, H2, 4 * L**2 * v.inner + 2 * L**2 * v.away + 4 * G2),
        "D.1 between": Step(16 * I * e2 * p**2, G2, het),
        "variance": Step(e2 * fac / n, V, 16 * L**2 * v.inner + F(16, 15) * v.sbar2),
        "p <= 1": Step(8 * I * e2 * (L**2 * v.away + 2 * het), p**2, 1),
        "m <= n": Step(e2 * v.sigma2 / n**2, v.m, n),
        "step": Step(v.away / (8 * I), 64 * I**2 * e2 * L**2, 1),
        "draws": Step(16 * I * e2 * L**2 * v.inner, fac / n + p**2, 1),
        "sizes": Step(F(16, 15) * e2 * fac * v.sbar2 / n, 1, n * I),
    }
    spare = v.away / (8 * I * (4 * I - 1)) + 16 * v.more * e2 * L**2 * fac / n * v.inner
    spare += F(224, 15) * I * e2 * fac * v.sbar2
    return Sum(steps, after, drift_terms(v, printed_growth(I), v.away, v.inner), spare)


@claim(
    "afga.lemma-f-1-assembly",
    statement="The ten steps that are assumed here add up to eq. (41) with the printed C_I = 1 + (3/2)/(4I-1), and "
    "so to Lemma F.1 as repaired, for all K, n, m, I and constants",
    source="ours, for Lemma F.1 and eq. (41) (L2624-2845)",
    extent=Extent.PART,
    assumptions=F1_STEPS,
    chain="lemma-f-1-step lemma-f-1-lines lemma-f-1-sizes",
)
def f_1() -> Finding:
    """Young's inequality for three summands with weights 4, 2, 4, and the sampling variance; the paper's split in
    four does not give this C_I (afga.eq-41-step).
    """
    return summed(drift_step, F1_STEPS)


@claim(
    "afga.lemma-f-1-sizes",
    statement="p^2 <= 1 and fac/n + p^2 <= 1 for p = m/n and fac = m(n-m)/(n(n-1))",
    source="ours, for Lemma F.1 (L2624-2845)",
    extent=Extent.PART,
    assumptions={"m": "1 <= m <= n", "n": "n >= 2; for n = 1 fac is 0 and p is 1"},
)
@decided()
def sizes(draw: Draw) -> Statement:
    """Proof by real algebra, for all real m and n."""
    n, m = draw("n"), draw("m")
    # fac/n + p^2 <= 1, times n^2 (n - 1).
    shown = {"p <= 1": m * m <= n * n, "draws": m * (n - m) + m * m * (n - 1) <= n * n * (n - 1)}
    return Statement({"m": every(m >= 1, m <= n), "n": n >= 2}, shown)


@curried
def _drawn(
    draw: Draw, n: int, m: int, matrix: Callable[[Draw, int], Mixing] = doubly, only: int | None = None
) -> list[Any]:
    """Mean over all sets of clients (or ``only`` some of them), through the rule, of |xbar_(t+1) - x_r|^2, minus its
    claimed value; no noise.
    """
    eta_l, g, X, W = draw("eta_l", positive=True), draw("g", n), draw("X", n, 1), matrix(draw, n)
    x, oracles = draw("x"), given(g.reshape(1, n, 1))
    sets = list(combinations(range(n), m))[:only]
    moved = []
    for S in map(list, sets):
        stepped = sgd(X[S], gradients(oracles, S, 0, X[S]), eta_l=eta_l)
        moved.append(gossip(put(X, S, stepped), W)[:, 0])
    mean = sum((sum(models) / F(n) - x) ** 2 for models in moved) / F(len(sets))
    h, u = sum(g) / F(n), sum(X[:, 0]) / F(n) - x
    variance = sum((g_i - h) ** 2 for g_i in g) / F(n)
    fac = F(m * (n - m), n * (n - 1))
    return [mean - (u - eta_l * F(m, n) * h) ** 2 - eta_l**2 * fac / F(n) * variance]


@curried
def _noise(draw: Draw, biased: bool = False, correlated: bool = False) -> list[Any]:
    """A step with noise, one client's noise more at a time; E of products of noises and with the rest are numbers."""
    rest2, noise2, variance, share = several(draw, "rest^2, noise^2, variance, eta_l/n")
    with_rest, together = (draw(name) if kept else 0 for name, kept in (("bias", biased), ("joint", correlated)))
    so_far = rest2 + share**2 * noise2
    # (rest - share (noise + one more))^2, multiplied out; so far the noise goes with nothing.
    after = rest2 - 2 * share * with_rest + share**2 * (noise2 + 2 * together + variance)
    return [after - so_far - share**2 * variance]


@claim(
    "afga.lemma-f-1-step",
    statement="E|xbar_(t+1) - x_r|^2 = |u - eta_l p h|^2 + eta_l^2 fac V/n over the draws of who computes, u = xbar_t "
    "- x_r; noise adds eta_l^2/n^2 times the sum of the m variances",
    source="ours, for Lemma F.1, eqs. (39) and (40) (L2640-2793)",
    extent=Extent.PART,
    assumptions={
        "draws": "m different ones of the cluster's n >= 2 clients compute, all sets as likely whatever came before; "
        "for n = 1 fac is 0 and p is 1",
        "columns of W sum to one": "1'W = 1', so that the exchange keeps the mean",
        "unbiased": DRAWN["unbiased"],
        "uncorrelated": DRAWN["uncorrelated"],
    },
)
def f_1_step() -> Finding:
    """Proof by the probabilities of sampling one and two given clients; noise is added one client at a time.

    Through the exchange: n = 2 and 3, d = 1, every doubly stochastic W, slopes and models as free numbers.
    """
    sizes = ((2, 1), (2, 2), (3, 1), (3, 2))
    at_sizes = {f"n = {n}, m = {m}": _drawn(n, m) for n, m in sizes}
    without = {
        "draws": {"n = 2, always the first": _drawn(2, 1, only=1)},
        "columns of W sum to one": {"n = 2, rows only": _drawn(2, 1, row_stochastic)},
        "unbiased": {"one more noise": _noise(biased=True)},
        "uncorrelated": {"one more noise": _noise(correlated=True)},
    }
    return identities({"any n and m": one_draw, "noise": _noise(), **at_sizes}, without=without, instances=6)


def _spread(values: Any) -> Any:
    centre = sum(values) / F(len(values))
    return sum((v - centre) ** 2 for v in values) / F(len(values))


def _parts(draw: Draw) -> list[Any]:
    """Slack of each bound, minus the remaining squares."""
    a, b, c, gamma = draw("a", 3), draw("b", 3), draw("c", 3), draw("gamma", positive=True)
    four = draw("four", 4)
    young = gamma * ((1 + gamma) * a[0] ** 2 + (1 + 1 / gamma) * b[0] ** 2 - (a[0] - b[0]) ** 2)
    three = 4 * a[0] ** 2 + 2 * b[0] ** 2 + 4 * c[0] ** 2 - (a[0] + b[0] + c[0]) ** 2
    squares = (b[0] - a[0] - c[0]) ** 2 + 2 * (a[0] - c[0]) ** 2
    mean = sum(a) / F(3)
    return [
        4 * sum(four**2) - sum(four) ** 2 - sum((x - y) ** 2 for x, y in combinations(four, 2)),
        young - (gamma * a[0] + b[0]) ** 2,
        three - squares,
        sum(x**2 for x in a) / F(3) - mean**2 - _spread(a),
        16 * _spread(a) + F(16, 15) * _spread(b) - _spread(a + b) - _spread(15 * a - b) / F(15),
        2 * _spread(a) + 2 * _spread(b) - _spread(a + b) - _spread(a - b),
    ]


@claim(
    "afga.lemma-f-1-lines",
    statement="|a - b|^2 <= (1 + gamma)|a|^2 + (1 + 1/gamma)|b|^2, here gamma = 1/(4I-1); |a + b + c|^2 <= 4|a|^2 + "
    "2|b|^2 + 4|c|^2; |mean a_i|^2 + the variance of a_i = mean |a_i|^2; the variance of a_i + b_i is at most 16 "
    "times that of a_i and 16/15 times that of b_i, or twice each; |a + b + c + d|^2 <= 4 (|a|^2 + |b|^2 + |c|^2 + "
    "|d|^2): the differences are sums of squares",
    source="ours, for Lemmas F.1 and F.2 (L2624-3077)",
    extent=Extent.PART,
)
def lines() -> Finding:
    """Young's and Jensen's inequalities as sums of squares, per coordinate, for any number of clients."""
    return identities({"any n": variances, "n = 3": _parts})


F2_STEPS = {
    "eq. (44)": "consensus error after <= keep consensus error + e2 R2 S2 + e2 sigma^2 rho_max^2, with R2 S2 the mean "
    "over the clusters of rho_k^2 (1 + zeta) and the squared slopes at the models: afga.eq-44-repaired",
    "four parts": "R2 S2 <= 4 (rho_L L^2 consensus error + rho_L L^2 drift + mean of rho_k^2 (1 + zeta) sigma_k^2 + "
    "rho_L G2): 4.1, D.1 within, and afga.lemma-f-1-lines",
    "D.1 between": "G2 <= alpha^2 |grad f|^2 + sigma_c^2",
}


def consensus_step(draw: Draw) -> Sum:
    """Steps that add up to eq. (42), in the terms that the search uses."""
    v = _step(draw, "rho_max", "keep", "rho_L", "own")
    after, slopes, G2, e2 = draw("after"), draw("slopes"), draw("G2"), v.eta_l**2
    steps = {
        "eq. (44)": Step(1, after, v.keep * v.inner + e2 * slopes + e2 * v.sigma2 * v.rho_max**2),
        "four parts": Step(e2, slopes, 4 * (v.rho_L * v.L**2 * (v.inner + v.away) + v.own + v.rho_L * G2)),
        "D.1 between": Step(4 * e2 * v.rho_L, G2, v.heterogeneous),
    }
    return Sum(steps, after, consensus_terms(v, v.keep, v.rho_L, v.own, v.inner, v.away))


@claim(
    "afga.lemma-f-2-assembly",
    statement="The three steps that are assumed here add up to Lemma F.2, eq. (42) averaged over the clusters, for "
    "every zeta > 0 and all K, n, m and constants",
    source="ours, for Lemma F.2 (L2850-3077)",
    extent=Extent.PART,
    assumptions=F2_STEPS,
    chain="eq-44-repaired lemma-f-1-lines",
)
def f_2() -> Finding:
    """The sum has no slack, which explains the paper's constants."""
    return summed(consensus_step, F2_STEPS)
