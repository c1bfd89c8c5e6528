"""FedNova with sampled clients and with server momentum: expectations by enumeration, numbers by hand."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction as F
from math import prod
from typing import Any

import numpy as np
import pytest
from test_spec.control_runs import Run, line
from test_spec.exact import vec

from fedspec.arith import Array
from fedspec.errors import PlanError
from fedspec.mixing.sampling import sampled_update
from fedspec.plan import Oracle
from fedspec.plans import steps_of_epochs
from fedspec.problems.quadratic import constant
from fedspec.readings import BufferHolds
from fedspec.server.momentum import ServerMomentum, init
from fedspec.server.nova_momentum import nova_momentum

THREE = line(1, -2, 4, h=(1, 3, 2))
EXAMPLES = (F(1), F(2), F(3))
P = (F(1, 6), F(1, 3), F(1, 2))
STEPS = (1, 2, 4)
START = vec(1)
ETA = F(1, 8)

Draws = Iterator[tuple[tuple[int, ...], F]]


def replaced(q: int, p: Sequence[F] = P) -> Draws:
    """Every ordered sample of q draws with replacement, and its probability."""
    for S in itertools.product(range(len(p)), repeat=q):
        yield S, F(prod(p[i] for i in S))


def uniform(q: int, m: int = 3) -> Draws:
    """Every sample of q different clients, and its probability."""
    samples = list(itertools.combinations(range(m), q))
    return ((S, F(1, len(samples))) for S in samples)


def step(weights: str, steps: str, S: tuple[int, ...], x: Array = START, **more: Any) -> Array:
    """The change of the model when S is drawn."""
    h = {"eta_l": ETA, "sampled_weights": weights, "sampled_steps": steps, **more}
    run = Run("fednova-sampled", h, THREE.clients, EXAMPLES, x)
    run.round(dict(enumerate(STEPS)), draws=S)
    return run.x - x


def mean(draws: Draws, weights: str, steps: str, **more: Any) -> F:
    total = sum((chance * step(weights, steps, S, **more) for S, chance in draws), start=vec(0))
    return F(total[0])


def everybody(algorithm: str = "fednova", **more: Any) -> Run:
    run = Run(algorithm, {"eta_l": ETA, **more}, THREE.clients, EXAMPLES, START)
    run.round(STEPS)
    return run


def directions(solver: str = "sgd", **more: Any) -> Array:
    """Every client's d_i, from its own FedNova round with tau_eff = 1."""
    out = []
    for i, tau in enumerate(STEPS):
        h = {"eta_l": ETA, "tau_eff_choice": "fixed", "solver": solver, **more}
        run = Run("fednova", h, THREE.clients, EXAMPLES, START)
        run.round({i: tau})
        out.append((START - run.x)[0] / ETA)
    return vec(*out)


@pytest.mark.parametrize("q", [1, 2, 3])
@pytest.mark.parametrize("solver", [{}, {"solver": "momentum", "rho": F(1, 2)}], ids=["sgd", "momentum"])
def test_both_schemes_of_the_footnote_are_unbiased(q: int, solver: dict[str, Any]) -> None:
    whole = everybody(tau_eff_choice="fixed", tau_eff=F(5, 2), **solver).x - START
    for draws, weights in ((replaced(q), "with-replacement"), (uniform(q), "without-replacement")):
        assert mean(draws, weights, "fixed", tau_eff=F(5, 2), **solver) == whole[0]


def test_the_weights_of_the_box_are_biased() -> None:
    """p = (8/15, 7/15), d = (7, -4), one client drawn: 3/2 for 28/15."""
    got = F(0)
    for i in (0, 1):
        clients: list[Oracle] = [constant(vec(7)), constant(vec(-4))]
        run = Run("fednova-sampled", {"eta_l": F(1)}, clients, (F(8), F(7)), vec(0))
        run.round({i: 1})
        got -= run.x[0] / 2
    assert got == F(3, 2)
    whole = Run("fednova", {"eta_l": F(1)}, [constant(vec(7)), constant(vec(-4))], (F(8), F(7)), vec(0))
    assert -whole.rounds([(1, 1)])[0] == F(28, 15)
    assert mean(uniform(2), "self-normalised", "sample") != mean(replaced(2), "with-replacement", "sample")


@pytest.mark.parametrize("q", [1, 2, 3])
def test_steps_from_the_sample_bring_the_inconsistency_back_at_order_1_over_q(q: int) -> None:
    """E tau_eff(S) dbar(S) = A dbar + (sum p_i A_i d_i - A dbar) / q, A_i = ||a_i||_1."""
    rho = F(1, 3)
    more = {"solver": "momentum", "rho": rho}
    d, p = directions(**more), vec(*P)
    a = vec(1, 2 + rho, 4 + 3 * rho + 2 * rho**2 + rho**3)
    A, dbar = p @ a, p @ d
    want = -ETA * (A * dbar + (p @ (a * d) - A * dbar) / q)
    assert mean(replaced(q), "with-replacement", "sample", **more) == want


