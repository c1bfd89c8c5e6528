"""Kinds of modules, losses and data: what one is, and all of them by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from types import MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations
from torch.utils.checkpoint import checkpoint

from fedspec_torch.refusals import Reason

EXAMPLES = (4, 6, 4)
"""Numbers of examples of the clients, who take two at a time."""

Draw = Callable[[int], Tensor]
"""From a number of examples to their inputs, or to their targets."""


@dataclass(frozen=True)
class Kind:
    """A module, a loss and data.

    Attributes:
        module: makes the module.
        loss: makes the loss, from the module.
        inputs: draws inputs.
        targets: draws targets.
        refused: the reason for which it is refused in every way; empty: it trains.
        batch: draws a client's examples, of any structure, in place of inputs and targets.
        step: the loss of a module on such a batch, as a user writes it.
    """

    module: Callable[[], nn.Module]
    loss: Callable[[nn.Module], Any] = lambda module: F.cross_entropy
    inputs: Draw = lambda n: torch.randn(n, 6)
    targets: Draw = lambda n: torch.randint(3, (n,))
    refused: str = ""
    batch: Callable[[int], Any] | None = None
    step: Callable[[Any, Any], Tensor] | None = None

    def made(self) -> tuple[nn.Module, Any, list[Any]]:
        """Module, loss and data, in float64, the same at every call."""
        torch.manual_seed(11)
        draw = self.batch or (lambda n: (self.inputs(n), self.targets(n)))
        data = [changed_by(doubled, draw(n)) for n in EXAMPLES]
        module = self.module()
        with torch.no_grad():
            # What has no shapes yet takes those of the data.
            if any(isinstance(p, nn.parameter.UninitializedParameter) for p in module.parameters()):
                module.float()(data[0][0][:2].float() if data[0][0].is_floating_point() else data[0][0][:2])
            module.double()
            for p in module.parameters():
                p.copy_(torch.randn(p.shape) / 2)
        return module, self.loss(module), data


def changed_by(change: Callable[[Tensor], Tensor], batch: Any) -> Any:
    """A batch with another tensor in the place of each."""
    match batch:
        case Tensor():
            return change(batch)
        case Mapping():
            return type(batch)({name: changed_by(change, part) for name, part in batch.items()})  # type: ignore[call-arg]
        case tuple() | list():
            parts = [changed_by(change, part) for part in batch]
            return type(batch)(*parts) if hasattr(batch, "_fields") else type(batch)(parts)
    return batch


def doubled(tensor: Tensor) -> Tensor:
    """In float64, if it is in numbers that are no whole ones."""
    return tensor.double() if tensor.is_floating_point() else tensor


class Around(nn.Module):
    """Parts, and a function of itself and the inputs."""

    def __init__(self, call: Callable[..., Any], **parts: Any) -> None:
        super().__init__()
        self.call = call
        for name, part in parts.items():
            setattr(self, name, part)

    def forward(self, *inputs: Tensor) -> Any:
        """Call the function."""
        return self.call(self, *inputs)


def number(*shape: int) -> nn.Parameter:
    """A parameter that is drawn."""
    return nn.Parameter(torch.randn(shape) / 2)


def between(part: nn.Module, out: int = 5) -> Callable[[], nn.Module]:
    """A part between two linear layers."""
    return lambda: nn.Sequential(nn.Linear(6, 5), deepcopy(part), nn.Linear(out, 3))


def headed(*parts: nn.Module) -> Callable[[], nn.Module]:
    """Parts, and a linear layer on all that they give."""
    return lambda: nn.Sequential(*deepcopy(parts), nn.Flatten(), nn.LazyLinear(3))


def lines(n: int) -> Tensor:
    """Two channels of six numbers."""
    return torch.randn(n, 2, 6)


def pictures(n: int) -> Tensor:
    """Two channels of 4 x 4 numbers."""
    return torch.randn(n, 2, 4, 4)


def tokens(n: int) -> Tensor:
    """Four tokens of seven, 0 among them."""
    return torch.randint(7, (n, 4))


def real(*shape: int) -> Draw:
    """Targets that are numbers."""
    return lambda n: torch.randn(n, *shape)


# By module: activations, convolutions, pools, norms, recurrences, attention, containers, parametrizations.

ACTIVATIONS: list[nn.Module] = [
    nn.CELU(), nn.ELU(), nn.GELU(), nn.GELU("tanh"), nn.Hardshrink(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardtanh(),
    nn.LeakyReLU(), nn.LogSigmoid(), nn.LogSoftmax(1), nn.Mish(), nn.PReLU(), nn.PReLU(5), nn.ReLU(), nn.ReLU(True),
    nn.ReLU6(), nn.SELU(), nn.SiLU(), nn.Sigmoid(), nn.Softmax(1), nn.Softmin(1), nn.Softplus(), nn.Softshrink(),
    nn.Softsign(), nn.Tanh(), nn.Tanhshrink(), nn.Threshold(0.1, 0.2), nn.Identity(), nn.LayerNorm(5), nn.RMSNorm(5),
    nn.Dropout(0.0), nn.RReLU().eval(), nn.BatchNorm1d(5, track_running_stats=False),
]  # fmt: skip

PICTURES: list[tuple[nn.Module, ...]] = [
    (nn.Conv2d(2, 3, 3),),
    (nn.Conv2d(2, 4, 3, padding=1, groups=2), nn.ReLU(), nn.Conv2d(4, 2, 1, bias=False)),
    (nn.LazyConv2d(3, 3),),
    (nn.ConvTranspose2d(2, 3, 2),),
    (nn.Conv2d(2, 3, 2), nn.AvgPool2d(2)),
    (nn.Conv2d(2, 3, 2), nn.MaxPool2d(2)),
    (nn.Conv2d(2, 3, 2), nn.LPPool2d(2, 2)),
    (nn.Conv2d(2, 3, 2), nn.AdaptiveAvgPool2d(2)),
    (nn.Conv2d(2, 3, 2), nn.AdaptiveMaxPool2d(2)),
    (nn.Conv2d(2, 4, 2), nn.GroupNorm(2, 4)),
    (nn.Conv2d(2, 4, 2), nn.InstanceNorm2d(4)),
    (nn.Conv2d(2, 4, 2), nn.LocalResponseNorm(2)),
    (nn.Conv2d(2, 4, 2), nn.CrossMapLRN2d(2)),
    (nn.Conv2d(2, 4, 2), nn.BatchNorm2d(4, track_running_stats=False)),
    (nn.Conv2d(2, 4, 1), nn.PixelShuffle(2), nn.PixelUnshuffle(2)),
    (nn.Conv2d(2, 4, 2), nn.ChannelShuffle(2)),
    (nn.Conv2d(2, 4, 2), nn.Softmax2d()),
    (nn.Conv2d(2, 2, 1), nn.Upsample(scale_factor=2)),
    (nn.Conv2d(2, 2, 1), nn.UpsamplingBilinear2d(scale_factor=2)),
    (nn.Conv2d(2, 2, 1), nn.UpsamplingNearest2d(scale_factor=2)),
    (nn.Unfold(2), nn.Conv1d(8, 4, 1), nn.Fold((4, 4), 2)),
    (nn.ReflectionPad2d(1), nn.ReplicationPad2d(1), nn.CircularPad2d(1), nn.ZeroPad2d(1), nn.ConstantPad2d(1, 2.0)),
    (nn.Flatten(2), nn.Unflatten(2, (2, 8)), nn.Conv2d(2, 2, 2)),
    (nn.Conv2d(2, 2, 1), nn.Dropout2d().eval()),
]


def over_steps(call: Callable[[Any, Tensor], Tensor], width: int) -> Callable[[nn.Module], Callable[[], nn.Module]]:
    """From a part to a linear layer on what is called with the part and six steps of two numbers."""
    return lambda part: (
        lambda: Around(lambda self, x: self.head(call(self.part, x.mT)), part=deepcopy(part), head=nn.Linear(width, 3))
    )


recurrent = over_steps(lambda part, steps: part(steps)[0][:, -1], 4)
"""The last output of a recurrence."""
attention = over_steps(lambda part, steps: part(steps, steps, steps)[0].flatten(1), 12)
"""Attention of steps to each other."""
encoder = over_steps(lambda part, steps: part(steps).flatten(1), 12)
"""Encoder of steps."""


def normed(norm: Callable[..., nn.Module], **more: Any) -> Callable[[], nn.Module]:
    """A linear layer whose weights are computed from others."""
    return lambda: nn.Sequential(norm(nn.Linear(6, 5), **more), nn.Tanh(), nn.Linear(5, 3))


def shared() -> nn.Module:
    """A layer that is used twice, and one whose weights are another's."""
    one, two = nn.Linear(6, 6), nn.Linear(6, 6)
    two.weight = one.weight
    return nn.Sequential(one, nn.Tanh(), one, two, nn.Linear(6, 3))


