"""Tape of a trace: operators and their arguments without values, and traversals of them.

Equal expressions are one node, so texts with different numbers of steps share their common part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

Node: TypeAlias = tuple[Any, ...]
"""Operator and the numbers of its argument nodes, or a leaf and its description."""

FLOATS = (torch.float32, torch.float64)

BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
UNARY = ("neg", "sqrt", "sign", "abs", "exp", "log")
COMPARED = ("lt", "gt", "and", "or")
REDUCED = ("sum", "max", "length")
"""Reductions along a vector, to a column with one number for each client."""

LEAVES = ("x", "vector", "rows", "column", "counts", "number", "constant", "gradient")
"""Leaves of a trace: the clients' initial models; a vector that they share; their rows of a stack, and their numbers in
a column; their whole numbers, in a list of all clients' numbers; a number; a stack of one number; the gradient at step
k, whose argument is the node of the model at which it is taken."""

AXES = {**dict.fromkeys(("x", "vector", "rows", "gradient"), 2), **dict.fromkeys(("column", "counts", *REDUCED), 1)}
"""Number of axes of a node's value by kind: 2 for vectors, 1 for columns; other kinds have their arguments' number."""


class UnrecordedError(TypeError):
    """Error: a text does something that can't be traced."""


@dataclass(eq=False)
class Tape:
    """Trace of texts: a list of nodes, in which equal expressions are one node.

    Attributes:
        d: number of coordinates of a vector.
        dtype: type of all numbers.
        device: device of all vectors.
        nodes: the traced operations, each after its arguments.
        axes: for each node the number of axes of its value: 2 for a vector, 1 for a column, 0 for a number.
        moved: for each node, True if it depends on a gradient.
        tensors: the vectors and stacks of the leaves.
        computed: values computed from these tensors alone, with their arguments.
        looked: True if the text has read a number of these tensors.
    """

    d: int
    dtype: torch.dtype
    device: torch.device
    nodes: list[Node] = field(default_factory=list)
    axes: list[int] = field(default_factory=list)
    moved: list[bool] = field(default_factory=list)
    tensors: list[Tensor] = field(default_factory=list)
    computed: dict[Any, tuple[Any, Tensor]] = field(default_factory=dict)
    looked: bool = False
    _known: dict[Node, int] = field(default_factory=dict)
    _constants: int = 0
    _leaves: dict[tuple[str, Any], int] = field(default_factory=dict)

    def node(self, *node: Any) -> int:
        """Return the number of a node, adding it if it is new."""
        found = self._known.get(node)
        if found is None:
            found = self._known[node] = self._number(node)
        return found

    def _number(self, node: Node) -> int:
        match node:
            case ("lt", a, b) if self.nodes[b] == ("number", 0.0) and self.is_length(a):
                return self.node("never")
            case ("where", condition, _, other) if self.nodes[condition] == ("never",):
                return int(other)
            case ("mul", s, root) if (x := self._at_scale(s, root)) is not None:
                return self.node("length", x)
        self.nodes.append(node)
        number = len(self.nodes) - 1
        args = self.arguments(number)
        self.axes.append(AXES.get(node[0]) or max((self.axes[arg] for arg in args), default=0))
        self.moved.append(node[0] == "gradient" or any(self.moved[arg] for arg in args))
        return number

    def leaf(self, kind: str, tensor: Tensor) -> int:
        """Return the leaf of a shared vector, or of the clients' rows of a stack.

        Raises:
            UnrecordedError: the vector is on another device, has another type, or requires a gradient.
        """
        seen = self._leaves.get((kind, id(tensor)))
        if seen is not None:
            return seen
        if tensor.ndim != (2 if kind == "rows" else 1):
            raise UnrecordedError("a shared tensor must be a vector, and the clients' rows must form a matrix")
        fits = tensor.device == self.device and tensor.dtype == self.dtype and not tensor.requires_grad
        if not fits or tensor.shape[-1] != self.d:
            raise UnrecordedError(f"a tensor {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}")
        at = next((j for j, known in enumerate(self.tensors) if known is tensor), len(self.tensors))
        if at == len(self.tensors):
            self.tensors.append(tensor)
        number = self._leaves[kind, id(tensor)] = self.node(kind, at)
        return number

    def counts(self, numbers: tuple[float, ...]) -> int:
        """Return the leaf of a number of each client, from a list of all clients' numbers."""
        if ("counts", numbers) not in self._leaves:
            self.tensors.append(torch.tensor(numbers, dtype=torch.float64, device=self.device))
            self._leaves["counts", numbers] = self.node("counts", len(self.tensors) - 1)
        return self._leaves["counts", numbers]

    def constant(self, value: float) -> int:
        """Return a new node for a stack of one number; each call makes its own, since its value may change."""
        self._constants += 1
        return self.node("constant", value, self._constants)

    def afresh(self) -> None:
        """Begin another text, whose constants are matched in order with the constants of earlier texts."""
        self._constants = 0

    def _at_scale(self, s: int, root: int) -> int | None:
        """The vector x if these are a scale s > 0 and sqrt(sum((x / s)^2)), which times s is the length of x."""
        match self.nodes[root]:
            case ("sqrt", total) if self.is_length(s) and self.nodes[total][0] == "sum":
                square = self.nodes[self.nodes[total][1]]
                scaled = self.nodes[square[1]] if square[0] == "mul" and square[1] == square[2] else ("",)
                return scaled[1] if scaled[0] == "div" and scaled[2] == s else None
        return None

    def is_length(self, number: int) -> bool:
        """True if a node's value is known to be at least 0."""
        kind, *args = self.nodes[number]
        match kind:
            case "sqrt" | "abs" | "length" | "exp":
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

    def is_given(self, number: int) -> bool:
        """True if a node is a number of each client that is known before the first step."""
        return self.axes[number] == 1 and not self.moved[number]

    def arguments(self, number: int) -> Sequence[int]:
        """Return the nodes from which a node is computed."""
        kind, *args = self.nodes[number]
        if kind == "gradient":
            return args[1:]
        return () if kind in LEAVES else args

    def cone(self, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
        """Return the nodes that these depend on, themselves included, without known ones, arguments first."""
        found: set[int] = set()
        left = [*nodes]
        while left:
            node = left.pop()
            if node not in found and node not in known:
                found.add(node)
                left += self.arguments(node)
        return sorted(found)

    def by_use(self, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
        """Return the nodes that these depend on in the order of a depth-first walk, which equal expressions share."""
        found: dict[int, None] = {}
        left = [(node, False) for node in [*nodes][::-1]]
        while left:
            node, done = left.pop()
            if done:
                found[node] = None
            elif node not in found and node not in known:
                left += [(node, True), *((arg, False) for arg in self.arguments(node)[::-1])]
        return [*found]
