"""Random rounds for Lemma F.8, in two dimensions: sampled sets and gradients are chosen by a search."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as F
from itertools import combinations
from typing import Any

import numpy as np

from fedspec.algorithms import cafga
from fedspec.arith import Array, Mixing, Vector
from fedspec.mixing import topology
from fedspec.plan import Exchange
from fedspec.server.amsgrad import AmsGrad, amsgrad, init
from fedspec_proofs.afga.kit.network import hyper
from fedspec_proofs.afga.kit.networks import matrix
from fedspec_proofs.afga.kit.rounds import given
from fedspec_proofs.afga.kit.server_inductions import rootless
from fedspec_proofs.engines import Choose, exact

ETA_L = F(1, 4)


@dataclass(frozen=True)
class Path:
    """Some rounds with chosen sets and gradients, in two dimensions.

    Attributes:
        n: clients in each cluster.
        m: number of drawn clients.
        W: the clusters' matrices.
        rho: claimed bound of ||W_k - J||_2.
        senders: S_r of each round: the places of the senders, equal in every cluster.
        computing: S_(r,t) of each round and local step: the places of the computing clients, equal in every cluster.
        g: gradients by round, local step and client.
        G: claimed bound of the gradients.
        beta1: decay of the first moment.
        beta2: decay of the second moment.
    """

    n: int
    m: int
    W: tuple[Mixing, ...]
    rho: Any
    senders: tuple[tuple[tuple[int, ...], ...], ...]
    computing: tuple[tuple[tuple[tuple[int, ...], ...], ...], ...]
    g: Array
    G: Any
    beta1: Any
    beta2: Any


DIRECTIONS: list[tuple[Any, Any]] = [(1, 0), (-1, 0), (0, 1), ("3/5", "4/5"), ("4/5", "-3/5"), (0, 0)]


def any_path(choose: Choose) -> Path:
    K, n, rounds, steps = choose.of(1, 1, 2), choose.of(2, 3), choose.of(1, 1, 2), choose.whole(1, 3)
    m = choose.whole(1, n)
    made = [matrix(choose, n) for _ in range(K)]
    sets = list(combinations(range(n), m))

    def drawn() -> tuple[tuple[int, ...], ...]:
        return tuple(choose.of(*sets) for _ in range(K))

    computing = tuple(tuple(drawn() for _ in range(steps)) for _ in range(rounds))
    senders = tuple(drawn() for _ in range(rounds))
    one = choose.of(True, False)
    g = np.empty((rounds, steps, K * n, 2), dtype=object)
    for place in np.ndindex(rounds, steps, K * n):
        g[place] = exact.vector(*(DIRECTIONS[0] if one else choose.of(*DIRECTIONS)))
    told_G, told_rho = choose.of(F(1), F(1), F(1), F(1, 2)), choose.of(F(1), F(1), F(1), F(0))
    rho = max(r for _, r in made) * told_rho
    betas = choose.of(F(0), F(1, 2)), choose.of(F(0), F(3, 4))
    return Path(n, m, tuple(W for W, _ in made), rho, senders, computing, g, told_G, *betas)


def run(path: Path) -> Iterator[tuple[Vector, AmsGrad]]:
    """Yield Delta and the server's moments after each round; the model, which needs a root, is left out."""
    K, n = len(path.W), path.n
    places = [tuple(range(k * n, (k + 1) * n)) for k in range(K)]
    W, zero = topology.clustered(path.W), exact.vector(0, 0)
    h = hyper(ETA_L, beta1=path.beta1, beta2=path.beta2)

    def flat(sets: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
        return tuple(k * n + i for k, S in enumerate(sets) for i in S)

    state, server = init(zero), rootless(amsgrad)
    for r, senders in enumerate(path.senders):
        plan = Exchange(flat(senders), tuple(map(flat, path.computing[r])), W, tuple(places))
        delta, _ = cafga.change(h, zero, np.stack([zero] * (K * n)), given(path.g[r]), plan)
        state = server(state, delta, eta=F(1), beta1=path.beta1, beta2=path.beta2, eps=F(1))
        yield delta, state


def reach(path: Path) -> Any:
    """Bound B = eta_l G sum_(s=1)^I (p + (1 - p) rho^s)."""
    p = F(path.m, path.n)
    return ETA_L * path.G * sum(p + (1 - p) * path.rho**s for s in range(1, len(path.computing[0]) + 1))
