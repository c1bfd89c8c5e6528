"""Execution of a stage on a block of clients: by a compiled loop, or by torch on a few rows at a time.

Elementwise operators don't depend on the memory layout of the block's vectors (:mod:`fedspec_torch.local.blocks`).
Compiled loops and torch both round after each operator, and so agree with the text on tensors; but torch takes a root
to one rounding only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from fedspec.arith import norm
from fedspec_torch.compiling import is_compiled, run_parallel, shares
from fedspec_torch.local.blocks import Block
from fedspec_torch.setup_time import numba
from fedspec_torch.tracing.programs import Column, Number, Program, Reduction, Ref, Stage

AT_ONCE = 2**18
"""Entries of a vector that torch processes at a time on a CPU, so that intermediate results stay in the cache."""


def at_once(like: Tensor) -> int:
    """Return the number of a vector's entries that torch processes at a time."""
    return AT_ONCE if like.device.type == "cpu" else max(1, like.numel())


LEAST = 2**16
"""Entries of a block's vector from which compiling a loop, which takes half a second, pays."""


def row_sums(x: Tensor) -> Tensor:
    """Return the sums of rows as a column, equal for any number of threads (torch would split a single row)."""
    rows = x.reshape(-1, x.shape[-1])
    return rows.expand(max(2, len(rows)), -1).sum(-1, keepdim=True)[: len(rows)]


def lengths(x: Tensor) -> Tensor:
    """Return the Euclidean lengths of rows as a column."""
    rows: Any = x.reshape(-1, x.shape[-1])
    found: Tensor = torch.linalg.vector_norm(rows.expand(max(2, len(rows)), -1), dim=-1, keepdim=True)[: len(rows)]
    info = torch.finfo(x.dtype)
    low, high = info.smallest_normal**0.5 / info.eps, info.max**0.5 * info.eps
    if bool((found > low).logical_and_(found < high).all()):
        return found
    # The specification's own norm where squares vanish or overflow.
    safe: Any = norm(rows)
    return cast("Tensor", safe)


OPERATORS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "neg": torch.neg,
    "sqrt": torch.sqrt,
    "sign": torch.sign,
    "abs": torch.abs,
    "exp": torch.exp,
    "log": torch.log,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "lt": torch.lt,
    "gt": torch.gt,
    "where": torch.where,
    "and": torch.logical_and,
    "or": torch.logical_or,
    "sum": row_sums,
    "max": partial(torch.amax, dim=-1, keepdim=True),
    "length": lengths,
}

IN_LOOPS = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "neg": "-{}",
    "sqrt": "sqrt({})",
    "abs": "abs({})",
    "exp": "exp({})",
    "log": "log({})",
    "maximum": "({0} if {0} > {1} or {0} != {0} else {1})",
    "minimum": "({0} if {0} < {1} or {0} != {0} else {1})",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "where": "({1} if {0} else {2})",
}
"""Operators as source of a compiled loop; a program with any other operator runs by torch."""


def operated(kind: str, args: Sequence[Any], like: Tensor, out: Tensor | None = None) -> Tensor:
    """Apply an operator to tensors and numbers, converting numbers to tensors where torch requires that."""
    tensors = [x for x in args if isinstance(x, Tensor)]
    if kind not in ("add", "sub", "mul", "div") or not isinstance(args[0], Tensor):
        args = [x if isinstance(x, Tensor) else like.new_full((), x) for x in args]
    fits = out is not None and any(x.shape == out.shape for x in tensors)
    return OPERATORS[kind](*args, out=out) if fits else OPERATORS[kind](*args)


def run(
    stage: Stage, block: Block, vectors: Mapping[str, Tensor], common: Sequence[Tensor], *, loops: bool = True
) -> None:
    """Run a stage on the clients of a block that have steps left.

    Args:
        stage: the stage to run.
        block: the block of clients.
        vectors: the block's vectors by name; some are overwritten.
        common: the vectors [d] that all clients share, in the tape's order.
        loops: True if a loop may be compiled.
    """
    y = vectors["y"]
    for j in range(len(stage.reductions)):
        # What was computed before is known by now.
        now = stage.reductions[j]
        reads = [known(n, block, y) for n in now.args]
        column = reduced(now, block, vectors, common) if now.along else operated(now.kind, reads, y)
        stage = stage.known({now.column.node: column})
    if (
        loops
        and y.numel() >= LEAST
        and is_compiled(y)
        and all(kind in IN_LOOPS for kind, _ in stage.program.instructions)
    ):
        in_loops(stage, block, vectors, common)
    else:
        by_torch(stage, block, vectors, common)


