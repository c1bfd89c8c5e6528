"""What a client's text asks of the vectors of a block of clients, recorded: operators and their arguments, no numbers.

A text that is run on expressions says what it does and computes nothing, not even a gradient: that at step k is a node
like any other. Equal expressions are one node, so texts of unequal numbers of steps share what they have in common.
A text that looks at numbers, takes a row alone, or calls what is not below is not recorded, and runs on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import array_api_compat.torch
import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

Node: TypeAlias = tuple[Any, ...]
"""An operator and its arguments: numbers of other nodes, or what a leaf is."""

FLOATS = (torch.float32, torch.float64)

BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
UNARY = ("neg", "sqrt", "sign", "abs")
COMPARED = ("lt", "gt", "and", "or")
REDUCED = ("sum", "max")
"""Along a vector: a column with a number for each client."""

LEAVES = ("x", "vector", "rows", "column", "number", "constant", "gradient")
"""Where the clients begin; a vector that all have in common; rows that a stack has for them, and numbers in a column; a
number; a stack of one number; the gradient at step k, whose one argument is where it is taken."""


class UnrecordedError(TypeError):
    """A text does what is not recorded."""


class Clients:
    """How many clients there are: a text that asks is not recorded, since a recording serves blocks of every size."""

    def __repr__(self) -> str:
        return "n"


@dataclass(eq=False)
class Tape:
    """Everything that was asked for.

    Attributes:
        d: the coordinates of a vector.
        dtype: of all numbers.
        nodes: what was asked for, arguments first.
        tensors: the vectors and stacks that leaves stand for.
    """

    d: int
    dtype: torch.dtype
    nodes: list[Node] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    clients: Clients = field(default_factory=Clients)
    functions: Functions = field(init=False)
    _known: dict[Node, int] = field(default_factory=dict)
    _constants: int = 0
    _leaves: dict[tuple[str, int], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.functions = Functions(self)

    def add(self, *node: Any) -> int:
        """The number of a node."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = len(self.nodes)
            self.nodes.append(node)
        return found

    def leaf(self, kind: str, tensor: Tensor) -> Expression:
        """A vector for all clients, or rows of a stack.

        Raises:
            UnrecordedError: it is not on a CPU, in other numbers, or wants a gradient.
        """
        seen = self._leaves.get((kind, id(tensor)))
        if seen is not None:
            return Expression(self, seen)
        if tensor.ndim != (2 if kind == "rows" else 1):
            raise UnrecordedError("a number of each client")
        fits = tensor.device.type == "cpu" and tensor.dtype == self.dtype and not tensor.requires_grad
        if not fits or tensor.shape[-1] != self.d:
            raise UnrecordedError(f"a tensor {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}")
        at = next((j for j, known in enumerate(self.tensors) if known is tensor), len(self.tensors))
        if at == len(self.tensors):
            self.tensors.append(tensor)
        number = self._leaves[kind, id(tensor)] = self.add(kind, at)
        return Expression(self, number)

    def number_of(self, x: Any) -> int:
        """The node of an argument.

        Raises:
            UnrecordedError: it is none.
        """
        if type(x) is Expression:
            return x.number
        if type(x) is float or type(x) is int or isinstance(x, np.floating):
            return self.add("number", float(x))
        if type(x) is Tensor and x.ndim == 1:
            return self.leaf("vector", x).number
        if type(x) is Tensor and not x.ndim and x.dtype == self.dtype and x.device.type == "cpu":
            return self.add("number", float(x))
        raise UnrecordedError(f"an argument of type {type(x).__name__}")

    def apply(self, name: str, *xs: Any) -> Expression:
        """An operator on arguments."""
        args = tuple(map(self.number_of, xs))
        if name == "lt" and self.nodes[args[1]] == ("number", 0.0) and self.is_length(args[0]):
            return Expression(self, self.add("never"))
        if name == "where" and self.nodes[args[0]] == ("never",):
            return Expression(self, args[2])
        return Expression(self, self.add(name, *args))

    def is_length(self, number: int) -> bool:
        """Whether a node is known to be no less than 0, as the length of a vector is."""
        kind, *args = self.nodes[number]
        match kind:
            case "sqrt" | "abs":
                return True
            case "number" | "constant":
                return bool(args[0] >= 0)
            case "max":
                return self.is_length(args[0])
            case "mul":
                return all(map(self.is_length, args))
            case "where":
                return all(map(self.is_length, args[1:]))
        return False

    def power(self, x: Any, exponent: Any) -> Expression:
        """A small whole power, as products from the left."""
        if type(exponent) is not int or not 1 <= exponent <= 8:
            raise UnrecordedError(f"the power {exponent!r}")
        found: Any = x
        for _ in range(exponent - 1):
            found = self.apply("mul", found, x)
        return found  # type: ignore[no-any-return]

    def constant(self, value: float) -> Expression:
        """A stack of one number; each that is asked for is one of its own, since it may become something else."""
        self._constants += 1
        return Expression(self, self.add("constant", value, self._constants))

    def afresh(self) -> None:
        """Another text begins: its constants are those of the texts before."""
        self._constants = 0


class Someone:
    """The numbers of the clients of a block, which a text may look up rows by, and nothing else."""

    def __eq__(self, other: object) -> bool:
        raise UnrecordedError("who a client is")

    __hash__ = None  # type: ignore[assignment]


def _operator(name: str, turned: bool = False) -> Callable[[Any, Any], Expression]:
    def method(self: Any, other: Any) -> Expression:
        tape, mine = self.tape, self.number
        its = other.number if type(other) is Expression else tape.number_of(other)
        return Expression(tape, tape.add(name, *((its, mine) if turned else (mine, its))))

    return method


