"""Fed-LAMB and its baselines on numbers worked by hand, exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import fedlamb, fedsgd, local_ams
from fedspec.algorithms.fedlamb import FedLamb
from fedspec.algorithms.fedsgd import FedSgd
from fedspec.algorithms.local_ams import FedAms
from fedspec.arith import Array
from fedspec.client.lamb import Moments, layer_step, precondition, sent_moment
from fedspec.errors import ParameterError, PlanError, UnknownNameError
from fedspec.mixing.periodic import model_mean, moment_maximum
from fedspec.plan import Oracle, Plan, Setup
from fedspec.problems.quadratic import QuadraticClients
from fedspec.readings import Averaged, ClientMemory, Exponent, LocalCorrection, Phi, Sent


def lamb(**changes: Any) -> FedLamb:
    plain = {"eta_l": F(1, 10), "beta1": F(0), "beta2": F(1, 2), "eps": F(0), "v0": F(1), "phi": "constant"}
    return FedLamb(**{**plain, **changes})


def constant(*g: Any) -> Oracle:
    return lambda k, x: vec(*g)


def run(
    h: Any,
    x: Array,
    clients: Sequence[Oracle],
    plans: Sequence[tuple[tuple[int, ...], int]],
    shapes: Any = None,
    program: Any = fedlamb,
) -> list[tuple[Any, dict[str, Any]]]:
    """The states and intermediates after rounds of (participants, local steps); one layer unless shapes are given."""
    state, out = program.init(h, x, Setup((1,) * len(clients), shapes or {"w": x.shape})), []
    for who, steps in plans:
        state, values = program.step(h, state, clients, Plan(who, (steps,) * len(who), (1,) * len(who)))
        out.append((state, values))
    return out


def test_a_layer_moves_by_its_own_length() -> None:
    # q = (7/2, 10) + (3, 4)/2 = (5, 12), ||q|| = 13, ||x|| = 5: a step of length 5/10.
    after = layer_step(vec(3, 4), vec("7/2", 10), eta_l=F(1, 10), lam=F(1, 2))
    assert list(after) == [3 - F(5, 26), 4 - F(12, 26)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("size", ["tiny", "usual", "huge"])
def test_a_step_has_its_length_however_long_the_ratio_is(size: str, dtype: Any) -> None:
    """p = (3, 4) times a size whose square is no number: from x = (3, 4), phi = 1, the step is eta_l (3, 4)/5."""
    exponent = {np.float64: {"tiny": -170, "usual": 0, "huge": 160}, np.float32: {"tiny": -30, "usual": 0, "huge": 30}}
    p, x = np.array([3, 4], dtype) * dtype(10.0 ** exponent[dtype][size]), np.array([3, 4], dtype)
    for each in (
        layer_step(x, p, eta_l=0.5, phi=Phi.CONSTANT),
        layer_step(x[None], p[None], eta_l=0.5, phi=Phi.CONSTANT)[0],
    ):
        np.testing.assert_allclose(x - each, [0.3, 0.4], rtol=8 * np.finfo(dtype).eps)


def test_a_block_without_axes_is_a_layer_of_one_coordinate() -> None:
    h, x = lamb(eta_l=F(1, 8)), vec(2, -3)
    state = fedlamb.init(h, x, Setup((1,), {"scale": (), "shift": (1,)}))
    assert state.layers == (slice(0, 1), slice(1, 2))
    after, _ = fedlamb.step(h, state, [constant(5, -7)], Plan((0,), (2,), (1,)))
    assert list(after.x) == [2 - F(2, 8), -3 + F(2, 8)]


@pytest.mark.parametrize(
    ("phi", "length"), [("identity", F(5)), ("constant", F(1)), ("clip", F(2))], ids=["identity", "constant", "clip"]
)
def test_phi(phi: str, length: F) -> None:
    after = layer_step(vec(3, 4), vec(5, 12), eta_l=F(13), phi=Phi(phi), phi_m=F(1, 2), phi_M=F(2))
    assert list(after) == [3 - 5 * length, 4 - 12 * length]


def test_a_short_layer_is_lifted_to_phi_m() -> None:
    after = layer_step(vec("3/100", "4/100"), vec(5, 12), eta_l=F(13), phi=Phi.CLIP, phi_m=F(1, 2), phi_M=F(2))
    assert list(after) == [F(3, 100) - F(5, 2), F(4, 100) - 6]


def test_no_direction_no_move() -> None:
    assert list(layer_step(vec(3, 4), vec(-6, -8), eta_l=F(1), lam=F(2))) == [3, 4]
    assert list(layer_step(vec(0, 0), vec(5, 12), eta_l=F(1))) == [0, 0]


def test_moments_by_hand() -> None:
    kw = {"beta1": F(1, 2), "beta2": F(3, 4), "eps": F(1)}
    own, p = precondition(Moments(vec(0), vec(4), 0), vec(8), vec(9), **kw)
    assert (own.m_i[0], own.v_i[0], own.t) == (4, 19, 1)
    assert p[0] == F(4) / F(1, 2) / (3 + 1)
    # A round later t = 1 again, and what is carried is divided by 1/2 too: 14 where no gradient was above 10.
    own, p = precondition(replace(own, t=0), vec(10), vec(9), **kw)
    assert (own.m_i[0], p[0]) == (7, F(7, 2))
    assert sent_moment(own.v_i, steps=2, beta2=F(3, 4), sent=Sent.CORRECTED)[0] == own.v_i[0] / F(7, 16)


def test_correcting_in_place_explodes() -> None:
    """Growth with one step a round: m_r = beta1/(1 - beta1) m_(r-1) + g, a factor of 9 at beta1 = 9/10, and 999 at
    999/1000."""
    own, m = Moments(vec(0), vec(1), 0), F(0)
    for r in range(6):
        kw = {"beta1": F(9, 10), "beta2": F(999, 1000), "eps": F(0), "bias_correction": LocalCorrection.IN_PLACE}
        own, _ = precondition(replace(own, t=0), vec(1), vec(1), **kw)
        m = 9 * m + 1
        assert own.m_i[0] == m
        assert own.v_i[0] == F(999 ** (r + 1)) + sum(F(999) ** k for k in range(r + 1))


def test_the_maximum_is_of_means() -> None:
    moments = np.stack([vec(1, 9), vec(5, 1)])
    assert list(moment_maximum(vec(4, 4), moments, clients=2)) == [4, 5]
    assert list(model_mean(moments, clients=2)) == [3, 5]


def test_means_over_all_shrink_the_model() -> None:
    at_rest = [constant(0)] * 2
    for averaged, want in ((Averaged.PARTICIPANTS, F(1)), (Averaged.ALL, F(1, 8))):
        h = lamb(averaged=averaged)
        assert run(h, vec(1), at_rest, [((0,), 2), ((1,), 1), ((0,), 3)])[-1][0].x[0] == want


def test_the_denominator_lags_one_round() -> None:
    # beta2 = 0: v_hat_2 = 100, and only round 2 divides by its root.
    h = FedAms(eta_l=F(1), beta1=F(0), beta2=F(0), eps=F(0), v0=F(1))
    (first, _), (second, _) = run(h, vec(0), [constant(10)], [((0,), 2), ((0,), 2)], program=local_ams)
    assert (first.x[0], first.v_hat[0]) == (-20, 100)
    assert second.x[0] == -22


def test_memory_waits_for_the_client() -> None:
    clients = [constant(8), constant(0)]
    plans = [((0,), 1), ((1,), 3), ((0,), 1)]
    for memory, want in ((ClientMemory.CARRIED, F(6)), (ClientMemory.RESET, F(4))):
        h = lamb(beta1=F(1, 2), v0=F(10**6), memory=memory)
        _, values = run(h, vec(100), clients, plans)[-1]
        assert values["m_i"].tolist() == [[want]]


def test_the_printed_table_by_hand() -> None:
    """m^t from m^(t-1) and v^t from v^t of the last round with such a step, both replaced by what corrects them.

    beta1 = 1/2, beta2 = 3/4, v_0 = 4, one client, gradients 8, 2, 6 in rounds of 1, 2 and 2 steps:
    round 1: m^1 = (0 + 4)/(1/2) = 8 and v^1 = (3 + 16)/(1/4) = 76, at one step;
    round 2: m^1 = (0 + 1)/(1/2) = 2, m^2 = (8/2 + 1)/(3/4) = 20/3, v^1 = (57 + 1)/(1/4) = 232, v^2 = (3 + 1)/(7/16);
    round 3: m^2 = (2/2 + 3)/(3/4) = 16/3, v^2 = (3/4 64/7 + 9)/(7/16).
    """
    h = FedAms(*(F(1), F(1, 2), F(3, 4), F(0), F(4)), memory="two-index", bias_correction="in-place", gradient="stale")
    state, given = local_ams.init(h, vec(0), Setup((1,), {"w": (1,)})), iter((8, 2, 6))
    seen = []
    for steps in (1, 2, 2):
        g = next(given)
        state, values = local_ams.step(replace(h), state, [constant(g)], Plan((0,), (steps,), (1,)))
        seen.append((values["m_i"][0][0], values["s_i"][0][0]))
        state = replace(state, v_hat=vec(4))
    assert seen == [(8, 76), (F(20, 3), F(64, 7)), (F(16, 3), (F(48, 7) + 9) / F(7, 16))]


def test_a_shorter_round_keeps_what_later_steps_left() -> None:
    """The step t = 2 of round 3 averages with round 1's, since round 2 had none: v^2 = 1, 1/2, ... over v_0 = 0."""
    h = FedAms(*(F(1), F(1, 2), F(1, 2), F(1), F(0)), memory="two-index", bias_correction="none")
    state = local_ams.init(h, vec(0), Setup((1,), {"w": (1,)}))
    for steps, m, v in ((2, F(1, 2), F(1, 2)), (1, F(1, 2), F(3, 4)), (2, F(3, 4), F(3, 4))):
        state, values = local_ams.step(h, state, [constant(1)], Plan((0,), (steps,), (1,)))
        state = replace(state, v_hat=vec(0))
        assert (values["m_i"][0][0], values["s_i"][0][0]) == (m, v)


