"""Mixing matrices: what they are exactly, how fast they mix, and which are refused."""

from __future__ import annotations

from fractions import Fraction as F
from math import cos, pi, sqrt

import numpy as np
import pytest
from test_spec.exact import matrix

from fedspec.errors import MixingError
from fedspec.mixing import topology
from fedspec.mixing.gossip import check_mixing, gossip
from fedspec.readings import RingOfTwo

EXACT = np.array([F(0)], dtype=object)


def some(seed: int, n: int = 5) -> np.ndarray:
    return topology.random_permutations(n, 3, np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("n", "rho"),
    [(3, 0), (4, 1 / 3), (5, 0.53934), (10, 0.87268), (20, 0.96737), (50, 0.99474), (100, 0.998684)],
)
def test_rings_mix_as_slowly_as_the_paper_says(n: int, rho: float) -> None:
    """0.995 for 50 clients and 0.873 for 10 are AFGA's (L577-598); the others are (1 + 2 cos(2 pi / n)) / 3."""
    assert topology.rho(topology.ring(n)) == pytest.approx(rho, abs=6e-6)
    if n % 2 and n > 3:
        assert topology.rho(topology.ring(n)) == pytest.approx((1 + 2 * cos(2 * pi / n)) / 3)


def test_rings_are_exact_and_degenerate_as_documented() -> None:
    assert (topology.ring(1, EXACT) == matrix([1])).all()
    assert (topology.ring(2, EXACT) == matrix(["1/2", "1/2"], ["1/2", "1/2"])).all()
    thirds = topology.ring(2, EXACT, RingOfTwo.THIRDS)
    assert (thirds == matrix(["1/3", "2/3"], ["2/3", "1/3"])).all()
    assert topology.rho(thirds) == pytest.approx(1 / 3)
    assert topology.rho(topology.ring(2)) == pytest.approx(0, abs=1e-15)
    assert (topology.ring(3, EXACT) == topology.complete(3, EXACT)).all()
    assert topology.ring(4, EXACT)[0].tolist() == [F(1, 3), F(1, 3), 0, F(1, 3)]


def test_metropolis_weights_of_a_star() -> None:
    W = topology.metropolis(4, [(0, 1), (0, 2), (0, 3)], EXACT)
    assert W[0].tolist() == [F(1, 4)] * 4
    assert W[1].tolist() == [F(1, 4), F(3, 4), 0, 0]
    assert (W == W.T).all()
    check_mixing(W)
    assert topology.connected(W)
    # The path of three: degrees 1, 2, 1.
    path = topology.metropolis(3, [(0, 1), (2, 1)], EXACT)
    assert (path == matrix(["2/3", "1/3", 0], ["1/3", "1/3", "1/3"], [0, "1/3", "2/3"])).all()


def test_clusters_stand_apart() -> None:
    W = topology.clustered([topology.ring(3, EXACT), topology.complete(2, EXACT)])
    check_mixing(W)
    assert (W[:3, 3:] == 0).all() and (W[3:, :3] == 0).all()
    assert topology.rho(W) == pytest.approx(1)
    assert not topology.connected(W)
    assert topology.rho(topology.clustered([topology.ring(5)])) == pytest.approx(topology.rho(topology.ring(5)))


def test_mean_of_permutations_is_exact_and_not_symmetric() -> None:
    for seed in range(5):
        W = topology.random_permutations(6, 3, np.random.default_rng(seed), EXACT)
        assert {sum(row) for row in W} == {sum(column) for column in W.T} == {F(1)}
        assert min(W.flat) >= 0 and {x.denominator for x in W.flat} <= {1, 3}
        again = topology.random_permutations(6, 3, np.random.default_rng(seed), EXACT)
        assert (again == W).all()
    assert any((some(seed) != some(seed).T).any() for seed in range(5))


def test_balanced_matrices() -> None:
    A = np.random.default_rng(0).random((10, 10)) + 0.01
    W = topology.balanced(A)
    check_mixing(W)
    # Scaling keeps every cross-ratio.
    ratio = A[0, 0] * A[1, 1] / (A[0, 1] * A[1, 0])
    assert W[0, 0] * W[1, 1] / (W[0, 1] * W[1, 0]) == pytest.approx(ratio)
    assert 0 < topology.rho(W) < 1
    with pytest.raises(MixingError, match="not positive"):
        topology.balanced(np.eye(2))
    with pytest.raises(MixingError, match="after 1 sweeps"):
        topology.balanced(A, sweeps=1)


