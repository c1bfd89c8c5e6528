"""Models that fill the device: clients one after another through one set of parameters, as a plain loop trains them."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from test_mirror import support
from test_mirror.kinds import Around
from test_mirror.support import assert_close
from torch import Tensor, nn

from fedspec_bench.micro import allocated
from fedspec_torch import Federation, ModuleError, arith, cohorts, simulate
from fedspec_torch.local.block_results import tensors
from fedspec_torch.run import rounds
from fedspec_torch.sums import pieces
from fedspec_torch.sums.deferred import Rows, Sums
from fedspec_torch.sums.running import Running

NUMBERS: dict[str, dict[str, float]] = {
    "fedavg": {"eta_l": 0.1, "eta": 1.0},
    "fednova": {"eta_l": 0.1},
    "scaffold": {"eta_l": 0.1, "eta": 1.0},
    "fedada2": {"eta_l": 0.1, "eta": 0.1, "beta1": 0.5, "tau": 0.1, "v0": 0.01, "eps": 0.1},
    "diloco": {"eta_l": 0.01, "eta": 0.5},
}


@pytest.fixture
def large(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every model is large."""
    monkeypatch.setitem(arith.FILLS, "cpu", 0)


chain = partial(support.chain, 3, 4, 2, seed=5)


def federation(module: nn.Module, way: str | None = None) -> Federation:
    generator = torch.Generator().manual_seed(7)
    data = [(torch.randn(6, 3, generator=generator).double(), torch.arange(6) % 2) for _ in range(3)]
    return Federation(module, nn.functional.cross_entropy, data, batch_size=2, way=way)


def trained(name: str, fed: Federation) -> Any:
    return support.ended(name, fed, plan=cohorts(2, steps=3, seed=1), rounds=3, **NUMBERS[name])


@pytest.mark.parametrize("name", NUMBERS)
def test_a_large_model_is_trained_as_a_small_one(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    small = trained(name, federation(chain()))
    monkeypatch.setitem(arith.FILLS, "cpu", 0)
    fed = federation(chain())
    big = trained(name, fed)
    assert "looped" not in {choice.name for choice in small.federation.choices.values()}
    assert {choice.name for choice in fed.choices.values()} == {"looped"}
    assert "fills the device" in fed.choices[1].why and fed.network.lies
    assert not torch.allclose(big.x, fed.x0)
    assert_close(big.x, small.x.numpy(), 4.0, ulps=256)
    for done, other in zip(big.history, small.history, strict=True):
        assert done.loss == pytest.approx(other.loss, rel=1e-12)


IN_PIECES = [*NUMBERS, "fedavgm", "feddyn", "fed-lamb", "fedyogi", "fedams"]


@pytest.mark.parametrize("name", [*IN_PIECES, "fedexp", "geometric-median"])
@pytest.mark.usefixtures("large")
def test_a_piece_after_another_is_the_text(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, found = pieces.in_pieces, list[bool]()

    def noted(*args: Any) -> Any:
        after = whole(*args)
        found.append(after is not None)
        return after

    def end(by: Any) -> Any:
        with monkeypatch.context() as patch:
            patch.setattr(rounds, "in_pieces", by)
            run = simulate(
                name, federation(chain()), plan=cohorts(2, steps=3, seed=1), rounds=3, **NUMBERS.get(name, {})
            )
            run.step()
            x0 = run.federation.x0.clone()
            run.step()
            assert torch.equal(run.federation.x0, x0)
            run.step()
        return tensors(run.state)

    monkeypatch.setattr(pieces, "PIECE", 8)
    for got, want in zip(end(noted), end(lambda *args: None), strict=True):
        assert torch.equal(torch.as_tensor(got), torch.as_tensor(want))
    assert any(found) is (name in IN_PIECES)


@pytest.mark.parametrize("reads", ["norm", "number", "first", "nothing"])
@pytest.mark.usefixtures("large")
def test_a_text_that_reads_all_coordinates_gets_them(reads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "PIECE", 8)

    def text(state: Any, told: Any) -> Any:
        x = state + told[0] * (len(state) if reads == "number" else 1)
        return x / x.norm() if reads == "norm" else x + x[0] if reads == "first" else x

    x, sums = torch.arange(26.0), Sums((0,), Rows([], []))
    sums.known = [torch.ones(26)]
    running = Running(sums, (), ())
    after = pieces.in_pieces(lambda state, told: text(state, sums.known), x.clone(), running, 0, None)
    assert torch.equal(after, x + 1) if reads == "nothing" else after is None


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.usefixtures("large")
def test_the_module_is_as_before(name: str) -> None:
    module = chain()
    before = [(p.data_ptr(), p.detach().clone()) for p in module.parameters()]
    trained(name, federation(module))
    for p, (place, value) in zip(module.parameters(), before, strict=True):
        assert p.data_ptr() == place and torch.equal(p, value) and p.grad is None


def seen() -> nn.Module:
    """Computes with a view of its weight, which stays where the weight was made."""
    weight = nn.Parameter(torch.randn(2, 3, generator=torch.Generator().manual_seed(1)).double())
    call = lambda self, x: x @ self.weight.T + (x @ self.turned).square()  # noqa: E731
    return Around(call, weight=weight, turned=weight.detach().T)


@pytest.mark.parametrize("name", ["fedavg", "scaffold"])
def test_a_view_of_a_weight_follows_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parameters then lie in no vector, but are copied."""
    want = trained(name, federation(seen(), "looped"))
    monkeypatch.setitem(arith.FILLS, "cpu", 0)
    fed = federation(seen())
    got = trained(name, fed)
    assert not fed.network.lies
    assert_close(got.x, want.x.numpy(), 4.0, ulps=64)


class Late(nn.Module):
    """Clamps its weight, or counts its calls, from when it is told to."""

    def __init__(self, clamps: bool) -> None:
        super().__init__()
        self.layer, self.clamps, self.told, self.calls = nn.Linear(3, 2).double(), clamps, False, 0

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.layer(inputs)
        if self.told and self.clamps:
            with torch.no_grad():
                self.layer.weight.clamp_(-0.01, 0.01)
        elif self.told:
            self.calls += 1
            output = output + self.calls * inputs[:, :2]
        return output


@pytest.mark.parametrize(
    ("name", "clamps"), [("fedavg", True), ("scaffold", True), ("fedavg", False), ("scaffold", False)]
)
@pytest.mark.usefixtures("large")
def test_what_shows_late_is_refused(name: str, clamps: bool) -> None:
    module = Late(clamps)
    run = simulate(name, federation(module), plan=cohorts(2, steps=3), rounds=4, **NUMBERS[name])
    run.step()
    module.told = True
    with pytest.raises(ModuleError, match="writes to what it is given" if clamps else "with the same parameters"):
        list(run)


@pytest.mark.usefixtures("large")
def test_a_round_holds_a_few_models() -> None:
    """The model, the client's, its gradients, their sum: what a plain loop holds; a look holds one more."""
    d, data = 2**18, [(torch.ones(1, 2**9), torch.ones(1, 2**9)) for _ in range(6)]
    fed = Federation(nn.Linear(2**9, 2**9, bias=False), nn.functional.mse_loss, data)
    run = simulate("fedavg", fed, plan=cohorts(None, steps=2), rounds=5, eta_l=0.1, eta=1.0)
    most = [allocated(run.step) / (4 * d) for _ in range(5)]
    assert most[0] < 6 and max(most[1:]) < 3.3
