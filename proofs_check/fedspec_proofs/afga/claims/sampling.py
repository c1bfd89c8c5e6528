"""Lemma F.6: second moments of sums over sampled clients, by enumerating every set."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product
from typing import Any

import numpy as np

from fedspec.algorithms.afga import mean_change
from fedspec.mixing.gossip import cluster_mean
from fedspec_proofs.afga.kit.mixed import chances
from fedspec_proofs.claim import Dropped, Extent, Finding, claim, false
from fedspec_proofs.engines import Draw, curried, exact, identities, independent, mean, several, subsets

SIZES = [(1, 2, 1), (1, 2, 2), (1, 3, 1), (1, 3, 2), (1, 4, 2), (1, 4, 3), (2, 2, 1), (2, 2, 2), (2, 3, 2), (3, 2, 1)]
L = "Lemma F.6, eq. (87) (L4539)"


def summed(y: Any, K: int, n: int, sets: Any) -> Any:
    """Sum of y over the sets of all clusters, computed from the server's mean."""
    zero = y[0] * 0
    parts = [mean_change(y[k * n : (k + 1) * n], zero, S) * len(S) for k, S in enumerate(sets)]
    return cluster_mean(np.stack(parts), exact.vector(*[F(1, K)] * K))[0] * K


def expected(y: Any, K: int, n: int, m: int) -> Any:
    """E|sum over clusters and sampled clients of y|^2 for d = 1, by enumerating every outcome."""
    one = list(subsets(n, m))
    return mean(lambda sets: summed(y, K, n, sets) ** 2, independent(*([one] * K)))


def _centres(y: Any, K: int, n: int) -> list[Any]:
    return [sum(y[k * n : (k + 1) * n, 0]) / F(n) for k in range(K)]


def spread(y: Any, K: int, n: int) -> Any:
    """Sum over clusters and clients of |y - ybar_k|^2 for d = 1."""
    centres = _centres(y, K, n)
    return sum((y[k * n + i, 0] - centres[k]) ** 2 for k in range(K) for i in range(n))


def moment(y: Any, K: int, n: int, m: int, chance: Any = None) -> Any:
    """Second moment p^2 |sum y|^2 + fac sum |y - ybar_k|^2; p = m/n unless ``chance`` is given."""
    p = F(m, n) if chance is None else chance
    return p**2 * sum(y[:, 0]) ** 2 + F(m * (n - m), n * (n - 1)) * spread(y, K, n)


@curried
def exactly(draw: Draw, K: int, n: int, m: int, chance: Any = None) -> list[Any]:
    """Identity between the enumerated second moment and the exact formula."""
    y = draw("y", K * n, 1)
    return [expected(y, K, n, m) - moment(y, K, n, m, chance)]


def bound(y: Any, K: int, n: int, m: int) -> Any:
    """Right side of eq. (87)."""
    return F(m * (m - 1), n * (n - 1)) * sum(y[:, 0]) ** 2 + K * F(m * (n - m), n * (n - 1)) * sum(y[:, 0] ** 2)


def slack(y: Any, K: int, n: int, m: int) -> Any:
    """Difference of the lemma's two sides, as printed."""
    centres = _centres(y, K, n)
    apart = sum((centres[k] - centres[h]) ** 2 for k in range(K) for h in range(k))
    return F(m * (n - m), n * (n - 1)) * ((K - 1) * spread(y, K, n) + n * apart)


@curried
def gap(draw: Draw, K: int, n: int, m: int) -> list[Any]:
    """Right side of eq. (87) minus its left side and the stated difference; zero if the difference is exact."""
    y = draw("y", K * n, 1)
    return [bound(y, K, n, m) - expected(y, K, n, m) - slack(y, K, n, m)]


