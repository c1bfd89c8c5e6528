"""FedNova with sampled clients and with server momentum, and SlowMo beside its public codes: numbers by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction as F
from itertools import pairwise
from operator import mul
from typing import Any

import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.errors import PlanError
from fedspec.mixing.accumulation import a_norm
from fedspec.plan import Oracle
from fedspec.problems.quadratic import constant
from fedspec.readings import BufferHolds, Solver
from fedspec.server.momentum import ServerMomentum, init
from fedspec.server.nova_momentum import nova_momentum
from fedspec.server.slow_momentum import slow_momentum

THREE = line(1, -2, 4, h=(1, 3, 2))
EXAMPLES = (F(1), F(2), F(3))
STEPS = (1, 2, 4)
START = vec(1)
ETA = F(1, 8)


def step(weights: str, steps: str, S: tuple[int, ...], x: Array = START, **more: Any) -> Array:
    """The change of the model when S is drawn."""
    h = {"eta_l": ETA, "sampled_weights": weights, "sampled_steps": steps, **more}
    run = Run("fednova-sampled", h, THREE.clients, EXAMPLES, x)
    run.round(dict(enumerate(STEPS)), draws=S)
    return run.x - x


@pytest.mark.parametrize(
    ("weights", "moved"),
    [("self-normalised", F(-325, 576)), ("with-replacement", F(-195, 512)), ("without-replacement", F(-325, 1024))],
)
def test_a_sample_by_hand(weights: str, moved: F) -> None:
    """The first two of three clients, d = (0, 65/16) and p = (1/6, 1/3), so that w = (1/3, 2/3), 1/2 or (1/4, 1/2)."""
    assert step(weights, "sample", (0, 1)) == moved


def test_the_text_forgets_to_divide() -> None:
    """L961: with the first two clients drawn, sum p_i tau_i = 5/6 where the box has 5/3."""
    box, text = (step("self-normalised", steps, (0, 1)) for steps in ("sample", "sum"))
    assert box == 2 * text


@pytest.mark.parametrize("weights", ["self-normalised", "without-replacement"])
def test_nobody_is_drawn_twice_without_replacement(weights: str) -> None:
    with pytest.raises(PlanError, match="draw without replacement"):
        step(weights, "sample", (1, 1))


def test_inconsistency_grows_with_rho() -> None:
    """chi^2(p||w) = E_p A E_p 1/A - 1, with A = ||a_i||_1 of momentum."""
    p = (F(1, 6), F(1, 3), F(1, 2))
    for steps in ((1, 2, 9), (5, 3, 4)):
        norms = [[a_norm(Solver.MOMENTUM, tau, rho=F(k, 8)) for tau in steps] for k in range(8)]
        chi = [sum(map(mul, p, a)) * sum(p_i / x for p_i, x in zip(p, a, strict=True)) - 1 for a in norms]
        assert all(low < high for low, high in pairwise(chi))


# Server momentum.


def test_momentum_by_hand() -> None:
    """Client of gradient x alone, eta_l = 1/2, beta = 1/2: x = 4, 2, 0, -1, ..."""
    run = Run("fednova-momentum", {"eta_l": F(1, 2), "beta": F(1, 2)}, line(0).clients, (F(1),), vec(4))
    seen = []
    for _ in range(3):
        run.round((1,))
        seen.append((run.x[0], run.state.v[0]))
    assert seen == [(2, -2), (0, -2), (-1, -1)]


def slowmo(state: ServerMomentum, changes: Sequence[Any], rates: Sequence[Any], form: BufferHolds) -> list[Any]:
    out = []
    for change, rate in zip(changes, rates, strict=True):
        state = nova_momentum(state, vec(change), eta_l=rate, beta=F(1, 2), buffer_holds=form)
        out.append(state.x[0])
    return out


def test_the_two_buffers_agree_as_long_as_the_rate_does_not_change() -> None:
    changes = (F(3), F(-1), F(2))
    constant_rate, falling = (F(1, 2),) * 3, (F(1, 2), F(1, 2), F(1, 4))
    one, other = (slowmo(init(vec(0)), changes, constant_rate, form) for form in BufferHolds)
    assert one == other == [3, F(7, 2), F(23, 4)]
    one, other = (slowmo(init(vec(0)), changes, falling, form) for form in BufferHolds)
    # The old buffer, 1/2 at the old rate, is halved with the rate before it is halved by the decay.
    assert (one[2], other[2]) == (F(23, 4), F(45, 8))


def test_hybrid_momentum_normalises_by_the_solvers_own_vector() -> None:
    """Constant gradients: the changes are -eta_l ||a_i||_1 g_i, so that FedNova moves along the mean gradient."""
    clients: Mapping[int, Oracle] = {0: constant(vec(3)), 1: constant(vec(-1))}
    h = {"eta_l": F(1, 2), "beta": F(1, 4), "solver": "momentum", "rho": F(1, 2)}
    run = Run("fednova-momentum", h, [*clients.values()], (F(1), F(3)), vec(0))
    values = run.round((1, 3))
    # ||a|| = 1 and 1 + 3/2 + 7/4 = 17/4, p = (1/4, 3/4), mean gradient 0.
    assert (values["tau_eff"], run.x[0]) == (F(1, 4) + F(3, 4) * F(17, 4), 0)


def followed(changes: list[Any], rates: list[F], *, eta: F, beta: F) -> list[list[F]]:
    """The models of the rule, from 0."""
    state, models = init(vec(0, 0)), []
    for change, eta_l in zip(changes, rates, strict=True):
        state = slow_momentum(state, change, eta_l=eta_l, eta=eta, beta=beta)
        models.append(list(state.x))
    return models


def looped(changes: list[Any], rates: list[F], *, eta: F, beta: F) -> list[list[F]]:
    """Loop of codes: for every number the model before, its mean over the workers, and the buffer."""
    before, kept, models = [F(0), F(0)], [F(0), F(0)], []
    for change, lr in zip(changes, rates, strict=True):
        for j in range(2):
            mean = before[j] + change[j]
            kept[j] = kept[j] * beta - mean / lr + before[j] / lr
            before[j] = before[j] - eta * lr * kept[j]
        models.append(list(before))
    return models


CHANGES = [vec(1, -2), vec(3, F(1, 2)), vec(0, 0), vec(-5, 1)]
FALLING = [F(1), F(1, 2), F(1, 2), F(1, 8)]


@pytest.mark.parametrize("rates", [FALLING, FALLING[::-1], [F(1, 3)] * 4], ids=["falling", "rising", "staying"])
def test_slowmo_is_the_loop_of_its_public_codes(rates: list[F]) -> None:
    given = {"eta": F(3, 4), "beta": F(1, 3)}
    assert followed(CHANGES, rates, **given) == looped(CHANGES, rates, **given)
