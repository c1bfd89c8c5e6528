"""Keys of functions: two functions with equal keys have equal code and closures, so they compute the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, CellType, CodeType, FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor


class UnknownPartError(TypeError):
    """Error: a function or value contains a part for which no key is defined."""


def key_of(
    part: Any,
    tensor: Callable[[Tensor], Hashable],
    takes: Callable[[FunctionType], bool] = lambda f: True,
    above: tuple[int, ...] = (),
) -> Hashable:
    """Return a value's key: numbers by value, functions by their code and closures.

    Values that a function reads from its module aren't part of its key.

    Args:
        part: the value to find the key of.
        tensor: function that returns the key of a tensor.
        takes: predicate: True for a function of a module that doesn't change.
        above: the ids of the values that contain this one.

    Raises:
        UnknownPartError: the value contains something else than numbers, tensors, records and accepted functions.
    """
    if id(part) in above:
        # A function that calls itself.
        return ("above", above.index(id(part)))

    def inner(part: Any) -> Hashable:
        return key_of(part, tensor, takes, known)

    known = (*above, id(part))
    match part:
        case None | bool() | int() | str() | Enum() | torch.dtype() | torch.device() | CodeType():
            return (type(part), part)
        case float():
            # -0 is another number than 0.
            return (float, part.hex())
        case Tensor():
            return ("tensor", tensor(part))
        case slice():
            return ("slice", part.start, part.stop, part.step)
        case tuple() if all(type(one) is int for one in part):
            return (tuple, part)
        case tuple() | list():
            return (type(part), *(inner(one) for one in part))
        case Mapping():
            return ("mapping", *((inner(name), inner(one)) for name, one in part.items()))
        case partial():
            return ("partial", *(inner(one) for one in (part.func, part.args, part.keywords)))
        case MethodType():
            return ("method", inner(part.__func__), inner(part.__self__))
        case FunctionType() if takes(part):
            cells = part.__closure__ or ()
            more = (part.__defaults__, part.__kwdefaults__, *(_content(cell) for cell in cells))
            return ("function", part.__code__, *(inner(one) for one in more))
        case BuiltinFunctionType() | type():
            return ("named", part)
        case _ if is_dataclass(part):
            return (type(part), *(inner(getattr(part, f.name)) for f in fields(part)))
    raise UnknownPartError(f"{type(part).__name__} is no number, tensor, function or record")


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError as error:
        raise UnknownPartError("a function closes over a variable that has no value yet") from error
