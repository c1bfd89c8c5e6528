"""Symbolic expressions: a client's text runs on them without computing, which records its operations on a tape.

A text that runs on expressions records its operations. A text that reads numbers, selects a single row, or calls an
unknown function isn't recorded, and runs on tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat.torch
import numpy as np
import torch
from torch import Tensor

from fedspec_torch.tracing.tape import BINARY, UNARY, Tape, UnrecordedError


class Clients:
    """Symbolic number of clients: a text that reads it isn't traced, since a trace serves blocks of every size."""

    def __repr__(self) -> str:
        return "n"


CLIENTS = Clients()


def _operator(name: str, turned: bool = False) -> Callable[[Any, Any], Expression]:
    def method(self: Any, other: Any) -> Expression:
        tape, mine = self.tape, self.number
        its = other.number if type(other) is Expression else tape.number_of(other)
        return Expression(tape, tape.node(name, *((its, mine) if turned else (mine, its))))

    return method


def _refused(self: Any, *args: Any) -> Any:
    raise UnrecordedError("the text reads a number of an expression, or overwrites one")


class Expression:
    """Symbolic vector or number of every client in a block: operations on it are recorded on a tape."""

    __slots__ = ("number", "tape")

    def __init__(self, tape: Functions, number: int) -> None:
        self.tape, self.number = tape, number

    # A number of NumPy leaves its products to this class.
    __array_ufunc__ = None
    ndim = 2
    requires_grad = False
    is_meta = True

    @property
    def shape(self) -> tuple[Any, int]:
        """Symbolic shape: (clients, d) of a vector, (clients, 1) of a number."""
        return (CLIENTS, 1 if self.tape.axes[self.number] == 1 else self.tape.d)

    @property
    def dtype(self) -> torch.dtype:
        """Data type of the values."""
        return self.tape.dtype

    @property
    def device(self) -> torch.device:
        """Device of the values."""
        return self.tape.device

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return self.tape

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise UnrecordedError(f"{func} on an expression outside of a recording")

    def __pow__(self, exponent: Any) -> Expression:
        return self.tape.power(self, exponent)

    def __rpow__(self, base: Any) -> Expression:
        if self.tape.axes[self.number] != 1:
            raise UnrecordedError("a power with a vector as exponent isn't supported")
        return self.tape.apply("pow", base, self)

    def __neg__(self) -> Expression:
        return self.tape.apply("neg", self)

    def __lt__(self, other: Any) -> Expression:
        return self.tape.apply("lt", self, other)

    def __getitem__(self, at: Any) -> Any:
        # How the specification asks for a number, or a column, like these.
        if at in ((0, 0), (..., slice(None, 1))):
            return ShapelessZero()
        if at == (..., None) and self.tape.axes[self.number] == 1:
            return self
        raise UnrecordedError(f"the index [{at}] isn't supported")

    __add__, __radd__ = _operator("add"), _operator("add", turned=True)
    __sub__, __rsub__ = _operator("sub"), _operator("sub", turned=True)
    __mul__, __rmul__ = _operator("mul"), _operator("mul", turned=True)
    __truediv__, __rtruediv__ = _operator("div"), _operator("div", turned=True)
    __and__, __or__ = _operator("and"), _operator("or")
    __gt__ = _operator("gt")
    __iadd__ = __isub__ = __imul__ = __itruediv__ = __ipow__ = __setitem__ = _refused
    __bool__ = __iter__ = __len__ = __float__ = __array__ = __eq__ = __ne__ = __le__ = __ge__ = _refused


class ShapelessZero:
    """Zero without a shape: adding a value to it returns the value."""

    ndim, shape = 0, ()

    def __add__(self, other: Any) -> Any:
        return other


