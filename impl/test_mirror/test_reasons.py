"""A refusal says what is so: by whom, in which client, and what to do; whichever way is taken."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.kinds import Around
from test_mirror.support import chain, classes
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import DivergedError, Federation, ModuleError, cohorts, resume, simulate
from fedspec_torch.refusals import LayersError

WAYS = [None, "looped", "vmapped", "stacked"]


def data(clients: int = 3) -> Any:
    """Five numbers and three classes."""
    return classes((8,) * clients, 5, seed=0)


mlp = partial(chain, 5, 7, 3, seed=1)
"""Two layers."""


def run(module: nn.Module, loss: Any = F.cross_entropy, pairs: Any = None, way: str | None = None) -> Any:
    """Three rounds of everybody, of which none is done."""
    federation = Federation(module, loss, pairs or data(), batch_size=4, shuffled=False, way=way)
    return simulate("fedavg", federation, plan=cohorts(None, steps=2), rounds=3, eta_l=0.1)


class FirstCall(nn.Module):
    """Begins with the mean of the inputs that it is first called with."""

    def __init__(self) -> None:
        super().__init__()
        self.b, self.begun = nn.Parameter(torch.zeros(5).double()), False

    def forward(self, x: Tensor) -> Tensor:
        """The inputs less the first mean."""
        if not self.begun:
            with torch.no_grad():
                self.b.copy_(-x.mean(0))
            self.begun = True
        return x + self.b


@pytest.mark.parametrize("way", WAYS)
def test_what_begins_with_its_first_inputs_is_called_once_before(way: str | None) -> None:
    module = nn.Sequential(FirstCall(), nn.Linear(5, 3).double())
    with pytest.raises(ModuleError, match=r"when it is first called: the parameter 0\.b, .*call it once"):
        list(run(module, way=way))
    module = nn.Sequential(FirstCall(), nn.Linear(5, 3).double())
    module(data()[0][0])
    assert len(list(run(module, way=way))) == 3


class Two(nn.Module):
    """Two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(5, 4).double(), nn.Linear(4, 3).double()

    def forward(self, x: Tensor) -> Tensor:
        """Run one part after the other."""
        return self.b(self.a(x))  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", ["parameters", "named_parameters"])
def test_a_module_that_lists_other_parameters_than_it_has_is_refused(name: str) -> None:
    of_the_head = {name: lambda self, *given, **more: getattr(self.b, name)(*given, **more)}
    module: Any = type("HeadOnly", (Two,), of_the_head)()
    with pytest.raises(ModuleError, match=rf"HeadOnly overrides {name}, .*\(a.weight, a.bias\).*requires_grad_"):
        run(module)
    # Where both say the same, the method does no harm.
    if name == "parameters":
        module.a.requires_grad_(False)
        assert len(list(run(module))) == 3


@pytest.mark.parametrize("way", ["layered", "compiled"])
def test_layers_whose_weights_were_cut_are_not_written_out(way: str) -> None:
    module = mlp()
    first, last = (part for part in module if isinstance(part, nn.Linear))
    first.weight, first.bias = (nn.Parameter(p.detach()[:4].clone()) for p in (first.weight, first.bias))
    last.weight = nn.Parameter(last.weight.detach()[:, :4].clone())
    with pytest.raises(LayersError, match=rf"{way}: a Linear with weights of \(4, 5\) .*\(7, 5\).*not written out"):
        run(module, way=way).step()
    whole, alone = run(module), run(module, way="looped")
    list(whole), list(alone)
    assert torch.allclose(whole.x, alone.x, rtol=1e-10)


def table(self: Any, x: Tensor) -> Tensor:
    """Multiples by a table that is made at the first call."""
    if not self.kept:
        self.kept["table"] = torch.cos(torch.arange(5).double())
    return self.part(x * self.kept["table"])  # type: ignore[no-any-return]


