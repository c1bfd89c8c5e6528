"""Kinds of batches: what a client's examples are, the module that takes them, and the step that its user writes.

A step is written by hand beside each kind, and nothing of the mirror is asked how a batch is taken apart.
"""

from __future__ import annotations

from collections import OrderedDict, UserDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from test_mirror.kinds import Around, Kind, tokens
from torch import Tensor, nn
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence

from fedspec_torch.refusals import Reason

ce = F.cross_entropy


@dataclass
class Output:
    """An output as HuggingFace's models give it, with what their classes are called."""

    loss: Tensor | None
    logits: Tensor

    def __getitem__(self, k: int) -> Any:
        return (self.loss, self.logits)[k]


class Masked(nn.Module):
    """A classifier of four tokens, of which a mask names those that are there."""

    def __init__(self, drop: float = 0.0, give: Callable[[Any, Tensor], Any] = Output) -> None:
        super().__init__()
        self.embed, self.drop, self.head, self.give = nn.Embedding(7, 5), nn.Dropout(drop), nn.Linear(5, 3), give

    def forward(self, input_ids: Tensor, attention_mask: Tensor | None = None, labels: Tensor | None = None) -> Any:
        """Loss and logits, or the logits alone without labels."""
        h = torch.tanh(self.embed(input_ids))
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        mean = (h * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)
        logits = self.head(self.drop(mean))
        return logits if labels is None else self.give(ce(logits, labels), logits)


class Towers(nn.Module):
    """Two inputs of their own layers."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 4), nn.Linear(3, 4)
        self.head = nn.Linear(4, 3)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Scores of both."""
        return self.head(torch.tanh(self.a(a) + self.b(b)))  # type: ignore[no-any-return]


def towers(forward: Callable[..., Any]) -> type[Towers]:
    """Towers whose forward has other arguments."""
    return type("Towers", (Towers,), {"forward": forward})


OfPair = towers(lambda self, both: Towers.forward(self, both[0], both[1]))
"""Network whose one argument holds both inputs."""


def last_of_each(self: Any, x: Tensor, lengths: Tensor) -> Tensor:
    """Scores of the last step of each sequence, by a recurrence over sequences of their own lengths."""
    packed = pack_padded_sequence(x, lengths.cpu(), batch_first=True, enforce_sorted=False)
    return self.head(self.part(packed)[1][0])  # type: ignore[no-any-return]