def in_loops(stage: Stage, block: Block, vectors: Mapping[str, Tensor], common: Sequence[Tensor]) -> None:
    """Run a stage in a compiled loop; with several torch threads, each takes a share of the clients."""
    program = stage.program
    loop = loop_of(program, vectors["y"].dtype)
    table, parts = table_of(block), shares([1] * block.left)
    arrays = [vectors[name].numpy().reshape(-1) for name in program.names]
    arrays += [common[j].numpy() for j in stage.vectors]
    numbers = np.empty((block.left, program.numbers), arrays[0].dtype)
    for j, number in enumerate(stage.numbers):
        own = known(number, block, vectors["y"])
        numbers[:, j] = own[:, 0].numpy() if isinstance(own, Tensor) else own
    run_parallel(lambda own: loop(own.start, own.stop, table, numbers, *arrays), parts)


@cache
def _table(parts: tuple[tuple[int, int], ...], n: int, layerwise: bool) -> Any:
    if layerwise:
        return np.array([(n * start, stop - start, start) for start, stop in parts])
    return np.array([(0, parts[-1][1], 0)])


def table_of(block: Block) -> Any:
    """Return for each part its offset in a block's vector, its size, and its offset in a model's vector."""
    return _table(tuple((at.start, at.stop) for at, _ in block.parts), block.n, block.layerwise)


@cache
def loop_of(program: Program, dtype: torch.dtype) -> Callable[..., None]:
    """Compile the loop of a program."""
    known: dict[str, Any] = {"sqrt": math.sqrt, "exp": math.exp, "log": math.log}
    exec(source(program), known)
    made: Callable[..., None] = numba().njit(nogil=True, error_model="numpy")(known["loop"])
    return made


def source(program: Program) -> str:
    """Return the Python source of a program's loop, which reads all inputs at an index before it writes."""
    names, numbers = program.names, range(program.numbers)
    arrays = [*names, *(f"c{j}" for j in range(program.vectors))]
    word = {"temporary": "t{}", "slot": "{}_[k]", "vector": "c{}_[k]", "number": "n{}"}

    def said(ref: Ref) -> str:
        return word[ref[0]].format(ref[1])

    lines = [f"def loop(first, last, table, numbers, {', '.join(arrays)}):"]
    lines += ["    for p in range(len(table)):", "        start, size, at = table[p]"]
    lines += ["        for row in range(first, last):", "            begin = start + row * size"]
    lines += [f"            n{j} = numbers[row, {j}]" for j in numbers]
    lines += [f"            {name}_ = {name}[begin:begin + size]" for name in names]
    lines += [f"            c{j}_ = c{j}[at:at + size]" for j in range(program.vectors)]
    lines += ["            for k in range(size):"]
    for j, (kind, refs) in enumerate(program.instructions):
        lines.append(f"                t{j} = {IN_LOOPS[kind].format(*map(said, refs))}")
    # A copy of what is written over is taken first.
    lines += [f"                w{j} = {said(ref)}" for j, (_, ref) in enumerate(program.outs)]
    lines += [f"                {name}_[k] = w{j}" for j, (name, _) in enumerate(program.outs)]
    return "\n".join(lines)


def by_torch(stage: Stage, block: Block, vectors: Mapping[str, Tensor], common: Sequence[Tensor]) -> None:
    """Run a stage by torch's operators on a few rows at a time, in shared buffers."""
    room: dict[int, Tensor] = {}
    numbers = [known(n, block, vectors["y"]) for n in stage.numbers]
    if not stage.vectors and all(isinstance(n, float) for n in numbers):
        for together in block.together(*vectors.values()):
            flat = dict(zip(vectors, (v.reshape(-1) for v in together), strict=True))
            many = at_once(flat["y"])
            for begin in range(0, len(flat["y"]), many):
                some = {name: v[begin : begin + many] for name, v in flat.items()}
                _piece(stage.program, numbers, some, [], room)
        return
    for _, _, some, shared, own in pieces(stage, numbers, block, vectors, common):
        _piece(stage.program, own, some, shared, room)


