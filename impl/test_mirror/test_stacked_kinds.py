"""Recurrent layers, norms with running statistics and dropout in stacks of clients: as torch has them one by one.

Draws are a function of seed, round, client and local step.
"""

from __future__ import annotations

from itertools import product
from typing import Any, cast

import pytest
import torch
from test_mirror.kinds import LAYERS
from test_mirror.support import classes, ended
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import Federation, ModuleError, cohorts, simulate
from fedspec_torch.gradients import methods
from fedspec_torch.gradients.dropout import Masks
from fedspec_torch.gradients.module_state import seed_of
from fedspec_torch.gradients.recurrent import Steps
from fedspec_torch.refusals import LayersError

SWITCHES = ("bidirectional", "batch_first", "bias")
RECURRENT = {
    "LSTM": nn.LSTM,
    "GRU": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *a, **more: nn.RNN(*a, nonlinearity="relu", **more),
}


def parts(found: Any) -> list[Tensor]:
    """Outputs and last states of a recurrent layer, in one list."""
    outputs, last = found
    return [outputs, *(last if isinstance(last, tuple) else (last,))]


@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("name", RECURRENT)
def test_recurrent_layers_step_by_step_are_torchs(name: str, layers: int) -> None:
    torch.manual_seed(2)
    for switched in product([False, True], repeat=3):
        layer = RECURRENT[name](3, 5, layers, **dict(zip(SWITCHES, switched, strict=True))).double()
        x = torch.randn(4, 2, 3).double()
        begun = [0.5 * part + 1 for part in parts(layer(x))[1:]]
        for state in ((), (tuple(begun) if name == "LSTM" else begun[0],)):
            want = parts(layer(x, *state))
            with Steps():
                found = parts(layer(x, *state))
            torch.testing.assert_close(found, want, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("more", [{"dropout": 0.5, "num_layers": 2}, {"proj_size": 2}])
def test_what_is_not_written_out_is_left_to_torch(more: dict[str, Any]) -> None:
    layer, x = nn.LSTM(3, 5, **more).double(), torch.randn(4, 2, 3).double()
    torch.manual_seed(1)
    want = parts(layer(x))
    torch.manual_seed(1)
    with Steps():
        assert all(torch.equal(a, b) for a, b in zip(parts(layer(x)), want, strict=True))
        packed = nn.utils.rnn.pack_padded_sequence(x, [4, 2])
        assert layer(packed)[0].data.shape[0] == 6


NORMED = ("BatchNorm1d with statistics", "BatchNorm2d with statistics", "InstanceNorm2d with statistics")


@pytest.mark.parametrize("way", ["stacked", "vmapped"])
@pytest.mark.parametrize("name", ["LSTM", "LSTM, both ways", "GRU", "RNN", *NORMED])
def test_clients_together_end_where_they_end_one_after_another(name: str, way: str) -> None:
    ends = []
    for taken in (way, "looped"):
        module, loss, data = LAYERS[name].made()
        fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=taken)
        run = ended("fedavg", fed, plan=cohorts(None, steps=3), eta_l=0.3, eta=1.0)
        ends.append((run.x, run.b))
    torch.testing.assert_close(*ends, rtol=1e-10, atol=1e-12)


def test_statistics_that_a_way_forgets_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(methods, "_keep", lambda *_: None)
    module, loss, data = LAYERS[NORMED[0]].made()
    with pytest.raises(ModuleError, match="its running statistics are others"):
        ended("fedavg", Federation(module, loss, data, batch_size=2, way="stacked"), eta_l=0.3, eta=1.0)


def test_a_cumulative_mean_trains_one_after_another() -> None:
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4, momentum=None), nn.Linear(4, 2))
    data = [(torch.randn(8, 3), torch.arange(8) % 2) for _ in range(3)]
    fed = Federation(module, F.cross_entropy, data, batch_size=4)
    ended("fedavg", fed, plan=cohorts(3, steps=2), eta_l=0.1, eta=1.0)
    assert [choice.name for choice in fed.choices.values()] == ["looped"]


