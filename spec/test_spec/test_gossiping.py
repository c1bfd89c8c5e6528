"""Known numbers of AFGA, its relatives and the algorithms without a server, exactly, and refused plans."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction as F
from math import sqrt
from typing import Any

import numpy as np
import pytest
from test_spec.exact import matrix, vec

from fedspec.algorithms import afga, cafga, dadam, peers
from fedspec.algorithms.afga import AdaptedAfga, Afga
from fedspec.algorithms.cafga import AdaptedCafga, Cafga
from fedspec.arith import digits
from fedspec.catalogue import CATALOGUE, Algorithm, Program
from fedspec.contract import Case, Quadratics
from fedspec.domains import COUNT, DOMAINS
from fedspec.errors import FedspecError, MixingError, PlanError, ShapeError
from fedspec.mixing import topology
from fedspec.plan import Exchange, Setup
from fedspec.readings import Broadcast, ClusterWeights, Denominators, Order, Sampling
from fedspec.reference import SUBJECT
from fedspec.server.amsgrad import amsgrad
from fedspec.server.amsgrad import init as init_amsgrad

Array = np.ndarray[Any, Any]


def scalars(a: Sequence[Any], b: Sequence[Any]) -> list[Callable[[int, Array], Array]]:
    """Clients a_i (x - b_i)."""
    return [lambda t, x, a_i=a_i, b_i=b_i: F(a_i) * (x - F(b_i)) for a_i, b_i in zip(a, b, strict=True)]


def hyper(kind: Any = Afga, eta_l: Any = "1/4", **more: Any) -> Any:
    numbers = {"eta": F(1), "beta1": F(1, 2), "beta2": F(3, 4), "eps": F(3, 64)}
    return kind(eta_l=F(eta_l), **{**numbers, **more})


def test_a_round_of_afga_by_hand() -> None:
    W = matrix(["1/2", "1/2", 0], ["1/2", 0, "1/2"], [0, "1/2", "1/2"])
    clients = [lambda t, x, g=g: vec(g) for g in (4, -2, 8)]
    # Step 0: client 0 goes to -1, so (-1, 0, 0) becomes (-1/2, -1/2, 0). Step 1: client 1 goes to 0, and
    # (-1/2, 0, 0) becomes (-1/4, -1/4, 0).
    for senders, delta in (((0,), "-1/4"), ((1,), "-1/4"), ((2,), 0), ((1, 2), "-1/8")):
        plan = Exchange(senders, ((0,), (1,)), W)
        assert afga.change(hyper(), vec(0), clients, plan)[0] == F(delta)
    # m = -1/8, v = 1/64, root of 1/64 + 3/64 is 1/4.
    state, shown = afga.step(hyper(), init_amsgrad(vec(0)), clients, Exchange((1,), ((0,), (1,)), W))
    assert (shown["m"][0], shown["v"][0], state.v_hat[0], state.x[0]) == (F(-1, 8), F(1, 64), F(1, 64), F(-1, 2))


def test_clients_without_a_gradient_mix() -> None:
    """Client 2 never computes and never sends, and yet it carries client 0's step to client 1."""
    W = matrix(["1/2", 0, "1/2"], [0, "1/2", "1/2"], ["1/2", "1/2", 0])
    clients = [lambda t, x, g=g: vec(g) for g in (4, 0, 0)]
    delta = afga.change(hyper(), vec(0), clients, Exchange((1,), ((0,), (1,)), W))
    assert delta[0] == F(-1, 4)  # -1 -> half of it at 2 -> half of that at 1


