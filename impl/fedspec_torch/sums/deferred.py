"""Tensors without numbers that record which sums over clients a step's text computes, before the clients are trained.

A text reads its clients' results as stacks. Run on stacks without numbers, the text shows which weighted sums of the
rows it computes, and which rows of the clients' memory it replaces. So clients are trained a block at a time: each
block is added to the sums and dropped before the next is trained. Then the text is run on the sums.

A text that does anything else with a row (it sorts the stack, looks at a number, puts a sum beside a row) needs all
rows at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import array_api_compat.torch
import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map

from fedspec_torch.arith import Weights
from fedspec_torch.plan import neighbours

aten = torch.ops.aten

LIKE = {aten.zeros_like, aten.ones_like, aten.full_like}

EACH_ROW = LIKE | {aten._to_copy, aten.detach, aten.alias, aten.clone}
"""Operators that act on each row separately, but that torch doesn't tag as pointwise."""

ARITHMETIC = {aten.add, aten.sub, aten.mul, aten.div, aten.neg, aten.sqrt, aten.maximum, aten.minimum, aten.rsub}
"""Pointwise operators whose result has the dtype of their arguments, if these share one."""

ALONG_ROWS = {aten.sum, aten.mean, aten.amax, aten.amin}
"""Reductions, which act on each row separately if they reduce a row to one number."""


PRODUCTS = {Tensor.__matmul__, Tensor.matmul, torch.matmul}


class NotSummedError(RuntimeError):
    """Error: a text needs all rows at once, so they can't be summed as blocks arrive."""


@dataclass(frozen=True)
class Rows:
    """Rows of a block of trained clients, or a range of their coordinates.

    Attributes:
        places: the places of these clients among the participants.
        made: the tensors that the training of these clients returned.
        at: the range of coordinates, for a stack that is computed coordinate by coordinate.
    """

    places: Sequence[int]
    made: Sequence[Tensor]
    at: slice = field(default_factory=lambda: slice(None))


Make: TypeAlias = Callable[[Rows], Tensor]
"""Function from trained clients' rows to the rows of a derived stack."""


class Deferred(Tensor):
    """Tensor without numbers: operators on it are recorded, or raise an error."""

    of: Sums

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            if func in PRODUCTS and not kwargs and args[0].ndim == 1:
                # Torch takes an axis of its result away by writing over it.
                return torch.mm(args[0][None], args[1])[0]
            return func(*args, **(kwargs or {}))

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        """Record an operator of torch.

        Raises:
            NotSummedError: the operator needs rows or numbers that aren't known yet.
        """
        leaves = [x for x in tree_leaves((args, kwargs or {})) if isinstance(x, Tensor)]
        sums = {x.of for x in leaves if isinstance(x, Deferred)}
        if len(sums) > 1 or not all(isinstance(x, Deferred) or is_here(x) for x in leaves):
            raise NotSummedError(f"{func} combines rows that are trained at different times or on different ranks")
        return sums.pop().operator(func, args, kwargs or {}, leaves)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.torch

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{type(self).__name__}({tuple(self.shape)}, {self.dtype})"


class Total(Deferred):
    """Sum over clients that isn't known yet, or a result computed from such a sum.

    Attributes:
        like: a tensor of the same shape on the device ``meta``.
        never: True if the number stays unknown, because it belongs to single rows; only its shape is known.
    """

    like: Tensor
    never: bool

    @staticmethod
    def __new__(cls, sums: Sums, like: Tensor, device: torch.device, never: bool = False) -> Total:
        """Create the tensor wrapper, without memory."""
        made: Total = Tensor._make_wrapper_subclass(cls, like.shape, dtype=like.dtype, device=device)
        made.of, made.like, made.never = sums, like, never
        return made


