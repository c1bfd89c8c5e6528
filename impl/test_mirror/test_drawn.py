"""Modules that draw: every client's draws are a function of seed, round, client and local step."""

from __future__ import annotations

from typing import Any, cast

import pytest
import torch
from test_mirror.support import classes, ended
from torch import nn
from torch.nn import functional as F

from fedspec_torch import Federation, cohorts
from fedspec_torch.gradients.module_state import seed_of
from fedspec_torch.layers.chains import LayersError

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


def test_torchs_generator_is_left_as_it_was() -> None:
    torch.manual_seed(1)
    want = torch.rand(3)
    fed, test = federation(dropped()), classes(SIZES, 5)[0]
    torch.manual_seed(1)
    ended("fedavg", fed, plan=cohorts(None, steps=2), test=test, eta_l=0.2, eta=1.0)
    assert torch.equal(torch.rand(3), want)


def test_ways_that_pass_clients_together_say_why_not() -> None:
    # Masks of dropout alone are drawn for a stack too, so that seconds decide there.
    module = cast(nn.Sequential, dropped())
    module[2] = nn.AlphaDropout(0.5)
    (choice,) = ended("fedavg", federation(module), rounds=1, eta_l=0.2, eta=1.0).federation.choices.values()
    assert choice.name == "looped"
    assert "draws at random, and each client has draws of its own" in choice.why
    with pytest.raises(LayersError, match=r"vmapped: it draws at random.*name way='looped'"):
        ended("fedavg", federation(dropped(), way="vmapped"), eta_l=0.2, eta=1.0)