def test_communication_adapted_by_hand() -> None:
    W = matrix(["1/4", "3/4"], ["3/4", "1/4"])
    clients = [lambda t, x, g=g: vec(g) for g in (4, 100, -8)]
    one_set = hyper(AdaptedAfga)
    # Clients 2 and 0, in this order: (2, -1) becomes (-1/4, 5/4).
    plan = Exchange((2, 0), ((2, 0),), W)
    assert afga.change_adapted(one_set, vec(0), clients, plan)[0] == F(1, 2)
    # Re-sampled: client 1 goes to -25 and mixes with client 2, which had 2; client 0 keeps its -1.
    again = hyper(AdaptedAfga, sampling=Sampling.STEP)
    plan = Exchange((0, 2), ((0,), (1,)), matrix([1]))
    assert afga.change_adapted(again, vec(0), clients, plan)[0] == F(-1, 2)
    plan = Exchange((0, 2), ((0, 1), (1, 2)), matrix(["1/4", "3/4"], ["3/4", "1/4"]))
    # (-1, -25) -> (-19, -7); then (-7 - 25, 2) -> (-8 + 3/2, -24 + 1/2): the mean of clients 0 and 2.
    assert afga.change_adapted(again, vec(0), clients, plan)[0] == (F(-19) + F(-47, 2)) / 2


def test_clusters_by_hand() -> None:
    """Two clusters, {0, 2} and {1}; J in the first."""
    W = matrix(["1/2", 0, "1/2"], [0, 1, 0], ["1/2", 0, "1/2"])
    clients = [lambda t, x, g=g: vec(g) for g in (4, 8, -12)]
    plan = Exchange((0, 1), ((0, 1, 2),), W, ((0, 2), (1,)))
    # The first cluster's clients all come to 1, the second's to -2.
    for weights, delta in ((ClusterWeights.EQUAL, "-1/2"), (ClusterWeights.SIZES, 0)):
        h = hyper(Cafga, cluster_weights=weights)
        assert cafga.change(h, vec(0), np.stack([vec(0)] * 3), clients, plan)[0][0] == F(delta)


def test_one_hop_by_hand() -> None:
    """Client 2 does not listen to the only sender, client 0, and goes on from the model that it has."""
    W = matrix(["1/2", "1/2", 0], ["1/2", 0, "1/2"], [0, "1/2", "1/2"])
    X = np.stack([vec(5), vec(6), vec(7)])
    clients = [lambda t, x: vec(0)] * 3
    plan = Exchange((0,), ((0,), (0,)), W)
    heard = hyper(Cafga, broadcast=Broadcast.NEIGHBOURS)
    # (0, 0, 7) -> (0, 7/2, 7/2) -> (7/4, 7/4, 7/2).
    delta, after = cafga.change(heard, vec(0), X, clients, plan)
    assert delta[0] == F(7, 4) and after[:, 0].tolist() == [F(7, 4), F(7, 4), F(7, 2)]
    assert cafga.change(hyper(Cafga), vec(0), X, clients, plan)[0][0] == 0


def test_peers_by_hand() -> None:
    """Gradients 4 and -8 at 0, W = [[3/4, 1/4], [1/4, 3/4]], from the models 4 and 8 (Dsgd)."""
    W = matrix(["3/4", "1/4"], ["1/4", "3/4"])
    clients = scalars((1, 2), (0, 0))
    plan, start = Exchange((), ((0, 1),), W), peers.Peers(matrix([4], [8]))
    # W X = (5, 7); X - G/4 = (3, 4); (5, 7) - (5, 14)/4.
    for order, want in (
        ("combine-then-adapt", (4, 3)),
        ("adapt-then-combine", ("13/4", "15/4")),
        ("gradient-at-combined", ("15/4", "7/2")),
    ):
        state, _ = peers.dsgd(peers.Dsgd(eta_l=F(1, 4), order=Order(order)), start, clients, plan)
        assert state.x.tolist() == vec(*want).tolist(), order
    # Gossip-PGA: one step and the exact mean; with two steps the first exchange is W.
    h = peers.GossipPga(eta_l=F(1, 4))
    assert peers.gossip_pga(h, start, clients, plan)[0].x.tolist() == [F(7, 2)] * 2
    twice = Exchange((), ((0, 1), (0, 1)), W)
    # (13/4, 15/4) - (13/16, 15/8) = (39/16, 15/8).
    assert peers.gossip_pga(h, start, clients, twice)[0].x.tolist() == [F(69, 32)] * 2


