"""Fingerprints of everything that a module and a loss compute with, except the trained parameters.

The fingerprint is computed when a federation is made. Values that ``forward`` stores in the module later, such as a
table at its first call, aren't part of it: other checks refuse values that ``forward`` both reads and changes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from types import FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias
from zlib import crc32

import numpy as np
import torch
from torch import Tensor, nn

from fedspec_torch.arith import bytes_of
from fedspec_torch.federation.side_effects import content


@dataclass(frozen=True)
class Fingerprint:
    """Fingerprint of a module and a loss without the trained parameters.

    Attributes:
        digests: the digests of the whole and of each part, by name.
        parts: each part, under the same names as the digests: its value if that is short, else its digest.
    """

    digests: dict[str, str]
    parts: dict[str, dict[str, str]]


def fingerprint_of(module: nn.Module, loss: Any) -> Fingerprint:
    """Compute the fingerprint of a module and a loss now."""
    text = re.sub("0x[0-9a-f]+", "", repr(module))
    lines = {f"line {n}": line.strip() for n, line in enumerate(text.splitlines(), 1)}
    of_loss, of_module = (digested(external_values(part)) for part in (loss, module))
    digests = {
        "loss's own numbers": of_loss[0],
        "module's digest": digest([text.encode()]),
        "module's own numbers": of_module[0],
    }
    return Fingerprint(
        digests, {"loss's own numbers": of_loss[1], "module's digest": lines, "module's own numbers": of_module[1]}
    )


Piece: TypeAlias = tuple[str, str, bytes]
"""Path of a piece, its value if it is short, and its bytes."""


def digested(pieces: Iterable[Piece]) -> tuple[str, dict[str, str]]:
    """Return the digest of all pieces, and each piece's value or checksum by path."""
    whole, parts = sha256(), dict[str, str]()
    for where, value, piece in pieces:
        whole.update(piece)
        parts[where] = value or f"{parts.get(where, '')} of checksum {crc32(piece):08x}".strip()
    return whole.hexdigest()[:16], parts


def differing(there: Mapping[str, Any], here: Mapping[str, Any], most: int = 3) -> str:
    """Describe the entries in which two mappings differ, with both values; at most the first ``most``."""

    def said(name: str) -> str:
        was = f"was {there[name]}" if name in there else "was not there"
        return f"{name} {was}, here it is {here.get(name, 'not there')}"

    names = [name for name in {**there, **here} if there.get(name, ...) != here.get(name, ...)]
    return ", ".join(map(said, names[:most])) + (f", and {len(names) - most} more" if len(names) > most else "")


def external_values(value: Any, depth: int = 6, where: str = "") -> Iterator[Piece]:
    """Yield everything that a module or a loss computes with, except the trained parameters.

    These are frozen parameters, buffers and numbers in attributes; for a function, the numbers in its code, its
    defaults, its closure and its module's globals.
    """

    def each(values: Iterable[Any], names: Iterable[str], down: int = 1) -> Iterator[Piece]:
        for entry, name in zip(values, names, strict=False):
            yield from external_values(entry, depth - down, f"{where} {name}".strip())

    match value:
        case _ if depth <= 0:
            return
        case Tensor():
            kind = f"{value.dtype} {tuple(value.shape)}".removeprefix("torch.")
            strided = value.layout == torch.strided and value.device.type != "meta"
            short = strided and value.numel() <= FEW and not value.is_complex()
            yield where, kind, kind.encode()
            # What is sparse, or has no values, is told by its shape.
            if strided:
                plain = value.detach().cpu().resolve_conj().resolve_neg()
                yield where, f"{plain.tolist()}" if short else "", bytes_of(plain).numpy().tobytes()
        case np.ndarray():
            yield where, f"{value.dtype} {value.shape}", f"{value.dtype} {value.shape}".encode()
            short = value.size <= FEW and value.dtype != object
            yield (
                where,
                f"{value.tolist()}" if short else "",
                np.ascontiguousarray(value).tobytes() if value.dtype != object else b"",
            )
        case None | bool() | int() | float() | complex() | str() | bytes() | torch.dtype():
            said = repr(value)
            yield where, said if len(said) <= SHORT else "", said.encode()
        case Mapping():
            for key, entry in value.items():
                here = f"{where}.{key}" if where else f"{key}"
                yield here, f"{type(entry).__name__}", repr(key).encode()
                yield from external_values(entry, depth - 1, here)
        case list() | tuple():
            yield from each(value, (f"[{k}]" for k in range(len(value))))
        case nn.Module():
            tensors = {**dict(value.named_parameters()), **dict(value.named_buffers())}
            yield from external_values({n: t for n, t in tensors.items() if not t.requires_grad}, where=where)
            for name, part in value.named_modules():
                here = f"{where}.{name}".strip(".")
                yield here, type(part).__name__, name.encode()
                yield from external_values(
                    {n: v for n, v in vars(part).items() if not n.startswith("_")}, depth - 1, here
                )
        case partial():
            yield from each((value.func, value.args, value.keywords), ("", "argument", "argument"), 2)
        case MethodType():
            yield from each((value.__self__, value.__func__), ("", ""), 2)
        case FunctionType():
            code, cells = value.__code__, value.__closure__ or ()
            seen = {n: value.__globals__[n] for n in code.co_names if isinstance(value.__globals__.get(n), NUMBERS)}
            held = [content(cell) for cell in cells]
            given = (code.co_consts, value.__defaults__, value.__kwdefaults__)
            yield from each(given, ("constant", "default", "keyword default"), 2)
            if depth > 2:
                yield from each(held, code.co_freevars, 3)
                yield from each(seen.values(), seen, 3)
        case _ if hasattr(value, "__dict__") and not isinstance(value, type | ModuleType):
            yield from external_values(vars(value), depth - 1, where)


FEW, SHORT = 4, 40
"""Most numbers of a tensor, and most characters of a value, that are reported in full."""

NUMBERS = (int, float, complex, Tensor, np.ndarray)
"""Types of a function's globals that the fingerprint contains; functions and modules are left out."""


def digest(pieces: Iterable[bytes]) -> str:
    """Return a short digest of bytes."""
    found = sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()[:16]