def last(self: Any, x: Tensor) -> Tensor:
    """Leaves its inputs behind."""
    self.kept["x"] = x
    return self.part(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("called", [False, True])
@pytest.mark.parametrize("call", [table, last])
def test_a_run_of_a_module_that_keeps_a_table_goes_on_in_another_process(
    call: Any, called: bool, tmp_path: Path
) -> None:
    """Another process has a fresh module; where it was called before, a table is there as it was when it was saved."""

    def made() -> nn.Module:
        torch.manual_seed(2)
        return Around(call, part=nn.Linear(5, 3), kept={}).double()

    begun = run(made(), way="looped")
    begun.step()
    begun.save(tmp_path / "run.pt")
    list(begun)
    module = made()
    if called and call is table:
        module(data()[0][0])
    again = resume(tmp_path / "run.pt", Federation(module, F.cross_entropy, data(), 4, shuffled=False, way="looped"))
    list(again)
    assert torch.equal(again.x, begun.x)


@pytest.mark.parametrize("way", WAYS)
def test_two_parameters_in_one_memory_are_named(way: str | None) -> None:
    one, two = nn.Linear(5, 3).double(), nn.Linear(3, 5).double()
    two.weight.data = one.weight.data.t()
    with pytest.raises(ModuleError, match=r"(0.weight and 1|1.weight and 0).weight are two parameters in the same mem"):
        run(nn.Sequential(one, two), F.mse_loss, [(x, x) for x, _ in data()], way)
    # Neighbours in one memory are apart.
    both = torch.randn(20).double()
    one.weight.data, two.weight.data = both[:15].view(3, 5), torch.randn(5, 3).double()
    two.bias.data = both[15:]
    assert len(list(run(nn.Sequential(one, two), F.mse_loss, [(x, x) for x, _ in data()], way))) == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_teacher_that_the_loss_moves_is_something_kept(way: str | None) -> None:
    module = mlp()
    teacher = nn.Sequential(nn.Sequential(nn.Sequential(deepcopy(module)))).requires_grad_(False)

    def loss(z: Tensor, x: Tensor) -> Tensor:
        with torch.no_grad():
            for a, b in zip(teacher.parameters(), module.parameters(), strict=True):
                a.lerp_(b, 0.1)
        return F.mse_loss(z, teacher(x))

    with pytest.raises(ModuleError, match="keeps something between calls: what the loss holds"):
        run(module, loss, [(x, x) for x, _ in data()], way).step()


def test_inference_mode_is_told_by_name() -> None:
    begun = run(mlp())
    with torch.inference_mode():
        with pytest.raises(ModuleError, match=r"round 0: torch\.inference_mode is on"):
            begun.step()
        with pytest.raises(ModuleError, match=r"Federation: torch\.inference_mode is on"):
            run(mlp())
        inferred = mlp()
    with pytest.raises(ModuleError, match=r"0\.weight was made in torch\.inference_mode"):
        run(inferred)


def test_a_run_that_autocast_is_around_is_told_by_name() -> None:
    """Rounded copies that it keeps of parameters would be those of another client."""
    begun = run(mlp().float(), pairs=[(inputs.float(), targets) for inputs, targets in data()])
    with torch.autocast("cpu", torch.bfloat16), pytest.raises(ModuleError, match=r"round 0: torch\.autocast is on"):
        begun.step()
    assert len(list(begun)) == 3


@pytest.mark.parametrize("way", WAYS)
def test_a_parameter_that_forward_replaces_is_named(way: str | None) -> None:
    def call(self: Any, x: Tensor) -> Tensor:
        self.part.weight = nn.Parameter(self.part.weight.detach().clone())
        return self.part(x)  # type: ignore[no-any-return]

    with pytest.raises(ModuleError, match=r"forward, or the loss, has changed which parameters it has; .*part\.weight"):
        run(Around(call, part=nn.Linear(5, 3)).double(), way=way).step()


@pytest.mark.parametrize("held", [True, False])
def test_a_number_that_is_none_is_told_with_its_client(held: bool) -> None:
    """It is in a minibatch that comes after the first step."""
    pairs = data(20)
    pairs[13][0][6, 1] = torch.nan
    given: Any = {"data": pairs} if held else {"data": pairs.__getitem__, "examples": (8,) * 20}
    federation = Federation(mlp(), F.cross_entropy, batch_size=4, shuffled=False, **given)
    begun = simulate("fedavg", federation, plan=cohorts(None, steps=2), rounds=3, eta_l=0.1)
    with pytest.raises(
        DivergedError, match=r"for every client; examples of client 13 \(first its number 6\) are not f"
    ):
        list(begun)


def test_a_model_that_is_no_number_before_the_first_step_has_not_diverged() -> None:
    module = mlp()
    with torch.no_grad():
        module[0].weight[0, 0] = torch.nan
    with pytest.raises(DivergedError, match="no step was taken before: look for numbers") as error:
        list(run(module))
    assert "diverged" not in str(error.value)


def test_complex_parameters_are_not_told_to_be_rounded() -> None:
    module = Around(lambda self, x: (x @ self.w).abs(), w=nn.Parameter(torch.randn(5, 3, dtype=torch.complex128)))
    with pytest.raises(ModuleError, match=r"torch.complex128, .*real numbers.*view_as_real"):
        run(module)


class OwnError(Exception):
    """Error of a user's code."""


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("raised", [KeyError("a"), AssertionError("too small"), OwnError("my own"), StopIteration()])
def test_whatever_a_forward_raises_is_told_with_the_client(raised: Exception, way: str | None) -> None:
    def call(self: Any, x: Tensor) -> Tensor:
        raise raised

    with pytest.raises(ModuleError, match=rf"client 0, .*: {type(raised).__name__}: ") as error:
        run(Around(call, part=nn.Linear(5, 3)).double(), way=way).step()
    assert error.value.__cause__ is raised


@pytest.mark.parametrize("way", [*WAYS, "layered", "compiled"])
def test_a_class_in_a_later_minibatch_is_told_with_its_client_and_its_value(way: str | None) -> None:
    pairs = data(20)
    pairs[13][1][5] = 3
    with pytest.raises(ModuleError, match=r"client 13, .*torch\.int64 from \d to 3: "):
        list(run(mlp(), pairs=pairs, way=way))


CHANGES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "another activation": (lambda module: module.__setitem__(1, nn.ReLU()), ""),
    "a hook": (lambda module: module[0].register_forward_hook(lambda part, x, z: 2 * z), ""),
    "a forward": (lambda module: setattr(module[1], "forward", torch.abs), ""),
    "a layer replaced": (lambda module: module.__setitem__(0, nn.Linear(5, 7).double()), "0.weight, 0.bias"),
    "a layer added": (lambda module: module.append(nn.Linear(3, 3).double()), "3.weight, 3.bias"),
    "a bias removed": (lambda module: module[0].register_parameter("bias", None), "0.bias"),
    "a layer frozen": (lambda module: module[0].requires_grad_(False), "0.weight, 0.bias"),
}
"""And which parameters are others then."""


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("way", [*WAYS, "layered", "compiled"])
def test_a_module_that_is_changed_is_told_as_changed(way: str | None, change: str) -> None:
    """While the run goes on; other parameters also before it has begun."""
    changed, names = CHANGES[change]
    words = (
        f"other parameters than when the federation was made: {names} " if names else r"after round \d .*or was changed"
    )
    for late in (False, True) if names else (True,):
        module = mlp()
        begun = run(module, way=way)
        if late:
            begun.step()
        changed(module)
        with pytest.raises(ModuleError, match=words):
            list(begun)


def test_of_one_output_there_is_no_accuracy() -> None:
    """The largest of one is always the first."""
    pairs = classes((8,) * 3, 5, of=2, seed=0)
    federation = Federation(nn.Linear(5, 1).double(), lambda z, t: (z[:, 0] - t).square().mean(), pairs)
    done = simulate("fedavg", federation, plan=cohorts(None), rounds=1, eta_l=0.1, test=pairs[0]).step()
    assert done.test_loss is not None and done.accuracy is None
