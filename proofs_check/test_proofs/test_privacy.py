"""The privacy budget against Rényi divergences computed by hand, and the paper's numbers."""

from __future__ import annotations

import builtins
import logging
from math import exp, log
from typing import Any

import numpy as np
import pytest

from fedspec.errors import FedspecError, ParameterError
from fedspec_proofs.privacy import ORDERS, budget

PAPER = {"sigma": 1.0, "rate": 0.1, "rounds": 500, "delta": 0.0025}


def converted(renyi: float, order: float, delta: float) -> float:
    """Epsilon from a Rényi divergence of that order."""
    return renyi + log((order - 1) / order) - (log(delta) + log(order)) / (order - 1)


def quadrature(order: float, sigma: float, rate: float) -> float:
    """The Rényi divergence of one round: log E ((1 - q) + q exp((2z - 1) / (2 sigma^2)))^order over order - 1."""
    z = np.linspace(-40 * sigma, 40 * sigma + 40 * order, 400_001)
    logs = np.logaddexp(np.log1p(-rate), np.log(rate) + (2 * z - 1) / (2 * sigma**2)) * order
    density = -(z**2) / (2 * sigma**2) - 0.5 * np.log(2 * np.pi * sigma**2)
    return float(np.log(np.exp(logs + density).sum() * (z[1] - z[0])) / (order - 1))


def test_the_budget_of_the_paper() -> None:
    epsilon, order = budget(**PAPER)  # type: ignore[arg-type]
    assert order == 2
    assert round(epsilon, 4) == 13.1236
    # At order 2 the moment is 1 + q^2 (exp(1 / sigma^2) - 1) in closed form.
    renyi = 500 * log(1 + 0.1**2 * (exp(1.0) - 1))
    assert epsilon == pytest.approx(converted(renyi, 2, 0.0025), rel=1e-12)


def test_no_order_beside_2_is_better_there() -> None:
    """Fractional orders, which the accountant is spared, by quadrature."""
    epsilon, _ = budget(**PAPER)  # type: ignore[arg-type]
    for order in (1.5, 1.8, 1.9, 2.1, 2.5, 3.0):
        assert converted(500 * quadrature(order, 1.0, 0.1), order, 0.0025) > epsilon


@pytest.mark.table(1)
@pytest.mark.parametrize(("sigma", "rate", "rounds", "delta"), [(1.5, 0.05, 40, 1e-3), (4.0, 0.02, 200, 1e-4)])
def test_against_quadrature(sigma: float, rate: float, rounds: int, delta: float) -> None:
    epsilon, order = budget(sigma, rate, rounds, delta)
    by_order = {a: converted(rounds * quadrature(a, sigma, rate), a, delta) for a in range(2, 65)}
    assert epsilon == pytest.approx(min(by_order.values()), rel=1e-6)
    assert order == min(by_order, key=by_order.__getitem__)


def test_everybody_every_round_is_the_gaussian_mechanism() -> None:
    """Without sampling the divergence of order a is a / (2 sigma^2) a round."""
    epsilon, order = budget(2.0, 1.0, 3, 0.01)
    assert epsilon == pytest.approx(min(converted(3 * a / 8, a, 0.01) for a in ORDERS), rel=1e-12)
    assert order in ORDERS


def test_monotone() -> None:
    base = budget(**PAPER)[0]  # type: ignore[arg-type]
    for change, direction in (({"sigma": 2.0}, -1), ({"rate": 0.2}, 1), ({"rounds": 600}, 1), ({"delta": 0.001}, 1)):
        changed = budget(**{**PAPER, **change})[0]  # type: ignore[arg-type]
        assert (changed - base) * direction > 0


def test_it_is_silent(caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]) -> None:
    with caplog.at_level(logging.DEBUG):
        budget(**PAPER)  # type: ignore[arg-type]
    assert caplog.records == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sigma": -1.0}, "sigma"),
        ({"sigma": 0.0}, "without noise there is no budget"),
        ({"rate": 0.0}, r"rate: got 0\.0"),
        ({"rate": 1.5}, "rate"),
        ({"rounds": 0}, "rounds: got 0"),
        ({"rounds": 2.5}, "whole number"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_bad_input(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        budget(**{**PAPER, **change})


def test_the_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = builtins.__import__

    def without(name: str, *more: Any, **options: Any) -> Any:
        if name.startswith("dp_accounting"):
            raise ModuleNotFoundError(name)
        return found(name, *more, **options)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(FedspecError, match=r"pip install '\./proofs_check\[privacy\]'"):
        budget(**PAPER)  # type: ignore[arg-type]
