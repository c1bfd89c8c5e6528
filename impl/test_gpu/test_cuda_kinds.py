"""Every kind of module, loss and data on a GPU: in every way as a plain loop there trains it, or refused by name."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest
import torch
from test_gpu.test_cuda import DEVICE, pytestmark  # noqa: F401
from test_mirror import support, test_statistics
from test_mirror import test_stacked_kinds as stacked_kinds
from test_mirror.kinds import Kind, changed_by
from test_mirror.loops import RATE, ROUNDS, STEPS, Plain, fedavg
from test_mirror.test_kinds import KINDS, SAID
from torch import Tensor

from fedspec.errors import FedspecError
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.federation.federation import on
from fedspec_torch.ways.table import methods


def made_there(kind: Kind) -> tuple[torch.nn.Module, Any, list[Any]]:
    """Module, loss and data on the device, with the numbers that they have on a CPU."""
    module, _, data = kind.made()
    module, data = module.to(DEVICE), [changed_by(lambda tensor: tensor.to(DEVICE), batch) for batch in data]
    own = kind.loss(module)
    return module, own.to(DEVICE) if isinstance(own, torch.nn.Module) else own, data


class Moved(Plain):
    """A plain loop on the device."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self.module, self.loss, self.data = made_there(kind)
        self.parameters = [p for p in self.module.parameters() if p.requires_grad]
        self.x = [p.detach().clone() for p in self.parameters]


@cache
def wanted(name: str) -> Tensor | None:
    """Model after the plain loop on the GPU; None: torch refuses it."""
    try:
        return fedavg(Moved(KINDS[name])).cpu()
    except RuntimeError:
        return None


def ended(name: str, way: str | None) -> tuple[Tensor, Tensor] | str:
    """First and last model of a run; or the message of a refusal."""
    module, loss, data = made_there(KINDS[name])
    try:
        fed = Federation(module, loss, data, batch_size=2, shuffled=False, way=way, statistics="kept")
        run = support.ended("fedavg", fed, plan=cohorts(None, steps=STEPS), rounds=ROUNDS, eta_l=RATE)
    except FedspecError as error:
        return str(error)
    return fed.x0.cpu(), run.x.cpu()


@pytest.mark.parametrize("way", [None, *methods()])
@pytest.mark.parametrize("name", KINDS)
def test_every_way_trains_there_what_a_loop_trains_or_says_why_not(name: str, way: str | None) -> None:
    found, want = ended(name, way), wanted(name)
    if isinstance(found, str):
        expected = want is None or way not in (None, "looped") or KINDS[name].refused
        assert expected and (want is None or any(reason in found for reason in SAID)), found
        return
    assert want is not None and not KINDS[name].refused
    begun, x = found
    apart = float((x - want).norm() / (want - begun).norm())
    assert apart < 1e-9, f"{apart:.2g} of what the model moved away from the plain loop"


@pytest.mark.parametrize("make", [stacked_kinds.dropped, stacked_kinds.attending], ids=lambda make: make.__name__)
def test_a_block_changes_no_draw_there(make: Any) -> None:
    feds = [on(stacked_kinds.federation(make()), DEVICE) for _ in range(2)]
    plan = cohorts(4, steps=2)
    ends = [support.ended("fedavg", fed, plan=plan, block=b, eta_l=0.2).x for fed, b in zip(feds, (1, 4), strict=True)]
    torch.testing.assert_close(*ends, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("reading", ["averaged", "last", "kept"])
def test_running_statistics_as_those_of_loops_on_the_cpu(reading: str) -> None:
    fed = on(test_statistics.federation(statistics=reading), DEVICE)
    run = support.ended("fedavg", fed, plan=cohorts(4, steps=2), rounds=3, eta_l=0.2)
    want, _ = test_statistics.by_hand(reading, 3)
    for name, value in run.module().state_dict().items():
        torch.testing.assert_close(value.double().cpu(), want[name].double(), rtol=1e-9, atol=1e-12)


def test_what_no_stack_bears_is_trained_in_whole_runs() -> None:
    fed = on(test_statistics.federation(), DEVICE)
    simulate("fedavg", fed, plan=cohorts(4, steps=2), rounds=1, eta_l=0.2).step()
    assert {(choice.name, choice.run) for choice in fed.choices.values()} == {("looped", "alone")}
