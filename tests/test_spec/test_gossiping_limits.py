"""Where AFGA, its relatives and the algorithms without a server end up: iterated, against closed forms.

On quadratics f_i = a_i/2 (x - b_i)^2 with everybody computing, Delta is linear in x for any W and vanishes at

    x_inf = sum_i c_i a_i b_i / sum_i c_i a_i,    c' = w' sum over s < I of [W (1 - eta_l A)]^s W,

with w the votes of the clients in Delta; no server step moves that point. On objectives with bounded gradients, which
AFGA's theorems ask for, one local step is unbiased and the end is the minimum of the mean objective.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import afga, cafga, dadam, peers
from fedspec.algorithms.afga import AdaptedAfga, Afga
from fedspec.algorithms.cafga import AdaptedCafga, Cafga
from fedspec.mixing import topology
from fedspec.plan import Exchange, Setup
from fedspec.readings import Broadcast, ClusterWeights, Denominators, Order, Sampling

pytestmark = [pytest.mark.long, pytest.mark.table(10)]

Array = np.ndarray[Any, Any]
Clients = Sequence[Callable[[int, Array], Array]]

A, B = np.array([0.5, 1.0, 2.0, 1.5, 0.25]), np.array([3.0, 1.0, -1.0, -2.0, 2.0])
N, STEPS, RATE = 5, 3, 0.125
EVERYONE = tuple(range(N))
SERVER = {"eta": 0.5, "beta1": 0.25, "beta2": 0.5, "eps": 0.001}
W = topology.random_permutations(N, 3, np.random.default_rng(2))
CLUSTERS = ((0, 3, 4), (1, 2))
CLUSTERED = np.zeros((N, N))
for V in CLUSTERS:
    CLUSTERED[np.ix_(V, V)] = topology.ring(len(V)) if len(V) == 2 else topology.lazy(topology.ring(3), 0.5)
BEST = float(A @ B / A.sum())


def scalars(a: Array = A, b: Array = B) -> Clients:
    return [lambda t, x, a_i=a_i, b_i=b_i: a_i * (x - b_i) for a_i, b_i in zip(a, b, strict=True)]


def rational_end(W: Array, votes: Array, who: Sequence[int] = EVERYONE, steps: int = STEPS) -> float:
    a, b = A[list(who)], B[list(who)]
    M = W @ (np.eye(len(a)) - RATE * np.diag(a))
    c = votes @ sum(np.linalg.matrix_power(M, s) for s in range(steps)) @ W
    return float((c * a) @ b / (c @ a))


def run(step: Any, h: Any, state: Any, clients: Clients, plan: Exchange, rounds: int) -> Any:
    for _ in range(rounds):
        state, _ = step(h, state, clients, plan)
    return state


def served(name: str, **more: Any) -> tuple[Any, Any, Any]:
    """Hyper-parameters, first state and step of an algorithm with a server."""
    kinds = {
        "afga": (Afga, afga.init, afga.step),
        "gossip-fedamsgrad": (Afga, afga.init, afga.gossip_fedamsgrad),
        "afga-a": (AdaptedAfga, afga.init, afga.step_adapted),
        "cafga": (Cafga, cafga.init, cafga.step),
        "cafga-a": (AdaptedCafga, afga.init, cafga.step_adapted),
    }
    kind, init, step = kinds[name]
    h: Any = kind(eta_l=RATE, **SERVER, **more)
    return h, init(h, np.array([1.0]), Setup((1,) * N, {"w": (1,)})), step


EQUAL = np.array([1 / 6, 1 / 4, 1 / 4, 1 / 6, 1 / 6])
ALL = np.full(N, 1 / N)
TWO = topology.permutation([1, 0]) * 0.75 + np.eye(2) * 0.25
LIMITS = {
    "afga": ("afga", {}, Exchange(EVERYONE, (EVERYONE,) * STEPS, W), rational_end(W, ALL)),
    "afga-two-senders": (
        "afga",
        {},
        Exchange((0, 2), (EVERYONE,) * STEPS, W),
        rational_end(W, np.array([0.5, 0, 0.5, 0, 0])),
    ),
    "afga-complete": ("afga", {}, Exchange((1,), (EVERYONE,) * STEPS, topology.complete(N)), BEST),
    "afga-one-step": ("afga", {}, Exchange(EVERYONE, (EVERYONE,), W), BEST),
    "gossip-fedamsgrad": (
        "gossip-fedamsgrad",
        {},
        Exchange(EVERYONE, (EVERYONE,) * STEPS, W),
        rational_end(W, ALL),
    ),
    "cafga": (
        "cafga",
        {},
        Exchange(EVERYONE, (EVERYONE,) * STEPS, CLUSTERED, CLUSTERS),
        rational_end(CLUSTERED, EQUAL),
    ),
    "cafga-by-size": (
        "cafga",
        {"cluster_weights": ClusterWeights.SIZES},
        Exchange(EVERYONE, (EVERYONE,) * STEPS, CLUSTERED, CLUSTERS),
        rational_end(CLUSTERED, ALL),
    ),
    "cafga-one-hop": (
        "cafga",
        {"broadcast": Broadcast.NEIGHBOURS},
        Exchange(EVERYONE, (EVERYONE,) * STEPS, CLUSTERED, CLUSTERS),
        rational_end(CLUSTERED, EQUAL),
    ),
    "afga-a": (
        "afga-a",
        {},
        Exchange((0, 2), ((0, 2),) * STEPS, TWO),
        rational_end(TWO, np.full(2, 0.5), (0, 2)),
    ),
    "afga-a-re-sampled": (
        "afga-a",
        {"sampling": Sampling.STEP},
        Exchange(EVERYONE, (EVERYONE,) * STEPS, W),
        rational_end(W, ALL),
    ),
    "cafga-a": (
        "cafga-a",
        {},
        Exchange((0, 3, 1), ((0, 3, 1),) * STEPS, topology.clustered([TWO, np.eye(1)]), CLUSTERS),
        rational_end(topology.clustered([TWO, np.eye(1)]), np.array([0.25, 0.25, 0.5]), (0, 3, 1)),
    ),
}


@pytest.mark.parametrize("name", LIMITS)
def test_every_algorithm_reaches_its_own_limit(name: str) -> None:
    row, options, plan, end = LIMITS[name]
    h, state, step = served(row, **options)
    assert run(step, h, state, scalars(), plan, 150).x[0] == pytest.approx(end, abs=1e-10)


def test_limits_differ_and_drift_is_there() -> None:
    """Only J, or a single local step, ends at the minimum of the mean objective; W = I is FedAMSGrad's limit."""
    ends = {name: end for name, (_, _, _, end) in LIMITS.items()}
    assert len({round(end, 6) for end in ends.values()}) == 7
    fedavg = rational_end(np.eye(N), ALL)
    blends = [topology.blended([1 - t, t], [np.eye(N), topology.complete(N)]) for t in (0, 0.25, 0.5, 0.75, 1)]
    drift = [abs(rational_end(blend, ALL) - BEST) for blend in blends]
    assert drift[0] == pytest.approx(abs(fedavg - BEST)) and drift[-1] < 1e-12
    assert all(a > b for a, b in pairwise(drift))


