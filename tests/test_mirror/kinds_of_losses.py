"""Kinds by loss, on a linear layer or two."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from test_mirror.kinds import Draw, Kind, real, signs
from torch import Tensor, nn
from torch.nn import functional as F


def classes(k: int, *shape: int) -> Draw:
    """Targets that are numbers of classes."""
    return lambda n: torch.randint(k, (n, *shape))


def zero_or_one(*shape: int) -> Draw:
    """Targets that are 0 or 1."""
    return lambda n: torch.randint(2, (n, *shape)).float()


def shares(n: int) -> Tensor:
    """Targets that are shares of three classes."""
    return torch.rand(n, 3).softmax(1)


def counts(n: int) -> Tensor:
    """Targets that are counts."""
    return torch.randint(4, (n, 3)).float()


def first_class(n: int) -> Tensor:
    """Targets of three labels, as MultiLabelMarginLoss has them: some classes, then -1."""
    return torch.tensor([[1, -1, 0]]).repeat(n, 1)


def some_left_out(k: int) -> Draw:
    """Classes of which those of every second example are another number, which the loss leaves out."""

    def drawn(n: int) -> Tensor:
        targets = torch.randint(1, 3, (n,))
        targets[1::2] = k
        return targets

    return drawn


def late(k: int) -> Draw:
    """The same for the last example alone, which nobody sees in the first step."""

    def drawn(n: int) -> Tensor:
        targets = torch.randint(1, 3, (n,))
        targets[-1] = k
        return targets

    return drawn


def on(k: int, loss: Any, targets: Draw, *after: nn.Module) -> Kind:
    """A loss of k outputs of a linear layer, and of what comes after it."""
    module = (lambda: nn.Sequential(nn.Linear(6, k), *after)) if after else (lambda: nn.Linear(6, k))
    return Kind(module, lambda module: loss, targets=targets)


def two(loss: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """A loss of two halves of the outputs."""
    return lambda z, t: loss(*z.chunk(2, 1), t)


def three(loss: Any) -> Callable[[Tensor, Tensor], Tensor]:
    """A loss of three thirds of the outputs, and of nothing else."""
    return lambda z, t: loss(*z.chunk(3, 1))


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
    "CrossEntropyLoss of shares": on(3, nn.CrossEntropyLoss(), shares),
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
    "L1Loss": on(3, nn.L1Loss(), real(3)),
    "HuberLoss": on(3, nn.HuberLoss(delta=0.5), real(3)),
    "SmoothL1Loss": on(3, nn.SmoothL1Loss(), real(3)),
    "BCELoss": on(3, nn.BCELoss(), zero_or_one(3), nn.Sigmoid()),
    "BCEWithLogitsLoss": on(3, nn.BCEWithLogitsLoss(pos_weight=weights), zero_or_one(3)),
    "PoissonNLLLoss": on(3, nn.PoissonNLLLoss(), counts),
    "GaussianNLLLoss": on(2, lambda z, t: F.gaussian_nll_loss(z[:, :1], t, z[:, 1:].exp()), real(1)),
    "KLDivLoss": on(3, nn.KLDivLoss(reduction="batchmean"), shares, nn.LogSoftmax(1)),
    "SoftMarginLoss": on(1, lambda z, t: F.soft_margin_loss(z[:, 0], t), signs),
    "HingeEmbeddingLoss": on(1, lambda z, t: F.hinge_embedding_loss(z[:, 0], t), signs),
    "MultiMarginLoss": on(3, nn.MultiMarginLoss(), classes(3)),
    "MultiLabelMarginLoss": on(3, nn.MultiLabelMarginLoss(), first_class),
    "MultiLabelSoftMarginLoss": on(3, nn.MultiLabelSoftMarginLoss(), zero_or_one(3)),
    "CosineEmbeddingLoss": on(6, two(nn.CosineEmbeddingLoss()), signs),
    "MarginRankingLoss": on(2, two(nn.MarginRankingLoss(0.1)), lambda n: signs(n)[:, None]),
    "TripletMarginLoss": on(9, three(nn.TripletMarginLoss()), classes(3)),
    "TripletMarginWithDistanceLoss": on(9, three(nn.TripletMarginWithDistanceLoss()), classes(3)),
    "CTCLoss": on(16, recognised, classes(3, 2)),
    "AdaptiveLogSoftmaxWithLoss": adaptive(),
}
"""By name."""
