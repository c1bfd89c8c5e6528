"""PrimeIntellect-ai/pccl at 7815195: the outer step of ``python/examples/nanogpt_diloco/sync_diloco.py``.

``SOURCE=path/to/pccl fedspec check examples/found/pccl_outer.py:Adapter``

The loop stands in a ``main`` that loads a language model. So the statements below
``with profiler.session("outer_step")`` are run as they stand there, with the names that they read. Its outer optimiser
is SGD without momentum.
"""

from __future__ import annotations

import ast
import time
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout
from io import StringIO
from types import SimpleNamespace
from typing import Any

import beside  # noqa: F401
import source
import torch

from fedspec_suite.subjects import workers
from fedspec_suite.subjects.outer import Model, Outer, Rounds, offer

COMMIT, FILE = "7815195", "python/examples/nanogpt_diloco/sync_diloco.py"


def _outer_step() -> Any:
    tree = ast.parse(source.text(COMMIT, FILE))
    found = [n for n in ast.walk(tree) if isinstance(n, ast.With) and "'outer_step'" in ast.unparse(n.items[0])]
    if len(found) != 1:
        raise RuntimeError(f"{FILE} at {COMMIT} has {len(found)} outer steps")
    return compile(ast.Module(body=[*found], type_ignores=[]), f"{FILE} at {COMMIT}", "exec")


def _reduced(communicator: object, tensors: list[torch.Tensor], op: str, max_in_flight: int) -> bool:
    for tensor in tensors:
        workers.all_reduce(tensor, torch.distributed.ReduceOp.AVG)
    return True


def Adapter() -> Outer:
    """Adapter of the loop with its own optimiser."""
    outer_step = _outer_step()

    def diloco(model: Model, local: torch.optim.Optimizer, h: Mapping[str, Any]) -> Rounds:
        outside = [torch.nn.Parameter(p.detach().clone()) for p in model.parameters()]
        names = {"raw_model": model, "outer_params_list": outside, "time": time, "torch": torch, "communicator": None}
        names["profiler"] = SimpleNamespace(session=lambda name: nullcontext())
        names["all_reduce_multiple_with_retry"] = _reduced
        names["ReduceOp"] = SimpleNamespace(AVG="AVG")
        names["outer_optimizer"] = torch.optim.SGD(outside, lr=h["eta"])

        def ends() -> None:
            local.step()
            with redirect_stdout(StringIO()):
                exec(outer_step, names)

        return ends

    return Outer("pccl", source.dated(COMMIT), [(offer(fixed={"beta": 0.0}), diloco)])
