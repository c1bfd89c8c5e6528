"""DiLoCo in one process by the specification's row, on the gradients of test_use.sharded.

spec/test_spec/test_diloco.py holds the row to loops of torch's optimisers, and to numbers by hand.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch
from test_use import sharded
from test_use.sharded import INNER, OUTER, ROUNDS, STEPS
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from fedspec.algorithms.diloco import ROW, DiLoCo
from fedspec.plan import Plan, Setup
from fedspec.readings import Weighting


def gradient(t: int, i: int, k: int, x: Tensor) -> Tensor:
    """Gradient of a replica without shards."""
    module = sharded.model()
    vector_to_parameters(x, module.parameters())
    return torch.cat(
        [g.reshape(-1) for g in torch.autograd.grad(sharded.loss(module, t, i, k), [*module.parameters()])]
    )


def by_the_row(count: int, p: list[float]) -> tuple[list[Tensor], Tensor]:
    """Models after each round of the row ``diloco``, and the outer momentum."""
    h: Any = DiLoCo(**INNER, **OUTER, weights=Weighting.EXAMPLES)  # type: ignore[arg-type]
    x = parameters_to_vector(sharded.model().parameters()).detach().numpy()
    state, models, run = ROW.run.init(h, x, Setup((1,) * count, {"x": x.shape})), [], ROW.run  # type: ignore[union-attr,call-arg]
    for t in range(ROUNDS):

        def oracle(i: int, k: int, y: Any, t: int = t) -> Any:
            return gradient(t, i, k, torch.as_tensor(np.array(y))).numpy()

        plan = Plan(tuple(range(count)), (STEPS,) * count, tuple(map(int, p)))
        state, _ = run.step(h, state, [partial(oracle, i) for i in range(count)], plan)  # type: ignore[union-attr]
        models.append(torch.as_tensor(state.x))
    return models, torch.as_tensor(state.v)


def near(got: Tensor, want: Tensor) -> bool:
    return float((got - want).abs().max()) < 1e-12 * float(want.abs().max())


def assert_diloco(found: list[dict[str, Any]], layout: str, name: str) -> None:
    """All ranks have the models and the momentum of the row."""
    count = int(layout.partition(" ")[0])
    models, v = by_the_row(count, sharded.weights(count) or [1.0] * count)
    for out in found:
        assert len(out[name]["models"]) == ROUNDS and all(map(near, out[name]["models"], models))
        assert near(out[name]["v"], v)
        assert torch.equal(out[name]["resumed"], out[name]["models"][-1])