PHASES = np.array([0.3, -0.8, 1.1, 0.5, -0.2])
COSINES: Clients = [lambda t, x, p=p: np.sin(x + p) for p in PHASES]
"""f_i = 1 - cos(x + phi_i): gradients within [-1, 1]; the mean has its minimum at -arg sum e^(i phi_i)."""


def valley(votes: Array = ALL) -> float:
    return -float(np.angle(votes @ np.exp(1j * PHASES)))


@pytest.mark.parametrize(
    ("name", "plan", "end"),
    [
        ("afga", Exchange(EVERYONE, (EVERYONE,), W), valley()),
        ("afga", Exchange((3,), (EVERYONE,) * STEPS, topology.complete(N)), valley()),
        ("gossip-fedamsgrad", Exchange(EVERYONE, (EVERYONE,), W), valley()),
        ("afga-a", Exchange((0, 2), ((0, 2),) * STEPS, topology.complete(2)), valley(np.array([1, 0, 1, 0, 0]))),
        ("cafga", Exchange(EVERYONE, (EVERYONE,), CLUSTERED, CLUSTERS), valley(EQUAL)),
        (
            "cafga-a",
            Exchange((0, 1), ((0, 1),), np.eye(2), CLUSTERS),
            valley(np.array([1, 1, 0, 0, 0])),
        ),
    ],
)
def test_bounded_gradients(name: str, plan: Exchange, end: float) -> None:
    h, state, step = served(name)
    state = run(step, h, state, COSINES, plan, 250)
    assert state.x[0] == pytest.approx(end, abs=1e-10)
    assert np.sin(state.x[0] + PHASES[0]) != pytest.approx(0, abs=1e-3), "not one client's own minimum"


# Without a server.