class Heads(nn.Module):
    """Two outputs by name."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.kind, self.box = nn.Linear(6, 5), nn.Linear(5, 3), nn.Linear(5, 2)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        """Both."""
        h = torch.tanh(self.body(x))
        return {"kind": self.kind(h), "box": self.box(h)}


class Scaled(nn.Module):
    """A layer with options at each call."""

    def __init__(self) -> None:
        super().__init__()
        self.part = nn.Linear(6, 3)

    def forward(self, x: Tensor, *, scale: float = 1.0, mode: str = "none", mask: Tensor | None = None) -> Tensor:
        """Scores, as the options say."""
        assert mask is None
        z = self.part(x) * scale
        return torch.tanh(z) if mode == "tanh" else z


class Views(NamedTuple):
    """Two inputs and their targets, by name."""

    a: Tensor
    b: Tensor
    y: Tensor


class Weighted(nn.Module):
    """A loss that weighs examples."""

    def forward(self, z: Tensor, batch: Any) -> Tensor:
        """Weighted loss of a whole batch."""
        return (batch["w"] * ce(z, batch["labels"], reduction="none")).mean()


def weighted(z: Tensor, targets: Any) -> Tensor:
    """Cross-entropy with a weight for each example."""
    return (targets[1] * ce(z, targets[0], reduction="none")).mean()


def both_heads(out: Any, targets: Any) -> Tensor:
    """Loss of two outputs by name."""
    return ce(out["kind"], targets["kind"]) + F.mse_loss(out["box"], targets["box"])


def text(n: int) -> dict[str, Tensor]:
    """Tokens with a padding mask and labels, as a tokenizer gives them."""
    mask = (torch.arange(4) < torch.randint(1, 5, (n, 1))).long()
    return {"input_ids": tokens(n) * mask, "attention_mask": mask, "labels": torch.randint(3, (n,))}


def two(n: int) -> dict[str, Tensor]:
    """Two inputs and labels."""
    return {"a": torch.randn(n, 6), "b": torch.randn(n, 3), "labels": torch.randint(3, (n,))}


def features(n: int) -> Tensor:
    """Six numbers of each example."""
    return torch.randn(n, 6)


def labels(n: int) -> Tensor:
    """Three classes."""
    return torch.randint(3, (n,))


def ab(some: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
    """The two inputs."""
    return some["a"], some["b"]


def kind(module: Any, batch: Any, step: Any, loss: Any = None, refused: str = "") -> Kind:
    """A kind of batch, with the step that its user writes."""
    return Kind(module, lambda made: loss, refused=refused, batch=batch, step=step)


BATCHES: dict[str, Kind] = {
    # HuggingFace's batches.
    "a tokenizer's batch, the model gives its loss": kind(Masked, text, lambda m, b: m(**b).loss),
    "without a mask": kind(
        Masked,
        lambda n: {name: part for name, part in text(n).items() if name != "attention_mask"},
        lambda m, b: m(b["input_ids"], labels=b["labels"]).loss,
    ),
    "a loss in a dict": kind(
        lambda: Masked(give=lambda loss, logits: {"loss": loss, "logits": logits}),
        text,
        lambda m, b: m(b["input_ids"], b["attention_mask"], b["labels"])["loss"],
    ),
    "a loss first in a tuple": kind(
        lambda: Masked(give=lambda loss, logits: (loss, logits)), text, lambda m, b: m(*b.values())[0]
    ),
    "a loss alone": kind(lambda: Masked(give=lambda loss, logits: loss), text, lambda m, b: m(**b)),
    "a BatchEncoding": kind(Masked, lambda n: UserDict(text(n)), lambda m, b: m(**b)[0]),
    "an OrderedDict in another order": kind(
        Masked, lambda n: OrderedDict(reversed(text(n).items())), lambda m, b: m(**b)[0]
    ),
    "that drops": kind(lambda: Masked(0.5), text, lambda m, b: m(**b).loss),
    "a loss of output and batch": kind(
        Masked,
        lambda n: {("target" if name == "labels" else name): part for name, part in text(n).items()},
        lambda m, b: ce(m(b["input_ids"], b["attention_mask"]), b["target"]),
        lambda z, b: ce(z, b["target"]),
    ),
    "output of a class, and a loss of it": kind(
        Masked,
        text,
        lambda m, b: 0.5 * ce(m(**b).logits, b["labels"], label_smoothing=0.1),
        lambda out, b: 0.5 * ce(out.logits, b["labels"], label_smoothing=0.1),
    ),
    "a module as loss of output and batch": kind(
        Towers,
        lambda n: {**two(n), "w": torch.rand(n)},
        lambda m, b: (b["w"] * ce(m(b["a"], b["b"]), b["labels"], reduction="none")).mean(),
        Weighted(),
    ),
    # Several inputs.
    "three tensors, the last the targets": kind(
        Towers, lambda n: (*ab(two(n)), labels(n)), lambda m, b: ce(m(b[0], b[1]), b[2]), ce
    ),
    "a tuple of inputs": kind(Towers, lambda n: (ab(two(n)), labels(n)), lambda m, b: ce(m(*b[0]), b[1]), ce),
    "a tuple for one argument": kind(OfPair, lambda n: (ab(two(n)), labels(n)), lambda m, b: ce(m(b[0]), b[1]), ce),
    "a list of inputs": kind(OfPair, lambda n: ([*ab(two(n))], labels(n)), lambda m, b: ce(m(b[0]), b[1]), ce),
    "a dict of inputs": kind(
        Towers,
        lambda n: (dict(zip("ba", reversed(ab(two(n))), strict=True)), labels(n)),
        lambda m, b: ce(m(b[0]["a"], b[0]["b"]), b[1]),
        ce,
    ),
    "a dict for one argument": kind(
        towers(lambda self, batch: Towers.forward(self, batch["a"], batch["b"])),
        two, lambda m, b: ce(m(b), b["labels"]), lambda z, b: ce(z, b["labels"]),
    ),
    "any names": kind(
        towers(lambda self, **given: ce(Towers.forward(self, given["a"], given["b"]), given["labels"])),
        two, lambda m, b: m(**b),
    ),
    "any arguments": kind(
        towers(lambda self, *given: Towers.forward(self, *given)),  # noqa: PLW0108, its arguments count
        lambda n: (ab(two(n)), labels(n)), lambda m, b: ce(m(*b[0]), b[1]), ce,
    ),
    "a named tuple": kind(Towers, lambda n: Views(*ab(two(n)), labels(n)), lambda m, b: ce(m(b.a, b.b), b.y), ce),
    "lists in lists": kind(
        towers(lambda self, views: Towers.forward(self, views[0][0], views[1]["b"])),
        lambda n: ([[torch.randn(n, 6)], {"b": torch.randn(n, 3)}], [{"y": (labels(n),)}]),
        lambda m, b: ce(m(b[0]), b[1][0]["y"][0]),
        lambda z, y: ce(z, y[0]["y"][0]),
    ),
    "three views, the model gives its loss": kind(
        lambda: Around(
            lambda self, *views: F.triplet_margin_loss(*map(self.part, views), margin=3.0), part=nn.Linear(6, 4)
        ),
        lambda n: (features(n), features(n), features(n)), lambda m, b: m(*b),
    ),
    "sequences of their own lengths": kind(
        lambda: Around(last_of_each, part=nn.GRU(2, 4, batch_first=True), head=nn.Linear(4, 3)),
        lambda n: (torch.randn(n, 5, 2), torch.randint(1, 6, (n,)), labels(n)),
        lambda m, b: ce(m(b[0], b[1]), b[2]),
        ce,
    ),
    # Targets.
    "targets by name": kind(
        Heads, lambda n: (features(n), {"kind": labels(n), "box": torch.randn(n, 2)}),
        lambda m, b: both_heads(m(b[0]), b[1]), both_heads,
    ),
    "targets with weights": kind(
        lambda: nn.Linear(6, 3), lambda n: (features(n), (labels(n), torch.rand(n))),
        lambda m, b: weighted(m(b[0]), b[1]), weighted,
    ),
    "no targets": kind(
        lambda: nn.Linear(6, 3), lambda n: (features(n), None), lambda m, b: m(b[0]).square().mean(),
        lambda z, none: z.square().mean(),
    ),
    "a tensor alone": kind(
        lambda: nn.Sequential(nn.Linear(6, 2), nn.Tanh(), nn.Linear(2, 6)), features,
        lambda m, b: F.mse_loss(m(b), b), F.mse_loss,
    ),
    "a chain of layers, of a dict": kind(
        lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)),
        lambda n: ({"input": features(n)}, labels(n)), lambda m, b: ce(m(b[0]["input"]), b[1]), ce,
    ),
    "a chain of layers, of a list": kind(
        lambda: nn.Linear(6, 3), lambda n: [features(n), labels(n)], lambda m, b: ce(m(b[0]), b[1]),
        nn.CrossEntropyLoss(),
    ),
    "a chain of layers, by name": kind(
        lambda: nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3)),
        lambda n: {"input": features(n), "label": labels(n)},
        lambda m, b: ce(m(b["input"]), b["label"]),
        lambda z, b: ce(z, b["label"]),
    ),
    # What is no tensor.
    "numbers, words and None": kind(
        Scaled,
        lambda n: {"x": features(n), "scale": 0.5, "mode": "tanh", "mask": None, "y": labels(n)},
        lambda m, b: ce(torch.tanh(m.part(b["x"]) * 0.5), b["y"]),
        lambda z, b: ce(z, b["y"]),
    ),
    "a batch that is written to": kind(
        Towers, two, lambda m, b: ce(m(b["a"], b["b"]), b["labels"]),
        lambda z, b: ce(z + b["a"].clamp_(0.0)[:, :3], b["labels"]), Reason.WRITES,
    ),
    "no gradient by name": kind(
        Masked, text, lambda m, b: m(**b).loss, lambda out, b: out.logits.detach().mean(), Reason.BLIND
    ),
}  # fmt: skip
"""By name."""
