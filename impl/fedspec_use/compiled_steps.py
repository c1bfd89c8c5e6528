"""Steps of an elementwise rule in one compiled pass over each parameter, in place.

The rule runs on expressions (:mod:`fedspec_torch.tracing`), which record its operations; the generated loop reads each
number once and writes it once. A rule that isn't elementwise isn't recorded; the caller runs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedspec_torch.compiling import is_compiled, run_parallel, shares
from fedspec_torch.tracing.expressions import Expression, Functions
from fedspec_torch.tracing.passes import IN_LOOPS, LEAST, loop_of
from fedspec_torch.tracing.programs import Ref, Stage, compiled
from fedspec_torch.tracing.tape import UnrecordedError
from fedspec_use.rules import Local

PIECE = 2**15
"""Numbers of a parameter that a thread processes at a time."""

__all__ = ["LEAST", "Passes"]

DESCENT = (("mul", (("number", 0), ("slot", "g"))), ("sub", (("slot", "x"), ("temporary", 0))))
"""Instructions of x - rate g."""


class Passes:
    """Compiled steps of a rule, if it is elementwise."""

    def __init__(self, rule: Local, least: float = LEAST) -> None:
        self.rule, self.least = rule, least
        self.can = not {"cover", "layers", "shapes"} & rule.reads
        self.begun: Any = None
        self.last: tuple[Any, tuple[Stage, dict[str, Any]]] | None = None

    def taken(
        self,
        group: Mapping[str, Any],
        state: Mapping[Tensor, dict[str, Any]],
        trained: Sequence[Tensor],
        hyper: Mapping[str, Any],
    ) -> bool:
        """Take a step of a parameter group; return False, changing nothing, if the rule isn't supported."""
        kinds = {p.dtype for p in trained} | {p.grad.dtype for p in trained if p.grad is not None}
        if not (self.can and len(kinds) == 1 and all(map(_lies_flat, trained))):
            return False
        if sum(p.numel() for p in trained) < self.least:
            return False
        kept, dtype = group["kept"], kinds.pop()
        asked = (dtype, hyper, {n: v for n, v in kept.items() if n != "k" or "k" in self.rule.reads})
        try:
            # Of a rule that counts nothing the next step is the last one again.
            if self.last is None or self.last[0] != asked:
                self.last = asked, self._stage(dtype, kept, hyper)
            stage, after = self.last[1]
        except UnrecordedError:
            self.can = False
            return False
        for p in trained:
            own = {n: v for n, v in state[p].items() if isinstance(v, Tensor)}
            assert p.grad is not None
            _run(stage, {**own, "x": p.detach(), "g": p.grad})
        kept.update(after, k=kept["k"] + 1)
        return True

    def _stage(
        self, dtype: torch.dtype, kept: Mapping[str, Any], hyper: Mapping[str, Any]
    ) -> tuple[Stage, dict[str, Any]]:
        """Compile the step, and the numbers of the state after it."""
        if self.begun is None:
            self.begun = self.rule.begin(torch.zeros(1, dtype=dtype))
        tape, known = Functions(1, dtype, torch.device("cpu")), dict[int, Ref]()

        def slot(name: str) -> Expression:
            node = tape.node("rows", name)
            known[node] = ("slot", name)
            return Expression(tape, node)

        x, g, anchor = slot("x"), slot("g"), slot("anchor")
        state: Any = x
        if is_dataclass(self.begun) and not isinstance(self.begun, type):
            names = [f.name for f in fields(self.begun)]
            vectors = [n for n in names if isinstance(getattr(self.begun, n), Tensor)]
            state = replace(self.begun, **{n: slot(n) if n in vectors else kept[n] for n in names})
        after = self.rule.step(state, g, hyper, anchor=anchor, k=kept["k"])
        made = {f.name: getattr(after, f.name) for f in fields(after)} if is_dataclass(after) else {"x": after}
        ends = {n: v.number for n, v in made.items() if isinstance(v, Expression)}
        stage = compiled(tape, known, ends)
        if stage.given or not all(kind in IN_LOOPS for kind, _ in stage.program.instructions):
            raise UnrecordedError("the rule uses an operator that compiled loops lack, or the norm of a vector")
        return stage, {n: v for n, v in made.items() if n not in ends}


def _lies_flat(p: Tensor) -> bool:
    if p.grad is None or hasattr(p, "placements") or not is_compiled(p):
        return False
    return p.is_contiguous() and p.grad.is_contiguous()


def _run(stage: Stage, vectors: Mapping[str, Tensor]) -> None:
    """Run a stage on the numbers of one parameter, in pieces that threads share."""
    if stage.program.instructions == DESCENT:
        # Torch has it in one operation.
        vectors["x"].sub_(vectors["g"], alpha=stage.numbers[0])  # type: ignore[arg-type]
        return
    arrays = [vectors[n].numpy().reshape(-1) for n in stage.program.names]
    loop, size = loop_of(stage.program, vectors["x"].dtype), len(arrays[0])
    pieces, rest = divmod(size, PIECE)
    numbers = np.empty((max(pieces, 1), stage.program.numbers), arrays[0].dtype)
    numbers[:] = stage.numbers
    if pieces:
        table = np.array([(0, PIECE, 0)])
        run_parallel(lambda own: loop(own.start, own.stop, table, numbers, *arrays), shares([1] * pieces))
    if rest:
        loop(0, 1, np.array([(size - rest, rest, 0)]), numbers, *arrays)
