"""The tape of a recording: operators and their arguments, no numbers, and walks along them.

Equal expressions are one node, so texts of unequal numbers of steps share what they have in common.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

Node: TypeAlias = tuple[Any, ...]
"""An operator and its arguments: numbers of other nodes, or what a leaf is."""

FLOATS = (torch.float32, torch.float64)

BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
UNARY = ("neg", "sqrt", "sign", "abs")
COMPARED = ("lt", "gt", "and", "or")
REDUCED = ("sum", "max")
"""Along a vector: a column with a number for each client."""

LEAVES = ("x", "vector", "rows", "column", "number", "constant", "gradient")
"""Leaves of a trace: the clients' initial models; a vector that they share; their rows of a stack, and their numbers in
a column; a number; a stack of one number; the gradient at step k, whose argument is the node where it is taken."""

AXES = {**dict.fromkeys(("x", "vector", "rows", "gradient"), 2), **dict.fromkeys(("column", *REDUCED), 1)}
"""Number of axes by kind: 2 for vectors, 1 for columns; numbers have none, other kinds as many as their arguments."""


class UnrecordedError(TypeError):
    """A text does what is not recorded."""


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
    _known: dict[Node, int] = field(default_factory=dict)
    _constants: int = 0
    _leaves: dict[tuple[str, int], int] = field(default_factory=dict)

    def node(self, *node: Any) -> int:
        """The number of a node."""
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
        self.nodes.append(node)
        return len(self.nodes) - 1

    def leaf(self, kind: str, tensor: Tensor) -> int:
        """A vector for all clients, or rows of a stack.

        Raises:
            UnrecordedError: it is not on a CPU, in other numbers, or wants a gradient.
        """
        seen = self._leaves.get((kind, id(tensor)))
        if seen is not None:
            return seen
        if tensor.ndim != (2 if kind == "rows" else 1):
            raise UnrecordedError("a number of each client")
        fits = tensor.device.type == "cpu" and tensor.dtype == self.dtype and not tensor.requires_grad
        if not fits or tensor.shape[-1] != self.d:
            raise UnrecordedError(f"a tensor {tuple(tensor.shape)} of {tensor.dtype} on {tensor.device}")
        at = next((j for j, known in enumerate(self.tensors) if known is tensor), len(self.tensors))
        if at == len(self.tensors):
            self.tensors.append(tensor)
        number = self._leaves[kind, id(tensor)] = self.node(kind, at)
        return number

    def constant(self, value: float) -> int:
        """A stack of one number; each that is asked for is one of its own, since it may become something else."""
        self._constants += 1
        return self.node("constant", value, self._constants)

    def afresh(self) -> None:
        """Another text begins: its constants are those of the texts before."""
        self._constants = 0

    def is_length(self, number: int) -> bool:
        """True if a node is known to be at least 0, as the length of a vector is."""
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

    def columns(self) -> set[int]:
        """The nodes that are one number for each client, and no vector."""
        axes: list[int] = []
        for number, (kind, *_) in enumerate(self.nodes):
            axes.append(AXES.get(kind) or max((axes[arg] for arg in self.arguments(number)), default=0))
        return {number for number, count in enumerate(axes) if count == 1}

    def arguments(self, number: int) -> Sequence[int]:
        """The nodes that a node is computed from."""
        kind, *args = self.nodes[number]
        if kind == "gradient":
            return args[1:]
        return () if kind in LEAVES else args

    def cone(self, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
        """The nodes that these are computed from, themselves included, arguments first; not what is known."""
        found: set[int] = set()
        left = [*nodes]
        while left:
            node = left.pop()
            if node not in found and node not in known:
                found.add(node)
                left += self.arguments(node)
        return sorted(found)

    def by_use(self, nodes: Iterable[int], known: Mapping[int, Any]) -> list[int]:
        """Sort nodes by a walk that begins at these nodes: alike for equal expressions."""
        found: dict[int, None] = {}
        left = [(node, False) for node in [*nodes][::-1]]
        while left:
            node, done = left.pop()
            if done:
                found[node] = None
            elif node not in found and node not in known:
                left += [(node, True), *((arg, False) for arg in self.arguments(node)[::-1])]
        return [*found]
