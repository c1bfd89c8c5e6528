"""Refusals by name of runs that cannot be trained or resumed: bad input that only a call, or a second look, shows."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import torch
from test_mirror.kinds import Around
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import TensorDataset

from fedspec.errors import FedspecError, PlanError, ShapeError
from fedspec_torch import (
    CheckpointError,
    DataError,
    Federation,
    LossError,
    ModuleError,
    arrivals,
    cohorts,
    exchanges,
    resume,
    simulate,
)
from fedspec_torch.refusals import Reason

pytestmark = pytest.mark.table(10)

GENERIC = (None, "stacked", "vmapped", "looped")


class Changed(nn.Module):
    """A linear layer and something more."""

    def __init__(self, more: Callable[[Any, Tensor], Tensor]) -> None:
        super().__init__()
        self.inner, self.more, self.calls = nn.Linear(3, 2), more, 0
        self.register_buffer("seen", torch.zeros(2))

    def forward(self, inputs: Tensor) -> Tensor:
        output: Tensor = self.more(self, self.inner(inputs))
        return output


def moving(module: Any, z: Tensor) -> Tensor:
    with torch.no_grad():
        module.seen.mul_(0.5).add_(z.mean(0))
    return z - module.seen


def put_anew(module: Any, z: Tensor) -> Tensor:
    module.seen = module.seen + z.detach().mean(0)
    return z


def counting(module: Any, z: Tensor) -> Tensor:
    module.calls += 1
    return z * module.calls


def data(seed: int = 0, clients: int = 4) -> list[tuple[Tensor, Tensor]]:
    torch.manual_seed(seed)
    return [(torch.randn(6, 3), torch.randint(0, 2, (6,))) for _ in range(clients)]


def stepped(model: Any, loss: Any = F.cross_entropy, **more: Any) -> None:
    federation = Federation(model, loss, data(), batch_size=2, **more)
    simulate("fedavg", federation, plan=cohorts(3, steps=2), eta_l=0.1).step()


MODULES: list[tuple[Callable[[], nn.Module], str]] = [
    (
        lambda: Changed(lambda module, z: z + float(np.random.standard_normal())),
        "draws at random, from a generator of Python's",
    ),
    (lambda: Changed(lambda module, z: z + random.random()), "draws at random, from a generator of Python's"),
    (lambda: Changed(moving), "its buffer seen changes with every call, and isn't a running statistic"),
    (lambda: Changed(put_anew), "its buffer seen changes"),
    (lambda: Changed(counting), "keeps something between calls: the attribute calls of the module"),
    (lambda: nn.utils.parametrizations.spectral_norm(nn.Linear(3, 2)), "its buffer parametrizations.weight.0._"),
]


@pytest.mark.parametrize("way", GENERIC)
@pytest.mark.parametrize(("make", "words"), MODULES)
def test_what_depends_on_the_order_of_calls_is_refused(make: Any, words: str, way: str | None) -> None:
    # The power iteration of some small matrices has ended before the first call, and then nothing changes.
    torch.manual_seed(5)
    with pytest.raises(ModuleError, match=words):
        stepped(make(), way=way)


def test_what_fails_only_while_it_is_watched_is_told_so() -> None:
    """As CTC does on a GPU, of lengths on the CPU."""

    def watched(module: Any, z: Tensor) -> Tensor:
        assert not torch._C._len_torch_dispatch_stack(), "input_lengths is on cpu"
        return z

    with pytest.raises(ModuleError, match=f"{Reason.UNSEEN}: AssertionError: input_lengths is on cpu; .* lengths and"):
        stepped(Changed(watched))


@pytest.mark.parametrize("draw", [lambda: np.random.rand(3), random.random])
@pytest.mark.parametrize("times", [1, 3, 1000])
def test_what_another_thread_draws_is_not_the_models(draw: Callable[[], Any], times: int) -> None:
    """Unless it draws at every call, as if the model had asked it to."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(draw).result()
        elsewhere = partial(next, (pool.submit(draw).result() for _ in range(times)), None)
        with patch.dict(ELSEWHERE, {"draw": elsewhere}):
            if times < 1000:
                stepped(Changed(asking))
                return
            with pytest.raises(ModuleError, match="draws at random"):
                stepped(Changed(asking))


