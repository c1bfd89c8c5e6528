"""The tasks that come along: models that can be trained, schedules that fit."""

from __future__ import annotations

import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper

from fedspec.catalogue import Algorithm
from fedspec.errors import ParameterError, UnknownNameError
from fedspec.facts import Fact
from fedspec_torch import cohorts, simulate
from fedspec_torch.tasks import MODELS, TASKS, plan, task

pytestmark = pytest.mark.table(10)


@pytest.mark.parametrize("data", TASKS)
def test_one_seed_is_one_task(data: str) -> None:
    def made(seed: int) -> list[torch.Tensor]:
        one = task(data, clients=10, alpha=1.0, batch_size=8, seed=seed)
        federation = one.federation
        assert not callable(federation.data)
        return [federation.x0, *(part for pair in federation.data for part in pair), *one.test]

    first, again, other = made(0), made(0), made(1)
    assert all(map(torch.equal, first, again))
    # The text of pydoc is there; its model is drawn.
    drawn = zip(first, other, strict=True) if data == "pydoc" else zip(first[2:-2:2], other[2:-2:2], strict=True)
    assert not all(a.shape == b.shape and torch.equal(a, b) for a, b in drawn)


@pytest.mark.parametrize("data", TASKS)
@pytest.mark.parametrize("mine", [range(2), range(3, 7)])
def test_of_some_clients_the_data_are_those_of_all(data: str, mine: range) -> None:
    given = dict(clients=10, alpha=1.0, batch_size=8, seed=3)
    whole, part = task(data, **given), task(data, mine=mine, **given)  # type: ignore[arg-type]
    assert torch.equal(whole.federation.x0, part.federation.x0)
    assert whole.federation.setup == part.federation.setup
    for i in mine:
        (_, a), (_, b) = ([*map(torch.as_tensor, t.federation.pool.of([i])[:2])] for t in (whole, part))
        assert {*map(str, a.flatten().tolist())} >= {*map(str, b.flatten().tolist())}


def test_nobody_trains_on_the_test_examples() -> None:
    one = task("digits", "logistic", clients=3, alpha=1.0, batch_size=8, seed=0)
    assert not callable(one.federation.data)
    trained = {tuple(row.tolist()) for inputs, _ in one.federation.data for row in inputs}
    held = [tuple(row.tolist()) for row in one.test[0]]
    assert len(held) == 359 and sum(len(targets) for _, targets in one.federation.data) == 1797 - 359
    assert not trained & {*held}


@pytest.mark.slow
@pytest.mark.table(1)
@pytest.mark.long
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
        ("digits", "gpt", "model: got 'gpt'; known for digits: mlp, logistic, cnn"),
        ("quadratics", "cnn", "known for quadratics: linear"),
        ("quadratics:dimension=3", None, "quadratics has no 'dimension'; known: dim, spread, least, greatest"),
        ("digits:dim=3", None, "digits has no 'dim'; known: nothing is set of it"),
        ("one-class:of=quadratics", None, "one-class: of: got 'quadratics'; known: digits, breast-cancer"),
        ("breast-cancer", "cnn", "cnn takes square pictures, and an example has 30 features"),
    ],
)
def test_an_unknown_task_is_refused_by_name(data: str, model: str | None, words: str) -> None:
    with pytest.raises(UnknownNameError, match=words):
        task(data, model, clients=3, alpha=1.0, batch_size=8, seed=0)


@pytest.mark.long
@pytest.mark.parametrize("row", TRAINABLE, ids=lambda row: row.id)
def test_its_schedule_fits_every_algorithm(row: Algorithm) -> None:
    model = "matrices" if row.has(Fact.MATRICES) else "logistic"
    one = task("breast-cancer", model, clients=9, alpha=1.0, batch_size=8, seed=0)
    schedule = plan(row, 9, 4, steps=(1, 3), delay=2)
    run = simulate(row.id, one.federation, plan=schedule, rounds=2, **hyper(row))
    assert [r.round for r in run] == [0, 1]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("quadratics:dim", "got 'dim'; set one by NAME=VALUE, such as quadratics:dim=10"),
        ("quadratics:dim=two", "dim: got 'two'; give a whole number, such as 10"),
        ("quadratics:dim=0", "dim: got 0"),
        ("quadratics:spread=0", "spread: got 0.0"),
        ("quadratics:least=2", "curvatures between 2.0 and 1.0"),
    ],
)
def test_what_cannot_be_set_of_data_is_refused(data: str, words: str) -> None:
    with pytest.raises(ParameterError, match=words):
        task(data, clients=3, batch_size=8, seed=0)


def test_the_minimiser_of_quadratics_is_where_their_mean_gradient_is_none() -> None:
    """By autograd on the examples that clients have; beside it there is one."""
    one = task("quadratics", clients=7, batch_size=4, seed=5, dim=4, least=0.5, greatest=3.0)
    assert one.minimiser is not None and not callable(one.federation.data)

    def gradient(x: torch.Tensor) -> torch.Tensor:
        module = one.federation.module_at(x)
        module.zero_grad()
        for pair in one.federation.data:
            inputs, targets = pair
            (one.federation.loss(module(inputs), targets) / 7).backward()
        (weight,) = module.parameters()
        assert weight.grad is not None
        return weight.grad.flatten()

    assert gradient(one.minimiser).norm() < 1e-15
    assert gradient(one.minimiser + 0.1).norm() > 0.05


def test_one_class_is_one_for_each_client() -> None:
    one = task("one-class", clients=20, batch_size=8, seed=0)
    assert not callable(one.federation.data)
    kinds = [{*targets.tolist()} for _, targets in one.federation.data]
    assert all(len(kind) == 1 for kind in kinds) and len(set.union(*kinds)) == 10