def frozen() -> nn.Module:
    """A layer that is not trained before one that is."""
    module = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    module[0].requires_grad_(False)
    return module


def scaled() -> nn.Module:
    """A buffer that is read."""
    module = Around(lambda self, x: self.part(x) * self.scale, part=nn.Linear(6, 3))
    module.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5]))
    return module


def named(kinds: list[Kind], names: list[str]) -> dict[str, Kind]:
    """Kinds by names that are their own."""
    return {f"{name} {j}": kind for j, (name, kind) in enumerate(zip(names, kinds, strict=True))}


def of(parts: list[tuple[nn.Module, ...]], inputs: Any) -> dict[str, Kind]:
    """Kinds of parts with a linear layer at the end."""
    return named(
        [Kind(headed(*some), inputs=inputs) for some in parts], ["-".join(type(p).__name__ for p in s) for s in parts]
    )


LAYERS: dict[str, Kind] = {
    **named([Kind(between(part)) for part in ACTIVATIONS], [type(part).__name__ for part in ACTIVATIONS]),
    **of(PICTURES, pictures),
    "Linear": Kind(lambda: nn.Linear(6, 3)),
    "Linear without bias": Kind(lambda: nn.Linear(6, 3, bias=False)),
    "three linear layers": Kind(
        lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    ),
    "Flatten, then linear": Kind(lambda: nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), inputs=lines),
    "Bilinear": Kind(lambda: Around(lambda self, x: self.part(x[:, :3], x[:, 3:]), part=nn.Bilinear(3, 3, 3))),
    "Embedding": Kind(headed(nn.Embedding(7, 3)), inputs=tokens),
    "Embedding with a padding row": Kind(headed(nn.Embedding(7, 3, padding_idx=0)), inputs=tokens),
    "Embedding, sparse": Kind(headed(nn.Embedding(7, 3, sparse=True)), inputs=tokens),
    "Embedding by frequency": Kind(headed(nn.Embedding(7, 3, scale_grad_by_freq=True)), inputs=tokens),
    "Embedding of bounded length": Kind(headed(nn.Embedding(7, 3, max_norm=0.5)), inputs=tokens, refused=Reason.WRITES),
    "EmbeddingBag": Kind(headed(nn.EmbeddingBag(7, 3)), inputs=tokens),
    "LSTM": Kind(recurrent(nn.LSTM(2, 4, batch_first=True)), inputs=lines),
    "LSTM, both ways": Kind(recurrent(nn.LSTM(2, 2, 2, batch_first=True, bidirectional=True)), inputs=lines),
    "GRU": Kind(recurrent(nn.GRU(2, 4, 2, batch_first=True)), inputs=lines),
    "RNN": Kind(recurrent(nn.RNN(2, 4, batch_first=True)), inputs=lines),
    "MultiheadAttention": Kind(attention(nn.MultiheadAttention(2, 1, batch_first=True)), inputs=lines),
    "TransformerEncoderLayer": Kind(encoder(nn.TransformerEncoderLayer(2, 1, 4, 0.0, batch_first=True)), inputs=lines),
    "TransformerEncoderLayer that drops": Kind(
        encoder(nn.TransformerEncoderLayer(2, 1, 4, batch_first=True)), inputs=lines
    ),
    "FractionalMaxPool2d": Kind(headed(nn.Conv2d(2, 3, 1), nn.FractionalMaxPool2d(2, output_size=2)), inputs=pictures),
    "Dropout": Kind(between(nn.Dropout(0.5))),
    "AlphaDropout": Kind(between(nn.AlphaDropout(0.5))),
    "RReLU": Kind(between(nn.RReLU())),
    "BatchNorm1d with statistics": Kind(between(nn.BatchNorm1d(5))),
    "BatchNorm2d with statistics": Kind(headed(nn.Conv2d(2, 4, 2), nn.BatchNorm2d(4)), inputs=pictures),
    "InstanceNorm2d with statistics": Kind(
        headed(nn.Conv2d(2, 4, 2), nn.InstanceNorm2d(4, track_running_stats=True)), inputs=pictures
    ),
    "weight_norm": Kind(normed(parametrizations.weight_norm)),
    "weight_norm by a hook": Kind(normed(nn.utils.weight_norm)),
    "orthogonal": Kind(normed(parametrizations.orthogonal)),
    "spectral_norm": Kind(normed(parametrizations.spectral_norm), refused=Reason.KEEPS),
    "spectral_norm, fixed": Kind(lambda: normed(parametrizations.spectral_norm)().eval()),
    "shared": Kind(shared),
    "frozen": Kind(frozen),
    "temperature": Kind(lambda: Around(lambda self, x: self.part(x) * self.t.exp(), part=nn.Linear(6, 3), t=number())),
    "unseen": Kind(lambda: Around(lambda self, x: self.part(x), part=nn.Linear(6, 3), more=number(2, 2))),
    "buffer": Kind(scaled),
    "ParameterList": Kind(
        lambda: Around(
            lambda self, x: x @ self.some[0] @ self.more["a"] + self.some[1],
            some=nn.ParameterList([number(6, 4), number(3)]),
            more=nn.ParameterDict({"a": number(4, 3)}),
        )
    ),
    "ModuleList": Kind(
        lambda: Around(
            lambda self, x: self.more["b"](self.some[1](torch.tanh(self.some[0](x)))),
            some=nn.ModuleList([nn.Linear(6, 4), nn.Linear(4, 4)]),
            more=nn.ModuleDict({"b": nn.Linear(4, 3)}),
        )
    ),
    "normalised by F": Kind(lambda: Around(lambda self, x: F.normalize(self.part(x)) * 3, part=nn.Linear(6, 3))),
}
"""By name."""


