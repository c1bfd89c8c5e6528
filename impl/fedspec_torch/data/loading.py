"""Loading of Datasets and their splits over clients; unreadable data are rejected before a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType
from typing import Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, RandomSampler, SequentialSampler

from fedspec.errors import PlanError, ShapeError
from fedspec_torch.data.datasets import Collated, Reader
from fedspec_torch.data.examples import GeneratedPool
from fedspec_torch.refusals import DataError


class Numbered(Protocol):
    """Map-style Dataset, or a list of Datasets, one per client: it has a length and is indexed by integers."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int, /) -> Any: ...


def reader(data: Any, parts: Any, keys: Any) -> Reader | None:
    """Return a reader of clients' examples from one Dataset a client, or from one Dataset and its split ``parts``.

    None: they are something else.

    Raises:
        ShapeError: a Dataset is empty or has no access by index, or ``parts`` is missing.
        PlanError: ``keys`` aren't two names, ``parts`` are given without a Dataset, or two clients share an example.
    """
    if keys is not None and not (isinstance(keys, tuple | list) and [*map(type, keys)] == [str, str]):
        raise PlanError(f"keys: got {keys!r}; give two names, as in keys=('image', 'label')")
    keys = keys and tuple(keys)
    kind, data = type(data).__name__, _collated("data", data)
    if isinstance(data, Mapping):
        there = ", ".join(map(repr, [*data][:5])) + (", ..." if len(data) > 5 else "")
        raise ShapeError(
            f"data: got a {type(data).__name__} with entries {there}; give one of its entries, or a list with one "
            "Dataset a client"
        )
    if parts is not None:
        if callable(data) and not hasattr(data, "__getitem__"):
            raise PlanError("parts: given, but data is a function; leave parts out, or give a Dataset")
        if isinstance(data, tuple | list) and data and all(map(_is_dataset, data)):
            raise ShapeError(
                "data: got a list of Datasets, but parts= splits a single one; leave parts out, or join the Datasets "
                "(ConcatDataset)"
            )
        numbers = _checked(parts, _count("data", data))
        return Reader([data] * len(numbers), numbers, keys)
    if callable(data) and not isinstance(data, Dataset):
        return None
    numbered = hasattr(data, "__len__") and hasattr(data, "__getitem__")
    is_list = isinstance(data, tuple | list)
    if isinstance(data, Dataset):
        # What has no numbers is refused for that.
        _count("data", data)
    if isinstance(data, Dataset) or (numbered and not is_list and len(data) and isinstance(data[0], Mapping)):
        raise ShapeError(
            f"data: got one {kind}; say which client has which examples, parts=partition.iid(len(data), clients, rng), "
            "or give a list with one map-style Dataset for each client"
        )
    # What is no list may read a client's examples when it is asked for them.
    if not numbered or not len(data) or not any(map(_is_dataset, data if is_list else [data[0]])):
        return None
    sources = [_collated(f"client {i}", data[i]) for i in range(len(data))]
    counts = [_count(f"client {i}", source) for i, source in enumerate(sources)]
    for i, count in enumerate(counts):
        if not count:
            raise ShapeError(f"data: client {i} has no example; leave it out of the federation")
    return Reader(sources, [range(count) for count in counts], keys)


def test_batch(test: Any, keys: Any, device: torch.device, who: str = "test") -> Any:
    """Return the test data: a Dataset is read into one batch; anything else is returned unchanged.

    Args:
        test: the test data.
        keys: the entries of a Dataset's dicts that are inputs and targets, as of the federation.
        device: the device of the batch.
        who: the owner of the test data, with which an error message begins.

    Raises:
        ShapeError: the test data are empty, their examples differ, or have no access by index.
        DataError: an example changes when it is read a second time.
    """
    if not isinstance(test, Dataset | DataLoader) and not _is_dataset(test):
        return test
    try:
        found = reader([test], None, keys)
        assert found is not None
        leaves = GeneratedPool(found, found.examples, device).of([0])[0]
    except (ShapeError, DataError) as error:
        said = str(error).removeprefix("data: ").replace("client 0", "the test set")
        raise type(error)(f"{who}: {said.replace('; leave it out of the federation', '')}") from error
    return found.structure.tree(leaves)


