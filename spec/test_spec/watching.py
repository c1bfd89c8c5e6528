"""In tests, what a rule returns is looked at like what it is given, and its arguments cannot be written into."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from functools import wraps
from typing import Any

import jaxtyping
import numpy as np

from fedspec import rules

Rule = Callable[..., Any]


class WatchedError(AssertionError):
    """A rule does what no rule may."""


def watched(checked: Callable[[Rule], Rule]) -> Callable[[Rule], Rule]:
    """The decorator of rules, whose functions are watched; not where a test switches checks of shapes off."""

    def strictly(function: Rule) -> Rule:
        call = checked(function)
        signature = inspect.signature(function)
        notes = {n: str(p.annotation) for n, p in signature.parameters.items()}
        returned = _parts(str(signature.return_annotation))

        @wraps(call)
        def seen(*args: Any, **kwargs: Any) -> Any:
            if jaxtyping.config.jaxtyping_disable:
                return call(*args, **kwargs)
            given = dict(zip(notes, args, strict=False)) | kwargs
            with read_only(f"{function.__name__}: an argument", list(given.values())):
                result = call(*args, **kwargs)
            found = [axes for name, value in given.items() for axes in rules._axes(name, value, notes[name])]
            results = result if isinstance(result, tuple) else (result,)
            for value, note in zip(results, returned, strict=True):
                found += rules._axes("what it returns", value, note)
            if complaint := rules._complaint(tuple((shape, axes, type(d), d) for _, shape, axes, d in found)):
                said = ", ".join(f"{name} {shape} for [{' '.join(axes)}]" for name, shape, axes, _ in found)
                raise WatchedError(f"{function.__name__}: {complaint}: {said}")
            return result

        return seen

    return strictly


def _parts(note: str) -> list[str]:
    return note.removeprefix("tuple[").removesuffix("]").split(", ") if note.startswith("tuple[") else [note]


@contextmanager
def read_only(what: str, tree: Any) -> Iterator[None]:
    """NumPy's arrays in a tree refuse to be written into; torch's are looked at afterwards."""
    arrays = list(_arrays(tree))
    versions = [a._version for a in arrays if hasattr(a, "_version")]
    # A view of what is read-only already, or of another library's memory, could not be given back.
    frozen = [a for a in arrays if isinstance(a, np.ndarray) and a.flags.writeable and _gives_back(a)]
    for a in frozen:
        a.flags.writeable = False
    try:
        yield
    except ValueError as error:
        if "read-only" in str(error):
            raise WatchedError(f"{what} is written into; make a new array") from error
        raise
    finally:
        # A view cannot be written into before what it is a view of.
        for a in sorted(frozen, key=lambda a: a.base is not None):
            a.flags.writeable = True
    if versions != [a._version for a in arrays if hasattr(a, "_version")]:
        raise WatchedError(f"{what} is written into; make a new tensor")


def _gives_back(a: Any) -> bool:
    owner = a if a.base is None else a.base
    return isinstance(owner, np.ndarray) and bool(owner.flags.owndata and owner.flags.writeable)


def kept_shapes(what: str, before: Any, after: Any) -> None:
    """A state has the shapes and types that it had; tuples in it, such as of versions, may grow."""
    if is_dataclass(before):
        for f in fields(before):  # type: ignore[arg-type]
            kept_shapes(f"{what}.{f.name}", getattr(before, f.name), getattr(after, f.name))
    elif isinstance(before, np.ndarray) and (before.shape, before.dtype) != (after.shape, after.dtype):
        raise WatchedError(f"{what}: {after.shape} {after.dtype}, and was {before.shape} {before.dtype}")


def _arrays(tree: Any) -> Iterator[Any]:
    if isinstance(tree, np.ndarray) or hasattr(tree, "_version"):
        yield tree
    elif isinstance(tree, list | tuple):
        for part in tree:
            yield from _arrays(part)
    elif is_dataclass(tree) and not isinstance(tree, type):
        for f in fields(tree):
            yield from _arrays(getattr(tree, f.name))
