"""Tuning: the choice is what a separate count on the held-out data says, and nobody trains on these."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import half_square
from torch import Tensor, nn
from torch.utils.data import TensorDataset

from fedspec.errors import FedspecError, ParameterError, PlanError, UnknownNameError
from fedspec_torch import (
    CheckpointError,
    DivergedError,
    Federation,
    Stop,
    arrivals,
    by_round,
    cohorts,
    exchanges,
    for_clients,
    simulate,
    tune,
)
from fedspec_torch.ranks.processes import Ranks
from fedspec_torch.run import tuning
from fedspec_torch.run.held_out import without_clients, without_examples


def slope(inputs: Tensor, clients: int = 30, each: int = 4) -> Federation:
    """Clients of one weight, all of whose targets are twice the input: F(w) = (w - 2)^2 / 2 with inputs of +-1."""
    model = nn.Linear(1, 1, bias=False).double()
    nn.init.zeros_(model.weight)
    data = [(inputs[i * each : (i + 1) * each], 2 * inputs[i * each : (i + 1) * each, 0]) for i in range(clients)]
    return Federation(model, half_square, data, way="looped")


ONES = torch.tensor([[1.0], [-1.0]] * 60, dtype=torch.float64)


def test_the_choice_is_the_best_by_the_closed_form_of_each_run() -> None:
    federation, rounds, grid = slope(ONES), 20, [0.05, 0.5, 1.9, 3.0]
    found = tune("fedavg", federation, plan=cohorts(3), rounds=rounds, grid={"eta_l": grid})
    # w_T - 2 = -2 (1 - eta_l)^T, and the loss of every held-out example is half its square; the last two rounds count.
    want = [np.mean([(2 * (1 - eta) ** T) ** 2 / 2 for T in (19, 20)]) for eta in grid]
    assert [t.score for t in found.trials] == pytest.approx(want, rel=1e-9)
    assert found.choice == {"eta_l": 0.5} and found.at_edge == () and found.judged == 2
    assert [dict(t.settings) for t in found.trials] == [{"eta_l": v} for v in grid]
    assert found.held_out == "6 of 30 clients" and found.hyper == {"eta_l": 0.5}
    assert tune("fedavg", federation, plan=cohorts(3), rounds=rounds, grid={"eta_l": [0.05, 0.5]}).at_edge == ("eta_l",)
    assert tune("fedavg", federation, plan=cohorts(3), rounds=2, grid={"eta_l": [0.5]}).at_edge == ()


def test_each_seed_holds_out_and_draws_something_else_and_the_mean_decides() -> None:
    rng = torch.Generator().manual_seed(0)
    inputs = torch.randn(120, 1, dtype=torch.float64, generator=rng)
    federation, asked = slope(inputs), {"rounds": 4, "grid": {"eta_l": [0.1, 0.3]}}
    federation = replace(federation, batch_size=2)
    found = tune("fedavg", federation, plan=cohorts(3, steps=2, seed=5), seeds=3, seed=7, **asked)
    alone = [
        tune("fedavg", replace(federation, seed=k), plan=cohorts(3, steps=2, seed=5 + k), seed=7 + k, **asked)
        for k in range(3)
    ]
    for j, trial in enumerate(found.trials):
        want = [one.trials[j].score for one in alone]
        assert list(trial.scores) == want and len({*want}) == 3 and trial.rounds == 12
        assert trial.score == pytest.approx(np.mean(want), rel=1e-12)
    assert found.seeds == 3 and federation.x0.tolist() == [0.0]


def test_the_federation_is_made_anew_for_what_a_grid_has_of_it() -> None:
    """Gradient of one step of a full batch at w = 0 is -2, which is cut to a length of 1, and lambda w is 0."""
    federation = slope(ONES)
    grid = {"clip": [None, 1.0], "weight_decay": [0.0, 0.5], "batch_size": [None, 2]}
    found = tune("fedavg", federation, plan=cohorts(3), rounds=1, grid=grid, eta_l=0.25)
    assert [t.score for t in found.trials] == pytest.approx([1.5**2 / 2] * 4 + [1.75**2 / 2] * 4, rel=1e-12)
    assert found.stated == found.choice and found.hyper == {"eta_l": 0.25}
    made = replace(federation, **found.stated)
    assert (made.clip, made.weight_decay, made.batch_size) == (None, 0.0, None)
    with pytest.raises(ParameterError, match=r"clip: got -1\.0"):
        tune("fedavg", federation, plan=cohorts(3), rounds=1, grid={"clip": [-1.0]}, eta_l=0.25)
    by_value = tune("fedavg", federation, plan=cohorts(3), rounds=1, grid={"clip_value": [1.0, None]}, eta_l=0.25)
    assert [t.score for t in by_value.trials] == pytest.approx([1.75**2 / 2, 1.5**2 / 2], rel=1e-12)


def test_a_combination_that_is_given_up_has_no_score() -> None:
    def stop(run: Any, done: Any) -> None:
        if done.loss > 1 and done.round:
            raise Stop

    asked: dict[str, Any] = {"plan": cohorts(3), "rounds": 5, "on_round": stop}
    found = tune("fedavg", slope(ONES), grid={"eta_l": [0.01, 0.5]}, **asked)
    bad, good = found.trials
    assert (bad.score, bad.diverged, bad.rounds) == (None, "given up after round 1", 2)
    assert good.rounds == 5 and found.choice == {"eta_l": 0.5}
    with pytest.raises(DivergedError, match="given up after round 1"):
        tune("fedavg", slope(ONES), grid={"eta_l": [0.01]}, **asked)


def test_what_diverges_is_a_trial_without_a_score_and_all_of_them_an_error() -> None:
    federation = slope(ONES)
    found = tune("fedavg", federation, plan=cohorts(3, steps=30), rounds=30, grid={"eta_l": [1e30, 0.1]}, eta=1.0)
    bad, good = found.trials
    assert bad.score is None and "diverged" in bad.diverged and bad.rounds < 30
    assert good.score is not None and not good.diverged and good.rounds == 30
    assert found.choice == {"eta_l": 0.1} and found.hyper == {"eta": 1.0, "eta_l": 0.1}
    with pytest.raises(DivergedError, match="all 2 combinations of fedavg have diverged; try smaller rates"):
        tune("fedavg", federation, plan=cohorts(3, steps=30), rounds=30, grid={"eta_l": [1e30, 1e20]})


def marked(clients: int, each: int, **more: Any) -> Federation:
    """A federation whose inputs are the numbers of the examples."""
    numbers = torch.arange(clients * each, dtype=torch.float64)[:, None]
    data = [(numbers[i * each : (i + 1) * each], numbers[i * each : (i + 1) * each, 0]) for i in range(clients)]
    return Federation(nn.Linear(1, 1).double(), half_square, data, **more)


def numbers_of(federation: Federation) -> list[list[int]]:
    """Numbers of each client's examples."""
    return [
        inputs[int(s[0]) : int(s[0]) + n, 0].int().tolist()
        for i, n in enumerate(federation.pool.examples)
        for (inputs, _), s in [federation.pool.of([i])]
    ]


