"""Rounds of FedAda2's methods worked by hand, in fractions."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import (
    fedada2,
    fedadaadagrad,
    fedadaadam,
    fedblended,
    joint_direct,
    joint_local,
    normalised,
    private,
)
from fedspec.arith import digits
from fedspec.catalogue import CATALOGUE
from fedspec.client.normalised import normalised_sgd
from fedspec.errors import PlanError, UnknownNameError
from fedspec.mixing.private import clip
from fedspec.plan import Plan, Setup
from fedspec.problems.quadratic import constant, given


def plan(*steps: int, **more: Any) -> Plan:
    """Clients 0, 1, ... with these numbers of steps."""
    return Plan(tuple(range(len(steps))), steps, (1,) * len(steps), **more)


def begun(h: Any, x: np.ndarray, shapes: Any = None) -> Any:
    """The first state, from the file that the record is of."""
    return sys.modules[type(h).__module__].init(h, x, Setup((1,), shapes or {"w": (len(x),)}))


def D(x: Any) -> Any:
    """A fraction on 50 digits."""
    q = F(x)
    return Decimal(q.numerator) / Decimal(q.denominator)


def dec(*xs: Any) -> np.ndarray:
    return np.array([D(x) for x in xs], dtype=object)


def hyper(kind: type[Any], **more: Any) -> Any:
    """eta_l = eps = 1 at the clients; a server without momentum."""
    given = {"eta_l": 1, "eps": 1, "eta": 4, "beta1": 0, "tau": F(1, 2), "v0": 2, **more}
    return kind(**{n: D(v) if isinstance(v, int | F) and n not in ("z", "epoch") else v for n, v in given.items()})


def delta(step: Any, h: Any, clients: Any, plan: Plan, shapes: Any = None) -> np.ndarray:
    """The aggregate of the first round from x = 0."""
    d = len(clients[0](0, dec(0)))
    _, shown = step(h, begun(h, dec(*[0] * d), shapes), clients, plan)
    return np.asarray(shown["delta"])


def close(got: np.ndarray, *want: Any) -> bool:
    return max(abs(a - D(b)) for a, b in zip(got, want, strict=True)) < Decimal("1e-46")


@pytest.fixture(autouse=True)
def _fifty_digits() -> Iterator[None]:
    with digits():
        yield


class TestFedAdaAdagrad:
    def test_a_round(self) -> None:
        """u = 3/4 and -1/2; weights 2 and 1: (-3/2 + 1/2) / 2 = -1/2, divided by two clients, not by three.

        The server divides by sqrt(2 + 1/4) + 1/2 = 2: x = 4 (-1/2) / 2.
        """
        h = fedadaadagrad.FedAdaAdagrad(F(1), F(1), F(4), F(0), F(1, 2), F(2))  # type: ignore[arg-type]
        clients = [constant(vec(3)), constant(vec(-1))]
        after, shown = fedadaadagrad.step(h, begun(h, vec(0)), clients, plan(1, 1, scales=(F(2), F(1))))
        assert list(shown["delta"]) == [F(-1, 2)]
        assert list(after.x) == [-1]

    def test_a_client_drawn_twice(self) -> None:
        twice = Plan((0, 0, 1), (1, 1, 1), (1, 1, 1), repeats=True)
        clients = [constant(dec(3)), constant(dec(-1))]
        got = delta(fedadaadagrad.step, hyper(fedadaadagrad.FedAdaAdagrad), clients, twice)
        assert close(got, (-2 * F(3, 4) + F(1, 2)) / 3)

    def test_a_delay(self) -> None:
        """z = 2, gradients 3, 3, 4: divisors 3 + 1, 3 + 1, then sqrt(9 + 16) + 1."""
        clients = [given([dec(3), dec(3), dec(4)])]
        got = delta(fedadaadagrad.step, hyper(fedadaadagrad.FedAdaAdagrad, z=2), clients, plan(3))
        assert close(got, -(F(3, 4) + F(3, 4) + F(4, 6)))

    def test_in_its_dead_zone_the_server_never_moves_again(self) -> None:
        """|u| = 3/4 and 1/2, both below 1: whatever the gradient is, the round is the identity."""
        h = hyper(fedadaadagrad.FedAdaAdagrad, eps_s=1)
        clients = [constant(dec(3)), constant(dec(1))]
        state = begun(h, dec(7))
        for _ in range(3):
            state, shown = fedadaadagrad.step(h, state, clients, plan(2, 1))
            assert list(shown["delta"]) == [0]
        assert list(state.x) == [7] and list(state.v) == [2]


class TestFedAdaAdam:
    def test_momentum_is_corrected(self) -> None:
        """Gradients 3, 1, beta1_l = 1/2: m = 3/2, 5/4 and m_hat = 3, 5/3; with beta2_l = 0, v_hat = 9, 1."""
        h = hyper(fedadaadam.FedAdaAdam, beta1_l=F(1, 2), beta2_l=0)
        got = delta(fedadaadam.step, h, [given([dec(3), dec(1)])], plan(2))
        assert close(got, -(F(3, 4) + F(5, 3) / 2))

    @pytest.mark.parametrize(("dead_zone", "moved"), [("step", F(5, 6)), ("momentum", F(3, 4) + F(1, 3))])
    def test_what_a_short_step_leaves(self, dead_zone: str, moved: F) -> None:
        """|u| = 3/4 < 4/5: the step is left out and m kept; or it is taken, and m_hat = (1/2) / (3/4) follows.

        In the second case that step is short as well, and taken.
        """
        h = hyper(fedadaadam.FedAdaAdam, beta1_l=F(1, 2), beta2_l=0, eps_s=F(4, 5), dead_zone=dead_zone)
        assert close(delta(fedadaadam.step, h, [given([dec(3), dec(1)])], plan(2)), -moved)


class TestJointDirect:
    def test_the_client_starts_from_the_server(self) -> None:
        """v_0 = 16 and g = 3: the client divides by 5 + 1; without what was sent, by 3 + 1."""
        clients = [constant(dec(3))]
        assert close(delta(joint_direct.step, hyper(joint_direct.JointDirect, v0=16), clients, plan(1)), F(-1, 2))
        assert close(delta(joint_local.step, hyper(joint_local.JointLocal, v0=16), clients, plan(1)), F(-3, 4))

    def test_what_is_sent_is_the_new_second_moment(self) -> None:
        """Round 1 changes by -1/2, so that round 2 begins at v = 16 + 1/4 and g^2 = 9 makes it 25 + 1/4."""
        h = hyper(joint_direct.JointDirect, v0=16)
        state, clients = begun(h, dec(0)), [constant(dec(3))]
        state, _ = joint_direct.step(h, state, clients, plan(1))
        _, shown = joint_direct.step(h, state, clients, plan(1))
        assert abs(shown["delta"][0] + 3 / (D(F(101, 4)).sqrt() + 1)) < Decimal("1e-46")

    @pytest.mark.parametrize(
        ("received", "moved"),
        [("corrected", F(4, 7)), ("uncorrected", F(1, 2)), ("m-corrected", F(1)), ("without-start", F(4, 5))],
    )
    def test_adam_starts_from_the_server(self, received: str, moved: F) -> None:
        """beta1 = 1/2, beta2 = 3/4, v_0 = 20/3, g = 4: m = 2 and v = 5 + 4 = 9; corrected m_hat = 4 and v_hat = 36.

        Without what was sent v_hat = (9 - 5) / (1/4) = 16.
        """
        h = hyper(
            joint_direct.JointDirect, v0=F(20, 3), beta1_l=F(1, 2), beta2_l=F(3, 4), client="adam", received=received
        )
        assert close(delta(joint_direct.step, h, [constant(dec(4))], plan(1)), -moved)


class TestFedAda2:
    def test_one_set_shares_its_accumulator(self) -> None:
        """g = (3, 4), then (3, 0): nu = (9, 16), then 16 + (9, 0) = (25, 16)."""
        clients = [given([dec(3, 4), dec(3, 0)])]
        got = delta(fedada2.step, hyper(fedada2.FedAda2, cover="one"), clients, plan(2))
        assert close(got, -(F(3, 4) + F(3, 6)), F(-4, 5))

    def test_axes_of_a_matrix(self) -> None:
        """Squares 1, 4 over 9, 16: coordinate (1, 0) is then bounded by min(row 16, column 9), (1, 1) by 16."""
        clients = [given([dec(1, 2, 3, 4), dec(0, 0, 4, 3)])]
        got = delta(fedada2.step, hyper(fedada2.FedAda2, cover="axes"), clients, plan(2), {"w": (2, 2)})
        assert close(got, F(-1, 2), F(-2, 3), -(F(3, 4) + F(4, 6)), -(F(4, 5) + F(3, 6)))

    def test_a_decay_is_of_the_model_before_the_step(self) -> None:
        """g = 3, then 0: x = -3/4, of which the second step takes a third."""
        got = delta(fedada2.step, hyper(fedada2.FedAda2, wd=F(1, 3)), [given([dec(3), dec(0)])], plan(2))
        assert close(got, F(-1, 2))


class TestFedBlended:
    def test_each_client_has_its_solver(self) -> None:
        """SGD moves by 3, AdaGrad by 3/4; with weights 1/3 and 4/3 both change by -1."""
        mixed = plan(1, 1, strategies=("sgd", "adagrad"), scales=(D(F(1, 3)), D(F(4, 3))))
        got = delta(fedblended.step, hyper(fedblended.FedBlended, beta1_l=0, beta2_l=0), [constant(dec(3))] * 2, mixed)
        assert close(got, -1)

    def test_a_strategy_for_each(self) -> None:
        h = hyper(fedblended.FedBlended, beta1_l=0, beta2_l=0)
        with pytest.raises(PlanError, match="0 for 2 participants"):
            fedblended.step(h, begun(h, dec(0)), [constant(dec(3))] * 2, plan(1, 1))
        with pytest.raises(UnknownNameError, match="lion"):
            fedblended.step(h, begun(h, dec(0)), [constant(dec(3))], plan(1, strategies=("lion",)))


def test_two_clients_are_unbiased_and_three_are_not() -> None:
    """g_1 = -g_2 where f is stationary, and the quotients g / (|g| + eps) cancel; of three they cancel elsewhere."""
    h = hyper(fedadaadagrad.FedAdaAdagrad, eps=F(1, 2))
    for a, c, x in (((3, 1), dec(1, -2), F(1, 4)), ((1, 1, 1), dec(F(1, 2), F(1, 2), -1), 0)):
        clients = [lambda k, x, a=a_i, c=c_i: a * (x - c) for a_i, c_i in zip(a, c, strict=True)]
        after, shown = fedadaadagrad.step(h, begun(h, dec(x)), clients, plan(*[1] * len(a)))
        assert sum(f(0, dec(x))[0] for f in clients) == 0
        assert close(shown["delta"], 0) is close(after.x, x) is (len(a) == 2)


class TestPrivate:
    def test_clip(self) -> None:
        assert list(clip(vec(3, 4), clip_norm=F(1))) == [F(3, 5), F(4, 5)]
        assert list(clip(vec(3, 4), clip_norm=F(5))) == [3, 4]
        assert list(clip(vec(3, 4), clip_norm=F(9))) == [3, 4]
        assert list(clip(vec(0, 0), clip_norm=F(1))) == [0, 0]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize(("first", "second"), [(3, 4), (1, 0), (1, 1), (-5, 12)])
    @pytest.mark.parametrize("share", [0.25, 1.5])
    def test_clip_over_the_whole_range_of_floats(self, dtype: Any, first: int, second: int, share: float) -> None:
        """By 60 digits, from where lengths are subnormal to where they overflow."""
        info = np.finfo(dtype)
        least, most = np.log2(info.smallest_normal) + 8, np.log2(info.max) - 4.5
        for power in np.linspace(least, most, 41).astype(int):
            delta = np.ldexp(np.array([first, second], dtype), power)
            exact = [Decimal(float(a)) for a in delta]
            with localcontext(prec=60):
                length = sum(a * a for a in exact).sqrt()
                c = dtype(min(float(length) * share, float(info.max)))
                want = [a * min(D(1), Decimal(float(c)) / length) for a in exact]
            got = clip(delta, clip_norm=c)
            assert got.dtype == dtype
            assert [float(a) for a in got] == pytest.approx([float(a) for a in want], rel=8 * float(info.eps))

    def test_clip_of_a_change_whose_length_is_no_float(self) -> None:
        most = float(np.finfo(float).max)
        assert clip(np.array([most, -most]), clip_norm=1.0).tolist() == pytest.approx([0.5**0.5, -(0.5**0.5)])
        assert clip(np.array([3e160, 4e160]), clip_norm=1.0).tolist() == pytest.approx([0.6, 0.8])
        assert clip(np.array([1e-170, 0]), clip_norm=1e-180).tolist() == pytest.approx([1e-180, 0], abs=0)
        stacked = clip(np.array([[most, most], [3.0, 4.0], [0, 0], [3e-200, 4e-200]]), clip_norm=1.0)
        assert stacked[1:].tolist() == [[0.6000000000000001, 0.8], [0, 0], [3e-200, 4e-200]]

    @pytest.mark.parametrize(("server", "moved"), [("average", F(-3, 2)), ("adagrad", F(-1)), ("adam", F(-6, 5))])
    def test_a_round(self, server: Any, moved: F) -> None:
        """Changes -3 and 1 are clipped to -2 and 1; noise adds (1/4) 2 (-1): -3/2 over 2 clients is -3/4.

        AdaGrad: v = 27/16 + 9/16 = 9/4; Adam with beta2 = 3/4: v = (3/4)(27/16) + (1/4)(9/16) = 90/64.
        """
        more: dict[str, Any] = {}
        if server == "adagrad":
            more = {"v0": F(27, 16), "beta1": F(0), "tau": F(0)}
        if server == "adam":
            more = {"v0": F(9, 16), "beta1": F(0), "beta2": F(3, 4), "tau": F(1, 2)}
            moved = F(-3, 2) / (F(3, 4) + F(1, 2))
        h = private.DpFedAvg(
            eta_l=F(1),
            eta=F(2),
            clip_norm=F(2),
            sigma=F(1, 4),
            server=server,
            **more,
        )
        state = private.init(h, vec(0), Setup((1, 1), {"w": (1,)}))
        both = plan(1, 1, noise=(F(-1),))
        after, shown = private.step(h, state, [constant(vec(3)), constant(vec(-1))], both)
        assert list(shown["delta"]) == [F(-3, 4)]
        assert list(after.x) == [moved]
        assert after.t == 1

    def test_a_draw_of_noise_for_each_coordinate(self) -> None:
        h = private.DpFedAvg(eta_l=F(1), eta=F(1), clip_norm=F(1), sigma=F(1))
        state = private.init(h, vec(0, 0), Setup((1,), {"w": (2,)}))
        with pytest.raises(PlanError, match="noise: got 1 draws for 2 coordinates"):
            private.step(h, state, [constant(vec(1, 1))], plan(1, noise=(F(1),)))


class TestNormalised:
    def test_a_step(self) -> None:
        """||(3, 4)|| + 5 = 10."""
        assert list(normalised_sgd(vec(1, 1), vec(3, 4), eta_l=F(1), eps=F(5))) == [F(7, 10), F(6, 10)]

    def test_a_round(self) -> None:
        """Round in which one client takes two steps of 3/4 to the left, the other one step of 1/2 to the right."""
        h = normalised.FedAvgNormalised(eta_l=F(1), eps=F(1))
        state = normalised.init(h, vec(0), Setup((5, 1), {"w": (1,)}))
        after, shown = normalised.step(h, state, [constant(vec(3)), constant(vec(-1))], plan(2, 1))
        assert list(after.x) == list(shown["delta"]) == [F(-1, 2)]


def test_what_runs_is_what_is_blamed() -> None:
    """Under an option the equations of the other rules are not named."""
    row = CATALOGUE["joint-direct"]
    assert row.equation("step", {**row.defaults(), "server": "adam"}) == "fedadam.step"
    assert row.equation("step", {**row.defaults(), "server": "adagrad"}) == "fedadagrad.step"
    assert CATALOGUE["dp-fedavg"].equation("step") == "fedavg.step"
