"""The shapes of the mirror, and numbers for each client as columns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from fedspec.errors import PlanError, UnknownNameError

Scalar: TypeAlias = float

if TYPE_CHECKING:
    # A tensor may stand wherever the specification has an array.
    Batched: TypeAlias = Any
else:
    Batched = Tensor

Vector: TypeAlias = Float[Batched, "d"]
"""A model, a gradient or a moment as one flat vector of d coordinates."""

Stack: TypeAlias = Float[Batched, "n d"]
"""A vector for each of n clients."""

Stream: TypeAlias = Iterable[Float[Batched, "block d"]]
"""A stack that comes in blocks of consecutive clients and is read once."""

Weights: TypeAlias = Float[Batched, "n"]
"""A number for each of n clients."""

Ended: TypeAlias = tuple[tuple[Stack, ...], Weights]
"""The models of a block after a run with what is handed back beside them, and the losses of the first minibatches."""

Column: TypeAlias = Float[Batched, "n 1"]
"""A number for each of n clients, ready to multiply a stack."""


def device_named(name: str) -> torch.device:
    """The device of that name.

    Raises:
        UnknownNameError: torch does not know it, or it is not there.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnknownNameError(f"torch knows no device {name!r}; set it to cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UnknownNameError(f"{name!r}, but torch {torch.__version__} finds no CUDA device here; set it to cpu")
    return device


def check_whole(what: str, given: Any, remedy: str, least: int = 1) -> None:
    """Refuse what counts something and is no whole number, or too small a one.

    Raises:
        PlanError: with what was given, and the remedy.
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise PlanError(f"{what}: got {given!r}; {remedy}, a whole number >= {least}")


FILLS = {"cpu": 2**23}
"""Bytes of a model that is work enough for a device by itself; 2**27 elsewhere."""


def fills_device(d: int, like: Tensor) -> bool:
    """True if a model of d numbers is so large that training several clients at once gains nothing."""
    return d * like.element_size() > FILLS.get(like.device.type, 2**27)


def numbers(xs: Sequence[Any], like: Batched) -> Weights:
    """Sample sizes or step counts as a vector with the dtype and on the device of ``like``."""
    return torch.tensor([float(x) for x in xs], dtype=like.dtype, device=like.device)


def column(xs: Sequence[Any], like: Batched) -> Column:
    """Make a column of a number for each client, ready to multiply a stack."""
    return numbers(xs, like).unsqueeze(1)


def bytes_of(numbers: Tensor) -> Tensor:
    """The bytes of a tensor's numbers, one after another; its own memory if they lie there in that order.

    A single number may have any stride, and counts as contiguous: torch views it as bytes if its stride is 1.
    """
    flat = numbers.detach().contiguous().reshape(-1)
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)