def reduced(reduction: Reduction, block: Block, vectors: Mapping[str, Tensor], common: Sequence[Tensor]) -> Tensor:
    """Reduce a vector of each client to a number, [left, 1]: first each part, then the parts' results."""
    along, operator = reduction.along, OPERATORS[reduction.kind]
    assert along is not None
    y, ((_, out),) = vectors["y"], along.program.outs
    found, room = y.new_empty(block.left, len(block.parts)), dict[int, Tensor]()
    numbers = [known(n, block, y) for n in along.numbers]
    for rows, j, some, shared, own in pieces(along, numbers, block, vectors, common):
        if out[0] == "slot":
            value = some[out[1]]
        else:
            value = torch.empty_like(some["y"], memory_format=torch.contiguous_format)
            _piece(along.program, own, {**some, "along": value}, shared, room)
        found[rows, j : j + 1] = operator(value)
    return found if found.shape[1] == 1 else operator(found)


def known(number: Number, block: Block, like: Tensor) -> float | Tensor:
    """Return a number, or a column for the clients with steps left."""
    if isinstance(number, tuple):
        return like.new_tensor(number)[: block.left, None]
    assert not isinstance(number, Column)
    return number[: block.left] if isinstance(number, Tensor) else number


def pieces(
    stage: Stage, numbers: Sequence[Any], block: Block, vectors: Mapping[str, Tensor], common: Sequence[Tensor]
) -> Iterator[tuple[slice, int, dict[str, Tensor], list[Tensor], Sequence[Any]]]:
    """Yield a few rows of a part at a time: the rows, the part, their vectors, the shared vectors and the numbers."""
    for j, (at, _) in enumerate(block.parts):
        part = {name: block.part(v, j).flatten(1) for name, v in vectors.items()}
        few = max(1, at_once(vectors["y"]) // max(1, at.stop - at.start))
        for begin in range(0, block.left, few):
            some = slice(begin, begin + few)
            shared = [common[c][at] for c in stage.vectors]
            own = [n[some] if isinstance(n, Tensor) else n for n in numbers]
            yield some, j, {name: v[some] for name, v in part.items()}, shared, own


@cache
def ends(program: Program) -> dict[int, str]:
    """Return outputs that may be written in place as they are computed, since nothing reads the old value later."""
    found: dict[int, str] = {}
    for name, (kind, which) in program.outs:
        old = ("slot", name)
        later = [refs for _, refs in program.instructions[which + 1 :]] if kind == "temporary" else [(old,)]
        if not any(old in refs for refs in later) and old not in [ref for _, ref in program.outs]:
            found.setdefault(which, name)
    return found


def _piece(
    program: Program,
    numbers: Sequence[Any],
    slots: Mapping[str, Tensor],
    shared: Sequence[Tensor],
    room: dict[int, Tensor],
) -> None:
    like, made, early = slots["y"], list[Tensor](), ends(program)

    def value(ref: Ref) -> Any:
        kind, which = ref
        return {"temporary": made, "slot": slots, "vector": shared, "number": numbers}[kind][which]  # type: ignore[index]

    for j, (kind, refs) in enumerate(program.instructions):
        out = slots[early[j]] if j in early else None
        if out is None and kind not in ("lt", "gt"):
            if j not in room or len(room[j]) < len(like):
                room[j] = torch.empty_like(like, memory_format=torch.contiguous_format)
            out = room[j][: len(like)]
        new = operated(kind, [value(ref) for ref in refs], like, out)
        if j in early and new is not out:
            slots[early[j]].copy_(new)
        made.append(new)
    # A copy of what is written over is taken first.
    left = [(name, ref) for name, ref in program.outs if name not in early.values()]
    news = [(name, value(ref).clone() if ref[0] == "slot" else value(ref)) for name, ref in left]
    for name, new in news:
        if isinstance(new, Tensor):
            slots[name].copy_(new)
        else:
            slots[name].fill_(new)