def _collated(who: str, source: Any) -> Any:
    """A DataLoader as its examples one by one, unless its sampler chooses some; anything else unchanged."""
    if not isinstance(source, DataLoader):
        return source
    _count(who, source.dataset)
    sampler = source.batch_sampler if type(source.batch_sampler) is not BatchSampler else source.sampler
    if type(sampler) not in (SequentialSampler, RandomSampler, NoneType) or getattr(sampler, "replacement", False):
        raise PlanError(
            f"data: {who} is a DataLoader with a {type(sampler).__name__}, but local steps pass through all examples; "
            "give its Dataset, or torch.utils.data.Subset(...) of the examples to use"
        )
    return Collated(source)


def _is_dataset(value: Any) -> bool:
    """True if a value is meant as a Dataset, and not as a client's two tensors."""
    if isinstance(value, list):
        return not value or isinstance(value[0], tuple | Mapping)
    if isinstance(value, tuple | Mapping | Tensor | np.ndarray | str | bytes):
        return False
    return hasattr(value, "__getitem__") or hasattr(value, "__iter__")


def _count(who: str, source: Any) -> int:
    """Number of examples of a Dataset."""
    who = f"{who} is" if who == "data" else f"data: {who} is"
    if isinstance(source, tuple) and any(isinstance(part, Tensor) for part in source):
        raise ShapeError(f"{who} a tuple of tensors; make it a Dataset, TensorDataset(inputs, targets)")
    if not isinstance(source, IterableDataset) and hasattr(source, "__len__") and hasattr(source, "__getitem__"):
        return len(source)
    raise ShapeError(
        f"{who} {type(source).__name__}, whose examples can't be indexed; give a map-style Dataset, with __len__ and "
        "__getitem__, or list(...) of its examples"
    )


def _checked(parts: Any, count: int) -> list[Any]:
    """The numbers of each client's examples, of so many."""
    if not hasattr(parts, "__len__") or not hasattr(parts, "__getitem__"):
        raise ShapeError(f"parts: got {type(parts).__name__}; give one array of example numbers for each client")
    if not len(parts):
        raise ShapeError("parts: got no clients; give one array of example numbers for each client")
    found = []
    for i in range(len(parts)):
        # A copy: what becomes of the array later is another split.
        part = np.asarray(parts[i]).copy()
        if part.ndim != 1:
            raise ShapeError(f"parts: client {i} has shape {part.shape}; give a list of numbers for each client")
        if not len(part):
            raise ShapeError(f"parts: client {i} has no example; leave it out")
        if part.dtype.kind not in "iu":
            raise ShapeError(
                f"parts: client {i} has {part.dtype}; give whole numbers (convert a mask by numpy.flatnonzero)"
            )
        if (beyond := part[(part < 0) | (part >= count)]).size:
            raise ShapeError(f"parts: client {i} has example {beyond[0]}; give numbers from 0 to {count - 1}")
        found.append(part)
    _check_apart(found)
    return found


def _check_apart(parts: Sequence[Any]) -> None:
    """Refuse an example of two clients; a client may have one several times, as who draws with replacement has.

    Raises:
        PlanError: two clients share an example; the message has the first such example and the clients' numbers.
    """
    every = np.concatenate(parts)
    if len(np.unique(every)) == len(every):
        return
    own = [np.unique(part) for part in parts]
    numbers, counts = np.unique(np.concatenate(own), return_counts=True)
    if (several := numbers[counts > 1]).size:
        whose = [i for i, part in enumerate(own) if several[0] in part]
        more = f", and {several.size - 1} more are of several clients" if several.size > 1 else ""
        raise PlanError(
            f"parts: example {several[0]} belongs to clients {whose[0]} and {whose[1]}{more}; give each example to one "
            "client, or, if clients share examples on purpose, give a list of Datasets, "
            "[torch.utils.data.Subset(data, part) for part in parts]"
        )