def sources(clients: int, each: int) -> list[Federation]:
    """Federations from a list, a function, one Dataset for each client, and one Dataset."""
    whole = marked(clients, each)
    pairs: Any = whole.data
    numbers = torch.arange(clients * each, dtype=torch.float64)
    one = TensorDataset(numbers[:, None], numbers)
    parts = np.arange(clients * each).reshape(clients, each)
    return [
        whole,
        replace(whole, data=lambda i: pairs[i], examples=(each,) * clients),
        replace(whole, data=[TensorDataset(*pair) for pair in pairs]),
        replace(whole, data=one, parts=list(parts)),
        replace(whole, data=one, parts=list(parts), cached=True),
    ]


@pytest.mark.parametrize("split", [without_clients, without_examples])
def test_nobody_trains_on_what_is_held_out_and_nothing_is_lost(split: Any) -> None:
    clients, each, seen = 10, 8, []
    for federation in sources(clients, each):
        apart = split(federation, 0.25, 3)
        trained, held = numbers_of(apart.federation), apart.examples[0][:, 0].int().tolist()
        assert torch.equal(apart.examples[0][:, 0], apart.examples[1])
        assert sorted([*chain(*trained), *held]) == list(range(clients * each))
        assert len(held) == (2 * each if split is without_clients else 20)
        assert all(client == sorted(client) and client[0] // each == client[-1] // each for client in trained)
        assert torch.equal(apart.federation.x0, federation.x0)
        seen.append((trained, held))
    assert all(one == seen[0] for one in seen)
    one, other = (split(marked(clients, each), 0.25, seed).examples[0].tolist() for seed in (3, 4))
    assert one != other


@pytest.mark.parametrize(
    ("algorithm", "clients", "plan", "more", "words"),
    [
        ("fedavg", 30, cohorts(3), {}, "6 of 30 clients"),
        ("fedbuff", 30, arrivals(largest_delay=1), {"buffer": 2}, "6 of 30 clients"),
        ("fedavg", 10, cohorts(3), {}, "8 of 40 examples, since there are 10 clients"),
        ("scaffold", 30, cohorts(3), {}, "24 of 120 examples, since clients remember"),
        ("dsgd", 30, exchanges(), {}, "24 of 120 examples, since clients are a graph"),
        ("fedavg", 30, cohorts(27), {}, "24 of 120 examples, since the plan is of 30 clients"),
        ("fedavg", 30, cohorts(3, steps=for_clients([1] * 30)), {}, "24 of 120 examples, since the plan is of 30"),
        ("fedavg", 30, cohorts(3), {"of": "examples"}, "24 of 120 examples"),
        ("scaffold", 30, cohorts(3), {"of": "clients", "held_out": 0.5}, "15 of 30 clients"),
        ("fedavg", 30, cohorts(3), {"held_out": (ONES, 2 * ONES[:, 0])}, "120 examples that were given"),
    ],
)
def test_what_is_held_out_fits_the_algorithm_and_is_said(
    algorithm: str, clients: int, plan: Any, more: dict[str, Any], words: str
) -> None:
    found = tune(algorithm, slope(ONES, clients), plan=plan, rounds=1, grid={"eta_l": [0.5]}, **more)
    said, _, why = found.held_out.partition(", since ")
    want, _, reason = words.partition(", since ")
    # Of four examples a fifth is one, or none, as is drawn.
    assert (said.split()[1:], why[: len(reason)]) == (want.split()[1:], reason)
    assert abs(int(said.split()[0]) - int(want.split()[0])) <= 8 * ("examples" in said)


def test_a_rate_of_each_client_keeps_all_clients_and_a_schedule_is_tuned_by_its_first_rate() -> None:
    federation = slope(ONES)
    each = tune("fedavg", federation, plan=cohorts(3), rounds=1, grid={"eta": [1.0]}, rates={"eta_l": lambda r, i: 0.5})
    assert each.held_out.endswith("since the plan is of 30 clients")

    def falling(h: Any) -> Any:
        return {"eta_l": by_round.exponential(h["eta_l"], 0.5)}

    usual = tune("fedavg", federation, plan=cohorts(3), rounds=1, grid={"eta": [0.5]}, rates=falling)
    assert usual.trials[0].score == pytest.approx((2 * (1 - 0.5 * 0.1)) ** 2 / 2, rel=1e-9)
    found = tune("fedavg", federation, plan=cohorts(3), rounds=3, grid={"eta_l": [0.25, 1.5]}, rates=falling)
    want = [(2 * np.prod([1 - eta * 0.5**r for r in range(3)])) ** 2 / 2 for eta in (0.25, 1.5)]
    assert [t.score for t in found.trials] == pytest.approx(want, rel=1e-9)
    # The choice trains as it was tried, and not at its first rate throughout.
    assert found.hyper == {} and found.choice == {"eta_l": 1.5}
    run = simulate("fedavg", federation, plan=cohorts(3), rounds=3, rates=found.rates, **found.hyper)
    list(run)
    assert float((run.x[0] - 2) ** 2 / 2) == pytest.approx(min(want), rel=1e-9)


def test_accuracy_is_the_larger_the_better_and_options_are_tried_too() -> None:
    torch.manual_seed(0)
    inputs = torch.randn(400, 4)
    data = [(inputs[i * 16 : i * 16 + 16], (inputs[i * 16 : i * 16 + 16, 0] > 0).long()) for i in range(25)]
    federation = Federation(nn.Linear(4, 2), nn.functional.cross_entropy, data, way="looped")
    grid = {"weights": ["uniform", "examples"], "eta_l": [1e-4, 0.5]}
    found = tune("fedavg", federation, plan=cohorts(5), rounds=10, grid=grid, by="accuracy")
    scores = {(t.settings["weights"], t.settings["eta_l"]): t.score or 0.0 for t in found.trials}
    assert len(scores) == 4 and found.choice["eta_l"] == 0.5
    # Of clients that are equally large both weights are the same, and the first is chosen.
    assert scores["uniform", 0.5] == scores["examples", 0.5] == max(scores.values())
    assert found.choice["weights"] == "uniform"
    assert found.at_edge == ("eta_l",)
    with pytest.raises(PlanError, match="the targets aren't classes"):
        tune("fedavg", slope(ONES), plan=cohorts(3), rounds=1, grid={"eta_l": [0.5]}, by="accuracy")


def test_what_was_tried_is_kept_and_not_tried_again(tmp_path: Path) -> None:
    federation, file = slope(ONES), tmp_path / "tuning.json"
    asked: dict[str, Any] = {"plan": cohorts(3), "rounds": 5, "grid": {"eta_l": [0.05, 0.5, 1.5]}}
    whole = tune("fedavg", federation, **asked, save=file)
    assert len(json.loads(file.read_text())["trials"]) == 3
    rounds: list[float] = []

    def stop(run: Any, done: Any) -> None:
        rounds.append(run.h.eta_l)
        if len(rounds) == 8:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune("fedavg", federation, **asked, save=file, on_round=stop)
    assert [t["settings"] for t in json.loads(file.read_text())["trials"]] == [{"eta_l": 0.05}]
    rounds.clear()
    asked["on_round"] = lambda run, done: rounds.append(run.h.eta_l)
    assert tune("fedavg", federation, **asked, save=file, resume=file) == whole
    assert sorted({*rounds}) == [0.5, 1.5] and len(rounds) == 10
    others: list[dict[str, Any]] = [{"rounds": 6}, {"grid": {"eta_l": [0.05]}}, {"seed": 1}, {"seeds": 2}, {"eta": 0.5}]
    for change in (*others, {"plan": cohorts(4)}):
        with pytest.raises(CheckpointError, match="tuned with"):
            tune("fedavg", federation, **{**asked, **change}, resume=file)
    file.write_text(file.read_text()[:-20])
    with pytest.raises(CheckpointError, match="not a readable record of a tuning"):
        tune("fedavg", federation, **asked, resume=file)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"grid": {}}, ParameterError, "grid: got {}; give the values"),
        ({"grid": {"eta_k": [1.0]}}, UnknownNameError, "grid: fedavg has no eta_k; known: eta_l"),
        ({"grid": {"eta_l": []}}, ParameterError, "eta_l: got .*; give a list"),
        ({"grid": {"eta_l": 0.1}}, ParameterError, "eta_l: got 0.1; give a list"),
        ({"grid": {"eta_l": [0.1, 0.1]}}, ParameterError, "a value occurs twice"),
        ({"grid": {"eta_l": [0.1, -1.0]}}, ParameterError, "eta_l: got -1.0"),
        ({"grid": {"eta": [1.0]}, "eta": 2.0}, ParameterError, "grid: eta is also given as one value"),
        ({"seeds": 0}, PlanError, "seeds: got 0; a combination is trained at least once"),
        ({"by": "f1"}, UnknownNameError, "by: got 'f1'"),
        ({"of": "rounds"}, UnknownNameError, "of: got 'rounds'"),
        ({"held_out": 1.5}, ParameterError, "held_out: got 1.5"),
        ({"held_out": (ONES, ONES[:, 0]), "of": "clients"}, PlanError, "held_out already contains the examples"),
    ],
)
def test_what_cannot_be_tuned_is_refused_by_name(more: dict[str, Any], error: type[FedspecError], words: str) -> None:
    asked: dict[str, Any] = {"plan": cohorts(3), "rounds": 1, "grid": {"eta_l": [0.5]}, **more}
    with pytest.raises(error, match=words):
        tune("fedavg", slope(ONES), **asked)


def test_clients_of_a_graph_are_not_held_out_and_ranks_do_not_tune(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {"rounds": 1, "grid": {"eta_l": [0.5]}}
    with pytest.raises(PlanError, match="a graph, so none can be held out"):
        tune("dsgd", slope(ONES), plan=exchanges(), of="clients", **asked)
    monkeypatch.setattr(tuning, "here", lambda: Ranks(0, (("", 1), ("", 2))))
    with pytest.raises(PlanError, match="tune: it runs on one process only"):
        tune("fedavg", slope(ONES), plan=cohorts(3), **asked)
