"""The tasks that come along: models that can be trained, schedules that fit, data that are what they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import TRAINABLE, hyper

from fedspec.catalogue import Algorithm
from fedspec.errors import FedspecError, ParameterError, UnknownNameError
from fedspec.facts import Fact
from fedspec_torch import cohorts, simulate
from fedspec_torch.tasks import MODELS, TASKS, Task, kind_of, plan, task, text
from fedspec_torch.tasks.text import ALPHABET, topics

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
        (_, a), (_, b) = ([*map(torch.as_tensor, t.federation.pool.of([i])[0])] for t in (whole, part))
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
        ("quadratics:dimension=3", None, "quadratics has no setting 'dimension'; known: dim, spread, least, greatest"),
        ("digits:dim=3", None, "digits has no setting 'dim'; known: none"),
        ("one-class:of=quadratics", None, "one-class: of: got 'quadratics'; known: digits, breast-cancer"),
        ("breast-cancer", "cnn", "cnn needs square images, but an example has 30 features"),
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
        ("quadratics:least=2", "got least = 2.0 and greatest = 1.0"),
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


def pairs(one: Task) -> list[tuple[Any, Any]]:
    """Inputs and targets of each client."""
    data = one.federation.data
    assert not callable(data)
    return [(inputs.numpy(), targets.numpy()) for inputs, targets in data]


def drawn(words: str, clients: int = 400) -> list[tuple[Any, Any]]:
    return pairs(task(f"synthetic:{words}", clients=clients, batch_size=10, seed=0))


def test_features_of_a_client_vary_less_and_less() -> None:
    """The j-th with variance j^-1.2: by the residues of many clients."""
    rest = np.concatenate([x - x.mean(0) for x, _ in drawn("size=2,deviation=0.5")])
    assert rest.var(0)[[0, 3, 59]] == pytest.approx([1, 4**-1.2, 60**-1.2], rel=0.1)


@pytest.mark.parametrize("beta", [0.0, 1.0, 2.0])
def test_beta_is_how_far_the_inputs_of_clients_lie_apart(beta: float) -> None:
    """A client's mean over all its features has variance beta^2, 1/60 of their own, and a little of its examples."""
    middles = np.array([x.mean() for x, _ in drawn(f"beta={beta},size=2,deviation=0.5")])
    assert middles.var() == pytest.approx(beta**2 + 1 / 60, rel=0.25)


def test_alpha_is_said_to_be_how_much_models_differ() -> None:
    """As the generator is, not at all: u_i moves all scores of a client alike, and so no class."""
    one, other = (drawn(f"alpha={alpha},size=2,deviation=0", 30) for alpha in (0, 3))
    for (x, y), (x2, y2) in zip(one, other, strict=True):
        assert np.array_equal(x, x2) and np.mean(y == y2) > 0.99


def test_sizes_have_a_heavy_tail_and_a_tenth_is_held_out() -> None:
    one = task("synthetic", clients=300, batch_size=10, seed=1)
    sizes = np.array(one.federation.setup.examples)
    # exp(4) + 50 examples in the middle, of which nine tenths are trained on; exp(8) + 50 two deviations above it.
    assert sizes.min() >= 45 and np.median(sizes) == pytest.approx(0.9 * (np.exp(4) + 50), rel=0.15)
    assert np.quantile(sizes, 0.977) == pytest.approx(0.9 * (np.exp(8) + 50), rel=0.6)
    assert len(one.test[0]) == pytest.approx(sizes.sum() / 9, rel=0.02)


