"""Clipping, weight decay and accumulation: what a plain loop of torch does with its own functions."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from fedspec.errors import FedspecError, ParameterError, PlanError
from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.gradients.methods import CHANNELS_LAST, WAYS

SIZES = (7, 12, 6)
"""Numbers of examples of the clients."""

CASES: dict[str, dict[str, Any]] = {
    "clipped": {"clip": 0.3},
    "clamped": {"clip_value": 0.05},
    "decayed": {"weight_decay": 0.2},
    "accumulated": {"accumulate": 3},
    "all": {"clip": 0.3, "weight_decay": 0.2, "accumulate": 2},
    "all, clamped": {"clip_value": 0.05, "weight_decay": 0.2, "accumulate": 2},
}


def made() -> nn.Module:
    """A chain, the same at every call."""
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3)).double()


def data() -> list[tuple[Tensor, Tensor]]:
    """Data of three clients."""
    torch.manual_seed(5)
    return [(3 * torch.randn(n, 5).double(), torch.randint(3, (n,))) for n in SIZES]


def federation(**more: Any) -> Federation:
    """Minibatches of two, in the order of the data."""
    return Federation(made(), F.cross_entropy, data(), batch_size=2, shuffled=False, **more)


def by_hand(
    i: int,
    steps: int,
    make: Any,
    clip: float | None = None,
    clip_value: float | None = None,
    accumulate: int = 1,
    start: Tensor | None = None,
    **decay: float,
) -> Tensor:
    """A client's model after some steps of one of torch's optimisers, which decays by itself."""
    module = made()
    if start is not None:
        nn.utils.vector_to_parameters(start.clone(), module.parameters())
    inputs, targets = data()[i]
    steps_of = make(module.parameters(), **decay)
    for k in range(steps):
        steps_of.zero_grad()
        for j in range(accumulate):
            which = [(2 * (accumulate * k + j) + e) % SIZES[i] for e in (0, 1)]
            (F.cross_entropy(module(inputs[which]), targets[which]) / accumulate).backward()  # type: ignore[no-untyped-call]
        if clip is not None:
            nn.utils.clip_grad_norm_(module.parameters(), clip)
        if clip_value is not None:
            nn.utils.clip_grad_value_(module.parameters(), clip_value)
        steps_of.step()
    return torch.cat([p.detach().reshape(-1) for p in module.parameters()])


@pytest.mark.table(10)
@pytest.mark.parametrize("way", [None, *(way for way in WAYS if way != CHANNELS_LAST)])
@pytest.mark.parametrize("rho", [0.0, 0.9])
@pytest.mark.parametrize("case", CASES)
def test_a_round_is_a_plain_loop_with_torchs_own_functions(case: str, rho: float, way: str | None) -> None:
    """Take clients of equally many steps: normalised averaging is then averaging; a decay goes through momentum."""
    given: dict[str, Any] = {"beta": 0.0, "solver": "momentum", "rho": rho} if rho else {"eta": 1.0}
    fed, name = federation(way=way, **CASES[case]), "fednova-momentum" if rho else "fedavg"
    run = simulate(name, fed, plan=cohorts(3, steps=4), rounds=1, eta_l=0.3, **given)
    list(run)
    make = partial(torch.optim.SGD, lr=0.3, momentum=rho)
    models = [by_hand(i, 4, make, **CASES[case]) for i in range(3)]
    want = sum(n / sum(SIZES) * y for n, y in zip(SIZES, models, strict=True))
    # torch divides by the length and 1e-6.
    torch.testing.assert_close(run.x, want, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("clip", [None, 0.3])
def test_a_decay_beside_the_step_is_averaging_of_torchs_adamw(clip: float | None) -> None:
    """DiLoCo without outer momentum, its clients' state made anew."""
    adamw: dict[str, Any] = dict(eta_l=0.1, beta1=0.9, beta2=0.95, eps=1e-8, wd=0.2)
    fed = federation(clip=clip)
    run = simulate("diloco", fed, plan=cohorts(3, steps=4), rounds=2, eta=1.0, beta=0.0, reading="reset", **adamw)

    def step(p: Any, **more: Any) -> Any:
        return torch.optim.AdamW(p, lr=0.1, betas=(0.9, 0.95), eps=1e-8, weight_decay=0.2, **more)

    want = torch.cat([p.detach().reshape(-1) for p in made().parameters()])
    for _ in run:
        want = torch.stack([by_hand(i, 4, step, clip=clip, start=want) for i in range(3)]).mean(0)
        torch.testing.assert_close(run.x, want, rtol=1e-5, atol=1e-7)


def test_a_gradient_of_zero_is_not_divided_by_its_length() -> None:
    class Flat(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = nn.Parameter(torch.zeros(2))

        def forward(self, inputs: Tensor) -> Tensor:
            return (self.w**2).sum() + 0 * inputs.sum(1)

    fed = Federation(Flat(), lambda out, _: out.mean(), [(torch.ones(2, 2), torch.ones(2))], clip=0.1)
    run = simulate("fedavg", fed, plan=cohorts(1, steps=2), rounds=1, eta_l=0.3, eta=1.0)
    list(run)
    assert torch.equal(run.x, torch.zeros(2))


@pytest.mark.parametrize(
    ("more", "error", "words"),
    [
        ({"clip": 0.0}, ParameterError, r"clip: got 0\.0; give a norm above 0"),
        ({"clip": float("nan")}, ParameterError, "clip: got nan"),
        ({"clip_value": -1.0}, ParameterError, r"clip_value: got -1\.0; give a magnitude above 0"),
        ({"clip": 1.0, "clip_value": 0.5}, ParameterError, "clip and clip_value: got 1 and 0.5, .*leave out one"),
        ({"weight_decay": -0.1}, ParameterError, r"weight_decay: got -0\.1"),
        ({"accumulate": 0}, PlanError, "accumulate: got 0"),
        ({"accumulate": 1.5}, PlanError, r"accumulate: got 1\.5"),
    ],
)
def test_numbers_that_say_nothing_are_refused(more: dict[str, Any], error: type[FedspecError], words: str) -> None:
    with pytest.raises(error, match=words):
        federation(**more)