ELSEWHERE: dict[str, Callable[[], Any]] = {}
"""Functions that a forward calls without a closure whose values would be looked at."""


def asking(module: Any, z: Tensor) -> Tensor:
    ELSEWHERE["draw"]()
    return z


@pytest.mark.parametrize("way", GENERIC)
@pytest.mark.parametrize(
    ("loss", "error", "words"),
    [
        (lambda z, t: F.cross_entropy(z, t).detach(), LossError, "does not depend on any parameter"),
        (lambda z, t: torch.tensor(1.0), LossError, "does not depend on any parameter"),
        (lambda z, t: (z.argmax(1) != t).float().mean(), LossError, "detach, argmax"),
        (lambda z, t: F.cross_entropy(z, t).item(), ShapeError, "loss: got float; return one number as a tensor"),
        (lambda z, t: None, ShapeError, "loss: got NoneType"),
    ],
)
def test_a_loss_without_a_gradient_is_refused(loss: Any, error: type, words: str, way: str | None) -> None:
    with pytest.raises(error, match=words):
        stepped(nn.Linear(3, 2), loss, way=way)


def all_of(change: Callable[[Tensor, Tensor], Any], loss: Any = F.cross_entropy, **more: Any) -> None:
    """Two rounds in which everybody has something else."""
    federation = Federation(nn.Linear(3, 2), loss, [change(*pair) for pair in data()], batch_size=2, **more)
    list(simulate("fedavg", federation, plan=cohorts(None), rounds=2, eta_l=0.1))


@dataclass(frozen=True)
class Given:
    """A schedule of a user's own."""

    given: Any

    def events(self, *asked: Any) -> Any:
        return self.given


def made(examples: Any) -> Federation:
    return Federation(nn.Linear(3, 2), F.cross_entropy, lambda i: data()[i], examples=examples)