# By loss, on a linear layer or two.


def classes(k: int, *shape: int) -> Draw:
    """Targets that are numbers of classes."""
    return lambda n: torch.randint(k, (n, *shape))


def some_left_out(k: int) -> Draw:
    """Classes of which those of every second example are another number, which the loss leaves out."""

    def drawn(n: int) -> Tensor:
        targets = torch.randint(1, 3, (n,))
        targets[1::2] = k
        return targets

    return drawn


def late(k: int) -> Draw:
    """Draw targets of which the last one is k, which no client sees in the first step."""

    def drawn(n: int) -> Tensor:
        targets = torch.randint(1, 3, (n,))
        targets[-1] = k
        return targets

    return drawn


def on(k: int, loss: Any, targets: Draw, *after: nn.Module) -> Kind:
    """A loss of k outputs of a linear layer, and of what comes after it."""
    module = (lambda: nn.Sequential(nn.Linear(6, k), *after)) if after else (lambda: nn.Linear(6, k))
    return Kind(module, lambda module: loss, targets=targets)


def recognised(z: Tensor, t: Tensor) -> Tensor:
    """CTC of two labels in four steps of four classes."""
    steps = z.view(-1, 4, 4).log_softmax(2).transpose(0, 1)
    long, short = (torch.full(t.shape[:1], n, device=t.device) for n in (4, 2))
    return F.ctc_loss(steps, t + 1, long, short)


