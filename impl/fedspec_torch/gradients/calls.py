"""Call of a module on a minibatch of any structure, and the loss of its output.

* ``(inputs, targets)``: ``loss(module(inputs), targets)``; of a longer tuple all but the last are arguments.
* A dict: ``module(**batch)`` with the entries that ``forward`` has arguments for, and ``loss(output, batch)``.
* A tensor: ``loss(module(batch), batch)``.
* Without a loss the whole batch goes to the module, which returns its loss: alone, first in a tuple, or as ``loss``.

If the inputs are a dict, its entries are arguments by name; if they are a tuple, its entries are several arguments,
provided that ``forward`` accepts them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from math import nan
from operator import itemgetter
from typing import Any, TypeAlias

from torch import Tensor, nn

from fedspec_torch.data.structures import Structure
from fedspec_torch.refusals import LossError, ModuleError

Loss: TypeAlias = Callable[[Any, Any], Tensor] | None
"""Mean loss of a minibatch from (output, targets), or from (output, dict); None: the module returns its loss."""

Arguments: TypeAlias = Callable[[Any], tuple[tuple[Any, ...], dict[str, Any]]]
"""Function from a minibatch, or its inputs, to the module's positional and keyword arguments."""

NAMED = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, eq=False)
class Call:
    """Recipe for calling a module and a loss on minibatches of one structure.

    Attributes:
        structure: the structure of the minibatches.
        arguments: function that returns the module's arguments from a minibatch.
        targets: function that returns the part of a minibatch that the loss reads.
        loss: the loss, a function of output and targets.
        words: the call as text, as a user would write it.
    """

    structure: Structure
    arguments: Arguments
    targets: Callable[[Any], Any]
    loss: Callable[[Any, Any], Any]
    words: str

    def __call__(self, run: Callable[..., Any], leaves: Sequence[Tensor]) -> tuple[Any, Any, Any]:
        """Return output, targets and loss of a minibatch."""
        batch = self.structure.tree(leaves)
        args, kwargs = self.arguments(batch)
        output, targets = run(*args, **kwargs), self.targets(batch)
        return output, targets, self.loss(output, targets)


def accuracy(output: Any, targets: Any) -> float:
    """Share of examples whose largest score is their class (in dicts: ``logits``, ``labels``); NaN without classes."""
    if isinstance(targets, Mapping):
        output, targets = _part(output, "logits"), targets.get("labels")
    if not (isinstance(output, Tensor) and isinstance(targets, Tensor)) or targets.is_floating_point():
        return nan
    is_one_each = output.ndim == targets.ndim + 1 and output.shape[:1] + output.shape[2:] == targets.shape
    # Of one output there is no largest.
    return float((output.argmax(1) == targets).double().mean()) if is_one_each and output.shape[1] > 1 else nan


def call_of(module: nn.Module, loss: Loss, structure: Structure) -> Call:
    """Match the structure of minibatches to the arguments of ``forward``, and return the call.

    Raises:
        ModuleError: ``forward`` has no arguments that match the minibatch's structure.
    """
    try:
        forward = signature(module.forward)
    except (TypeError, ValueError):
        forward = signature(lambda *args, **kwargs: None)
    who = f"forward({', '.join(forward.parameters)}) of {type(module).__name__}"
    names = structure.tree(structure.tensors)
    is_tuple = isinstance(names, tuple)
    end = len(names) - (loss is not None and len(names) > 1) if is_tuple else 0
    arguments: Arguments
    if not is_tuple:
        arguments = _placed(forward, names, who, every=loss is None)
    elif end == 1:
        inputs = _placed(forward, names[0], who, every=True)
        arguments = lambda batch: inputs(batch[0])  # noqa: E731
    elif _takes(forward, *names[:end]):
        arguments = lambda batch: (batch[:end], {})  # noqa: E731
    else:
        raise ModuleError(
            f"model: {who} can't take {end} arguments, but a minibatch is a {structure}; give a pair (inputs, targets) "
            "with inputs that forward accepts, or a dict with the names of its arguments"
        )
    args, kwargs = arguments(names)
    targets: Callable[[Any], Any] = itemgetter(-1) if is_tuple else lambda batch: batch
    given = f"model({', '.join([*map(str, args), *(f'{name}={value}' for name, value in kwargs.items())])})"
    words = given if loss is None else f"loss({given}, {names[-1] if is_tuple else 'batch'})"
    return Call(structure, arguments, targets, _loss_in if loss is None else loss, words)


def _loss_in(output: Any, _: Any) -> Any:
    """The loss that a module returns."""
    found = output if isinstance(output, Tensor) else _part(output, "loss")
    if found is None and isinstance(output, tuple | list) and output:
        found = output[0]
    if found is None:
        raise LossError(
            f"loss: got None, but the model's output ({type(output).__name__}) has no loss; put labels into the batch, "
            "as HuggingFace's models need them, or give a loss: Federation(model, loss, data)"
        )
    return found


def _part(output: Any, name: str) -> Any:
    return output.get(name) if isinstance(output, Mapping) else getattr(output, name, None)


def _placed(forward: Signature, names: Any, who: str, *, every: bool) -> Arguments:
    """Arguments from a tuple, from a dict by name, or the value itself; all entries, unless the loss gets the rest."""
    if isinstance(names, tuple) and _takes(forward, *names):
        return lambda inputs: (tuple(inputs), {})
    if not isinstance(names, Mapping):
        return lambda inputs: ((inputs,), {})
    kinds = {name: p.kind for name, p in forward.parameters.items()}
    named = [name for name, kind in kinds.items() if name in names and kind in NAMED]
    if Parameter.VAR_KEYWORD in kinds.values() and (every or not named):
        named = [*names]
    if not named and _takes(forward, names):
        return lambda inputs: ((inputs,), {})
    others = [name for name in names if name not in named] if every else []
    if others or not _takes(forward, **{name: names[name] for name in named}):
        lack = f"has no argument {', '.join(map(str, others))}" if others else "needs other arguments"
        raise ModuleError(
            f"model: {who} {lack}, but a minibatch has the entries {', '.join(map(str, names))}; rename or remove "
            "entries, or give a loss, which receives the entries that aren't arguments"
        )
    return lambda inputs: ((), {name: inputs[name] for name in named})


def _takes(forward: Signature, *args: Any, **kwargs: Any) -> bool:
    """True if forward can be called so."""
    try:
        forward.bind(*args, **kwargs)
    except TypeError:
        return False
    return True
