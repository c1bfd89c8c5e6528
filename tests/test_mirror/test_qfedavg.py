"""What clients of a federation lose: over all that they have, at the model that is asked about, and nothing moves."""

from __future__ import annotations

import pytest
import torch
from test_mirror.federations import quadratic
from torch import nn

from fedspec_torch import Federation


def looped(federation: Federation, x: torch.Tensor, who: list[int]) -> list[float]:
    """One client after another, by a copy of the module in its evaluation mode, example by example."""
    module, data, found = federation.module_at(x).eval(), federation.data, []
    for i in who:
        inputs, targets = data[i]  # type: ignore[index]
        with torch.no_grad():
            each = [float(federation.loss(module(a[None]), b[None])) for a, b in zip(inputs, targets, strict=True)]
        found.append(sum(each) / len(each))
    return found


@pytest.mark.parametrize("batch_size", [None, 2])
def test_losses_are_means_over_all_that_a_client_has(batch_size: int | None) -> None:
    federation, *_ = quadratic(batch_size=batch_size)
    x = federation.x0 + 1
    assert federation.in_round(3).values([4, 0], x) == pytest.approx(looped(federation, x, [4, 0]), rel=1e-12)


def test_what_drops_and_normalises_is_in_its_evaluation_mode() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5), nn.Linear(4, 2)).double()
    data = [(torch.randn(n, 3).double(), torch.randint(0, 2, (n,))) for n in (5, 8)]
    federation = Federation(module, nn.functional.cross_entropy, data, batch_size=4)
    before = {name: b.clone() for name, b in module.named_buffers()}
    state = torch.get_rng_state()
    first = federation.in_round(0).values([0, 1], federation.x0)
    assert first == federation.in_round(0).values([0, 1], federation.x0)
    assert first == pytest.approx(looped(federation, federation.x0, [0, 1]), rel=1e-12)
    assert all(torch.equal(b, before[name]) for name, b in module.named_buffers())
    assert module.training
    assert torch.equal(torch.get_rng_state(), state)