def adaptive() -> Kind:
    """A loss with parameters of its own, which nobody trains."""
    torch.manual_seed(3)
    loss = nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4]).double()
    return on(4, lambda z, t: loss(z, t).loss, classes(6))


weights = torch.tensor([1.0, 2.0, 0.5], dtype=torch.float64)

LOSSES: dict[str, Kind] = {
    "F.cross_entropy": on(3, F.cross_entropy, classes(3)),
    "CrossEntropyLoss": on(3, nn.CrossEntropyLoss(), classes(3)),
    "CrossEntropyLoss weighted": on(3, nn.CrossEntropyLoss(weights), classes(3)),
    "CrossEntropyLoss smoothed": on(3, nn.CrossEntropyLoss(label_smoothing=0.1), classes(3)),
    "CrossEntropyLoss summed": on(3, nn.CrossEntropyLoss(reduction="sum"), classes(3)),
    "CrossEntropyLoss of shares": on(3, nn.CrossEntropyLoss(), lambda n: torch.rand(n, 3).softmax(1)),
    "CrossEntropyLoss of a sequence": Kind(
        lambda: nn.Sequential(nn.Linear(6, 6), nn.Unflatten(1, (3, 2))),
        lambda m: F.cross_entropy,
        targets=classes(3, 2),
    ),
    "CrossEntropyLoss without class 1": on(3, nn.CrossEntropyLoss(ignore_index=0), some_left_out(0)),
    "CrossEntropyLoss with examples left out": on(3, nn.CrossEntropyLoss(), some_left_out(-100)),
    "F.cross_entropy with one left out late": on(3, F.cross_entropy, late(-100)),
    "NLLLoss": on(3, nn.NLLLoss(), classes(3), nn.LogSoftmax(1)),
    "MSELoss": on(3, nn.MSELoss(), real(3)),
    "F.mse_loss": on(3, F.mse_loss, real(3)),
    "MSELoss summed": on(3, nn.MSELoss(reduction="sum"), real(3)),
    "BCEWithLogitsLoss": on(3, nn.BCEWithLogitsLoss(pos_weight=weights), lambda n: torch.randint(2, (n, 3)).float()),
    "CTCLoss": on(16, recognised, classes(3, 2)),
    "AdaptiveLogSoftmaxWithLoss": adaptive(),
}
"""By name."""