def one_more_cluster(draw: Draw) -> list[Any]:
    """Induction step over clusters for the exact second moment: one more cluster samples independently.

    S is the sum of y over the clusters so far, Q and P the new cluster's sum |y|^2 and |sum y|^2.
    """
    n, _, alone, both, fac = chances(draw)
    S2, spread, along, Q, P = several(draw, "S2, spread, along, Q, P")
    so_far = alone**2 * S2 + fac * spread
    after = so_far + 2 * alone**2 * along + alone * Q + both * (P - Q)
    return [after - alone**2 * (S2 + 2 * along + P) - fac * (spread + Q - P / n)]


def any_gap(draw: Draw) -> list[Any]:
    """Eq. (87) minus the exact moment, and one more cluster in ``apart`` = K C2 - CC; C2 = sum |ybar_k|^2, CC = |sum
    ybar_k|^2.
    """
    n, _, alone, both, fac = chances(draw)
    K, spread, C2, CC, c2, along = several(draw, "K, spread, C2, CC, c2, along")
    apart = K * C2 - CC
    right = both * n**2 * CC + K * fac * (spread + n * C2)
    exact_moment = alone**2 * n**2 * CC + fac * spread
    later = apart + C2 - 2 * along + K * c2
    return [
        right - exact_moment - fac * ((K - 1) * spread + n * apart),
        later - ((K + 1) * (C2 + c2) - (CC + 2 * along + c2)),
    ]


DRAWS = {
    "without replacement": "S^k are m different ones of the n >= 2 clients of cluster k, all sets as likely; for n = "
    "1 nothing is drawn",
    "independent": "the clusters draw independently",
}
PAIR = exact.vector(1, -1)[:, None]
TWO_PAIRS = exact.vector(1, -1, 1, -1)[:, None]


def twice_the_same() -> Any:
    """E|sum y|^2 for n = m = 2 and y = (1, -1), sampled with replacement."""
    return sum(F(1, 4) * (PAIR[i, 0] + PAIR[j, 0]) ** 2 for i, j in product((0, 1), repeat=2))


def one_for_both() -> Any:
    """Second moment for two clusters with y = (1, -1) that always sample the same index."""
    return mean(lambda S: summed(TWO_PAIRS, 2, 2, (S, S)) ** 2, subsets(2, 1))


REPLACED, TOGETHER = (
    "n = m = 2, y = (1, -1), drawn with replacement",
    "K = n = 2, m = 1, y = (1, -1, 1, -1), one draw for both",
)


def otherwise(words: str, left: Any, right: Any) -> Dropped:
    """Dropped assumption, with an explicit instance: the assumption matters if ``left`` exceeds ``right``."""
    return Dropped(left > right, f"by hand: {words}: left side {left}, right side {right}")


def inexact(share: Any = 1) -> dict[str, Dropped]:
    """Dropped assumptions of the exact moment, or of a share of it: sampling with replacement, or jointly."""
    return {
        "without replacement": otherwise(REPLACED, share * twice_the_same(), share * moment(PAIR, 1, 2, 2)),
        "independent": otherwise(TOGETHER, share * one_for_both(), share * moment(TWO_PAIRS, 2, 2, 1)),
    }


def _not_between() -> Dropped:
    """K makes up for the one draw in eq. (87), which is an equality then, but the lemma's difference is not 0."""
    left, right, between = one_for_both(), bound(TWO_PAIRS, 2, 2, 1), slack(TWO_PAIRS, 2, 2, 1)
    words = f"by hand: {TOGETHER}: left side {left}, right side {right}, the difference said to be {between}"
    return Dropped(right - left != between, words)


@claim(
    "afga.lemma-f-6",
    statement="E|sum_k sum_i 1{i in S^k} y_(k,i)|^2 <= m(m-1)/(n(n-1)) |sum y|^2 + K m(n-m)/(n(n-1)) sum |y|^2, S^k "
    "the clients of cluster k that are drawn; the difference is m(n-m)/(n(n-1)) {(K-1) sum |y - ybar_k|^2 + n "
    "sum_(k<l) |ybar_k - ybar_l|^2}",
    source=L,
    extent=Extent.WHOLE,
    assumptions=DRAWS,
)
def lemma_f_6() -> Finding:
    """Proof from the exact moment, by sums over clients and by induction over clusters, for any m <= n.

    Through the server's mean: every draw at K <= 3, n <= 4, d = 1 (coordinates add up).
    """
    general = {"any clusters": one_more_cluster, "any gap": any_gap}
    sizes = {f"K = {K}, n = {n}, m = {m}": gap(K, n, m) for K, n, m in SIZES}
    found = identities({**general, **sizes}, instances=6)
    replaced = otherwise(REPLACED, twice_the_same(), bound(PAIR, 1, 2, 2))
    dropped = {"without replacement": replaced, "independent": _not_between()}
    return Finding(found.verdict, found.evidence, dropped, found.second)