def test_all_are_averaged_as_they_were_last_seen() -> None:
    """Three clients from x = 3, v_0 = 1, rate 1: what each sent last, over three; client 2 never sends."""
    h = FedAms(*(F(1), F(0), F(0), F(0), F(1)), averaged="last-sent")
    clients = [constant(1), constant(5), constant(3)]
    states = [state for state, _ in run(h, vec(3), clients, [((0,), 2), ((1, 0), 1), ((0,), 1)], program=local_ams)]
    # Models 1, 3, 3; then 7/3 - 1, 7/3 - 5, 3 with v_hat = (1 + 25 + 1)/3; then 5/9 - 1/3, -8/3, 3.
    assert [state.x[0] for state in states] == [F(7, 3), F(5, 9), F(5, 27)]
    assert [state.v_hat[0] for state in states] == [1, 9, 9]


@pytest.mark.parametrize("program", [local_ams, fedlamb], ids=["fed-ams", "fed-lamb"])
def test_a_constant_gradient_steps_the_same_in_every_round(program: Any) -> None:
    """A corrected average of a constant is the constant, also when it is carried on: the text's words (L120)."""
    numbers = {"eta_l": F(1), "beta1": F(9, 10), "beta2": F(0), "eps": F(1, 2), "v0": F(1)}
    h = FedAms(**numbers) if program is local_ams else FedLamb(**numbers, normalisation="none")
    xs = [state.x[0] for state, _ in run(h, vec(0), [constant(1)], [((0,), 5), ((0,), 1)], program=program)]
    assert xs == [-5 * F(2, 3), -6 * F(2, 3)]
    printed = run(replace(h, exponent="local"), vec(0), [constant(1)], [((0,), 5), ((0,), 1)], program=program)
    first, second = (state.x[0] for state, _ in printed)
    # (1 - 0.9^6) / (1 - 0.9): the fifth step of a round of five is right, the first of the next one is not.
    assert (second - first) / (first / 5) == F(468559, 100000) and first == xs[0]