@dataclass(frozen=True)
class Recipe:
    """Instructions that compute the rows of a derived stack from trained clients' rows.

    Attributes:
        make: function that computes some of the rows; None: their clients are trained later.
        uses: numbers and tensors that the computation reads.
        returned: indices of the returned tensors that the computation reads.
        reads: the stacks of the clients' memory that the computation reads.
        pointwise: True if each coordinate is computed independently.
        late: True if the rows depend on a sum, so that they can't be computed while clients are trained.
        leaf: index of the returned tensor, if the rows are simply the rows of that tensor.
    """

    make: Make | None
    uses: tuple[Any, ...] = ()
    returned: frozenset[int] = frozenset()
    reads: tuple[Tensor, ...] = ()
    pointwise: bool = True
    late: bool = False
    leaf: int | None = None

    @staticmethod
    def joined(
        recipes: Sequence[Recipe], make: Make, uses: tuple[Any, ...], *, pointwise: bool = False, late: bool = False
    ) -> Recipe:
        """Return the recipe of rows that are computed from other derived rows."""
        return Recipe(
            make if all(r.make for r in recipes) else None,
            (*(x for r in recipes for x in r.uses), *uses),
            frozenset().union(*(r.returned for r in recipes)),
            tuple(x for r in recipes for x in r.reads),
            pointwise and all(r.pointwise for r in recipes),
            late or any(r.late for r in recipes),
        )


class Each(Deferred):
    """Stack with a row for each participant, computed from the row that the participant's training returns.

    Attributes:
        recipe: the instructions that compute the rows.
    """

    recipe: Recipe

    @staticmethod
    def __new__(cls, sums: Sums, like: Tensor, recipe: Recipe, n: int | None = None) -> Each:
        """Create the tensor wrapper, without memory."""
        shape = (sums.n if n is None else n, *like.shape[1:])
        made: Each = Tensor._make_wrapper_subclass(cls, shape, dtype=like.dtype, device=like.device)
        made.of, made.recipe = sums, recipe
        return made


class Kept(Deferred):
    """Per-client state of all clients as rows; a round reads its participants' old rows and replaces them.

    Attributes:
        stack: the old rows.
        becomes: the participants' new rows; None: no row changes.
    """

    stack: Tensor
    becomes: Each | None

    @staticmethod
    def __new__(cls, sums: Sums, stack: Tensor, new: Each | None = None) -> Kept:
        """Create the tensor wrapper, without memory of its own."""
        made: Kept = Tensor._make_wrapper_subclass(cls, stack.shape, dtype=stack.dtype, device=stack.device)
        made.of, made.stack, made.becomes = sums, stack, new
        return made


def made_rows(x: Tensor) -> Any:
    """Return the rows that replace a per-client stack's, or the tensor itself."""
    return x.becomes if isinstance(x, Kept) else x


@dataclass(frozen=True)
class Asked:
    """Sum that a text computes: of w_i times row i, or of all rows without weights."""

    rows: Each
    weights: Weights | None

    def same(self, other: Asked) -> bool:
        """True if both sums use equal weights, and their rows are computed with equal numbers."""
        mine, its = ((*a.rows.recipe.uses, a.weights) for a in (self, other))
        return len(mine) == len(its) and all(map(_same, mine, its))


def _same(a: Any, b: Any) -> bool:
    return a is b or (torch.equal(a, b) if isinstance(a, Tensor) and isinstance(b, Tensor) else bool(a == b))


def is_here(x: Tensor) -> bool:
    """True if all rows of a stack are on this rank."""
    return "__torch_dispatch__" not in vars(type(x)) or type(x) is Tensor


def rows_at(x: Tensor, places: Sequence[int]) -> Tensor:
    """Return the rows of a stack at some indices."""
    return x[neighbours(places) or list(places)]


