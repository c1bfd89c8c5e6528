"""Mime, FedCM and FedSAM by hand, in fractions, and beside loops over numbers; batches have their own gradients."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import ROUNDS, Run, batches, gradient, line
from test_spec.exact import vec

from fedspec.algorithms import fedcm, mime, mime_lite
from fedspec.algorithms.fedsam import uphill
from fedspec.errors import ParameterError
from fedspec.plan import Plan, Setup
from fedspec.varying import stepped


def looped_mime(
    rounds: Sequence[dict[int, int]], n: Sequence[int], *, lite: bool, lr: F, server: F, beta: F, trace: bool
) -> list[F]:
    """Loop over numbers, as codes have it: the messages, each client's use of them, and the server's result."""
    x, s, models = F(3), F(0), []
    into = F(1) if trace else 1 - beta
    for steps in rounds:
        weight = sum(n[i] for i in steps)
        full = {i: sum(gradient(i, k, x) for k in range(tau)) / tau for i, tau in steps.items()}
        c = sum(n[i] * full[i] for i in steps) / weight
        drop = F(0)
        for i, tau in steps.items():
            y = x
            for k in range(tau):
                g = gradient(i, k, y)
                g = g if lite else g - gradient(i, k, x) + c
                y -= lr * (into * g + beta * s)
            drop += n[i] * (x - y) / weight
        x, s = x - server * drop, into * c + beta * s
        models.append(x)
    return models


@pytest.mark.parametrize("weights", ["uniform", "examples"])
@pytest.mark.parametrize("form", ["average", "sum"])
@pytest.mark.parametrize("algorithm", ["mime-lite", "mime"])
def test_mime_is_the_loop_over_batches(algorithm: str, form: str, weights: str) -> None:
    """Both gradients of a correction are of one batch; a client's at x is the mean over the batches of its steps."""
    clients = batches()
    given = {"eta_l": F(1, 8), "eta": F(3, 4), "beta": F(1, 3)}
    run = Run(algorithm, {**given, "momentum_sum": form, "weights": weights}, clients, (2, 1, 5), vec(3))
    got = [run.rounds([steps])[0] for steps in ROUNDS]
    n = (2, 1, 5) if weights == "examples" else (1, 1, 1)
    loop = {"lr": F(1, 8), "server": F(3, 4), "beta": F(1, 3), "trace": form == "sum"}
    assert got == looped_mime(ROUNDS, n, lite=algorithm == "mime-lite", **loop)


def test_clients_of_mime_may_have_rates_of_their_own() -> None:
    """Asked first for their gradients, 2 and -6, they step by a half and an eighth along the mean -2: 1 and 1/4."""
    h = mime_lite.MimeLite(eta_l=F(1), beta=F(0))
    state = mime_lite.init(h, vec(0), Setup((1, 1), {"w": (1,)}))
    clients = [lambda k, x, g=g: vec(g) for g in (2, -6)]
    plan = Plan((0, 1), (1, 1), (1, 1), hyper={"eta_l": (F(1, 2), F(1, 8))})
    state, shown = stepped(mime.step, h, state, clients, plan)
    assert (state.x[0], shown["g_x"][0]) == (F(5, 8), -2)


PULLED = line(1, -3, h=(1, 3))
"""F_1 = (x - 1)^2 / 2 and F_2 = 3 (x + 1)^2 / 2, but for constants."""


@pytest.mark.parametrize("direction", ["gradient", "change"])
def test_three_rounds_of_fedcm_by_hand(direction: str) -> None:
    """Mix 0.9 of the direction and 0.1 of the gradient, from 2: the last model is given to its last digit."""
    hyper = {"eta_l": F(1, 10), "rho": F(9, 10), "direction": direction}
    run = Run("fedcm", hyper, PULLED.clients, (1, 1), vec(2))
    assert f"{float(run.rounds([(3, 3)] * 3)[0]):.5f}" == "1.23184"


def test_single_steps_of_fedcm_by_hand() -> None:
    """The mean gradient is 2 x + 1, eta_l = rho = 1/2: D is 5/2 at 2, then 5/2 / 2 + 7/4 / 2 at 3/4."""
    run = Run("fedcm", {"eta_l": F(1, 2), "rho": F(1, 2)}, PULLED.clients, (1, 1), vec(2))
    shown = [(run.round((1, 1))["D"][0], run.x[0]) for _ in range(2)]
    assert shown == [(F(5, 2), F(3, 4)), (F(5, 2), F(-1, 2))]


@pytest.mark.parametrize(
    ("algorithm", "more"),
    [("fedcm", {}), ("mofedsam", {"radius": F(0), "eps": F(1)}), ("mofedsam", {"radius": F(1, 4), "eps": F(1, 2)})],
)
def test_the_servers_step_is_one_along_the_new_direction(algorithm: str, more: dict[str, F]) -> None:
    """x = x - eta_g D with eta_g = eta K eta_l, where all clients take K steps: 3/4 * 3 * 1/8."""
    hyper = {"eta_l": F(1, 8), "rho": F(1, 2), "eta": F(3, 4), **more}
    run, x = Run(algorithm, hyper, PULLED.clients, (1, 1), vec(2)), F(2)
    for _ in range(3):
        x -= F(9, 32) * run.round((3, 3))["D"][0]
        assert run.x[0] == x