def test_exponents_count_the_round_or_all_rounds() -> None:
    h = FedAms(eta_l=F(1), beta1=F(1, 2), beta2=F(0), eps=F(0), v0=F(1))
    plans = [((0,), 2), ((0,), 2)]
    # Gradients 1: v_hat stays 1. Corrected over all steps every step is 1; over those of the round m/(1 - 1/2^t).
    for exponent, want in ((Exponent.GLOBAL, F(4)), (Exponent.LOCAL, 2 + F(7, 8) / F(1, 2) + F(15, 16) / F(3, 4))):
        states = run(replace(h, exponent=exponent), vec(0), [constant(1)], plans, program=local_ams)
        assert states[-1][0].x[0] == -want


@pytest.mark.parametrize("lam", ["1/1000", "1", "1000"])
def test_decay_alone_does_not_know_its_strength(lam: str) -> None:
    x = run(lamb(lam=F(lam), phi="identity"), vec(3, 4), [constant(0, 0)], [((0,), 2), ((0,), 1)])[-1][0].x
    assert list(x) == [3 * F(9, 10) ** 3, 4 * F(9, 10) ** 3]


def quadratic(c: F, at: F = F(0)) -> Oracle:
    return lambda k, x: c * (x - at)


def test_equal_steps_reach_and_then_straddle_the_minimum() -> None:
    """phi = 1, c x^2/2: x_k = x_0 - k eta until |x| <= eta, then s and s - eta in turn, whatever c."""
    for c in (F(1, 10), F(7)):
        states = run(lamb(v0=F(10**6)), vec("23/100"), [quadratic(c)], [((0,), 1)] * 7)
        assert [s.x[0] * 100 for s, _ in states] == [13, 3, -7, 3, -7, 3, -7]


