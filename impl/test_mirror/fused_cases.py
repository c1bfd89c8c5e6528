"""Blocks of clients that the fused kernel takes.

As a script, ``python fused_cases.py FILE``, it writes what the kernel makes of them; in a process of its own, since
TRITON_INTERPRET counts when Triton is imported.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from fedspec_torch import Federation, cohorts, simulate
from fedspec_torch.federation.federation import on
from fedspec_torch.local.runs import run_in_place
from fedspec_torch.local.solvers import along
from fedspec_torch.refusals import LayersError

CLIENTS = (3, 0, 2, 1)
"""Clients that train, in this order."""


@dataclass(frozen=True)
class Case:
    """A block.

    Attributes:
        sizes: sizes of the layers.
        batch: b.
        tau: number of steps of each client.
        bias: True for each layer that has a bias.
        shuffled: True if clients walk through their examples in an order of their own.
        gamma: by which the rate decays.
    """

    sizes: tuple[int, ...]
    batch: int
    tau: int | tuple[int, ...]
    bias: tuple[bool, ...] = (True, True)
    shuffled: bool = True
    gamma: float = 1.0

    def rate(self, k: int) -> float:
        """Rate of step k."""
        return 0.5 * self.gamma**k

    def federation(self, way: str | None, dtype: torch.dtype = torch.float32, **more: Any) -> Federation:
        """Clients of unequal sample sizes, none a multiple of b."""
        torch.manual_seed(0)
        layers: list[nn.Module] = []
        for inputs, outputs, bias in zip(self.sizes[:-1], self.sizes[1:], self.bias, strict=False):
            layers += [nn.Linear(inputs, outputs, bias=bias), nn.ReLU()]
        data = []
        for i in range(4):
            n = self.batch + 2 * i + 1
            data.append((torch.randn(n, self.sizes[0]).to(dtype), torch.randint(self.sizes[-1], (n,))))
        loss = nn.functional.cross_entropy
        module = nn.Sequential(*layers[:-1]).to(dtype)
        return Federation(module, loss, data, batch_size=self.batch, way=way, shuffled=self.shuffled, **more)

    def trained(self, way: str, dtype: torch.dtype = torch.float32, device: str = "cpu") -> tuple[Any, Any]:
        """The models, and the losses where they begin."""
        federation = on(self.federation(way, dtype), device)
        clients, x = federation.in_round(2), federation.x0.expand(len(CLIENTS), -1)
        (y,) = run_in_place(along(self.rate), x, clients.oracle(CLIENTS), self.tau)
        assert torch.equal(federation.x0.cpu(), self.federation(way, dtype).x0)
        return y.clone().cpu().numpy(), np.array([float(clients.losses[i]) for i in CLIENTS])


CASES = {
    "lr": Case((64, 10), 32, 3),
    "mlp": Case((64, 128, 10), 32, (4, 3, 3, 1)),
    "odd": Case((5, 7, 3), 6, (5, 2, 1, 1), shuffled=False),
    "odd, no bias": Case((3, 2), 5, (4, 4, 2, 1), bias=(False,), shuffled=False, gamma=0.5),
    "one bias": Case((6, 17, 4), 3, 4, bias=(True, False), shuffled=False),
    "the other bias": Case((6, 17, 4), 3, 4, bias=(False, True), gamma=0.75),
    "one example": Case((9, 2), 1, 6, shuffled=False),
    "large": Case((20, 33, 17), 19, 2),
}

RUNS: dict[str, dict[str, float]] = {
    "fedavg": {},
    "fednova": {},
    "fedadam": {"eta": 0.1, "beta1": 0.5, "beta2": 0.75, "tau": 0.25, "v0": 0.5},
}
"""Algorithms whose clients take plain SGD steps, and what else they ask for."""

SPOILS = {
    "a sum for a mean": ("tl.where(hit, 1.0, 0.0)) / B", "tl.where(hit, 1.0, 0.0))"),
    "examples that are not there": ("g = tl.where(own[:, None], tl", "g = tl.where(e[:, None] >= 0, tl"),
    "classes that are not there": ("z = tl.where(c[None, :] < C, z", "z = tl.where(c[None, :] >= 0, z"),
    "no ReLU backward": ("dh = tl.where(below <= 0, 0.0, dh)", "dh = dh + 0.0"),
    "one step too many": ("in range(taken)", "in range(taken + 1)"),
    "the first rate always": ("tl.load(rates + k)", "tl.load(rates)"),
    "always in order": ("if not ORDERED:", "if ORDERED and not ORDERED:"),
    "no walk round": ("(k * B + e) % count", "tl.minimum(k * B + e, count - 1)"),
    "a last layer that steps twice": ("rate = tl", "V -= tl.load(rates) * tl.dot(tl.trans(below), g); rate = tl"),
    "no last bias": ("bias -= rate", "bias -= 0 * rate"),
    "no first bias": ("a -= rate", "a -= 0 * rate"),
}  # fmt: skip
"""Edits of the kernel's text, each of which some case must show."""