def test_decentralised_adam_by_hand() -> None:
    """Gradients 4 and 8, beta1 = 1/2, beta2 = 3/4: m = (2, 4), v = (4, 16)."""
    W = matrix(["3/4", "1/4"], ["1/4", "3/4"])
    clients = [lambda t, x, g=g: vec(g) for g in (4, 8)]
    numbers: dict[str, Any] = {"eta_l": F(1), "beta1": F(1, 2), "beta2": F(3, 4), "beta3": F(0)}
    plan, setup = Exchange((), ((0, 1),), W), Setup((1, 1), {"w": (2, 1)})
    local = dadam.Dadam(**numbers, eps=F(2))
    state, shown = dadam.dadam(local, dadam.init_adaptive(local, vec(0, 8), setup), clients, plan)
    # (2, 6) - (2 / (2 + 2), 4 / (4 + 2)).
    assert state.x.tolist() == [F(3, 2), 6 - F(2, 3)]
    assert shown["v_hat"].tolist() == shown["u_tilde"].tolist() == [4, 16]
    half = dadam.Dadam(**{**numbers, "beta3": F(3, 4)}, eps=F(2))
    assert dadam.dadam(half, dadam.init_adaptive(half, vec(0, 8), setup), clients, plan)[1]["v_hat"].tolist() == [1, 4]
    tracked = dadam.Dadam(**numbers, eps=F(1, 4), denominators=Denominators.TRACKED)
    state, shown = dadam.dadam(tracked, dadam.init_adaptive(tracked, vec(0, 8), setup), clients, plan)
    # The first step divides by the root of eps, whatever the gradients: (2, 6) - (4, 8).
    assert state.x.tolist() == [-2, -2]
    assert shown["u_tilde"].tolist() == shown["v_hat"].tolist() == [4, 16]
    # The second: u_tilde = W (4, 16) = (7, 13), m = (3, 6), in v_hat (7, 28).
    with digits():
        decimals: dict[str, Any] = {n: Decimal(float(v)) for n, v in numbers.items()}
        tracked = dadam.Dadam(**decimals, eps=Decimal("0.25"), denominators=Denominators.TRACKED)
        as_decimals = np.array([Decimal(0), Decimal(8)], dtype=object)
        sides = [lambda t, x, g=g: np.array([Decimal(g)], dtype=object) for g in (4, 8)]
        W_decimal = np.array([[Decimal("0.75"), Decimal("0.25")], [Decimal("0.25"), Decimal("0.75")]], dtype=object)
        both = Exchange((), ((0, 1), (0, 1)), W_decimal)
        state, shown = dadam.dadam(tracked, dadam.init_adaptive(tracked, as_decimals, setup), sides, both)
    assert [float(x) for x in state.x] == pytest.approx([-2 - 3 / sqrt(7), -2 - 6 / sqrt(13)], rel=1e-15)
    assert [float(x) for x in shown["u_tilde"]] == [10, 25] and [float(x) for x in shown["v_hat"]] == [7, 28]


def test_a_round_without_steps_moves_nothing_from_rest() -> None:
    plan = Exchange((1, 2), (), topology.complete(3, vec(0)))
    state, shown = afga.step(hyper(eps=F(1, 16)), init_amsgrad(vec(7)), scalars((1, 2, 3), (0, 0, 0)), plan)
    assert (shown["delta"][0], state.m[0], state.x[0]) == (0, 0, 7)


