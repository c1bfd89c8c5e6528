"""The specification with a function that sees one block of the model at a time, where it is to see the whole model."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from functools import wraps
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np

from fedspec.contract import Case, Session
from fedspec.params import layers, shapes
from fedspec.reference import SUBJECT
from fedspec_suite.mutants import started


def by_blocks(path: str) -> Any:
    """The specification with a function that is applied to each block of the model by itself."""
    module, _, name = path.rpartition(".")
    function = getattr(import_module(module), name)

    def start(case: Case) -> Session:
        by_itself = _by_itself(function, layers(shapes(case.x0)))
        return started(case, {function: lambda names: by_itself})

    return SimpleNamespace(info=SUBJECT.info, start=start)


def _by_itself(function: Callable[..., Any], blocks: tuple[slice, ...]) -> Callable[..., Any]:
    d, said = blocks[-1].stop, inspect.signature(function)
    # As many clients as coordinates may take part.
    shared = {p.name for p in said.parameters.values() if p.annotation == "Weights"}

    @wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        if len(blocks) == 1:
            return function(*given, **named)
        values = said.bind(*given, **named).arguments
        parts = []
        for at in blocks:
            own = said.bind(*given, **named)
            own.arguments.update({n: v if n in shared else _alone(v, at, d) for n, v in values.items()})
            parts.append(function(*own.args, **own.kwargs))
        return _joined(parts, blocks)

    return run


def _alone(value: Any, at: slice, d: int) -> Any:
    """Block of a value with as many numbers as the model, alone or as a row; other values whole."""
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _alone(getattr(value, f.name), at, d) for f in fields(value)})
    if isinstance(value, np.ndarray) and value.shape[-1:] == (d,):
        return value[..., at]
    return [_alone(v, at, d) for v in value] if isinstance(value, list) else value


def _joined(parts: list[Any], blocks: tuple[slice, ...]) -> Any:
    """The blocks' worth of a result in one; of what is none of a block's, the last."""
    if isinstance(parts[0], dict):
        return {n: _joined([p[n] for p in parts], blocks) for n in parts[0]}
    if is_dataclass(parts[0]) and not isinstance(parts[0], type):
        own = {f.name: _joined([getattr(p, f.name) for p in parts], blocks) for f in fields(parts[0])}
        return replace(parts[0], **own)
    if isinstance(parts[0], tuple):
        return tuple(_joined([*some], blocks) for some in zip(*parts, strict=True))
    sizes = [at.stop - at.start for at in blocks]
    if all(isinstance(p, np.ndarray) and p.shape[-1:] == (n,) for p, n in zip(parts, sizes, strict=True)):
        return np.concatenate(parts, axis=-1)
    return parts[-1]
