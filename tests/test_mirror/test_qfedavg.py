"""What clients of a federation lose: over all that they have, at the model that is asked about, and nothing moves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from test_mirror.federations import hyper, quadratic, schedule
from torch import nn

from fedspec.catalogue import find
from fedspec.errors import PlanError
from fedspec_torch import Federation, cohorts, simulate


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


@pytest.mark.slow
def test_a_run_evens_out_what_clients_lose() -> None:
    """Of the objectives of a small federation, the largest loss is smaller at the end the larger the power is."""
    ends = []
    for q in (0.0, 4.0):
        federation, *_ = quadratic()
        numbers: dict[str, Any] = {**hyper(find("q-fedavg")), "q": q}
        run = simulate("q-fedavg", federation, plan=cohorts(None, steps=2), rounds=200, **numbers)
        list(run)
        ends.append(max(federation.in_round(0).values(range(len(federation)), run.x)))
    assert ends[1] < ends[0]


def test_a_loss_of_nothing_is_refused() -> None:
    federation, *_ = quadratic()
    flat = Federation(federation.model, lambda output, target: output.sum() * 0, federation.data)
    run = simulate("q-fedavg", flat, plan=schedule(find("q-fedavg")), rounds=1, **hyper(find("q-fedavg")))
    with pytest.raises(PlanError, match=r"loss: that of message 0 is -?0\.0"):
        list(run)
