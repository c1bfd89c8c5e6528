"""Tests of FedEMA against numbers computed by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fedspec.algorithms.fedema import FedEma, init, server
from fedspec.plan import Message


def test_two_rounds() -> None:
    """Changes 8 and 0 of clients with 1 and 3 examples, then -4: the means are 2 and -4, m is 1 and -3/2."""
    h = FedEma(eta_l=1, eta=2, beta=Fraction(1, 2))
    state = init(h, np.array([Fraction(10)]))
    one, three = (np.array([Fraction(n)]) for n in (8, 0))
    state, shown = server(h, state, [Message(one, 1, 1, 1), Message(three, 3, 1, 1)])
    assert (shown["delta"][0], state.m[0], state.x[0]) == (2, 1, 12)
    state, _ = server(h, state, [Message(np.array([Fraction(-4)]), 1, 1, 1)])
    assert (state.m[0], state.x[0]) == (Fraction(-3, 2), 9)
