"""Kinds that look like others, or see their parameters otherwise than through their attributes."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from test_mirror.kinds import Around, Kind, headed, lines, number, real, tokens
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

from fedspec_torch.refusals import Reason


def mlp() -> nn.Sequential:
    """What is written out in every way."""
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def changed(change: Callable[[nn.Sequential], object]) -> Callable[[], nn.Module]:
    """The same, with something done to it."""

    def made() -> nn.Module:
        module = mlp()
        change(module)
        return module

    return made


class Focal(nn.CrossEntropyLoss):
    """Cross-entropy in which what is known counts less."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The mean of (1 - p)^2 times -log p."""
        each = F.cross_entropy(input, target, reduction="none")
        return ((1 - (-each).exp()) ** 2 * each).mean()


class Relative(nn.MSELoss):
    """A square of relative errors."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Over one and the squares of the targets."""
        return ((input - target) ** 2 / (1 + target**2)).mean()


class Doubled(nn.Flatten):
    """A flattening that also doubles."""

    def forward(self, input: Tensor) -> Tensor:
        """Twice the input."""
        return 2 * super().forward(input)


class Doubling(nn.Linear):
    """A linear layer that doubles."""

    def forward(self, input: Tensor) -> Tensor:
        """Twice the output."""
        return 2 * super().forward(input)


def replaced(at: int | None, factor: float = 2.0) -> Callable[[nn.Sequential], None]:
    """The forward of a part, or of the whole, replaced by a multiple of it."""

    def change(module: nn.Sequential) -> None:
        part = module if at is None else module[at]
        forward = part.forward
        part.forward = lambda x: factor * forward(x)

    return change


def hooked_loss(module: nn.Module) -> nn.Module:
    """A loss that a hook multiplies."""
    loss = nn.CrossEntropyLoss()
    loss.register_forward_hook(lambda part, given, out: out * 3)
    return loss


def replaced_loss(module: nn.Module) -> nn.Module:
    """A loss whose forward is another."""
    loss = nn.CrossEntropyLoss()
    loss.forward = Focal().forward  # type: ignore[method-assign]
    return loss


