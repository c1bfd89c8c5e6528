"""Images and convolutions in torch's memory format ``channels_last``: other speed, the same numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_mirror.support import ended
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import Federation, cohorts, for_clients, simulate
from fedspec_torch.federation import autotune
from fedspec_torch.gradients.methods import METHODS
from fedspec_torch.refusals import LayersError, ModuleError, Reason

SIZES = (6, 4, 5)
ADAPTIVE: dict[str, Any] = {"eta": 0.5, "eps": 0.1, "tau": 0.1, "v0": 0.1, "beta1": 0.5}


def data(seed: int = 3) -> list[tuple[Tensor, Tensor]]:
    drawn = torch.Generator().manual_seed(seed)
    return [
        (torch.rand(n, 3, 6, 6, generator=drawn).double(), torch.randint(0, 4, (n,), generator=drawn)) for n in SIZES
    ]


class Flat(nn.Module):
    """Layer that many scripts write after a convolution."""

    def forward(self, x: Tensor) -> Tensor:
        return x.view(len(x), -1)


def convolving(*between: nn.Module, last: nn.Module | None = None) -> nn.Module:
    torch.manual_seed(7)
    parts = (nn.Conv2d(3, 5, 3), *between, nn.Tanh(), nn.MaxPool2d(2), last or nn.Flatten(), nn.Linear(20, 4))
    return nn.Sequential(*parts).double()


def normed() -> nn.Module:
    return convolving(nn.BatchNorm2d(5))


def federation(make: Callable[[], nn.Module] = convolving, way: str | None = "channels_last") -> Federation:
    return Federation(make(), F.cross_entropy, data(), batch_size=2, way=way)


def trained(name: str, make: Callable[[], nn.Module], way: str | None, **hyper: Any) -> Any:
    return ended(name, federation(make, way), plan=cohorts(2, steps=(1, 4), seed=5), rounds=3, eta_l=0.2, **hyper)


@pytest.mark.parametrize("make", [convolving, normed])
@pytest.mark.parametrize(("name", "hyper"), [("fedavg", {}), ("fedada2", ADAPTIVE)])
def test_a_run_is_that_of_plain_autograd(name: str, hyper: dict[str, Any], make: Callable[[], nn.Module]) -> None:
    run, want = (trained(name, make, way, **hyper) for way in ("channels_last", "looped"))
    torch.testing.assert_close(run.x, want.x, rtol=1e-11, atol=1e-13)
    assert (run.b is None) == (make is convolving)
    if run.b is not None:
        torch.testing.assert_close(run.b, want.b, rtol=1e-11, atol=1e-13)


def test_the_module_sees_that_format_and_has_its_own_back() -> None:
    seen: set[tuple[bool, bool]] = set()

    class Seeing(nn.Conv2d):
        def forward(self, x: Tensor) -> Tensor:
            seen.add(tuple(t.is_contiguous(memory_format=torch.channels_last) for t in (x, self.weight)))  # type: ignore[arg-type]
            return super().forward(x)

    def make() -> nn.Module:
        module = convolving()
        module[0] = Seeing(3, 5, 3).double()  # type: ignore[operator]
        return module

    fed = federation(make)
    held = [(p.data_ptr(), p.stride(), p.detach().clone()) for p in fed.network.parameters.values()]
    run = simulate("fedavg", fed, plan=cohorts(3, steps=2), rounds=1, eta_l=0.2)
    run.step()
    assert (True, True) in seen
    for p, (place, stride, value) in zip(fed.network.parameters.values(), held, strict=True):
        assert (p.data_ptr(), p.stride()) == (place, stride) and torch.equal(p, value) and p.grad is None


def test_view_is_left_out_with_its_reason_or_refused_by_name() -> None:
    def make() -> nn.Module:
        return convolving(last=Flat())

    run, want = (trained("fedavg", make, way) for way in (None, "looped"))
    torch.testing.assert_close(run.x, want.x, rtol=1e-11, atol=1e-13)
    (choice, *_) = run.federation.choices.values()
    assert "channels_last refused" in choice.why and Reason.LAID_OUT in choice.why
    with pytest.raises(LayersError, match=rf"channels_last: .*{Reason.LAID_OUT}.*name way='looped'"):
        trained("fedavg", make, "channels_last")


@pytest.mark.parametrize("name", ["fedprox", "scaffold", "fedada2"])
def test_view_is_left_out_of_every_block_of_unequal_work(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """However fast it would seem: clients who have steps left become fewer while the module is lent.

    Pictures of one channel have both formats, so that the weights alone say which it is.
    """
    first = METHODS["channels_last"]
    monkeypatch.setattr(autotune, "MEASURED", {})
    monkeypatch.setattr(autotune, "_seconds", lambda work, x: 0.0 if work.args[0] is first else 1.0)

    def begun(way: str | None) -> Federation:
        torch.manual_seed(7)
        parts = (nn.Conv2d(1, 5, 3), nn.BatchNorm2d(5), nn.Tanh(), nn.MaxPool2d(2), Flat(), nn.Linear(20, 4))
        pictures = [(x[:, :1], y) for x, y in data()]
        return Federation(nn.Sequential(*parts).double(), F.cross_entropy, pictures, batch_size=2, way=way)

    more: Any = {"fedada2": ADAPTIVE, "fedprox": {"mu": 0.1}}.get(name, {"eta": 1.0})
    more |= {"plan": cohorts(None, steps=for_clients([4, 2, 1])), "rounds": 3, "eta_l": 0.2}
    ends = [ended(name, begun(way), **more).x for way in (None, "looped")]
    torch.testing.assert_close(*ends, rtol=1e-11, atol=1e-13)


def test_a_view_of_a_weight_is_seen() -> None:
    class Holding(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = convolving()
            self.held = [self.inner[0].weight.data]  # type: ignore[index]

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.inner(x)
            return out.add(self.held[0].square().mean() * out)

    with pytest.raises(ModuleError, match=f"channels_last: it {Reason.DIFFERS}"):
        trained("fedavg", Holding, "channels_last")


def test_who_has_none_of_it_is_told() -> None:
    def dropped() -> nn.Module:
        return convolving(nn.Dropout2d(0.3))

    with pytest.raises(LayersError, match=f"channels_last: it {Reason.DRAWS}"):
        trained("fedavg", dropped, "channels_last")
    with pytest.raises(LayersError, match=f"channels_last: it {Reason.NO_IMAGES}"):
        trained("fedavg", lambda: nn.Sequential(nn.Flatten(), nn.Linear(108, 4)).double(), "channels_last")