@pytest.mark.parametrize(("direction", "x"), [("gradient", F(-7, 4)), ("change", F(-2))])
def test_a_rate_that_is_halved_halves_what_a_gradient_moves(direction: str, x: F) -> None:
    """The gradient is 2. A step at 1 leads to -1, with D = 1; one at 1/2 goes 1/2, and along D by 1/4 or by 1/2."""
    clients = [lambda k, x: vec(2)]
    h = fedcm.FedCM(eta_l=F(1), rho=F(1, 2), direction=direction)
    state = fedcm.init(h, vec(0), Setup((1,), {"w": (1,)}))
    for eta_l in (F(1), F(1, 2)):
        state, _ = stepped(fedcm.step, h, state, clients, Plan((0,), (1,), (1,), hyper={"eta_l": eta_l}))
    assert state.x[0] == x


def test_more_steps_go_farther_along_a_gradient_and_not_along_a_change() -> None:
    """Without slopes a direction of 1, made in one step: three steps go along it three times, or once in all."""
    for direction, far in (("gradient", F(3)), ("change", F(1))):
        clients = [lambda k, x: vec(1 if x[0] == 0 else 0)]
        run = Run("fedcm", {"eta_l": F(1), "rho": F(1, 2), "direction": direction}, clients, (1,), vec(0))
        before = run.rounds([(1,)])[0]
        assert before - run.rounds([(3,)])[0] == far / 2 * F(1, 2)


def test_the_length_is_that_of_the_whole_model() -> None:
    """3 and 4 are 5 long: of a radius of 1/10 the coordinates have 6 and 8 hundredths, half of it where eps is 5."""
    for eps, far in ((0, 1), (5, 2)):
        z = uphill(vec(0, 1), vec(3, 4), radius=F(1, 10), eps=eps)
        assert list(z) == [F(6, 100 * far), 1 + F(8, 100 * far)]


def test_at_a_minimum_it_looks_where_it_is_and_without_eps_cannot_say_where() -> None:
    nothing, there = np.zeros(2), np.array([1.0, -2.0])
    assert uphill(there, nothing, radius=0.5, eps=1e-12).tolist() == there.tolist()
    with pytest.raises(ParameterError, match="eps: got 0, and uphill divides by 0"), np.errstate(all="ignore"):
        uphill(there, nothing, radius=0.5, eps=0.0)


UNLIKE = (((1, 2, 3), (F(1, 2), F(1, 2), F(1, 2))), ((1, 1, 2), (4, -1, 5)), ((5, 1, 2), (1, 2, -3)))
"""Slopes of each client, of each of three batches: g(x) = a x - b, as the numbers a and b."""


def looped_uphill(
    rounds: Sequence[dict[int, int]], n: Sequence[int], *, lr: F, server: F, radius: F, eps: F, beta: F
) -> list[F]:
    """Loop over numbers: the sign of a batch's gradient is uphill, and its size beside eps is the distance.

    The stored direction is a fall over its length; FedSAM takes nothing of it, beta = 1.
    """
    x, kept, models = F(3), F(0), []
    for steps in rounds:
        weight, fall, K = sum(n[i] for i in steps), F(0), F(0)
        for i, tau in steps.items():
            y = x
            for k in range(tau):
                g = gradient(i, k, y, UNLIKE)
                sign = (g > 0) - (g < 0)
                there = gradient(i, k, y + sign * (radius - radius * eps / (abs(g) + eps)), UNLIKE)
                y -= lr * (beta * there + (1 - beta) * kept)
            fall += F(n[i], weight) * (x - y)
            K += F(n[i] * tau, weight)
        x, kept = x - server * fall, fall / K / lr
        models.append(x)
    return models


@pytest.mark.parametrize(("algorithm", "beta"), [("fedsam", F(1)), ("mofedsam", F(1, 3))])
@pytest.mark.parametrize("weights", ["uniform", "examples"])
def test_steps_uphill_are_the_loop_over_batches(weights: str, algorithm: str, beta: F) -> None:
    """Both gradients of a step are of one batch."""
    given: dict[str, Any] = {"eta_l": F(1, 8), "eta": F(3, 4), "radius": F(1, 2), "eps": F(1, 16), "weights": weights}
    more = {"rho": 1 - beta} if algorithm == "mofedsam" else {}
    run = Run(algorithm, {**given, **more}, batches(UNLIKE), (2, 1, 5), vec(3))
    got = [run.rounds([steps])[0] for steps in ROUNDS]
    n = (2, 1, 5) if weights == "examples" else (1, 1, 1)
    assert got == looped_uphill(ROUNDS, n, lr=F(1, 8), server=F(3, 4), radius=F(1, 2), eps=F(1, 16), beta=beta)