@claim(
    "afga.lemma-f-6-exact",
    statement="E|sum_k sum_i 1{i in S^k} y_(k,i)|^2 = (m/n)^2 |sum y|^2 + m(n-m)/(n(n-1)) sum_k sum_i |y_(k,i) - "
    "ybar_k|^2, S^k the clients of cluster k that are drawn",
    source="ours, about " + L,
    assumptions=DRAWS,
)
def lemma_f_6_exact() -> Finding:
    """Proof by the probabilities of sampling one and two clients and induction over clusters; then for small sizes."""
    sizes = {f"K = {K}, n = {n}, m = {m}": exactly(K, n, m) for K, n, m in SIZES}
    found = identities({"any clusters": one_more_cluster, **sizes}, instances=6)
    return Finding(found.verdict, found.evidence, inexact(), found.second)


@false(
    "afga.false-f-6-pairs",
    of=lemma_f_6_exact,
    statement="The same with the pair probability m(m-1)/(n(n-1)) in place of (m/n)^2",
)
def pair_probability() -> Finding:
    """Refuted: the pair probability belongs with sum |y|^2, not with the spread about the cluster's mean."""
    return identities({"K = 1, n = 2, m = 1": exactly(1, 2, 1, F(0))})


def _around(draw: Draw) -> list[Any]:
    """Cluster whose y sum to zero, at any n: by the chances of one and of two clients; Q is the sum of y^2."""
    n, _, alone, both, fac = chances(draw)
    Q = draw("Q")
    return [(alone * Q - both * Q) / n**2 - fac * Q / n**2]


@claim(
    "afga.eq-39",
    statement="(1/n) sum over S^k_t of grad f_i(xbar^k) has the variance m(n-m)/(n(n-1)) 1/n^2 sum_i |grad f_i - grad "
    "fbar_k|^2 <= m(n-m)/(n(n-1)) sigma_k^2/n",
    source="Lemma F.1, the display after eq. (39) (L2722-2756), which drops the last 1/n",
    extent=Extent.WHOLE,
    assumptions={
        "without replacement": DRAWS["without replacement"],
        "D.1 within": "1/n sum over the cluster of |grad f_i - grad fbar_k|^2 <= sigma_k^2, for the inequality",
    },
    chain="lemma-f-6-exact",
)
def eq_39() -> Finding:
    """Lemma F.6 for y_i = grad f_i - grad fbar_k, with sum zero; then at n <= 4, d = 1, by enumerating every draw."""

    @curried
    def body(draw: Draw, n: int, m: int) -> list[Any]:
        g = draw("g", n, 1)
        y = g - sum(g[:, 0]) / F(n)
        return [expected(y / F(n), 1, n, m) - F(m * (n - m), n * (n - 1)) / F(n**2) * sum(y[:, 0] ** 2)]

    sizes = {f"n = {n}, m = {m}": body(n, m) for n, m in ((2, 1), (2, 2), (3, 1), (3, 2), (4, 2))}
    found = identities({"any n": _around, **sizes}, instances=8)
    dropped = {
        "without replacement": otherwise(REPLACED, twice_the_same() / 4, F(0)),
        "D.1 within": otherwise("n = 2, m = 1, gradients 1 and -1, sigma_k = 0", expected(PAIR, 1, 2, 1) / 4, F(0)),
    }
    return Finding(found.verdict, found.evidence, dropped, found.second)
