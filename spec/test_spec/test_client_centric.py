"""Late updates worked by hand: exact numbers for every rule of the family, expectations by enumeration, refusals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from test_spec.exact import vec

from fedspec.algorithms import fedavgm
from fedspec.algorithms.fedavgm import FedAvgM
from fedspec.catalogue import CATALOGUE, Program
from fedspec.errors import ParameterError, PlanError
from fedspec.mixing.arrivals import discount, local_change, mixed
from fedspec.plan import Arrival, Message, Oracle, Setup
from fedspec.readings import Age, MomentumSum, Staleness, Weighting
from fedspec.server.averaged_momentum import averaged_momentum
from fedspec.server.momentum import init as init_momentum


def pulls(*centres: Any) -> list[Oracle]:
    """Clients with f_i(x) = |x - c_i|^2 / 2."""
    return [lambda k, x, c=c: x - c for c in centres]


def pushes(*gs: Any) -> list[Oracle]:
    """Clients with a constant gradient."""
    return [lambda k, x, g=g: x * 0 + g for g in gs]


def states(
    name: str, h: dict[str, Any], x: np.ndarray, clients: Sequence[Oracle], plan: Sequence[Arrival]
) -> list[Any]:
    """The state after each arrival."""
    run = CATALOGUE[name].run
    assert isinstance(run, Program)
    record = run.hyper(**h)
    state, out = run.init(record, x, Setup((1,) * len(clients), {"w": x.shape})), []
    for arrival in plan:
        state, _ = run.step(record, state, clients, arrival)
        out.append(state)
    return out


def models(name: str, h: dict[str, Any], clients: Sequence[Oracle], plan: Sequence[Arrival], x: Any = 0) -> list[Any]:
    """The one coordinate of the model after each arrival."""
    return [state.x[0] for state in states(name, h, vec(x), clients, plan)]


def test_a_change_is_divided_by_its_steps() -> None:
    assert local_change(vec(7, 1), vec(1, 4), steps=3).tolist() == [2, -1]
    assert local_change(vec(7, 1), vec(1, 4), steps=3, normalise="none").tolist() == [6, -3]  # type: ignore[arg-type]


def test_cc_fedavg_by_hand() -> None:
    # From 0 towards 8: half the way twice is 6, per step 3. From 0 towards -4: -2. Their mean moves x to 1/2.
    h = {"buffer": 2, "eta_l": F(1, 2)}
    plan = [Arrival(0, 2, 0), Arrival(1, 1, 0), Arrival(1, 1, 1), Arrival(1, 1, 0)]
    # The third update is that of version 0 again, -2; the fourth begins at 1/2: -9/4.
    assert models("cc-fedavg", h, pulls(8, -4), plan) == [0, F(1, 2), F(1, 2), F(1, 2) - F(17, 8)]


def test_cc_fedsgd_has_a_rate() -> None:
    h = {"buffer": 1, "eta_l": F(1, 2), "eta": F(3)}
    assert models("cc-fedsgd", h, pulls(8), [Arrival(0, 2, 0)]) == [9]


def test_averaged_momentum_by_hand() -> None:
    state = init_momentum(vec(0))
    for delta, want in ((8, 2), (0, F(7, 2)), (-4, F(29, 8))):
        state = averaged_momentum(state, vec(delta), eta=F(1), beta=F(3, 4))
        assert state.x[0] == want


def test_fedavgm_of_the_paper_by_hand() -> None:
    # Delta = 4, 0, -4 with beta = 3/4: v = 1, 3/4, 9/16 - 1.
    h = FedAvgM(eta_l=1, eta=F(1), beta=F(3, 4), momentum_sum=MomentumSum.AVERAGE, weights=Weighting.UNIFORM)
    state = fedavgm.init(h, vec(0))
    for sent, v, x in (((8, 0), 1, 1), ((3, -3), F(3, 4), F(7, 4)), ((-1, -7), F(-7, 16), F(21, 16))):
        messages = [Message(delta=vec(d), examples=1, steps=1, a_norm=1) for d in sent]
        state, shown = fedavgm.server(h, state, messages)
        assert (state.v[0], state.x[0], shown["delta"][0]) == (v, x, F(sum(sent), 2))


def test_cc_fedadagrad_by_hand() -> None:
    # Delta = -3, then -4 (gradients 3 and 4, eta_l 1): v = 9, 25; m = -3/2, -11/4; tau = 1.
    h = {"buffer": 1, "eta_l": F(1), "eta": F(2), "beta1": F(1, 2), "tau": F(1)}
    first = F(2) * F(-3, 2) / (3 + 1)
    assert models("cc-fedadagrad", h, pushes(3, 4), [Arrival(0, 5, 0), Arrival(1, 2, 1)]) == [
        first,
        first + F(2) * F(-11, 4) / (5 + 1),
    ]


def test_cc_fedadam_by_hand() -> None:
    # beta2 = 3/4, v_0 = 1: Delta = -1 keeps v at 1; epsilon outside the root.
    h = {"buffer": 1, "eta_l": F(1), "eta": F(6), "beta1": F(0), "beta2": F(3, 4), "tau": F(2), "v0": F(1)}
    assert models("cc-fedadam", h, pushes(1), [Arrival(0, 1, 0), Arrival(0, 4, 0)]) == [-2, -4]
    inside = {**h, "tau": F(3), "epsilon": "inside"}
    assert models("cc-fedadam", inside, pushes(1), [Arrival(0, 1, 0)]) == [-3]


@pytest.mark.parametrize(("start", "want"), [("v0", [-2, -4]), ("zero", [-4, -8])])
def test_cc_fedams_by_hand(start: str, want: list[int]) -> None:
    # beta2 = 0: v = Delta^2 = 1. From v_0 = 16 the maximum is 16; from zero it is 1. eps = 2.
    h = {"buffer": 1, "eta_l": F(1), "eta": F(12), "beta1": F(0), "beta2": F(0), "eps": F(2), "v0": F(16)}
    assert models("cc-fedams", {**h, "maximum_start": start}, pushes(1), [Arrival(0, 1, 0), Arrival(0, 2, 1)]) == want


def test_cc_fedams_keeps_the_maximum() -> None:
    # Delta = -4, then -1, with beta2 = 0: the maximum stays 16.
    h = {"buffer": 1, "eta_l": F(1), "eta": F(5), "beta1": F(0), "beta2": F(0), "eps": F(1)}
    assert models("cc-fedams", h, pushes(4, 1), [Arrival(0, 1, 0), Arrival(1, 1, 0)]) == [-4, -5]


def test_fedbuff_by_hand() -> None:
    # Two steps of 1/2 towards 8 from 0: 6. With s(3) = 1/2 the late one counts half.
    h = {"buffer": 1, "eta_l": F(1, 2), "eta": F(1)}
    still = [Arrival(1, 1, 0)] * 3
    assert models("fedbuff", h, pulls(8, 0), [*still, Arrival(0, 2, 3)])[-1] == 6
    assert (
        models("fedbuff", {**h, "staleness": "polynomial", "twice_a": 1}, pulls(8, 0), [*still, Arrival(0, 2, 3)])[-1]
        == 3
    )


def test_fedasync_by_hand() -> None:
    # Half the way to 8 is 4, a quarter of it mixed in: 1; then from 0 again: 3/4 + 1.
    h = {"eta_l": F(1, 2), "mu": F(0), "mix": F(1, 4)}
    assert models("fedasync", h, pulls(8), [Arrival(0, 1, 0), Arrival(0, 1, 1)]) == [1, F(7, 4)]
    # Two steps with mu = 1 from 0: 4, then 4 - (4 - 8)/2 - 4/2 = 4.
    assert models("fedasync", {**h, "mu": F(1)}, pulls(8), [Arrival(0, 2, 0)]) == [1]


def test_a_late_model_pulls_the_server_back_even_if_its_client_did_not_move() -> None:
    h = {"eta_l": F(1, 2), "mu": F(0), "mix": F(1, 4)}
    clients = [*pulls(8), *pushes(0)]
    assert models("fedasync", h, clients, [Arrival(0, 1, 0), Arrival(1, 3, 1)]) == [1, F(3, 4)]


@pytest.mark.parametrize(
    ("kind", "age", "delay", "want"),
    [
        ("constant", "delay", 9, 1),
        ("polynomial", "delay", 0, 1),
        ("polynomial", "delay", 3, F(1, 8)),
        ("polynomial", "literal", 0, None),
        ("polynomial", "literal", 2, F(1, 8)),
        ("hinge", "delay", 4, 1),
        ("hinge", "delay", 5, F(1, 11)),
        ("hinge", "delay", 6, F(1, 21)),
        ("hinge", "literal", 4, F(1, 11)),
    ],
)
def test_staleness_by_hand(kind: str, age: str, delay: int, want: Any) -> None:
    # a = 3/2 for the polynomial; a = 10, b = 4 for the hinge.
    chosen: dict[str, Any] = {
        "staleness": Staleness(kind),
        "age": Age(age),
        "twice_a": 3,
        "hinge_a": F(10),
        "hinge_b": 4,
    }
    if want is None:
        assert discount(0.5, delay=delay, **chosen) == pytest.approx(0.5 * 2**-1.5, rel=1e-15)
    else:
        assert discount(F(1, 2), delay=delay, **chosen) == want / 2


def test_mixing_keeps_a_common_model() -> None:
    assert mixed(vec(3, -1), vec(3, -1), mix=F(1, 3)).tolist() == [3, -1]
    assert mixed(vec(3), vec(9), mix=F(1, 3)).tolist() == [5]


def test_a_client_twice_in_one_buffer_counts_twice() -> None:
    h = {"buffer": 3, "eta_l": F(1), "eta": F(3)}
    plan = [Arrival(0, 1, 0), Arrival(0, 2, 0), Arrival(1, 1, 0)]
    assert models("cc-fedsgd", h, pushes(-1, -4), plan)[-1] == 1 + 1 + 4


def test_one_update_for_every_m_arrivals() -> None:
    h = {"buffer": 3, "eta_l": F(1, 4), "eta": F(1)}
    plan = [Arrival(k % 2, 1, 0) for k in range(11)]
    counts = [len(state.versions) - 1 for state in states("cc-fedsgd", h, vec(0), pulls(1, 5), plan)]
    assert counts == [(k + 1) // 3 for k in range(11)]


@pytest.mark.parametrize("name", [i for i in CATALOGUE if i.startswith("cc-fedad") or i == "cc-fedams"])
def test_a_verdict_names_the_step_that_runs(name: str) -> None:
    """The step is read off its printed equation, from a state that a run has reached."""
    a, plan = CATALOGUE[name], [Arrival(0, 1, 0), Arrival(1, 1, 0)]
    h = {n: {"buffer": 1, "eta_l": 0.5, "eta": 3.0, "v0": 0.25}.get(n, 0.75) for n in a.numbers}
    for epsilon in ("outside", "inside"):
        options = {**a.defaults(), "epsilon": epsilon}
        (step,) = [e for e in a.running(options) if e.id == a.equation("step", options)]
        right = step.text.partition("=")[2]
        before, after = states(name, {**h, "epsilon": epsilon}, np.array([1.0, -2.0]), pushes(2.0, -1.0), plan)
        small, moments = h.get("tau", h.get("eps")), vars(after.server)
        # The step with epsilon inside is one for all three, and calls it eps; its own is tau in two of them.
        names = {"v_hat": after.server.v, **moments, "x": before.x, "eta": h["eta"], "sqrt": np.sqrt}
        names |= {"eps": small, "tau": small}
        assert after.x == pytest.approx(eval(right.replace("eta m", "eta * m"), names), rel=1e-15)


class TestRefusals:
    def test_an_update_from_before_the_first_version(self) -> None:
        for name in ("cc-fedsgd", "fedbuff", "fedasync"):
            h = {"buffer": 1, "eta": F(1)} if name != "fedasync" else {"mu": F(0), "mix": F(1)}
            with pytest.raises(PlanError, match="delay: 2 versions back from version 1"):
                models(name, {**h, "eta_l": F(1)}, pulls(0), [Arrival(0, 1, 0), Arrival(0, 1, 2)])

    def test_no_step_at_all(self) -> None:
        with pytest.raises(PlanError, match="0"):
            Arrival(0, 0, 0)

    @pytest.mark.parametrize(
        ("name", "value"),
        [("mix", 0), ("mix", 1.5), ("twice_a", 0), ("twice_a", 1.5), ("hinge_a", -1), ("hinge_b", -1)],
    )
    def test_hyper_parameters_outside_their_domain(self, name: str, value: float) -> None:
        given: dict[str, Any] = {"eta_l": 0.5, "mu": 0.0, "mix": 0.5, name: value}
        run = CATALOGUE["fedasync"].run
        assert isinstance(run, Program)
        with pytest.raises(ParameterError, match=name):
            run.hyper(**given)

    def test_an_empty_buffer(self) -> None:
        run = CATALOGUE["cc-fedavg"].run
        assert isinstance(run, Program)
        with pytest.raises(ParameterError, match="buffer"):
            run.hyper(buffer=0, eta_l=0.5)