def test_one_draw_with_steps_from_the_sample_is_fedavg() -> None:
    for i in range(3):
        run = Run("fedavg", {"eta_l": ETA}, THREE.clients, EXAMPLES, START)
        run.round({i: STEPS[i]})
        for weights in ("with-replacement", "self-normalised"):
            assert step(weights, "sample", (i,)) == run.x - START
    in_the_mean = Run("fedavg", {"eta_l": ETA}, THREE.clients, EXAMPLES, START)
    in_the_mean.round(STEPS)
    assert mean(replaced(1), "with-replacement", "sample") == (in_the_mean.x - START)[0]


def test_the_text_forgets_to_divide() -> None:
    """L961: with the first two clients drawn, sum p_i tau_i = 5/6 where the box has 5/3."""
    box, text = (step("self-normalised", steps, (0, 1)) for steps in ("sample", "sum"))
    assert box == 2 * text


@pytest.mark.parametrize("q", [1, 2, 3])
def test_second_moment_of_a_mean_with_replacement(q: int) -> None:
    """E |mean z_l|^2 = (1 - 1/q) |zbar|^2 + 1/q sum p |z|^2, which FedNova's Lemma 5 (L883) bounds."""
    z = np.array([[F(1), F(3)], [F(-2), F(1)], [F(4), F(0)]], dtype=object)
    p, w = vec(*P), vec(*[F(1, q)] * q)
    got = F(0)
    for S, chance in replaced(q):
        move = sampled_update(vec(0, 0), z[list(S)], w, tau_eff=F(1), eta_l=F(1))
        got += chance * (move @ move)
    zbar = p @ z
    assert got == (1 - F(1, q)) * (zbar @ zbar) + F(1, q) * sum(
        p_i * (z_i @ z_i) for p_i, z_i in zip(p, z, strict=True)
    )


@pytest.mark.parametrize("q", [1, 2, 3])
def test_steps_from_a_sample_without_replacement_are_biased_until_everybody_is_drawn(q: int) -> None:
    """E (m/q)^2 sum_S p_i A_i sum_S p_j d_j, from the chances q/m of a client and q (q-1) / (m (m-1)) of a pair."""
    d, p, a, m = directions(), vec(*P), vec(*STEPS), 3
    own, all_pairs = p @ (a * p * d), (p @ a) * (p @ d)
    want = F(m, q) * own + F(m * (q - 1), q * (m - 1)) * (all_pairs - own)
    assert mean(uniform(q), "without-replacement", "sample") == -ETA * want
    assert (want == all_pairs) is (q == m)


@pytest.mark.parametrize("weights", ["self-normalised", "without-replacement"])
def test_nobody_is_drawn_twice_without_replacement(weights: str) -> None:
    with pytest.raises(PlanError, match="draw without replacement"):
        step(weights, "sample", (1, 1))


# Server momentum.


def test_momentum_by_hand() -> None:
    """One client of gradient x, eta_l = 1/2, beta = 1/2: x = 4, 2, 0, -1, ..."""
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


@pytest.mark.parametrize(("rate", "settles"), [(2.9, True), (3.1, False)])
def test_momentum_is_stable_below_2_times_1_plus_beta(rate: float, settles: bool) -> None:
    """One step on x^2 / 2: 1 - M = eta_l, which may reach 2 (1 + beta) = 3."""
    run = Run("fednova-momentum", {"eta_l": rate, "beta": 0.5}, (lambda k, x: x,), (1.0,), np.array([1.0]))
    size = abs(run.rounds([(1,)] * 400)[0])
    assert (size < 1e-6) if settles else (size > 1e3)


def test_hybrid_momentum_normalises_by_the_solvers_own_vector() -> None:
    """Constant gradients: the changes are -eta_l ||a_i||_1 g_i, so that FedNova moves along the mean gradient."""
    clients: Mapping[int, Oracle] = {0: constant(vec(3)), 1: constant(vec(-1))}
    h = {"eta_l": F(1, 2), "beta": F(1, 4), "solver": "momentum", "rho": F(1, 2)}
    run = Run("fednova-momentum", h, [*clients.values()], (F(1), F(3)), vec(0))
    values = run.round((1, 3))
    # ||a|| = 1 and 1 + 3/2 + 7/4 = 17/4, p = (1/4, 3/4), mean gradient 0.
    assert (values["tau_eff"], run.x[0]) == (F(1, 4) + F(3, 4) * F(17, 4), 0)


# Plans.


def test_steps_of_epochs() -> None:
    assert steps_of_epochs((100, 65, 32), epochs=2, batch=32) == (6, 4, 2)
    assert steps_of_epochs((100, 65), epochs=(1, 3), batch=10) == (10, 19)


@pytest.mark.parametrize(
    ("examples", "epochs", "batch", "said"),
    [
        ((100, 10), 2, 32, "client 1 has 10, too few"),
        ((100, 10), (1,), 8, "1 numbers for 2 clients"),
        ((100,), 0, 8, r"epochs\[0\]: got"),
        ((100,), 1, 0, "batch: got"),
    ],
)
def test_epochs_that_make_no_steps_are_refused(examples: Any, epochs: Any, batch: Any, said: str) -> None:
    with pytest.raises(PlanError, match=said):
        steps_of_epochs(examples, epochs=epochs, batch=batch)
