"""FedCAMS, FedPAQ and EF21 with their compressors by hand, in fractions and symbols; EF21 beside its printed box."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction as F
from functools import partial
from itertools import product
from math import floor

import numpy as np
import pytest
import sympy
import torch
from test_spec.control_runs import Run
from test_spec.exact import vec

from fedspec.algorithms import fedpaq
from fedspec.arith import keep_largest
from fedspec.client.compress import scaled_sign, top_k
from fedspec.client.quantise import quantise, quantise_by_largest
from fedspec.errors import PlanError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant


def test_two_rounds_of_fedcams_with_one_client_that_sits_out() -> None:
    """k = 1, eta = 2, betas 1/2; eps = 16, so that all roots are 4. Client 0 changes by (3, 2), sends 3 and owes 2.

    Client 1 changes by (-1, -1) and sends the first. Delta = (1, 0), m = (1/2, 0), x = 2 m / 4. Then client 0 alone:
    the second of (3, 2) + (0, 2) is the larger. m = (1/4, 2), v = (1/4, 8). Client 1 owes (0, -1) still.
    """
    h = {"eta_l": F(1), "eta": F(2), "beta1": F(1, 2), "beta2": F(1, 2), "eps": F(16), "kept": 1}
    run = Run("fedcams", h, [constant(vec(-3, -2)), constant(vec(1, 1))], (1, 9), vec(0, 0))
    shown = run.round((1, 1))
    assert list(shown["delta"]) == [1, 0] and shown["e_i"].tolist() == [[0, 2], [0, -1]]
    assert list(run.x) == [F(1, 4), 0] and list(shown["v_hat"]) == [16, 16]
    shown = run.round((1,))
    assert list(shown["delta"]) == [0, 4] and shown["e_i"].tolist() == [[3, 0]]
    assert run.state.e_i.tolist() == [[3, 0], [0, -1]]
    assert list(shown["v"]) == [F(1, 4), 8] and list(run.x) == [F(3, 8), 1]


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


def test_a_vector_of_length_five_on_two_levels() -> None:
    """a = 2 (3, 4) / 5 = (6/5, 8/5): the second level from u < 1/5 and from u < 3/5 on, 5 or 5/2 each."""
    v = vec(3, -4)
    for u, want in (
        ((0, 0), (5, -5)),
        ((F(1, 5), F(1, 5)), (F(5, 2), -5)),
        ((F(3, 5), F(3, 5)), (F(5, 2), F(-5, 2))),
    ):
        assert list(quantise(v, vec(*u), levels=2)) == list(want)


def test_the_largest_entry_is_on_the_last_level() -> None:
    """a = 3 (1, 2, 0) / 2 = (3/2, 3, 0)."""
    v = vec(-1, 2, 0)
    assert list(quantise_by_largest(v, vec(F(1, 4), F(63, 64), 0), levels=3)) == [F(-4, 3), 2, 0]
    assert list(quantise_by_largest(v, vec(F(1, 2), 0, 0), levels=3)) == [F(-2, 3), 2, 0]


def test_nothing_is_sent_as_nothing() -> None:
    for rounded in (quantise, quantise_by_largest):
        assert list(rounded(vec(0, 0), vec(0, F(1, 2)), levels=4)) == [0, 0]
        assert rounded(np.zeros(2), np.zeros(2), levels=4).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("v", [vec(3, 4), vec(-4, 3), vec(0, -2), vec(F(5, 13), F(12, 13))], ids=str)
@pytest.mark.parametrize("s", [1, 2, 3, 5])
def test_the_mean_over_all_draws_is_the_vector_and_its_spread_is_known(v: np.ndarray, s: int) -> None:
    """Q jumps at u = p alone, the part of a beyond its floor: the mean is p Q(u < p) + (1 - p) Q(u >= p).

    The mean square distance is (R / s)^2 sum_j p_j (1 - p_j), over all 2^d outcomes.
    """
    for rounded, R in ((quantise, F(sum(x * x for x in v)) ** F(1, 2)), (quantise_by_largest, max(map(abs, v)))):
        R = F(R).limit_denominator(1000)
        p = [s * abs(x) / R - floor(s * abs(x) / R) for x in v]
        mean, spread = vec(0, 0), F(0)
        for ups in product((True, False), repeat=2):
            # Half of p is below it, what lies between p and 1 is not.
            u = vec(*(p_j / 2 if up else (p_j + 1) / 2 for p_j, up in zip(p, ups, strict=True)))
            chance = np.prod([p_j if up else 1 - p_j for p_j, up in zip(p, ups, strict=True)])
            Q = rounded(v, u, levels=s)
            mean, spread = mean + chance * Q, spread + chance * sum((Q - v) ** 2)
        assert list(mean) == list(v)
        assert spread == (R / s) ** 2 * sum(p_j * (1 - p_j) for p_j in p)


def test_a_round_of_fedpaq() -> None:
    """From (1, 1), eta_l = 1: one step along -(3, 4) and two along (0, 1) change by (-3, -4) and (0, 2).

    On one level the first is R = 5 times 1 or 0: a = (3/5, 4/5), u = (1/2, 9/10) give (-5, 0). The second is 2 whole.
    """
    h = fedpaq.FedPaq(eta_l=F(1), levels=1)
    plan = Plan((0, 2), (1, 2), (1, 7), draws=((F(1, 2), F(9, 10)), (F(0), F(9, 10))))
    clients = [constant(g) for g in (vec(3, 4), vec(9, 9), vec(0, -1))]
    state, shown = fedpaq.step(h, fedpaq.init(h, vec(1, 1), Setup((1, 1, 7), {"w": (2,)})), clients, plan)
    assert list(shown["delta"]) == [F(-5, 2), 1] and list(state.x) == [F(-3, 2), 2]


def test_draws_of_fedpaq_are_asked_for() -> None:
    h, x, clients = fedpaq.FedPaq(eta_l=1.0, levels=2), np.ones(2), [constant(np.ones(2))]
    start = fedpaq.init(h, x, Setup((1,), {"w": (2,)}))
    with pytest.raises(PlanError, match="draws: the list is empty"):
        fedpaq.step(h, start, clients, Plan((0,), (1,), (1,)))
    with pytest.raises(PlanError, match=r"draws: got \[1\] for 2 coordinates"):
        fedpaq.step(h, start, clients, Plan((0,), (1,), (1,), draws=((0.5,),)))
    with pytest.raises(PlanError, match="participant 0 has 1"):
        Plan((0,), (1,), (1,), draws=((0.5, 1.0),))
    with pytest.raises(PlanError, match="draws: 1 for 2 participants"):
        Plan((0, 1), (1, 1), (1, 1), draws=((0.5, 0.5),))


def test_the_first_message_of_ef21_is_whole_or_compressed() -> None:
    for more, g, want in (
        ({"kept": 1, "first": "whole"}, vec(3, 1), [3, 1]),
        ({"kept": 1, "first": "compressed"}, vec(3, 1), [3, 0]),
        ({"compressor": "scaled-sign", "first": "compressed"}, vec(3, -1), [2, -2]),
    ):
        run = Run("ef21", {"eta": F(1), **more}, [constant(g)], (1,), vec(0, 0))
        assert list(run.round((1,))["c_i"][0]) == want


def printed(x: list[F], gradients: Sequence[Callable[[list[F]], list[F]]], gamma: F, rounds: int) -> list[list[F]]:
    """Algorithm 1 in its own order, one number after another, with Top-1: first the step, then the gradients there."""

    def top(v: list[F]) -> list[F]:
        kept = max(range(len(v)), key=lambda j: abs(v[j]))
        return [a if j == kept else F(0) for j, a in enumerate(v)]

    n, g_i, models = len(gradients), [top(f(x)) for f in gradients], []
    g = [sum(column) / n for column in zip(*g_i, strict=True)]
    for _ in range(rounds):
        x = [a - gamma * b for a, b in zip(x, g, strict=True)]
        models.append(x)
        c_i = [top([a - b for a, b in zip(f(x), known, strict=True)]) for f, known in zip(gradients, g_i, strict=True)]
        g_i = [[a + b for a, b in zip(known, c, strict=True)] for known, c in zip(g_i, c_i, strict=True)]
        g = [a + sum(column) / n for a, column in zip(g, zip(*c_i, strict=True), strict=True)]
    return models


def test_without_an_option_ef21_is_its_printed_box() -> None:
    """Two clients with slopes (3, 1) and (1, 2) around (1, 2) and (-2, 1): eight models in fractions."""
    slopes, places = ((F(3), F(1)), (F(1), F(2))), ((F(1), F(2)), (F(-2), F(1)))

    def gradient(i: int) -> Callable[[list[F]], list[F]]:
        return lambda x: [a * (v - p) for a, v, p in zip(slopes[i], x, places[i], strict=True)]

    want = printed([F(5), F(-7)], [gradient(0), gradient(1)], F(1, 8), 8)
    clients = [partial(lambda f, k, x: vec(*f([*x])), gradient(i)) for i in range(2)]
    run = Run("ef21", {"eta": F(1, 8), "kept": 1}, clients, (1, 1), vec(5, -7))
    assert [[*run.rounds([(1, 1)])] for _ in want] == want
    whole = Run("ef21", {"eta": F(1, 8), "kept": 1, "first": "whole"}, clients, (1, 1), vec(5, -7))
    assert [*whole.rounds([(1, 1)])] != want[0]


def test_a_round_of_ef21_has_one_gradient_of_everybody() -> None:
    run = Run("ef21", {"eta": 1.0, "kept": 1}, [constant(np.ones(2))] * 2, (1, 1), np.zeros(2))
    with pytest.raises(PlanError, match=r"steps: got \(2, 2\); this algorithm takes one gradient of each client"):
        run.round((2, 2))
    with pytest.raises(PlanError, match=r"clients \[1\] are missing"):
        run.round((1,))
