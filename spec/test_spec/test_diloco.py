"""DiLoCo, and DiLoCo with Muon, on numbers worked by hand, exactly, and beside plain loops of torch's optimisers."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from test_spec.exact import vec

from fedspec.algorithms import diloco, diloco_muon
from fedspec.algorithms.diloco import DiLoCo, init_server, server
from fedspec.algorithms.diloco_muon import DiLoCoMuon
from fedspec.arith import Array
from fedspec.errors import ShapeError
from fedspec.plan import Message, Plan, Setup

OUTER = {"eta": F(7, 10), "beta": F(9, 10)}
BARE: dict[str, Any] = {"eta_l": F(1, 10), "beta1": F(1, 2), "beta2": F(5, 11), "eps": F(1, 2), "wd": F(1, 2)}


@pytest.mark.parametrize(
    ("options", "x"),
    [
        ({}, ("133/100", "2562/1000", "20258/10000")),
        ({"rated": "buffer"}, ("133/100", "2562/1000", "20258/10000")),
        ({"momentum": "heavy-ball"}, ("7/10", "168/100", "1862/1000")),
        ({"momentum": "heavy-ball", "rated": "buffer"}, ("7/10", "168/100", "1862/1000")),
        ({"momentum_sum": "average"}, ("763/1000", "12012/10000", "51758/100000")),
    ],
)
def test_three_outer_steps(options: dict[str, Any], x: tuple[str, ...]) -> None:
    """Mean changes 1, 1/2 and -1 from 0, each of two clients; v is 1, 7/5 and 13/50, or a tenth of that."""
    h = DiLoCo(**BARE, **OUTER, **options)
    state = init_server(h, vec(0), 2)
    for change, want in zip((1, F(1, 2), -1), x, strict=True):
        state, shown = server(h, state, [Message(vec(2 * change), 5, 1, 1), Message(vec(0), 1, 4, 4)])
        assert (shown["delta"][0], state.x[0]) == (change, F(want))


def test_with_the_rate_inside_a_change_keeps_the_rate_of_its_round() -> None:
    """Changes 1, 1, 1 at 0.7, 0.7, 0.35: v = 2.71 outside, and 0.9 (0.9 0.7 + 0.7) + 0.35 = 1.547 inside."""
    ends = {}
    for rated in ("step", "buffer"):
        state = init_server(DiLoCo(**BARE, **OUTER, rated=rated), vec(0), 1)
        for eta in (F(7, 10), F(7, 10), F(7, 20)):
            state, _ = server(DiLoCo(**BARE, eta=eta, beta=F(9, 10), rated=rated), state, [Message(vec(1), 1, 1, 1)])
        ends[rated] = state.x[0]
    two = F(3227, 1000)
    assert ends == {
        "step": two + F(7, 20) * (1 + F(9, 10) * F(271, 100)),
        "buffer": two + F(7, 20) + F(9, 10) * F(1547, 1000),
    }


def rounds(h: DiLoCo, steps: tuple[int, ...], participants: tuple[int, ...] = (0,)) -> Any:
    """Client 0's gradients are 2, 4, 2, 4, ... whatever its model is, client 1's are opposite."""
    state, taken = diloco.init(h, vec(10), Setup((1, 1), {"w": (1,)})), 0
    for tau in steps:
        g = [F(2) if (taken + k) % 2 == 0 else F(4) for k in range(tau)]
        clients = [lambda k, x, g=g, sign=sign: vec(sign * g[k]) for sign in (1, -1)]
        plan = Plan(participants, (tau,) * len(participants), (1,) * len(participants))
        state, _ = diloco.step(h, state, clients, plan)
        taken += tau
    return state


def test_the_state_of_a_client_outlives_the_round() -> None:
    """At beta2 = 0 a ratio is m_hat / (|g| + 1/2): rounds of one step end where one of two does, unless it resets."""
    h = {**BARE, "beta2": F(0), "eta": F(1), "beta": F(0)}
    end = (10 * F(19, 20) - F(8, 100)) * F(19, 20) - F(1, 10) * F(10, 3) / F(9, 2)
    assert rounds(DiLoCo(**h), (2,)).x[0] == rounds(DiLoCo(**h), (1, 1)).x[0] == end
    reset = rounds(DiLoCo(**h, inner="reset"), (1, 1))
    assert reset.x[0] == (10 * F(19, 20) - F(8, 100)) * F(19, 20) - F(1, 10) * F(4) / F(9, 2)


def test_what_clients_keep() -> None:
    """Opposite gradients of two clients: each keeps its m; averaged, m is 0 and v what it is; who sits out counts 0."""
    kept, averaged = (
        rounds(DiLoCo(**{**BARE, "beta2": F(0)}, **OUTER, inner=i), (1,), (0, 1)) for i in ("kept", "averaged")
    )
    assert [m[0] for m in kept.m_i] == [1, -1] and [m[0] for m in averaged.m_i] == [0, 0]
    assert [v[0] for v in kept.v_i] == [v[0] for v in averaged.v_i] == [4, 4]
    alone = rounds(DiLoCo(**{**BARE, "beta2": F(0)}, **OUTER, inner="reset"), (3, 2), (1,))
    assert alone.t == (0, 5) and not alone.m_i[0][0]


@pytest.mark.table(1)
def test_beside_a_plain_loop_of_torch() -> None:
    """Two workers with torch's AdamW, four rounds of three steps, and torch's SGD with nesterov = True."""
    numbers: dict[str, Any] = {"eta_l": 0.05, "beta1": 0.9, "beta2": 0.95, "eps": 0.01, "wd": 0.1}
    A, b = np.array([[1.0, 0.25, 4.0], [2.0, 1.0, 0.5]]), np.array([[1.0, -3.0, 0.5], [-2.0, 0.25, 4.0]])
    theta = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64, requires_grad=True)
    outer = torch.optim.SGD([theta], lr=0.7, momentum=0.9, nesterov=True)
    workers = [theta.detach().clone().requires_grad_() for _ in A]
    inner = [torch.optim.AdamW([p], lr=0.05, betas=(0.9, 0.95), eps=0.01, weight_decay=0.1) for p in workers]
    h = DiLoCo(**numbers, eta=0.7, beta=0.9)
    state = diloco.init(h, theta.detach().numpy().copy(), Setup((1, 1), {"w": (3,)}))
    clients = [lambda k, x, i=i: A[i] * x - b[i] for i in range(2)]
    for _ in range(4):
        for i, (p, optimiser) in enumerate(zip(workers, inner, strict=True)):
            p.data.copy_(theta.data)
            for _ in range(3):
                p.grad = torch.tensor(A[i]) * p.data - torch.tensor(b[i])
                optimiser.step()
        theta.grad = sum(theta.data - p.data for p in workers) / 2
        outer.step()
        state, _ = diloco.step(h, state, clients, Plan((0, 1), (3, 3), (1, 1)))
        np.testing.assert_allclose(state.x, theta.detach().numpy(), rtol=1e-12)


MUON: dict[str, Any] = {"eta_l": F(1, 10), "rho": F(1, 2), "eps": F(1), "wd": F(0), "ns_steps": 1}
ONE = {"w": (1, 1)}


def quintic(s: F) -> F:
    """The first of MuLoCo's."""
    return F("4.0848") * s - F("6.8946") * s**3 + F("2.9270") * s**5


