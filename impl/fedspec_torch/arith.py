"""The shapes of the mirror, and the two things that a batch axis adds: a mask, and numbers as columns."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any, ParamSpec, TypeAlias, TypeVar

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from fedspec.errors import ShapeError

Scalar: TypeAlias = float

if TYPE_CHECKING:
    # A tensor may stand wherever the specification has an array.
    Batched: TypeAlias = Any
else:
    Batched = Tensor

Vector: TypeAlias = Float[Batched, "d"]
"""A model, a gradient or a moment as one flat vector of d coordinates."""

Stack: TypeAlias = Float[Batched, "n d"]
"""One vector for each of n clients."""

Stream: TypeAlias = Iterable[Float[Batched, "block d"]]
"""A stack that comes in blocks of consecutive clients and is read once."""

Weights: TypeAlias = Float[Batched, "n"]
"""One number for each of n clients."""

Column: TypeAlias = Float[Batched, "n 1"]
"""One number for each of n clients, ready to multiply a stack."""

Mask: TypeAlias = Bool[Tensor, "n"]
"""Which of n clients take this step."""

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")


def _agreeing(function: Callable[P, R], ndim: int) -> Callable[P, R]:
    @functools.wraps(function)
    def checked(*args: P.args, **kwargs: P.kwargs) -> R:
        given = [*args, *(value for name, value in kwargs.items() if name not in ("active", "out"))]
        tensors = [a for a in given if isinstance(a, Tensor)]
        x = tensors[0]
        for a in tensors:
            if a.ndim != ndim or a.shape != x.shape or a.dtype != x.dtype:
                said = ", ".join(f"{tuple(a.shape)} {a.dtype}" for a in tensors)
                what = "stacks [n, d]" if ndim == 2 else "vectors [d]"
                raise ShapeError(f"{function.__name__}: {what} of one shape and dtype are needed, got {said}")
        return function(*args, **kwargs)

    return checked


def on_stacks(function: Callable[P, R]) -> Callable[P, R]:
    """Check that the stacks of a rule are [n, d] and agree, since torch would broadcast.

    Raises:
        ShapeError: when the rule is called and they do not.
    """
    return _agreeing(function, 2)


def on_vectors(function: Callable[P, R]) -> Callable[P, R]:
    """Check that the vectors of a rule are [d] and agree, since torch would broadcast.

    Raises:
        ShapeError: when the rule is called and they do not.
    """
    return _agreeing(function, 1)


def masked(rule: Callable[..., Any], active: Mask | None) -> Callable[..., Any]:
    """A client rule of the specification on a stack, of whose clients only some take the step; None: all take it."""
    if active is None:
        return rule

    @functools.wraps(rule)
    def step(state: Any, *args: Any, **kwargs: Any) -> Any:
        after = rule(state, *args, **kwargs)
        if isinstance(after, tuple):
            return keep(active, after[0], state), *after[1:]
        return keep(active, after, state)

    return step


def keep(active: Mask | None, new: S, old: S) -> S:
    """The new state of the clients that take the step, the old state of the others; None: all take it.

    A number in a state, such as the steps taken, is that of the clients that are still under way.

    Raises:
        ShapeError: the mask does not hold one boolean for each client.
    """
    if active is None:
        return new
    after: Any = new
    before: Any = old
    if is_dataclass(after):
        parts = {f.name: keep(active, getattr(after, f.name), getattr(before, f.name)) for f in fields(after)}
        return replace(after, **parts)  # type: ignore[type-var, return-value]
    if not isinstance(after, Tensor):
        return new
    if active.shape != after.shape[:1] or active.dtype != torch.bool:
        raise ShapeError(f"active: {tuple(active.shape)} {active.dtype}; one boolean for each of {len(after)} clients")
    rows: Any = torch.where(active.view(-1, *[1] * (after.ndim - 1)), after, before)
    return rows  # type: ignore[no-any-return]


def numbers(xs: Sequence[Any], like: Batched) -> Weights:
    """Sample sizes or step counts as a vector with the dtype and on the device of ``like``."""
    return torch.tensor([float(x) for x in xs], dtype=like.dtype, device=like.device)


def column(xs: Sequence[Any], like: Batched) -> Column:
    """One number for each client as a column, ready to multiply a stack."""
    return numbers(xs, like).unsqueeze(1)
