"""Known numbers, worked by hand or taken from a paper, against the rules run exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import fedams_code, fedmom, fednova
from fedspec.algorithms.fednova import FedNova
from fedspec.algorithms.fedopt import FedAdagrad
from fedspec.client import adagrad as client_adagrad
from fedspec.client import adamw
from fedspec.client.sm3 import accumulate_i, accumulate_ii
from fedspec.covers import Cover
from fedspec.errors import ParameterError
from fedspec.mixing.accumulation import a_norm, accumulation
from fedspec.mixing.weighted import shares, weighted_mean
from fedspec.plan import Message
from fedspec.readings import BiasCorrection, Decay, Solver
from fedspec.server.adagrad import adagrad
from fedspec.server.adagrad import init as init_adaptive
from fedspec.server.adam import adam
from fedspec.server.amsgrad import AmsGrad, ams, amsgrad, corrected_ams, init
from fedspec.server.yogi import yogi


def test_server_adam_first_round() -> None:
    # v = 3/4 * 1 + 1/4 * 36/4 = 3 ... chosen so that the root is rational: v0 = 1, Delta = 1, beta2 = 3/4 -> v = 1.
    state = init_adaptive(vec(0), v0=F(1))
    after = adam(state, vec(1), eta=F(2), beta1=F(1, 2), beta2=F(3, 4), tau=F(1))
    assert after.m[0] == F(1, 2)
    assert after.v[0] == 1
    assert after.x[0] == F(1, 2)  # 2 * (1/2) / (1 + 1)


def test_yogi_keeps_v_under_zero_input_and_adam_does_not() -> None:
    state = init_adaptive(vec(0), v0=F(4))
    kw = {"eta": F(1), "beta1": F(0), "beta2": F(3, 4), "tau": F(1)}
    assert yogi(state, vec(0), **kw).v[0] == 4
    assert state.v[0] == 4
    kept = adam(init_adaptive(vec(0), v0=F(4)), vec(2), **kw)
    assert kept.v[0] == 4  # 3/4 * 4 + 1/4 * 4


def test_amsgrad_keeps_the_larger_second_moment() -> None:
    kw = {"eta": F(1), "beta1": F(0), "beta2": F(0)}
    state = amsgrad(init(vec(0)), vec(4), eps=F(9), **kw)
    assert (state.v_hat[0], state.x[0]) == (16, F(4, 5))
    state = amsgrad(state, vec(1), eps=F(9), **kw)
    assert (state.v[0], state.v_hat[0], state.x[0]) == (1, 16, F(4, 5) + F(1, 5))


def test_fedams_of_the_code_corrects_its_initial_maximum() -> None:
    h = fedams_code.FedAMSCode(eta_l=F(1), eta=F(1), beta1=F(1, 2), beta2=F(3, 4), eps=F(1), v_hat0=F(9, 4))
    state, numbers = fedams_code.init(h, vec(0)), {n: getattr(h, n) for n in ("eta", "beta1", "beta2", "eps")}
    state = corrected_ams(state, vec(2), **numbers)
    # m = 1, v = 1 < 9/4; 1 / (1/2) over sqrt(9/4 / (1/4)) + 1 is 2 / 4.
    assert (state.m[0], state.v[0], state.v_hat[0], state.x[0]) == (1, 1, F(9, 4), F(1, 2))
    state = corrected_ams(replace(state, v_hat=vec(F(7, 4))), vec(F(2)), **numbers)
    # m = 3/2, v = 7/4, no less than what it is compared with; 3/2 / (3/4) over sqrt(7/4 / (7/16)) + 1 is 2 / 3.
    assert (state.m[0], state.v[0], state.v_hat[0], state.x[0]) == (F(3, 2), F(7, 4), F(7, 4), F(1, 2) + F(2, 3))


def test_fedams_option_1_takes_eps_into_the_maximum() -> None:
    state: AmsGrad = ams(init(vec(0)), vec(F(1, 2)), eta=F(1), beta1=F(0), beta2=F(0), eps=F(4))
    assert (state.v_hat[0], state.x[0]) == (4, F(1, 4))


def test_sm3_on_two_overlapping_sets() -> None:
    cover = Cover(((0, 1), (1, 2)), 3)
    mu, nu = accumulate_i(vec(0, 0), vec(1, 4, 9), cover)
    assert list(mu) == [4, 9] and list(nu) == [4, 4, 9]
    mu, nu = accumulate_ii(vec(0, 0), vec(1, 4, 9), cover)
    assert list(nu) == [1, 4, 9] and list(mu) == [4, 9]
    mu, nu = accumulate_ii(mu, vec(1, 0, 0), cover)
    assert list(nu) == [5, 4, 9] and list(mu) == [5, 9]


def test_adagrad_accumulates_before_it_steps() -> None:
    state = client_adagrad.adagrad(client_adagrad.begin(vec(0)), vec(3), eta_l=F(1), eps=F(0))
    state = client_adagrad.adagrad(state, vec(4), eta_l=F(1), eps=F(0))
    assert state.x[0] == -1 - F(4, 5)


def test_a_server_adagrad_may_correct_its_momentum_by_hand() -> None:
    """m = 2, v = 9 + 16: a step of 2 / (1 - 1/2) / (5 + 1); then m = 1, one of 1 / (1 - 1/4) / 6. No beta2."""
    h: Any = {"eta": F(1), "beta1": F(1, 2), "tau": F(1), "bias_correction": BiasCorrection.MOMENTS}
    first = adagrad(init_adaptive(vec(0), v0=F(9)), vec(4), **h)
    assert (first.x[0], adagrad(first, vec(0), **h).x[0] - first.x[0]) == (F(2, 3), F(2, 9))
    with pytest.raises(ParameterError, match=r"bias_correction: got step, .* has no beta2"):
        FedAdagrad(eta_l=1, eta=1, beta1=0, tau=1, v0=1, bias_correction=BiasCorrection.STEP)


@pytest.mark.parametrize(
    ("solver", "kw", "want"),
    [
        (Solver.SGD, {}, [1, 1, 1]),
        (Solver.PROXIMAL, {"alpha": F(1, 2)}, [F(1, 4), F(1, 2), 1]),
        (Solver.PROXIMAL, {"alpha": F(1)}, [0, 0, 1]),
        (Solver.DECAYED, {"gamma": F(1, 2)}, [1, F(1, 2), F(1, 4)]),
        (Solver.MOMENTUM, {"rho": F(1, 2)}, [F(7, 4), F(3, 2), 1]),
        (Solver.NESTEROV, {"rho": F(1, 2)}, [F(15, 8), F(7, 4), F(3, 2)]),
        (Solver.DAMPENED, {"rho": F(1, 2)}, [F(7, 8), F(3, 4), F(1, 2)]),
    ],
)
def test_accumulation_vectors(solver: Solver, kw: dict[str, Any], want: list[Any]) -> None:
    assert accumulation(solver, 3, **kw) == want
    assert a_norm(solver, 3, **kw) == sum(want)


def test_proximal_inside_the_buffer_can_turn_negative() -> None:
    # FedNova's framework asks a_k >= 0; with rho = 1/2 that needs alpha <= (1 - sqrt(rho))^2, about 0.086.
    assert min(accumulation(Solver.MOMENTUM_PROXIMAL_INSIDE, 6, alpha=F(1, 2), rho=F(1, 2))) < 0
    assert min(accumulation(Solver.MOMENTUM_PROXIMAL_INSIDE, 40, alpha=F(1, 12), rho=F(1, 2))) > 0


def test_fednova_by_hand() -> None:
    # Two clients, n = (3, 1), tau = (2, 4), changes 2 and 8: d-directions 1 and 2; tau_eff = 5/2.
    h = FedNova(eta_l=F(1, 10))
    messages = [Message(vec(2), F(3), 2, 2), Message(vec(8), F(1), 4, 4)]
    x, values = fednova.server(h, vec(0), messages)
    assert values["tau_eff"] == F(5, 2)
    assert x[0] == F(5, 2) * (F(3, 4) * 1 + F(1, 4) * 2)


def test_weighted_mean_by_hand() -> None:
    deltas = np.array([[F(1)], [F(5)]], dtype=object)
    assert weighted_mean(deltas, shares([3, 1], deltas[0]))[0] == 2


ADAMW: dict[str, Any] = {"eta_l": F(1, 10), "beta1": F(1, 2), "beta2": F(5, 11), "eps": F(1, 2), "wd": F(1, 2)}


@pytest.mark.parametrize(
    ("decay", "x"), [("rate", F(942, 100)), ("alone", 5 - F(8, 100)), ("after", (10 - F(8, 100)) * F(19, 20))]
)
def test_what_adamw_decays(decay: str, x: F) -> None:
    """Gradient 2 once, from 10: a step of 2/25 beside a decay of half of it, or of a twentieth."""
    assert adamw.adamw(adamw.begin(vec(10)), vec(2), **ADAMW, decay=Decay(decay)).x[0] == x


@pytest.mark.parametrize(("momentum", "models"), [("nesterov", [16, 14]), ("heavy-ball", [14, 14])])
def test_two_rounds_of_fedmom(momentum: str, models: list[int]) -> None:
    """Changes 8 and 0 of clients with 1 and 3 examples, then -1, at rate 2: y is 14 and 14, or 10 and 14."""
    h = fedmom.FedMom(eta_l=1, eta=2, beta=F(1, 2), momentum=momentum)  # type: ignore[arg-type]
    state = fedmom.init(h, vec(10))
    rounds = [[Message(vec(8), 1, 1, 1), Message(vec(0), 3, 1, 1)], [Message(vec(-1), 1, 1, 1)]]
    for sent, want in zip(rounds, models, strict=True):
        state, _ = fedmom.server(h, state, sent)
        assert state.x[0] == want
