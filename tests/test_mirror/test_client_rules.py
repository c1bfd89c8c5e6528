"""Every local solver, batched, against the specification's rule, client by client."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from test_mirror.support import (
    DEVICES,
    DTYPES,
    SHAPES,
    D,
    Run,
    Scale,
    assert_close,
    by_id,
    choices,
    dyadic,
    keywords,
    parts,
    tensors,
)

from fedspec.catalogue import CATALOGUE, Algorithm, LocalSolver
from fedspec.client.adam import adam
from fedspec.client.adam import begin as begin_adam
from fedspec.client.sgd import sgd
from fedspec.covers import named_cover
from fedspec.errors import ShapeError
from fedspec.readings import CoverName
from fedspec_torch.arith import masked
from fedspec_torch.covers import named_cover as named_sets

SOLVERS = [a for a in CATALOGUE.values() if isinstance(a.run, LocalSolver)]
STEPS = (3, 1, 6, 2, 6)
N, K = len(STEPS), max(STEPS)


def both(algorithm: Algorithm, options: dict[str, str]) -> tuple[Run, Run]:
    """A solver for one client, and the same for a stack of them."""
    cover = CoverName(options.get("cover", "one"))
    spec = Run(algorithm.run, keywords(algorithm, options), named_cover(cover, SHAPES))
    mirror = Run(algorithm.run, spec.keywords, named_sets(cover, SHAPES))
    return spec, mirror


def gradients() -> np.ndarray[Any, Any]:
    """[K, n, d]; coordinate 3 has a gradient of 0 throughout."""
    g = dyadic(1, K, N, D)
    g[:, :, 3] = 0
    return g


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("algorithm", SOLVERS, ids=by_id)
def test_batched_equals_one_by_one(algorithm: Algorithm, dtype: torch.dtype, device: str) -> None:
    kind = str(dtype).removeprefix("torch.")
    x, g = dyadic(0, N, D).astype(kind), gradients().astype(kind)
    tau = torch.tensor(STEPS, device=device)
    for options in choices(algorithm):
        spec, mirror = both(algorithm, options)
        state = mirror.begin(torch.tensor(x, device=device))
        for k in range(K):
            active = tau > k
            # What an inactive client's gradient holds must not matter.
            given = torch.where(active[:, None], torch.tensor(g[k], device=device), torch.nan)
            state = mirror.step(state, given, active=active)

        for i in range(N):
            want = spec.begin(x[i])
            scale = Scale(float(np.abs(g).max()) ** 2)
            scale.see(want)
            for k in range(STEPS[i]):
                want = spec.step(want, g[k, i])
                scale.see(want)
            assert set(parts(state)) == set(parts(want))
            for name, value in parts(want).items():
                if name == "t":
                    # The steps of a stack are those of the clients that are still under way.
                    continue
                assert_close(parts(state)[name][i], value, scale[name], f"{options}, client {i}, {name}")


@pytest.mark.parametrize("algorithm", SOLVERS, ids=by_id)
def test_all_active_is_no_mask(algorithm: Algorithm) -> None:
    x, g = torch.tensor(dyadic(0, N, D)), torch.tensor(gradients())
    for options in choices(algorithm):
        _, mirror = both(algorithm, options)
        some = mirror.step(mirror.begin(x), g[0], active=torch.ones(N, dtype=torch.bool))
        for name, value in tensors(mirror.step(mirror.begin(x), g[0])).items():
            assert torch.equal(parts(some)[name], value), f"{options}, {name}"


@pytest.mark.parametrize("shape", [(1, D), (N, 1), (N, D + 1)])
def test_gradients_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    x = torch.zeros(N, D)
    with pytest.raises(ShapeError, match="sgd: shapes"):
        sgd(x, torch.zeros(shape), eta_l=0.5)
    with pytest.raises(ShapeError, match="adam: shapes"):
        adam(begin_adam(x), g=torch.zeros(shape), eta_l=0.5, beta1=0.5, beta2=0.5, eps=0.5)


def test_gradients_of_another_dtype_are_refused() -> None:
    with pytest.raises(ShapeError, match=r"float32 and torch\.float64 do not mix"):
        sgd(torch.zeros(N, D), torch.zeros(N, D, dtype=torch.float64), eta_l=0.5)


@pytest.mark.parametrize(
    "active", [torch.ones(N + 1, dtype=torch.bool), torch.ones(N), torch.ones(1, dtype=torch.bool)]
)
def test_masks_that_do_not_fit_are_refused(active: torch.Tensor) -> None:
    with pytest.raises(ShapeError, match="one boolean for each of 5 clients"):
        masked(sgd, active)(torch.zeros(N, D), torch.zeros(N, D), eta_l=0.5)
