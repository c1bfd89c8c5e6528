"""Shape types of fedspec_torch, and tensors that hold one number per client."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from jaxtyping import Float
from torch import Tensor

from fedspec.errors import PlanError, UnknownNameError

if TYPE_CHECKING:
    # A tensor may stand wherever the specification has an array.
    Batched: TypeAlias = Any
else:
    Batched = Tensor

Vector: TypeAlias = Float[Batched, "d"]
"""A model, a gradient or a moment as one flat vector of d coordinates."""

Stack: TypeAlias = Float[Batched, "n d"]
"""Vector for each of n clients, as the rows of a matrix."""

Weights: TypeAlias = Float[Batched, "n"]
"""Number for each of n clients."""

Ended: TypeAlias = tuple[tuple[Stack, ...], Weights]
"""Result of training a block: the models and the other returned vectors, then each client's first minibatch loss."""

Column: TypeAlias = Float[Batched, "n 1"]
"""Number for each of n clients, as a column that broadcasts over the rows of a stack."""


def device_named(name: str) -> torch.device:
    """Return torch's device of that name.

    Raises:
        UnknownNameError: torch doesn't know the device's name, or this machine doesn't have the device.
    """
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise UnknownNameError(f"device: got {name!r}, which torch doesn't know; give cpu or cuda") from error
    if device.type == "cuda" and not torch.cuda.is_available():
        raise UnknownNameError(f"device: got {name!r}, but torch {torch.__version__} finds no CUDA device; give cpu")
    return device


def check_whole(what: str, given: Any, remedy: str, least: int = 1) -> None:
    """Raise an error if a count isn't an integer of at least ``least``.

    Raises:
        PlanError: the count isn't an integer of at least ``least``; the message has the given value and the remedy.
    """
    if isinstance(given, bool) or not isinstance(given, Integral) or int(given) < least:
        raise PlanError(f"{what}: got {given!r}; {remedy}, a whole number >= {least}")


FILLS = {"cpu": 2**23}
"""Model size in bytes above which training one client alone keeps a device busy; 2**27 for other devices."""


def fills_device(d: int, like: Tensor) -> bool:
    """True if a model of d numbers is so large that training several clients at once saves no time."""
    return d * like.element_size() > FILLS.get(like.device.type, 2**27)


def numbers(xs: Sequence[Any], like: Batched) -> Weights:
    """Convert one number per client to a vector with the dtype and device of ``like``."""
    return torch.tensor([float(x) for x in xs], dtype=like.dtype, device=like.device)


def column(xs: Sequence[Any], like: Batched) -> Column:
    """Convert one number per client to a column [n, 1] with the dtype and device of ``like``."""
    return numbers(xs, like).unsqueeze(1)


def bytes_of(numbers: Tensor) -> Tensor:
    """Return a tensor's numbers as bytes: a view if the tensor is contiguous, else a copy.

    A single number may have any stride, and counts as contiguous: torch views it as bytes if its stride is 1.
    """
    flat = numbers.detach().contiguous().reshape(-1)
    return flat.as_strided(flat.shape, (1,)).view(torch.uint8)
