"""Tracer: runs a client's text for tau steps on expressions, and records its gradients and results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from fedspec_torch.tracing.expressions import Expression, Functions
from fedspec_torch.tracing.tape import BINARY, COMPARED, UNARY, UnrecordedError

NAMES = {
    **{name: name for name in BINARY + UNARY + COMPARED},
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"},
    **{f"__{name}__": name for name in ("add", "sub", "mul", "lt", "gt", "and", "or")},
    "__truediv__": "div",
    "where": "where",
}
TURNED = {"__radd__": "add", "rsub": "sub", "__rsub__": "sub", "__rmul__": "mul", "__rtruediv__": "div"}


class Someone:
    """Symbolic client numbers of a block: a text may only index stacks by them."""

    def __eq__(self, other: object) -> bool:
        raise UnrecordedError("the text reads a client's number")

    __hash__ = None  # type: ignore[assignment]


class Recording(TorchFunctionMode):
    """Function mode that records a text's operations on expressions and its lookups of clients' rows."""

    def __init__(self, tape: Functions, someone: Someone) -> None:
        super().__init__()
        self.tape, self.someone = tape, someone

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__ and args[1] is self.someone:
            return Expression(self.tape, self.tape.leaf("rows", args[0]))
        if not any(isinstance(x, Expression) for x in (*args, *(kwargs or {}).values())):
            return self.computed(func, args, kwargs or {})
        name = getattr(func, "__name__", "")
        if not kwargs and name in NAMES:
            return self.tape.apply(NAMES[name], *args)
        if not kwargs and name in TURNED:
            return self.tape.apply(TURNED[name], *args[::-1])
        raise UnrecordedError(f"{name} of a tensor and an expression isn't supported")

    def computed(self, func: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """Compute an operation on shared tensors once, and cache the result for all steps and texts."""
        asked = (*args, *kwargs.values())
        key = (func, *kwargs, *(id(x) if isinstance(x, Tensor) else x for x in asked))
        try:
            known = self.tape.computed.get(key)
        except TypeError:
            self.tape.looked = True
            return func(*args, **kwargs)
        if known is None:
            made = func(*args, **kwargs)
            # A property, as a shape is, is no number in it.
            self.tape.looked |= not isinstance(made, Tensor) and func.__name__ != "__get__"
            if not isinstance(made, Tensor) or any(made is x for x in asked):
                return made
            known = self.tape.computed[key] = asked, made
        return known[1]


@dataclass(frozen=True)
class Text:
    """Trace of a client's tau steps.

    Attributes:
        asked: the node of the model at which each step's gradient is taken.
        gradients: the nodes of these gradients.
        made: the text's result, with expressions in it.
    """

    asked: tuple[int, ...]
    gradients: tuple[int, ...]
    made: Any


def text_of(tape: Functions, client: Callable[..., Any], start: int, tau: int, more: Mapping[str, Any]) -> Text:
    """Trace a client's text for tau steps from the node ``start``.

    Raises:
        UnrecordedError: the text requests gradients other than one at each step 0, 1, ..., tau - 1, the first at the
            initial model.
    """
    asked: list[int] = []
    found: list[int] = []

    def gradient(k: Any, x: Any) -> Expression:
        if type(x) is not Expression or type(k) is not int or not 0 <= k <= len(asked):
            raise UnrecordedError(f"the text requests the gradient at step {k!r} out of order, or not at an expression")
        if not k and x.number != start:
            raise UnrecordedError("the first gradient isn't taken at the client's initial model")
        if k == len(asked):
            asked.append(x.number)
            found.append(tape.node("gradient", k, x.number))
        elif asked[k] != x.number:
            raise UnrecordedError("the text takes two gradients at one step")
        return Expression(tape, found[k])

    someone = Someone()
    tape.afresh()
    with Recording(tape, someone):
        made = client(someone, Expression(tape, start), gradient, tau, **more)
    if len(asked) != tau:
        raise UnrecordedError(f"the text requests {len(asked)} gradients in {tau} steps; it must request one a step")
    return Text(tuple(asked), tuple(found), made)


def expressions(made: Any) -> Iterator[int]:
    """Yield the nodes in a text's results."""
    if isinstance(made, Expression):
        yield made.number
    for part in parts_of(made) or ():
        yield from expressions(part)


def parts_of(made: Any) -> tuple[Any, ...] | None:
    """Return the parts of a tuple or record; None for anything else."""
    if isinstance(made, tuple):
        return made
    if is_dataclass(made) and not isinstance(made, type):
        return tuple(getattr(made, f.name) for f in fields(made))
    return None
