"""Starts of the clients of FedAda2's methods, and the steps of their updates, worked by hand in fractions."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import fedada2, fedadaadagrad, fedadaadam, fedblended, joint_direct, joint_local, joint_private
from fedspec.client.sm3_delayed import begin, sm3_i_delayed, sm3_ii_delayed
from fedspec.covers import Cover
from fedspec.domains import COUNTS
from fedspec.errors import ParameterError
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import given
from fedspec.readings import Idle

pytestmark = pytest.mark.table(20)


def change(module: Any, kind: Any, gradients: Sequence[int], strategy: str = "", **more: Any) -> Any:
    """Change of one client in one round, with eta_l = eps = 1; the server has beta1 = 0, v_0 = 0 and tau = 0."""
    server = {"eta": F(1), "beta1": F(0), "tau": F(0), "v0": F(0)}
    h = kind(
        eta_l=F(1), eps=F(1), **server, **{n: v if n in COUNTS or isinstance(v, str) else F(v) for n, v in more.items()}
    )
    start = module.init(h, vec(0), Setup((1,), {"w": (1,)}))
    noise = (0,) if "sigma" in more else ()
    plan = Plan((0,), (len(gradients),), (1,), strategies=(strategy,) if strategy else (), noise=noise)
    return module.step(h, start, [given([vec(g) for g in gradients])], plan)[1]["delta"][0]


UNBOUNDED: dict[str, Any] = {"clip_norm": 1000, "sigma": 0}
"""Privacy that changes nothing."""

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


STEPS = {
    "adagrad": (F(3, 4), F(4, 6), F(12, 14), F(84, 86)),
    "adam": (F(3, 4), F(4, 5), F(12, 13), F(84, 85)),
    "sgd": (3, 4, 12, 84),
}
"""Share of the rate in each step, with g = 3, 4, 12, 84: AdaGrad's roots are 3, 5, 13, 85, and with beta2 = 0 Adam's
are |g|."""

NO_DECAYS: dict[str, Any] = {"beta1_l": 0, "beta2_l": 0}

WARMED = [
    *(
        (module, kind, "", {"client": client, **own}, client)
        for module, kind in (
            (joint_local, joint_local.JointLocal),
            (joint_direct, joint_direct.JointDirect),
            (fedada2, fedada2.FedAda2),
        )
        for client, own in (("adagrad", {}), ("adam", NO_DECAYS))
    ),
    *(
        (joint_private, joint_private.DpJoint, "", {**UNBOUNDED, "client": client, **own, **options}, client)
        for client, own in (("adagrad", {}), ("adam", NO_DECAYS))
        for options in ({"preconditioner": "sent"}, {"preconditioner": "compressed"}, {"clipped": "gradients"})
    ),
    (fedadaadagrad, fedadaadagrad.FedAdaAdagrad, "", {}, "adagrad"),
    (fedadaadam, fedadaadam.FedAdaAdam, "", NO_DECAYS, "adam"),
    (fedadaadam, fedadaadam.FedAdaAdam, "", {**NO_DECAYS, "dead_zone": "momentum"}, "adam"),
    *(
        (fedblended, fedblended.FedBlended, strategy, NO_DECAYS, strategy.removeprefix("sm3-"))
        for strategy in ("sgd", "adagrad", "adam", "sm3-adagrad", "sm3-adam")
    ),
]


@pytest.mark.parametrize(("module", "kind", "strategy", "more", "solver"), WARMED)
@pytest.mark.parametrize(
    ("warm_up", "begun", "rates"),
    [
        (2, "first-step", (F(1, 2), 1, 1, 1)),
        (10, "first-step", (F(1, 10), F(2, 10), F(3, 10), F(4, 10))),
        # The optimiser sees the gradient of the first step, and the model stays: what follows is what it was.
        (1, "zero", (0, 1, 1, 1)),
        (10, "zero", (0, F(1, 10), F(2, 10), F(3, 10))),
    ],
)
def test_the_rate_warms_up(
    module: Any, kind: Any, strategy: str, more: Any, solver: str, warm_up: int, begun: str, rates: tuple[Any, ...]
) -> None:
    moved = change(module, kind, (3, 4, 12, 84), strategy, warm_up=warm_up, warm_up_from=begun, **more)
    assert moved == -sum(rate * u for rate, u in zip(rates, STEPS[solver], strict=True))


@pytest.mark.parametrize(
    ("module", "kind", "strategy", "more"),
    [*ADAGRAD, *((fedblended, fedblended.FedBlended, "sgd", NO_DECAYS),)],
)
def test_the_dead_zone_does_not_see_the_rate(module: Any, kind: Any, strategy: str, more: Any) -> None:
    """Steps of length 3/4 and more are taken under eps_s = 1/2, at whatever rate."""
    gradients = (3, 4, 12, 84)
    held = {n: change(module, kind, gradients, strategy, warm_up=10, eps_s=F(n), **more) for n in ("0", "1/2")}
    assert held["0"] == held["1/2"] != 0


def test_every_round_warms_up() -> None:
    """A client's optimiser is made afresh in each round, and with it the warm-up: 3/8, 3/8 again."""
    own: dict[str, Any] = {"server": "adam", "beta2": F(0), "warm_up": 2}
    h = joint_local.JointLocal(F(1), F(1), F(1), F(0), F(0), F(0), **own)  # type: ignore[arg-type]
    state, clients = joint_local.init(h, vec(0), Setup((1,), {"w": (1,)})), [given([vec(3)])]
    for _ in range(2):
        state, shown = joint_local.step(h, state, clients, Plan((0,), (1,), (1,)))
        assert list(shown["delta"]) == [-F(3, 8)]