def dropping(inplace: bool) -> nn.Module:
    torch.manual_seed(4)
    drops = nn.Dropout(0.25), nn.Dropout(0.5, inplace), nn.Dropout(0.0)
    parts = (nn.Linear(3, 16), drops[0], nn.ReLU(), nn.BatchNorm1d(16), nn.Linear(16, 8), drops[1], drops[2])
    return nn.Sequential(*parts, nn.Linear(8, 2)).double()


@pytest.mark.parametrize("inplace", [False, True])
def test_clients_that_drop_entries_lose_the_same_ones_together(inplace: bool) -> None:
    torch.manual_seed(6)
    data = [(torch.randn(9 + i, 3).double(), torch.arange(9 + i) % 2) for i in range(5)]
    ends = []
    for way in ("stacked", "looped"):
        fed = Federation(dropping(inplace), F.cross_entropy, data, batch_size=4, way=way)
        run = simulate("fedavg", fed, plan=cohorts(3, steps=(1, 4), seed=2), rounds=3, eta_l=0.3, eta=1.0)
        before = torch.get_rng_state()
        list(run)
        assert torch.equal(before, torch.get_rng_state())
        ends.append((run.x, run.b))
    torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-13)


def test_clients_that_drop_the_same_entries_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def alike(self: Masks, device: torch.device, seeds: list[int]) -> None:
        made(self, device, [seeds[0]] * len(seeds))

    made = Masks.__init__
    monkeypatch.setattr(Masks, "__init__", alike)
    data = [(torch.randn(8, 3).double(), torch.arange(8) % 2) for _ in range(3)]
    fed = Federation(dropping(False), F.cross_entropy, data, batch_size=4, way="stacked")
    with pytest.raises(ModuleError, match="comes to other gradients"):
        ended("fedavg", fed, plan=cohorts(3, steps=2), rounds=1, eta_l=0.3, eta=1.0)


@pytest.mark.parametrize("name", ["AlphaDropout", "RReLU", "FractionalMaxPool2d"])
def test_other_draws_train_one_after_another(name: str) -> None:
    module, loss, data = LAYERS[name].made()
    fed = Federation(module, loss, data, batch_size=2)
    ended("fedavg", fed, plan=cohorts(None, steps=2), rounds=1, eta_l=0.1, eta=1.0)
    assert {choice.name for choice in fed.choices.values()} == {"looped"}


SIZES = (7, 9, 6, 8)
"""Numbers of examples of the clients."""


def dropped() -> nn.Module:
    """A module with dropout, the same at every call."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 6), nn.ReLU(), nn.Dropout(0.4), nn.Linear(6, 3)).double()


def attending() -> nn.Module:
    """Torch's own transformer layer, which drops a tenth at three places."""
    torch.manual_seed(3)
    layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
    return nn.Sequential(nn.Unflatten(1, (1, 5)), nn.Linear(5, 4), layer, nn.Flatten(), nn.Linear(4, 3)).double()


def federation(module: nn.Module, **more: Any) -> Federation:
    """The clients with minibatches of three, in the order of the data."""
    return Federation(module, F.cross_entropy, classes(SIZES, 5), batch_size=3, shuffled=False, seed=17, **more)


def test_draws_differ_by_seed_round_client_and_step() -> None:
    asked = [(s, r, i, k) for s in range(4) for r in range(4) for i in range(4) for k in range(4)]
    assert len({seed_of(*words) for words in asked}) == len(asked)


def test_ways_that_pass_clients_together_say_why_not() -> None:
    # Masks of dropout alone are drawn for a stack too, so that seconds decide there.
    module = cast(nn.Sequential, dropped())
    module[2] = nn.AlphaDropout(0.5)
    (choice,) = ended("fedavg", federation(module), rounds=1, eta_l=0.2, eta=1.0).federation.choices.values()
    assert choice.name == "looped"
    assert "draws at random, and each client has draws of its own" in choice.why
    with pytest.raises(LayersError, match=r"vmapped: it draws at random.*name way='looped'"):
        ended("fedavg", federation(dropped(), way="vmapped"), eta_l=0.2, eta=1.0)
