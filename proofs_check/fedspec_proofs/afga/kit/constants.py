"""Constants of a toy network, computed exactly: smoothness, dissimilarity and spectral gap of its mixing matrices.

At the end non-convex clients that meet every assumption of the theorems, with rational gradients:

    bump    f(x) = u^2 / (1 + u^2),    u = x - b    |f''| <= 2, |f'| <= 13/20, rational values too
    well    f(x) = log(1 + u^2) / 2                 |f''| <= 1, |f'| <= 1/2, rational gradients

Both are bounded below by 0 and take their minimum at b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import Any

from fedspec.arith import Array, Mixing
from fedspec.mixing import topology
from fedspec.plan import Oracle
from fedspec_proofs.afga.kit.network import EXACT, Network
from fedspec_proofs.engines.worst_case.proof import semidefinite
from fedspec_proofs.solvers import sympy


def largest_slope(a: Any) -> Any:
    """Smoothness constant of quadratics: the largest absolute second derivative."""
    return max(abs(a_i) for a_i in a)


def cluster_means(net: Network, of: Any) -> list[Any]:
    """Mean of one number per client, for each cluster."""
    return [sum(of[i] for i in V) / Fraction(net.n) for V in net.clusters]


def dissimilar(net: Network, k: int) -> Any:
    """Smallest sigma_k^2 that holds for every x; None if no constant does."""
    V = net.clusters[k]
    if len({net.a[i] for i in V}) > 1:
        return None
    mean = sum(net.c[i] for i in V) / Fraction(net.n)
    return sum((net.c[i] - mean) ** 2 for i in V) / Fraction(net.n)


def _parabola(net: Network, alpha2: Any) -> tuple[Any, Any, Any]:
    """A, B and C of alpha^2 f'(x)^2 - 1/K sum_k fbar_k'(x)^2 = A x^2 + B x + C."""
    slopes, starts = cluster_means(net, net.a), cluster_means(net, net.c)
    slope, start = sum(slopes) / Fraction(net.K), sum(starts) / Fraction(net.K)
    A = alpha2 * slope**2 - sum(s**2 for s in slopes) / Fraction(net.K)
    B = 2 * (alpha2 * slope * start - sum(s * c for s, c in zip(slopes, starts, strict=True)) / Fraction(net.K))
    return A, B, alpha2 * start**2 - sum(c**2 for c in starts) / Fraction(net.K)


def between(net: Network, alpha2: Any, sigma2_c: Any) -> bool:
    """True if 1/K sum_k fbar_k'(x)^2 <= alpha^2 f'(x)^2 + sigma_c^2 for all x, decided as a nonnegative quadratic."""
    A, B, C = _parabola(net, alpha2)
    return bool(A >= 0 and C + sigma2_c >= 0 and 4 * A * (C + sigma2_c) >= B**2)


def least_sigma2_c(net: Network, alpha2: Any) -> Any:
    """Smallest sigma_c^2 for the given alpha^2; if none exists, a number >= 0 that :func:`between` rejects."""
    A, B, C = _parabola(net, alpha2)
    return max(Fraction(0), -C + (B**2 / (4 * A) if A > 0 else Fraction(0)))


def never_negative(M: Array) -> bool:
    """True if a symmetric matrix of fractions has no negative eigenvalue."""
    return semidefinite(M.tolist())


def mixes(W: Mixing, rho: Any) -> bool:
    """True if ||W - J||_2 <= rho: rho^2 I - (W - J)'(W - J) has no negative eigenvalue."""
    gap = W - topology.complete(len(W), EXACT)
    identity = topology.alone(len(W), EXACT)
    return never_negative(rho**2 * identity - gap.T @ gap)


def doubly_stochastic(W: Mixing) -> bool:
    """True if entries are in [0, 1] and rows and columns sum to one."""
    sums = (*W.sum(axis=0), *W.sum(axis=1))
    return all(s == 1 for s in sums) and all(0 <= w <= 1 for w in W.flat)


def only_consensus_is_fixed(W: Mixing) -> bool:
    """True if null(I - W) = span(1): the rank of I - W is n - 1."""
    M = topology.alone(len(W), EXACT) - W
    rows = [[sympy.QQ(c.numerator, c.denominator) for c in row] for row in M]
    return bool(sympy.polys.matrices.DomainMatrix(rows, M.shape, sympy.QQ).rank() == len(W) - 1)


def keeps(W: Mixing, x: Array, share: Any) -> bool:
    """True if |(W - J)x| = share |x|: with :func:`mixes` it makes ||W - J||_2 exactly this share."""
    image = (W - topology.complete(len(W), EXACT)) @ x
    return bool(image @ image == share**2 * (x @ x))


def least_rho(W: Mixing) -> Fraction:
    """Upper bound of ||W - J||_2, the smallest multiple of 1/64 that is one; starts at ||W - J||_F."""
    gap = W - topology.complete(len(W), EXACT)
    # ||.||_2 <= ||.||_F, where to start; then down.
    square = sum(g**2 for g in gap.flat)
    k = isqrt(int(square * 64**2)) + 1
    while k > 0 and mixes(W, Fraction(k - 1, 64)):
        k -= 1
    return Fraction(k, 64)


@dataclass(frozen=True)
class Well:
    """Client s log(1 + (x - b)^2) / 2, a "well" with its centre at b.

    Attributes:
        s: the depth s; s >= 0 makes the objective bounded below.
        b: place of its minimum.
    """

    s: Any
    b: Any

    @property
    def L(self) -> Any:
        """Smoothness constant |s|: with u = x - b, f'' = s (1 - u^2)/(1 + u^2)^2 lies in [-|s|, |s|]."""
        return abs(self.s)

    @property
    def G(self) -> Any:
        """Bound |s|/2 of the slopes: |u|/(1 + u^2) <= 1/2, with equality at u = 1."""
        return abs(self.s) / Fraction(2)

    def slope(self, x: Any) -> Any:
        """Gradient at x."""
        u = x - self.b
        return self.s * u / (1 + u * u)


@dataclass(frozen=True)
class Bump:
    """Client s u^2/(1 + u^2) with u = x - b, a "bump"; f'' = 2 s (1 - 3 u^2)/(1 + u^2)^3."""

    s: Any
    b: Any

    @property
    def L(self) -> Any:
        """Smoothness constant 2|s|, attained at b."""
        return 2 * abs(self.s)

    @property
    def G(self) -> Any:
        """Bound 13/20 |s| of the slopes; their maximum is 3 sqrt(3)/8 |s|, at u^2 = 1/3."""
        return Fraction(13, 20) * abs(self.s)

    def value(self, x: Any) -> Any:
        """Value at x."""
        u = x - self.b
        return self.s * u * u / (1 + u * u)

    def slope(self, x: Any) -> Any:
        """Gradient at x."""
        u = x - self.b
        return 2 * self.s * u / (1 + u * u) ** 2


def oracle(f: Well | Bump) -> Oracle:
    """Gradient of a client as an oracle."""
    return lambda t, x: f.slope(x)


def oracles(clients: Sequence[Well | Bump]) -> list[Oracle]:
    """Gradients of clients as oracles."""
    return [oracle(f) for f in clients]
