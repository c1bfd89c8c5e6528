"""The tasks that come along: splits that lose nothing, models that can be trained, schedules that fit."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper

from fedspec.catalogue import Algorithm
from fedspec.errors import PlanError, UnknownNameError
from fedspec_torch import cohorts, simulate
from fedspec_torch.tasks import DATA, MODELS, dirichlet_split, plan, task


@pytest.mark.parametrize("clients", [1, 7, 90])
@pytest.mark.parametrize("alpha", [1e-3, 0.5, 100.0])
def test_a_split_gives_every_example_to_one_client_and_everybody_one(clients: int, alpha: float) -> None:
    targets = np.arange(90) % 3
    parts = dirichlet_split(targets, clients, alpha, np.random.default_rng(0))
    assert sorted(np.concatenate(parts).tolist()) == list(range(90))
    assert min(map(len, parts)) >= 1


def test_a_small_alpha_makes_unlike_clients() -> None:
    targets = np.arange(3000) % 3

    def share_of_the_commonest(alpha: float) -> float:
        parts = dirichlet_split(targets, 10, alpha, np.random.default_rng(1))
        return float(np.mean([np.bincount(targets[p]).max() / len(p) for p in parts]))

    assert share_of_the_commonest(0.05) > 0.75 > 0.45 > share_of_the_commonest(100.0)


@pytest.mark.parametrize(("clients", "alpha", "words"), [(4, 0.0, "alpha: got 0"), (99, 1.0, "clients: 99 for 90")])
def test_a_split_that_cannot_be_is_refused(clients: int, alpha: float, words: str) -> None:
    with pytest.raises(PlanError, match=words):
        dirichlet_split(np.arange(90) % 3, clients, alpha, np.random.default_rng(0))


@pytest.mark.parametrize("data", DATA)
def test_one_seed_is_one_task(data: str) -> None:
    def made(seed: int) -> list[torch.Tensor]:
        one = task(data, "logistic", clients=5, alpha=1.0, batch_size=8, seed=seed)
        federation = one.federation
        assert not callable(federation.data)
        return [federation.x0, *(part for pair in federation.data for part in pair), *one.test]

    first, again, other = made(0), made(0), made(1)
    assert all(map(torch.equal, first, again))
    assert not torch.equal(first[0], other[0]) and not torch.equal(first[-2], other[-2])


def test_nobody_trains_on_the_test_examples() -> None:
    one = task("digits", "logistic", clients=3, alpha=1.0, batch_size=8, seed=0)
    assert not callable(one.federation.data)
    trained = {tuple(row.tolist()) for inputs, _ in one.federation.data for row in inputs}
    held = [tuple(row.tolist()) for row in one.test[0]]
    assert len(held) == 359 and sum(len(targets) for _, targets in one.federation.data) == 1797 - 359
    assert not trained & {*held}


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_model_learns(model: str) -> None:
    one = task("digits", model, clients=10, alpha=1.0, batch_size=16, seed=0)
    half = cohorts(5, steps=10)
    run = simulate("fedavg", one.federation, plan=half, rounds=15, test=one.test, test_every=15, eta_l=0.3)
    *_, last = run
    assert last.accuracy is not None and last.accuracy > 0.8


@pytest.mark.parametrize(
    ("data", "model", "words"),
    [
        ("mnist", "mlp", "data: got 'mnist'; known: digits, breast-cancer"),
        ("digits", "gpt", "model: got 'gpt'; known: logistic, mlp, cnn"),
        ("breast-cancer", "cnn", "cnn takes square pictures, and an example has 30 features"),
    ],
)
def test_an_unknown_task_is_refused_by_name(data: str, model: str, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        task(data, model, clients=3, alpha=1.0, batch_size=8, seed=0)


@pytest.mark.slow
@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_its_schedule_fits_every_algorithm(row: Algorithm) -> None:
    one = task("breast-cancer", "logistic", clients=9, alpha=1.0, batch_size=8, seed=0)
    schedule = plan(row, 9, 4, steps=(1, 3), delay=2)
    run = simulate(row.id, one.federation, plan=schedule, rounds=2, **hyper(row))
    assert [r.round for r in run] == [0, 1]
