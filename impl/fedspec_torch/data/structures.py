"""Structure of a batch: its tensors as a flat tuple (the first axis counts examples), and the tree that holds them.

A batch is a tensor, or a tuple, list, dict or named tuple of batches, as torch's collation and HuggingFace's tokenizers
give them. All code but the call of the module sees the tensors alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType
from typing import Any

from torch import Tensor
from torch.utils import _pytree as pytree

from fedspec.errors import ShapeError

CONSTANTS = (NoneType, bool, int, float, str)
"""Types of non-tensor values, which must be the same for all examples and clients."""


@dataclass(frozen=True, eq=False)
class Structure:
    """Tree structure of the batches of a federation.

    Attributes:
        spec: the containers (tuples, lists, dicts) as torch's tree specification.
        names: the names of all entries, in order: ``inputs``, ``targets``, ``input_ids``, ``targets['box']``.
        constants: the values of entries that are no tensor, by name.
    """

    spec: pytree.TreeSpec
    names: tuple[str, ...]
    constants: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def tensors(self) -> tuple[str, ...]:
        """Names of the tensors."""
        return tuple(name for name in self.names if name not in self.constants)

    def tree(self, leaves: Sequence[Any]) -> Any:
        """Return the batch tree with these values in the places of its tensors."""
        if self is PAIR:
            return tuple(leaves)
        values = iter(leaves)
        every = [self.constants[name] if name in self.constants else next(values) for name in self.names]
        return pytree.tree_unflatten(every, self.spec)

    def __str__(self) -> str:
        if self.spec.is_leaf():
            return "Tensor"
        said = (f"{name}={self.constants[name]!r}" if name in self.constants else name for name in self.names)
        return f"{getattr(self.spec.type, '__name__', self.spec.type)} ({', '.join(said)})"


PAIR = Structure(pytree.tree_structure((0, 0)), ("inputs", "targets"))
"""Structure of a tuple (inputs, targets) of two tensors."""


def flattened(
    who: str, batch: Any, like: Structure | None = None, tensor: Callable[[str, Any], Tensor] | None = None
) -> tuple[tuple[Tensor, ...], Structure]:
    """Return a batch's tensors in the order of its structure, and that structure.

    Args:
        who: the owner of the batch, with which an error message begins.
        batch: a batch of any structure.
        like: the structure that the batch must have; None: any structure.
        tensor: function that makes a tensor of an entry of any type, from the entry's name and value; None: constants
            stay as they are.

    Raises:
        ShapeError: the batch has another structure, or an entry that is neither tensor nor constant.
    """
    if not tensor and like in (None, PAIR) and type(batch) is tuple and [*map(type, batch)] == [Tensor, Tensor]:
        return batch, PAIR
    root = plain(batch)
    # torch's collation gives a list of inputs and targets.
    root = tuple(root) if type(root) is list else root
    entries, spec = pytree.tree_flatten_with_path(root, is_leaf=lambda part: part is not root and is_column(part))
    found = {_name(path, spec.num_children): value for path, value in entries}
    own = Structure(spec, tuple(found))
    if like and ({*found} != {*like.names} or spec.is_leaf() != like.spec.is_leaf()):
        raise ShapeError(
            f"{who} is {own}; give a {like}, the structure of the first batch, which all batches must have"
        )
    found = {name: tensor(name, found[name]) if tensor else found[name] for name in (like or own).names}
    constants = {name: value for name, value in found.items() if not isinstance(value, Tensor)}
    for name, value in constants.items():
        if not isinstance(value, CONSTANTS):
            kind = type(value).__name__ + (f" of {type(value[0]).__name__}" if is_column(value) else "")
            raise ShapeError(
                f"{who} has {name} of type {kind}; give a tensor with an entry for each example (torch.as_tensor for "
                f"numbers, a tokenizer for words), or leave {name} out"
            )
    if len(constants) == len(found):
        raise ShapeError(f"{who} is {own}, without a tensor; give a tuple (inputs, targets), or a dict, of tensors")
    if like and constants != like.constants:
        raise ShapeError(
            f"{who} is {Structure(spec, like.names, constants)}, but the first batch is {like}; a value that isn't a "
            "tensor must be the same for all clients: give a tensor with an entry for each example"
        )
    leaves = tuple(value for value in found.values() if isinstance(value, Tensor))
    return leaves, like or (PAIR if spec == PAIR.spec and not constants else Structure(spec, own.names, constants))


def plain(batch: Any) -> Any:
    """Convert mappings of any class in a batch to dicts, for example HuggingFace's BatchEncoding."""
    if isinstance(batch, Mapping):
        return {name: plain(part) for name, part in batch.items()}
    if not isinstance(batch, tuple | list):
        return batch
    parts = [plain(part) for part in batch]
    return type(batch)(*parts) if hasattr(batch, "_fields") else tuple(parts) if isinstance(batch, tuple) else parts


def is_column(part: Any) -> bool:
    """True for a list of numbers or words, or of such lists: values that aren't converted to a tensor yet."""
    is_list = isinstance(part, list | tuple) and bool(part) and not hasattr(part, "_fields")
    return is_list and all(isinstance(entry, bool | int | float | complex | str) or is_column(entry) for entry in part)


def _name(path: Sequence[Any], width: int) -> str:
    """Name of an entry: of a tuple of two, inputs and targets."""
    if not path:
        return "inputs"
    match path[0]:
        case pytree.SequenceKey(idx=k):
            top = ("inputs", "targets")[k] if width == 2 else f"[{k}]"
        case pytree.GetAttrKey(name=top):
            pass
        case _:
            top = str(path[0].key)
    return top + pytree.keystr(tuple(path[1:]))