def test_with_a_plain_server_it_is_gossip_pga() -> None:
    """Everybody computes and sends: the exchange before the mean does not matter."""
    W = topology.random_permutations(4, 3, np.random.default_rng(0), vec(0))
    clients, x = scalars(("1/5", "1/2", 2, 1), (3, 1, -2, 5)), vec("7/3")
    plan = Exchange((0, 1, 2, 3), ((0, 1, 2, 3),) * 3, W)
    start = peers.Peers(np.stack([x] * 4))
    after, _ = peers.gossip_pga(peers.GossipPga(eta_l=F(1, 4)), start, clients, Exchange((), plan.computing, W))
    assert after.x.tolist() == (x + afga.change(hyper(), x, clients, plan)).tolist() * 4


def test_the_server_does_not_turn_with_its_input() -> None:
    Q, h = np.array([[0.6, -0.8], [0.8, 0.6]]), {"eta": 1.0, "beta1": 0.5, "beta2": 0.5, "eps": 0.01}
    straight, turned = (amsgrad(init_amsgrad(np.zeros(2)), d, **h).x for d in (np.ones(2), Q @ np.ones(2)))  # type: ignore[arg-type]
    assert np.abs(Q @ straight - turned).max() > 0.1


@pytest.mark.parametrize(("beta1", "beta2", "bound"), [(0.9, 0.99, 2.3452), (0.5, 0.75, 1.2247)])
def test_no_history_takes_a_longer_step(beta1: float, beta2: float, bound: float) -> None:
    """eta (1-beta1) / sqrt((1-beta2)(1 - beta1^2/beta2)), which changes that grow by beta2/beta1 come up to."""
    h = {"eta": 1.0, "beta1": beta1, "beta2": beta2, "eps": 1e-30}
    formula = (1 - beta1) / sqrt((1 - beta2) * (1 - beta1**2 / beta2))
    assert formula == pytest.approx(bound, abs=5e-5)
    rng = np.random.default_rng(0)
    for history in (rng.normal(size=(300, 5)), rng.normal(size=(300, 5)).cumsum(axis=0)):
        state = init_amsgrad(np.zeros(5))
        for delta in history:
            after = amsgrad(state, delta, **h)  # type: ignore[arg-type]
            assert (np.abs(after.x - state.x) <= formula * (1 + 1e-12)).all()
            state = after
    state = init_amsgrad(np.zeros(1))
    for r in range(400):
        after = amsgrad(state, np.array([(beta2 / beta1) ** (r - 399)]), **h)  # type: ignore[arg-type]
        step, state = after.x - state.x, after
    assert step[0] == pytest.approx(formula, rel=1e-6)


# Refusals.


ROWS = [a for a in CATALOGUE.values() if isinstance(a.run, Program) and a.run.event == "exchange"]


def quarters(row: Algorithm) -> dict[str, float]:
    """A quarter for every hyper-parameter, but for what counts."""
    return {n: 1 if DOMAINS[n].domain is COUNT else 0.25 for n in row.numbers}


def session(name: str, n: int = 3, coordinates: int | None = None, **options: str) -> Any:
    """Some clients, whatever the row."""
    row = CATALOGUE[name]
    assert isinstance(row.run, Program)
    x0 = np.zeros(coordinates or ((n, 1) if "peers" in row.run.takes else 1))
    problem = Quadratics(np.ones((n, 1, 1)), np.ones((n, 1)), np.ones(n))
    given = {**row.defaults(), **options}
    return SUBJECT.start(Case(name, "trace", row.readings[0].name, given, "float64", {"w": x0}, quarters(row), problem))


def plan_for(name: str, W: Array, senders: tuple[int, ...] = (0, 1, 2), **more: Any) -> Exchange:
    row = CATALOGUE[name]
    assert isinstance(row.run, Program)
    given = {"senders": () if "peers" in row.run.takes else senders, "computing": ((0, 1, 2),) * 2, "mixing": W}
    return Exchange(**{**given, **more})


