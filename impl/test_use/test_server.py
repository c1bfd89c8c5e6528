"""The server half of a row on named arrays, which strategies call: no framework is needed here."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fedspec.catalogue import CATALOGUE
from fedspec.errors import ParameterError, PlanError, ShapeError, UnknownNameError
from fedspec_use.server import Reply, begun, choose, loaded, saved, servers, stepped

X: dict[str, Any] = {"w": np.array([[1.0, -2.0]]), "count": np.array([3]), "b": np.array(0.5)}
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
