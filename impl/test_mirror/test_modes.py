"""Training and evaluation modes: a federation trains in those that its module had when it was made, and evaluates."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from fedspec.errors import PlanError
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.refusals import ModuleError


def begun(**more: Any) -> Any:
    drawn = torch.Generator().manual_seed(2)
    data = [(torch.rand(6, 4, generator=drawn), torch.arange(6) % 3) for _ in range(3)]
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.4), nn.ReLU(), nn.Linear(5, 3))
    federation = Federation(module, F.cross_entropy, data, batch_size=3, **more)
    return simulate("scaffold", federation, plan=cohorts(2, steps=2), rounds=4, eta_l=0.1, eta=1.0)


def test_a_model_that_is_looked_at_between_rounds_trains_on() -> None:
    want, run = begun(), begun()
    list(want)
    for _ in range(4):
        run.step()
        run.module().eval()
        run.federation.model.eval()
    assert torch.equal(run.x, want.x) and torch.equal(run.b, want.b)
    assert not any(part.training for part in run.federation.model.modules())


def test_a_model_that_is_given_out_is_a_copy() -> None:
    run = begun()
    run.step()
    first, x = run.module(), run.x.clone()
    run.step()
    second = run.module()
    assert first is not second is not run.federation.model
    assert torch.equal(torch.nn.utils.parameters_to_vector(first.parameters()), x)
    assert torch.equal(torch.nn.utils.parameters_to_vector(second.parameters()), run.x)
    assert not torch.equal(x, run.x) and not torch.equal(first[1].running_mean, second[1].running_mean)
    with torch.no_grad():
        second[0].weight.zero_()
    again = run.module()
    assert torch.equal(torch.nn.utils.parameters_to_vector(again.parameters()), run.x)
    assert all(p.grad is None for p in again.parameters())


def test_a_run_is_printed_in_a_line() -> None:
    run = begun()
    run.step()
    said = "<Run of scaffold: 1 of 4 rounds on <Federation: 3 clients, 18 examples, Sequential of 53 parameters>>"
    assert repr(run) == said


def test_parts_that_were_frozen_stay_frozen() -> None:
    run = begun()
    frozen = run.federation.model
    frozen[1].eval()
    federation = Federation(frozen, F.cross_entropy, run.federation.data, batch_size=3)
    other = simulate("fedavg", federation, plan=cohorts(2, steps=2), rounds=1, eta_l=0.1)
    frozen[1].train()
    other.step()
    assert torch.equal(other.module()[1].running_mean, torch.zeros(5)) and frozen[1].training


def test_a_model_in_its_evaluation_mode_trains_so_and_that_is_said_once() -> None:
    module = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.4), nn.Linear(5, 3)).eval()
    data = [(torch.rand(6, 4), torch.arange(6) % 3) for _ in range(2)]
    said = "it is in its evaluation mode, and is trained so: BatchNorm1d, Dropout will .* Call model.train"
    with pytest.warns(UserWarning, match=said) as warned:
        Federation(module, F.cross_entropy, data)
        Federation(module, F.cross_entropy, data, batch_size=3)
    assert [Path(w.filename).name for w in warned] == ["test_modes.py"]


@pytest.mark.filterwarnings("error")
def test_nothing_is_said_of_parts_that_are_frozen_and_of_what_trains_alike_in_both_modes() -> None:
    data = [(torch.rand(6, 4), torch.arange(6) % 3) for _ in range(2)]
    frozen = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Dropout(0.4), nn.Linear(5, 3))
    frozen[1].eval(), frozen[2].eval()
    Federation(frozen, F.cross_entropy, data)
    for part in (nn.Dropout(0.0), nn.LayerNorm(5), nn.BatchNorm1d(5, track_running_stats=False)):
        Federation(nn.Sequential(nn.Linear(4, 5), part, nn.Linear(5, 3)).eval(), F.cross_entropy, data)


def test_a_client_that_is_none_has_no_model() -> None:
    with pytest.raises(PlanError, match="module: got client 3; the clients are 0 to 2"):
        begun(statistics="kept").module(3)


def test_what_cannot_be_copied_is_told() -> None:
    run = begun()
    # Torch copies no tensor that was computed from a parameter.
    run.federation.model.seen = run.federation.model[0].weight * 2
    with pytest.raises(ModuleError, match=r"torch can't copy it .*vector_to_parameters"):
        run.module()


def looped(federation: Federation, x: torch.Tensor, who: list[int]) -> list[float]:
    """Losses of one client after another, by a copy of the module in its evaluation mode, example by example."""
    module, data, found = federation.module_at(x).eval(), federation.data, []
    for i in who:
        inputs, targets = data[i]  # type: ignore[index]
        with torch.no_grad():
            each = [float(federation.loss(module(a[None]), b[None])) for a, b in zip(inputs, targets, strict=True)]
        found.append(sum(each) / len(each))
    return found


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
