"""Muon on numbers worked by hand, exactly; against torch's, which iterates in bfloat16."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
import torch
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.client.muon import (
    QUINTICS,
    begin,
    factor,
    muon,
    quintic,
)
from fedspec.errors import ShapeError
from fedspec.readings import Coefficients, LookAhead, MatrixLength, MatrixScale, Summed

KW: dict[str, Any] = {"eta_l": F(1, 10), "rho": F(1, 2), "eps": F(1, 2), "wd": F(1, 2), "ns_steps": 1}
P1 = F(7010, 10000)
"""3.4445 - 4.7750 + 2.0315, which is where 1 goes."""


def test_two_steps_of_a_number() -> None:
    """A block of one entry moves by the quintic of its sign; 19/20 of the model stay."""
    state = begin(vec(10))
    for g, m in ((2, F(1)), (-9, F(-4))):
        x = state.x[0]
        state = muon(state, vec(g), ((1, 1),), **KW)
        sign = 1 if g > 0 else -1
        assert (state.x[0], state.m[0]) == (x * F(19, 20) - F(1, 10) * sign * P1, m)


def test_a_row_moves_along_itself() -> None:
    """The gradient (3, 4) is the look-ahead (9/4, 3): over its length (3/5, 4/5), whose one singular value is 1."""
    state = muon(begin(vec(0, 0)), vec(3, 4), ((1, 2),), **KW)
    assert [*state.x] == [-F(1, 10) * P1 * F(3, 5), -F(1, 10) * P1 * F(4, 5)]


def test_a_column_is_longer_by_the_root_of_its_rows() -> None:
    """Four rows over one column: twice as long; a row of four, once."""
    column = muon(begin(vec(0, 0, 0, 0)), vec(2, 0, 0, 0), ((4, 1),), **KW)
    row = muon(begin(vec(0, 0, 0, 0)), vec(2, 0, 0, 0), ((1, 4),), **KW)
    assert [*column.x] == [2 * x for x in row.x] == [-F(2, 10) * P1, 0, 0, 0]


def test_a_short_matrix_is_divided_by_eps() -> None:
    """The look-ahead of 1/3 is 1/4, half of eps: its singular value is 1/2 before the quintic; with eps added 1/3."""
    for length, s in ((MatrixLength.AT_LEAST, F(1, 2)), (MatrixLength.PLUS, F(1, 3))):
        state = muon(begin(vec(0)), vec(F(1, 3)), ((1, 1),), **KW, length=length)
        a, b, c = (F(q, 10000) for q in QUINTICS[Coefficients.JORDAN][0])
        assert state.x[0] == -F(1, 10) * (a * s + b * s**3 + c * s**5)


def test_zeros_stay() -> None:
    """A block without a gradient decays and does not move otherwise; its neighbour does."""
    state = muon(begin(vec(10, 20, 0)), vec(0, 0, 1), ((1, 2), (1, 1)), **KW)
    assert [*state.x] == [F(95, 10), 19, -F(1, 10) * P1]


@pytest.mark.parametrize(
    ("momentum", "ahead", "m", "u"),
    [
        ("average", "nesterov", F(3, 4), F(7, 8)),
        ("average", "none", F(3, 4), F(3, 4)),
        ("sum", "nesterov", F(3, 2), F(7, 4)),
        ("sum", "none", F(3, 2), F(3, 2)),
    ],
)
def test_which_momentum(momentum: str, ahead: str, m: F, u: F) -> None:
    """Gradients 1 and 1 at rho = 1/2; where eps is 4 the step is the quintic of a quarter of what is looked at."""
    state = begin(vec(0))
    kw = {**KW, "wd": F(0), "eps": F(4)}
    for _ in range(2):
        before = state.x[0]
        state = muon(state, vec(1), ((1, 1),), **kw, momentum=Summed(momentum), ahead=LookAhead(ahead))
    a, b, c = (F(q, 10000) for q in QUINTICS[Coefficients.JORDAN][0])
    s = u / 4
    assert (state.m[0], before - state.x[0]) == (m, F(1, 10) * (a * s + b * s**3 + c * s**5))


def test_an_average_and_a_sum_move_alike_without_eps() -> None:
    """The norm takes away the factor 1 - rho."""
    kw = {**KW, "eps": F(0), "ns_steps": 2}
    paths = []
    for momentum in Summed:
        state = begin(vec(1, 2))
        for g in (vec(3, 4), vec(6, 8), vec(-9, -12)):
            state = muon(state, g, ((1, 2),), **kw, momentum=momentum)
        paths.append([*state.x])
    assert paths[0] == paths[1]


@pytest.mark.parametrize(("rows", "columns"), [(4, 16), (16, 4), (9, 9)])
def test_factors(rows: int, columns: int) -> None:
    """By a table: sqrt(max(1, r/c)), sqrt(max(r, c)) / 5, sqrt(r/c)."""
    table = {(4, 16): (1, F(4, 5), F(1, 2)), (16, 4): (2, F(4, 5), 2), (9, 9): (1, F(3, 5), 1)}
    one = vec(1)
    assert tuple(factor((rows, columns), scale, one)[0] for scale in MatrixScale) == table[rows, columns]


@pytest.mark.parametrize(("coefficients", "low", "high"), [("jordan", 0.68, 1.14), ("muloco", 0.97, 1.04)])
def test_where_singular_values_end(coefficients: str, low: float, high: float) -> None:
    """From 1/100 to 1 five iterations end in these bounds: near 1, and not at it."""
    s: Array = np.linspace(0.01, 1, 20_001)
    known = QUINTICS[Coefficients(coefficients)]
    for k in range(5):
        s = quintic(s[:, None, None], *known[min(k, len(known) - 1)])[:, 0, 0]
    assert low < s.min() < 0.99 < 1.01 < s.max() < high


def test_only_matrices() -> None:
    for shapes in ([(4,)], [(2, 2, 1)], [()], [(2, 2), (0,)]):
        with pytest.raises(ShapeError, match="this rule needs matrices"):
            muon(begin(np.ones(4)), np.ones(4), shapes, eta_l=0.1, rho=0.5, eps=0.1, wd=0.0, ns_steps=1)
    with pytest.raises(ShapeError, match="do not divide the coordinates"):
        muon(begin(np.ones(4)), np.ones(4), ((2, 3),), eta_l=0.1, rho=0.5, eps=0.1, wd=0.0, ns_steps=1)


def test_a_stack_goes_row_by_row() -> None:
    """Stacks of clients move as each client does."""
    rng = np.random.default_rng(1)
    x, g = rng.normal(size=(2, 3, 10))
    kw: dict[str, Any] = {"eta_l": 0.1, "rho": 0.9, "eps": 1e-7, "wd": 0.1, "ns_steps": 5}
    shapes = ((2, 3), (4, 1))
    together = muon(begin(x), g, shapes, **kw)
    for i in range(3):
        np.testing.assert_allclose(together.x[i], muon(begin(x[i]), g[i], shapes, **kw).x, atol=1e-13)


def against_torch(ahead: LookAhead, scale: MatrixScale, shape: tuple[int, int]) -> float:
    """Distance of three steps of torch.optim.Muon from ours, whose momentum is the same."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=shape)
    p = torch.tensor(x, requires_grad=True)
    nesterov, factor_of = ahead is LookAhead.NESTEROV, str(scale).replace("-", "_")
    theirs = torch.optim.Muon([p], lr=0.1, momentum=0.9, weight_decay=0.5, nesterov=nesterov, adjust_lr_fn=factor_of)
    state = begin(x.reshape(-1))
    kw: dict[str, Any] = {"eta_l": 0.1, "rho": 0.9, "eps": 1e-7, "wd": 0.5, "ns_steps": 5}
    for _ in range(3):
        g = rng.normal(size=shape)
        p.grad = torch.tensor(g)
        theirs.step()
        state = muon(state, g.reshape(-1), (shape,), **kw, ahead=ahead, scale=scale)
        held = theirs.state[p]["momentum_buffer"].numpy().reshape(-1)
        np.testing.assert_allclose(held, state.m, atol=1e-14)
    return float(np.abs(p.detach().numpy().reshape(-1) - state.x).max())


@pytest.mark.parametrize("shape", [(6, 4), (4, 6), (1, 3)])
@pytest.mark.parametrize("scale", [MatrixScale.ORIGINAL, MatrixScale.MATCH_RMS])
@pytest.mark.parametrize("ahead", LookAhead)
def test_torch_computes_it_but_for_bfloat16(
    ahead: LookAhead, scale: MatrixScale, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """torch's text on numbers that are not narrowed is ours; as it stands it is some hundredths of a step away."""
    assert 1e-6 < against_torch(ahead, scale, shape) < 0.02
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    assert against_torch(ahead, scale, shape) < 1e-13
