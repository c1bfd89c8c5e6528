"""Equations of peers are written out, though a mixing matrix hides what each client made, and have many terms."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import benched, diagnosed, offer_of, written

from fedspec.arith import Array
from fedspec.contract import Case
from fedspec_suite.diagnosis.diagnosis import in_words
from fedspec_suite.diagnosis.written.synthesis import written as written_out
from fedspec_suite.measure.reaching import Undetermined, reach_together, slope_of

W = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.25, 0.25, 0.5]])


def through(mixing: Array) -> Callable[[Array], Array]:
    """The models of three clients with two coordinates each, after an exchange of what they made."""
    return lambda y: (mixing @ (y + y**2 / 50).reshape(3, 2)).reshape(-1)


def test_what_each_client_made_is_found_behind_an_exchange() -> None:
    taken, made = through(W), np.linspace(-1, 1, 6)
    wanted = np.linspace(-0.9, 1.2, 6) ** 2
    plain = taken(made)
    found = reach_together(taken, taken(wanted), made, slope_of(taken, made, plain))
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_an_exchange_of_means_alone_leaves_it_open() -> None:
    taken, made = through(np.array([[0, 0, 1], [0.5, 0.5, 0], [0.5, 0.5, 0]])), np.linspace(-1, 1, 6)
    plain = taken(made)
    with pytest.raises(Undetermined):
        reach_together(taken, taken(made + 1), made, slope_of(taken, made, plain))


def test_a_model_that_no_exchange_gives_is_none_of_its_making() -> None:
    taken, made = through(np.full((3, 3), 1 / 3)), np.linspace(-1, 1, 6)
    plain = taken(made)
    with pytest.raises(KeyError) as raised:
        reach_together(taken, plain + np.arange(6), made, slope_of(taken, made, plain))
    assert not isinstance(raised.value, Undetermined)


class Peers:
    """Clients without a server, all of whose gradients are at hand."""

    def __init__(self, case: Case) -> None:
        ((self.name, x),) = case.x0.items()
        assert case.problem
        self.X, self.h, self.problem = np.array(x), case.hyper, case.problem
        self.C = self.X * 0
        self.psi = self.X

    def G(self, X: Array) -> Array:
        return np.array(np.einsum("kij,kj->ki", self.problem.H, X) - self.problem.e)

    def k_gt(self, mixing: Array, tau: int, direction: Any, correction: Any) -> None:
        Z = self.X
        for _ in range(tau):
            Z = Z - self.h["eta_l"] * (self.G(Z) + self.C)
        V = direction((self.X - Z) / (self.h["eta_l"] * tau), self.C)
        self.C = correction(self.C, V, mixing)
        self.X = mixing @ (self.X - self.h["eta"] * self.h["eta_l"] * tau * V)

    def d2(self, mixing: Array, tau: int) -> None:
        for _ in range(tau):
            psi = self.X - self.h["eta_l"] * self.G(self.X)
            self.X, self.psi = mixing @ (psi + mixing @ (self.X - self.psi)), psi

    def led(self, mixing: Array, tau: int) -> None:
        self.tau = getattr(self, "tau", tau)
        Phi = self.X
        for _ in range(tau):
            Phi = Phi - self.h["eta_l"] * self.G(Phi) - self.C / self.tau
        self.X = mixing @ Phi
        self.C = self.C + Phi - self.X


def tracked(C: Array, V: Array, mixing: Array) -> Array:
    """The correction of K-GT."""
    return C - V + mixing @ V


WRONG: dict[str, tuple[str, str, Callable[[Peers, Array, int], None]]] = {
    "V = (X - Z) / (eta_l steps) - C,": (
        "k-gt",
        "zero-start",
        lambda p, mixing, tau: p.k_gt(mixing, tau, lambda V, C: V - C, tracked),
    ),
    "C = C - V + (mean of V over the clients),": (
        "k-gt",
        "zero-start",
        lambda p, mixing, tau: p.k_gt(mixing, tau, lambda V, C: V, lambda C, V, mixing: C - V + V.mean(axis=0)),
    ),
    "X = W X + W W X + eta_l W W G_before - W W X_before - eta_l W G,": ("d2", "whole-matrix", Peers.d2),
}


def subject(algorithm: str, reading: str, take: Callable[[Peers, Array, int], None]) -> Any:
    """Peers that show their models alone."""

    def start(case: Case) -> Any:
        peers = Peers(case)

        def step(event: Any) -> Any:
            take(peers, event.mixing, len(event.computing))
            return {"x": {peers.name: peers.X}}

        return SimpleNamespace(step=step)

    return written(offer_of(algorithm, "trace", reading, dtypes=("float64",), intermediates=()), start)


@pytest.mark.slow
@pytest.mark.parametrize("equation", WRONG)
def test_it_is_written_out(equation: str) -> None:
    found = next(written_out(*benched(subject(*WRONG[equation]))))
    assert found.words.startswith(f"yours: {equation} wanted:")


@pytest.mark.slow
def test_a_count_of_the_first_round_is_not_called_that_of_the_round_before() -> None:
    said = in_words(diagnosed(subject("led", "fspda", Peers.led)), True)
    assert said.startswith("tau as it was at its first use of all stands for tau")