REFUSED: dict[type[FedspecError], list[tuple[Callable[[], object], str]]] = {
    ModuleError: [
        (lambda: stepped(lambda inputs: inputs), "model: got function; give a torch.nn.Module"),
        (lambda: stepped(nn.LazyLinear(2)), r"the module \(LazyLinear\) has parameters without shapes"),
        (lambda: all_of(lambda x, y: (x.double(), y)), r"inputs .*float64 .*must have the same dtype"),
        (lambda: all_of(lambda x, y: (x[:, :2], y)), r"inputs .* 2\) .*shapes cannot be multiplied"),
        (lambda: all_of(lambda x, y: (x, y), lambda a, b, c: a.mean()), "missing 1 required positional"),
        (lambda: stepped(nn.Linear(3, 2, device="meta")), "on the device meta, which have no values"),
        (lambda: simulate("fedavg", nn.Linear(3, 2), plan=cohorts(2)), "federation: got Linear; make"),  # type: ignore[arg-type]
        (lambda: run(test=(torch.ones(2, 9), torch.ones(2).long())).step(), "of the test examples"),
    ],
    LossError: [
        (lambda: stepped(nn.Linear(3, 2), "mse"), "loss: got 'mse'; give a function"),
        (lambda: stepped(nn.Linear(3, 2), nn.MSELoss), r"loss: got the class MSELoss; give an instance, MSELoss\(\)"),
    ],
    PlanError: [
        (lambda: replace(run().federation, batch_size=2.5), "batch_size: got 2.5"),
        (lambda: run(plan=3), r"plan: got 3; give cohorts"),
        (lambda: run(rounds=1.5), "rounds: got 1.5"),
        (lambda: cohorts(2.5), "cohort: got 2.5"),  # type: ignore[arg-type]
        (lambda: cohorts("3"), "cohort: got '3'"),  # type: ignore[arg-type]
        (lambda: cohorts(3, steps=(3, 1)), r"steps: got \(3, 1\); .* such as \(2, 8\)"),
        (lambda: cohorts(3, steps=(0, 2)), "steps: got 0"),
        (lambda: arrivals(largest_delay=-1), "largest_delay: got -1"),
        (lambda: exchanges(steps=0), "steps: got 0; a round has at least one local step"),
        (lambda: exchanges(clusters=0), "clusters: got 0"),
        (lambda: exchanges(graph="torus"), "graph: got 'torus'; known: ring, complete, star"),
        (lambda: made(6), "examples: got 6; .* list every"),
        (lambda: made((6, 0)), r"examples\[1\]: got 0; leave out clients that have none"),
        (lambda: made(()), r"examples: got \(\)"),
        (lambda: stepped(nn.Linear(3, 2), seed=1.5), "seed: got 1.5"),
        (lambda: cohorts(2, seed=-1), "seed: got -1"),
        (lambda: arrivals(seed="a"), "seed: got 'a'"),  # type: ignore[arg-type]
        (lambda: exchanges(seed=0.5), "seed: got 0.5"),  # type: ignore[arg-type]
        (lambda: exchanges(computing=2.5), "computing: got 2.5; leave it out for everybody"),  # type: ignore[arg-type]
        (lambda: cohorts(2, strategies="sgd"), "strategies: got 'sgd'; give a list"),
        (lambda: run(plan=cohorts(2, strategies=("sgd",))).step(), "clients of fedavg have no strategies"),
        (lambda: run(plan=Given(())).step(), r"round 0: got the events \(\); fedavg takes"),
        (lambda: run(plan=Given(("a",))).step(), "fedavg takes a tuple of one Plan"),
        (lambda: run(block=2.5), "block: got 2.5"),
        (lambda: run(shards="2"), "shards: got '2'"),
    ],
    ShapeError: [
        (lambda: all_of(lambda x, y: (x, x[:, :1]), F.mse_loss), "loss: Using a target size.*unsqueeze"),
        (lambda: all_of(lambda x, y: (x, x[:, 0]), nn.MSELoss(), way="looped"), "other examples' targets"),
        (lambda: Federation(nn.Linear(3, 2), F.mse_loss, (p for p in data())), "got generator; give"),  # type: ignore[arg-type]
        (lambda: run(test=data()[0][0]), "test is Tensor; give a tuple .inputs, targets.,"),
        (
            lambda: run(test=([[1.0, 2.0, 3.0]], np.zeros(1, int))),
            r"test has inputs of type list of list; give a tensor .* \(torch.as_tensor",
        ),
        (lambda: run(test=(torch.ones(0, 3), torch.ones(0))), "test has no example; leave it out"),
        (lambda: run(test=(torch.ones(2, 3), torch.ones(3))), "first axis of each tensor counts examples"),
    ],
}
"""By error: the call, and the words of the refusal."""


@pytest.mark.parametrize(
    ("call", "error", "words"), [(call, error, words) for error, rows in REFUSED.items() for call, words in rows]
)
def test_what_does_not_fit_is_refused_by_name(call: Any, error: type, words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_a_run_is_not_saved_over_a_folder_nor_in_none(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="it is a folder; give the name of a file"):
        run().save(tmp_path)
    with pytest.raises(CheckpointError, match="doesn't exist; make it first"):
        run().save(tmp_path / "none" / "run.pt")


def run(federation: Federation | None = None, **more: Any) -> Any:
    chosen = federation or Federation(nn.Linear(3, 2), F.cross_entropy, data(), batch_size=2)
    return simulate("fedavg", chosen, **{"plan": cohorts(None), "eta_l": 0.1, **more})


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        (
            0,
            torch.nan,
            "test: example 2 has inputs that aren't finite, and the loss on the test set is nan; leave the example out",
        ),
        (
            0,
            torch.inf,
            r"test: example 2 has inputs that aren't finite, .* is (nan|inf|-inf); leave the example out, or replace",
        ),
        (1, torch.nan, r"test: example 2 has targets that aren't finite \(and 1 more are such\), and the loss"),
    ],
)
def test_a_test_example_that_is_no_number_is_refused_before_any_round(part: int, value: float, words: str) -> None:
    test = (torch.randn(6, 3), torch.randn(6, 1))
    test[part][2, 0] = value
    if part:
        test[1][5] = value
    pairs = [(inputs, targets[:, None].float()) for inputs, targets in data()]
    with pytest.raises(DataError, match=words):
        run(Federation(nn.Linear(3, 1), F.mse_loss, pairs), test=test)


