"""What a module and a loss compute with beside what is trained: it has to be the same for a run to go on.

It is read when a federation is made. What forward leaves in the module later, such as a table that it makes at its
first call, is no part of it: what forward reads again and changes is refused elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from types import FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fedspec_torch.federation.memories import content


def own_of(module: nn.Module, loss: Any) -> dict[str, str]:
    """Digests of what a module and a loss compute with beside the parameters that are trained, as they are now."""
    return {
        "loss's own numbers": digest(own_numbers(loss)),
        "module's digest": digest([re.sub("0x[0-9a-f]+", "", repr(module)).encode()]),
        "module's own numbers": digest(own_numbers(module)),
    }


def own_numbers(value: Any, depth: int = 6) -> Iterator[bytes]:
    """What a module or a loss computes with beside the parameters that are trained.

    Frozen parameters, buffers, numbers in attributes; of a function those that its text, its defaults, its closure and
    its module's globals hold.
    """
    match value:
        case _ if depth == 0:
            return
        case Tensor():
            yield f"{value.dtype} {tuple(value.shape)}".removeprefix("torch.").encode()
            # What is sparse, or has no values, is told by its shape.
            if value.layout == torch.strided and value.device.type != "meta":
                plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
                yield plain.reshape(-1).view(torch.uint8).numpy().tobytes()
        case np.ndarray():
            yield f"{value.dtype} {value.shape}".encode()
            yield np.ascontiguousarray(value).tobytes() if value.dtype != object else b""
        case None | bool() | int() | float() | complex() | str() | bytes() | torch.dtype():
            yield repr(value).encode()
        case Mapping():
            for key, entry in value.items():
                yield repr(key).encode()
                yield from own_numbers(entry, depth - 1)
        case list() | tuple():
            for entry in value:
                yield from own_numbers(entry, depth - 1)
        case nn.Module():
            tensors = {**dict(value.named_parameters()), **dict(value.named_buffers())}
            yield from own_numbers({n: t for n, t in tensors.items() if not t.requires_grad})
            for name, part in value.named_modules():
                yield name.encode()
                yield from own_numbers({n: v for n, v in vars(part).items() if not n.startswith("_")}, depth - 1)
        case partial():
            yield from own_numbers((value.func, value.args, value.keywords), depth - 1)
        case MethodType():
            yield from own_numbers((value.__self__, value.__func__), depth - 1)
        case FunctionType():
            code, cells = value.__code__, value.__closure__ or ()
            seen = [value.__globals__[n] for n in code.co_names if isinstance(value.__globals__.get(n), NUMBERS)]
            held = [content(cell) for cell in cells]
            yield from own_numbers((code.co_consts, value.__defaults__, value.__kwdefaults__, held, seen), depth - 1)
        case _ if hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
            yield from own_numbers(vars(value), depth - 1)


NUMBERS = (int, float, complex, Tensor, np.ndarray)
"""Of what a function's module holds, these; others are functions and modules with names of their own."""


def digest(pieces: Iterable[bytes]) -> str:
    """Of some bytes, short."""
    found = sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()[:16]
