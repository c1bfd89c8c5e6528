"""What a federation is given is what it trains: examples that a function makes, and the module's own parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from test_mirror.kinds import Around
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec.errors import FedspecError
from fedspec_torch import DataError, Federation, ModuleError, cohorts, simulate
from fedspec_torch.gradients.ways import CHANNELS_LAST, WAYS
from fedspec_torch.layers.chains import LayersError

pytestmark = pytest.mark.table(10)

Pairs = list[tuple[Tensor, Tensor]]


def data(clients: int = 4) -> Pairs:
    """Pairs of inputs and classes."""
    torch.manual_seed(3)
    return [(torch.randn(6, 3).double(), torch.randint(2, (6,))) for _ in range(clients)]


def mlp() -> nn.Sequential:
    """Two layers, the same at every call."""
    torch.manual_seed(4)
    return nn.Sequential(nn.Linear(3, 5), nn.ReLU(), nn.Linear(5, 2)).double()


def ended(given: Any, way: str | None = "looped", rounds: int = 3) -> Tensor:
    """Where a run on these data ends."""
    examples = (6,) * 4 if callable(given) else ()
    federation = Federation(mlp(), F.cross_entropy, given, examples=examples, batch_size=2, way=way)
    run = simulate("fedavg", federation, plan=cohorts(3, steps=2), rounds=rounds, eta_l=0.1)
    list(run)
    end: Tensor = run.x
    return end


def test_a_function_may_read_every_client_into_the_same_memory() -> None:
    pairs = data()
    inputs, targets = (torch.empty_like(part) for part in pairs[0])

    def read(i: int) -> tuple[Tensor, Tensor]:
        return inputs.copy_(pairs[i][0]), targets.copy_(pairs[i][1])

    assert torch.equal(ended(read), ended(pairs))


@pytest.mark.parametrize(("at", "what"), [(0, "inputs"), (1, "targets")])
def test_a_function_that_draws_examples_anew_is_refused(at: int, what: str) -> None:
    pairs, asked = data(), list[int]()

    def drawn(i: int) -> tuple[Tensor, Tensor]:
        asked.append(i)
        changed = [part.clone() for part in pairs[i]]
        changed[at] += len(asked) % 2
        changed[1] %= 2
        return changed[0], changed[1]

    with pytest.raises(DataError, match=rf"client \d has other {what} when the function is asked again.*number alone"):
        ended(drawn)
    assert issubclass(DataError, FedspecError)


def test_a_number_that_is_none_is_no_other_example() -> None:
    """The module leaves it out, so that the run goes on."""
    pairs = data()
    pairs[1][0][0] = torch.nan

    def make(i: int) -> tuple[Tensor, Tensor]:
        return pairs[i][0].clone(), pairs[i][1].clone()

    module = Around(lambda self, x: self.part(x.nan_to_num()), part=mlp())
    federation = Federation(module, F.cross_entropy, make, examples=(6,) * 4)
    assert len(list(simulate("fedavg", federation, plan=cohorts(None), rounds=2, eta_l=0.1))) == 2


@pytest.mark.parametrize("way", [None, *(way for way in WAYS if way != CHANNELS_LAST)])
def test_inputs_that_want_a_gradient_are_data_like_others(way: str | None) -> None:
    wanting = [(inputs.clone().requires_grad_(), targets) for inputs, targets in data()]
    assert torch.allclose(ended(wanting, way), ended(data(), way), rtol=1e-12)
    assert torch.allclose(ended(wanting.__getitem__, way), ended(data(), way), rtol=1e-12)


@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "vmapped"])
def test_a_way_that_is_refused_names_itself_and_what_to_do(way: str) -> None:
    """A part that is not written out, and takes a number out of a tensor."""
    module = Around(lambda self, x: self.part(x) * float(x.sum()), part=mlp())
    federation = Federation(module, F.cross_entropy, data(), batch_size=2, way=way)
    words = f"^{way}: .*(not written out|more than vmap bears).*name way='looped', which takes any module"
    with pytest.raises(LayersError, match=words):
        simulate("fedavg", federation, plan=cohorts(3), rounds=2, eta_l=0.1).step()


def replaced(module: nn.Sequential) -> None:
    module[0] = nn.Linear(3, 5).double()


def added(module: nn.Sequential) -> None:
    module.append(nn.Linear(2, 2).double())


def removed(module: nn.Sequential) -> None:
    module[0].register_parameter("bias", None)


def frozen(module: nn.Sequential) -> None:
    module[0].requires_grad_(False)


CHANGES: list[tuple[Callable[[nn.Sequential], None], str]] = [
    (replaced, "0.weight, 0.bias"),
    (added, "3.weight, 3.bias"),
    (removed, "0.bias"),
    (frozen, "0.weight, 0.bias"),
]


@pytest.mark.parametrize(("change", "names"), CHANGES)
@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "looped"])
def test_parameters_that_the_module_had_not_at_first_are_refused(change: Any, names: str, late: bool, way: str) -> None:
    module = mlp()
    federation = Federation(module, F.cross_entropy, data(), batch_size=2, way=way)
    run = simulate("fedavg", federation, plan=cohorts(3, steps=2), rounds=9, eta_l=0.1)
    if late:
        run.step()
    change(module)
    with pytest.raises(ModuleError, match=rf"other parameters than when the federation was made: {names} "):
        list(run)


def test_a_layer_that_is_unfrozen_later_is_refused() -> None:
    module = mlp()
    module[0].requires_grad_(False)
    federation = Federation(module, F.cross_entropy, data(), batch_size=2)
    module[0].requires_grad_(True)
    with pytest.raises(ModuleError, match=r"0.weight, 0.bias \(replaced, added, removed, frozen or unfrozen\)"):
        simulate("fedavg", federation, plan=cohorts(3), rounds=2, eta_l=0.1).step()
