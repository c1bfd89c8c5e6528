"""Saved runs: records and tensors in a safetensors file, which is read without running code.

The file's body has the tensors; its header has their structure, as JSON. Only records and readings of fedspec's own
packages are rebuilt from it.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec.catalogue import CATALOGUE
from fedspec.errors import FedspecError
from fedspec.parsing import parse_json
from fedspec_torch.arith import bytes_of
from fedspec_torch.ranks.processes import running

FORMER = {
    f"fedspec_torch.gradients.{module}.Choice": "fedspec_torch.federation.autotune.Choice"
    for module in ("choosing", "autotune")
}
"""Today's dotted names of records that files of earlier versions name otherwise."""
FORMAT = "3"
"""Version of the file layout; version 3 added steps that are drawn once, and new module paths."""

OWN = ("fedspec", "fedspec_torch")
PLUGINS = "fedspec.plugins."


class CheckpointError(FedspecError):
    """Error: a file isn't a saved run, is damaged, or belongs to another run; the message says which, and a remedy."""


def write(file: Path, content: Mapping[str, Any]) -> None:
    """Write records, tensors and numbers to a file atomically.

    Raises:
        CheckpointError: the file's folder doesn't exist, or the path is a folder.
        OSError: the file can't be written, for example because the disk is full.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    if not file.parent.is_dir():
        raise CheckpointError(f"{file}: the folder {file.parent} doesn't exist; make it first")
    if file.is_dir():
        raise CheckpointError(f"{file}: it is a folder; give the name of a file")
    tensors: dict[str, Tensor] = {}
    parts = {name: _told(value, tensors) for name, value in content.items()}
    for name in ("h", "state"):
        if parts.get(name, ...) is None and content[name] is not None:
            kind = _name(content[name])
            raise CheckpointError(
                f"{file}: {kind} isn't in the file of a row of the catalogue, so a saved run can't load it; define the "
                "algorithm's records in the file of its row"
            )
    told = json.dumps(parts)
    # The format wants one tensor at least.
    tensors = tensors or {"empty": torch.zeros(0)}
    header = {"fedspec": FORMAT, "content": told, "digest": digest(told, tensors)}
    sweep(file)
    # The library writes a temporary file of its own beside the one that it is told: both lie in a folder of ours.
    folder = Path(tempfile.mkdtemp(dir=file.parent, prefix=_beside(file)))
    beside = folder / file.name
    try:
        # From where the tensors lie: bytes of the whole file would be a second copy of the state.
        save_file(tensors, beside, metadata=header)
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        beside.replace(file)
    except SafetensorError as error:
        raise OSError(f"{file}: {error}") from error
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def read(
    file: Path, device: torch.device | str = "cpu", entries: Mapping[str, type | UnionType] | None = None
) -> dict[str, Any]:
    """Read a file of tensors and records, after checking its format and digest.

    Args:
        file: the path of the file.
        device: the device to which its tensors are moved.
        entries: the required entries, and their types.

    Raises:
        CheckpointError: the file doesn't exist, isn't a checkpoint of this format, or is damaged.
    """
    from safetensors import SafetensorError, safe_open

    if not file.is_file():
        raise CheckpointError(f"{file}: no such file")
    try:
        with safe_open(file, framework="pt", device=str(device)) as opened:
            header = opened.metadata() or {}
            tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    except (SafetensorError, OSError, ValueError, TypeError, RuntimeError, KeyError) as error:
        # A spoiled header may name types and shapes that torch, not safetensors, refuses.
        raise CheckpointError(f"{file}: it is damaged, or isn't a saved run ({error}); take an earlier one") from error
    if header.get("fedspec") != FORMAT:
        raise CheckpointError(
            f"{file}: a safetensors file, but not a saved run of this version of fedspec (its format is "
            f"{header.get('fedspec', 'unknown')}, this version reads {FORMAT})"
        )
    if header.get("digest") != digest(header.get("content", ""), tensors):
        raise CheckpointError(f"{file}: damaged: its content differs from what was written; take an earlier one")
    try:
        found = {name: _made(value, tensors) for name, value in parse_json(header["content"]).items()}
        for name, kind in (entries or {}).items():
            if not isinstance(found[name], kind):
                raise ValueError(f"{name} is of type {type(found[name]).__name__}")
        return found
    except (KeyError, IndexError, TypeError, ValueError, OverflowError, AttributeError, ImportError) as error:
        raise CheckpointError(f"{file}: its header does not fit this version of fedspec ({error})") from error


def digest(told: str, tensors: Mapping[str, Tensor]) -> str:
    """Return a digest of the header's text and of each tensor's name, dtype, shape and bytes, to detect damage."""
    found = sha256(told.encode())
    for name in sorted(tensors):
        tensor = tensors[name].cpu()
        found.update(f"\n{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        found.update(bytes_of(tensor).numpy())  # type: ignore[arg-type]
    return found.hexdigest()


def _beside(file: Path) -> str:
    """Prefix of the temporary files that this process writes beside a file before it replaces the file."""
    return f".{file.name}.{platform.node()}-{os.getpid()}-"


def sweep(file: Path) -> None:
    """Delete temporary files and folders beside ``file`` that killed processes of this machine left."""
    start = f".{file.name}.{platform.node()}-"
    for left in file.parent.iterdir():
        owner = left.name.removeprefix(start).partition("-")[0]
        if left.name.startswith(start) and owner.isdecimal() and not running(int(owner)):
            shutil.rmtree(left) if left.is_dir() else left.unlink(missing_ok=True)


def _told(value: Any, tensors: dict[str, Tensor]) -> Any:
    """A value as JSON; its tensors go to the body."""
    if isinstance(value, Tensor | np.ndarray):
        name, tensor = str(len(tensors)), torch.as_tensor(value).detach()
        # The format refuses tensors with gaps, and those that share memory.
        alone = tensor.is_contiguous() and tensor.untyped_storage().nbytes() == tensor.nbytes
        held = {known.untyped_storage().data_ptr() for known in tensors.values()}
        if not alone or tensor.untyped_storage().data_ptr() in held:
            tensor = tensor.clone(memory_format=torch.contiguous_format)
        tensors[name] = tensor
        return {"tensor": name, "numpy": isinstance(value, np.ndarray)}
    if isinstance(value, StrEnum):
        return {"enum": _name(value), "value": str(value)}
    if is_dataclass(value) and not isinstance(value, type):
        if not _looked_up(type(value).__module__):
            return None
        parts = {f.name: _told(getattr(value, f.name), tensors) for f in fields(value) if f.init}
        return {"record": _name(value), "fields": parts}
    if isinstance(value, Mapping):
        return {"mapping": [[_told(key, tensors), _told(entry, tensors)] for key, entry in value.items()]}
    if isinstance(value, tuple | list):
        return {"tuple": [_told(entry, tensors) for entry in value], "list": isinstance(value, list)}
    if isinstance(value, slice):
        return {"slice": [value.start, value.stop, value.step]}
    if isinstance(value, np.integer | np.floating):
        return value.item()
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return None


def _made(told: Any, tensors: Mapping[str, Tensor]) -> Any:
    match told:
        case {"tensor": name, "numpy": numpy}:
            return tensors[name].cpu().numpy() if numpy else tensors[name]
        case {"enum": name, "value": value}:
            return _own(name, StrEnum)(value)
        case {"record": name, "fields": parts}:
            return _own(name, object)(**{n: _made(part, tensors) for n, part in parts.items()})
        case {"mapping": entries}:
            return {_made(key, tensors): _made(entry, tensors) for key, entry in entries}
        case {"tuple": entries, "list": is_list}:
            made = [_made(entry, tensors) for entry in entries]
            return made if is_list else tuple(made)
        case {"slice": [start, stop, step]}:
            return slice(start, stop, step)
        case dict():
            raise ValueError(f"unknown entry {sorted(told)}")
    return told


def _name(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _looked_up(module: str) -> bool:
    """True for a module of fedspec's own, or one that defines a row of the catalogue."""
    return module.split(".", maxsplit=1)[0] in OWN or any(
        getattr(a.run, "init", a).__module__ == module for a in CATALOGUE.values()
    )


def _own(name: str, kind: type) -> Any:
    """A record or reading of fedspec's own, or of a row's file, by its dotted name; nothing else is ever looked up."""
    module, _, cls = FORMER.get(name, name).rpartition(".")
    if not _looked_up(module) or (module.startswith(PLUGINS) and module not in sys.modules):
        raise ValueError(
            f"{name} isn't one of fedspec's records; if it belongs to your own algorithm, name its file (--plugin)"
        )
    found = getattr(sys.modules.get(module) or import_module(module), cls)
    own = isinstance(found, type) and issubclass(found, kind)
    if not own or not (is_dataclass(found) or issubclass(found, StrEnum)):
        raise ValueError(f"{name} isn't one of fedspec's records")
    return found
