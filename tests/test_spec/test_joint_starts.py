"""What the clients of FedAda2's methods start from, and when they update, worked by hand in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from fedspec.algorithms import fedada2, fedadaadagrad, fedadaadam, fedblended
from fedspec.errors import ParameterError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import given


def vec(*xs: Any) -> np.ndarray:
    return np.array([F(x) for x in xs], dtype=object)


def change(module: Any, kind: Any, gradients: Sequence[int], strategy: str = "", **more: Any) -> Any:
    """How far one client moves in one round, with eta_l = eps = 1; the server has beta1 = 0, v_0 = 0 and tau = 0."""
    server = {"eta": F(1), "beta1": F(0), "tau": F(0), "v0": F(0)}
    h = kind(eta_l=F(1), eps=F(1), **server, **{n: F(v) if n not in ("z", "epoch") else v for n, v in more.items()})
    start = module.init(h, vec(0), Setup((1,), {"w": (1,)}))
    plan = Plan((0,), (len(gradients),), (1,), strategies=(strategy,) if strategy else ())
    return module.step(h, start, [given([vec(g) for g in gradients])], plan)[1]["delta"][0]


ADAGRAD = [
    (fedadaadagrad, fedadaadagrad.FedAdaAdagrad, "", {}),
    (fedada2, fedada2.FedAda2, "", {}),
    (fedblended, fedblended.FedBlended, "adagrad", {"beta1_l": 0, "beta2_l": 0}),
    (fedblended, fedblended.FedBlended, "sm3-adagrad", {"beta1_l": 0, "beta2_l": 0}),
]
ADAM = [
    (fedadaadam, fedadaadam.FedAdaAdam, ""),
    (fedblended, fedblended.FedBlended, "adam"),
]


@pytest.mark.parametrize(("module", "kind", "strategy", "more"), ADAGRAD)
def test_a_second_moment(module: Any, kind: Any, strategy: str, more: Any) -> None:
    """v_0 = 16 and gradients 3, 12: v = 25, 169; steps 3/6 and 12/14."""
    assert change(module, kind, (3, 12), strategy, v0_l=16, **more) == -(F(1, 2) + F(6, 7))


@pytest.mark.parametrize(("module", "kind", "strategy"), ADAM)
def test_both_moments(module: Any, kind: Any, strategy: str) -> None:
    """beta1 = 1/2, beta2 = 3/4, m_0 = 2, v_0 = 8, g = 4: m = 3 and v = 10, m_hat = 6 and v_hat = 40.

    With v_0 = 20/3 v = 9 and v_hat = 36: a step of 6/7.
    """
    decays: dict[str, Any] = {"beta1_l": F(1, 2), "beta2_l": F(3, 4)}
    assert change(module, kind, (4,), strategy, m0_l=2, v0_l=F(20, 3), **decays) == -F(6, 7)


@pytest.mark.parametrize(("module", "kind", "strategy", "more"), ADAGRAD)
def test_a_delay_in_epochs(module: Any, kind: Any, strategy: str, more: Any) -> None:
    """Epochs of two steps, every other one frozen: with g = 3, 4, 8, 8, 12 the roots are 3, 5, 5, 5, 13."""
    moved = change(module, kind, (3, 4, 8, 8, 12), strategy, z=2, epoch=2, **more)
    assert moved == -(F(3, 4) + F(4, 6) + 2 * F(8, 6) + F(12, 14))


@pytest.mark.parametrize(("module", "kind", "strategy"), ADAM)
def test_adam_s_delay_in_epochs(module: Any, kind: Any, strategy: str) -> None:
    """beta2 = 0: v_hat is the square of the last gradient of an epoch that updates; g = 3, 4, 8, 8, 12."""
    moved = change(module, kind, (3, 4, 8, 8, 12), strategy, z=2, epoch=2, beta1_l=0, beta2_l=0)
    assert moved == -(F(3, 4) + F(4, 5) + 2 * F(8, 5) + F(12, 13))


def test_what_plays_no_part_is_refused() -> None:
    with pytest.raises(ParameterError, match="v0_l: got 1, which plays no part under client=adam"):
        fedada2.FedAda2(1, 1, 1, 0, 1, 1, client="adam", beta1_l=0, beta2_l=0, v0_l=1)  # type: ignore[arg-type]