@dataclass(eq=False)
class Sums:
    """Sums that a text computes of its participants' rows, in the text's order.

    Attributes:
        who: the participants.
        empty: a block without rows.
        asked: the requested sums; sums of the clients' old memory are already computed.
        known: the values of the sums, while the text runs on them; None: the text is being searched for sums.
        taken: the number of sums that the text has read.
        remembers: True if the clients have a memory.
    """

    who: Sequence[int]
    empty: Rows
    asked: list[Asked | Tensor] = field(default_factory=list)
    known: Sequence[Tensor] | None = None
    taken: int = 0
    remembers: bool = False

    @property
    def n(self) -> int:
        """Number of participants."""
        return len(self.who)

    @property
    def wanted(self) -> list[Asked]:
        """Sums that can't be computed before the clients are trained."""
        return [a for a in self.asked if isinstance(a, Asked)]

    def operator(self, func: Any, args: Any, kwargs: Any, leaves: Sequence[Tensor]) -> Any:
        """Return the result of an operator of torch on tensors without numbers.

        Raises:
            NotSummedError: the operator needs rows or numbers that aren't known yet.
        """
        packet, first = func.overloadpacket, args[0]
        if isinstance(first, Kept) and packet is aten.clone:
            return Kept(self, first.stack, first.becomes)
        if isinstance(first, Kept) and packet is aten.index_put_:
            return self._replaced(*args)
        if func._schema.is_mutable:
            if isinstance(first, Total):
                return first
            raise NotSummedError(f"{func} overwrites a tensor")
        if isinstance(first, Kept) and packet is aten.index:
            return self._read(*args)
        if packet is aten.mm and isinstance(args[1], Each | Kept) and not isinstance(first, Deferred):
            if len(first) == 1:
                return self._sum(args[1], first[0])[None]
        elif isinstance(first, Each | Kept) and packet in (aten.sum, aten.mean) and args[1:] == ([0],) and not kwargs:
            total = self._sum(first, None)
            return total if packet is aten.sum else total / len(first)
        elif packet is aten.select and isinstance(first, Each):
            return Total(self, func(_shaped(first), *args[1:]), first.device, never=True)
        elif packet in LIKE and isinstance(first, Total):
            # Its numbers are known, whatever it is like.
            return func(torch.empty(first.shape, dtype=first.dtype, device=first.device), *args[1:], **kwargs)
        if any(isinstance(x, Each | Kept) for x in leaves):
            return self._of_rows(func, args, kwargs, leaves)
        found, never = _result(func, args, kwargs, leaves), any(map(is_never_known, leaves))
        if isinstance(found, Tensor):
            return Total(self, found, first.device, never)
        return tree_map(lambda x: Total(self, x, first.device, never) if isinstance(x, Tensor) else x, found)

    def _read(self, kept: Kept, places: Sequence[Any]) -> Each:
        if len(places) != 1 or places[0].dtype == torch.bool or places[0].tolist() != [*self.who]:
            raise NotSummedError("the text reads rows of clients other than the participants")
        return self._as_were(kept)

    def _as_were(self, kept: Kept) -> Each:
        """The participants' rows of a stack as they were before the round."""
        if kept.becomes is not None:
            raise NotSummedError("the text reads rows after replacing them")
        stack, who = kept.stack, self.who

        def make(rows: Rows) -> Tensor:
            at = [who[r] for r in rows.places]
            return stack[neighbours(at) or at, rows.at]

        return Each(self, stack[:0], Recipe(make, reads=(stack,)))

    def _replaced(self, kept: Kept, places: Sequence[Any], new: Tensor, accumulate: bool = False) -> Kept:
        """The stack itself, with other rows of the participants."""
        mine = len(places) == 1 and not accumulate and places[0].tolist() == [*self.who]
        if not mine or kept.becomes is not None or not isinstance(new, Each) or new.shape[1:] != kept.shape[1:]:
            raise NotSummedError("the text replaces rows of clients other than the participants")
        kept.becomes = new
        return kept

    def _sum(self, stack: Each | Kept, weights: Weights | None) -> Tensor:
        if self.known is not None:
            self.taken += 1
            return self.known[self.taken - 1]
        if isinstance(stack, Kept):
            if stack.becomes is not None:
                raise NotSummedError("the text sums rows after replacing some of them")
            total = stack.stack.sum(0) if weights is None else weights @ stack.stack
            self.asked.append(total)
            return total
        if stack.recipe.late:
            raise NotSummedError("the text sums rows that depend on another sum")
        if stack.recipe.make:
            self.asked.append(Asked(stack, weights))
        return Total(self, torch.empty(stack.shape[1:], dtype=stack.dtype, device="meta"), stack.device)

    def _of_rows(self, func: Any, args: Any, kwargs: Any, leaves: Sequence[Tensor]) -> Each:
        """Return a function of each row by itself."""
        found = _result(func, args, kwargs, leaves)
        if not isinstance(found, Tensor) or found.ndim != 2 or len(found) != self.n or not _by_row(func, args):
            raise NotSummedError(f"{func} doesn't act on each row separately")
        everyone = [*self.who] == [*range(self.n)]
        stacks: dict[int, Recipe] = {}
        for x in leaves:
            if is_never_known(x) or (isinstance(x, Kept) and not (everyone and len(x) == self.n)):
                raise NotSummedError("the text combines the participants' rows with rows of other clients")
            if isinstance(x, Each | Kept):
                stacks[id(x)] = (x if isinstance(x, Each) else self._as_were(x)).recipe

        def make(rows: Rows) -> Tensor:
            def part(x: Any) -> Any:
                own = stacks.get(id(x))
                if own and own.make:
                    return own.make(rows)
                if not isinstance(x, Tensor) or not x.ndim:
                    return x
                x = rows_at(x, rows.places) if x.ndim > 1 and len(x) == self.n else x
                return x[..., rows.at] if x.shape[-1] == found.shape[1] else x

            done: Tensor = func(*tree_map(part, list(args)), **tree_map(part, kwargs))
            return done

        pointwise = torch.Tag.pointwise in func.tags and all(r.pointwise for r in stacks.values())
        alike = all(x.shape[1:] == found.shape[1:] for x in leaves if isinstance(x, Each | Kept))
        others = tuple(x for x in tree_leaves((args, kwargs)) if not isinstance(x, Deferred))
        late = any(isinstance(x, Total) for x in leaves)
        like = torch.empty(0, *found.shape[1:], dtype=found.dtype, device=leaves[0].device)
        recipe = Recipe.joined([*stacks.values()], make, others, pointwise=pointwise and alike, late=late)
        return Each(self, like, recipe)