@pytest.mark.parametrize("warm_up", [0, -1, 1.5])
def test_a_warm_up_that_is_none_is_refused(warm_up: Any) -> None:
    with pytest.raises(ParameterError, match=f"warm_up: got {warm_up}; .* a whole number >= 1"):
        joint_local.JointLocal(1, 1, 1, 0, 1, 1, warm_up=warm_up)


SETS = ((0, 1), (1, 2), (2,))
ROWS = ((1, 3, 2), (2, 0, 5), (3, 3, 1), (0, 4, 1), (2, 1, 2), (1, 5, 0), (4, 1, 3))


def printed_ii(z: int, v_0: int, clears: bool) -> list[tuple[list[int], list[int]]]:
    """mu and v of Alg. 2 (L672-L677, L695) and Alg. 4 (L720-L733), letter by letter: v_0 is set, mu_0 = 0 as in Alg. 4.

    What line 7 clears at a step without an update is kept instead, unless ``clears``.
    """
    mu, v, seen = [0] * len(SETS), [v_0] * 3, []
    for k, g in enumerate(ROWS, 1):
        due = (k - 1) % z == 0
        old, mu = mu, [0] * len(SETS) if due or clears else mu
        for j in range(3) if due else ():
            v[j] = min(old[b] for b, S in enumerate(SETS) if j in S) + g[j] * g[j]
            for b, S in enumerate(SETS):
                mu[b] = max(mu[b], v[j]) if j in S else mu[b]
        seen.append((list(mu), list(v)))
    return seen


def printed_i(z: int) -> list[tuple[list[int], list[int]]]:
    """mu and nu of Alg. 3 (L704-L711), letter by letter: it has no v_0, and mu_0 = 0."""
    mu, seen = [0] * len(SETS), []
    for t, g in enumerate(ROWS, 1):
        if (t - 1) % z == 0:
            mu = [mu[r] + max(g[j] * g[j] for j in S) for r, S in enumerate(SETS)]
        seen.append((list(mu), [min(mu[r] for r, S in enumerate(SETS) if j in S) for j in range(3)]))
    return seen


def accumulated(rule: Any, v_0: int, **more: Any) -> list[tuple[list[int], list[int]]]:
    """mu and nu after every step; whole numbers in floats are exact, whatever the roots of the steps."""
    cover = Cover(SETS, 3)
    state, seen = begin(np.zeros(3), cover, v0=v_0), []
    for g in ROWS:
        state = rule(state, np.array(g, dtype=float), cover, eta_l=1.0, eps=1.0, **more)
        seen.append(([int(m) for m in state.mu], [int(n) for n in state.nu]))
    return seen


@pytest.mark.parametrize("z", [1, 2, 3])
@pytest.mark.parametrize("v_0", [0, 7])
def test_sm3_as_printed_is_a_start_of_zero(z: int, v_0: int) -> None:
    """Runs of Alg. 2 for any given v_0 are those from mu_0 = v_0 = 0, and Algs. 3 and 4 are too."""
    assert printed_ii(z, v_0, clears=False) == accumulated(sm3_ii_delayed, 0, z=z)
    assert printed_ii(z, v_0, clears=True) == accumulated(sm3_ii_delayed, 0, z=z, idle=Idle.RESET)
    assert printed_i(z) == accumulated(sm3_i_delayed, 0, z=z)


@pytest.mark.parametrize("z", [1, 2, 3])
def test_the_bound_on_v_asks_for_a_start_in_mu(z: int) -> None:
    """L752: v_k is at least v_0 and the squares at the updates so far; with v_0 = 7 the print falls short."""
    least = [[7 + sum(g[j] ** 2 for g in ROWS[: k + 1 : z]) for j in range(3)] for k in range(len(ROWS))]

    def holds(runs: list[tuple[list[int], list[int]]]) -> bool:
        return all(n >= low for (_, nu), row in zip(runs, least, strict=True) for n, low in zip(nu, row, strict=True))

    assert holds(accumulated(sm3_ii_delayed, 7, z=z))
    assert holds(accumulated(sm3_i_delayed, 7, z=z))
    assert not holds(printed_ii(z, 7, clears=False))
