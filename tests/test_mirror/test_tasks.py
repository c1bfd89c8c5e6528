"""The tasks that come along: models that can be trained, schedules that fit."""

from __future__ import annotations

import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper

from fedspec.catalogue import Algorithm
from fedspec.errors import UnknownNameError
from fedspec_torch import cohorts, simulate
from fedspec_torch.tasks import DATA, MODELS, plan, task


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
