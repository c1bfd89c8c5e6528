"""A toy network: clients, clusters, one round's local steps, and the constants that a statement is given.

    f_i(x) = a_i x^2 / 2 + c_i x        and a gradient with noise of plus or minus nu, by a fair coin

in one dimension, N = K n clients in K clusters. Gradients are affine, so that the mean and the covariance of all
models follow the rules' own recursion exactly (:mod:`.rounds`). Where slopes a_i are equal in a cluster, dissimilarity
is bounded on the whole line, as Assumption D.1 asks; where they are not, it is bounded nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from fedspec.algorithms.cafga import Cafga
from fedspec.arith import Mixing
from fedspec_proofs.engines import exact

EXACT = exact.vector(0)
"""Array that selects exact arithmetic when topologies are made."""


def hyper(eta_l: Any, **more: Any) -> Cafga:
    """Hyper-parameters of AFGA and CAFGA for this eta_l; by default beta1 = beta2 = 0 and eta = eps = 1."""
    return Cafga(eta_l=eta_l, **{"eta": 1, "beta1": 0, "beta2": 0, "eps": 1, **more})


@dataclass(frozen=True)
class Network:
    """Clients, clusters, one round's local steps, and the constants that a statement is given.

    Attributes:
        K: number of clusters.
        n: number of clients in each cluster.
        m: number of drawn clients, for sending and for every local step.
        I: number of local steps.
        eta_l: client learning rate.
        W: the clusters' matrices.
        a: slopes of the gradients.
        c: gradients at zero.
        nu: size of the noise.
        x: the model at the start of the round.
        L: claimed smoothness.
        sigma2: claimed bound of the noise's variance.
        sigma2_k: claimed bound of the dissimilarity in each cluster.
        sigma2_c: claimed bound of the dissimilarity between clusters, together with alpha2.
        alpha2: alpha squared.
        rho: claimed bound of ||W_k - J||_2, for each cluster.
    """

    K: int
    n: int
    m: int
    I: int
    eta_l: Any
    W: tuple[Mixing, ...]
    a: tuple[Any, ...]
    c: tuple[Any, ...]
    nu: Any
    x: Any
    L: Any
    sigma2: Any
    sigma2_k: tuple[Any, ...]
    sigma2_c: Any
    alpha2: Any
    rho: tuple[Any, ...]

    @property
    def N(self) -> int:
        """Number of clients."""
        return self.K * self.n

    @property
    def M(self) -> int:
        """Number of clients sampled per step."""
        return self.K * self.m

    @property
    def clusters(self) -> tuple[tuple[int, ...], ...]:
        """Clusters V_k, as tuples of client indices."""
        return tuple(tuple(range(k * self.n, (k + 1) * self.n)) for k in range(self.K))

    @property
    def rho_max(self) -> Any:
        """Largest rho_k."""
        return max(self.rho)

    @property
    def H(self) -> Any:
        """min(I, 1 / (1 - rho_max))."""
        return self.I if self.rho_max >= 1 else min(Fraction(self.I), 1 / (1 - self.rho_max))

    @property
    def fac(self) -> Any:
        """Factor m (n - m) / (n (n - 1)); 0 for clusters of one client."""
        return Fraction(self.m * (self.n - self.m), self.n * max(self.n - 1, 1))

    @property
    def sbar2(self) -> Any:
        """Mean of the sigma_k^2."""
        return Fraction(sum(self.sigma2_k)) / self.K

    @property
    def slope(self) -> Any:
        """Derivative f'(x) of the global objective at x_r."""
        return sum(a * self.x + c for a, c in zip(self.a, self.c, strict=True)) / Fraction(self.N)

    @property
    def heterogeneous(self) -> Any:
        """Bound alpha^2 f'(x)^2 + sigma_c^2 of Assumption D.1."""
        return self.alpha2 * self.slope**2 + self.sigma2_c