def noise(words: str, clients: int = 4) -> list[Any]:
    """The noise of each client, by the gradients of its examples at the origin."""
    one = task(f"heavy-tailed:{words}", clients=clients, batch_size=1, seed=0)
    found = []
    for inputs, targets in pairs(one):
        x, y = torch.tensor(inputs), torch.tensor(targets)
        w = torch.zeros(y.shape[1], dtype=torch.float64, requires_grad=True)
        # Each example has a model of its own, so that each gradient is seen.
        each = w.repeat(len(x), 1).detach().requires_grad_()
        torch.stack([one.federation.loss(a * v, b) for a, v, b in zip(x, each, y, strict=True)]).sum().backward()
        assert each.grad is not None
        found.append(each.grad.numpy())
    return found


@pytest.mark.slow
def test_quartiles_of_the_noise_are_those_of_its_distributions() -> None:
    """|t_nu|'s median: sqrt(2/3) for 2, and for 3, 4 and 5 by SciPy's quantiles; of a Cauchy distribution its scale."""
    from scipy import stats

    wanted = [(2 / 3) ** 0.5, *(float(stats.t.ppf(0.75, nu)) for nu in (3, 4, 5))]
    assert [np.median(np.abs(xi)) for xi in noise("draws=20000")] == pytest.approx(wanted, rel=0.03)
    cauchy = [np.median(np.abs(xi)) for xi in noise("draws=20000,noise=cauchy,gamma=0.2", 2)]
    assert cauchy == pytest.approx([0.2, float(stats.norm.ppf(0.75))], rel=0.03)


def test_a_client_means_the_quadratic_exactly() -> None:
    for xi in noise("draws=100,dim=3"):
        assert xi.shape == (100, 3) and np.abs(xi.mean(0)).max() < 1e-14 * np.abs(xi).max()
    one = task("heavy-tailed:dim=3", clients=2, batch_size=1, seed=0)
    assert one.minimiser is not None and not one.minimiser.any()
    found, _ = one.federation.evaluate(torch.tensor([1.0, 2.0, -2.0], dtype=torch.float64), one.test)
    assert found == pytest.approx(4.5, rel=1e-15)


def test_the_examples_of_a_topic_are_its_text() -> None:
    """With every place taken, first characters in a row are the text without its end."""
    one = task("pydoc:context=5,every=1", clients=3, batch_size=10, seed=0)
    for (inputs, targets), topic in zip(pairs(one), topics().values(), strict=False):
        said = "".join(ALPHABET[k] if k < len(ALPHABET) else "?" for k in [*inputs[:, 0], *inputs[-1, 1:], targets[-1]])
        known = "".join(letter if letter in ALPHABET else "?" for letter in topic)
        assert known.startswith(said) and len(said) == len(topic) - len(topic) // 10
        assert np.array_equal(inputs[1:, -1], targets[:-1])


def test_another_text_is_said_to_be_one(monkeypatch: pytest.MonkeyPatch) -> None:
    kind, _ = kind_of("pydoc")
    monkeypatch.setattr(text, "DIGEST", text.digest())
    assert kind.note() == ""
    monkeypatch.setattr(text, "DIGEST", "0" * 16)
    assert f"the text of this Python, {text.digest()}, is another one" in kind.note()


@pytest.mark.parametrize(
    ("data", "clients", "words"),
    [
        (
            "pydoc",
            1000,
            "clients: got 1000, but pydoc has only [0-9]+ topics that are long enough; take at most",
        ),
        ("pydoc:every=0", 3, "pydoc: every: got 0"),
        ("heavy-tailed:draws=3", 3, "draws: got 3; draws come in pairs of opposite sign"),
        ("heavy-tailed:noise=normal", 3, "noise: got 'normal'; known: student, cauchy"),
        ("heavy-tailed:gamma=0,noise=cauchy", 3, "gamma: got 0"),
        ("heavy-tailed:dim=0", 3, "dim: got 0"),
        ("synthetic:beta=-1", 3, "synthetic: beta: got -1.0; give a standard deviation >= 0"),
    ],
)
def test_what_cannot_be_made_is_refused(data: str, clients: int, words: str) -> None:
    with pytest.raises(FedspecError, match=words):
        task(data, clients=clients, batch_size=10, seed=0)
