"""Several wrong equations at once, each written out from what a subject shows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.by_hand import Clients, Move, adaptive, subject
from test_judge.diagnosing import named, written

from fedspec.arith import Array
from fedspec.contract import Begin, Case, Claim, Round
from fedspec.params import flatten
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.measure.setting import setting_of, with_reading

WRONG: dict[str, tuple[str, Move, str]] = {
    "w": ("p", lambda s: np.sqrt(s.n) / np.sqrt(s.n).sum(), "p_i = sqrt(n_i) / sum(sqrt(n_j))"),
    "m": ("m", lambda s: s.beta1 * s.m_old + (1 - s.beta1**2) * s.delta, "m = beta1 m + (1 - beta1^2) Delta"),
    "v": ("v", lambda s: s.beta2 * s.v_old + (1 - s.beta2) * abs(s.delta), "v = beta2 v + (1 - beta2) abs(Delta)"),
    "x": ("step", lambda s: s.m / (np.sqrt(s.v) + 1 + s.tau**2), "sqrt(v) + 1 + tau^2"),
}
"""A mistake of each equation that nobody listed, and how it is written."""


def server(wrong: str, shows: tuple[str, ...] = ("m", "v", "delta"), **moves: Move) -> Any:
    """FedAdam by hand that shows m, v and the mean change."""
    said = {WRONG[n][0]: WRONG[n][1] for n in wrong}
    return adaptive("fedadam", shows=shows, weights="examples", **{**said, **moves})


def test_an_input_that_is_another_in_all_places_is_written_out() -> None:
    nearest = named(adaptive("fedyogi", shows=("m", "v", "delta"), square=lambda s: s.delta_old**2))
    assert nearest.startswith("yours: v = v - (1 - beta2) Delta_old^2 sign(v - Delta_old^2), wanted: "), nearest


@pytest.mark.parametrize(
    "wrong", ["mx", *(pytest.param(many, marks=pytest.mark.slow) for many in ("wv", "mvx", "wmvx"))]
)
def test_each_wrong_equation_is_written_out(wrong: str) -> None:
    nearest = named(server(wrong))
    assert all(WRONG[n][2] in nearest for n in wrong), nearest
    assert nearest.count("wanted: ") == len(wrong)


@pytest.mark.slow
def test_the_equation_of_another_reading_comes_before_other_formulas() -> None:
    inside = server("m", step=lambda s: s.m / np.sqrt(s.v + s.tau))
    assert "yours: x = x + eta m / sqrt(v + tau), wanted" in named(inside)


@pytest.mark.slow
def test_what_is_not_shown_is_not_written_out() -> None:
    assert "yours" not in named(server("mx", ("v", "delta")))


def heavy(case: Case) -> Any:
    """Momentum at level client that shows u, with two wrong equations."""
    rho, eta_l, x = case.hyper["rho"], case.hyper["eta_l"], flatten(case.x0)
    now: dict[str, Array] = {"x": x, "u": 0 * x}

    def step(e: Any) -> dict[str, Any]:
        if isinstance(e, Begin):
            now.update(x=flatten(e.x), u=0 * now["u"])
        else:
            g = flatten(e.g)
            now["u"] = rho * now["u"] + (1 - rho**2) * g
            now["x"] = (now["x"] - eta_l * (now["u"] + rho * rho * g)).astype(case.dtype)
        return {**now}

    return SimpleNamespace(step=step)


@pytest.mark.slow
def test_two_equations_of_a_local_solver() -> None:
    nearest = named(written(Claim("momentum", "client", intermediates=("u",)), heavy))
    assert nearest.count("yours: ") == 2, nearest


class Rounds(Clients):
    """FedAvgM by hand at level round: dampened at the server, and with a rate of its own at the clients."""

    algorithm, options = "fedavgm", {"weights": "examples"}

    def round(self, S: list[int], T: list[int]) -> dict[str, Any]:
        own = "eta_l" in self.does
        ends = [
            self.local(i, tau, rate=1 / (1 + self.h["eta_l"]) if own else 1 / tau) for i, tau in zip(S, T, strict=True)
        ]
        delta = self.shares(S) @ np.stack(ends) - self.x
        self.m = self.h["beta"] * self.m + (1 - self.h["beta"]) * delta
        self.x = self.x + self.h["eta"] * self.m
        return {"v": self.m, "delta": delta}


def rounds(rate: str) -> Any:
    return subject(Rounds, rate, intermediates=("delta", "v"))


@pytest.mark.slow
def test_an_equation_of_the_client_is_written_out_beside_one_of_the_server() -> None:
    nearest = named(rounds("eta_l"))
    assert nearest.count("yours: ") == 2 and "eta_l / (eta_l + 1)" in nearest, nearest


@pytest.mark.slow
def test_the_server_s_equation_is_written_out_beside_a_client_without_a_name() -> None:
    nearest = named(rounds("tau"))
    assert "the numbers that you return give yours: v = beta v + (1 - beta) Delta" in nearest, nearest


def test_what_stands_behind_a_round_s_functions_acts() -> None:
    """The daily test that mistakes made by wrapping functions of a round are mistakes."""
    setting = setting_of(with_reading(Claim("fedavgm", "round")))
    words = "each client begins at the model at which the one before it ended"
    known = known_of(setting)
    (v,) = (v for v in known.variants if v.words == words)
    s = next(s for s in known.samples if all(len(e.participants) > 1 for e in s.events if isinstance(e, Round)))
    moved, claimed = (np.asarray(one.answers(s)[0]["x"]) for one in (v, known.claimed))
    assert (moved != claimed).any()
