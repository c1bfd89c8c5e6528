"""Checks before a way is taken and while a run goes on, and the state after a round that breaks off."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from test_mirror.kinds import TRAPS, Around
from test_mirror.support import chain, classes, ended
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec_torch import DivergedError, Federation, ModuleError, cohorts, exchanges, simulate
from fedspec_torch.data.examples import Minibatch
from fedspec_torch.gradients.gradcheck import Look
from fedspec_torch.gradients.methods import Network
from fedspec_torch.refusals import LayersError, Reason
from fedspec_torch.ways.chains import explicit
from fedspec_torch.ways.layered import layered
from fedspec_torch.ways.table import methods

data, mlp = partial(classes, (4,) * 4, 6), partial(chain, 6, 5, 3, seed=6)
"""Data of six numbers and three classes, and a chain that is written out in every way."""


def run(federation: Federation, algorithm: str = "fedavg", **more: Any) -> Any:
    """A run in which everybody takes two steps in a round."""
    numbers = {"eta_l": 0.1} | ({"eta": 1.0} if algorithm == "scaffold" else {})
    return simulate(algorithm, federation, **{"plan": cohorts(None, steps=2), "rounds": 3, **numbers, **more})


def test_a_run_begins_at_the_parameters_that_there_were_when_the_federation_was_made() -> None:
    module = mlp()
    want = torch.cat([p.detach().reshape(-1) for p in module.parameters()])
    federation = Federation(module, F.cross_entropy, data())
    with torch.no_grad():
        for p in module.parameters():
            p.add_(1)
    assert torch.equal(federation.x0, want) and torch.equal(run(federation).x, want)


@pytest.mark.table(1)
@pytest.mark.parametrize("way", ["looped", "stacked", "vmapped", "layered"])
def test_threads_take_turns_with_the_module(way: str) -> None:
    """Run threads on one federation, and on two that have one module."""
    module, loss = mlp(), nn.CrossEntropyLoss()
    one = Federation(module, loss, data(), batch_size=2, way=way)
    two = Federation(module, loss, data(), batch_size=2, way=way, seed=1)
    plans = [(one, 0.1), (one, 0.3), (two, 0.2), (two, 0.1)]

    def model(plan: tuple[Federation, float]) -> Any:
        return ended("fedavg", plan[0], plan=cohorts(None, steps=2), rounds=6, eta_l=plan[1], test=data()[0]).x

    want = [*map(model, plans)]
    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(model, plans))
    assert all(torch.allclose(x, y, rtol=1e-12, atol=1e-14) for x, y in zip(got, want, strict=True))
    assert torch.equal(one.network.vector(), one.x0)


@pytest.mark.parametrize("test", [None, data()[0]])
@pytest.mark.parametrize("algorithm", ["fedavg", "dsgd"])
def test_a_model_that_is_no_number_after_the_last_round_is_an_error(algorithm: str, test: Any) -> None:
    """Its losses are numbers, since each is that of the model before a step."""
    federation = Federation(
        Around(lambda self, x: x @ self.w, w=nn.Parameter(torch.ones(6, 1).double())),
        lambda z, t: (z**2).mean(),
        data(),
    )
    plan = exchanges(steps=1) if algorithm == "dsgd" else cohorts(None)
    diverging = run(federation, algorithm, plan=plan, rounds=1, eta_l=1e308, test=test)
    with pytest.raises(DivergedError, match=r"round 0: the model isn't finite after it, the last round; .*smaller eta"):
        list(diverging)
    assert not diverging.history


@pytest.mark.parametrize("way", ["compiled", "layered"])
def test_examples_that_are_left_out_are_refused_by_name_where_layers_are_written_out(way: str) -> None:
    pairs = data()
    pairs[3][1][-1] = -100
    with pytest.raises(
        LayersError, match=f"{way}: targets of -100, which cross-entropy leaves out, are not written out"
    ):
        run(Federation(mlp(), F.cross_entropy, pairs, batch_size=2, way=way)).step()


class Large(torch.autograd.Function):
    """Identity; under vmap, by a wrong rule of its own, nothing above 3."""

    @staticmethod
    def forward(x: Tensor) -> Tensor:
        return x.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        return g

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor) -> tuple[Tensor, int]:
        return x.clamp(max=3), in_dims[0]


def test_what_late_data_show_is_found_while_the_run_goes_on() -> None:
    """No client has a large number in the first minibatch."""
    pairs = [(inputs.clamp(-2, 2), targets) for inputs, targets in data()[:3]]
    for inputs, _ in pairs:
        inputs[2:, 0] = 9
    module = Around(lambda self, x: self.part(Large.apply(x)), part=nn.Linear(6, 3)).double()
    federation = Federation(module, F.cross_entropy, pairs, batch_size=2, shuffled=False, way="stacked")
    begun = run(federation, rounds=9)
    begun.step()
    with pytest.raises(
        ModuleError, match=r"stacked: it comes to other gradients than plain autograd.*most in part.weight"
    ):
        begun.step()


@pytest.mark.parametrize(
    "name", [name for name, kind in TRAPS.items() if name.startswith(("a sub", "a hook", "another"))]
)
def test_nothing_but_torchs_own_is_written_out(name: str) -> None:
    """Refuse a part even if it wouldn't differ now: a hook may do nothing yet."""
    module, loss, pairs = TRAPS[name].made()
    with pytest.raises(LayersError, match="not written out"):
        explicit(Federation(module, loss, pairs).network)


