"""DiLoCo with Muon on numbers worked by hand, exactly, and beside a plain loop of decompositions and torch's SGD."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from test_spec.exact import vec

from fedspec.algorithms.diloco_muon import DiLoCoMuon, init, step
from fedspec.arith import Array
from fedspec.errors import ShapeError
from fedspec.plan import Plan, Setup

BARE: dict[str, Any] = {"eta_l": F(1, 10), "rho": F(1, 2), "eps": F(1), "wd": F(0), "ns_steps": 1}
ONE = {"w": (1, 1)}


def quintic(s: F) -> F:
    """The first of MuLoCo's."""
    return F("4.0848") * s - F("6.8946") * s**3 + F("2.9270") * s**5


def constant(*slopes: int) -> list[Any]:
    return [lambda k, x, g=g: vec(g) for g in slopes]


def test_the_outer_step_takes_the_mean_of_both_and_looks_ahead() -> None:
    """Opposite clients cancel; of one that moves alone, x = x + eta (1 + beta) Delta at first."""
    h = DiLoCoMuon(**BARE, eta=F(7, 10), beta=F(3, 5))
    start = init(h, vec(2), Setup((1, 1), ONE))
    state, _ = step(h, start, constant(3, -3), Plan((0, 1), (1, 1), (1, 5)))
    assert state.x[0] == 2 and state.v[0] == 0 and [m[0] for m in state.m_i] == [3, -3]
    state, _ = step(h, start, constant(3, -3), Plan((1,), (1,), (5,)))
    delta = F(1, 10) * quintic(F(3, 4))
    assert state.v[0] == delta and state.x[0] == 2 + F(7, 10) * (1 + F(3, 5)) * delta
    assert [m[0] for m in state.m_i] == [0, -3]


def test_a_vector_is_refused() -> None:
    h = DiLoCoMuon(**BARE, eta=F(1), beta=F(0))
    with pytest.raises(ShapeError, match="shape \\(1,\\); this rule needs matrices"):
        step(h, init(h, vec(2), Setup((1,), {"b": (1,)})), constant(3), Plan((0,), (1,), (1,)))


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


def test_beside_a_plain_loop_of_decompositions_and_of_torch() -> None:
    """Two workers, four rounds of three steps on a tall and a wide matrix; torch's SGD with nesterov = True."""
    rng = np.random.default_rng(0)
    shapes = {"tall": (4, 2), "wide": (2, 3)}
    A, b = rng.uniform(0.5, 2, (2, 14)), rng.normal(size=(2, 14))
    x = rng.normal(size=14)
    theta = torch.tensor(x.copy(), requires_grad=True)
    outer = torch.optim.SGD([theta], lr=0.7, momentum=0.6, nesterov=True)
    h = DiLoCoMuon(eta_l=0.05, rho=0.9, eps=1e-8, wd=0.1, ns_steps=5, eta=0.7, beta=0.6)
    state = init(h, x, Setup((1, 1), shapes))
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
        state, _ = step(h, state, clients, Plan((0, 1), (3, 3), (1, 1)))
        np.testing.assert_allclose(state.x, theta.detach().numpy(), rtol=1e-10)