def start(kind: Any, init: Any, h: Any) -> Any:
    return init(h, np.ones(N), Setup((1,) * N, {"w": (N, 1)}))


@pytest.mark.parametrize("order", Order)
def test_decentralised_sgd(order: Order) -> None:
    """A constant rate ends where mixing and gradients balance, off consensus by a term in proportion to the rate."""

    def end(rate: float) -> Array:
        H = rate * np.diag(A)
        match order:
            case Order.COMBINE_THEN_ADAPT:
                M, q = np.eye(N) - W + H, rate * A * B
            case Order.ADAPT_THEN_COMBINE:
                M, q = np.eye(N) - W @ (np.eye(N) - H), W @ (rate * A * B)
            case _:
                M, q = np.eye(N) - (np.eye(N) - H) @ W, rate * A * B
        solved: Array = np.linalg.solve(M, q)
        return solved

    h = peers.Dsgd(eta_l=RATE, order=order)
    plan = Exchange((), (EVERYONE,) * 2, W)
    state = run(peers.dsgd, h, start(peers.Dsgd, peers.init, h), scalars(), plan, 150)
    assert state.x == pytest.approx(end(RATE), abs=1e-10)
    gaps = [float(np.abs(end(rate) - BEST).max()) for rate in (0.02, 0.01, 0.005)]
    assert gaps[0] / gaps[1] == pytest.approx(2, rel=0.05) and gaps[1] / gaps[2] == pytest.approx(2, rel=0.03)


def test_gossip_pga_ends_where_afga_does() -> None:
    """Period I, everybody computing: the same zero as AFGA's Delta with all clients sending."""
    h = peers.GossipPga(eta_l=RATE)
    plan = Exchange((), (EVERYONE,) * STEPS, W)
    state = run(peers.gossip_pga, h, start(peers.GossipPga, peers.init, h), scalars(), plan, 150)
    assert state.x == pytest.approx(np.full(N, rational_end(W, ALL)), abs=1e-10)
    once = run(peers.gossip_pga, h, start(peers.GossipPga, peers.init, h), COSINES, Exchange((), (EVERYONE,), W), 600)
    assert once.x == pytest.approx(np.full(N, valley()), abs=1e-10)


def settled_dadam(denominators: Denominators, clients: Clients, rounds: int, mixing: Array = W) -> Any:
    h = dadam.Dadam(eta_l=0.1, beta1=0.5, beta2=0.5, beta3=0.25, eps=0.0625, denominators=denominators)
    plan = Exchange((), (EVERYONE,) * 5, mixing)
    return run(dadam.dadam, h, start(dadam.Dadam, dadam.init_adaptive, h), clients, plan, rounds)


@pytest.mark.long
def test_decentralised_adam_ends_off_the_mean_objective() -> None:
    """Own denominators weigh the gradients: at the end the weighed ones add up to zero, the plain ones do not."""
    state = settled_dadam(Denominators.LOCAL, scalars(), 500)
    D = np.diag(0.1 / (np.sqrt(state.moments.v_hat[:, 0]) + 0.0625))
    assert state.x == pytest.approx(np.linalg.solve(np.eye(N) - W + D @ np.diag(A), D @ (A * B)), abs=1e-8)
    g = A * (state.x - B)
    assert (D @ g).sum() == pytest.approx(0, abs=1e-9) and abs(g.sum()) > 0.1


@pytest.mark.long
def test_decentralised_adam_with_agreement_ends_at_the_mean_objective() -> None:
    """Chen et al. (2021): once the tracked moments agree, the gradients themselves add up to zero."""
    state = settled_dadam(Denominators.TRACKED, scalars(), 500)
    u = state.u_tilde[:, 0]
    assert u == pytest.approx(np.full(N, u.mean()), rel=1e-8)
    assert u.mean() == pytest.approx(state.moments.v_hat.mean(), rel=1e-12)
    rate = 0.1 / np.sqrt(u.mean())
    assert state.x == pytest.approx(np.linalg.solve(np.eye(N) - W + rate * np.diag(A), rate * A * B), abs=1e-8)
    assert (A * (state.x - B)).sum() == pytest.approx(0, abs=1e-8)


@pytest.mark.parametrize("denominators", Denominators)
def test_decentralised_adam_of_one_mind(denominators: Denominators) -> None:
    """Clients with one objective of bounded gradients find its minimum."""
    state = settled_dadam(denominators, [lambda t, x: np.tanh(x - 1)] * N, 200)
    assert state.x == pytest.approx(np.ones(N), abs=1e-8)
