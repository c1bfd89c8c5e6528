"""Toy networks on which every quantity in the paper's statements is an exact number.

    f_i(x) = a_i x^2 / 2 + c_i x        and a gradient with noise of plus or minus nu, by a fair coin

in one dimension, N = K n clients in K clusters. Gradients are affine, so that the mean and the covariance of all
models follow the rules' own recursion exactly (:mod:`.rounds`). Where slopes a_i are equal in a cluster, dissimilarity
is bounded on the whole line, as Assumption D.1 asks; where they are not, it is bounded nowhere.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from fedspec.arith import Mixing
from fedspec.mixing import topology
from fedspec_proofs.afga.kit import constants
from fedspec_proofs.afga.kit.network import EXACT, Network
from fedspec_proofs.engines.choose import Choose


def blended_permutation(n: int, order: tuple[int, ...], rho: Any) -> Mixing:
    """Matrix rho P + (1 - rho) J, with ||W - J||_2 = rho exactly, since a permutation P keeps lengths."""
    return topology.blended([rho, 1 - rho], [topology.permutation(order, EXACT), topology.complete(n, EXACT)])


ORDERS = {
    1: ((0,),),
    2: ((0, 1), (1, 0)),
    3: ((0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2), (0, 2, 1), (2, 1, 0)),
    4: ((0, 1, 2, 3), (1, 2, 3, 0), (1, 0, 3, 2)),
}


def matrix(choose: Choose, n: int) -> tuple[Mixing, Fraction]:
    """Random doubly stochastic matrix and its rho: a blended permutation, or a lazy ring with rho bounded in 64ths."""
    rho: Any = choose.of(*(Fraction(k, 8) for k in range(8)), Fraction(99, 100))
    if n > 2 and choose.of(0, 0, 0, 1):
        W = topology.lazy(topology.ring(n, EXACT), rho)
        return W, constants.least_rho(W)
    return blended_permutation(n, choose.of(*ORDERS[n]), rho), rho if n > 1 else Fraction(0)


SHARES = (Fraction(1), Fraction(1), Fraction(1), Fraction(1), Fraction(0), Fraction(1, 4))
"""Ratios of the constant given to a statement and the true one; one in three is below 1, which breaks an assumption."""


def network(choose: Choose) -> Network:
    """Random network; a constant given too small or a step size too large sometimes breaks an assumption."""
    K = choose.of(1, 1, 2)
    n = choose.of(2, 3, 2, 3, 1) if K == 1 else 2
    m, steps = choose.whole(1, n), choose.of(1, 2, 3, 1, 2, 12)
    matrices = [matrix(choose, n) for _ in range(K)]
    W, rho = [w for w, _ in matrices], [r for _, r in matrices]
    slopes = [choose.rational(-1, 1, 2) for _ in range(K)] if choose.of(0, 1) else [choose.rational(-1, 1, 2)] * K
    a = [slopes[k] for k in range(K) for _ in range(n)]
    if choose.of(0, 0, 0, 0, 0, 1):
        a[-1] = a[-1] + 1
    c = [choose.rational(-1, 1, 1) for _ in range(K * n)]
    nu, x = choose.of(Fraction(0), Fraction(1), Fraction(1, 2)), choose.rational(-2, 2, 1)
    bare = Network(K, n, m, steps, 1, tuple(W), tuple(a), tuple(c), nu, x, 1, 0, (0,) * K, 0, 1, tuple(rho))
    L = constants.largest_slope(a) or Fraction(1)
    alpha2 = choose.of(Fraction(1), Fraction(4), Fraction(9, 4))
    shares = [choose.of(*SHARES) for _ in range(5)]
    pace = choose.of(*(Fraction(p) for p in (1, 1, 1, "1/4", 8)))
    told_L = L * (shares[0] or Fraction(1, 8))
    intra = tuple((constants.dissimilar(bare, k) or Fraction(0)) * shares[2] for k in range(K))
    return Network(
        K=K, n=n, m=m, I=steps, eta_l=pace / (8 * steps * told_L), W=tuple(W), a=tuple(a), c=tuple(c), nu=nu, x=x,
        L=told_L, sigma2=nu**2 * shares[1], sigma2_k=intra, sigma2_c=constants.least_sigma2_c(bare, alpha2) * shares[3],
        alpha2=alpha2, rho=tuple(r * shares[4] for r in rho),
    )  # fmt: skip


ASSUMPTIONS: dict[str, str] = {
    "4.1": "every f_i is L-smooth",
    "4.2": "given everything before and who computes, the noise of every gradient has mean zero and variance at most "
    "sigma^2",
    "D.1 within": "1/n sum over a cluster of |f_i' - fbar_k'|^2 <= sigma_k^2 everywhere",
    "D.1 between": "1/K sum_k |fbar_k'|^2 <= alpha^2 |f'|^2 + sigma_c^2 everywhere",
    "D.2": "every W_k is doubly stochastic with ||W_k - J||_2 <= rho_k < 1",
    "step": "eta_l <= 1/(8 I L)",
}
"""Assumptions of the lemmas about one round, by the keys of :data:`HOLDS`."""

DRAWN = {
    "draws": "S_r and every S_(r,t) are m of each cluster's n clients, without replacement, all sets as likely "
    "whatever came before, in one cluster whatever in the others; S_r whatever the round's local steps were",
    "unbiased": "given everything before and who computes, the noise has mean zero",
    "uncorrelated": "and so it has given the noise of all other clients at that step",
}
"""Assumptions on sampling and noise that the paper uses and does not print."""


PRINTED = {"4.1": "", "4.2": "", "4.3": "every stochastic gradient is at most G long"} | ASSUMPTIONS
"""Assumptions that the paper prints for Lemmas F.1 and F.5, including 4.3."""


def _within(net: Network) -> bool:
    least = [constants.dissimilar(net, k) for k in range(net.K)]
    return all(s is not None and s <= told for s, told in zip(least, net.sigma2_k, strict=True))


HOLDS: dict[str, Any] = {
    "4.1": lambda net: constants.largest_slope(net.a) <= net.L,
    "4.2": lambda net: net.nu**2 <= net.sigma2,
    "D.1 within": _within,
    "D.1 between": lambda net: constants.between(net, net.alpha2, net.sigma2_c),
    "D.2": lambda net: all(
        constants.doubly_stochastic(W) and r < 1 and constants.mixes(W, r) for W, r in zip(net.W, net.rho, strict=True)
    ),
    "step": lambda net: net.eta_l * 8 * net.I * net.L <= 1,
}
"""Exact test of each assumption on a network."""


def some(table: dict[str, Any], *names: str) -> dict[str, Any]:
    """Select entries of a table, in the order of the names."""
    return {name: table[name] for name in names}


def conditions(net: Network, *names: str) -> dict[str, bool]:
    """Assumptions in words, each with True if the network meets it."""
    return {f"{name}: {ASSUMPTIONS[name]}": bool(HOLDS[name](net)) for name in names or HOLDS}


def two_tilts(c: tuple[int, int], rho: Any, nu: Any = 0, steps: int = 1) -> Network:
    """Two clients with linear objectives c_i x, one of which is sampled; gradients are bounded, curvature is zero."""
    W = blended_permutation(2, (0, 1), Fraction(rho))
    mean = Fraction(sum(c), 2)
    return Network(
        K=1, n=2, m=1, I=steps, eta_l=Fraction(1, 8 * steps), W=(W,), a=(Fraction(0),) * 2, c=tuple(map(Fraction, c)),
        nu=Fraction(nu), x=Fraction(0), L=Fraction(1), sigma2=Fraction(nu) ** 2,
        sigma2_k=(sum((c_i - mean) ** 2 for c_i in c) / 2,), sigma2_c=Fraction(0), alpha2=Fraction(1),
        rho=(Fraction(rho),),
    )  # fmt: skip


def apart(pace: int, L: Any = 1) -> Network:
    """Two clients -x^2/2, both computing, noise of size 1, three local steps; eta_l = pace/24, L as given."""
    net = two_tilts((0, 0), Fraction(1, 2), nu=1, steps=3)
    return replace(net, m=2, a=(Fraction(-1),) * 2, eta_l=Fraction(pace, 24), L=Fraction(L))


def opposed() -> Network:
    """Two clusters with opposite linear objectives, each of two equal clients, one of which is sampled."""
    W = blended_permutation(2, (0, 1), Fraction(1, 2))
    return Network(
        K=2, n=2, m=1, I=2, eta_l=Fraction(1, 16), W=(W, W), a=(Fraction(0),) * 4,
        c=tuple(map(Fraction, (1, 1, -1, -1))), nu=Fraction(0), x=Fraction(0), L=Fraction(1), sigma2=Fraction(0),
        sigma2_k=(Fraction(0),) * 2, sigma2_c=Fraction(0), alpha2=Fraction(1), rho=(Fraction(1, 2),) * 2,
    )  # fmt: skip


BREAKING: tuple[tuple[str, Network], ...] = (
    ("4.1", apart(128, Fraction(1, 128))),
    ("4.2", replace(two_tilts((0, 0), Fraction(1, 2), nu=1, steps=3), sigma2=Fraction(0))),
    ("D.1 within", replace(two_tilts((1, -1), Fraction(1, 2)), sigma2_k=(Fraction(0),))),
    ("D.1 between", opposed()),
    ("D.2", replace(two_tilts((0, 0), Fraction(1, 8), nu=1), rho=(Fraction(0),))),
    ("step", apart(128)),
)
"""Networks that violate exactly one assumption, with that assumption's name."""