def test_a_wrong_label_is_told_with_the_number_of_its_example() -> None:
    for way in GENERIC:
        pairs = data()
        pairs[2][1][4] = 7
        with pytest.raises(ModuleError, match=r"minibatch of client 2, .*; it is example 4, of target 7$"):
            list(
                run(
                    Federation(nn.Linear(3, 2), F.cross_entropy, pairs, batch_size=2, way=way),
                    plan=cohorts(None, steps=3),
                )
            )
    whole = TensorDataset(*(torch.cat(part) for part in zip(*pairs, strict=True)))
    parts = [[*range(6)], [*range(6, 18)], [*range(23, 17, -1)]]
    with pytest.raises(ModuleError, match=r"minibatch of client 1, .*; it is example 16, of target 7$"):
        list(
            run(
                Federation(nn.Linear(3, 2), F.cross_entropy, whole, parts=parts, batch_size=2),
                plan=cohorts(None, steps=6),
            )
        )
    with pytest.raises(ModuleError, match=r"minibatch of the test examples, .*; it is example 4, of target 7$"):
        run(test=pairs[2]).step()
    # Of all examples none is the one.
    with pytest.raises(ModuleError, match=r"in its type$"):
        run(test=(torch.randn(4, 5), torch.zeros(4).long())).step()


def test_who_fills_what_is_no_number_is_tested() -> None:
    test = (torch.full((2, 3), torch.nan), torch.tensor([0, 1]))
    filling = Around(lambda self, x: self.part(x.nan_to_num()), part=nn.Linear(3, 2))
    filled = Federation(filling, F.cross_entropy, data())
    assert run(filled, test=test).step().test_loss is not None


WEIGHT = 1.0


def by_a_global(z: Tensor, t: Tensor) -> Tensor:
    return WEIGHT * F.cross_entropy(z, t)


def moved() -> Any:
    pairs = data()
    pairs[2] = (pairs[2][0], torch.cat([pairs[2][1][:-1], 1 - pairs[2][1][-1:]]))
    return pairs


def resized() -> Any:
    """Data in which one example of client 0 has gone to client 3."""
    pairs = data()
    pairs[3] = tuple(torch.cat([part[:1], more]) for part, more in zip(pairs[0], pairs[3], strict=True))
    pairs[0] = tuple(part[1:] for part in pairs[0])
    return pairs


def model(change: Callable[[Any], object] = lambda module: None, first: int = 2) -> nn.Module:
    """A layer, a tanh and a frozen layer, with a buffer and a number; and something done to it."""
    torch.manual_seed(1)
    module = nn.Sequential(nn.Linear(3, first), nn.Tanh(), nn.Linear(first, 2).requires_grad_(False))
    module.register_buffer("shift", torch.zeros(1))
    module.scale = 0.5  # type: ignore[assignment]
    with torch.no_grad():
        change(module)
    return module


