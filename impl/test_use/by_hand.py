"""DiLoCo in one process, by hand and by the specification's row, on the gradients of test_use.sharded."""

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


def by_hand(count: int, p: list[float]) -> tuple[list[Tensor], Tensor]:
    """DiLoCo in one process: models after each round, and the outer momentum."""
    x = parameters_to_vector(sharded.model().parameters()).detach()
    v, models, h = torch.zeros_like(x), [], INNER
    m_i, v_i = [torch.zeros_like(x) for _ in p], [torch.zeros_like(x) for _ in p]
    for t in range(ROUNDS):
        delta = torch.zeros_like(x)
        for i in range(count):
            y = x.clone()
            for k in range(STEPS):
                g, n = gradient(t, i, k, y), t * STEPS + k + 1
                m_i[i] = h["beta1"] * m_i[i] + (1 - h["beta1"]) * g
                v_i[i] = h["beta2"] * v_i[i] + (1 - h["beta2"]) * g * g
                m_hat, v_hat = m_i[i] / (1 - h["beta1"] ** n), v_i[i] / (1 - h["beta2"] ** n)
                y = y - h["eta_l"] * (h["wd"] * y + m_hat / (v_hat.sqrt() + h["eps"]))
            delta += p[i] / sum(p) * (y - x)
        v = OUTER["beta"] * v + delta
        x = x + OUTER["eta"] * (delta + OUTER["beta"] * v)
        models.append(x)
    return models, v


def by_the_row(count: int, p: list[float]) -> list[Tensor]:
    """The rounds of the row ``diloco``."""
    h: Any = DiLoCo(**INNER, **OUTER, weights=Weighting.EXAMPLES)  # type: ignore[arg-type]
    x = parameters_to_vector(sharded.model().parameters()).detach().numpy()
    state, models, run = ROW.run.init(h, x, Setup((1,) * count, {"x": x.shape})), [], ROW.run  # type: ignore[union-attr,call-arg]
    for t in range(ROUNDS):

        def oracle(i: int, k: int, y: Any, t: int = t) -> Any:
            return gradient(t, i, k, torch.as_tensor(np.array(y))).numpy()

        plan = Plan(tuple(range(count)), (STEPS,) * count, tuple(map(int, p)))
        state, _ = run.step(h, state, [partial(oracle, i) for i in range(count)], plan)  # type: ignore[union-attr]
        models.append(torch.as_tensor(state.x))
    return models


def near(got: Tensor, want: Tensor) -> bool:
    return float((got - want).abs().max()) < 1e-12 * float(want.abs().max())


def assert_diloco(found: list[dict[str, Any]], layout: str, name: str) -> None:
    """All ranks have the models and the momentum of the loop by hand, which has those of the row."""
    count = int(layout.partition(" ")[0])
    p = sharded.weights(count) or [1.0] * count
    models, v = by_hand(count, p)
    assert all(map(near, by_the_row(count, p), models))
    for out in found:
        assert len(out[name]["models"]) == ROUNDS and all(map(near, out[name]["models"], models))
        assert near(out[name]["v"], v)
        assert torch.equal(out[name]["resumed"], out[name]["models"][-1])
