"""Detection of side effects of a module or a loss: writes to tensors, and values kept in attributes or closures."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Hashable, Mapping
from enum import Enum
from functools import partial
from types import CellType, FunctionType, MethodType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fedspec_torch.arith import bytes_of

FEW = 2**14
"""Number of a tensor's entries that are compared to detect a change."""

DEEP = 6
"""Depth to which nested lists and objects are compared."""


class WriteWatcher(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Dispatch mode that records which of some tensors an operation writes to, even if the values stay the same.

    Attributes:
        names: the names of the tensors that an operation wrote to.
        drew: True if an operation drew at random, from any generator.
    """

    def __init__(self, tensors: Mapping[str, Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        # What is empty has no memory, as everything else that is empty.
        held = {name: tensor for name, tensor in tensors.items() if tensor.numel()}
        self.places = {tensor.untyped_storage().data_ptr(): name for name, tensor in held.items()}
        self.names: list[str] = []
        self.drew = False

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Else torch imports its compiler here, which takes seconds.
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run an operation, and record the writes that its schema declares."""
        self.drew = self.drew or torch.Tag.nondeterministic_seeded in func.tags
        given = dict(zip((a.name for a in func._schema.arguments), args, strict=False)) | (kwargs or {})
        for argument in func._schema.arguments:
            if argument.is_write:
                for tensor in tree_leaves(given.get(argument.name)):
                    name = self._name(tensor)
                    if name and name not in self.names:
                        self.names.append(name)
        return func(*args, **(kwargs or {}))

    def _name(self, tensor: Any) -> str | None:
        if not isinstance(tensor, Tensor) or tensor.layout != torch.strided:
            return None
        return self.places.get(tensor.untyped_storage().data_ptr())


def held_values(module: nn.Module, loss: Any) -> dict[str, Hashable]:
    """Return the values in the attributes and closures of a module's submodules and of a loss, by path.

    Parameters and buffers are left out, since other checks cover them; values of unknown kinds are left out too.
    """
    found: dict[str, Hashable] = {"what the loss holds (its closure or attributes)": value_of(loss)}
    for name, part in module.named_modules():
        for attribute, value in vars(part).items():
            if attribute not in HELD:
                where = f"the attribute {attribute} of {name or 'the module'} ({type(part).__name__})"
                found[where] = value_of(value)
    return found


HELD = frozenset(vars(nn.Module()))
"""Attributes that every module has, which are ignored."""


def value_of(thing: Any) -> Hashable:
    """Return a hashable that is equal for equal values."""
    return _value_of(thing, ())


def _value_of(thing: Any, above: tuple[int, ...]) -> Hashable:
    if thing is None or isinstance(thing, bool | int | str | bytes | complex | Enum | torch.dtype):
        return (type(thing), thing)
    if isinstance(thing, float):
        return (float, thing.hex())
    if len(above) >= DEEP or id(thing) in above:
        return type(thing).__qualname__
    inner = (*above, id(thing))
    match thing:
        case Tensor():
            return _of_tensor(thing)
        case np.ndarray():
            return (thing.shape, str(thing.dtype), thing.tobytes() if thing.dtype != object else b"")
        case np.random.Generator() | np.random.BitGenerator():
            bits: Any = getattr(thing, "bit_generator", thing)
            return repr(bits.state)
        case random.Random():
            return repr(thing.getstate())
        case torch.Generator():
            return thing.get_state().numpy().tobytes()
        case Mapping():
            return tuple((_value_of(k, inner), _value_of(v, inner)) for k, v in [*thing.items()])
        case list() | tuple() | deque() | set() | frozenset():
            # A set has no order of its own, but keeps it while it is not changed.
            return (len(thing), *(_value_of(one, inner) for one in [*thing]))
        case partial():
            return _value_of((thing.func, thing.args, thing.keywords), inner)
        case MethodType():
            return _value_of((thing.__func__, thing.__self__), inner)
        case FunctionType():
            cells = [content(cell) for cell in thing.__closure__ or ()]
            return _value_of((cells, thing.__defaults__, thing.__kwdefaults__, thing.__dict__), inner)
        case type():
            return thing.__qualname__
    if isinstance(thing, nn.Module):
        # However deep its parts are: a teacher that a loss moves, say.
        tensors = {**dict(thing.named_parameters()), **dict(thing.named_buffers())}
        told = [(name, _of_tensor(tensor)) for name, tensor in tensors.items()]
        for name, part in thing.named_modules():
            told += [(f"{name}.{n}", _value_of(v, inner)) for n, v in vars(part).items() if n not in HELD]
        return (type(thing).__qualname__, *told)
    if type(thing).__module__.startswith("torch.") and not isinstance(thing, nn.Module):
        # A compiler's caches, say.
        return type(thing).__qualname__
    return _value_of(getattr(thing, "__dict__", None), inner)


def _of_tensor(tensor: Tensor) -> Hashable:
    like = (tuple(tensor.shape), str(tensor.dtype), str(tensor.device))
    # On a GPU sums may be added in another order; what is only described has no numbers.
    if tensor.device.type != "cpu" or tensor.layout != torch.strided:
        return like
    plain = tensor.detach().reshape(-1)[:: 1 + tensor.numel() // FEW].resolve_conj().resolve_neg()
    return (*like, bytes_of(plain).numpy().tobytes())


def content(cell: CellType) -> Any:
    """Content of a closure's cell; None if it is empty."""
    try:
        return cell.cell_contents
    except ValueError:
        return None
