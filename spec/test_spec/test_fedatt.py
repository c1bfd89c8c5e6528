"""FedAtt by hand: lengths whose exponentials are whole numbers."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from fedspec.algorithms.fedatt import FedAtt, init, server
from fedspec.arith import digits
from fedspec.plan import Message

LN2 = Decimal(2).ln()


def moved(changes: list[list[Decimal | int]], shapes: tuple[tuple[int, ...], ...], length: str) -> list[float]:
    """The model after a round from zero at rate 10, with clients of 1, 2, ... examples."""
    with digits():
        rows = [np.array([Decimal(a) for a in row], dtype=object) for row in changes]
        h = FedAtt(eta_l=Decimal(1), eta=Decimal(10), length=length)  # type: ignore[arg-type]
        sent = [Message(row, k + 1, 1, 1) for k, row in enumerate(rows)]
        state, shown = server(h, init(h, rows[0] * 0, shapes), sent)
        assert [float(a) * 10 for a in shown["delta"]] == pytest.approx([float(a) for a in state.x])
        return [float(a) for a in state.x]


def test_shares_of_two_layers() -> None:
    """Lengths 0 and ln 2 give shares 1/3 and 2/3; ln 3 and 0 give 3/4 and 1/4, whoever has more examples."""
    x = moved([[0, Decimal(3).ln()], [-LN2, 0]], ((1,), ()), "frobenius")
    assert x == pytest.approx([-20 / 3 * float(LN2), 7.5 * float(Decimal(3).ln())])


@pytest.mark.parametrize(("length", "share"), [("frobenius", 4 / 5), ("spectral", 2 / 3)])
@pytest.mark.parametrize(
    ("shape", "squares"), [((2, 2), [0, 3]), ((3, 3), [0, 4, 8]), ((4, 5), [0, 6, 12, 18]), ((5, 4), [0, 5, 10, 15])]
)
def test_a_matrix_has_two_lengths(length: str, share: float, shape: tuple[int, int], squares: list[int]) -> None:
    """A diagonal of ln 2, n times: its largest singular value is ln 2, its root of squares sqrt(n) ln 2."""
    size = shape[0] * shape[1]
    diagonal: list[Decimal | int] = [LN2 if j in squares else 0 for j in range(size)]
    x = moved([[0] * size, diagonal], (shape,), length)
    share = 1 / (1 + 2 ** -(len(squares) ** 0.5)) if length == "frobenius" else share
    assert [x[j] for j in squares] == pytest.approx([10 * share * float(LN2)] * len(squares))


def test_the_largest_length_prevents_overflow() -> None:
    """exp(1000) is no float: the client that moved by 1000 has all of the share, and equal ones have halves."""
    far = [np.array([1000.0]), np.array([1.0])]
    h = FedAtt(eta_l=1, eta=1)
    assert server(h, init(h, far[0] * 0), [Message(a, 1, 1, 1) for a in far])[0].x == 1000.0
    alike = [np.array([1000.0]), np.array([-1000.0]), np.array([600.0])]
    assert server(h, init(h, far[0] * 0), [Message(a, 1, 1, 1) for a in alike])[0].x == pytest.approx(0)