def penalised(module: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """A penalty on all parameters of the module."""
    return lambda z, t: F.cross_entropy(z, t) + 0.1 * sum((p**2).sum() for p in module.parameters())


def slightly_penalised(module: nn.Module) -> Callable[[Tensor, Tensor], Tensor]:
    """The same, a millionth of it."""
    return lambda z, t: F.cross_entropy(z, t) + 1e-7 * sum((p**2).sum() for p in module.parameters())


def in_a_closure() -> nn.Module:
    """Parameters that forward has by itself."""
    w = number(6, 3)
    return Around(lambda self, x: x @ w + self.b, w=w, b=number(3))


def in_a_list() -> nn.Module:
    """Parameters that forward has in a list."""
    w = number(6, 3)
    return Around(lambda self, x: x @ self.some[0] + self.b, w=w, some=[w], b=number(3))


def clamped() -> nn.Module:
    """Weights that forward clamps."""

    def call(self: Any, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.w.clamp_(-2, 2)
        return x @ self.w  # type: ignore[no-any-return]

    return Around(call, w=number(6, 3))


def clamped_data() -> nn.Module:
    """The same, past the count of versions."""

    def call(self: Any, x: Tensor) -> Tensor:
        self.w.data.clamp_(-9, 9)
        return x @ self.w  # type: ignore[no-any-return]

    return Around(call, w=number(6, 3))


def checkpointed(again: bool) -> Callable[[], nn.Module]:
    """A part whose forward pass runs again during the backward pass."""

    def call(self: Any, x: Tensor) -> Tensor:
        z = torch.tanh(self.one(x))
        return checkpoint(lambda z: self.two(torch.tanh(self.mid(z))), z, use_reentrant=again)  # type: ignore[no-any-return]

    return lambda: Around(call, one=nn.Linear(6, 4), mid=nn.Linear(4, 4), two=nn.Linear(4, 3))


def counting(until: int) -> Callable[[], nn.Module]:
    """Something else from some call on."""

    def call(self: Any, x: Tensor) -> Tensor:
        self.calls += 1
        return self.part(x) * (2 if self.calls > until else 1)  # type: ignore[no-any-return]

    return lambda: Around(call, part=nn.Linear(6, 3), calls=0)


SEEN: list[int] = []
"""What a module keeps where nobody looks."""


def hiding() -> nn.Module:
    """Something else from the ninth call on, counted in a global list."""
    SEEN.clear()

    def call(self: Any, x: Tensor) -> Tensor:
        SEEN.append(1)
        return self.part(x) * (2 if len(SEEN) > 8 else 1)  # type: ignore[no-any-return]

    return Around(call, part=nn.Linear(6, 3))


def remembering() -> nn.Module:
    """A tensor that moves with every call."""

    def call(self: Any, x: Tensor) -> Tensor:
        self.mean = 0.5 * self.mean + 0.5 * x.detach().mean(0)
        return self.part(x - self.mean)  # type: ignore[no-any-return]

    return Around(call, part=nn.Linear(6, 3), mean=0.0)


def showing() -> nn.Module:
    """A module that leaves in an attribute what it has computed, for others to look at."""

    def call(self: Any, x: Tensor) -> Tensor:
        self.shown = torch.tanh(self.one(x))
        return self.two(self.shown)  # type: ignore[no-any-return]

    return Around(call, one=nn.Linear(6, 4), two=nn.Linear(4, 3))


def halved(part: Any, given: Any, out: Any) -> tuple[Tensor | None, ...]:
    """Half of each gradient."""
    return tuple(None if g is None else g / 2 for g in given)


def with_hooks(module: nn.Sequential) -> None:
    """Gradients that pass a layer are halved."""
    module[1].register_full_backward_hook(halved)
    module[3].register_full_backward_hook(halved)


def parameter_hooks(module: Any) -> None:
    """A parameter's gradient is bounded."""
    module[1].weight.register_hook(lambda g: g.clamp(-0.01, 0.01))


def late_parameter_hooks(module: Any) -> None:
    """The same, after the gradient is added up."""

    def bound(p: Tensor) -> None:
        assert p.grad is not None
        p.grad.clamp_(-0.01, 0.01)

    module[1].weight.register_post_accumulate_grad_hook(bound)


def bound_method(module: nn.Sequential) -> None:
    """A method of the object's own."""
    module[2].forward = MethodType(lambda self, x: x * x, module[2])


def branching(self: Any, x: Tensor) -> Tensor:
    """Another sign by a number of the data."""
    z = self.part(x)
    return z if float(z.detach().sum()) > 0 else -z  # type: ignore[no-any-return]


class Halved(torch.autograd.Function):
    """The identity, with half of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """The same."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        """Half."""
        return g / 2


halve: Any = Halved.apply


def numpy_noise(self: Any, x: Tensor) -> Tensor:
    """Noise of NumPy's global generator."""
    import numpy as np

    return self.part(x) + float(np.random.normal())  # type: ignore[no-any-return]


def noisy(self: Any, x: Tensor) -> Tensor:
    """Noise of a generator of its own."""
    z = self.part(x)
    return z + torch.randn(z.shape, generator=self.generator, dtype=z.dtype)  # type: ignore[no-any-return]


class Tempered(nn.Module):
    """Cross-entropy with a number of its own, which wants a gradient and is not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(2.0, dtype=torch.float64))

    def forward(self, z: Tensor, target: Tensor) -> Tensor:
        """Of outputs times that number."""
        return F.cross_entropy(self.scale * z, target)


def linear() -> nn.Module:
    """A linear layer."""
    return nn.Linear(6, 3)


def wrapped(call: Any, **more: Any) -> Callable[[], nn.Module]:
    """A linear layer within a function."""
    return lambda: Around(call, part=nn.Linear(6, 3), **more)


TRAPS: dict[str, Kind] = {
    "a subclass of CrossEntropyLoss": Kind(mlp, lambda module: Focal()),
    "a subclass of MSELoss": Kind(mlp, lambda module: Relative(), targets=real(3)),
    "a hook on the loss": Kind(mlp, hooked_loss),
    "a loss with another forward": Kind(mlp, replaced_loss),
    "a subclass of Flatten": Kind(lambda: nn.Sequential(Doubled(), nn.Linear(6, 3))),
    "a subclass of Linear": Kind(lambda: nn.Sequential(Doubling(6, 3))),
    "another forward of Linear": Kind(changed(replaced(1))),
    "another forward of ReLU": Kind(changed(replaced(2))),
    "another forward of Flatten": Kind(changed(replaced(0))),
    "another forward of Sequential": Kind(changed(replaced(None))),
    "a method of its own": Kind(changed(bound_method)),
    "a forward hook": Kind(changed(lambda m: m[2].register_forward_hook(lambda part, given, out: out * 2))),
    "a hook before": Kind(changed(lambda m: m[1].register_forward_pre_hook(lambda part, given: (given[0] * 2,)))),
    "full backward hooks": Kind(changed(with_hooks)),
    "hooks on parameters": Kind(changed(parameter_hooks)),
    "hooks after parameters' gradients": Kind(changed(late_parameter_hooks)),
    "a penalty in the loss": Kind(mlp, penalised),
    "a small penalty in the loss": Kind(mlp, slightly_penalised),
    "parameters in a closure": Kind(in_a_closure),
    "parameters in a list": Kind(in_a_list),
    "a parameter of the loss": Kind(mlp, lambda module: Tempered()),
    "weights clamped": Kind(clamped, refused=Reason.WRITES),
    "weights clamped by data": Kind(clamped_data, refused=Reason.WRITES),
    "inputs written to": Kind(headed(nn.ELU(inplace=True)), inputs=lines, refused=Reason.WRITES),
    "checkpoint": Kind(checkpointed(False)),
    "checkpoint, reentrant": Kind(checkpointed(True)),
    "calls counted": Kind(counting(0), refused=Reason.KEEPS),
    "calls counted, seen late": Kind(counting(8), refused=Reason.KEEPS),
    "calls counted elsewhere": Kind(hiding, refused=Reason.KEEPS),
    "a moving mean": Kind(remembering, refused=Reason.KEEPS),
    "an attribute to look at": Kind(showing),
    "a branch": Kind(wrapped(branching)),
    "an own derivative": Kind(wrapped(lambda self, x: self.part(halve(self.part.weight.sum() * x)))),
    "noise of NumPy": Kind(wrapped(numpy_noise), refused=Reason.DRAWS),
    "noise of its own": Kind(wrapped(noisy, generator=torch.Generator()), refused=Reason.KEEPS),
    "no gradient": Kind(wrapped(lambda self, x: self.part(x).detach()), refused=Reason.BLIND),
    "a padding row by a function": Kind(
        lambda: Around(
            lambda self, x: self.part(F.embedding(x, self.w, padding_idx=0).flatten(1)),
            w=number(7, 3),
            part=nn.Linear(12, 3),
        ),
        inputs=tokens,
    ),
}
"""By name."""