def constant(*slopes: int) -> list[Any]:
    return [lambda k, x, g=g: vec(g) for g in slopes]


def test_with_muon_the_outer_step_takes_the_mean_of_both_and_looks_ahead() -> None:
    """Opposite clients cancel; of one that moves alone, x = x + eta (1 + beta) Delta at first."""
    h = DiLoCoMuon(**MUON, eta=F(7, 10), beta=F(3, 5))
    start = diloco_muon.init(h, vec(2), Setup((1, 1), ONE))
    state, _ = diloco_muon.step(h, start, constant(3, -3), Plan((0, 1), (1, 1), (1, 5)))
    assert state.x[0] == 2 and state.v[0] == 0 and [m[0] for m in state.m_i] == [3, -3]
    state, _ = diloco_muon.step(h, start, constant(3, -3), Plan((1,), (1,), (5,)))
    delta = F(1, 10) * quintic(F(3, 4))
    assert state.v[0] == delta and state.x[0] == 2 + F(7, 10) * (1 + F(3, 5)) * delta
    assert [m[0] for m in state.m_i] == [0, -3]


def test_with_muon_a_vector_is_refused() -> None:
    h = DiLoCoMuon(**MUON, eta=F(1), beta=F(0))
    with pytest.raises(ShapeError, match="shape \\(1,\\); this rule needs matrices"):
        diloco_muon.step(h, diloco_muon.init(h, vec(2), Setup((1,), {"b": (1,)})), constant(3), Plan((0,), (1,), (1,)))


ODD = (
    (4.0848, -6.8946, 2.9270),
    (3.9505, -6.3029, 2.6377),
    (3.7418, -5.5913, 2.3037),
    (2.8769, -3.1427, 1.2046),
    (2.8366, -3.0525, 1.2012),
)
"""As the authors' code prints them."""


def driven(m: Array) -> Array:
    """U diag(p(s)) V' of a matrix over its Frobenius norm."""
    U, s, Vt = np.linalg.svd(m / (np.linalg.norm(m) + 1e-8), full_matrices=False)
    for a, b, c in ODD:
        s = a * s + b * s**3 + c * s**5
    return np.asarray(U * s @ Vt)


def test_with_muon_beside_a_plain_loop_of_decompositions_and_of_torch() -> None:
    """Two workers, four rounds of three steps on a tall and a wide matrix; torch's SGD with nesterov = True."""
    rng = np.random.default_rng(0)
    shapes = {"tall": (4, 2), "wide": (2, 3)}
    A, b = rng.uniform(0.5, 2, (2, 14)), rng.normal(size=(2, 14))
    x = rng.normal(size=14)
    theta = torch.tensor(x.copy(), requires_grad=True)
    outer = torch.optim.SGD([theta], lr=0.7, momentum=0.6, nesterov=True)
    h = DiLoCoMuon(eta_l=0.05, rho=0.9, eps=1e-8, wd=0.1, ns_steps=5, eta=0.7, beta=0.6)
    state = diloco_muon.init(h, x, Setup((1, 1), shapes))
    momenta = np.zeros((2, 14))
    clients = [lambda k, y, i=i: A[i] * y - b[i] for i in range(2)]
    for _ in range(4):
        ends = []
        for i in range(2):
            y = theta.detach().numpy().copy()
            for _ in range(3):
                momenta[i] = 0.9 * momenta[i] + A[i] * y - b[i]
                tall = driven(momenta[i][:8].reshape(4, 2)) * 2**0.5
                wide = driven(momenta[i][8:].reshape(2, 3)) * (2 / 3) ** 0.5
                y = (1 - 0.05 * 0.1) * y - 0.05 * np.concatenate([tall.ravel(), wide.ravel()])
            ends.append(y)
        theta.grad = theta.detach() - torch.tensor(np.mean(ends, axis=0))
        outer.step()
        state, _ = diloco_muon.step(h, state, clients, Plan((0, 1), (3, 3), (1, 1)))
        np.testing.assert_allclose(state.x, theta.detach().numpy(), rtol=1e-10)