class Functions(Tape):
    """Array-library namespace that records its functions on a tape; functions it lacks raise an error."""

    float64 = torch.float64

    def number_of(self, x: Any) -> int:
        """Return the node of an argument.

        Raises:
            UnrecordedError: the argument isn't a number or vector of the tape.
        """
        if type(x) is Expression:
            return x.number
        if type(x) is float or type(x) is int or isinstance(x, np.floating):
            return self.node("number", float(x))
        if type(x) is Tensor and x.ndim == 1:
            return self.leaf("vector", x)
        if type(x) is Tensor and not x.ndim and x.dtype == self.dtype:
            return self.node("number", float(x))
        raise UnrecordedError(f"an argument of type {type(x).__name__}")

    def apply(self, name: str, *xs: Any) -> Expression:
        """Record an operator on arguments."""
        return Expression(self, self.node(name, *map(self.number_of, xs)))

    def power(self, x: Any, exponent: Any) -> Expression:
        """Record x to an integer power from 1 to 8, as products from the left."""
        if type(exponent) is not int or not 1 <= exponent <= 8:
            raise UnrecordedError(f"the power {exponent!r} isn't supported; give an integer from 1 to 8")
        found: Any = x
        for _ in range(exponent - 1):
            found = self.apply("mul", found, x)
        return found  # type: ignore[no-any-return]

    def __getattr__(self, name: str) -> Any:
        if name in BINARY + UNARY:
            return lambda *xs: self.apply(name, *xs)
        raise UnrecordedError(name)

    def asarray(self, numbers: Sequence[float], dtype: torch.dtype, device: Any) -> OfClients:
        """Return the numbers of all clients, from which a text reads the numbers of its own clients."""
        return OfClients(self, tuple(numbers))

    def astype(self, x: Any, dtype: torch.dtype) -> Expression:
        """Record the conversion of a number of each client; counts are float64 until they are converted."""
        if type(x) is not Expression or self.axes[x.number] != 1 or dtype not in (self.dtype, torch.float64):
            raise UnrecordedError(f"the conversion to {dtype} isn't supported")
        return self.apply("cast", x) if dtype == self.dtype else x

    def where(self, condition: Any, x: Any, y: Any) -> Expression:
        """Record the choice of x if the condition holds, else y."""
        return self.apply("where", condition, x, y)

    def sum(self, x: Any, axis: int, keepdims: bool) -> Expression:
        """Record the sum of every client's vector."""
        return self.reduced("sum", x, axis, keepdims)

    def max(self, x: Any, axis: int, keepdims: bool) -> Expression:
        """Record the maximum of every client's vector."""
        return self.reduced("max", x, axis, keepdims)

    def reduced(self, name: str, x: Any, axis: int, keepdims: bool) -> Expression:
        """Record a reduction of every client's vector to a column of numbers."""
        if axis != -1 or not keepdims:
            raise UnrecordedError(name)
        return self.apply(name, x)

    def finfo(self, dtype: Any) -> Any:
        """Return torch.finfo of the dtype."""
        return torch.finfo(dtype)

    def isdtype(self, dtype: Any, kind: Any) -> bool:
        """Call torch's isdtype."""
        return bool(array_api_compat.torch.isdtype(dtype, kind))

    def broadcast_to(self, x: Any, shape: Any) -> Any:
        """Return a symbolic stack of zeros; other uses raise an error."""
        if not isinstance(x, ShapelessZero) or tuple(shape) != (CLIENTS, self.d):
            raise UnrecordedError("broadcast_to")
        return Zeros(self)

    def zeros_like(self, x: Any) -> Any:
        """Return zeros to which a number may be added."""
        return x if isinstance(x, ShapelessZero | Zeros) else Expression(self, self.constant(0.0))

    def ones_like(self, x: Any) -> Expression:
        """Return a symbolic stack of ones."""
        return Expression(self, self.constant(1.0))


@dataclass(frozen=True)
class OfClients:
    """Integers of all clients, which a text indexes by its clients' numbers."""

    tape: Functions
    numbers: tuple[float, ...]

    def __getitem__(self, who: Any) -> Expression:
        return Expression(self.tape, self.tape.counts(self.numbers))


@dataclass(frozen=True)
class Zeros:
    """Symbolic stack of zeros; adding one number makes it a constant stack."""

    tape: Functions

    def __add__(self, value: Any) -> Expression:
        if type(value) not in (float, int):
            raise UnrecordedError(f"a start of type {type(value).__name__}")
        return Expression(self.tape, self.tape.constant(float(value)))
