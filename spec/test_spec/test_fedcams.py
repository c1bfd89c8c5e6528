"""FedCAMS and its compressors by hand, in fractions and symbols."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np
import pytest
import sympy
import torch
from test_spec.exact import vec

from fedspec.algorithms.fedcams import FedCams, init, step
from fedspec.arith import keep_largest
from fedspec.client.compress import scaled_sign, top_k
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant


def test_two_rounds_with_one_client_that_sits_out() -> None:
    """k = 1, eta = 2, betas 1/2; eps = 16, so that all roots are 4. Client 0 changes by (3, 2), sends 3 and owes 2.

    Client 1 changes by (-1, -1) and sends the first. Delta = (1, 0), m = (1/2, 0), x = 2 m / 4. Then client 0 alone:
    the second of (3, 2) + (0, 2) is the larger. m = (1/4, 2), v = (1/4, 8). Client 1 owes (0, -1) still.
    """
    h = FedCams(eta_l=F(1), eta=F(2), beta1=F(1, 2), beta2=F(1, 2), eps=F(16), kept=1)
    clients = [constant(vec(-3, -2)), constant(vec(1, 1))]
    state = init(h, vec(0, 0), Setup((1, 9), {"w": (2,)}))
    state, shown = step(h, state, clients, Plan((0, 1), (1, 1), (1, 9)))
    assert list(shown["delta"]) == [1, 0] and shown["e_i"].tolist() == [[0, 2], [0, -1]]
    assert list(state.x) == [F(1, 4), 0] and list(shown["v_hat"]) == [16, 16]
    state, shown = step(h, state, clients, Plan((0,), (1,), (1,)))
    assert list(shown["delta"]) == [0, 4] and shown["e_i"].tolist() == [[3, 0]]
    assert state.e_i.tolist() == [[3, 0], [0, -1]]
    assert list(shown["v"]) == [F(1, 4), 8] and list(state.x) == [F(3, 8), 1]


def test_of_equal_sizes_the_first_are_kept_in_every_arithmetic() -> None:
    a, b, c = sympy.symbols("a b c", real=True)
    symbolic = {k: keep_largest(np.array([a, b, c], dtype=object), k) for k in (1, 2)}
    for numbers in product((-1, 0, 1, 2), repeat=3):
        order = sorted(range(3), key=lambda j: (-abs(numbers[j]), j))
        for k in (1, 2, 3, 4):
            want = [x if j in order[:k] else 0 for j, x in enumerate(numbers)]
            assert keep_largest(vec(*numbers), k).tolist() == want
            assert keep_largest(np.array([numbers] * 2, dtype=np.float32), k).tolist() == [want] * 2
            for dtype in (torch.float64, torch.bfloat16):
                assert keep_largest(torch.tensor([numbers, numbers], dtype=dtype), k).tolist() == [want] * 2
            if k in symbolic:
                at = dict(zip((a, b, c), numbers, strict=True))
                assert [x.subs(at) for x in symbolic[k]] == want


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_nan_is_kept_last(dtype: torch.dtype) -> None:
    """Torch sorts a NaN behind every number, and so does NumPy, which finds the k-th number in single precision."""
    p = torch.tensor([float("nan"), -2, float("-inf"), 1, float("nan")], dtype=dtype)
    for k, kept in enumerate([[], [2], [1, 2], [1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3, 4]]):
        assert torch.nonzero(keep_largest(p, k) != 0).flatten().tolist() == kept


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_top_k_leaves_out_is_at_most_its_share(k: int) -> None:
    """||C(p) - p||^2 <= (1 - k / d) ||p||^2, with equality where all sizes are one."""
    for numbers in product((-2, -1, 1, 3), repeat=4):
        p = vec(*numbers)
        left = sum((top_k(p, kept=k) - p) ** 2)
        assert left <= (1 - F(k, 4)) * sum(p**2)
        assert len({*map(abs, numbers)}) > 1 or left == (1 - F(k, 4)) * sum(p**2)


def test_what_scaled_signs_leave_out_is_known() -> None:
    """||C(p) - p||^2 = ||p||^2 - ||p||_1^2 / d, and z ||p||_1^2 / d^2 less of it with z zeros, whose sign is 0."""
    for numbers in product((-2, 0, 1, 3), repeat=3):
        p, z = vec(*numbers), numbers.count(0)
        one = F(sum(map(abs, numbers)))
        left = sum((scaled_sign(p) - p) ** 2)
        assert left == sum(p**2) - one**2 / 3 - z * one**2 / 9