def begun(file: Path, loss: Any = F.cross_entropy) -> Federation:
    federation = Federation(model(), loss, data(), batch_size=2)
    one = run(federation)
    one.step()
    one.save(file)
    return federation


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"data": data(7)},
            r"data: inputs of client 0's first example was of checksum \w{8}, here it is of .*, and \d+ more",
        ),
        ({"data": moved()}, r"data: target of client 2's last example was [01], here it is [01]\."),
        (
            {"data": resized()},
            "examples of each client: client 0 was 6, here it is 5, client 3 was 6, here it is 7; data: ",
        ),
        ({"loss": F.multi_margin_loss}, "loss was cross_entropy, here it is multi_margin_loss; loss's own numbers: "),
        (
            {"model": model(lambda m: m.__setitem__(1, nn.ReLU()))},
            r"module: line 3 was \(1\): Tanh.*, here it is \(1\): ReLU",
        ),
        (
            {"model": model(lambda m: m[1].eval())},
            r"own numbers: 1.training was True, here it is False",
        ),
        (
            {"model": model(first=4)},
            r"parameters: 0.weight was \[2, 3\], here it is \[4, 3\]",
        ),
        ({"model": model(lambda m: m[2].weight.add_(1))}, "module's own numbers: "),
        ({"model": model(lambda m: m.shift.add_(1))}, "module's own numbers: "),
        ({"model": model(lambda m: setattr(m, "scale", 0.25))}, "module's own numbers: "),
        ({"data": data(clients=3)}, "clients was 4, here it is 3"),
        ({"clip": 0.4}, "clip was None, here it is 0.4"),
        ({"clip_value": 0.4}, "clip_value was None, here it is 0.4"),
        ({"precision": "bf16"}, "precision was None, here it is bf16"),
        ({"seed": 3, "batch_size": None}, "batch_size was 2, here it is None; seed was 0, here it is 3"),
    ],
)
def test_a_run_of_another_task_of_the_same_shapes_is_refused(change: Any, words: str, tmp_path: Path) -> None:
    federation = begun(tmp_path / "run.pt")
    with pytest.raises(CheckpointError, match=f"another federation: .*{words}.*Resume with the federation"):
        resume(tmp_path / "run.pt", replace(federation, **change))


@pytest.mark.parametrize(
    "make",
    [
        lambda w: lambda z, t: w * F.cross_entropy(z, t),
        lambda w: nn.CrossEntropyLoss(label_smoothing=w),
        lambda w: partial(F.cross_entropy, label_smoothing=w),
        lambda w: by_a_global if globals().update(WEIGHT=w) is None else None,
    ],
)
def test_another_number_of_the_loss_is_refused(make: Callable[[float], Any], tmp_path: Path) -> None:
    federation = begun(tmp_path / "run.pt", make(0.25))
    resume(tmp_path / "run.pt", replace(federation, model=model())).step()
    with pytest.raises(CheckpointError, match=r"another federation: loss's own numbers: .* was 0\.25, here it is 0\.5"):
        resume(tmp_path / "run.pt", replace(federation, loss=make(0.5)))


def test_a_run_of_another_plan_is_refused_by_name(tmp_path: Path) -> None:
    federation, file = begun(tmp_path / "run.pt"), tmp_path / "run.pt"
    with pytest.raises(
        CheckpointError, match=r"another plan: size was None, here it is 2, seed was 0, here it is 1\. L"
    ):
        resume(file, federation, plan=cohorts(2, seed=1))
    with pytest.raises(CheckpointError, match=r"another plan: was Cohorts.* here it is Exchanges"):
        resume(file, federation, plan=exchanges(steps=1))
    assert resume(file, federation, plan=cohorts(None)).plan == cohorts(None)


def test_data_that_a_function_makes_are_not_asked_for(tmp_path: Path) -> None:
    federation = begun(tmp_path / "run.pt")
    made = replace(federation, data=lambda i: federation.data[i], examples=(6,) * 4)  # type: ignore[index]
    assert torch.equal(resume(tmp_path / "run.pt", made).x, resume(tmp_path / "run.pt", federation).x)
