"""A federation: minibatches that are functions of seed, round and client, and gradients that are torch's own."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.federations import half_square, quadratic
from test_mirror.kinds import Around
from test_mirror.support import ended
from torch import Tensor, nn

from fedspec.errors import FedspecError, ParameterError, PlanError, ShapeError, UnknownNameError
from fedspec_torch import Federation, ModuleError, cohorts
from fedspec_torch.data.batches import Batches, mixed
from fedspec_torch.data.examples import Held
from fedspec_torch.federation import autotune
from fedspec_torch.gradients.methods import CHANNELS_LAST, METHODS
from fedspec_torch.refusals import LayersError
from fedspec_torch.ways.table import methods

pytestmark = pytest.mark.table(10)


GENERIC = [way for way in METHODS if way != CHANNELS_LAST]
WRITTEN_OUT = [way for way in methods() if way not in METHODS]
"""The ways that take modules of any parts."""


CHAINS: dict[str, Any] = {
    "linear": lambda: nn.Linear(3, 4),
    "no bias": lambda: nn.Sequential(nn.Linear(3, 4, bias=False)),
    "mlp": lambda: nn.Sequential(
        nn.Linear(3, 5), nn.ReLU(), nn.Sequential(nn.Linear(5, 6), nn.Tanh()), nn.Linear(6, 4)
    ),
    "ends": lambda: nn.Sequential(nn.Tanh(), nn.ReLU(), nn.Linear(3, 4), nn.Tanh(), nn.ReLU(), nn.Identity()),
    "flat": lambda: nn.Sequential(nn.Flatten(), nn.Linear(3, 4)),
    "few outputs": lambda: nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Linear(2, 4)),
    "few outputs, no bias": lambda: nn.Sequential(nn.Linear(3, 2, bias=False), nn.Linear(2, 4)),
}
"""Chains that are written out."""

NOT_COMPILED = ("compiled", "ends")

LOSSES: dict[str, Any] = {
    "cross entropy": nn.functional.cross_entropy,
    "cross entropy, a module": nn.CrossEntropyLoss(),
    "mean square": nn.functional.mse_loss,
}


TAKEN = [
    pytest.param(way, name, id=f"{way}, {name}")
    for way in WRITTEN_OUT
    for name in CHAINS
    if (way, name) != NOT_COMPILED
]
"""Chains that are written out, by the ways that take them."""


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize(("way", "name"), TAKEN)
@pytest.mark.parametrize(
    ("count", "size", "shuffled"),
    [((6,) * 5, 2, False), ((6,) * 5, 4, False), ((4, 7) * 3, 3, True), ((6, 6, 3, 6), 4, True)],
)
def test_what_is_written_out_is_what_is_stacked_and_looped_over(
    way: str, name: str, loss: str, count: tuple[int, ...], size: int, shuffled: bool
) -> None:
    """In order without a copy, in order beyond the end of the data, and shuffled; clients of unequal steps."""
    torch.manual_seed(4)
    module = CHAINS[name]().double()
    draw = (lambda n: torch.randint(4, (n,))) if "cross" in loss else (lambda n: torch.randn(n, 4).double())
    data = [(torch.randn(n, 3).double(), draw(n)) for n in count]
    before, runs = [inputs.clone() for inputs, _ in data], []
    for one in (way, "stacked", "looped"):
        fed = Federation(module, LOSSES[loss], data, batch_size=size, way=one, shuffled=shuffled)
        runs.append(ended("fedavg", fed, plan=cohorts(None, steps=(1, 5)), rounds=3, block=3, eta_l=0.5))
    first, *others = runs
    for run in others:
        assert torch.allclose(first.x, run.x, rtol=1e-11, atol=1e-13) and not torch.allclose(run.x, fed.x0, rtol=1e-3)
        assert [r.loss for r in first.history] == pytest.approx([r.loss for r in run.history], rel=1e-11)
    assert all(torch.equal(inputs, was) for (inputs, _), was in zip(data, before, strict=True))


class Own(nn.Sequential):
    """A chain that does something else."""


@pytest.mark.parametrize(
    ("module", "loss", "words"),
    [
        (nn.Sequential(nn.Linear(2, 2), nn.GELU()), nn.functional.cross_entropy, "GELU is not written out"),
        (Own(nn.Linear(2, 2)), nn.functional.cross_entropy, "Own is not written out"),
        (nn.Sequential(nn.Flatten(0), nn.Linear(2, 2)), nn.functional.cross_entropy, "Flatten is not written out"),
        (
            nn.Linear(2, 2),
            nn.CrossEntropyLoss(label_smoothing=0.1),
            "Loss with label_smoothing is not written out",
        ),
        (nn.Linear(2, 2), nn.functional.l1_loss, "the loss l1_loss is not written out"),
        (
            nn.Linear(2, 2),
            nn.CrossEntropyLoss(ignore_index=1, weight=torch.ones(2)),
            "CrossEntropyLoss with weight, ignore_index is not written out",
        ),
        (nn.Linear(2, 2), nn.MSELoss(reduction="sum"), "MSELoss with reduction is not written out"),
        (
            nn.Sequential(*[nn.Linear(2, 2)] * 2),
            nn.functional.cross_entropy,
            "every parameter must be trained, and belong to",
        ),
    ],
)
def test_what_is_not_written_out_is_refused_by_name(module: nn.Module, loss: Any, words: str) -> None:
    data = [(torch.ones(2, 2), torch.zeros(2).long())]
    federation = Federation(module, loss, data, way="layered")
    with pytest.raises(LayersError, match=words):
        federation.oracle([0])(0, federation.x0[None])


@pytest.mark.parametrize("way", GENERIC)
def test_clients_whose_batches_differ_in_size_train_side_by_side(way: str) -> None:
    federation, H, e = quadratic(batch_size=None, way=way)
    x = torch.arange(36, dtype=torch.float64).reshape(6, 6) / 8
    want = np.einsum("nij,nj->ni", H, x.numpy()) - e
    assert np.allclose(federation.oracle(range(6))(0, x).numpy(), want, rtol=1e-11)


def test_the_fastest_way_is_taken_and_what_was_measured_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(autotune, "MEASURED", {})
    federation, *_ = quadratic()
    federation.oracle(range(6))(0, federation.x0.repeat(6, 1))
    for choice in federation.choices.values():
        assert choice.name in methods()
        assert "measured" in choice.why and all(name in choice.why for name in ("looped", "vmapped", *WRITTEN_OUT))


def branching(self: Any, x: Tensor) -> Tensor:
    """A path that depends on numbers, which no batched transform bears."""
    out = x @ self.w
    return (out if float(out.detach().sum()) > 0 else -out)[:, None]  # type: ignore[no-any-return]


def test_a_module_that_cannot_be_batched_is_looped_over() -> None:
    module = Around(branching, w=nn.Parameter(torch.tensor([1.0, 2.0])))
    data = [(torch.ones(2, 2), torch.zeros(2)), (-torch.ones(2, 2), torch.zeros(2))]
    federation = Federation(module, half_square, data)
    g = federation.oracle([0, 1])(0, federation.x0.repeat(2, 1))
    assert torch.equal(g, torch.full((2, 2), 3.0))
    (choice,) = federation.choices.values()
    assert choice.name == "looped" and "stacked refused" in choice.why


def test_an_epoch_takes_every_example_once_in_an_order_of_its_own() -> None:
    pool = Held([(torch.arange(12.0).reshape(12, 1) + 100 * i, torch.zeros(12)) for i in range(3)])

    def order(client: int, round: int, seed: int = 0, beside: tuple[int, ...] = ()) -> list[float]:
        batches = Batches(pool, (*beside, client), 4, seed, round)
        rows = np.array([len(beside)])
        return [float(v) for k in range(3) for v in batches.at(k, rows, 4)[0].reshape(-1)]

    first = order(1, 0)
    assert sorted(first) == [100.0 + j for j in range(12)] and first != sorted(first)
    assert order(1, 0) == first == order(1, 0, beside=(2, 0))
    assert len({tuple(order(1, r)) for r in range(4)} | {tuple(order(1, 0, seed=s)) for s in range(1, 4)}) == 7
    assert [v - 100 for v in first] != order(0, 0)


def test_after_an_epoch_the_walk_begins_again() -> None:
    pool = Held([(torch.arange(10.0).reshape(10, 1), torch.zeros(10))])
    batches = Batches(pool, (0,), 4, 0, 0)
    seen = [float(v) for k in range(5) for v in batches.at(k, np.array([0]), 4)[0].reshape(-1)]
    assert set(Counter(seen).values()) == {2}
    assert seen[:10] == seen[10:]


def test_orders_are_uniform() -> None:
    """Each of the six orders of three examples, in 6000 rounds: about a thousand times each."""
    pool = Held([(torch.arange(3.0).reshape(3, 1), torch.zeros(3))] * 6000)
    batches = Batches(pool, tuple(range(6000)), 2, 0, 0)
    firsts = torch.cat([batches.at(k, np.arange(6000), 2)[0] for k in (0, 1)], 1)[:, :3, 0]
    counts = Counter(tuple(row.tolist()) for row in firsts)
    assert len(counts) == 6 and sum((c - 1000) ** 2 / 1000 for c in counts.values()) < 20


def test_mixed_integers_are_splitmix64s() -> None:
    """Two values that the generator is published with: seed 1234567, first two outputs."""
    assert mixed(1234567) == 6457827717110365317
    assert len(set(mixed(0, np.arange(10**5)).tolist())) == 10**5


def test_a_function_makes_the_examples_of_those_who_take_part() -> None:
    asked: list[int] = []

    def make(i: int) -> tuple[Tensor, Tensor]:
        asked.append(i)
        return torch.full((4, 2), float(i)), torch.zeros(4)

    federation = Federation(nn.Linear(2, 1), half_square, make, examples=(4,) * 10**6, batch_size=2)
    assert len(federation) == 10**6 and not asked
    federation.oracle([999_999, 7])(0, federation.x0.repeat(2, 1))
    assert asked == [999_999, 7]
    lying = Federation(nn.Linear(2, 1), half_square, make, examples=(5,) * 3)
    with pytest.raises(ShapeError, match="client 2 has 4 examples, but examples= declares 5"):
        lying.oracle([2])(0, federation.x0[None])


@pytest.mark.parametrize(
    ("module", "words"),
    [
        (nn.Flatten(), "nothing to train"),
        (nn.Linear(2, 2).requires_grad_(False), "nothing to train"),
        (nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).double()), "torch.float32 on cpu and torch.float64 on cpu"),
    ],
)
def test_a_module_that_cannot_be_trained_is_refused_by_name(module: nn.Module, words: str) -> None:
    with pytest.raises(ModuleError, match=words):
        Federation(module, half_square, [(torch.ones(2, 2), torch.zeros(2))])


GOOD = (torch.ones(2, 2), torch.zeros(2))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "data: no client"),
        ([GOOD, (torch.ones(0, 2), torch.zeros(0))], "client 1 has no example"),
        ([GOOD, (torch.ones(2, 2), torch.zeros(3))], r"client 1 has inputs \(2, 2\) and targets \(3,\)"),
        ([GOOD, (torch.ones(2, 3), torch.zeros(2))], r"an example of client 1 has inputs \(3,\) torch.float32"),
        ([GOOD, (torch.ones(2, 2), torch.zeros(2).long())], "client 1 has targets .* torch.int64"),
        ([GOOD, torch.ones(2, 2)], r"client 1 is Tensor; give a tuple \(inputs, targets\)"),
    ],
)
def test_data_that_do_not_fit_are_refused_by_name(data: Any, words: str) -> None:
    with pytest.raises(ShapeError, match=words):
        Federation(nn.Linear(2, 1), half_square, data)


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"batch_size": 0}, PlanError, "batch_size: got 0"),
        ({"way": "fast"}, UnknownNameError, "way: got 'fast'; known: compiled, layered, stacked, vmapped, looped"),
        ({"data": lambda i: GOOD}, PlanError, r"examples: got \(\); if data is a function"),
        ({"examples": (2,)}, PlanError, "examples: given"),
        ({"clip": 0.0}, ParameterError, r"clip: got 0\.0; give a norm above 0"),
        ({"clip": float("nan")}, ParameterError, "clip: got nan"),
        ({"clip_value": -1.0}, ParameterError, r"clip_value: got -1\.0; give a magnitude above 0"),
        ({"clip": 1.0, "clip_value": 0.5}, ParameterError, "clip and clip_value: got 1 and 0.5, .*leave out one"),
        ({"weight_decay": -0.1}, ParameterError, r"weight_decay: got -0\.1"),
        ({"accumulate": 0}, PlanError, "accumulate: got 0"),
        ({"accumulate": 1.5}, PlanError, r"accumulate: got 1\.5"),
    ],
)
def test_other_arguments_are_refused_by_name(more: dict[str, Any], error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words):
        Federation(nn.Linear(2, 1), half_square, **{"data": [GOOD], **more})


@pytest.mark.parametrize("way", GENERIC)
def test_a_loss_that_is_no_number_is_refused(way: str) -> None:
    def each(output: Tensor, target: Tensor) -> Tensor:
        return (output[:, 0] - target) ** 2

    federation = Federation(nn.Linear(2, 1), each, [GOOD], way=way)
    with pytest.raises(ShapeError, match=r"loss: got shape \(2,\); return one number \(take the mean"):
        federation.oracle([0])(0, federation.x0[None])


def test_a_client_that_does_not_exist_is_refused() -> None:
    federation, *_ = quadratic()
    with pytest.raises(PlanError, match=r"client 6 is not one of 0\.\.5"):
        federation.oracle([6])(0, federation.x0[None])
