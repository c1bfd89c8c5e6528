"""Kinds by module: activations, convolutions, pools, norms, recurrences, attention, containers, parametrizations."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import torch
from test_mirror.kinds import Around, Kind, between, headed, lines, number, pictures, tokens, volumes
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils import parametrizations

from fedspec_torch.refusals import Reason

ACTIVATIONS: list[nn.Module] = [
    nn.CELU(), nn.ELU(), nn.GELU(), nn.GELU("tanh"), nn.Hardshrink(), nn.Hardsigmoid(), nn.Hardswish(), nn.Hardtanh(),
    nn.LeakyReLU(), nn.LogSigmoid(), nn.LogSoftmax(1), nn.Mish(), nn.PReLU(), nn.PReLU(5), nn.ReLU(), nn.ReLU(True),
    nn.ReLU6(), nn.SELU(), nn.SiLU(), nn.Sigmoid(), nn.Softmax(1), nn.Softmin(1), nn.Softplus(), nn.Softshrink(),
    nn.Softsign(), nn.Tanh(), nn.Tanhshrink(), nn.Threshold(0.1, 0.2), nn.Identity(), nn.LayerNorm(5), nn.RMSNorm(5),
    nn.Dropout(0.0), nn.RReLU().eval(), nn.BatchNorm1d(5, track_running_stats=False),
]  # fmt: skip

LINES: list[tuple[nn.Module, ...]] = [
    (nn.Conv1d(2, 3, 3),),
    (nn.Conv1d(2, 4, 3, stride=2, padding=2, dilation=2, groups=2, padding_mode="circular"),),
    (nn.ConvTranspose1d(2, 3, 3, stride=2, output_padding=1),),
    (nn.Conv1d(2, 3, 3), nn.AvgPool1d(2)),
    (nn.Conv1d(2, 3, 3), nn.MaxPool1d(2)),
    (nn.Conv1d(2, 3, 3), nn.LPPool1d(2, 2)),
    (nn.Conv1d(2, 3, 3), nn.AdaptiveAvgPool1d(2)),
    (nn.Conv1d(2, 3, 3), nn.AdaptiveMaxPool1d(2)),
    (nn.Conv1d(2, 4, 3), nn.GLU(1)),
    (nn.Conv1d(2, 4, 3), nn.GroupNorm(2, 4)),
    (nn.Conv1d(2, 4, 3), nn.InstanceNorm1d(4, affine=True)),
    (nn.Conv1d(2, 4, 3), nn.Dropout1d().eval()),
    (nn.CircularPad1d(1), nn.ReflectionPad1d(1), nn.ReplicationPad1d(1), nn.ZeroPad1d(1), nn.ConstantPad1d(1, 2.0)),
    (nn.Conv1d(2, 3, 3), nn.Upsample(scale_factor=2, mode="linear")),
]

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

VOLUMES: list[tuple[nn.Module, ...]] = [
    (nn.Conv3d(2, 3, 2),),
    (nn.ConvTranspose3d(2, 2, 2),),
    (nn.Conv3d(2, 3, 2), nn.AvgPool3d(2)),
    (nn.Conv3d(2, 3, 2), nn.MaxPool3d(2)),
    (nn.Conv3d(2, 3, 2), nn.AdaptiveAvgPool3d(1)),
    (nn.Conv3d(2, 4, 2), nn.InstanceNorm3d(4)),
    (nn.ReplicationPad3d(1), nn.Conv3d(2, 1, 2)),
]


def embedded(part: nn.Module) -> Callable[[], nn.Module]:
    """An embedding of seven tokens, and what is linear in all of them."""
    return lambda: nn.Sequential(deepcopy(part), nn.Flatten(), nn.LazyLinear(3))


def recurrent(part: nn.Module) -> Callable[[], nn.Module]:
    """The last output of a recurrence over six steps of two numbers."""
    return lambda: Around(
        lambda self, x: self.head(self.part(x.mT)[0][:, -1]), part=deepcopy(part), head=nn.Linear(4, 3)
    )


def cell(part: nn.Module) -> Callable[[], nn.Module]:
    """A cell that is called twice."""

    def call(self: Any, x: Tensor) -> Tensor:
        h = self.part(x[..., 0])
        h = self.part(x[..., 1], h)
        return self.head(h[0] if isinstance(h, tuple) else h)  # type: ignore[no-any-return]

    return lambda: Around(call, part=deepcopy(part), head=nn.Linear(4, 3))


def attention() -> nn.Module:
    """Of six steps to each other."""
    part = nn.MultiheadAttention(2, 1, batch_first=True)
    return Around(
        lambda self, x: self.head(self.part(x.mT, x.mT, x.mT)[0].flatten(1)), part=part, head=nn.Linear(12, 3)
    )


def transformer() -> nn.Module:
    """One layer of each half."""
    part = nn.Transformer(2, 1, 1, 1, 4, dropout=0.0, batch_first=True)
    return Around(lambda self, x: self.head(self.part(x.mT, x.mT).flatten(1)), part=part, head=nn.Linear(12, 3))


def encoder(layer: nn.Module) -> Callable[[], nn.Module]:
    """Of six steps of two numbers."""
    return lambda: Around(
        lambda self, x: self.head(self.part(x.mT).flatten(1)), part=deepcopy(layer), head=nn.Linear(12, 3)
    )


def pooled(pool: nn.Module, unpool: nn.Module) -> Callable[[], nn.Module]:
    """The largest numbers, put back where they were."""
    call = lambda self, x: self.head(self.unpool(*self.pool(self.part(x))).flatten(1))  # noqa: E731
    return lambda: Around(call, part=nn.Conv2d(2, 2, 1), pool=pool, unpool=unpool, head=nn.Linear(32, 3))


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


def tempered() -> nn.Module:
    """A parameter without axes."""
    return Around(lambda self, x: self.part(x) * self.t.exp(), part=nn.Linear(6, 3), t=number())


def unseen() -> nn.Module:
    """A parameter that nothing depends on."""
    return Around(lambda self, x: self.part(x), part=nn.Linear(6, 3), more=number(2, 2))


def scaled() -> nn.Module:
    """A buffer that is read."""
    module = Around(lambda self, x: self.part(x) * self.scale, part=nn.Linear(6, 3))
    module.register_buffer("scale", torch.tensor([1.0, 2.0, 0.5]))
    return module


def listed() -> nn.Module:
    """Parameters in a list of parameters, and in a dictionary."""
    return Around(
        lambda self, x: x @ self.some[0] @ self.more["a"] + self.some[1],
        some=nn.ParameterList([number(6, 4), number(3)]),
        more=nn.ParameterDict({"a": number(4, 3)}),
    )


def moduled() -> nn.Module:
    """Layers in a list and in a dictionary."""
    return Around(
        lambda self, x: self.more["b"](self.some[1](torch.tanh(self.some[0](x)))),
        some=nn.ModuleList([nn.Linear(6, 4), nn.Linear(4, 4)]),
        more=nn.ModuleDict({"b": nn.Linear(4, 3)}),
    )


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
    **of(LINES, lines),
    **of(PICTURES, pictures),
    **of(VOLUMES, volumes),
    "Linear": Kind(lambda: nn.Linear(6, 3)),
    "Linear without bias": Kind(lambda: nn.Linear(6, 3, bias=False)),
    "three linear layers": Kind(
        lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, 3))
    ),
    "Flatten, then linear": Kind(lambda: nn.Sequential(nn.Flatten(), nn.Linear(12, 3)), inputs=lines),
    "Bilinear": Kind(lambda: Around(lambda self, x: self.part(x[:, :3], x[:, 3:]), part=nn.Bilinear(3, 3, 3))),
    "CosineSimilarity": Kind(
        lambda: Around(
            lambda self, x: nn.CosineSimilarity(2)(self.part(x)[:, None], self.c[None]),
            part=nn.Linear(6, 4),
            c=number(3, 4),
        )
    ),
    "PairwiseDistance": Kind(
        lambda: Around(
            lambda self, x: -nn.PairwiseDistance()(self.part(x)[:, None], self.c[None]),
            part=nn.Linear(6, 4),
            c=number(3, 4),
        )
    ),
    "Embedding": Kind(embedded(nn.Embedding(7, 3)), inputs=tokens),
    "Embedding with a padding row": Kind(embedded(nn.Embedding(7, 3, padding_idx=0)), inputs=tokens),
    "Embedding, sparse": Kind(embedded(nn.Embedding(7, 3, sparse=True)), inputs=tokens),
    "Embedding by frequency": Kind(embedded(nn.Embedding(7, 3, scale_grad_by_freq=True)), inputs=tokens),
    "Embedding of bounded length": Kind(
        embedded(nn.Embedding(7, 3, max_norm=0.5)), inputs=tokens, refused=Reason.WRITES
    ),
    "EmbeddingBag": Kind(embedded(nn.EmbeddingBag(7, 3)), inputs=tokens),
    "EmbeddingBag, largest": Kind(embedded(nn.EmbeddingBag(7, 3, mode="max")), inputs=tokens),
    "EmbeddingBag with a padding row": Kind(embedded(nn.EmbeddingBag(7, 3, mode="sum", padding_idx=0)), inputs=tokens),
    "RNN": Kind(recurrent(nn.RNN(2, 4, batch_first=True)), inputs=lines),
    "LSTM": Kind(recurrent(nn.LSTM(2, 4, batch_first=True)), inputs=lines),
    "LSTM, both ways": Kind(recurrent(nn.LSTM(2, 2, 2, batch_first=True, bidirectional=True)), inputs=lines),
    "GRU": Kind(recurrent(nn.GRU(2, 4, batch_first=True)), inputs=lines),
    "RNNCell": Kind(cell(nn.RNNCell(2, 4)), inputs=lines),
    "LSTMCell": Kind(cell(nn.LSTMCell(2, 4)), inputs=lines),
    "GRUCell": Kind(cell(nn.GRUCell(2, 4)), inputs=lines),
    "MultiheadAttention": Kind(attention, inputs=lines),
    "TransformerEncoderLayer": Kind(encoder(nn.TransformerEncoderLayer(2, 1, 4, 0.0, batch_first=True)), inputs=lines),
    "TransformerEncoderLayer that drops": Kind(
        encoder(nn.TransformerEncoderLayer(2, 1, 4, batch_first=True)), inputs=lines
    ),
    "Transformer": Kind(transformer, inputs=lines),
    "MaxUnpool2d": Kind(pooled(nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)), inputs=pictures),
    "FractionalMaxPool2d": Kind(headed(nn.Conv2d(2, 3, 1), nn.FractionalMaxPool2d(2, output_size=2)), inputs=pictures),
    "Dropout": Kind(between(nn.Dropout(0.5))),
    "AlphaDropout": Kind(between(nn.AlphaDropout(0.5))),
    "RReLU": Kind(between(nn.RReLU())),
    "BatchNorm1d with statistics": Kind(between(nn.BatchNorm1d(5))),
    "weight_norm": Kind(normed(parametrizations.weight_norm)),
    "weight_norm by a hook": Kind(normed(nn.utils.weight_norm)),
    "orthogonal": Kind(normed(parametrizations.orthogonal)),
    "spectral_norm": Kind(normed(parametrizations.spectral_norm), refused=Reason.KEEPS),
    "spectral_norm, fixed": Kind(lambda: normed(parametrizations.spectral_norm)().eval()),
    "shared": Kind(shared),
    "frozen": Kind(frozen),
    "temperature": Kind(tempered),
    "unseen": Kind(unseen),
    "buffer": Kind(scaled),
    "ParameterList": Kind(listed),
    "ModuleList": Kind(moduled),
    "normalised by F": Kind(lambda: Around(lambda self, x: F.normalize(self.part(x)) * 3, part=nn.Linear(6, 3))),
}
"""By name."""
