"""Guard against operators for which torch's vmap silently returns other results than a call for one client.

Under vmap, the tables of many clients are stacked, so an index outside one client's table can be inside the next one's.
And a vmapped stack doesn't require a gradient, unlike a parameter. The first call records both kinds of operations: if
it has none, nothing is guarded, at no cost.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch._ops import OpOverload
from torch.overrides import TorchFunctionMode

from fedspec_torch.refusals import Reason

INDEXED = frozenset({"embedding", "embedding_bag", "one_hot", "index_fill", "index_fill_"})
"""Functions that check their indices, but not under vmap."""

PADDED = "padding_idx"
"""Option that breaks stacked embeddings: torch's backward pass ignores only the first client's padding row."""

GRAPH = frozenset({"is_leaf", "grad_fn", "register_post_accumulate_grad_hook"})
"""Attributes that one client's parameter has, but a row of a vmapped stack doesn't."""

FORWARD = frozenset({"requires_grad", "register_hook"})
"""Attributes that an output has in one client's differentiation, but not in a vmapped forward pass."""


SCRIPTED = "script"
"""Marker: a script called an operator directly, which only a dispatch mode at the first call can see."""


class Watching(TorchFunctionMode):
    """Function mode that records by name the torch functions and properties that ``guard`` and ``asks`` need."""

    def __init__(self, asked: set[str]) -> None:
        super().__init__()
        self.asked = asked

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run a call or read a property, and record its name."""
        name = _name(func)
        # What torch asks itself, as its own transforms do, shows at a look: it does not hang on numbers.
        if name in INDEXED or (name in GRAPH | FORWARD and not _is_torchs_own()):
            self.asked.add(name)
            if isinstance(func, OpOverload):
                self.asked.add(SCRIPTED)
            if name in INDEXED and _is_padded(func, args, kwargs or {}):
                self.asked.add(PADDED)
        return func(*args, **(kwargs or {}))


class Guarding(TorchFunctionMode):
    """Function mode that raises IndexError for an index outside its table, also under vmap."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Check the indices of a call, and run it.

        Raises:
            IndexError: an index is out of the table's range.
        """
        if _name(func) in INDEXED:
            _check(func, args, kwargs or {})
        return func(*args, **(kwargs or {}))


def guard(asked: set[str]) -> AbstractContextManager[Any]:
    """Return the context for a vmapped forward pass: a check of indices if the module looks into tables."""
    return Guarding() if asked & INDEXED else nullcontext()


def asks(module: nn.Module, loss: Any, asked: set[str], name: str) -> str:
    """Return why a vmapped method can't be used, given the functions that the module asked for; "" if it can."""
    # The calls of a script do not come by here.
    scripts = (getattr(part, "inlined_graph", "") for part in (*module.modules(), loss) if isinstance(part, SCRIPTS))
    if SCRIPTED in asked or any(f"::{op}" in str(graph) for graph in scripts for op in UNSEEN):
        return f"a script looks into a table, or asks for requires_grad, which {Reason.UNBEARABLE}"
    if name == "stacked" and PADDED in asked:
        return f"it calls an embedding with a padding row, which {Reason.UNBEARABLE}"
    found = sorted(asked & (GRAPH | FORWARD if name == "stacked" else GRAPH))
    return f"the module, or the loss, {Reason.ASKS} ({', '.join(found)})" if found else ""


SCRIPTS = (torch.jit.ScriptModule, torch.jit.ScriptFunction)
"""Types of scripted modules and functions, which torch runs without Python."""

UNSEEN = INDEXED | {"requires_grad"}
"""Functions that a script may call without a function mode seeing it."""


def _is_torchs_own() -> bool:
    """True if torch's own code calls the function that a mode sees."""
    frame: Any = sys._getframe(2)
    # A method of tensors that is written in Python asks the mode itself.
    while frame.f_back and frame.f_globals.get("__name__") in ("torch.overrides", "torch._tensor"):
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", "")).startswith("torch.")


def _name(func: Any) -> str:
    """Name of a function of torch, from an operator or a property."""
    name: str = getattr(func, "__name__", "")
    name = func.__self__.__name__ if name == "__get__" else name.split(".", maxsplit=1)[0]
    return name.removeprefix("_") if name.startswith("_embedding_bag") else name


def _is_padded(func: Any, args: Any, kwargs: Any) -> bool:
    """True if an embedding has a padding row: not None in nn.functional, not negative in an operator."""
    place = {"embedding": 2, "embedding_bag": 10 if type(func) is FunctionType else 8}.get(_name(func), len(args))
    row = args[place] if place < len(args) else kwargs.get(PADDED)
    return row is not None and (type(func) is FunctionType or row >= 0)


def _check(func: Any, args: Any, kwargs: Any) -> None:
    name, tensors = _name(func), [part for part in (*args, *kwargs.values()) if isinstance(part, Tensor)]
    if name.startswith("embedding"):
        table = kwargs.get("weight", next(part for part in tensors if part.is_floating_point()))
        # Of a bag the indices come before the places where bags begin.
        indices, least, count = next(part for part in tensors if not part.is_floating_point()), 0, table.shape[0]
    elif name == "one_hot":
        indices, least = tensors[0], 0
        count = args[1] if len(args) > 1 else kwargs.get("num_classes", -1)
    else:
        given = dict(zip(("self", "dim", "index"), args, strict=False)) | kwargs
        indices, count = given["index"], given["self"].shape[given["dim"]] if given["self"].ndim else 1
        least = -count
    while torch._C._functorch.is_functorch_wrapped_tensor(indices):
        indices = torch._C._functorch.get_unwrapped(indices)
    if indices.numel() and count >= 0:
        low, high = (int(part) for part in indices.aminmax())
        if not least <= low <= high < count:
            raise IndexError(f"{name}: got index {high if high >= count else low}; the table has {count} rows")