def test_rho_is_a_singular_value() -> None:
    """Doubly stochastic, eigenvalues 1, 0, 0, and yet it does not average at once: AFGA, L287-289, says it would."""
    W = matrix(["1/2", "1/2", 0], ["1/6", "1/6", "2/3"], ["1/3", "1/3", "1/3"])
    check_mixing(W)
    assert sorted(np.abs(np.linalg.eigvals(W.astype(float)))) == pytest.approx([0, 0, 1], abs=1e-7)
    assert topology.rho(W) == pytest.approx(sqrt(12) / 6)


def test_connected_graphs_that_never_mix() -> None:
    cycle = topology.permutation([1, 2, 0], EXACT)
    assert topology.connected(cycle) and topology.rho(cycle) == pytest.approx(1)
    swap = topology.permutation([1, 0])
    assert topology.connected(swap) and topology.rho(swap) == pytest.approx(1)
    assert topology.rho(topology.lazy(swap, 0.5)) == pytest.approx(0, abs=1e-15)
    assert topology.rho(topology.alone(3)) == pytest.approx(1) and not topology.connected(topology.alone(3))
    assert topology.connected(topology.alone(1)) and topology.rho(topology.alone(1)) == 0


@pytest.mark.parametrize("seed", range(8))
def test_algebra_of_mixing(seed: int) -> None:
    U, V = some(seed), some(seed + 100)
    for W in (U @ V, U.T, topology.blended([0.25, 0.75], [U, V])):
        check_mixing(W)
        assert topology.rho(W) <= 1 + 1e-12
    assert topology.rho(U @ V) <= topology.rho(U) * topology.rho(V) + 1e-12
    assert topology.rho(np.linalg.matrix_power(U, 4)) <= topology.rho(U) ** 4 + 1e-12
    P = topology.permutation(np.random.default_rng(seed).permutation(5).tolist())
    assert topology.rho(P @ U @ P.T) == pytest.approx(topology.rho(U))
    assert topology.rho(topology.blended([0.75, 0.25], [U, topology.complete(5)])) == pytest.approx(
        0.75 * topology.rho(U)
    )


@pytest.mark.parametrize("seed", range(8))
def test_one_exchange(seed: int) -> None:
    """It keeps the mean and the range of every coordinate, and draws the models together by rho at least."""
    W, X = some(seed), np.random.default_rng(seed + 50).normal(size=(5, 3))
    after = gossip(X, W)
    assert after.mean(0) == pytest.approx(X.mean(0))
    assert (after.max(0) <= X.max(0) + 1e-12).all() and (after.min(0) >= X.min(0) - 1e-12).all()
    spread, spread_after = (float(np.linalg.norm(Y - Y.mean(0))) for Y in (X, after))
    assert spread_after <= topology.rho(W) * spread + 1e-12


@pytest.mark.parametrize(
    ("W", "what"),
    [
        (matrix([1, 0], [1, 0]), "column 0 sums to 2"),
        (matrix(["1/2", "1/2"], [1, 0]), r"column 0 sums to 3/2"),
        (matrix([1, 1], [0, 0]), "row 0 sums to 2"),
        (matrix([2, -1], [-1, 2]), r"entry \[0, 0\] is 2"),
    ],
)
def test_refused(W: np.ndarray, what: str) -> None:
    with pytest.raises(MixingError, match=what):
        check_mixing(W)
    with pytest.raises(MixingError):
        topology.clustered([W])


def test_refused_sizes_and_graphs() -> None:
    for make in (topology.complete, topology.ring, topology.alone):
        with pytest.raises(MixingError, match="at least one"):
            make(0)
    with pytest.raises(MixingError, match=r"\(1, 1\)"):
        topology.metropolis(2, [(1, 1)])
    with pytest.raises(MixingError, match=r"\(0, 2\)"):
        topology.metropolis(2, [(0, 2)])
    with pytest.raises(MixingError, match="no permutation"):
        topology.permutation([0, 0])
    with pytest.raises(MixingError, match="no cluster"):
        topology.clustered([])
    with pytest.raises(MixingError, match="0 permutations"):
        topology.random_permutations(3, 0, np.random.default_rng(0))
    with pytest.raises(MixingError, match="entry"):
        topology.lazy(topology.ring(3), 2.0)