def test_layers_matter_to_fed_lamb_alone() -> None:
    clients = [constant(3, 4, 12), constant(-4, 3, 12)]
    shapes = ({"w": (3,)}, {"a": (2,), "b": (1,)})
    one, two = (run(lamb(), vec(1, 1, 1), clients, [((0, 1), 2)], layers)[0][0].x for layers in shapes)
    assert one[2] == 1 - F(2, 10) * F(12, 13) and two[2] == 1 - F(2, 10)
    assert two[0] == 1 - F(1, 10) * (F(3, 5) - F(4, 5))
    h = FedAms(eta_l=F(1, 10), beta1=F(0), beta2=F(1, 2), eps=F(0), v0=F(1))
    one, two = (run(h, vec(1, 1, 1), clients, [((0, 1), 2)], layers, local_ams)[0][0].x for layers in shapes)
    assert list(one) == list(two)


def test_where_rounds_leave_the_model() -> None:
    """Fed-LAMB rests at a geometric median, per coordinate with layers of one; Fed-SGD at a weighted mean."""
    optima = [vec(2 + s * r * a, -1 + s * r * b) for s, r, a, b in ((1, 1, F(3), F(4)), (-1, 9, F(3), F(4)))]
    clients = [lambda k, x, c=c, b=b: c * (x - b) for c, b in zip((F(3), F(1, 7)), optima, strict=True)]
    h = lamb(v0=F(10**10))
    assert list(run(h, vec(2, -1), clients, [((0, 1), 1)] * 2)[-1][0].x) == [2, -1]
    three = [quadratic(F(c), F(b)) for c, b in ((1, -4), (2, 3), (F(1, 9), 90))]
    assert run(lamb(v0=F(10**10)), vec(3), three, [((0, 1, 2), 1)])[0][0].x[0] == 3
    # Fed-SGD weighs the optima by how far its clients get, 1 - (1 - eta_l c)^3: by 7/8 and 37/64.
    two, rest = [quadratic(F(4)), quadratic(F(2), F(93))], F(93) * F(37, 64) / (F(7, 8) + F(37, 64))
    assert run(FedSgd(eta_l=F(1, 8)), vec(rest), two, [((0, 1), 3)], program=fedsgd)[0][0].x[0] == rest