@pytest.mark.parametrize("row", ROWS, ids=lambda a: a.id)
def test_matrices_that_are_not_doubly_stochastic_are_refused(row: Any) -> None:
    session(row.id).step(plan_for(row.id, topology.ring(3)))
    rows_only = np.array([[1.0, 0, 0], [0.5, 0.5, 0], [0, 0.5, 0.5]])
    for W in (rows_only, rows_only.T):
        with pytest.raises(MixingError, match="sums to"):
            session(row.id).step(plan_for(row.id, W))
    with pytest.raises(ShapeError, match="shapes do not fit"):
        session(row.id).step(plan_for(row.id, topology.ring(4)))


@pytest.mark.parametrize("row", ROWS, ids=lambda a: a.id)
def test_clients_that_do_not_exist_are_refused(row: Any) -> None:
    with pytest.raises(PlanError, match="client 3 is not one of"):
        session(row.id).step(plan_for(row.id, topology.ring(3), computing=((0, 3),)))


@pytest.mark.parametrize("name", ["gossip-fedamsgrad", "afga-a", "cafga-a"])
def test_resampling_is_refused_where_there_is_none(name: str) -> None:
    W = topology.ring(3) if name == "gossip-fedamsgrad" else topology.ring(2)
    with pytest.raises(PlanError, match=r"computing\[1\]: got \(1, 2\), but the senders are \(0, 1\)"):
        session(name).step(plan_for(name, W, senders=(0, 1), computing=((1, 0), (1, 2))))


@pytest.mark.parametrize("name", ["afga", "gossip-fedamsgrad", "afga-a"])
def test_a_round_without_senders_is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="senders: the list is empty"):
        session(name).step(plan_for(name, topology.ring(3), senders=(), computing=()))


@pytest.mark.parametrize("name", ["dsgd", "dadam", "gossip-pga", "diging", "k-gt", "led", "d2", "choco"])
def test_peers_have_no_server_and_all_compute(name: str) -> None:
    with pytest.raises(PlanError, match="no server"):
        session(name).step(Exchange((0,), ((0, 1, 2),), topology.ring(3)))
    with pytest.raises(PlanError, match=r"computing\[0\]: got \(0, 1\) of 3 clients"):
        session(name).step(Exchange((), ((0, 1),), topology.ring(3)))
    with pytest.raises(ShapeError, match="4 coordinates for 3 clients"):
        session(name, coordinates=4)


def test_clusters_that_cannot_be_run_are_refused() -> None:
    W = topology.clustered([topology.complete(2), topology.complete(1)])
    clusters = ((0, 1), (2,))
    for name in ("cafga", "cafga-a"):
        with pytest.raises(PlanError, match=r"none of cluster \(2,\)"):
            session(name).step(plan_for(name, W, senders=(0, 1), clusters=clusters))
        with pytest.raises(PlanError, match="name every client in one cluster"):
            session(name).step(plan_for(name, W, clusters=((0, 1),)))
    with pytest.raises(MixingError, match="sums to"):
        session("cafga").step(plan_for("cafga", topology.ring(3), clusters=clusters))
    with pytest.raises(PlanError, match=r"clients of cluster \(0, 1\) are at \[1, 2\], but at \[0, 1\] in step 0"):
        order = {"senders": (0, 1, 2), "computing": ((0, 1, 2), (2, 0, 1)), "clusters": clusters}
        session("cafga-a", sampling="step").step(Exchange(mixing=W, **order))  # type: ignore[arg-type]
    assert issubclass(PlanError, FedspecError)


def test_one_client_is_a_network_too() -> None:
    for row in ROWS:
        plan = plan_for(row.id, np.ones((1, 1)), senders=(0,), computing=((0,),))
        assert float(np.ravel(session(row.id, n=1).step(plan)["x"])[0]) > 0


def test_adapted_hypers_keep_the_sampling() -> None:
    assert hyper(AdaptedCafga, sampling="step").sampling is Sampling.STEP