def _result(func: Any, args: Any, kwargs: Any, leaves: Sequence[Tensor]) -> Any:
    """Shape and type of an operator's result, as a tensor without numbers."""
    if func.overloadpacket in ARITHMETIC and len({x.dtype for x in leaves}) == 1:
        # Torch finds the same out in a tenth of a millisecond.
        shape: Any = torch.broadcast_shapes(*(x.shape for x in leaves))  # type: ignore[no-untyped-call]
        return torch.empty(shape, dtype=leaves[0].dtype, device="meta")
    return func(*tree_map(_shaped, list(args)), **tree_map(_shaped, kwargs))


def is_never_known(x: Tensor) -> bool:
    """True if a tensor stands for numbers of single rows, which no run on sums computes."""
    return isinstance(x, Total) and x.never


def _shaped(x: Any) -> Any:
    """Return a tensor's shape and type, without numbers; return anything else unchanged."""
    if isinstance(x, Total):
        return x.like
    if isinstance(x, Tensor):
        return torch.empty(x.shape, dtype=x.dtype, device="meta")
    return torch.device("meta") if isinstance(x, torch.device) else x


def _by_row(func: Any, args: Any) -> bool:
    """True if an operator makes each row of its result of the same row of its arguments."""
    packet = func.overloadpacket
    if packet in ALONG_ROWS:
        return bool(args[1:] in (([-1], True), ([1], True)))
    if packet is aten.cat:
        return bool(args[1:] in ((-1,), (1,)))
    return torch.Tag.pointwise in func.tags or packet in EACH_ROW or (packet is aten.slice and args[1] in (-1, 1))
