"""The client half of a row on named arrays, beside sums written out and the row's own rounds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError, PlanError, ShapeError
from fedspec.functions import Program
from fedspec.plan import Plan, Setup
from fedspec_use.client import keeps, missing_of, tells, train
from fedspec_use.server import Chosen, Reply, begun, choose, stepped

H = (1.0, 2.0, 0.5)
E = (1.0, -1.0, 3.0)
X: dict[str, Any] = {"w": np.array([[1.0, -2.0]]), "count": np.array([3]), "b": np.array(0.5)}
WHO = ((0, 1, 2), (1, 2), (0, 2))
STEPS = ((1, 2, 3), (2, 1), (3, 2))
NUMBERS: dict[str, dict[str, Any]] = {
    "scaffold": {"eta_l": 0.125, "eta": 0.5},
    "feddyn": {"eta_l": 0.125, "mu": 0.5},
    "diloco": {"eta_l": 0.125, "beta1": 0.5, "beta2": 0.75, "eps": 0.01, "wd": 0.1, "eta": 0.7, "beta": 0.9},
}


def gradient(i: int) -> Any:
    """Gradient of H_i/2 |x|^2 - E_i sum x, at step k with k/4 more."""
    return lambda k, x: {n: H[i] * x[n] - E[i] + k / 4 for n in ("w", "b")}


def played(chosen: Chosen) -> list[dict[str, Any]]:
    """The models after each of the rounds, by clients and a server that speak in named arrays alone."""
    state: Any = None
    x, kept, models = X, [{}, {}, {}], []  # type: ignore[var-annotated]
    for who, steps in zip(WHO, STEPS, strict=True):
        state = begun(chosen, state, x)
        told = tells(chosen, state, x)
        ended = {i: train(chosen, x, gradient(i), tau, kept[i], told) for i, tau in zip(who, steps, strict=True)}
        replies = [Reply(e.model, 1, tau, control=e.control) for e, tau in zip(ended.values(), steps, strict=True)]
        kept = [ended[i].kept if i in ended else kept[i] for i in range(3)]
        state, x, _ = stepped(chosen, state, x, replies)
        models.append(x)
    return models


@pytest.mark.parametrize("name", NUMBERS)
def test_both_halves_together_are_the_row(name: str) -> None:
    for reading in CATALOGUE[name].readings_at("server"):
        if reading.name == "noloco-baseline":
            continue
        chosen = choose(name, reading.name, NUMBERS[name], clients=3)
        run = chosen.algorithm.run
        assert isinstance(run, Program)
        state = run.init(chosen.h, np.array([1.0, -2.0, 0.5]), Setup((1, 1, 1), {"x": (3,)}))
        clients = [lambda k, x, i=i: H[i] * x - E[i] + k / 4 for i in range(3)]
        for model, who, steps in zip(played(chosen), WHO, STEPS, strict=True):
            state, _ = run.step(chosen.h, state, clients, Plan(who, steps, (1,) * len(who)))
            got = np.append(model["w"].ravel(), model["b"])
            assert np.allclose(got, state.x, rtol=1e-13, atol=1e-13), reading.name
            assert np.array_equal(model["count"], X["count"])


def test_scaffold_in_scalars() -> None:
    """Option II by its two loops, a number at a time."""
    x, c, own = 0.5, 0.0, [0.0, 0.0, 0.0]
    for who, steps, model in zip(WHO, STEPS, played(choose("scaffold", "", NUMBERS["scaffold"], 3)), strict=True):
        moved, changed = 0.0, 0.0
        for i, tau in zip(who, steps, strict=True):
            y = x
            for k in range(tau):
                y -= 0.125 * (H[i] * y - E[i] + k / 4 - own[i] + c)
            new = own[i] - c + (x - y) / (0.125 * tau)
            moved, changed, own[i] = moved + (y - x) / len(who), changed + (new - own[i]) / 3, new
        x, c = x + 0.5 * moved, c + changed
        assert abs(float(model["b"]) - x) < 1e-13


def test_what_a_client_keeps_and_hears_is_seen_in_the_row() -> None:
    found = {n: keeps(choose(n, "", NUMBERS[n], 3)) for n in NUMBERS}
    assert found == {"scaffold": ("c_i",), "feddyn": ("lam_i",), "diloco": ("m_i", "v_i", "t")}
    assert keeps(choose("fedavg", "", {"eta": 1.0})) == ()
    heard = {n: [*tells(c := choose(n, "", NUMBERS[n], 3), begun(c, None, X), X)] for n in NUMBERS}
    assert heard == {"scaffold": ["c/w", "c/b"], "feddyn": [], "diloco": []}
    assert missing_of(choose("diloco", "", {"eta": 0.7, "beta": 0.9})) == ["eta_l", "beta1", "beta2", "eps", "wd"]


def test_what_a_client_lacks_is_said() -> None:
    scaffold = choose("scaffold", "", NUMBERS["scaffold"], 3)
    with pytest.raises(PlanError, match="c: the message lacks it"):
        train(scaffold, X, gradient(0), 1, {}, {})
    told = {"c/w": np.zeros((1, 2)), "c/b": np.array(0.0)}
    kept = train(scaffold, X, gradient(0), 1, {}, told).kept
    with pytest.raises(ShapeError, match="to another model or row"):
        train(scaffold, {"w": np.zeros(5)}, lambda k, x: x, 1, kept, {"c/w": np.zeros(5)})
    with pytest.raises(ParameterError, match="beta2: not given"):
        train(choose("diloco", "", {"eta": 0.7, "beta": 0.9, "eta_l": 0.1, "beta1": 0.9}), X, gradient(0), 1, {}, {})
    with pytest.raises(ParameterError, match="noloco-baseline of diloco, a client continues from the mean"):
        train(choose("diloco", "noloco-baseline", NUMBERS["diloco"]), X, gradient(0), 1, {}, {})


@pytest.mark.parametrize("name", ["fedavg", "diloco"])
def test_a_gradient_of_another_form_is_refused(name: str) -> None:
    """Transposed gradients have as many numbers, and would be read in another order."""
    chosen = choose(name, "", NUMBERS.get(name, {"eta_l": 0.1, "eta": 1.0}))
    for given, said in (
        ({"b": 0.0}, "step 0 'w' is missing"),
        ({"w": np.ones((2, 1)), "b": 0.0}, r"\(2, 1\), not \(1, 2\)"),
    ):
        with pytest.raises(ShapeError, match=said):
            train(chosen, X, lambda k, x, g=given: g, 1, {}, {})


def test_who_counts_clients_asks_for_their_number() -> None:
    for name in ("scaffold", "feddyn"):
        chosen = choose(name, "", NUMBERS[name])
        with pytest.raises(ParameterError, match=f"clients: not given, but the server of {name}"):
            begun(chosen, None, X)
    assert begun(choose("diloco", "", NUMBERS["diloco"]), None, X) is not None


def test_a_reply_without_a_control_variate_or_a_loss_is_refused() -> None:
    model = {**X, "b": X["b"] + 1}
    scaffold = choose("scaffold", "", NUMBERS["scaffold"], 3)
    with pytest.raises(PlanError, match="control: the reply of node 7 has none"):
        stepped(scaffold, begun(scaffold, None, X), X, [Reply(model, 1, 1, sender="node 7")])
    fair = choose("q-fedavg", "", {"eta_l": 1.0, "q": 1.0})
    with pytest.raises(PlanError, match="loss: the reply of node 7 has none"):
        stepped(fair, begun(fair, None, X), X, [Reply(model, 1, 1, sender="node 7")])


def test_q_fedavg_in_scalars() -> None:
    """Two clients of losses 4 and 1 go by 1 and -1, q = 1, L = 2: d = -4 2 + 1 2, b = (2^2 + 2 4) + (2^2 + 2 1)."""
    one = {"b": np.array(0.5)}
    chosen = choose("q-fedavg", "", {"eta_l": 0.5, "q": 1.0})
    replies = [Reply({"b": np.array(1.5)}, 1, 1, loss=4.0), Reply({"b": np.array(-0.5)}, 1, 1, loss=1.0)]
    _, x, _ = stepped(chosen, begun(chosen, None, one), one, replies)
    assert abs(float(x["b"]) - (0.5 - -6 / 18)) < 1e-14