def simulated(
    algorithm: str, way: str | None, dtype: torch.dtype = torch.float32, device: str = "cpu"
) -> tuple[Any, list[float]]:
    """The last model of a run in which clients take unequal numbers of steps, and the losses that its rounds tell."""
    federation = on(CASES["odd"].federation(way, dtype), device)
    run = simulate(algorithm, federation, plan=cohorts(3, steps=(1, 4)), rounds=3, eta_l=0.25, **RUNS[algorithm])
    losses = [told.loss for told in run]
    return run.x.cpu().numpy(), losses


def written() -> Iterator[tuple[str, Any]]:
    """Results of the kernel for everything here, by name."""
    import fedspec_torch.ways.fused_kernel as true

    for name, case in CASES.items():
        models, losses = case.trained("fused")
        yield f"models {name}", models
        yield f"losses {name}", losses
    for algorithm in RUNS:
        x, told = simulated(algorithm, "fused")
        yield f"run {algorithm}", x
        yield f"told {algorithm}", np.array(told)
    chosen = _chosen(CASES["odd"].federation(None))
    yield "chosen", np.array([chosen.name, chosen.run, chosen.why])
    yield "poisoned", _poisoned()
    text = Path(true.__file__).read_text()
    with tempfile.TemporaryDirectory() as folder:
        for number, (words, (old, new)) in enumerate(SPOILS.items()):
            assert text.count(old) == 1, words
            file = Path(folder) / f"spoiled_{number}.py"
            file.write_text(text.replace(old, new))
            found = spec_from_file_location(file.stem, file)
            assert found and found.loader
            module = module_from_spec(found)
            found.loader.exec_module(module)
            sys.modules["fedspec_torch.ways.fused_kernel"] = module
            for name, case in CASES.items():
                yield f"spoiled {words}: {name}", _noticed(case)


def _noticed(case: Case) -> Any:
    """The models by a kernel that may be spoiled; no numbers where it is refused beside the steps in place."""
    try:
        return case.trained("fused")[0]
    except LayersError as error:
        assert "of their change from those in place" in str(error)
        return np.full((len(CLIENTS), len(case.federation("looped").x0)), np.nan)


def _chosen(federation: Federation) -> Any:
    """Way that is chosen for a chain that is written out, if none is named."""
    from fedspec_torch.federation.autotune import Choice

    federation.choices[3] = Choice("layered", "first")
    run_in_place(along(lambda k: 0.25), federation.x0.expand(4, -1), federation.oracle(CLIENTS), 3)
    return federation.choices[3]


def _poisoned() -> Any:
    """The models where one client has a class that the model has not, after a first run, which torch takes beside."""
    case = CASES["odd"]
    federation = case.federation("fused")
    for target in (0, case.sizes[-1]):
        clients = federation.oracle(range(4))
        walk = clients.batches.walk  # type: ignore[attr-defined]
        walk.leaves[-1][walk.starts[2]] = target
        (y,) = run_in_place(along(lambda k: 0.25), federation.x0.expand(4, -1), clients, 1)
    return y.numpy()


if __name__ == "__main__":
    with np.errstate(all="ignore"):
        np.savez(sys.argv[1], **dict(written()))
