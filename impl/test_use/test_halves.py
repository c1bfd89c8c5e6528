"""Both halves of a row on named arrays, beside sums written out and the row's own rounds; no framework is needed."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError, PlanError, ShapeError, UnknownNameError
from fedspec.functions import Program
from fedspec.plan import Plan, Setup
from fedspec_use.client import keeps, missing_of, tells, train
from fedspec_use.server import Chosen, Reply, begun, choose, loaded, saved, servers, stepped

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


ADAM = {"eta": 0.5, "beta1": 0.5, "beta2": 0.75, "tau": 0.25, "v0": 0.0}


def reply(change: float, examples: int = 1, **more: Any) -> Reply:
    model = {"w": X["w"] + change, "count": X["count"] + 7, "b": X["b"] + change}
    return Reply(model, examples, **more)


def rounds(name: str, told: list[list[Reply]], **settings: Any) -> tuple[Any, Any, Any, Any]:
    chosen, state, x = choose(name, "", settings, clients=3), None, X
    values: dict[str, Any] = {}
    for replies in told:
        # Replies of these tests say changes of the first model: they are moved to the present one.
        moved = [replace(r, model={n: x[n] + r.model[n] - X[n] for n in x}) for r in replies]
        state, x, values = stepped(chosen, begun(chosen, state, x), x, moved)
    return chosen, state, x, values


def test_fednova_in_scalars() -> None:
    """Two clients of 1 and 3 examples take 2 and 4 steps: tau_eff = 3.5, d = 1/4 * 1/2 + 3/4 * 2/4."""
    _, _, x, values = rounds("fednova", [[reply(1.0, 1, steps=2), reply(2.0, 3, steps=4)]])
    assert np.asarray(values["tau_eff"]).item() == 3.5
    assert float(x["b"]) == 0.5 + 3.5 * (0.25 * 0.5 + 0.75 * 0.5)
    assert np.array_equal(x["w"], X["w"] + 3.5 * 0.5)


def test_names_shapes_types_and_what_is_no_float_stay() -> None:
    _, _, x, _ = rounds("fedavg", [[reply(1.0), reply(2.0)]], eta=1.0)
    assert [*x] == [*X] and all(x[n].shape == X[n].shape for n in X)
    assert np.array_equal(x["count"], X["count"])
    narrow = {"w": X["w"].astype(np.float32)}
    chosen = choose("fedadam", "", ADAM)
    state, after, _ = stepped(chosen, begun(chosen, None, narrow), narrow, [Reply({"w": narrow["w"] + 1}, 1)])
    assert after["w"].dtype == state.m.dtype == np.float32


def test_the_layers_of_fedatt_are_the_arrays() -> None:
    """Each array has a length of its own: ln 2 in one client and 0 in the other, whose shares are 2/3 and 1/3."""
    sent = [Reply({**X, "b": X["b"] - np.log(2)}, 5), Reply({**X, "w": X["w"] + [[0.0, np.log(2)]]}, 1)]
    _, _, x, _ = rounds("fedatt", [sent], eta=3.0)
    assert x["w"] == pytest.approx(X["w"] + [[0.0, 2 * np.log(2)]]) and x["b"] == pytest.approx(0.5 - 2 * np.log(2))


@pytest.mark.parametrize("name", servers())
def test_saved_and_loaded_it_goes_on_as_if_nothing_had_been(name: str) -> None:
    row = CATALOGUE[name]
    numbers = {"eta": 1.0, "beta": 0.5, "beta1": 0.5, "beta2": 0.75, "tau": 0.25, "eps": 0.5, "v0": 0.0, "v_hat0": 0.5}
    more = {"tau_eff": 2.0, "trim": 0.25, "mu": 0.5, "rho": 0.5, "gamma": 0.5, "eta_l": 0.5}
    more |= {"q": 1.0, "f": 0, "keep": 2, "smooth": 0.25, "passes": 2, "clip_norm": 0.5}
    known = row.numbers_under("round", row.resolve(row.readings[0].name, {}))
    settings = {n: v for n, v in {**numbers, **more}.items() if n in known}
    beside = {"loss": 2.0, "control": {"w": np.array([[0.5, -1.0]]), "b": np.array(0.25)}}
    told = [
        [reply(1.0, 2, steps=2, **beside), reply(-0.5, 1, steps=1, **beside)],
        [reply(0.25, 1, steps=3, **beside), reply(2.0, 1, steps=1, **beside)],
    ]
    _, _, want, _ = rounds(name, told, **settings)
    chosen, state, x, _ = rounds(name, told[:1], **settings)
    file = io.BytesIO()
    np.savez(file, **saved(state, x))
    file.seek(0)
    state, x = loaded(chosen, np.load(file))
    moved = [replace(r, model={n: x[n] + r.model[n] - X[n] for n in x}) for r in told[1]]
    _, got, _ = stepped(chosen, begun(chosen, state, x), x, moved)
    assert all(np.array_equal(got[n], want[n]) for n in want)
    assert not np.array_equal(got["w"], X["w"])


def test_a_reply_without_what_the_row_reads_is_refused_in_words() -> None:
    with pytest.raises(PlanError, match=r"the reply of node 4 holds none.*steps, its number of local steps"):
        rounds_of = choose("fednova", "", {})
        stepped(rounds_of, begun(rounds_of, None, X), X, [reply(1.0, sender="node 4")])
    # FedAvg reads no steps.
    rounds("fedavg", [[reply(1.0)]], eta=1.0)
    with pytest.raises(PlanError, match="no client takes part"):
        rounds("fedavg", [[]], eta=1.0)


def test_other_arrays_are_refused() -> None:
    chosen = choose("fedavg", "", {"eta": 1.0})
    with pytest.raises(ShapeError, match="a client sent"):
        stepped(chosen, begun(chosen, None, X), X, [Reply({"w": X["w"]}, 1)])
    with pytest.raises(ShapeError, match="'w' of shape"):
        stepped(chosen, begun(chosen, None, X), X, [Reply({**X, "w": np.zeros(3)}, 1)])
    adam = choose("fedadam", "", ADAM)
    state, x, _ = stepped(adam, begun(adam, None, X), X, [reply(1.0)])
    with pytest.raises(ShapeError, match="make a new strategy"):
        begun(adam, state, {"w": np.zeros(9)})
    with pytest.raises(ShapeError, match="load what a strategy of the same algorithm saved"):
        loaded(chosen, saved(state, x))


def test_what_is_no_server_is_refused() -> None:
    with pytest.raises(ParameterError, match="adam is a client's solver"):
        choose("adam")
    with pytest.raises(ParameterError, match="fedada2: its clients and its server cannot be taken apart"):
        choose("fedada2")
    with pytest.raises(UnknownNameError, match="beta: fedavg has no such setting"):
        choose("fedavg", "", {"eta": 1.0, "beta": 0.5})