@pytest.mark.parametrize("way", ["stacked", "vmapped"])
def test_what_has_a_hook_is_looped_over(way: str) -> None:
    """Hook that does nothing yet, on a module, on a parameter, on the loss, or on all modules."""
    hooks: list[Any] = [
        lambda module, loss: module[0].register_forward_hook(lambda *given: None),
        lambda module, loss: module[2].weight.register_hook(lambda g: None),
        lambda module, loss: module[2].weight.register_post_accumulate_grad_hook(lambda p: None),
        lambda module, loss: loss.register_full_backward_hook(lambda *given: None),
        lambda module, loss: nn.modules.module.register_module_forward_hook(lambda *given: None),
    ]
    for hook in hooks:
        module, loss = mlp(), nn.CrossEntropyLoss()
        handle = hook(module, loss)
        with pytest.raises(LayersError, match=f"{way}: .*has a hook"):
            run(Federation(module, loss, data(), batch_size=2, way=way)).step()
        with pytest.raises(LayersError, match="not written out"):
            explicit(Federation(module, loss, data()).network)
        handle.remove()


@pytest.mark.parametrize("way", ["compiled", "layered", "stacked", "vmapped"])
def test_a_way_that_is_refused_names_itself_and_what_to_do(way: str) -> None:
    """A part that is not written out, and takes a number out of a tensor."""
    module = Around(lambda self, x: self.part(x) * float(x.sum()), part=mlp())
    words = f"^{way}: .*(not written out|more than vmap bears).*name way='looped', which takes any module"
    with pytest.raises(LayersError, match=words):
        run(Federation(module, F.cross_entropy, data(), batch_size=2, way=way)).step()


def test_the_page_has_every_reason() -> None:
    page = " ".join((Path(__file__).parents[2] / "docs/training.md").read_text(encoding="utf-8").split())
    assert all(f"*{reason}*" in page for reason in Reason)


def sure(seed: int, least: float) -> Look:
    """At a model that is all but certain of each example: two outputs are that far apart, and the first is right."""
    torch.manual_seed(seed)
    module = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))
    with torch.no_grad():
        module[2].weight.mul_(60)
        pool = torch.randn(4000, 64)
        first, second = module(pool).topk(2).values.T
        inputs = pool[(first - second - least).abs() < 1][:32].view(2, 16, 64)
        targets = module(inputs).argmax(-1)
    network = Network(module, F.cross_entropy, None)
    return Look.at(network, network.vector().expand(2, -1).clone(), Minibatch((inputs, targets)), seed)


@pytest.mark.parametrize("way", ["compiled", "layered"])
def test_what_cross_entropy_rounds_away_is_no_difference(way: str) -> None:
    """Digits of p - 1 in float32: four, where p is 1 up to a ten-thousandth."""
    assert not [seed for seed in range(12) if sure(seed, 9).differs(way, methods()[way])]


@pytest.mark.parametrize(("least", "share"), [(1, 1e-4), (9, 0.1)])
def test_a_gradient_that_is_wrong_by_more_is(least: float, share: float) -> None:
    def wrong(*given: Any) -> Any:
        g, losses = layered(*given)
        return g * (1 + share), losses

    assert all(sure(seed, least).differs("layered", wrong) for seed in range(4))


def test_a_loss_that_is_wrong_is_seen_where_the_gradient_is_sure() -> None:
    def wrong(*given: Any) -> Any:
        g, losses = layered(*given)
        return g, losses + 1e-3

    assert all(sure(seed, 9).differs("layered", wrong) for seed in range(4))