def test_a_coordinate_may_be_measured_in_any_unit() -> None:
    """With eps = 0, g_j times c_j and v_0 times c_j^2 leave p and the maximum's root in that unit; c a power of two."""
    rng, c = np.random.default_rng(1), 2.0 ** np.array([-3, 0, 5])
    decays = {"beta1": 0.5, "beta2": 0.75, "eps": 0.0}
    near = Moments(np.zeros(3), np.full(3, 0.25), 0)
    far, v_hat, V_hat = Moments(np.zeros(3), c**2 * 0.25, 0), np.full(3, 0.25), c**2 * 0.25
    for _ in range(4):
        g = rng.integers(-9, 10, 3).astype(float)
        (near, p), (far, q) = precondition(near, g, v_hat, **decays), precondition(far, c * g, V_hat, **decays)
        assert list(p) == list(q)
        v_hat, V_hat = moment_maximum(v_hat, near.v_i[None], clients=1), moment_maximum(V_hat, far.v_i[None], clients=1)
        assert list(c**2 * v_hat) == list(V_hat)


def test_it_turns_and_translates_in_special_cases_only() -> None:
    """A turn by the triangle (3, 4, 5) is seen by an uneven v_hat, a translation by phi and by lam."""
    Q = np.array([[0.6, -0.8], [0.8, 0.6]])
    H, e, x = np.array([[[2.0, 1], [1, 1]], [[1.0, 0], [0, 3]]]), np.array([[1.0, -3], [2, 1]]), np.array([3.0, -1.0])
    turned = QuadraticClients(np.stack([(T + T.T) / 2 for T in Q @ H @ Q.T]), e @ Q.T)
    shift = np.array([8.0, 4.0])
    moved = QuadraticClients(H, e + H @ shift)
    numbers = {"eta_l": 0.125, "beta1": 0.5, "beta2": 0.75, "eps": 0.0, "v0": 0.25}

    def end(start: Array, problem: QuadraticClients, **more: Any) -> Array:
        after: Array = run(lamb(**{**numbers, **more}), start, problem.clients, [((0, 1), 2)] * 3)[-1][0].x
        return after

    for more, same in (({"v0": 2.0**20}, True), ({}, False)):
        ends = end(x, QuadraticClients(H, e), **more), end(Q @ x, turned, **more)
        assert np.allclose(Q @ ends[0], ends[1], rtol=1e-10) is same
    for more, same in (({}, True), ({"phi": "identity"}, False), ({"lam": 0.5}, False)):
        ends = end(x, QuadraticClients(H, e), **more), end(x + shift, moved, **more)
        assert np.allclose(ends[0] + shift, ends[1], rtol=1e-10) is same


def refused(make: Callable[[], Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        make()


def test_what_is_refused() -> None:
    refused(lambda: lamb(eta_l=F(0)), ParameterError, "eta_l: got 0")
    refused(lambda: Plan((0,), (0,), (1,)), PlanError, "steps: got 0; the number of local steps")
    refused(lambda: lamb(phi="clip", phi_m=F(3), phi_M=F(2)), ParameterError, "phi_m: got 3, but phi_M is 2")
    refused(lambda: lamb(phi="clip"), ParameterError, "phi_m, phi_M: not given; FedLamb needs them under phi=clip")
    for changes, match in (
        ({"exponent": "local", "bias_correction": "none"}, "nothing is divided"),
        ({"exponent": "local", "memory": "reset"}, "exponent: got local, .* no part under memory=reset"),
        ({"sent": "corrected", "bias_correction": "in-place"}, "divided by .* twice"),
    ):
        refused(lambda c=changes: lamb(**c), ParameterError, match)  # type: ignore[misc]
    assert lamb(exponent="local", bias_correction="none", sent="corrected").exponent is Exponent.LOCAL
    refused(lambda: lamb(lam=F(-1)), ParameterError, "lam: got -1.*>= 0")
    refused(lambda: lamb(phi_m=F(0)), ParameterError, "phi_m: got 0.*> 0")
    refused(lambda: lamb(phi="root"), UnknownNameError, "phi: unknown value 'root'; known: identity")