def _refused(self: Any, *args: Any) -> Any:
    raise UnrecordedError("a number is looked at, or something written over")


class Expression:
    """A vector of every client of a block that is recorded and not computed."""

    __slots__ = ("number", "tape")

    def __init__(self, tape: Tape, number: int) -> None:
        self.tape, self.number = tape, number

    # A number of NumPy leaves its products to this class.
    __array_ufunc__ = None
    ndim = 2
    device = torch.device("cpu")
    requires_grad = False

    @property
    def shape(self) -> tuple[Any, int]:
        """As many rows as there are clients."""
        return (self.tape.clients, self.tape.d)

    @property
    def dtype(self) -> torch.dtype:
        """Of its numbers."""
        return self.tape.dtype

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return self.tape.functions

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise UnrecordedError(f"{func} outside of a recording")

    def __pow__(self, exponent: Any) -> Expression:
        return self.tape.power(self, exponent)

    def __neg__(self) -> Expression:
        return self.tape.apply("neg", self)

    def __lt__(self, other: Any) -> Expression:
        return self.tape.apply("lt", self, other)

    def __getitem__(self, at: Any) -> Any:
        # How the specification asks for a number, or a column, like these.
        if at in ((0, 0), (..., slice(None, 1))):
            return Nothing()
        raise UnrecordedError(f"[{at}]")

    __add__, __radd__ = _operator("add"), _operator("add", turned=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", turned=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", turned=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", turned=True)
    __and__, __or__ = _operator("and"), _operator("or")
    __gt__ = _operator("gt")
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __setitem__ = _refused
    __bool__ = __iter__ = __len__ = __float__ = __array__ = __eq__ = __ne__ = __le__ = __ge__ = _refused


class Nothing:
    """A zero of no shape: what is added to it stays as it is."""

    ndim, shape = 0, ()

    def __add__(self, other: Any) -> Any:
        return other


@dataclass(frozen=True, eq=False)
class Functions:
    """The functions of an array library, as far as they are recorded."""

    tape: Tape

    def __getattr__(self, name: str) -> Any:
        if name in BINARY + UNARY:
            return lambda *xs: self.tape.apply(name, *xs)
        raise UnrecordedError(name)

    def where(self, condition: Any, x: Any, y: Any) -> Expression:
        """X where the condition holds, y elsewhere."""
        return self.tape.apply("where", condition, x, y)

    def sum(self, x: Any, axis: int, keepdims: bool) -> Expression:
        """Along every vector."""
        return self.reduced("sum", x, axis, keepdims)

    def max(self, x: Any, axis: int, keepdims: bool) -> Expression:
        """Along every vector."""
        return self.reduced("max", x, axis, keepdims)

    def reduced(self, name: str, x: Any, axis: int, keepdims: bool) -> Expression:
        """A number of every client, in a column."""
        if axis != -1 or not keepdims:
            raise UnrecordedError(name)
        return self.tape.apply(name, x)

    def finfo(self, dtype: Any) -> Any:
        """As torch has it."""
        return torch.finfo(dtype)

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        """As torch has it."""
        return bool(array_api_compat.torch.isdtype(dtype, kind))

    def broadcast_to(self, x: Any, shape: Any) -> Any:
        """A column that is spread over a vector; it is only asked what zeros are like."""
        if not isinstance(x, Nothing) or tuple(shape) != (self.tape.clients, self.tape.d):
            raise UnrecordedError("broadcast_to")
        return Zeros(self.tape)

    def zeros_like(self, x: Any) -> Any:
        """Zeros that a number is added to."""
        return x if isinstance(x, Nothing | Zeros) else self.tape.constant(0.0)

    def ones_like(self, x: Any) -> Expression:
        """A stack of ones."""
        return self.tape.constant(1.0)


@dataclass(frozen=True)
class Zeros:
    """A stack of zeros, to which one number is added."""

    tape: Tape

    def __add__(self, value: Any) -> Expression:
        if type(value) not in (float, int):
            raise UnrecordedError(f"a start of type {type(value).__name__}")
        return self.tape.constant(float(value))


NAMES = {
    **{name: name for name in BINARY + UNARY + COMPARED},
    **{"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div", "negative": "neg"},
    **{f"__{name}__": name for name in ("add", "sub", "mul", "lt", "gt", "and", "or")},
    "__truediv__": "div",
    "where": "where",
}
TURNED = {"__radd__": "add", "rsub": "sub", "__rsub__": "sub", "__rmul__": "mul", "__rtruediv__": "div"}


class Recording(TorchFunctionMode):
    """While it is on, what a text does with a tensor and an expression is recorded, and rows are looked up by name."""

    def __init__(self, tape: Tape, someone: Someone) -> None:
        super().__init__()
        self.tape, self.someone = tape, someone

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is Tensor.__getitem__ and args[1] is self.someone:
            return self.tape.leaf("rows", args[0])
        if not any(isinstance(x, Expression) for x in (*args, *(kwargs or {}).values())):
            return func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if not kwargs and name in NAMES:
            return self.tape.apply(NAMES[name], *args)
        if not kwargs and name in TURNED:
            return self.tape.apply(TURNED[name], *args[::-1])
        raise UnrecordedError(f"{name} of a tensor and an expression")


@contextmanager
def recording(tape: Tape) -> Iterator[Someone]:
    """What a text does is recorded; the numbers of its clients are given."""
    someone = Someone()
    tape.afresh()
    with Recording(tape, someone):
        yield someone


def arguments(tape: Tape, number: int) -> Sequence[int]:
    """The nodes that a node is computed from."""
    kind, *args = tape.nodes[number]
    if kind == "gradient":
        return args[1:]
    return () if kind in LEAVES else args
