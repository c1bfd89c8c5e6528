"""Several wrong equations at once, each written out from what a subject shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from test_judge.diagnosing import named

from fedspec.arith import Array
from fedspec.contract import Begin, Case, Claim, Info, Messages, Round
from fedspec.params import flatten, unflatten
from fedspec_suite.diagnosis.known import known_of
from fedspec_suite.measure.setting import setting_of, with_reading

Numbers = Mapping[str, Any]

RIGHT: dict[str, Callable[[Numbers], Any]] = {
    "w": lambda o: o["n"],
    "m": lambda o: o["beta1"] * o["m"] + (1 - o["beta1"]) * o["delta"],
    "v": lambda o: o["beta2"] * o["v"] + (1 - o["beta2"]) * o["delta"] ** 2,
    "x": lambda o: o["x"] + o["eta"] * o["m"] / (np.sqrt(o["v"]) + o["tau"]),
}
"""FedAdam's equations; each reads what the equations before it have made."""

WRONG: dict[str, tuple[Callable[[Numbers], Any], str]] = {
    "w": (lambda o: np.sqrt(o["n"]), "p_i = sqrt(n_i) / sum(sqrt(n_j))"),
    "m": (lambda o: o["beta1"] * o["m"] + (1 - o["beta1"] ** 2) * o["delta"], "m = beta1 m + (1 - beta1^2) Delta"),
    "v": (lambda o: o["beta2"] * o["v"] + (1 - o["beta2"]) * abs(o["delta"]), "v = beta2 v + (1 - beta2) abs(Delta)"),
    "x": (lambda o: o["x"] + o["eta"] * o["m"] / (np.sqrt(o["v"]) + 1 + o["tau"] ** 2), "sqrt(v) + 1 + tau^2"),
}
"""A mistake of each equation that nobody listed, and how it is written."""


class Server:
    """FedAdam by hand that shows m, v and the mean change."""

    def __init__(self, wrong: str, shows: tuple[str, ...] = ("m", "v", "delta")) -> None:
        self.info = Info("mine", "1", (Claim("fedadam", "server", "", {"weights": "examples"}, intermediates=shows),))
        self.rules = {n: WRONG[n][0] if n in wrong else rule for n, rule in RIGHT.items()}
        self.shows = shows

    def start(self, case: Case) -> Any:
        x = flatten(case.x0).astype(float)
        now: dict[str, Any] = {**case.hyper, "x": x, "m": 0 * x, "v": 0 * x + case.hyper["v0"]}

        def step(e: Messages) -> dict[str, Any]:
            now["n"] = np.array([m.weight for m in e.messages], dtype=float)
            w = self.rules["w"](now)
            now["delta"] = w / w.sum() @ np.array([flatten(m.delta).astype(float) for m in e.messages])
            for n in ("m", "v", "x"):
                now[n] = np.asarray(self.rules[n](now))
            now["x"] = now["x"].astype(case.dtype)
            return {"x": unflatten(now["x"], case.x0), **{n: now[n] for n in self.shows}}

        return SimpleNamespace(step=step)


@pytest.mark.parametrize(
    "wrong", ["mx", *(pytest.param(many, marks=pytest.mark.slow) for many in ("wv", "mvx", "wmvx"))]
)
def test_each_wrong_equation_is_written_out(wrong: str) -> None:
    nearest = named(Server(wrong))
    assert all(WRONG[n][1] in nearest for n in wrong), nearest
    assert nearest.count("wanted: ") == len(wrong)


@pytest.mark.slow
def test_the_equation_of_another_reading_comes_before_other_formulas() -> None:
    server = Server("m")
    server.rules["x"] = lambda o: o["x"] + o["eta"] * o["m"] / np.sqrt(o["v"] + o["tau"])
    assert "yours: x = x + eta m / sqrt(v + tau), wanted" in named(server)


@pytest.mark.slow
def test_what_is_not_shown_is_not_written_out() -> None:
    assert "yours" not in named(Server("mx", ("v", "delta")))


class Heavy:
    """Momentum at level client that shows u, with two wrong equations."""

    info = Info("mine", "1", (Claim("momentum", "client", intermediates=("u",)),))

    def start(self, case: Case) -> Any:
        rho, eta_l, x = case.hyper["rho"], case.hyper["eta_l"], flatten(case.x0)
        now: dict[str, Array] = {"x": x, "u": 0 * x}

        def step(e: Any) -> dict[str, Any]:
            if isinstance(e, Begin):
                now.update(x=flatten(e.x), u=0 * now["u"])
            else:
                g = flatten(e.g)
                now["u"] = rho * now["u"] + (1 - rho**2) * g
                now["x"] = (now["x"] - eta_l * (now["u"] + rho * rho * g)).astype(case.dtype)
            return {"x": unflatten(now["x"], case.x0), "u": now["u"]}

        return SimpleNamespace(step=step)


@pytest.mark.slow
def test_two_equations_of_a_local_solver() -> None:
    nearest = named(Heavy())
    assert nearest.count("yours: ") == 2, nearest


class Rounds:
    """FedAvgM by hand at level round: dampened at the server, and with a rate of its own at the clients."""

    info = Info("mine", "1", (Claim("fedavgm", "round", "", {"weights": "examples"}, intermediates=("delta", "v")),))

    def __init__(self, rate: Callable[[float, int], float]) -> None:
        self.rate = rate

    def start(self, case: Case) -> Any:
        p, h, x = case.problem, case.hyper, flatten(case.x0).astype(float)
        now = {"x": x, "v": 0 * x}

        def step(e: Any) -> dict[str, Any]:
            assert p is not None
            delta, n = 0 * x, sum(p.examples[i] for i in e.participants)
            for i, steps in zip(e.participants, e.steps, strict=True):
                y = now["x"]
                for _ in range(steps):
                    y = y - self.rate(h["eta_l"], steps) * (p.H[i] @ y - p.e[i])
                delta = delta + p.examples[i] / n * (y - now["x"])
            now["v"] = h["beta"] * now["v"] + (1 - h["beta"]) * delta
            now["x"] = (now["x"] + h["eta"] * now["v"]).astype(case.dtype)
            return {"x": now["x"], "v": now["v"], "delta": delta}

        return SimpleNamespace(step=step)


@pytest.mark.slow
def test_an_equation_of_the_client_is_written_out_beside_one_of_the_server() -> None:
    nearest = named(Rounds(lambda eta_l, tau: eta_l / (1 + eta_l)))
    assert nearest.count("yours: ") == 2 and "eta_l / (eta_l + 1)" in nearest, nearest


@pytest.mark.slow
def test_the_server_s_equation_is_written_out_beside_a_client_without_a_name() -> None:
    nearest = named(Rounds(lambda eta_l, tau: eta_l / tau))
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
