"""FedMom by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fedspec.algorithms.fedmom import FedMom, init, server
from fedspec.plan import Message


@pytest.mark.parametrize(("momentum", "models"), [("nesterov", [16, 14]), ("heavy-ball", [14, 14])])
def test_two_rounds(momentum: str, models: list[int]) -> None:
    """Changes 8 and 0 of clients with 1 and 3 examples, then -1, at rate 2: y is 14 and 14, or 10 and 14."""
    h = FedMom(eta_l=1, eta=2, beta=Fraction(1, 2), momentum=momentum)  # type: ignore[arg-type]
    state = init(h, np.array([Fraction(10)]))
    rounds = [[Message(np.array([Fraction(8)]), 1, 1, 1), Message(np.array([Fraction(0)]), 3, 1, 1)]]
    rounds.append([Message(np.array([Fraction(-1)]), 1, 1, 1)])
    for sent, want in zip(rounds, models, strict=True):
        state, _ = server(h, state, sent)
        assert state.x[0] == want