# Kinds that look like others, or see their parameters otherwise than through their attributes.


def mlp() -> nn.Sequential:
    """Chain that is written out in every way."""
    return nn.Sequential(nn.Flatten(), nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))


def changed(change: Callable[[nn.Sequential], object]) -> Callable[[], nn.Module]:
    """Make the chain with something done to it."""

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


def penalised(share: float) -> Callable[[nn.Module], Callable[[Tensor, Tensor], Tensor]]:
    """A penalty on all parameters of the module."""
    return lambda module: lambda z, t: F.cross_entropy(z, t) + share * sum((p**2).sum() for p in module.parameters())


def in_a_closure() -> nn.Module:
    """Parameters that forward has by itself."""
    w = number(6, 3)
    return Around(lambda self, x: x @ w + self.b, w=w, b=number(3))


def in_a_list() -> nn.Module:
    """Parameters that forward has in a list."""
    w = number(6, 3)
    return Around(lambda self, x: x @ self.some[0] + self.b, w=w, some=[w], b=number(3))


def clamped_data() -> nn.Module:
    """Weights that forward clamps, past the count of versions."""

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


SEEN: list[int] = []
"""Inputs that a module keeps where nothing looks."""


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


def late_parameter_hooks(module: Any) -> None:
    """Clamp gradients by hooks that run after the gradient is added up."""

    def bound(p: Tensor) -> None:
        assert p.grad is not None
        p.grad.clamp_(-0.01, 0.01)

    module[1].weight.register_post_accumulate_grad_hook(bound)


class Halved(torch.autograd.Function):
    """The identity, with half of its gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Copy of the input."""
        return x.clone()

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> Tensor:
        """Half."""
        return g / 2


halve: Any = Halved.apply


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
        """Cross-entropy of outputs times that number."""
        return F.cross_entropy(self.scale * z, target)


def wrapped(call: Any, **more: Any) -> Callable[[], nn.Module]:
    """A linear layer within a function."""
    return lambda: Around(call, part=nn.Linear(6, 3), **more)


TRAPS: dict[str, Kind] = {
    "a subclass of CrossEntropyLoss": Kind(mlp, lambda module: Focal()),
    "a hook on the loss": Kind(mlp, hooked_loss),
    "a loss with another forward": Kind(mlp, replaced_loss),
    "a subclass of Linear": Kind(lambda: nn.Sequential(Doubling(6, 3))),
    "another forward of Linear": Kind(changed(replaced(1))),
    "another forward of ReLU": Kind(changed(replaced(2))),
    "another forward of Flatten": Kind(changed(replaced(0))),
    "another forward of Sequential": Kind(changed(replaced(None))),
    "a method of its own": Kind(changed(lambda m: setattr(m[2], "forward", MethodType(lambda self, x: x * x, m[2])))),
    "a forward hook": Kind(changed(lambda m: m[2].register_forward_hook(lambda part, given, out: out * 2))),
    "a hook before": Kind(changed(lambda m: m[1].register_forward_pre_hook(lambda part, given: (given[0] * 2,)))),
    "full backward hooks": Kind(changed(lambda m: [m[j].register_full_backward_hook(halved) for j in (1, 3)])),
    "hooks on parameters": Kind(changed(lambda m: m[1].weight.register_hook(lambda g: g.clamp(-0.01, 0.01)))),
    "hooks after parameters' gradients": Kind(changed(late_parameter_hooks)),
    "a penalty in the loss": Kind(mlp, penalised(0.1)),
    "a small penalty in the loss": Kind(mlp, penalised(1e-7)),
    "parameters in a closure": Kind(in_a_closure),
    "parameters in a list": Kind(in_a_list),
    "a parameter of the loss": Kind(mlp, lambda module: Tempered()),
    "weights clamped by data": Kind(clamped_data, refused=Reason.WRITES),
    "inputs written to": Kind(headed(nn.ELU(inplace=True)), inputs=lines, refused=Reason.WRITES),
    "checkpoint": Kind(checkpointed(False)),
    "checkpoint, reentrant": Kind(checkpointed(True)),
    "calls counted elsewhere": Kind(hiding, refused=Reason.KEEPS),
    "a moving mean": Kind(remembering, refused=Reason.KEEPS),
    "an attribute to look at": Kind(showing),
    "an own derivative": Kind(wrapped(lambda self, x: self.part(halve(self.part.weight.sum() * x)))),
    "noise of NumPy": Kind(wrapped(lambda self, x: self.part(x) + float(np.random.normal())), refused=Reason.DRAWS),
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
