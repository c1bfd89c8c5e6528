"""Readings of AFGA, CAFGA and the decentralised baselines with which AFGA is compared."""

from __future__ import annotations

from enum import StrEnum


class ClusterWeights(StrEnum):
    """Weights of the clusters' mean changes at CAFGA's server."""

    EQUAL = "equal"
    """w_k = 1/K: AFGA, Alg. 2, line 20 (L396-401)."""
    SIZES = "sizes"
    """w_k = n_k / N, external: the paper has clusters of one size (L408); if they differ, this keeps objective (1)."""


class Broadcast(StrEnum):
    """Clients that begin a round of CAFGA from the server's model."""

    ALL = "all"
    """Every client of the cluster, as in AFGA, Alg. 1, line 4 (L163); the proofs need it (x_bar_(r,0) = x_r)."""
    NEIGHBOURS = "neighbours"
    """The senders and the clients that mix with one (W_ij > 0): "all local neighbors", Alg. 2, line 5 as printed
    (L363). The other clients continue from their own last models; the box doesn't mention them.
    """


class Sampling(StrEnum):
    """Clients that compute and mix in communication-adapted AFGA, of which only prose exists (L434-442, footnote 4)."""

    ROUND = "round"
    """S_r at every local step: "selected clients in each round"; all other clients may be offline."""
    STEP = "step"
    """S_(r,t), drawn again at every local step as in Alg. 1; clients outside it keep their models."""


class RingOfTwo(StrEnum):
    """Mixing weights in a ring of two clients, where both neighbours are the same client."""

    HALVES = "halves"
    """W_ij = 1/2: the neighbour counts once."""
    THIRDS = "thirds"
    """W_ii = 1/3, W_ij = 2/3: the neighbour counts twice."""


class Order(StrEnum):
    """Order of mixing and gradient step in decentralised SGD, and the model at which the gradient is taken."""

    COMBINE_THEN_ADAPT = "combine-then-adapt"
    """X = W X - eta_l G(X): Lian et al. (2017), Algorithm 1."""
    ADAPT_THEN_COMBINE = "adapt-then-combine"
    """X = W (X - eta_l G(X)): the gradient step first, then mixing, as in AFGA and Gossip-PGA."""
    GRADIENT_AT_COMBINED = "gradient-at-combined"
    """X = W X - eta_l G(W X): called combine-then-adapt in the literature on diffusion (Sayed, 2014)."""


class Denominators(StrEnum):
    """Denominator of decentralised Adam."""

    LOCAL = "local"
    """sqrt(v_hat) + eps, each client's own, v_hat_0 = 0: Nazari et al. (2019), Algorithm 1, which prints no eps."""
    TRACKED = "tracked"
    """sqrt(max(u_tilde, eps)), which follows the mean of the v_hat by gossip from v_hat_0 = eps: Chen et al. (2021)."""
